package ccgmerge

import "github.com/coppice-hpc/coppice/ccg/build"

// codebook counts the gaps of all ranks and returns the same codebook on each; nil for a lossless graph. Rank 0 chooses.
func (r *reduction) codebook() (*build.Codebook, error) {
	d := r.opt.Deviation
	if d.Lossless() {
		return nil, nil
	}
	own := build.NewGapHistogram(r.defs, d)
	gaps := choice[*build.GapHistogram]{
		add:     own.Add,
		open:    func(b []byte) (*build.GapHistogram, error) { return build.OpenGapHistogram(r.defs, d, b) },
		merge:   func(a, b *build.GapHistogram) error { return a.Merge(b) },
		decide:  func(all *build.GapHistogram) ([]byte, error) { return all.Choose().AppendBinary(nil) },
		largest: &r.report.GapBytes,
	}
	b, err := gaps.of(r, own)
	if err != nil {
		return nil, err
	}
	r.report.CodebookBytes = uint64(len(b))
	book, err := build.OpenCodebook(r.defs, d, b)
	if err := r.c.Agree(err); err != nil {
		return nil, err
	}
	r.report.GapContexts, r.report.GapValues = uint64(book.Contexts()), uint64(book.Bins())
	return book, nil
}
