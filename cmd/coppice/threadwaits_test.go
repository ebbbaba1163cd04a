package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestWaitsOfThreads: both threads of process 0 receive. The first is in MPI for 50 ticks, from 10 to 60, and waits for the send at
// 50: 40 ticks. The second one waits from 5 to 60, 55 ticks, which are not a part of the process's time in MPI.
func TestWaitsOfThreads(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(`
-- program --
processes 2
threads 2
-- events --
0 0 ENTER main
0 10 ENTER MPI_Recv
0 60 MPI_RECV 1 MPI_COMM_WORLD 1 8
0 60 LEAVE MPI_Recv
0 100 LEAVE main
1 5 ENTER MPI_Recv
1 70 MPI_RECV 1 MPI_COMM_WORLD 2 8
1 70 LEAVE MPI_Recv
2 0 ENTER main
2 50 ENTER MPI_Send
2 50 MPI_SEND 0 MPI_COMM_WORLD 1 8
2 55 LEAVE MPI_Send
2 60 ENTER MPI_Send
2 60 MPI_SEND 0 MPI_COMM_WORLD 2 8
2 65 LEAVE MPI_Send
2 100 LEAVE main
3 0 ENTER work
3 90 LEAVE work
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", run, "-q")
	type answer struct {
		Summary struct {
			Ticks struct {
				MPI uint64 `json:"mpi"`
			} `json:"ticks"`
		} `json:"summary"`
		Waits struct {
			Total  uint64 `json:"total"`
			Others uint64 `json:"other_threads"`
		} `json:"waits"`
	}
	got := jsonOf[answer](t, "report", run, "summary", "waits")
	if got.Summary.Ticks.MPI != 50+10 || got.Waits.Total != 40 || got.Waits.Others != 55 {
		t.Errorf("%+v, want 60 ticks of MPI, 40 of waits and 55 of waits of other threads", got)
	}
	if out := must(t, "report", run, "waits"); !strings.Contains(out, "other threads than the first of a process wait") {
		t.Errorf("nothing is said of other threads:\n%s", out)
	}
	if code, out, errs := call("check", run); code != 0 {
		t.Errorf("check has exit code %d\n%s%s", code, out, errs)
	}
}

// ofThreads has a parallel region in which thread 1 comes to the barrier last, one in which the threads exclude each other and thread 0
// comes last, one in which thread 1 executes a task that thread 0 makes and waits for, and thread 2, which thread 0 starts and joins.
const ofThreads = `
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER parallel
0 150 ENTER barrier
0 315 LEAVE barrier
0 320 LEAVE parallel
0 400 ENTER parallel
0 420 ENTER critical
0 505 THREAD_ACQUIRE_LOCK 3 7 2
0 506 ENTER sblock
0 549 THREAD_RELEASE_LOCK 3 7 2
0 550 LEAVE sblock
0 552 LEAVE critical
0 560 ENTER barrier
0 565 LEAVE barrier
0 570 LEAVE parallel
0 600 ENTER pthread_create
0 601 THREAD_CREATE 4 1
0 602 LEAVE pthread_create
0 650 ENTER pthread_join
0 810 LEAVE pthread_join
0 811 THREAD_WAIT 4 1
0 850 ENTER parallel
0 860 THREAD_TASK_CREATE 5 0 1
0 861 THREAD_TASK_CREATE 5 0 2
0 870 ENTER taskwait
0 872 THREAD_TASK_SWITCH 5 0 2
0 872 ENTER task
0 890 THREAD_TASK_COMPLETE 5 0 2
0 890 LEAVE task
0 955 LEAVE taskwait
0 956 ENTER barrier
0 958 LEAVE barrier
0 960 LEAVE parallel
0 1000 LEAVE main
1 105 ENTER parallel
1 110 ENTER work
1 300 LEAVE work
1 310 ENTER barrier
1 316 LEAVE barrier
1 320 LEAVE parallel
1 405 ENTER parallel
1 406 ENTER critical
1 407 THREAD_ACQUIRE_LOCK 3 7 1
1 410 ENTER sblock
1 500 THREAD_RELEASE_LOCK 3 7 1
1 501 LEAVE sblock
1 502 LEAVE critical
1 510 ENTER barrier
1 566 LEAVE barrier
1 570 LEAVE parallel
1 852 ENTER parallel
1 853 ENTER barrier
1 865 THREAD_TASK_SWITCH 5 0 1
1 865 ENTER task
1 950 THREAD_TASK_COMPLETE 5 0 1
1 950 LEAVE task
1 958 LEAVE barrier
1 960 LEAVE parallel
2 610 THREAD_BEGIN 4 1
2 610 ENTER slow
2 800 LEAVE slow
2 800 THREAD_END 4 1
`

// rolesOfOpenMP gives regions the roles of constructs, by their names.
func rolesOfOpenMP(o *analyze.Options) {
	d := o.Source.Definitions()
	roles := map[string]trace.RegionRole{
		"parallel": trace.RoleParallel, "barrier": trace.RoleImplicitBarrier, "critical": trace.RoleCritical, "sblock": trace.RoleCriticalSblock, "taskwait": trace.RoleTaskWait, "task": trace.RoleTask,
	}
	for i := range d.Regions {
		if r := &d.Regions[i]; roles[d.Text(r.Name)] != 0 {
			r.Role, r.Paradigm = roles[d.Text(r.Name)], trace.ParadigmOpenMP
		}
	}
}

// nestedRegions has two threads in a region from 100 to 450, each of which begins a region of two: threads work for 50, 150, 250 and 350 ticks.
const nestedRegions = `
-- program --
processes 1
threads 4
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER parallel
0 100 ENTER parallel
0 150 ENTER barrier
0 250 LEAVE barrier
0 250 LEAVE parallel
0 250 ENTER barrier
0 450 LEAVE barrier
0 450 LEAVE parallel
0 500 LEAVE main
1 100 ENTER parallel
1 100 ENTER parallel
1 350 ENTER barrier
1 450 LEAVE barrier
1 450 LEAVE parallel
1 450 ENTER barrier
1 450 LEAVE barrier
1 450 LEAVE parallel
2 100 ENTER parallel
2 250 ENTER barrier
2 250 LEAVE barrier
2 250 LEAVE parallel
3 100 ENTER parallel
3 450 ENTER barrier
3 450 LEAVE barrier
3 450 LEAVE parallel
`

// TestNestedRegions: of 4 threads in 500 ticks 150 are outside of regions, so serial is (2000 - 450) / 2000; in the region all work 800 of 4 x 350, the
// busiest one all of it. That the critical path stays in barriers inside is said.
func TestNestedRegions(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, nestedRegions, rolesOfOpenMP)
	p := jsonOf[struct {
		Summary struct {
			POP struct {
				Threads struct {
					Serial, Scheduling float64
					Balance            float64 `json:"load_balance"`
				} `json:"threads"`
			}
		}
	}](t, "report", run).Summary.POP.Threads
	if p.Serial != 1550./2000 || math.Abs(p.Balance-(800.+150)/1550) > 1e-12 || p.Scheduling != 1 {
		t.Errorf("%+v", p)
	}
	if text := must(t, "report", run); !strings.Contains(text, "the critical path stays in their barriers") {
		t.Error(text)
	}
	if text := must(t, "report", foundTrace(t, ofThreads, rolesOfOpenMP)); strings.Contains(text, "inside of others") {
		t.Error(text)
	}
}

// TestPathThroughThreads: the critical path by region, by hand from the end. Thread 0: main from 960 and from 810, to 958 the barrier, 955 to 956 the
// region, taskwait from 950, when the task of thread 1 ends; that from 865, before it the barrier back to 860, when it was created; the region from 850, main from 810,
// the join from 800; thread 2 from 610; main from 602 and from 570, the start of the thread between. Then the region but for the barrier from 560 and the lock, which
// thread 1 gives at 500: its part of the region from 405, thread 0's from 400, main from 320. At last the barrier from 310, before it thread 1 from 105, thread 0.
func TestPathThroughThreads(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, ofThreads, rolesOfOpenMP)
	type region struct {
		Name  string
		Ticks uint64
	}
	doc := jsonOf[struct {
		Waits struct {
			Critical struct {
				Length  uint64
				Regions []region
			} `json:"critical_path"`
		}
	}](t, "report", run, "waits")
	want := map[string]uint64{
		"main": 40 + 40 + 8 + 30 + 80 + 100, "parallel": 2 + 1 + 10 + 5 + 8 + 1 + 5 + 5 + 10 + 5 + 5, "barrier": 2 + 5 + 5 + 5, "taskwait": 5, "task": 85,
		"pthread_join": 10, "slow": 190, "pthread_create": 2, "critical": 2 + 6 + 4, "sblock": 44 + 90, "work": 190,
	}
	got := map[string]uint64{}
	for _, r := range doc.Waits.Critical.Regions {
		got[r.Name] = r.Ticks
	}
	if diff := cmp.Diff(want, got); diff != "" || doc.Waits.Critical.Length != 1000 {
		t.Error(doc.Waits.Critical.Length, diff)
	}
}

// TestPathThroughConditions: thread 1 waits for what thread 0 produces, and thread 0 once for thread 1, which ends 50 ticks before it is joined: the
// path goes through what they compute, and waits only while both do. Where a third thread computes, nobody knows for whom they wait.
func TestPathThroughConditions(t *testing.T) {
	t.Parallel()
	const handed = `
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER pthread_create
0 11 THREAD_CREATE 4 1
0 12 LEAVE pthread_create
0 15 THREAD_CREATE 4 2
0 100 ENTER produce
0 500 LEAVE produce
0 500 ENTER pthread_cond_wait
0 600 LEAVE pthread_cond_wait
0 600 ENTER produce
0 900 LEAVE produce
0 900 ENTER pthread_join
0 950 LEAVE pthread_join
0 950 THREAD_WAIT 4 1
0 1000 LEAVE main
1 12 THREAD_BEGIN 4 1
1 12 ENTER consume
1 20 ENTER pthread_cond_wait
1 490 LEAVE pthread_cond_wait
1 600 ENTER pthread_cond_wait
1 910 LEAVE pthread_cond_wait
1 949 LEAVE consume
1 949 THREAD_END 4 1
`
	for _, x := range []struct {
		text string
		want map[string]uint64
	}{
		{handed + "2 15 THREAD_BEGIN 4 2\n2 15 ENTER other\n2 18 LEAVE other\n2 18 THREAD_END 4 2\n", map[string]uint64{"main": 10 + 88 + 50, "pthread_create": 2, "produce": 390 + 300, "consume": 110 + 39, "pthread_join": 1, "pthread_cond_wait": 10}},
		{handed + "2 15 THREAD_BEGIN 4 2\n2 15 ENTER other\n2 970 LEAVE other\n2 970 THREAD_END 4 2\n", map[string]uint64{"main": 10 + 50, "pthread_create": 2, "consume": 8 + 110 + 39, "pthread_join": 1, "pthread_cond_wait": 470 + 310}},
	} {
		if diff := cmp.Diff(x.want, onPath(t, foundTrace(t, x.text))); diff != "" {
			t.Error(diff)
		}
	}
}

// onPath returns the ticks of the critical path in each region.
func onPath(t *testing.T, run string) map[string]uint64 {
	t.Helper()
	doc := jsonOf[struct {
		Waits struct {
			Critical struct {
				Regions []struct {
					Name  string
					Ticks uint64
				}
			} `json:"critical_path"`
		}
	}](t, "report", run, "waits")
	ticks := map[string]uint64{}
	for _, r := range doc.Waits.Critical.Regions {
		ticks[r.Name] += r.Ticks
	}
	return ticks
}

// TestPathThroughWaitsThatTouch: thread 0 joins thread 1, which ends at 400, and at the instant of its return thread 2, which ends at 650, or waits for it in a
// lock that it takes in the join. The path goes to each: from 650 to the start of thread 2 at 60, where that one did not wait for the other.
func TestPathThroughWaitsThatTouch(t *testing.T) {
	t.Parallel()
	const started = `
-- program --
processes 1
threads 3
resolution 1000
-- events --
0 0 ENTER main
0 10 ENTER pthread_create
0 10 THREAD_CREATE 4 1
0 10 THREAD_CREATE 4 2
0 20 LEAVE pthread_create
1 20 THREAD_BEGIN 4 1
1 20 ENTER first
1 400 LEAVE first
1 400 THREAD_END 4 1
2 20 THREAD_BEGIN 4 2
2 20 ENTER second
`
	for name, x := range map[string]struct {
		text string
		want map[string]uint64
	}{
		"touch": {started + `
0 300 ENTER pthread_join
0 410 THREAD_WAIT 4 1
0 410 LEAVE pthread_join
0 410 ENTER pthread_join
0 660 THREAD_WAIT 4 2
0 660 LEAVE pthread_join
0 700 LEAVE main
2 650 LEAVE second
2 650 THREAD_END 4 2
`, map[string]uint64{"main": 10 + 40, "pthread_create": 10, "second": 630, "pthread_join": 10}},
		"the first one": {started + `
0 300 ENTER pthread_join
0 410 THREAD_WAIT 4 1
0 410 LEAVE pthread_join
0 410 ENTER pthread_join
0 420 THREAD_WAIT 4 2
0 420 LEAVE pthread_join
0 700 LEAVE main
2 100 LEAVE second
2 100 THREAD_END 4 2
`, map[string]uint64{"main": 10 + 280, "pthread_create": 10, "first": 380, "pthread_join": 20}},
		"inside": {started + `
0 300 ENTER pthread_join
0 410 ENTER pthread_mutex_lock
0 660 THREAD_ACQUIRE_LOCK 7 9 2
0 660 LEAVE pthread_mutex_lock
0 670 THREAD_WAIT 4 1
0 670 LEAVE pthread_join
0 700 LEAVE main
2 30 THREAD_ACQUIRE_LOCK 7 9 1
2 650 THREAD_RELEASE_LOCK 7 9 1
2 680 LEAVE second
2 680 THREAD_END 4 2
`, map[string]uint64{"main": 10 + 30, "pthread_create": 10, "second": 630, "pthread_join": 10, "pthread_mutex_lock": 10}},
	} {
		if diff := cmp.Diff(x.want, onPath(t, foundTrace(t, x.text))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
