package analyze

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// shared is the result of stage graph.
type shared struct {
	*matched
	section []byte // shared call graph, on rank 0
}

// graphs opens the call graphs of this rank's locations, one at a time. It implements ccgmerge.Locals.
type graphs struct {
	*job
	streams bool
	opens   uint64 // how many times each is opened, for the meter
	encoded []byte
}

// graph makes the shared call graph, and the columns of this rank's locations.
func (a *job) graph(in *matched) (*shared, error) {
	g := &graphs{job: a, streams: !a.graphs.Deviation.Lossless(), opens: 3} // ccgmerge opens each twice, and once for its columns
	if g.streams {
		g.opens = 6
	}
	a.begin("graph")
	graph, book, report, err := ccgmerge.Reduce(a.c, a.defs, g, a.graphs, ccgmerge.Config{})
	a.res.Graph = report
	if err != nil {
		return nil, err
	}
	d := build.NewDistributor(graph)
	err = a.eachOwn(func(p trace.P) error {
		l, err := g.local(p, true)
		if err != nil {
			return err
		}
		var blob []byte
		if l, err = book.Quantise(l); err == nil {
			blob, err = d.Distribute(l)
		}
		if err != nil {
			return fmt.Errorf("call graph of location %d: %w", p, err)
		}
		g.drop(p, kindGraph)
		return g.store.Put(g.key(p, stageFinish, xtfwriter.KindBlob+xtf.KindCCGColumns), blob)
	})
	out := &shared{matched: in}
	if a.c.Rank() == 0 {
		out.section = graph.Encode()
	}
	return out, err
}

// Len returns the number of this rank's locations.
func (a *graphs) Len() int { return a.own.Len() }

// Open opens the graph of this rank's i-th location.
func (a *graphs) Open(i int) (*build.Local, error) { return a.local(a.own.First+trace.P(i), a.streams) }

// local opens the graph of a location, with its streams or without. It is valid until the next call.
func (a *graphs) local(p trace.P, streams bool) (*build.Local, error) {
	a.meter.Add(a.size.Weights[p] / a.opens)
	s, err := a.store.Segment(a.key(p, stageLoad, kindGraph))
	if err != nil {
		return nil, err
	}
	size := int(s.Size())
	if !streams {
		var head [build.LocalHead]byte
		if _, err := s.ReadAt(head[:], 0); err != nil {
			return nil, err
		}
		size = min(size, build.StructureSize(head[:]))
	}
	a.encoded = slices.Grow(a.encoded[:0], size)[:size]
	if _, err := s.ReadAt(a.encoded, 0); err != nil && size > 0 {
		return nil, err
	}
	l, err := build.OpenLocal(a.encoded)
	if err != nil {
		return nil, fmt.Errorf("call graph of location %d: %w", p, err)
	}
	return l, nil
}
