package ccgmerge

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
)

// classes adds class tables to a lossy graph, the same on each rank: gap counts are reduced, rank 0 chooses the nodes that get tables, each
// rank makes the tables of its locations, and these are merged along the tree as the graph was.
func (r *reduction) classes(s *graph.Shared) (*graph.Shared, error) {
	modes, err := r.modes(s)
	if err != nil {
		return nil, err
	}
	own := build.NewClassBuilder(s, modes)
	r.classLevels, err = climb(r, own, r.each(own.Add))
	if err := r.c.Agree(err); err != nil {
		return nil, err
	}
	all, err := r.broadcastClasses(s, modes, own)
	if err := r.c.Agree(err); err != nil {
		return nil, err
	}
	r.report.Rows = uint64(all.Len())
	return all.Shared(), nil
}

// modes counts the gaps of each slot over all ranks and returns the choice.
func (r *reduction) modes(s *graph.Shared) (build.ClassModes, error) {
	own := build.NewGapCounts(s)
	slots := choice[*build.GapCounts]{
		add:     own.Add,
		open:    func(b []byte) (*build.GapCounts, error) { return build.OpenGapCounts(s, b) },
		merge:   func(a, b *build.GapCounts) error { a.Merge(b); return nil },
		decide:  func(all *build.GapCounts) ([]byte, error) { return all.Choose().AppendBinary(nil) },
		largest: &r.report.SlotBytes,
	}
	b, err := slots.of(r, own)
	if err != nil {
		return build.ClassModes{}, err
	}
	m, err := build.OpenClassModes(s, b)
	return m, r.c.Agree(err)
}

// broadcastClasses sends rank 0's tables to every rank, in several messages; an empty one is the last.
func (r *reduction) broadcastClasses(s *graph.Shared, m build.ClassModes, own *build.ClassBuilder) (*build.ClassBuilder, error) {
	others := uint64(r.c.Size() - 1)
	if r.c.Rank() == 0 {
		if others == 0 {
			return own, nil
		}
		for part := range own.Parts(r.cfg.Message) {
			if _, err := r.c.Bcast(part, 0); err != nil {
				return nil, err
			}
			r.report.BroadcastBytes += others * uint64(len(part))
		}
		_, err := r.c.Bcast(nil, 0)
		return own, err
	}
	all := build.NewClassBuilder(s, m)
	in := all.Receive()
	var failed error
	for {
		b, err := r.c.Bcast(nil, 0)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			break
		}
		r.report.BroadcastBytes += others * uint64(len(b))
		if failed == nil {
			failed = in.Add(b)
		}
	}
	if err := in.Close(); failed == nil {
		failed = err
	}
	if failed != nil {
		return nil, fmt.Errorf("broadcast of classes: %w", failed)
	}
	return all, nil
}
