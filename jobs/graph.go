package jobs

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// graph makes the shared call graph and the columns of this rank's locations.
func (a *analysis) graph() error {
	lossy := !a.graphs.Deviation.Lossless()
	passes := uint64(3) // ccgmerge.Locals are opened twice, and once for their columns
	if lossy {
		passes = 6
	}
	a.meter.Stage("graph", passes*a.ownBytes())
	defer func() { a.encoded = nil }()
	shared, report, err := ccgmerge.Reduce(a.c, a.defs, locals{a, lossy}, a.graphs, ccgmerge.Config{})
	a.res.Graph = report
	if err != nil {
		return err
	}
	d := ccg.NewDistributor(shared)
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		if err = a.distribute(d, p); err == nil {
			err = a.pace.poll()
		}
	}
	if a.c.Rank() == 0 {
		a.section = shared.Encode()
	}
	return agree(a.c, err)
}

func (a *analysis) distribute(d *ccg.Distributor, p trace.P) error {
	l, err := a.local(p, true)
	if err != nil {
		return err
	}
	blob, err := d.Distribute(l)
	if err != nil {
		return fmt.Errorf("call graph of location %d: %w", p, err)
	}
	a.drop(p, stageLoad, kindGraph)
	return a.store.Put(a.key(p, stageFinish, xtfwriter.KindBlob+xtf.KindCCGColumns), blob)
}

// locals opens the location graphs of this rank one at a time.
type locals struct {
	a       *analysis
	streams bool
}

func (l locals) Len() int { return l.a.own.Len() }

func (l locals) Open(i int) (*ccg.Local, error) {
	return l.a.local(l.a.own.First+trace.P(i), l.streams)
}

// local opens the graph of a location, with its streams or without. It is valid until the next call.
func (a *analysis) local(p trace.P, streams bool) (*ccg.Local, error) {
	a.meter.Add(a.size.Weights[p])
	s, err := a.store.Segment(a.key(p, stageLoad, kindGraph))
	if err != nil {
		return nil, err
	}
	size := int(s.Size())
	if !streams {
		var head [ccg.LocalHead]byte
		if _, err := s.ReadAt(head[:], 0); err != nil {
			return nil, err
		}
		size = min(size, ccg.StructureSize(head[:]))
	}
	a.encoded = slices.Grow(a.encoded[:0], size)[:size]
	if _, err := s.ReadAt(a.encoded, 0); err != nil && size > 0 {
		return nil, err
	}
	l, err := ccg.OpenLocal(a.encoded)
	if err != nil {
		return nil, fmt.Errorf("call graph of location %d: %w", p, err)
	}
	return l, nil
}
