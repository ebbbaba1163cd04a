package report

import (
	"math"
	"testing"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/scaling"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// countedRun is one process whose counters are read at the borders of an MPI
// call [10, 20): instructions since the beginning, cycles since the reading before.
func countedRun(t *testing.T, processes int, factor uint64) *results.Run {
	var list []items
	w := &written{rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	for p := range processes {
		x := process(30, 20, 10, 0)
		x[xtf.ItemEvents] = 2
		list = append(list, x)
		w.rows[xtf.Proc(p)] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
			put(array(xtf.TypeCall), &xtf.Call{T: 10, End: 20, Parent: xtf.Never, Class: xtf.ClassMPI, Flags: xtf.FlagOutermostMPI})
			for i, r := range [][2]uint64{{0, 7}, {100, 40}, {150, 30}, {300, 60}} {
				put(array(xtf.TypeMetric), &xtf.Metric{T: uint64(10 * i), Value: r[0] * factor, Metric: 5, Flags: 1 << 8})
				put(array(xtf.TypeMetric), &xtf.Metric{T: uint64(10 * i), Value: r[1], Metric: 5})
			}
			put(array(xtf.TypeMetric), &xtf.Metric{T: 31, Value: 9999, Metric: 6})
		}
	}
	w.nodes = []writtenNode{rootNode(list...)}
	w.write(t, processes)
	text := func(s string) uint32 {
		ref := uint32(1000 + len(w.defs.Strings))
		w.defs.Strings = append(w.defs.Strings, trace.String{Ref: ref, Value: s})
		return ref
	}
	w.defs.MetricMembers = []trace.MetricMember{
		{Ref: 1, Name: text("PAPI_TOT_CYC"), Mode: counters.Relative | 32, ValueType: trace.TypeUint64},
		{Ref: 2, Name: text("instructions"), ValueType: trace.TypeUint64},
		{Ref: 3, Name: text("instructions"), ValueType: trace.TypeDouble},
	}
	w.defs.MetricClasses = []trace.MetricClass{{Ref: 4, Members: []uint32{1, 2}}, {Ref: 6, Members: []uint32{3}}}
	w.defs.MetricInstances = []trace.MetricInstance{{Ref: 5, Class: 4}}
	return w.write(t, processes)
}

func TestCounters(t *testing.T) {
	t.Parallel()
	instructions, cycles, err := counters.Useful(countedRun(t, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !instructions.Defined || !cycles.Defined || instructions.Value != 2*250 || cycles.Value != 2*100 {
		t.Errorf("%v %v", instructions, cycles)
	}
}

// TestCounterScaling checks that the three factors are computation.
func TestCounterScaling(t *testing.T) {
	t.Parallel()
	x, err := scaling.New([]*results.Run{countedRun(t, 1, 1), countedRun(t, 2, 3)}, scaling.Options{Mode: scaling.ModeStrong})
	if err != nil {
		t.Fatal(err)
	}
	f := x.Intervals[0].Points[1]
	// twice the processes with the same time each, three times the instructions in twice the cycles
	for name, y := range map[string][2]float64{
		"computation": {f.Computation.Value, 0.5}, "instructions": {f.Instructions.Value, 1.0 / 6}, "IPC": {f.IPC.Value, 3}, "frequency": {f.Frequency.Value, 1},
		"product": {f.Instructions.Value * f.IPC.Value * f.Frequency.Value, f.Computation.Value},
	} {
		if math.Abs(y[0]-y[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, y[0], y[1])
		}
	}
}
