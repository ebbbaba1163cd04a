package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
)

// times returns calls, inclusive and exclusive ticks by the name of each region that was called.
func times(defs *trace.Definitions, l *stats.Loaded) map[string][3]uint64 {
	m := map[string][3]uint64{}
	for i := range defs.Regions {
		if p := &l.Profile[i]; p.Calls > 0 {
			m[defs.Text(defs.Regions[i].Name)] = [3]uint64{p.Calls, p.Inclusive, p.Exclusive}
		}
	}
	return m
}

// TestTasks: each task has a call stack of its own.
func TestTasks(t *testing.T) {
	for _, c := range []struct {
		name, events     string
		want             map[string][3]uint64
		suspended, moved uint64
	}{
		// Of one thread: main 0-130, barrier 10-120; in it task 1 runs 20-40 and 60-80, task 2 40-60 and 90-100.
		//
		//	main     0-10 120-130                 exclusive 20, inclusive 130
		//	barrier  10-20 80-90 100-120          exclusive 40, inclusive 110
		//	a        20-30 70-80                  exclusive 20, inclusive 20-40 60-80 = 40
		//	wait_a   30-40 60-70                  both 20
		//	b        40-50 95-100                 exclusive 15, inclusive 40-60 90-100 = 30
		//	wait_b   50-60 90-95                  both 15
		//
		// which is 130 together. Each task is suspended once with two open calls.
		{"two tasks in turn", `0 0 ENTER main
0 10 ENTER barrier
0 20 THREAD_TASK_SWITCH 0 0 1
0 20 ENTER a
0 30 ENTER wait_a
0 40 THREAD_TASK_SWITCH 0 0 2
0 40 ENTER b
0 50 ENTER wait_b
0 60 THREAD_TASK_SWITCH 0 0 1
0 70 LEAVE wait_a
0 80 LEAVE a
0 90 THREAD_TASK_SWITCH 0 0 2
0 95 LEAVE wait_b
0 100 LEAVE b
0 110 THREAD_TASK_SWITCH 0 0 0
0 120 LEAVE barrier
0 130 LEAVE main
`, map[string][3]uint64{
			"main": {1, 130, 20}, "barrier": {1, 110, 40}, "a": {2, 40, 20}, "wait_a": {2, 20, 20}, "b": {2, 30, 15}, "wait_b": {2, 15, 15},
		}, 4, 0},
		// The same with the records of OTF2 1: the number of the task alone. Task 1 runs 10-20 and 30-40.
		{"records of the first version", `0 0 ENTER main
0 10 OMP_TASK_SWITCH 1
0 10 ENTER a
0 20 OMP_TASK_SWITCH 0
0 30 OMP_TASK_SWITCH 1
0 40 LEAVE a
0 40 OMP_TASK_SWITCH 0
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 30}, "a": {2, 20, 20}}, 1, 0},
		// A task that opens a parallel region with tasks of its own is not suspended by those: a 10-60, inner 20-50, b 30-40.
		{"a team inside of a task", `0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a
0 20 ENTER inner
0 30 THREAD_TASK_SWITCH 1 0 1
0 30 ENTER b
0 40 LEAVE b
0 40 THREAD_TASK_SWITCH 1 0 0
0 50 LEAVE inner
0 60 LEAVE a
0 60 THREAD_TASK_SWITCH 0 0 0
0 70 LEAVE main
`, map[string][3]uint64{"main": {1, 70, 20}, "a": {1, 50, 20}, "inner": {1, 30, 20}, "b": {1, 10, 10}}, 0, 0},
		// Task 1 is suspended at 20 and goes on on another thread; task 7 began on another one and ends here. What ran here
		// counts, the rest is left out: the suspended call and the leave.
		{"tasks that move", `0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a
0 20 THREAD_TASK_SWITCH 0 0 7
0 40 LEAVE b
0 40 THREAD_TASK_SWITCH 0 0 0
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 40}, "a": {1, 10, 10}}, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := tracetest.Parse("-- program --\nprocesses 1\n-- events --\n" + c.events)
			if err != nil {
				t.Fatal(err)
			}
			l, _ := loadFirst(t, src, interval.Flags{})
			if diff := cmp.Diff(c.want, times(src.Definitions(), l)); diff != "" {
				t.Errorf("calls, inclusive, exclusive (-want +got):\n%s", diff)
			}
			d := &l.Diagnostics
			if d.Count(trace.DiagSuspended) != c.suspended || d.Count(trace.DiagMovedTask) != c.moved {
				t.Errorf("suspended %d, want %d; moved %d, want %d", d.Count(trace.DiagSuspended), c.suspended, d.Count(trace.DiagMovedTask), c.moved)
			}
			if d.Count(trace.DiagStrayLeave)+d.Count(trace.DiagOpenCall) != 0 {
				t.Errorf("%d stray leaves, %d open calls", d.Count(trace.DiagStrayLeave), d.Count(trace.DiagOpenCall))
			}
		})
	}
}

// TestMigratedTasks: thread 0 enters call a of task 1 and never leaves it, and leaves call b of task 2 that it never entered; both
// are counted. What has no GUID, or begins and ends here, is no such call.
func TestMigratedTasks(t *testing.T) {
	src, err := tracetest.Parse(`-- definitions --
STRING self=0 string="GUID"
ATTRIBUTE self=5 name=0 type=4
-- program --
processes 1
-- events --
0 0 ENTER main
0 2 ENTER a @5:4:1
0 20 LEAVE b @5:4:2
0 30 ENTER c @5:4:3
0 40 LEAVE c @5:4:3
0 50 LEAVE b
0 913 LEAVE c @5:4:4
`)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := loadFirst(t, src, interval.Flags{})
	got := [3]uint64{l.Diagnostics.Count(trace.DiagMigrated), l.Diagnostics.Count(trace.DiagStrayLeave), l.Diagnostics.Count(trace.DiagOpenCall)}
	if want := [3]uint64{3, 1, 1}; got != want { // a, b of task 2, c of task 4; b of none; main
		t.Errorf("migrated, stray leaves, open calls: %d, want %d", got, want)
	}
	if s, _ := l.Diagnostics.Severity(); s != trace.Damage {
		t.Errorf("severity %d: the result is not partial", s)
	}
}
