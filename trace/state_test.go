package trace

import (
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
		{"!$omp implicit barrier @x.c:9", ParadigmOpenMP, RoleImplicitBarrier, StateThreadWait},
		{"!$omp critical @x.c:7", ParadigmOpenMP, RoleCritical, StateCritical},
		{"!$omp critical sblock @x.c:7", ParadigmOpenMP, RoleCriticalSblock, StateOwn},
		{"omp_set_lock", ParadigmOpenMP, RoleWrapper, StateLock},
		{"OpenMP acquire mutex", ParadigmUser, RoleFunction, StateLock},
		{"OpenMP implicit barrier", ParadigmUser, RoleFunction, StateThreadWait},
		{"OpenMP implicit task", ParadigmUser, RoleFunction, StateOwn},
		{"omp_unset_lock", ParadigmOpenMP, RoleWrapper, StateThread},
		{"pthread_mutex_lock", ParadigmPthread, RoleWrapper, StateLock},
		{"pthread_mutex_unlock", ParadigmPthread, RoleWrapper, StateOwn},
		{"pthread_join", ParadigmPthread, RoleThreadWait, StateThreadWait},
		{"pthread_join", ParadigmPthread, RoleWrapper, StateThreadWait},
		{"pthread_create", ParadigmPthread, RoleThreadCreate, StateThread},
		{"pthread_cond_wait", ParadigmPthread, RoleWrapper, StateThreadWait}, // for work, not for the mutex
		{"pthread_cond_signal", ParadigmPthread, RoleWrapper, StateOwn},
		{"pthread_barrier_wait", ParadigmPthread, RoleWrapper, StateThreadWait},
		{"pthread_mutex_trylock", ParadigmPthread, RoleWrapper, StateOwn},
		{"sem_wait", ParadigmUnknown, RoleWrapper, StateThreadWait},
		{"my_sem_wait", ParadigmCompiler, RoleFunction, StateOwn},
		{"void std::mutex::lock()", ParadigmCompiler, RoleFunction, StateLock},
		{"std::mutex::lock", ParadigmUnknown, RoleUnknown, StateLock},
		{"std::mutex::unlock()", ParadigmCompiler, RoleFunction, StateOwn},
		{"mine::std::mutex::lock()", ParadigmCompiler, RoleFunction, StateOwn},
		{"!$omp barrier @x.c:8", ParadigmOpenMP, RoleBarrier, StateThreadWait},
		{"!$omp taskwait @x.c:8", ParadigmOpenMP, RoleTaskWait, StateThreadWait},
		{"!$omp task @x.c:8", ParadigmOpenMP, RoleTask, StateOwn},
		{"!$omp create task @x.c:8", ParadigmOpenMP, RoleTaskCreate, StateThread},
		{"!$omp flush @x.c:8", ParadigmOpenMP, RoleFlush, StateThread},
		{"!$omp ordered @x.c:8", ParadigmOpenMP, RoleOrdered, StateCritical},
		{"!$omp ordered sblock @x.c:8", ParadigmOpenMP, RoleOrderedSblock, StateOwn},
		{"!$omp atomic @x.c:8", ParadigmOpenMP, RoleAtomic, StateOwn},
		{"GOMP_critical_start", ParadigmOpenMP, RoleWrapper, StateCritical},
		{"GOMP_critical_end", ParadigmOpenMP, RoleWrapper, StateThread},
		{"GOMP_barrier", ParadigmOpenMP, RoleWrapper, StateThreadWait},
		{"hipEventSynchronize", ParadigmHIP, RoleWrapper, StateDeviceWait},
		{"hipMemset", ParadigmHIP, RoleWrapper, StateTransferCall},
		{"hipMalloc", ParadigmHIP, 35, StateDeviceCall},
		{"__hipPushCallConfiguration", ParadigmHIP, RoleWrapper, StateDeviceCall},
		{"heavy_kernel(float*, float const*)", ParadigmHIP, RoleKernel, StateKernel},
		{"__device_stub__heavy_kernel(float*, float const*)", ParadigmCompiler, RoleFunction, StateOwn},
		{"cudaDeviceSynchronize", ParadigmCUDA, RoleWrapper, StateDeviceWait},
		{"cuStreamSynchronize", ParadigmCUDA, RoleFunction, StateDeviceWait},
		{"cuLaunchKernel", ParadigmCUDA, RoleFunction, StateLaunch},
		{"hipLaunchKernel", ParadigmHIP, RoleWrapper, StateLaunch},
		{"hipMemcpyAsync", ParadigmHIP, RoleDataTransfer, StateTransferCall},
		{"cudaMemcpy", ParadigmCUDA, RoleWrapper, StateTransferCall},
		{"clEnqueueNDRangeKernel", ParadigmOpenCL, RoleWrapper, StateLaunch},
		{"clEnqueueReadBuffer", ParadigmOpenCL, RoleWrapper, StateTransferCall},
		{"acc_enqueue_upload@x.f90:3", ParadigmOpenACC, RoleWrapper, StateTransferCall},
		{"memset_kernel", ParadigmCUDA, RoleFunction, StateKernel},
		{"my_launch", ParadigmHIP, RoleKernel, StateKernel},
		{"cudaStreamWaitEvent", ParadigmCUDA, RoleWrapper, StateDeviceCall}, // the stream waits, not the host
		{"saxpy", ParadigmCUDA, RoleFunction, StateKernel},
		{"cumulate", ParadigmCUDA, RoleFunction, StateKernel},
		{"clFinish", ParadigmOpenCL, RoleWrapper, StateDeviceWait},
		{"!$omp target @x.c:3", ParadigmOpenMPTarget, RoleFunction, StateDeviceCall},
		{"!$omp target submit @x.c:3", ParadigmOpenMPTarget, RoleFunction, StateLaunch},
		{"omp_target_memcpy", ParadigmOpenMPTarget, RoleDataTransfer, StateTransferCall},
		{"!$omp target @x.c:3", ParadigmOpenMPTarget, RoleKernel, StateKernel},
		{"acc_wait @x.f90:3", ParadigmOpenACC, RoleWrapper, StateDeviceWait},
		{"cudaDeviceSynchronize", ParadigmCompiler, RoleFunction, StateDeviceWait}, // of a library that is recorded as the program is
		{"cudaError_t cudaStreamSynchronize(cudaStream_t)", ParadigmUser, RoleFunction, StateDeviceWait},
		{"hipDeviceSynchronize", ParadigmUnknown, RoleUnknown, StateDeviceWait},
		{"Kokkos::fence(std::string const&)", ParadigmCompiler, RoleFunction, StateDeviceWait},
		{"void Kokkos::Cuda::fence(std::string const&) const", ParadigmCompiler, RoleFunction, StateDeviceWait},
		{"mine::Kokkos::fence()", ParadigmCompiler, RoleFunction, StateOwn},
		{"cudaDeviceSynchronizeAll", ParadigmCompiler, RoleFunction, StateOwn},
		{"fence", ParadigmCompiler, RoleFunction, StateOwn},
		{"memcpy HtoD", ParadigmCUDA, RoleDataTransfer, StateTransfer},
		{"TRACE BUFFER FLUSH", ParadigmMeasurement, RoleArtificial, StateOverhead},
		{"MEASUREMENT OFF", ParadigmUser, RoleArtificial, StateOverhead},
		{"kernel", ParadigmMeasurement, RoleArtificial, StateOwn}, // the program as a whole, named after its file
		{"flush", ParadigmCompiler, RoleFunction, StateOwn},
		{"Flush", ParadigmMeasurement, RoleCode, StateOverhead},           // Extrae, event type 40000003
		{"Begin", ParadigmMeasurement, RoleFunction, StateOwn},            // Extrae, 40000001: the application
		{"pthread_mutex_lock", ParadigmCompiler, RoleFunction, StateLock}, // of a library that is recorded as the program is
	} {
		d := &Definitions{Strings: []String{{0, c.name}}}
		d.Seal()
		if got := d.StateOf(&Region{Name: 0, Paradigm: c.paradigm, Role: c.role}); got != c.want {
			t.Errorf("%s, paradigm %d, role %d: %s, want %s", c.name, c.paradigm, c.role, got, c.want)
		}
	}
}
