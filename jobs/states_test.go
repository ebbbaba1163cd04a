package jobs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// states is a process that is in every state outside MPI, and one that computes.
const states = `
-- program --
processes 2
threads 1
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER MPI_Init
0 30 LEAVE MPI_Init
0 40 ENTER hipMemset
0 50 LEAVE hipMemset
0 50 ENTER hipEventSynchronize
0 60 ENTER MPI_Iprobe
0 65 LEAVE MPI_Iprobe
0 90 LEAVE hipEventSynchronize
0 100 ENTER pthread_mutex_lock
0 115 LEAVE pthread_mutex_lock
0 120 ENTER write
0 125 ENTER pthread_mutex_lock
0 128 LEAVE pthread_mutex_lock
0 140 LEAVE write
0 150 ENTER "TRACE BUFFER FLUSH"
0 160 LEAVE "TRACE BUFFER FLUSH"
0 170 BUFFER_FLUSH 180
0 200 MEASUREMENT_ON_OFF OFF
0 205 ENTER write
0 210 LEAVE write
0 230 MEASUREMENT_ON_OFF ON
0 240 ENTER MPI_Finalize
0 260 LEAVE MPI_Finalize
0 300 LEAVE main
1 0 ENTER main
1 300 LEAVE main
`

// withRoles parses a text and gives its regions the roles that tracers give them.
func withRoles(t *testing.T, text string) trace.Source {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	for i := range d.Regions {
		r := &d.Regions[i]
		switch d.Text(r.Name) {
		case "hipMemset", "hipEventSynchronize":
			r.Role, r.Paradigm = trace.RoleWrapper, trace.ParadigmHIP
		case "pthread_mutex_lock":
			r.Role, r.Paradigm = trace.RoleWrapper, trace.ParadigmPthread
		case "write":
			r.Role, r.Paradigm = trace.RoleFileIO, trace.ParadigmUnknown
		case "TRACE BUFFER FLUSH":
			r.Role, r.Paradigm = trace.RoleArtificial, trace.ParadigmMeasurement
		}
	}
	return src
}

// TestStates compares the components with sums by hand: of the first process
//
//	mpi          20 Init + 5 Iprobe + 20 Finalize = 45, of it set-up 40
//	device_call  50 - 40 = 10
//	device_wait  90 - 50 less the 5 of Iprobe = 35
//	lock_wait    115 - 100 = 15; the lock inside of write is I/O
//	io           140 - 120 = 20; the write where the measurement is off is overhead
//	overhead     10 in the region, 10 by the record, 230 - 200 off = 50
//	cpu          300 - 45 - 10 - 35 - 15 - 20 - 50 = 125
//	measured     300 - 40 = 260
func TestStates(t *testing.T) {
	src := withRoles(t, states)
	want := []map[xtf.Item]uint64{{
		xtf.ItemTime: 300, xtf.ItemMPI: 45, xtf.ItemSetup: 40, xtf.ItemDeviceCall: 10, xtf.ItemDeviceWait: 35,
		xtf.ItemLockWait: 15, xtf.ItemIO: 20, xtf.ItemOverhead: 50, xtf.ItemCPU: 125, xtf.ItemMeasured: 260,
	}, {xtf.ItemTime: 300, xtf.ItemCPU: 300, xtf.ItemMeasured: 300}}
	second, err := oracle.Analyze(src, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 30}
	analyzed(t, 2, o)
	f, err := xtf.OpenFile(o.Output, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const path = "0: 0-10 cpu, 10-30 mpi, 30-40 cpu, 40-50 device_call, 50-60 device_wait, 60-65 mpi, 65-90 device_wait, 90-100 cpu, " +
		"100-115 lock_wait, 115-120 cpu, 120-140 io, 140-150 cpu, 150-160 overhead, 160-170 cpu, 170-180 overhead, 180-200 cpu, " +
		"200-230 overhead, 230-240 cpu, 240-260 mpi, 260-300 cpu; 1: ; "
	if got := pathText(t, f, src); got != path {
		t.Errorf("critical path\n%s, want\n%s", got, path)
	}
	compareCauses(t, o.Output, src, second)
	for p, items := range want {
		got := map[xtf.Item]uint64{}
		rowsOf(t, f, xtf.Proc(p), xtf.TypeComp, func(_ uint64, row []byte) {
			var c xtf.Comp
			c.Load(row)
			item := xtf.Item(uint32(c.Key))
			if _, ok := want[0][item]; ok && c.Key>>32 == 0 {
				got[item] = c.Value
			}
		})
		if diff := cmp.Diff(items, got); diff != "" {
			t.Errorf("process %d: -want +got\n%s", p, diff)
		}
		for item := range want[0] {
			if got := second.Processes[p].Components[0][oracle.Item(item.String())]; got != items[item] {
				t.Errorf("process %d, second computation: %s is %d, want %d", p, item, got, items[item])
			}
		}
	}
}

// TestHostWaits: the host of a real archive waits in hipEventSynchronize twice, as
// otf2-print shows it: from 6127386368586303 to 6127403889510655 and from
// 6127405422752434 to 6127411447543723, together 23545715641 ticks.
func TestHostWaits(t *testing.T) {
	path := filepath.Join("..", "..", "shared", "traces", "otf2", "hip-mi300-scorep9", "traces.otf2")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the archive is not there: %v", err)
	}
	src, err := otf2.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 30}
	analyzed(t, 2, o)
	f, err := xtf.OpenFile(o.Output, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[xtf.Item]uint64{}
	rowsOf(t, f, 0, xtf.TypeComp, func(_ uint64, row []byte) {
		var c xtf.Comp
		c.Load(row)
		got[xtf.Item(uint32(c.Key))] = c.Value
	})
	if got[xtf.ItemDeviceWait] != 23545715641 {
		t.Errorf("device_wait is %d, want 23545715641", got[xtf.ItemDeviceWait])
	}
	if got[xtf.ItemTime] != got[xtf.ItemCPU]+got[xtf.ItemDeviceWait]+got[xtf.ItemDeviceCall] {
		t.Errorf("time is %d of CPU %d, device wait %d, device call %d", got[xtf.ItemTime], got[xtf.ItemCPU], got[xtf.ItemDeviceWait], got[xtf.ItemDeviceCall])
	}
}
