package jobs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
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
// the members of all-to-all collectives that leave before the last one enters.
func clockViolations(t *testing.T, file []byte) (messages, members int) {
	t.Helper()
	f, err := xtf.Open(bytes.NewReader(file), int64(len(file)), xtf.Options{})
	if err != nil {
		t.Fatal(err)
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
			src := generated(t, spec)
			o := jobs.AnalyzeOptions{Source: src, ClampTime: true, StoreBytes: 1 << 30}
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
			res, err := analyze(3, o)
			if err != nil {
				t.Fatal(err)
			}
			if r := res.Clocks; int(r.Violations) != before || r.Stuck || (r.Corrections == 0) != (before+members == 0) {
				t.Errorf("%+v, counted %d messages and %d members", r, before, members)
			}
		})
	}
	if broken == 0 && !testing.Short() {
		t.Error("no clock was wrong")
	}
}

// TestClockRepairLeavesRightClocks: without violations only the note of the option
// differs.
func TestClockRepairLeavesRightClocks(t *testing.T) {
	o := jobs.AnalyzeOptions{Source: generated(t, "stencil:procs=4,events=6k,jitter=10"), StoreBytes: 1 << 30}
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
	f, err := xtf.Open(bytes.NewReader(file), int64(len(file)), xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range f.Procs() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCall, func(_ uint64, row []byte) {
			list = append(list, xtf.U64(row, xtf.CallT), xtf.U64(row, xtf.CallEnd))
		})
	}
	return list
}

func TestClockRepairOfRealTraces(t *testing.T) {
	for _, path := range archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() && announced(t, src) > 20_000 {
				t.Skip("a large one, left out with -short")
			}
			o := jobs.AnalyzeOptions{Trace: path, ClampTime: true, StoreBytes: 1 << 30, ClockRepair: true, Version: "test", Output: filepath.Join(t.TempDir(), "run.xtf")}
			res, err := analyze(3, o)
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
