package build

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// gapsOf reads a gap stream.
func gapsOf(t testing.TB, l *Local) []uint64 {
	t.Helper()
	var gaps []uint64
	for b := l.gaps; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatal("bad varint")
		}
		gaps, b = append(gaps, v), b[n:]
	}
	return gaps
}

// checkQuantised compares a location with its stored form: every gap within the
// bound, times within theirs, figures as they should be.
func checkQuantised(t *testing.T, l, q *Local, d graph.Deviation) {
	t.Helper()
	was, is := gapsOf(t, l), gapsOf(t, q)
	if len(was) != len(is) || l.first != q.first || uint64(len(is)) != q.events {
		t.Fatalf("%s: %d gaps from %d, stored %d from %d", d, len(was), l.first, len(is), q.first)
	}
	var stats graph.ErrorStats
	truth, stored := uint64(0), uint64(0)
	for i, v := range was {
		if e := max(v, is[i]) - min(v, is[i]); e > d.Bound(v) || i == 0 && e > 0 {
			t.Fatalf("%s: gap %d of %d ticks is stored as %d, bound %d", d, i, v, is[i], d.Bound(v))
		}
		if e := max(v, is[i]) - min(v, is[i]); e > d.StoredBound(1, is[i]) {
			t.Fatalf("%s: gap %d of %d ticks is stored as %d, a reader is promised %d", d, i, v, is[i], d.StoredBound(1, is[i]))
		}
		truth += v
		stored += is[i]
		e := max(truth, stored) - min(truth, stored)
		if d.TimeStamps && (stored > truth || e >= d.Abs) {
			t.Fatalf("%s: event %d at %d is stored at %d", d, i, truth, stored)
		}
		n := uint64(i)
		if exact := (graph.Deviation{Abs: d.Abs}).StoredBound(n, 0) + d.Share(truth, d.Den); e > exact || e > d.StoredBound(n, stored) || e > d.TimeBound(n, stored) {
			t.Fatalf("%s: event %d at %d is stored at %d: more than is promised, %d, %d, %d", d, i, truth, stored,
				exact, d.StoredBound(n, stored), d.TimeBound(n, stored))
		}
		stats.Event(e)
	}
	if q.errors != stats || uint64(q.last-q.first) != stored || !q.quantised {
		t.Fatalf("%s: figures %+v, last %d; want %+v, %d", d, q.errors, q.last, stats, stored)
	}
}

// borders makes a location whose gaps lie at the ends of cells and bins, and 0, 1
// and 2^62.
func borders(r *rand.Rand, d graph.Deviation) *trace.Batch {
	b := &trace.Batch{}
	at := trace.Time(0)
	add := func(v uint64) {
		if v > 1<<40 && v != 1<<62 {
			return
		}
		at += trace.Time(v)
		switch len(b.Events) % 3 {
		case 0:
			b.Append(at, trace.Enter, 1)
		case 1:
			b.Append(at, trace.MpiIrecvRequest, 0, 5)
		default:
			b.Append(at, trace.Leave, 1)
		}
	}
	add(0)
	for g := range gridFixed + 1 {
		s := g.shifts(d)
		for range 30 {
			low := s.low(r.Uint64() >> (24 + r.IntN(40)))
			high := s.high(low)
			for _, v := range []uint64{low, high, low + 1, high + 1, low + d.Bound(low), low - min(low, 1)} {
				add(v)
			}
		}
	}
	for _, v := range []uint64{0, 1, 1 << 62, 0, 1, 2} {
		add(v)
	}
	return b
}

// TestBounds quantises random streams under random bounds.
func TestBounds(t *testing.T) {
	const locations = 3
	defs := ccgtest.Definitions(locations)
	r := rand.New(rand.NewPCG(11, 2))
	var random []*trace.Batch
	for p := range uint32(locations) {
		random = append(random, ccgtest.NewScript(3, p, locations, p == 1).Stream(600))
	}
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for i := range rounds {
		d := randomDeviation(r)
		d.Abs >>= 24 // so that no time overflows
		d.TimeStamps = d.TimeStamps && d.Abs > 0
		if d.Lossless() {
			continue
		}
		streams := random
		if i%2 == 0 {
			streams = []*trace.Batch{borders(r, d)}
		}
		locals, book := lossy(t, defs, streams, graph.Options{Deviation: d, Fold: 1 + r.IntN(40), Fan: 2 + r.IntN(5)})
		book = reopenedBook(t, book)
		checkBook(t, book)
		fixed := NewGapHistogram(defs, d)
		fixed.coarsen(gridFixed)
		for _, l := range locals {
			for _, c := range []*Codebook{book, reopenedBook(t, fixed.Choose())} {
				q, err := c.Quantise(l)
				if err != nil {
					t.Fatalf("%s: %v", d, err)
				}
				checkQuantised(t, l, q, d)
			}
		}
	}
}

// TestDeepTimes bounds times under a stack of 800 calls, with random records.
func TestDeepTimes(t *testing.T) {
	defs := ccgtest.Definitions(1)
	r := rand.New(rand.NewPCG(5, 2))
	b := &trace.Batch{}
	at := trace.Time(1000)
	tick := func() trace.Time {
		at += trace.Time(r.IntN(5000))
		return at
	}
	depth := 0
	for i := range 10000 {
		switch {
		case depth < 800 && i < 5000 && r.IntN(3) > 0:
			b.Append(tick(), trace.Enter, uint32(depth%7))
			depth++
		case depth > 0 && (i > 7000 || r.IntN(2) == 0):
			depth--
			b.Append(tick(), trace.Leave, uint32(depth%7))
		default:
			b.Append(tick(), trace.MpiIrecvRequest, 0, 5)
		}
	}
	for _, abs := range []uint64{1, 2, 3, 7, 1000, 5000, 1 << 20, 1 << 62} {
		d := graph.Deviation{Abs: abs, TimeStamps: true}
		locals, book := lossy(t, defs, []*trace.Batch{b}, graph.Options{Deviation: d})
		q, err := book.Quantise(locals[0])
		if err != nil {
			t.Fatal(err)
		}
		checkQuantised(t, locals[0], q, d)
		if abs == 1 && !bytes.Equal(q.gaps, locals[0].gaps) {
			t.Error("a bound of one tick below: not exact")
		}
	}
}

// TestLossyFile goes through segment, section and blob.
func TestLossyFile(t *testing.T) {
	const locations = 3
	defs := ccgtest.Definitions(locations)
	for _, d := range []graph.Deviation{{Abs: 50}, {Num: 1, Den: 10}, {Abs: 50, Num: 1, Den: 10}, {Abs: 50, TimeStamps: true}} {
		o := graph.Options{Deviation: d}
		var streams []*trace.Batch
		for p := range uint32(locations) {
			streams = append(streams, ccgtest.NewScript(8, p, locations, true).Stream(400))
		}
		locals, book := lossy(t, defs, streams, o)
		shared := join(t, defs, locals, o)
		if _, err := NewDistributor(shared).Distribute(locals[0]); !errors.Is(err, ErrNoCodebook) {
			t.Fatalf("%s: without codebook: %v", d, err)
		}
		read, err := graph.OpenShared(defs, shared.Encode())
		if err != nil || read.Options() != o.Normal() {
			t.Fatalf("%s: read as %+v (%v)", d, read, err)
		}
		for p, l := range locals {
			q, err := book.Quantise(l)
			if err != nil {
				t.Fatal(err)
			}
			checkQuantised(t, l, q, d)
			segment, err := q.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := OpenLocal(segment)
			if err != nil || again.errors != q.errors || !again.quantised {
				t.Fatalf("%s: segment read as %+v (%v)", d, again, err)
			}
			blob, err := NewDistributor(shared).Distribute(q)
			if err != nil {
				t.Fatal(err)
			}
			if other, err := NewDistributor(read).Distribute(again); err != nil || !bytes.Equal(blob, other) {
				t.Fatalf("%s: blob of the quantised segment differs (%v)", d, err)
			}
			loc, err := ccg.OpenLocation(read, blob)
			if err != nil {
				t.Fatal(err)
			}
			if loc.ErrorStats() != q.errors || loc.Deviation() != d {
				t.Fatalf("%s: blob has %+v, %s", d, loc.ErrorStats(), loc.Deviation())
			}
			if err := sameTimes(expand(t, loc), streams[p], gapsOf(t, q)); err != nil {
				t.Fatalf("%s, location %d: %v", d, p, err)
			}
		}
	}
}

// sameTimes compares an expansion with the events it came from, at the stored
// times.
func sameTimes(got, want *trace.Batch, gaps []uint64) error {
	if len(got.Events) != len(want.Events) {
		return fmt.Errorf("%d events, want %d", len(got.Events), len(want.Events))
	}
	at := want.Events[0].Time
	for i, e := range got.Events {
		at += trace.Time(gaps[i])
		if w := want.Events[i]; e.Time != at || e.Kind != w.Kind || e.Ref != w.Ref || e.Len != w.Len {
			return fmt.Errorf("event %d: %+v, want %+v at %d", i, e, w, at)
		}
	}
	return nil
}

func TestQuantiseRefuses(t *testing.T) {
	defs := ccgtest.Definitions(2)
	d := graph.Deviation{Abs: 10}
	locals, book := lossy(t, defs, []*trace.Batch{ccgtest.NewScript(1, 0, 2, false).Stream(100)}, graph.Options{Deviation: d})
	other := built(t, defs, 1, ccgtest.NewScript(2, 1, 2, true).Stream(300), graph.Options{Deviation: d}, 100)
	if _, err := book.Quantise(other); !errors.Is(err, graph.ErrForeign) {
		t.Errorf("a location that was not counted: %v", err)
	}
	q, err := book.Quantise(locals[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.Quantise(q); !errors.Is(err, graph.ErrForeign) {
		t.Errorf("quantised twice: %v", err)
	}
	exact := built(t, defs, 1, ccgtest.NewScript(2, 1, 2, true).Stream(300), graph.Options{}, 100)
	if _, err := book.Quantise(exact); !errors.Is(err, graph.ErrForeign) {
		t.Errorf("built for other bounds: %v", err)
	}
	b := &trace.Batch{}
	b.Append(math.MaxUint64-5, trace.Enter, 1)
	b.Append(math.MaxUint64-4, trace.Leave, 1)
	locals, _ = lossy(t, defs, []*trace.Batch{b}, graph.Options{Deviation: d})
	late := NewGapHistogram(defs, d)
	late.coarsen(gridFixed) // stores 7 for 1
	if _, err := late.Choose().Quantise(locals[0]); !errors.Is(err, graph.ErrLimit) {
		t.Errorf("stored times beyond 64 bits: %v", err)
	}
}

func TestErrorStats(t *testing.T) {
	var s graph.ErrorStats
	if s.Mean() != 0 {
		t.Error("mean of nothing")
	}
	for _, e := range []uint64{3, 4, 4} {
		s.Event(e)
	}
	s.Add(graph.ErrorStats{Largest: math.MaxUint64, SumLo: math.MaxUint64, Count: 1})
	if want := (graph.ErrorStats{Largest: math.MaxUint64, SumHi: 1, SumLo: 10, Count: 4}); s != want || s.Mean() != 1<<62+3 {
		t.Errorf("%+v, mean %d", s, s.Mean())
	}
	if got := (graph.ErrorStats{SumHi: 9, Count: 9}).Mean(); got != math.MaxUint64 {
		t.Errorf("mean of an impossible sum: %d", got)
	}
}

func BenchmarkQuantise(b *testing.B) {
	defs := ccgtest.Definitions(8)
	for _, c := range []struct {
		name string
		d    graph.Deviation
		all  *trace.Batch
	}{
		{"codebook", graph.Deviation{Abs: 1000, Num: 1, Den: 10}, ccgtest.StencilEvents(1<<20, true)},
		{"fine", graph.Deviation{Num: 1, Den: 1000}, ccgtest.StencilEvents(1<<20, true)},
		{"irregular", graph.Deviation{Abs: 1000, Num: 1, Den: 10}, ccgtest.IrregularEvents(1 << 20)},
		{"timestamps", graph.Deviation{Abs: 1000, TimeStamps: true}, ccgtest.StencilEvents(1<<20, true)},
	} {
		b.Run(c.name, func(b *testing.B) {
			locals, book := lossy(b, defs, []*trace.Batch{c.all}, graph.Options{Deviation: c.d})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := book.Quantise(locals[0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(c.all.Events)), "ns/event")
			b.ReportMetric(float64(book.Bins()), "values")
		})
	}
}

// randomDeviation returns bounds of every size, valid ones.
func randomDeviation(r *rand.Rand) graph.Deviation {
	var d graph.Deviation
	if r.IntN(4) > 0 {
		d.Abs = r.Uint64() >> r.IntN(64)
	}
	if r.IntN(4) > 0 {
		d.Den = 2 + r.Uint64N(math.MaxUint64-2)>>r.IntN(63)
		d.Num = r.Uint64N(d.Den) >> r.IntN(64)
	}
	d.TimeStamps = d.Abs > 0 && r.IntN(2) == 0
	return d.Normal()
}
