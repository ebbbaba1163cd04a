package analyze_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
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

// threadStates is a process whose first thread waits for others: for a critical section with another one, and a call of MPI, in
// its body, in a barrier in which it does a task, for a mutex, for the end of a thread, and for a section without a body while the
// measurement is off for a part. The second one waits as well.
const threadStates = `
-- program --
processes 1
threads 2
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER parallel
0 10 ENTER critical
0 30 ENTER sblock
0 35 ENTER MPI_Iprobe
0 40 LEAVE MPI_Iprobe
0 45 ENTER critical
0 48 ENTER sblock
0 50 LEAVE sblock
0 50 LEAVE critical
0 60 LEAVE sblock
0 60 LEAVE critical
0 60 ENTER implicit
0 65 ENTER task
0 66 ENTER write
0 70 LEAVE write
0 75 LEAVE task
0 80 LEAVE implicit
0 80 LEAVE parallel
0 90 ENTER pthread_mutex_lock
0 95 ENTER critical
0 97 LEAVE critical
0 100 LEAVE pthread_mutex_lock
0 110 ENTER pthread_join
0 130 LEAVE pthread_join
0 140 ENTER critical
0 142 MEASUREMENT_ON_OFF OFF
0 150 MEASUREMENT_ON_OFF ON
0 155 LEAVE critical
0 200 LEAVE main
1 10 ENTER parallel
1 10 ENTER critical
1 10 ENTER sblock
1 30 LEAVE sblock
1 30 LEAVE critical
1 30 ENTER critical
1 44 ENTER sblock
1 45 LEAVE sblock
1 45 LEAVE critical
1 45 ENTER implicit
1 80 LEAVE implicit
1 80 LEAVE parallel
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
		case "parallel":
			r.Role, r.Paradigm = trace.RoleParallel, trace.ParadigmOpenMP
		case "critical":
			r.Role, r.Paradigm = trace.RoleCritical, trace.ParadigmOpenMP
		case "sblock":
			r.Role, r.Paradigm = trace.RoleCriticalSblock, trace.ParadigmOpenMP
		case "implicit":
			r.Role, r.Paradigm = trace.RoleImplicitBarrier, trace.ParadigmOpenMP
		case "task":
			r.Role, r.Paradigm = trace.RoleTask, trace.ParadigmOpenMP
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
//
// and of the process whose threads wait for each other
//
//	lock_wait    30 - 10 before the first section, 48 - 45 before the one in it, 100 - 90 for the mutex, in which the section
//	             counts nothing, 155 - 140 less 8 in the one without a body = 20 + 3 + 10 + 7 = 40
//	thread_wait  80 - 60 less 10 of the task, 130 - 110 = 30, part of cpu
//	overhead     150 - 142 = 8
//	cpu          200 - 5 MPI - 4 I/O - 40 - 8 = 143
//	thread_time  2 x 200, for the call of MPI is in the parallel region
//	serial       200 - 70
//	imbalance    of 70 ticks the first thread works 27 in sections and 10 in the task, the second one 20 + 1. They wait for sections 23
//	             and 14, of which as much is work as the first one waits: 60 and 35, so 2 x 60 - 95 = 25
//	scheduling   2 x (70 - 60) = 20
func TestStates(t *testing.T) {
	for _, x := range []struct {
		name, trace string
		ranks       int
		want        []map[xtf.Item]uint64
		path        string
	}{
		{
			"host", states, 2,
			[]map[xtf.Item]uint64{{
				xtf.ItemTime: 300, xtf.ItemMPI: 45, xtf.ItemSetup: 40, xtf.ItemDeviceCall: 10, xtf.ItemDeviceWait: 35,
				xtf.ItemLockWait: 15, xtf.ItemIO: 20, xtf.ItemOverhead: 50, xtf.ItemCPU: 125, xtf.ItemMeasured: 260,
			}, {xtf.ItemTime: 300, xtf.ItemCPU: 300, xtf.ItemMeasured: 300}},
			"0: 0-10 cpu, 10-30 mpi, 30-40 cpu, 40-50 device_call, 50-60 device_wait, 60-65 mpi, 65-90 device_wait, 90-100 cpu, " +
				"100-115 lock_wait, 115-120 cpu, 120-140 io, 140-150 cpu, 150-160 overhead, 160-170 cpu, 170-180 overhead, 180-200 cpu, " +
				"200-230 overhead, 230-240 cpu, 240-260 mpi, 260-300 cpu; 1: ; ",
		},
		{
			"threads", threadStates, 2,
			[]map[xtf.Item]uint64{{
				xtf.ItemTime: 200, xtf.ItemMPI: 5, xtf.ItemIO: 4, xtf.ItemLockWait: 40, xtf.ItemThreadWait: 30, xtf.ItemOverhead: 8, xtf.ItemCPU: 143, xtf.ItemMeasured: 200,
				xtf.ItemThreadTime: 400, xtf.ItemThreadSerial: 130, xtf.ItemThreadImbalance: 25, xtf.ItemThreadScheduling: 20,
			}, {xtf.ItemTime: 70, xtf.ItemLockWait: 14, xtf.ItemThreadWait: 35, xtf.ItemCPU: 56, xtf.ItemMeasured: 70}},
			"0: 0-10 cpu, 10-30 lock_wait, 30-35 cpu, 35-40 mpi, 40-45 cpu, 45-48 lock_wait, 48-66 cpu, 66-70 io, 70-90 cpu, 90-100 lock_wait, " +
				"100-140 cpu, 140-142 lock_wait, 142-150 overhead, 150-155 lock_wait, 155-200 cpu; 1: ; ",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			src := withRoles(t, x.trace)
			second, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 30}
			analyzed(t, x.ranks, o)
			f, err := callview.OpenFile(o.Output, xtf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got := pathText(t, f, src); got != x.path {
				t.Errorf("critical path\n%s, want\n%s", got, x.path)
			}
			compareCauses(t, o.Output, src, second)
			for p, items := range x.want {
				got := map[xtf.Item]uint64{}
				rowsOf(t, f, xtf.Proc(p), xtf.TypeComp, func(_ uint64, row []byte) {
					var c xtf.Comp
					c.Load(row)
					item := xtf.Item(uint32(c.Key))
					if _, ok := x.want[0][item]; ok && c.Key>>32 == 0 {
						got[item] = c.Value
					}
				})
				if diff := cmp.Diff(items, got); diff != "" {
					t.Errorf("location %d: -want +got\n%s", p, diff)
				}
				for item := range x.want[0] {
					if item >= xtf.ItemThreadTime && item <= xtf.ItemThreadScheduling {
						continue
					}
					if got := second.Locations[p].Components[0][oracle.Item(item.String())]; got != items[item] {
						t.Errorf("location %d, second computation: %s is %d, want %d", p, item, got, items[item])
					}
				}
			}
		})
	}
}

// TestHostWaits: the host of a real archive waits in hipEventSynchronize twice, as
// otf2-print shows it: from 6127386368586303 to 6127403889510655 and from
// 6127405422752434 to 6127411447543723, together 23545715641 ticks.
func TestHostWaits(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "traces", "otf2", "hip-mi300-scorep9", "traces.otf2")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the archive is not there: %v", err)
	}
	src, err := otf2.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 30}
	analyzed(t, 2, o)
	f, err := callview.OpenFile(o.Output, xtf.Options{})
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
