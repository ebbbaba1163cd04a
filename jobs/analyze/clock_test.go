package analyze_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// skewed are programs whose clocks are wrong.
var skewed = []string{
	"ring:procs=5,events=6k,jitter=5,offset=5000,skew=3000",
	"stencil:procs=6,events=10k,jitter=10,skew=20000,drift=100000",
	"irregular:procs=7,events=10k,jitter=20,seed=3,skew=50000",
	"irregular:procs=3,threads=3,events=8k,io,metrics,parameters,seed=4,skew=2000",
	"masterworker:procs=5,events=6k,jitter=50,skew=100000",
	"stencil:procs=4,events=8k,broken=all,skew=5000",
}

// clockViolations counts the messages of a file that end before they begin, and
// the members of all-to-all collectives that leave before the last one enters, where
// all of them give and get data.
func clockViolations(t *testing.T, file []byte) (messages, members int) {
	t.Helper()
	f := openBytes(t, file)
	idle := map[[2]uint64]bool{} // data collectives with a member that gives or gets nothing
	for p := range f.Procs() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeColl, func(_ uint64, row []byte) {
			var c xtf.Coll
			c.Load(row)
			if c.Flags&xtf.CollOpMask != 0 && min(c.Sent, c.Received) == 0 {
				idle[[2]uint64{uint64(c.Comm), c.Ordinal}] = true
			}
		})
	}
	for p := range f.Procs() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeP2P, func(_ uint64, row []byte) {
			var m xtf.P2P
			m.Load(row)
			if m.Kind&xtf.P2PKindMask == xtf.P2PRecv && m.MateN != xtf.Never && m.End < m.MateT {
				messages++
			}
		})
		rowsOf(t, f, xtf.Proc(p), xtf.TypeColl, func(_ uint64, row []byte) {
			var c xtf.Coll
			c.Load(row)
			all := trace.CollectiveClass(c.Flags&xtf.CollOpMask)&(trace.ClassBarrier|trace.ClassNxN) != 0
			all = all && c.Flags&xtf.CollOpMask != 9 && c.Flags&xtf.CollOpMask != 10 && !idle[[2]uint64{uint64(c.Comm), c.Ordinal}]
			if all && c.Ordinal != xtf.Never && c.Flags&(xtf.CollMixed|xtf.CollShort) == 0 && c.LastEnter > c.End {
				members++
			}
		})
	}
	return messages, members
}

func TestClockRepair(t *testing.T) {
	broken := 0
	for i, spec := range skewed {
		t.Run(spec, func(t *testing.T) {
			if testing.Short() && i > 2 {
				t.Skip("a short test repairs three programs")
			}
			src := jobtest.Generated(t, spec)
			o := analyze.Options{Source: src, StoreBytes: 1 << 30}
			before, members := clockViolations(t, analyzed(t, 2, o))
			broken += before + members
			o.ClockRepair = true
			want := analyzed(t, 1, o)
			if m, c := clockViolations(t, want); m+c != 0 {
				t.Errorf("%d messages and %d members of collectives still break causality, %d and %d before", m, c, before, members)
			}
			for _, ranks := range []int{2, 3, 7} {
				o.StoreBytes = int64(ranks%2) << 20
				if got := analyzed(t, ranks, o); !bytes.Equal(got, want) {
					t.Errorf("%d ranks: another file", ranks)
				}
			}
			o.Output, o.Version = filepath.Join(t.TempDir(), "run.xtf"), "test"
			res, err := jobtest.Analyze(3, o)
			if err != nil {
				t.Fatal(err)
			}
			if r := res.Clocks; int(r.Violations) != before || r.Stuck || int(r.Collectives) < members || (r.Shifted == 0) != (before+int(r.Collectives) == 0) || r.Corrections > 0 {
				t.Errorf("%+v, counted %d messages and %d members", r, before, members)
			}
		})
	}
	if broken == 0 && !testing.Short() {
		t.Error("no clock was wrong")
	}
}

// TestClocksThatStartApart: clocks that count from different instants are set right, as far as messages tell: waits for late senders add up to
// what they do where clocks are right, but for a tenth. With the clocks of the trace they are off by more.
func TestClocksThatStartApart(t *testing.T) {
	for _, spec := range []string{"ring:procs=5,events=6k,jitter=50,seed=2", "stencil:procs=6,events=10k,jitter=50", "masterworker:procs=5,events=6k,jitter=50"} {
		waits := func(spec string, repair bool) (sum uint64) {
			f := openBytes(t, analyzed(t, 2, analyze.Options{Source: jobtest.Generated(t, spec), StoreBytes: 1 << 30, ClockRepair: repair}))
			for p := range f.Procs() {
				rowsOf(t, f, xtf.Proc(p), xtf.TypeWait, func(_ uint64, row []byte) {
					var w xtf.Wait
					if w.Load(row); w.Pattern&xtf.WaitPatternMask == xtf.WaitLateSender {
						sum += w.End - w.T
					}
				})
			}
			return sum
		}
		right, wrong, repaired := waits(spec, false), waits(spec+",skew=100000", false), waits(spec+",skew=100000", true)
		if off := func(sum uint64) uint64 { return 10 * (max(sum, right) - min(sum, right)) }; off(repaired) > right || off(wrong) <= right {
			t.Errorf("%s: late senders %d ticks, with other clocks %d, repaired %d", spec, right, wrong, repaired)
		}
	}
}

// TestClocksOfCollectives: members that leave before one that they need has entered
// are counted, with and without repair, and afterwards there are none.
//
//	barrier     1 leaves at 15, 2 enters at 18: 3 ticks
//	allreduce   0 leaves at 31, 1 enters at 34: 3
//	bcast       0 leaves at 44, the root 2 enters at 50: 6
//	reduce      the root 0 leaves at 72, 2 enters at 80: 8
//	scan        1 leaves at 88, 0 enters at 90: 2
//	comm_dup    2 leaves at 142, 0 enters at 145: 3
//
// Nobody knows for whom the bytes of alltoallv are, and the last allreduce has none.
func TestClocksOfCollectives(t *testing.T) {
	const none = "none"
	three := func(region, op, root string, bytes int, times ...[2]uint64) (list []smallCall) {
		for p, x := range times {
			list = append(list, member(p, x[0], x[1], region, op, root, bytes, bytes))
		}
		return list
	}
	program := waitCase{last: []uint64{200, 200, 200}, calls: slices.Concat(
		three("MPI_Barrier", "BARRIER", none, 0, [2]uint64{10, 20}, [2]uint64{12, 15}, [2]uint64{18, 21}),
		three("MPI_Allreduce", "ALLREDUCE", none, 8, [2]uint64{30, 31}, [2]uint64{34, 36}, [2]uint64{33, 35}),
		three("MPI_Bcast", "BCAST", "2", 8, [2]uint64{40, 44}, [2]uint64{40, 60}, [2]uint64{50, 51}),
		three("MPI_Reduce", "REDUCE", "0", 8, [2]uint64{70, 72}, [2]uint64{71, 73}, [2]uint64{80, 81}),
		three("MPI_Scan", "SCAN", none, 8, [2]uint64{90, 91}, [2]uint64{85, 88}, [2]uint64{92, 93}),
		three("MPI_Alltoallv", "ALLTOALLV", none, 8, [2]uint64{100, 101}, [2]uint64{105, 106}, [2]uint64{105, 106}),
		three("MPI_Allreduce", "ALLREDUCE", none, 0, [2]uint64{110, 111}, [2]uint64{130, 131}, [2]uint64{115, 116}),
		three("MPI_Comm_dup", "CREATE_HANDLE", none, 0, [2]uint64{145, 150}, [2]uint64{141, 150}, [2]uint64{140, 142}),
	)}
	o := analyze.Options{Source: program.source(t), StoreBytes: 1 << 20}
	want := [][2]uint64{{3, 8}, {2, 3}, {1, 3}} // of each process: how many, and the worst
	file := analyzed(t, 1, o)
	if d := cmp.Diff(want, collectiveClocks(t, file, 3)); d != "" {
		t.Error(d)
	}
	for _, ranks := range []int{2, 3, 7} {
		if !bytes.Equal(analyzed(t, ranks, o), file) {
			t.Errorf("%d ranks make another file", ranks)
		}
	}
	o.ClockRepair, o.Version, o.Output = true, "test", filepath.Join(t.TempDir(), "run.xtf")
	res, err := jobtest.Analyze(2, o)
	if err != nil {
		t.Fatal(err)
	}
	if r := res.Clocks; r.Violations != 0 || r.Collectives != 6 || r.Shifted != 0 || r.Corrections == 0 || r.Stuck {
		t.Errorf("%+v", r)
	}
	repaired, err := os.ReadFile(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][2]uint64{{}, {}, {}}, collectiveClocks(t, repaired, 3)); d != "" {
		t.Error(d)
	}

	// Process 1 counts from 10000 ticks earlier than the others: their clocks are set later by about that, and some ends are still raised.
	for i := range program.calls {
		if x := &program.calls[i]; x.p == 1 {
			x.enter, x.leave = x.enter+10_000, x.leave+10_000
		}
	}
	program.last[1] += 10_000
	o.Source, o.Output = program.source(t), filepath.Join(t.TempDir(), "run.xtf")
	if res, err = jobtest.Analyze(2, o); err != nil {
		t.Fatal(err)
	}
	if r := res.Clocks; r.Shifted != 2 || r.Shift < 9_980 || r.Shift > 10_020 || r.Corrections == 0 || r.Greatest > 100 || r.Stuck {
		t.Errorf("%+v", r)
	}
	if repaired, err = os.ReadFile(o.Output); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][2]uint64{{}, {}, {}}, collectiveClocks(t, repaired, 3)); d != "" {
		t.Error(d)
	}
	o.Output = ""
	for _, ranks := range []int{1, 3, 7} {
		if !bytes.Equal(analyzed(t, ranks, o), repaired) {
			t.Errorf("%d ranks make another file", ranks)
		}
	}
}

// collectiveClocks is how many members each process has that left a collective too
// early, and the worst of them.
func collectiveClocks(t *testing.T, file []byte, processes int) [][2]uint64 {
	t.Helper()
	f := openBytes(t, file)
	list := make([][2]uint64, processes)
	for p := range list {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDiag, func(_ uint64, row []byte) {
			var d xtf.Diag
			if d.Load(row); d.Detail == xtf.DiagTotal && trace.Code(d.Code) == trace.DiagClockCollective {
				list[p] = [2]uint64{d.Count, d.Worst}
			}
		})
	}
	return list
}

// TestClockRepairLeavesRightClocks: without violations only the note of the option
// differs.
func TestClockRepairLeavesRightClocks(t *testing.T) {
	o := analyze.Options{Source: jobtest.Generated(t, "stencil:procs=4,events=6k,jitter=10"), StoreBytes: 1 << 30}
	without := analyzed(t, 2, o)
	o.ClockRepair = true
	with := analyzed(t, 2, o)
	for _, file := range [][]byte{without, with} {
		if m, c := clockViolations(t, file); m+c != 0 {
			t.Fatalf("%d, %d violations", m, c)
		}
	}
	if fmt.Sprint(regionBytes(t, without)) != fmt.Sprint(regionBytes(t, with)) {
		t.Error("right clocks were changed")
	}
}

// regionBytes is the first and last key of every CALL array.
func regionBytes(t *testing.T, file []byte) (list []uint64) {
	t.Helper()
	f := openBytes(t, file)
	for p := range f.Procs() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCall, func(_ uint64, row []byte) {
			list = append(list, xtf.U64(row, xtf.CallT), xtf.U64(row, xtf.CallEnd))
		})
	}
	return list
}

func TestClockRepairOfRealTraces(t *testing.T) {
	for _, path := range jobtest.Archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() && jobtest.Announced(t, src) > 20_000 {
				t.Skip("a large one, left out with -short")
			}
			o := analyze.Options{Trace: path, StoreBytes: 1 << 30, ClockRepair: true, Version: "test", Output: filepath.Join(t.TempDir(), "run.xtf")}
			res, err := jobtest.Analyze(3, o)
			if err != nil {
				t.Fatal(err)
			}
			if r := res.Clocks; r.Violations+r.Collectives == 0 {
				return
			}
			got, err := os.ReadFile(o.Output)
			if err != nil {
				t.Fatal(err)
			}
			if m, c := clockViolations(t, got); m+c != 0 {
				t.Errorf("%d messages and %d members of collectives still break causality: %+v", m, c, res.Clocks)
			}
			o.Output = ""
			if !bytes.Equal(analyzed(t, 1, o), got) {
				t.Error("one rank makes another file than three")
			}
			t.Logf("%+v", res.Clocks)
		})
	}
}
