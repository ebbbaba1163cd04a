package oracle_test

import (
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// seeds is the number of random programs.
func seeds() uint64 {
	if testing.Short() {
		return 100
	}
	return 1000
}

// TestLaws checks what holds for every program (intervals 3.2).
func TestLaws(t *testing.T) {
	for seed := range seeds() {
		text, err := tracetest.RandomScript(seed).Text()
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		src, err := tracetest.Parse(text)
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		for _, o := range []oracle.Options{{}, {MarkerAsMPI: true}, {ExcludeInit: true}} {
			r := analyze(t, src, o)
			checkLaws(t, r, !o.ExcludeInit)
			if t.Failed() {
				t.Fatalf("program %d, %+v:\n%s", seed, o, text)
			}
		}
	}
}

func checkLaws(t *testing.T, r *oracle.Result, whole bool) {
	t.Helper()
	var waiting, costs uint64
	for p, l := range r.Locations {
		for n, c := range l.Components {
			checkSums(t, p, n, c)
			if n == 0 && whole && c[oracle.Ideal] > c[oracle.Time] { // a part may wait for longer than it did
				t.Errorf("location %d: %d ticks on the ideal network, %d on the real one", p, c[oracle.Ideal], c[oracle.Time])
			}
		}
		checkChildren(t, r, p)
		for _, w := range l.Waits {
			if w.Cause != oracle.NoCause {
				waiting += w.To - w.From
			}
		}
	}
	for _, c := range r.Delays {
		costs += c.Short + c.Long
	}
	if waiting != costs {
		t.Errorf("delay costs %d for %d ticks of waiting", costs, waiting)
	}
	if !r.Replayed {
		t.Errorf("the replay does not end")
	}
	var path uint64
	for _, l := range r.Locations {
		for _, c := range l.Critical {
			path += c.To - c.From
		}
	}
	last, first := uint64(0), uint64(1<<63)
	for _, l := range r.Locations {
		if e := l.Components[0]; e[oracle.Events] > 0 {
			last, first = max(last, e[oracle.LastEvent]), min(first, e[oracle.FirstEvent])
		}
	}
	if path > last-first {
		t.Errorf("critical path of %d ticks in a run of %d", path, last-first)
	}
}

func checkSums(t *testing.T, p, n int, c oracle.Components) {
	t.Helper()
	sum := func(items ...oracle.Item) (s uint64) {
		for _, i := range items {
			s += c[i]
		}
		return s
	}
	equal := func(what string, a, b uint64) {
		t.Helper()
		if a != b {
			t.Errorf("location %d, node %d: %s: %d and %d", p, n, what, a, b)
		}
	}
	atMost := func(what string, a, b uint64) {
		t.Helper()
		if a > b {
			t.Errorf("location %d, node %d: %s: %d above %d", p, n, what, a, b)
		}
	}
	equal("time by activity", c[oracle.Time], sum(oracle.CPUTime, oracle.MPITime, oracle.MarkerTime, oracle.IOTime))
	equal("MPI by class", c[oracle.MPITime], sum(oracle.P2PTime, oracle.CollTime, oracle.FileIOTime, oracle.RMATime, oracle.MgmtTime))
	atMost("subsets of collectives", sum(oracle.NxNTime, oracle.BarrierTime), c[oracle.CollTime])
	atMost("starting", c[oracle.StartTime], c[oracle.MPITime])
	atMost("waiting in MPI", sum(oracle.LateSender, oracle.LateReceiver, oracle.LateProgress, oracle.WaitBarrier, oracle.BarrierDone, oracle.WaitNxN, oracle.NxNDone,
		oracle.LateBroadcast, oracle.EarlyReduce, oracle.EarlyScan), c[oracle.MPITime]+c[oracle.CPUTime])
	atMost("orders of late senders", sum(oracle.LateSenderSame, oracle.LateSenderOther), c[oracle.LateSender])
	if n == 0 {
		atMost("late senders and entries of collectives", sum(oracle.LateSender, oracle.WaitBarrier, oracle.WaitNxN, oracle.LateBroadcast, oracle.EarlyReduce, oracle.EarlyScan), c[oracle.PotentialSync])
	}
	atMost("overlap", c[oracle.Overlap], c[oracle.CPUTime])
	atMost("critical path", sum(oracle.CriticalCPU, oracle.CriticalMPI, oracle.CriticalIO, oracle.CriticalMarker), c[oracle.Time])
}

// checkChildren compares nodes with the sums of their children.
func checkChildren(t *testing.T, r *oracle.Result, p int) {
	t.Helper()
	for _, item := range []oracle.Item{oracle.Time, oracle.MPITime, oracle.CPUTime, oracle.MarkerTime, oracle.StartTime, oracle.CollTime, oracle.LateSender, oracle.CriticalCPU} {
		sums := make([]uint64, len(r.Nodes))
		for i, n := range r.Nodes[1:] {
			if !n.Derived {
				sums[n.Parent] += r.Locations[p].Components[i+1][item]
			}
		}
		for i, s := range sums {
			if own := r.Locations[p].Components[i][item]; s > own {
				t.Errorf("location %d: %s of the children of node %d is %d, of itself %d", p, item, i, s, own)
			}
		}
	}
}
