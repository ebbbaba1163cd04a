package otf2

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// EachBatch reads location p of any source to its end, chunk after chunk, and
// adds what the source reports to found.
func EachBatch(src trace.Source, p trace.P, found *trace.Diagnostics, f func(b *trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	found.AddAll(st.Diagnostics())
	var b trace.Batch
	var first uint64
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				b.First = first
				first += uint64(len(b.Events))
				err = f(&b)
			}
		}
		found.AddAll(r.Diagnostics())
		if e := r.Close(); errors.Is(err, io.EOF) {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}
