package report

import (
	"bytes"
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// items are the components of one process, by item.
type items map[xtf.Item]uint64

// build makes a run of single-threaded processes with the given components, as
// an analysis would write them.
func build(t testing.TB, processes []items) *results.Run {
	t.Helper()
	src, err := synthetic.New(synthetic.Options{Processes: len(processes), Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	return buildOn(t, src.Definitions(), processes)
}

func buildOn(t testing.TB, defs *trace.Definitions, processes []items) *results.Run {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	b, err := defs.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.xtf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := xtftest.NewFileWriter(f, types, [16]byte{1, 2, 3}, &xtftest.MemorySink{})
	for p, x := range processes {
		region(t, w, types, xtf.Proc(p), func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
			a := array(xtf.TypeComp)
			for i := range xtf.NumItems {
				if x[i] != 0 {
					row, _ := a.Append()
					c := xtf.Comp{Key: xtf.NodeKey(0, uint32(i)), Value: x[i]}
					c.Put(row)
				}
			}
		})
	}
	region(t, w, types, xtf.WholeRun, func(array func(xtf.TypeID) *xtf.ArrayBuilder) { wholeRows(array, processes) })
	if err := w.Commit([]xtf.Blob{xtf.BytesBlob(xtf.KindDefinitions, 1, 1, b), xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte(`{"tool":"test"}`))}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := results.Open(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// wholeRows writes INTERVAL and STAT, computed here a second time.
func wholeRows(array func(xtf.TypeID) *xtf.ArrayBuilder, processes []items) {
	root := xtf.Interval{ExeMax: 1, ExeMin: 1, Participants: uint32(len(processes)), FirstBegin: xtf.Never}
	a := array(xtf.TypeStat)
	for i := range xtf.NumItems {
		s := xtf.Stat{Key: xtf.NodeKey(0, uint32(i)), Min: xtf.Never}
		for p, x := range processes {
			v := x[i]
			var c uint64
			s.Sum0, c = bits.Add64(s.Sum0, v, 0)
			s.Sum1 += c
			hi, lo := bits.Mul64(v, v)
			s.Square0, c = bits.Add64(s.Square0, lo, 0)
			s.Square1, c = bits.Add64(s.Square1, hi, c)
			s.Square2 += c
			if v < s.Min {
				s.Min, s.MinP = v, uint32(p)
			}
			if v > s.Max {
				s.Max, s.MaxP = v, uint32(p)
			}
		}
		row, _ := a.Append()
		s.Put(row)
	}
	for _, x := range processes {
		root.FirstBegin = min(root.FirstBegin, x[xtf.ItemFirst])
		root.LastEnd = max(root.LastEnd, x[xtf.ItemLast])
	}
	row, _ := array(xtf.TypeInterval).Append()
	root.Put(row)
}

// region writes one region, whose arrays fill makes.
func region(t testing.TB, w *xtftest.FileWriter, types *xtf.TypeTable, p xtf.Proc, fill func(array func(xtf.TypeID) *xtf.ArrayBuilder)) {
	t.Helper()
	type open struct {
		b    *xtf.ArrayBuilder
		sink *xtftest.MemorySink
	}
	arrays := map[xtf.TypeID]open{}
	enc := xtf.NewEncoder()
	fill(func(id xtf.TypeID) *xtf.ArrayBuilder {
		if a, ok := arrays[id]; ok {
			return a.b
		}
		sink := &xtftest.MemorySink{}
		b := xtf.NewArrayBuilder(enc, types.Lookup(id), p, sink)
		arrays[id] = open{b, sink}
		return b
	})
	var list []xtf.FinishedArray
	for _, a := range arrays {
		sum, err := a.b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, xtf.FinishedArray{Summary: sum, Data: a.sink})
	}
	plan, err := xtf.PlanRegion(types, p, list, nil)
	if err == nil {
		err = w.Region(plan, uint32(p), 0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// textOf is the text of a report without escape codes.
func textOf(t testing.TB, r *results.Run, style table.Style, sections ...Section) string {
	t.Helper()
	d, err := New(r, Options{Sections: sections})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "text", style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
