package synthetic

import (
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// BenchmarkRead reads one location of a run; bytes are events.
func BenchmarkRead(b *testing.B) {
	for _, spec := range []string{
		"stencil:procs=64,events=20M,jitter=5", "ring:procs=64,events=20M,jitter=5", "wavefront:procs=64,events=20M,jitter=5",
		"masterworker:procs=64,events=2M,jitter=5", "irregular:procs=64,events=2M,jitter=5",
	} {
		b.Run(spec[:4], func(b *testing.B) {
			s := open(b, spec)
			st, err := s.Stream(9)
			if err != nil {
				b.Fatal(err)
			}
			var batch trace.Batch
			var n int64
			b.ReportAllocs()
			for b.Loop() {
				r, err := st.Chunk(0)
				if err != nil {
					b.Fatal(err)
				}
				n = 0
				for r.Next(&batch) == nil {
					n += int64(len(batch.Events))
				}
			}
			b.SetBytes(n)
		})
	}
}
