package stats_test

import (
	"bytes"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// keeping is a sink that keeps all.
type keeping struct{ bytes.Buffer }

func (k *keeping) Append(b []byte) (int64, error) {
	off := int64(k.Len())
	k.Write(b)
	return off, nil
}

func (k *keeping) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(k.Bytes()).ReadAt(b, off)
}

// loadParts loads a location from batches of at most so many events, and returns all that it leaves.
func loadParts(t *testing.T, src trace.Source, p trace.P, plan *interval.Plan, most int) [][]byte {
	tables := stats.NewTables(src.Definitions(), 0)
	if plan != nil {
		tables.SetIntervals(plan)
	}
	types, enc := xtf.StandardTypes(xtf.Packed), xtf.NewEncoder()
	sinks := make([]keeping, 14)
	var arrays []*xtf.ArrayBuilder
	array := func(id xtf.TypeID) *xtf.ArrayBuilder {
		a := xtf.NewArrayBuilder(enc, types.Lookup(id), xtf.Proc(p), &sinks[len(arrays)])
		arrays = append(arrays, a)
		return a
	}
	out := stats.Outputs{
		Calls: array(xtf.TypeCall), IO: array(xtf.TypeIO), RMA: array(xtf.TypeRMA), Metrics: array(xtf.TypeMetric),
		Channels: array(xtf.TypeChannel), Chan: array(xtf.TypeChan),
		Sorted: &sinks[8], Late: &sinks[9], Borders: &sinks[10], Overhead: &sinks[11], Stays: &sinks[12],
	}
	out.Calls.LeaveTimes()
	l := stats.NewLoader(tables, p, out)
	batches, _ := batchesOf(t, src)
	for i := range batches {
		b := &batches[i]
		for all := b.Events; len(all) > 0; {
			n := min(most, len(all))
			b.Events, all = all[:n], all[n:]
			if err := l.Add(b); err != nil {
				t.Fatal(err)
			}
			b.First += uint64(n)
		}
	}
	loaded, err := l.Finish()
	if err != nil {
		t.Fatal(err)
	}
	list := [][]byte{loaded.AppendBinary(nil), loaded.Components.AppendBinary(nil)}
	for _, a := range arrays {
		sum, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		b, err := sum.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	for i := range sinks {
		list = append(list, sinks[i].Bytes())
	}
	return list
}

// TestLeaves compares what calls leave that are taken as a whole with those that are opened and closed, because each event comes
// alone.
func TestLeaves(t *testing.T) {
	check := func(name string, src trace.Source, plan *interval.Plan) {
		t.Helper()
		whole := loadParts(t, src, 0, plan, 1<<20)
		for _, most := range []int{1, 2, 3, 7} {
			for i, b := range loadParts(t, src, 0, plan, most) {
				if !bytes.Equal(b, whole[i]) {
					t.Fatalf("%s: part %d differs in batches of %d", name, i, most)
				}
			}
		}
	}
	for _, spec := range []string{
		"stencil:procs=4,events=40k,seed=1", "irregular:procs=4,events=40k,seed=1", "irregular:procs=3,events=6k,io,depth=5,seed=4",
	} {
		o, err := synthetic.ParseOptions(spec)
		if err != nil {
			t.Fatal(err)
		}
		src, err := synthetic.New(o)
		if err != nil {
			t.Fatal(err)
		}
		check(spec, src, nil)
	}
	for seed := range uint64(12) {
		src, err := tracetest.Parse(randomProgram(seed, 3))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []interval.Flags{{}, {MarkerCost: "mpi"}, {Intervals: []string{"region:f"}}, {Between: "coll:allreduce", Markers: "f1"}, {Slice: "12ticks"}} {
			o, err := f.Parse()
			if err != nil {
				t.Fatal(err)
			}
			plan, err := interval.NewPlan(src.Definitions(), o)
			if err != nil {
				t.Fatal(err)
			}
			check("program", src, plan)
		}
	}
}
