package trace

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestStateOf has regions as Score-P 7 to 9, Extrae and VampirTrace define them.
func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		name     string
		paradigm ParadigmID
		role     RegionRole
		want     State
	}{
		{"main", ParadigmCompiler, RoleFunction, StateOwn},
		{"MPI_Init_thread", ParadigmMPI, RoleFunction, StateSetup},
		{"MPI_Finalize", ParadigmMPI, RoleFunction, StateSetup},
		{"MPI_Comm_rank", ParadigmMPI, RoleFunction, StateManagement},
		{"MPI_Comm_split", ParadigmMPI, RoleCollOther, StateCollective},
		{"MPI_Isend", ParadigmMPI, RolePointToPoint, StateP2P},
		{"MPI_Barrier", ParadigmMPI, RoleBarrier, StateBarrier},
		{"MPI_Allreduce", ParadigmMPI, RoleCollAllToAll, StateCollective},
		{"MPI_File_open", ParadigmMPI, RoleFileIO, StateMPIIO},
		{"MPI_Win_lock", ParadigmMPI, RoleRMA, StateRMA},
		{"write", ParadigmUnknown, RoleFileIO, StateIO},
		{"open64", ParadigmUnknown, RoleFileIOMetadata, StateIO},
		{"!$omp parallel @x.c:4", ParadigmOpenMP, RoleParallel, StateOwn},
		{"!$omp for @x.c:5", ParadigmOpenMP, RoleLoop, StateOwn},
		{"!$omp implicit barrier @x.c:9", ParadigmOpenMP, RoleImplicitBarrier, StateThread},
		{"!$omp critical @x.c:7", ParadigmOpenMP, RoleCritical, StateThread},
		{"!$omp critical sblock @x.c:7", ParadigmOpenMP, RoleCriticalSblock, StateOwn},
		{"omp_set_lock", ParadigmOpenMP, RoleWrapper, StateLock},
		{"omp_unset_lock", ParadigmOpenMP, RoleWrapper, StateThread},
		{"pthread_mutex_lock", ParadigmPthread, RoleWrapper, StateLock},
		{"pthread_mutex_unlock", ParadigmPthread, RoleWrapper, StateOwn},
		{"pthread_join", ParadigmPthread, RoleThreadWait, StateThread},
		{"hipEventSynchronize", ParadigmHIP, RoleWrapper, StateDeviceWait},
		{"hipMemset", ParadigmHIP, RoleWrapper, StateDeviceCall},
		{"hipMalloc", ParadigmHIP, 35, StateDeviceCall},
		{"__hipPushCallConfiguration", ParadigmHIP, RoleWrapper, StateDeviceCall},
		{"heavy_kernel(float*, float const*)", ParadigmHIP, RoleKernel, StateKernel},
		{"__device_stub__heavy_kernel(float*, float const*)", ParadigmCompiler, RoleFunction, StateOwn},
		{"cudaDeviceSynchronize", ParadigmCUDA, RoleWrapper, StateDeviceWait},
		{"cuStreamSynchronize", ParadigmCUDA, RoleFunction, StateDeviceWait},
		{"cuLaunchKernel", ParadigmCUDA, RoleFunction, StateDeviceCall},
		{"cudaStreamWaitEvent", ParadigmCUDA, RoleWrapper, StateDeviceCall}, // the stream waits, not the host
		{"saxpy", ParadigmCUDA, RoleFunction, StateKernel},
		{"cumulate", ParadigmCUDA, RoleFunction, StateKernel},
		{"clFinish", ParadigmOpenCL, RoleWrapper, StateDeviceWait},
		{"acc_wait @x.f90:3", ParadigmOpenACC, RoleWrapper, StateDeviceWait},
		{"memcpy HtoD", ParadigmCUDA, RoleDataTransfer, StateTransfer},
		{"TRACE BUFFER FLUSH", ParadigmMeasurement, RoleArtificial, StateOverhead},
		{"MEASUREMENT OFF", ParadigmUser, RoleArtificial, StateOverhead},
		{"kernel", ParadigmMeasurement, RoleArtificial, StateOwn}, // the program as a whole, named after its file
		{"flush", ParadigmCompiler, RoleFunction, StateOwn},
		{"Flush", ParadigmMeasurement, RoleCode, StateOverhead},          // Extrae, event type 40000003
		{"Begin", ParadigmMeasurement, RoleFunction, StateOwn},           // Extrae, 40000001: the application
		{"pthread_mutex_lock", ParadigmCompiler, RoleFunction, StateOwn}, // of the program's own
	} {
		d := &Definitions{Strings: []String{{0, c.name}}}
		d.Seal()
		if got := d.StateOf(&Region{Name: 0, Paradigm: c.paradigm, Role: c.role}); got != c.want {
			t.Errorf("%s, paradigm %d, role %d: %s, want %s", c.name, c.paradigm, c.role, got, c.want)
		}
	}
}

// TestStateTable compares the table with docs/metrics.md.
func TestStateTable(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "| state | name | group | productive | told by |\n|---|---|---|---|---|\n"
	names := map[string]bool{}
	for s, x := range States {
		if x.Name == "" || x.Text == "" || x.Group == "" || x.Told == "" || names[x.Name] {
			t.Errorf("row %d is not complete, or has a name twice: %+v", s, x)
		}
		names[x.Name] = true
		productive := ""
		if x.Productive {
			productive = "yes"
		}
		want += fmt.Sprintf("| %s | `%s` | %s | %s | %s |\n", x.Text, x.Name, x.Group, productive, x.Told)
	}
	if !strings.Contains(string(text), "\n\n"+want+"\n") {
		t.Errorf("docs/metrics.md does not have the table of states:\n%s", want)
	}
}
