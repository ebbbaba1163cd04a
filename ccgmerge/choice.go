package ccgmerge

import (
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/mpi"
)

// choice is a decision that depends on all locations. Every rank counts its locations, the counts are reduced along a tree, rank 0 decides,
// and all ranks get the decision.
type choice[T interface {
	AppendBinary(dst []byte) ([]byte, error)
}] struct {
	add     func(*build.Local) error // counts a location
	open    func([]byte) (T, error)
	merge   func(a, b T) error // adds the counts b to a
	decide  func(T) ([]byte, error)
	largest *uint64 // becomes the bytes of this rank's largest message
}

// of returns the encoded decision. own has this rank's counts. The error is the same on every rank. Collective.
func (c *choice[T]) of(r *reduction, own T) ([]byte, error) {
	encode := func(v T) ([]byte, error) {
		b, err := v.AppendBinary(nil)
		*c.largest = max(*c.largest, uint64(len(b)))
		return b, err
	}
	merge := func(a, b T) (T, error) { return a, c.merge(a, b) }
	return mpi.TreeShare(r.c, own, r.each(c.add), encode, c.open, merge, c.decide)
}

// each calls f with this rank's locations, one at a time. Once there is a codebook, their gaps are quantised.
func (r *reduction) each(f func(*build.Local) error) error {
	for i := range r.locals.Len() {
		l, err := r.locals.Open(i)
		if err != nil {
			return err
		}
		if l, err = r.book.Quantise(l); err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}
