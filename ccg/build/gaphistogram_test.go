package build

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// cellKey and cellSum are a cell of a histogram by content.
type cellKey struct {
	gapContext
	low uint64
}

type cellSum struct {
	count uint64
	sum   graph.Total
}

func (h *GapHistogram) content() map[cellKey]cellSum {
	m := map[cellKey]cellSum{}
	for _, c := range h.cells.List {
		if c.Val.count > 0 {
			m[cellKey{h.keys[c.Key.context], c.Key.low}] = cellSum{c.Val.count, c.Val.sum}
		}
	}
	return m
}

// slowGaps counts the gaps of an event stream from the events alone, in cells of
// the given grid.
func slowGaps(m map[cellKey]cellSum, defs *trace.Definitions, all *trace.Batch, d graph.Deviation, g gapGrid) {
	type frame struct {
		region uint32
		kind   trace.Kind
		ref    uint64
		prev   uint64
	}
	stack := []frame{{region: trace.Undefined}}
	shifts := g.shifts(d)
	for i := range all.Events {
		e := &all.Events[i]
		top := &stack[len(stack)-1]
		c := gapContext{region: top.region, prev: top.prev}
		switch words := all.Words(e); {
		case e.Kind == trace.Enter || e.Kind == trace.CallingContextEnter:
			f := frame{e.Ref, e.Kind, uint64(e.Ref), 0}
			if e.Kind == trace.CallingContextEnter {
				f.ref = words[0]
				f.region, _ = defs.ContextRegion(uint32(f.ref))
			}
			c.next = wordCall | uint64(f.region)
			top.prev = c.next
			stack = append(stack, f)
		case e.Kind == trace.Leave && top.kind == trace.Enter && top.ref == uint64(e.Ref),
			e.Kind == trace.CallingContextLeave && top.kind == trace.CallingContextEnter && top.ref == words[0]:
			c.next = wordTail
			stack = stack[:len(stack)-1]
		default:
			c.next = wordRecord | uint64(e.Kind)
			top.prev = c.next
		}
		if i > 0 {
			v := uint64(e.Time - all.Events[i-1].Time)
			k := cellKey{g.of(c), shifts.low(v)}
			m[k] = cellSum{m[k].count + 1, m[k].sum.Plus(graph.Total{Hi: 0, Lo: v})}
		}
	}
}

// TestGapHistogram compares counts with those of the events: groups and loops
// must not show.
func TestGapHistogram(t *testing.T) {
	defs := ccgtest.Definitions(4)
	d := graph.Deviation{Abs: 20, Num: 1, Den: 10}
	for _, o := range []graph.Options{{}, {Fold: -1, Fan: 2}, {Fold: 3, Fan: 3}} {
		o.Deviation = d
		h := NewGapHistogram(defs, d)
		want := map[cellKey]cellSum{}
		for p := range uint32(4) {
			all := ccgtest.NewScript(uint64(p), p, 4, p > 1).Stream(1500)
			slowGaps(want, defs, all, d, gridSiblings)
			if err := h.Add(built(t, defs, trace.P(p), all, o, 100)); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.content(); h.grid != gridSiblings || !maps.Equal(got, want) {
			t.Errorf("%+v: %d cells in grid %d, want %d in %d", o, len(got), h.grid, len(want), gridSiblings)
		}
	}
}

// reopened returns h read from its bytes, with the same limits.
func reopened(t *testing.T, h *GapHistogram) *GapHistogram {
	t.Helper()
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenGapHistogram(h.defs, h.d, b)
	if err != nil {
		t.Fatal(err)
	}
	r.contextLimit, r.cellLimit = h.contextLimit, h.cellLimit
	again, err := r.AppendBinary([]byte{})
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("bytes differ after reading (%v)", err)
	}
	return r
}

// TestMergeOrder merges the counts of seven locations in random trees, with limits
// that are passed at different moments: all give the bytes of one histogram of
// all, and its grid is the first that keeps the limits.
func TestMergeOrder(t *testing.T) {
	const locations = 7
	defs := ccgtest.Definitions(locations)
	d := graph.Deviation{Abs: 30, Num: 1, Den: 20}
	var locals []*Local
	var byGrid [gridFixed + 1]map[cellKey]cellSum
	for p := range uint32(locations) {
		all := ccgtest.NewScript(uint64(p), p, locations, p%2 == 0).Stream(100)
		locals = append(locals, built(t, defs, trace.P(p), all, graph.Options{Deviation: d}, 100))
		for g := range byGrid {
			if p == 0 {
				byGrid[g] = map[cellKey]cellSum{}
			}
			slowGaps(byGrid[g], defs, all, d, gapGrid(g))
		}
	}
	fresh := func(contexts, cells int) *GapHistogram {
		h := NewGapHistogram(defs, d)
		h.contextLimit, h.cellLimit = contexts, cells
		return h
	}
	r := rand.New(rand.NewPCG(4, 4))
	limits := [][2]int{{10, maxCells}, {contextsIn(byGrid[gridNext]), maxCells}, {maxContexts, len(byGrid[gridFixed-1]) - 1}}
	for g := range byGrid {
		limits = append(limits, [2]int{maxContexts, len(byGrid[g])})
	}
	for _, limit := range limits {
		all := fresh(limit[0], limit[1])
		for _, l := range locals {
			if err := all.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := checkGrid(all, byGrid[:]); err != nil {
			t.Errorf("limits %v: %v", limit, err)
		}
		want, err := all.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var parts []*GapHistogram
			for _, i := range r.Perm(locations) {
				h := fresh(limit[0], limit[1])
				if err := h.Add(locals[i]); err != nil {
					t.Fatal(err)
				}
				parts = append(parts, h)
			}
			for len(parts) > 1 {
				i := r.IntN(len(parts) - 1)
				if err := parts[i].Merge(reopened(t, parts[i+1])); err != nil {
					t.Fatal(err)
				}
				parts = slices.Delete(parts, i+1, i+2)
			}
			if got, _ := parts[0].AppendBinary(nil); !bytes.Equal(got, want) {
				t.Fatalf("limits %v: bytes depend on the order of merging", limit)
			}
		}
	}
}

func contextsIn(m map[cellKey]cellSum) int {
	contexts := map[gapContext]bool{}
	for k := range m {
		contexts[k.gapContext] = true
	}
	return len(contexts)
}

// checkGrid reports whether the grid of h is the first that keeps its limits.
func checkGrid(h *GapHistogram, byGrid []map[cellKey]cellSum) error {
	for g := gridSiblings; g <= gridFixed; g++ {
		m := byGrid[g]
		if g < gridFixed && (g < gridRegion && contextsIn(m) > h.contextLimit || len(m) > h.cellLimit) {
			continue
		}
		if h.grid != g {
			return fmt.Errorf("grid %d, want %d", h.grid, g)
		}
		if g < gridFixed && !maps.Equal(m, h.content()) {
			return errors.New("counts differ")
		}
		return nil
	}
	return nil
}

// TestCells looks at cells of all bounds and grids: legal for each of their
// values, without gaps between them, those of a coarser grid made of finer ones.
func TestCells(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 3000 {
		d := randomDeviation(r)
		var finer cellShifts
		for g := gridRegion; g <= gridFixed; g++ {
			s := g.shifts(d)
			book := &Codebook{d: d, grid: g, shifts: s}
			for range 10 {
				v := r.Uint64() >> r.IntN(65)
				low := s.low(v)
				high := s.high(low)
				if v < low || v > high || s.low(low) != low || s.low(high) != low {
					t.Fatalf("%+v, grid %d: %d lies in [%d, %d]", d, g, v, low, high)
				}
				if high < math.MaxUint64 && s.low(high+1) != high+1 {
					t.Fatalf("%+v, grid %d: after %d comes a cell from %d", d, g, high, s.low(high+1))
				}
				if g < gridFixed && high-low > d.Bound(low) {
					t.Fatalf("%+v, grid %d: [%d, %d] is wider than %d", d, g, low, high, d.Bound(low))
				}
				if b := book.fixed(v); g == gridFixed && (!b.legal(d) || b.low != low || b.high != high) {
					t.Fatalf("%+v: fixed bin %+v of %d", d, b, v)
				}
				if g > gridRegion && s.low(finer.low(v)) != low {
					t.Fatalf("%+v, grid %d: the cell of %d does not contain the finer one", d, g, v)
				}
			}
			finer = s
		}
	}
}

// TestCountedTooOften refuses counts that would overflow.
func TestCountedTooOften(t *testing.T) {
	defs := ccgtest.Definitions(1)
	d := graph.Deviation{Abs: 1}
	b := appendContext(varint.Append(appendGrid(nil, d, gridRegion), 1), gapContext{region: 1})
	b = varint.Append(b, 2, 0, graph.MaxEvents, 0, 0)
	if _, err := OpenGapHistogram(defs, d, varint.Append(b, 1, 1, 0, 0)); !errors.Is(err, graph.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenGapHistogram(defs, graph.Deviation{Abs: 2}, b); !errors.Is(err, graph.ErrForeign) {
		t.Errorf("other bounds: got %v", err)
	}
	if err := NewGapHistogram(defs, d).Merge(NewGapHistogram(defs, graph.Deviation{Abs: 2})); !errors.Is(err, graph.ErrForeign) {
		t.Errorf("other bounds: got %v", err)
	}
}

func FuzzGapHistogram(f *testing.F) {
	defs := ccgtest.Definitions(3)
	d := graph.Deviation{Abs: 30, Num: 1, Den: 20}
	for _, text := range []string{"a.a.b", "ab.c.b.c.!?d.d"} {
		h := NewGapHistogram(defs, d)
		if err := h.Add(built(f, defs, 0, ccgtest.Player(text), graph.Options{Deviation: d}, 100)); err != nil {
			f.Fatal(err)
		}
		b, _ := h.AppendBinary(nil)
		f.Add(b)
		b, _ = h.Choose().AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := OpenGapHistogram(defs, d, data); err == nil {
			reopened(t, h)
			checkBook(t, reopenedBook(t, h.Choose()))
		} else if !errors.Is(err, graph.ErrForeign) {
			acceptable(t, err)
		}
		if c, err := OpenCodebook(defs, d, data); err == nil {
			checkBook(t, reopenedBook(t, c))
		} else if !errors.Is(err, graph.ErrForeign) {
			acceptable(t, err)
		}
	})
}

func BenchmarkGapHistogram(b *testing.B) {
	defs := ccgtest.Definitions(8)
	for _, c := range []struct {
		name string
		all  *trace.Batch
	}{{"stencil", ccgtest.StencilEvents(1<<20, true)}, {"irregular", ccgtest.IrregularEvents(1 << 20)}} {
		b.Run(c.name, func(b *testing.B) {
			d := graph.Deviation{Abs: 1000, Num: 1, Den: 10}
			l := built(b, defs, 0, c.all, graph.Options{Deviation: d}, 4096)
			h := NewGapHistogram(defs, d)
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Add(l); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(c.all.Events)), "ns/event")
			b.ReportMetric(float64(len(h.cells.List)), "cells")
		})
	}
}
