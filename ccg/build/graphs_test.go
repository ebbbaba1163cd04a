package build

import (
	"encoding/binary"
	"io"
	"iter"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// openOne makes a graph of one location and opens it.
func openOne(t testing.TB, all *trace.Batch) *ccg.Location {
	t.Helper()
	defs := ccgtest.Definitions(8)
	l := built(t, defs, 0, all, graph.Options{}, 4096)
	s := join(t, defs, []*Local{l}, graph.Options{})
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := ccg.OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// made is a graph with its locations and the streams it was made from.
type made struct {
	defs    *trace.Definitions
	streams []*trace.Batch
	locals  []*Local
	shared  *graph.Shared
	blobs   [][]byte
	locs    []*ccg.Location
}

func makeGraph(t testing.TB, size uint32, n int, odd bool, o graph.Options) *made {
	t.Helper()
	m := &made{defs: ccgtest.Definitions(int(size))}
	for p := range size {
		m.streams = append(m.streams, ccgtest.NewScript(77, p, size, odd).Stream(n))
		m.locals = append(m.locals, built(t, m.defs, trace.P(p), m.streams[p], o, 1000))
	}
	m.shared = join(t, m.defs, m.locals, o)
	for _, l := range m.locals {
		blob, err := NewDistributor(m.shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := ccg.OpenLocation(m.shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		m.blobs = append(m.blobs, blob)
		m.locs = append(m.locs, loc)
	}
	return m
}

func (m *made) each() iter.Seq2[*ccg.Location, error] {
	return func(yield func(*ccg.Location, error) bool) {
		for _, l := range m.locs {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// built makes the graph of one location, feeding batches of step events.
func built(t testing.TB, defs *trace.Definitions, p trace.P, all *trace.Batch, o graph.Options, step int) *Local {
	t.Helper()
	b := NewBuilder(defs, p, o)
	for i := 0; i < len(all.Events); i += step {
		part := trace.Batch{First: uint64(i), Events: all.Events[i:min(i+step, len(all.Events))], Args: all.Args}
		if err := b.Add(&part); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// join makes the shared graph of locations without ranks.
func join(t testing.TB, defs *trace.Definitions, locals []*Local, o graph.Options) *graph.Shared {
	t.Helper()
	partners := NewPartners(defs)
	for _, l := range locals {
		partners.Add(l)
	}
	u := NewUnion(defs, partners.Choose(), o)
	for _, l := range locals {
		if err := u.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return u.Shared()
}

// expand returns all events of a location.
func expand(t testing.TB, l *ccg.Location) *trace.Batch {
	t.Helper()
	x := l.Expand()
	all := &trace.Batch{}
	var b trace.Batch
	for {
		err := x.Next(&b)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			e.Arg += uint32(len(all.Args))
			all.Events = append(all.Events, e)
		}
		all.Args = append(all.Args, b.Args...)
	}
}

// classed makes the graph of locations whose gaps are lossy already, with class
// tables, as one rank does.
func classed(t testing.TB, defs *trace.Definitions, locals []*Local, o graph.Options) *graph.Shared {
	t.Helper()
	s := join(t, defs, locals, o)
	counts := NewGapCounts(s)
	for _, l := range locals {
		if err := counts.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	b := NewClassBuilder(s, counts.Choose())
	for _, l := range locals {
		if err := b.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.Shared()
}

// testBound is a bound that every rounding of rounded obeys.
var testBound = graph.Deviation{Abs: 1 << 40}

// rounded returns l with its gaps rounded by f, and the stream with the times
// that this gives.
func rounded(l *Local, all *trace.Batch, f func(gap uint64) uint64) (*Local, *trace.Batch) {
	r, b := *l, *all
	r.gaps = nil
	b.Events = append([]trace.Event(nil), all.Events...)
	now, last := l.first, l.first
	for i := range b.Events {
		gap := uint64(b.Events[i].Time - last)
		last = b.Events[i].Time
		if gap = f(gap); i == 0 {
			gap = 0
		}
		now += trace.Time(gap)
		b.Events[i].Time = now
		r.gaps = binary.AppendUvarint(r.gaps, gap)
	}
	r.last, r.quantised = now, true
	return &r, &b
}

// lossyGraph makes a lossy graph of random streams, with its blobs.
func lossyGraph(t testing.TB, n int, step uint64) *made {
	t.Helper()
	o := graph.Options{Fan: 4, Deviation: testBound}
	m := &made{defs: ccgtest.Definitions(3)}
	m.locals = lossyLocals(t, m.defs, 6, n, o, step)
	m.shared = classed(t, m.defs, m.locals, o)
	for _, l := range m.locals {
		blob, err := NewDistributor(m.shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := ccg.OpenLocation(m.shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		m.blobs, m.locs = append(m.blobs, blob), append(m.locs, loc)
	}
	return m
}

// lossyLocals makes locations of random streams with gaps rounded to step.
func lossyLocals(t testing.TB, defs *trace.Definitions, seed uint64, n int, o graph.Options, step uint64) []*Local {
	t.Helper()
	var locals []*Local
	for p := range defs.NumLocations() {
		all := ccgtest.NewScript(seed, uint32(p), uint32(defs.NumLocations()), true).Stream(n)
		l, _ := rounded(built(t, defs, trace.P(p), all, o, 1000), all, func(g uint64) uint64 { return g / step * step })
		locals = append(locals, l)
	}
	return locals
}

// lossy builds locations with the given bounds, and their codebook.
func lossy(t testing.TB, defs *trace.Definitions, streams []*trace.Batch, o graph.Options) ([]*Local, *Codebook) {
	t.Helper()
	var locals []*Local
	h := NewGapHistogram(defs, o.Deviation)
	for p, all := range streams {
		l := built(t, defs, trace.P(p), all, o, 1000)
		if err := h.Add(l); err != nil {
			t.Fatal(err)
		}
		locals = append(locals, l)
	}
	return locals, h.Choose()
}
