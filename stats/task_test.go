package stats_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// times returns calls, inclusive and exclusive ticks by the name of each region that was called.
func times(defs *trace.Definitions, l *stats.Loaded) map[string][3]uint64 {
	m := map[string][3]uint64{}
	for _, p := range l.Profile {
		if int(p.Region) < len(defs.Regions) {
			m[defs.Text(defs.Regions[p.Region].Name)] = [3]uint64{p.Calls, p.Inclusive, p.Exclusive}
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
		// No switch after the end of a task: its thread goes on with the calls around it. Task 2 is in progress from 30 to 50 and from 70 on.
		{"no switch after a task is complete", `0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a
0 20 LEAVE a
0 20 THREAD_TASK_COMPLETE 0 0 1
0 20 ENTER barrier
0 30 THREAD_TASK_SWITCH 0 0 2
0 30 ENTER b
0 50 THREAD_TASK_SWITCH 0 0 3
0 50 ENTER a
0 60 LEAVE a
0 60 THREAD_TASK_COMPLETE 0 0 3
0 70 THREAD_TASK_SWITCH 0 0 2
0 80 LEAVE b
0 80 THREAD_TASK_COMPLETE 0 0 2
0 90 LEAVE barrier
0 100 LEAVE main
`, map[string][3]uint64{"main": {1, 100, 20}, "barrier": {1, 70, 30}, "a": {2, 20, 20}, "b": {2, 30, 30}}, 1, 0},
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

// TestMovedCalls: what APEX writes of tasks that go on on another thread, as one thread has it. Regions and times of the rest, and
// how many enters and leaves are left out.
func TestMovedCalls(t *testing.T) {
	const definitions = "-- definitions --\nSTRING self=0 string=\"GUID\"\nATTRIBUTE self=5 name=0 type=4\n"
	for _, c := range []struct {
		name, events string
		want         map[string][3]uint64
		moved, stray uint64
	}{
		// Call a of task 1 ends elsewhere after 9 ticks, b of task 2 and c of task 4 began elsewhere. Only c of task 3 is here, 30-40.
		{"calls without their other half", `0 0 ENTER main
0 2 ENTER a @5:4:1
0 20 LEAVE b @5:4:2
0 30 ENTER c @5:4:3
0 40 LEAVE c @5:4:3
0 50 LEAVE b
0 913 LEAVE c @5:4:4
0 913 LEAVE main
`, map[string][3]uint64{"main": {1, 913, 903}, "c": {1, 10, 10}}, 3, 1},
		{"the same region and another task", `0 0 ENTER main
0 2 ENTER a @5:4:1
0 20 LEAVE a @5:4:2
0 30 LEAVE main
`, map[string][3]uint64{"main": {1, 30, 30}}, 2, 0},
		// Task 1 is left open under task 2, which the stack needs to reach its end: 10-20.
		{"a task that left stays below", `0 0 ENTER main
0 2 ENTER a @5:4:1
0 10 ENTER a @5:4:2
0 20 LEAVE a @5:4:2
0 30 ENTER b
0 40 LEAVE b
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 30}, "a": {1, 10, 10}, "b": {1, 10, 10}}, 1, 0},
		// b of task 2 lies in a of task 1 and ends after it: one of the two can be a call, 10-30.
		{"crossed tasks", `0 0 ENTER main
0 10 ENTER a @5:4:1
0 20 ENTER b @5:4:2
0 30 LEAVE a @5:4:1
0 40 LEAVE b @5:4:2
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 30}, "a": {1, 20, 20}}, 2, 0},
		{"a task that ends below a call of none", `0 0 ENTER main
0 10 ENTER a @5:4:1
0 20 ENTER b
0 30 LEAVE a @5:4:1
0 40 LEAVE b
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 30}, "b": {1, 20, 20}}, 2, 0},
		{"switches tell which task runs", `0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a @5:4:1
0 20 THREAD_TASK_SWITCH 0 0 2
0 20 ENTER b @5:4:2
0 30 THREAD_TASK_SWITCH 0 0 1
0 40 LEAVE a
0 40 THREAD_TASK_SWITCH 0 0 2
0 50 LEAVE b
0 50 THREAD_TASK_SWITCH 0 0 0
0 60 LEAVE main
`, map[string][3]uint64{"main": {1, 60, 20}, "a": {2, 20, 20}, "b": {2, 20, 20}}, 0, 0},
		{"a leave without the attribute, recursion", `0 0 ENTER main
0 10 ENTER a @5:4:1
0 15 ENTER a @5:4:1
0 20 LEAVE a @5:4:1
0 30 LEAVE a
0 50 LEAVE main
`, map[string][3]uint64{"main": {1, 50, 30}, "a": {2, 20, 20}}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := tracetest.Parse(definitions + "-- program --\nprocesses 1\n-- events --\n" + c.events)
			if err != nil {
				t.Fatal(err)
			}
			l, _ := loadFirst(t, src, interval.Flags{})
			if diff := cmp.Diff(c.want, times(src.Definitions(), l)); diff != "" {
				t.Errorf("calls, inclusive, exclusive (-want +got):\n%s", diff)
			}
			d := &l.Diagnostics
			if got := [3]uint64{d.Count(trace.DiagMigrated), d.Count(trace.DiagStrayLeave), d.Count(trace.DiagOpenCall)}; got != [3]uint64{c.moved, c.stray} {
				t.Errorf("moved, stray leaves, open calls: %d, want %d, %d and none", got, c.moved, c.stray)
			}
			if s, _ := tracetest.Severity(d); (s == trace.Damage) != (c.moved > 0) {
				t.Errorf("severity %d with %d left out", s, c.moved)
			}
		})
	}
}

// TestMovedCallsNest leaves out what is found in random events: of the rest each leave of a task ends the innermost open call,
// which is of the same task and region, and no call of a task stays open.
func TestMovedCallsNest(t *testing.T) {
	src, err := tracetest.Parse("-- definitions --\nSTRING self=0 string=\"GUID\"\nATTRIBUTE self=5 name=0 type=4\n-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n")
	if err != nil {
		t.Fatal(err)
	}
	tables := stats.NewTables(src.Definitions(), 0)
	type call struct {
		region uint32
		guid   uint64 // 0: of no task
	}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var b trace.Batch
		var calls []call // of each event
		for i := range trace.Time(1 + rng.IntN(60)) {
			c := call{rng.Uint32N(3), rng.Uint64N(4)}
			kind := trace.Enter
			if rng.IntN(2) == 0 {
				kind = trace.Leave
			}
			b.Append(i, kind, c.region)
			if c.guid > 0 {
				b.AppendAttributes(trace.EventAttribute{Ref: 5, Type: trace.TypeUint64, Value: c.guid})
			}
			calls = append(calls, c)
		}
		m := stats.NewMovedCalls(tables)
		m.Add(&b)
		found := m.Found()
		var stack []call
		for i, c := range calls {
			if k, left := slices.BinarySearch(found, uint64(i)); left {
				if c.guid == 0 && b.Events[i].Kind == trace.Enter || k > 0 && found[k-1] == found[k] {
					t.Fatalf("seed %d: event %d is left out: %+v, %d", seed, i, c, found)
				}
				continue
			}
			top := len(stack) - 1
			switch {
			case b.Events[i].Kind == trace.Enter:
				stack = append(stack, c)
			case top < 0 || stack[top].region != c.region || c.guid > 0 && stack[top].guid != c.guid:
				t.Fatalf("seed %d: event %d leaves %+v, open are %+v", seed, i, c, stack)
			default:
				stack = stack[:top]
			}
		}
		for _, c := range stack {
			if c.guid > 0 {
				t.Fatalf("seed %d: %+v stays open", seed, c)
			}
		}
	}
}
