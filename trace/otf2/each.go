package otf2

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// eachBatch reads location p of any source to its end, chunk after chunk, and
// adds what the source reports to found.
func eachBatch(src trace.Source, p trace.P, found *trace.Diagnostics, f func(b *trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	found.AddAll(st.Diagnostics())
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err == nil {
			if err = r.Next(&b); err == nil {
				err = f(&b)
			}
		}
		found.AddAll(r.Diagnostics())
		r.Close()
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}
