package analyze_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	gocmp "github.com/google/go-cmp/cmp"
)

// goldenCauses are causes of the golden traces, worked by hand: delay costs by
// location, where there is a number for them, and the critical path.
var goldenCauses = []struct {
	name, table  string
	delays, path string
}{
	{
		"point to point", tracetest.GoldenG1,
		"0 late_sender cpu 10+0, 1 late_receiver cpu 16+0, 1 late_receiver mpi 4+0",
		"0: 0-20 cpu, 60-72 mpi, 72-100 cpu; 1: 20-34 mpi, 34-60 cpu; ",
	},
	{
		"collectives", tracetest.GoldenG2, "",
		"0: 0-10 cpu, 92-93 mpi, 93-100 cpu; 1: ; 2: 72-75 mpi, 75-92 cpu; 3: 10-17 mpi, 17-44 cpu, 44-51 mpi, 51-72 cpu; ",
	},
	{
		"intervals", tracetest.GoldenG3, "",
		"0: 92-95 mpi, 95-100 cpu; 1: 0-5 cpu, 5-6 marker, 6-8 cpu, 8-9 marker, 9-22 cpu, 22-24 mpi, 24-26 marker, 26-36 cpu, 36-37 mpi, " +
			"37-39 marker, 39-55 cpu, 55-57 mpi, 57-58 marker, 58-59 cpu, 59-60 marker, 60-92 cpu; ",
	},
}

var activityNames = []string{"cpu", "mpi", "io", "marker", "wait", "outside", "device_call", "device_wait", "lock_wait", "overhead", "kernel", "transfer", "device_idle"}

// TestGoldenCauses analyses the golden traces.
func TestGoldenCauses(t *testing.T) {
	for _, g := range goldenCauses {
		t.Run(g.name, func(t *testing.T) {
			src, err := tracetest.ParseCalls(g.table)
			if err != nil {
				t.Fatal(err)
			}
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
			analyzed(t, 2, o)
			f := openFile(t, o.Output)
			if got := pathText(t, f, src); got != g.path {
				t.Errorf("critical path\n%s, want\n%s", got, g.path)
			}
			if got := delayText(t, f, src); g.delays != "" && got != g.delays {
				t.Errorf("delay costs\n%s, want\n%s", got, g.delays)
			}
		})
	}
}

// TestLateStart: process 1 begins at 50, and 0 waits for it in a barrier from 20 to 60.
// From 0 to 60 process 1 is outside for 50 ticks and computes for 10, 0 computes for
// 20 before it waits: what 1 does too long are the 50 ticks outside, which cost all 40
// of the wait. The path is 0 back to 60, then 1 back to the begin of the run.
func TestLateStart(t *testing.T) {
	const program = `
-- program --
processes 2
-- events --
0 0 ENTER main
0 20 ENTER MPI_Barrier
0 20 MPI_COLLECTIVE_BEGIN
0 70 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 70 LEAVE MPI_Barrier
0 100 LEAVE main
1 50 ENTER main
1 60 ENTER MPI_Barrier
1 60 MPI_COLLECTIVE_BEGIN
1 70 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 70 LEAVE MPI_Barrier
1 90 LEAVE main
`
	src, err := tracetest.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
	analyzed(t, 2, o)
	f := openFile(t, o.Output)
	if got, want := pathText(t, f, src), "0: 60-70 mpi, 70-100 cpu; 1: 0-50 outside, 50-60 cpu; "; got != want {
		t.Errorf("critical path %s, want %s", got, want)
	}
	if got, want := delayText(t, f, src), "1 wait_barrier outside 40+0"; got != want {
		t.Errorf("delay costs %s, want %s", got, want)
	}
	for p, want := range []uint64{30, 10} { // of the program's time, which begins with its first event
		if got := readComponents(t, f, xtf.Proc(p))[xtf.NodeKey(0, uint32(xtf.ItemCriticalCPU))]; got != want {
			t.Errorf("process %d: critical_cpu is %d, want %d", p, got, want)
		}
	}
}

// TestMeeting: process 0 writes a file for 30 ticks, process 1 computes for 30, process 2 for 31; then all take part in an
// operation up to 32. Then process 0 computes for 25 while process 1 waits for its message, from 32 to 57. Where the operation
// is one in which 0 and 1 have met, what 0 does too long is to compute, 25 to 0. Where not, it counts from the begin: 0 writes
// for 30 ticks and computes for 25, 1 computes for 30, so writing is the only thing that 0 does longer.
func TestMeeting(t *testing.T) {
	const met, not = "0 late_sender cpu 25+0", "0 late_sender io 25+0"
	for _, x := range []struct{ name, operation, delays string }{
		{"barrier", "BARRIER MPI_COMM_WORLD none 0 0", met + ", 2 wait_barrier cpu 2+0"},
		{"all to all", "ALLREDUCE MPI_COMM_WORLD none 8 8", met + ", 2 wait_nxn cpu 2+0"},
		{"no data", "ALLREDUCE MPI_COMM_WORLD none 0 0", not},
		{"no data of the last one", "ALLGATHERV MPI_COMM_WORLD none SENT 8", not},
		{"pairs may exchange nothing", "ALLTOALLV MPI_COMM_WORLD none 8 8", not + ", 2 wait_nxn cpu 2+0"},
		{"one to all", "BCAST MPI_COMM_WORLD 2 8 8", not + ", 2 late_broadcast cpu 2+0"},
		{"handle", "CREATE_HANDLE MPI_COMM_WORLD none 0 0", met + ", 2 wait_barrier cpu 2+0"},
		{"without the third one", "BARRIER pair none 0 0", met},
	} {
		t.Run(x.name, func(t *testing.T) {
			program := "-- program --\nprocesses 3\ncomm pair 0 1\n-- events --\n"
			for p := range 3 {
				program += fmt.Sprintf("%d 0 ENTER main\n", p)
				begin := 30
				switch p {
				case 0:
					program += "0 0 ENTER write\n0 30 LEAVE write\n"
				case 2:
					begin = 31
				}
				if p == 2 && strings.Contains(x.operation, " pair ") {
					program += "2 31 LEAVE main\n"
					continue
				}
				sent := "8"
				if p == 2 {
					sent = "0"
				}
				program += fmt.Sprintf("%d %d ENTER MPI_Something\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d 32 MPI_COLLECTIVE_END %[3]s\n%[1]d 32 LEAVE MPI_Something\n",
					p, begin, strings.ReplaceAll(x.operation, "SENT", sent))
				switch p {
				case 0:
					program += "0 57 ENTER MPI_Send\n0 57 MPI_SEND 1 MPI_COMM_WORLD 0 8\n0 58 LEAVE MPI_Send\n0 60 LEAVE main\n"
				case 1:
					program += "1 32 ENTER MPI_Recv\n1 58 MPI_RECV 0 MPI_COMM_WORLD 0 8\n1 58 LEAVE MPI_Recv\n1 60 LEAVE main\n"
				default:
					program += "2 60 LEAVE main\n"
				}
			}
			src, err := tracetest.Parse(program)
			if err != nil {
				t.Fatal(err)
			}
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
			analyzed(t, 2, o)
			if got := delayText(t, openFile(t, o.Output), src); got != x.delays {
				t.Errorf("delay costs %s, want %s", got, x.delays)
			}
		})
	}
}

// TestOverheadIsCause: the tracer empties its buffer on process 0 from 10 to 50, is off from 60 to 70 and empties it again from 65
// to 75, and from 77 to 85, of which the program is in MPI_Barrier from 80 on. Process 1 waits there from 20 to 80. From 0 to 80
// process 0 has 40 + 15 + 3 = 58 of overhead and computes for 22; process 1 computes for 20. So 0 has 58 and 2 too much, which are
// 60 together: just what is waited.
func TestOverheadIsCause(t *testing.T) {
	const program = `
-- program --
processes 2
-- events --
0 0 ENTER main
0 10 BUFFER_FLUSH 50
0 60 MEASUREMENT_ON_OFF OFF
0 65 BUFFER_FLUSH 75
0 70 MEASUREMENT_ON_OFF ON
0 77 BUFFER_FLUSH 85
0 80 ENTER MPI_Barrier
0 80 MPI_COLLECTIVE_BEGIN
0 90 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 90 LEAVE MPI_Barrier
0 100 LEAVE main
1 0 ENTER main
1 20 ENTER MPI_Barrier
1 20 MPI_COLLECTIVE_BEGIN
1 90 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 90 LEAVE MPI_Barrier
1 95 LEAVE main
`
	src, err := tracetest.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
	analyzed(t, 2, o)
	f := openFile(t, o.Output)
	if got, want := delayText(t, f, src), "0 wait_barrier cpu 2+0, 0 wait_barrier overhead 58+0"; got != want {
		t.Errorf("delay costs %s, want %s", got, want)
	}
	if got, want := pathText(t, f, src), "0: 0-10 cpu, 10-50 overhead, 50-60 cpu, 60-75 overhead, 75-77 cpu, 77-80 overhead, 80-90 mpi, 90-100 cpu; 1: ; "; got != want {
		t.Errorf("critical path %s, want %s", got, want)
	}
}

// TestCausesAgainstOracle compares the causes of generated programs, whose clocks
// differ in some.
func TestCausesAgainstOracle(t *testing.T) {
	for _, spec := range jobtest.Programs {
		if strings.Contains(spec, "broken") {
			continue
		}
		t.Run(spec, func(t *testing.T) {
			if testing.Short() && strings.Contains(spec, "0k") {
				t.Skip("a large one, left out with -short")
			}
			src := jobtest.Generated(t, spec)
			want, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
			analyzed(t, 3, o)
			compareCauses(t, o.Output, src, want)
		})
	}
}

func openFile(t *testing.T, name string) *xtf.File {
	t.Helper()
	f, err := callview.OpenFile(name, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// patternItems name the patterns as the oracle does.
var patternItems = []xtf.Item{
	xtf.ItemLateSender, xtf.ItemLateReceiver, xtf.ItemWaitBarrier, xtf.ItemBarrierCompletion, xtf.ItemWaitNxN, xtf.ItemNxNCompletion,
	xtf.ItemLateBroadcast, xtf.ItemEarlyReduce, xtf.ItemEarlyScan, xtf.ItemLateProgress,
	xtf.WaitLatePost: xtf.ItemLatePost, xtf.WaitEarlyWait: xtf.ItemEarlyWait, xtf.WaitLock: xtf.ItemLockContention,
}

func delayText(t *testing.T, f *xtf.File, src trace.Source) string {
	sums := map[string][2]uint64{}
	for p := range src.Definitions().NumLocations() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDelay, func(_ uint64, b []byte) {
			var r xtf.Delay
			r.Load(b)
			k := fmt.Sprintf("%d %s %s", p, patternItems[r.Pattern], activityNames[r.Activity])
			sums[k] = [2]uint64{sums[k][0] + r.Short, sums[k][1] + r.Long}
		})
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, fmt.Sprintf("%s %d+%d", k, sums[k][0], sums[k][1]))
	}
	return strings.Join(list, ", ")
}

func pathText(t *testing.T, f *xtf.File, src trace.Source) string {
	var b strings.Builder
	for p := range src.Definitions().NumLocations() {
		var list []string
		var last xtf.CPath
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCPath, func(_ uint64, row []byte) {
			var r xtf.CPath
			if r.Load(row); len(list) > 0 && last.End == r.T && last.Activity == r.Activity {
				r.T = last.T
				list = list[:len(list)-1]
			}
			list = append(list, fmt.Sprintf("%d-%d %s", r.T, r.End, activityNames[r.Activity]))
			last = r
		})
		fmt.Fprintf(&b, "%d: %s; ", p, strings.Join(list, ", "))
	}
	return b.String()
}

// compareCauses compares a file with the oracle, and its totals with its rows.
func compareCauses(t *testing.T, name string, src trace.Source, want *oracle.Result) {
	t.Helper()
	f := openFile(t, name)
	delays := map[oracle.DelayKey]oracle.Cost{}
	var waited, dealt, length uint64
	for p := range src.Definitions().NumLocations() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDelay, func(_ uint64, b []byte) {
			var r xtf.Delay
			r.Load(b)
			k := oracle.DelayKey{P: trace.P(p), Node: int(r.Key >> 32), Path: int(uint32(r.Key)), Pattern: oracle.Item(patternItems[r.Pattern].String()), Activity: oracle.Activity(r.Activity)}
			c := delays[k]
			delays[k] = oracle.Cost{Short: c.Short + r.Short, Long: c.Long + r.Long}
			dealt += r.Short + r.Long
		})
		rowsOf(t, f, xtf.Proc(p), xtf.TypeWait, func(_ uint64, b []byte) {
			var r xtf.Wait
			if r.Load(b); r.CauseP != trace.Undefined && xtf.PatternItem(r.Pattern) != xtf.ItemLateKernel { // devices work in the latter
				waited += r.End - r.T
			}
		})
		var pieces []oracle.Piece
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCPath, func(_ uint64, b []byte) {
			var r xtf.CPath
			r.Load(b)
			pieces = joinPiece(pieces, oracle.Piece{From: r.T, To: r.End, Activity: oracle.Activity(r.Activity), Path: int(r.Path), Node: int(r.Node)})
			length += r.End - r.T
		})
		var expected []oracle.Piece
		for _, c := range want.Locations[p].Critical {
			expected = joinPiece(expected, c)
		}
		if d := gocmp.Diff(expected, pieces); d != "" {
			t.Errorf("critical path on location %d (-oracle +file):\n%s", p, d)
		}
	}
	expected := map[oracle.DelayKey]oracle.Cost{}
	for k, c := range want.Delays {
		if *c != (oracle.Cost{}) {
			expected[k] = *c
		}
	}
	if d := gocmp.Diff(expected, delays); d != "" {
		t.Errorf("delay costs (-oracle +file):\n%s", d)
	}
	if waited != dealt {
		t.Errorf("%d ticks waited, %d dealt out", waited, dealt)
	}
	rowsOf(t, f, xtf.WholeRun, xtf.TypeDelayTotal, func(_ uint64, b []byte) {
		var r xtf.DelayTotal
		r.Load(b)
		dealt -= r.Short + r.Long
	})
	rowsOf(t, f, xtf.WholeRun, xtf.TypePathTotal, func(_ uint64, b []byte) {
		var r xtf.PathTotal
		r.Load(b)
		length -= r.Ticks
	})
	if dealt != 0 || length != 0 {
		t.Errorf("totals differ from rows: costs %d, path %d", int64(dealt), int64(length))
	}
}

// joinPiece appends a piece of the critical path.
func joinPiece(list []oracle.Piece, x oracle.Piece) []oracle.Piece {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.To == x.From && last.Activity == x.Activity && last.Path == x.Path && last.Node == x.Node {
			last.To = x.To
			return list
		}
	}
	return append(list, x)
}
