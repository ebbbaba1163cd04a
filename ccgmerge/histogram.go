package ccgmerge

import (
	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
)

// codebook counts the gaps of all ranks and returns the same codebook on each;
// nil if the graph is lossless. Rank 0 chooses: the counts travel up only.
func (r *reduction) codebook() (*ccg.Codebook, error) {
	d := r.opt.Deviation
	if d.Lossless() {
		return nil, nil
	}
	own := ccg.NewGapHistogram(r.defs, d)
	var err error
	for i := 0; i < r.locals.Len() && err == nil; i++ {
		var l *ccg.Local
		if l, err = r.locals.Open(i); err == nil {
			err = own.Add(l)
		}
	}
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return nil, err
	}
	encode := func(h *ccg.GapHistogram) ([]byte, error) {
		b, err := h.AppendBinary(nil)
		r.report.GapBytes = max(r.report.GapBytes, uint64(len(b)))
		return b, err
	}
	decode := func(b []byte) (*ccg.GapHistogram, error) { return ccg.OpenGapHistogram(r.defs, d, b) }
	merge := func(a, b *ccg.GapHistogram) (*ccg.GapHistogram, error) { return a, a.Merge(b) }
	all, err := mpi.TreeReduce(r.c, own, encode, decode, merge)
	if err != nil {
		return nil, err
	}
	var b []byte
	if r.c.Rank() == 0 {
		if b, err = all.Choose().AppendBinary(nil); err != nil {
			return nil, err
		}
	}
	if b, err = r.c.Bcast(b, 0); err != nil {
		return nil, err
	}
	r.report.CodebookBytes = uint64(len(b))
	book, err := ccg.OpenCodebook(r.defs, d, b)
	if err := mpi.AgreeOn(r.c, err, sentinels...); err != nil {
		return nil, err
	}
	r.report.GapContexts, r.report.GapValues = uint64(book.Contexts()), uint64(book.Bins())
	return book, nil
}
