package ccgmerge

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
)

// classes gives a lossy graph its class tables, the same on each rank: gap
// counts are reduced, rank 0 chooses the nodes that get tables, each rank makes
// those of its locations, and they climb the tree like the structure did.
func (r *reduction) classes(s *ccg.Shared) (*ccg.Shared, error) {
	modes, err := r.modes(s)
	if err != nil {
		return nil, err
	}
	own := ccg.NewClassBuilder(s, modes)
	err = r.each(own.Add)
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return nil, err
	}
	r.classLevels, err = r.climb(classRows{own})
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return nil, err
	}
	all, err := r.broadcastClasses(s, modes, own)
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return nil, err
	}
	r.report.Rows = uint64(all.Rows())
	return all.Shared(), nil
}

// each opens this rank's locations, one at a time.
func (r *reduction) each(f func(*ccg.Local) error) error {
	for i := range r.locals.Len() {
		l, err := r.locals.Open(i)
		if err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}

// modes counts gaps by slot over all ranks and returns the choice.
func (r *reduction) modes(s *ccg.Shared) (ccg.ClassModes, error) {
	var none ccg.ClassModes
	own := ccg.NewGapCounts(s)
	err := r.each(own.Add)
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return none, err
	}
	encode := func(c *ccg.GapCounts) ([]byte, error) {
		b, err := c.AppendBinary(nil)
		r.report.SlotBytes = max(r.report.SlotBytes, uint64(len(b)))
		return b, err
	}
	decode := func(b []byte) (*ccg.GapCounts, error) { return ccg.OpenGapCounts(s, b) }
	merge := func(a, b *ccg.GapCounts) (*ccg.GapCounts, error) {
		a.Merge(b)
		return a, nil
	}
	all, err := mpi.TreeReduce(r.c, own, encode, decode, merge)
	if err != nil {
		return none, err
	}
	var b []byte
	if r.c.Rank() == 0 {
		if b, err = all.Choose().AppendBinary(nil); err != nil {
			return none, err
		}
	}
	if b, err = r.c.Bcast(b, 0); err != nil {
		return none, err
	}
	m, err := ccg.OpenClassModes(s, b)
	return m, mpi.AgreeOn(r.c, err, sentinels...)
}

// broadcastClasses gives rank 0's tables to every rank, in messages; an empty
// one is the last.
func (r *reduction) broadcastClasses(s *ccg.Shared, m ccg.ClassModes, own *ccg.ClassBuilder) (*ccg.ClassBuilder, error) {
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
	all := ccg.NewClassBuilder(s, m)
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
