package analyze_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// randomSource delivers events of every kind in no sensible order, with the
// definitions of another source.
type randomSource struct {
	trace.Source
	seed uint64
	n    int
}

func (s *randomSource) Measure(trace.P) (trace.Extent, error) {
	return trace.Extent{Bytes: 1, Chunks: 1}, nil
}

func (s *randomSource) Stream(p trace.P) (trace.Stream, error) {
	return trace.NewStream(1, func(int) (trace.ChunkReader, error) {
		return trace.Fill((&randomStream{rand.New(rand.NewPCG(s.seed, uint64(p))), s.n}).fill), nil
	}), nil
}

type randomStream struct {
	rng  *rand.Rand
	left int
}

// fill makes all events at once: times rise or stay, references are mostly
// defined, requests are few, so that they are posted, completed and reused in
// any order.
func (s *randomStream) fill(b *trace.Batch) error {
	now := trace.Time(0)
	for ; s.left > 0; s.left-- {
		now += trace.Time(s.rng.IntN(3))
		kind := trace.Kind(s.rng.IntN(100))
		if s.rng.IntN(3) == 0 {
			kind = trace.Enter + trace.Kind(s.rng.IntN(2))
		}
		info := kind.Info()
		if kind == trace.Enter || kind == trace.Leave {
			b.Append(now, kind, uint32(s.rng.IntN(5)))
			continue
		}
		words := make([]uint64, len(info.Fields))
		for i := range words {
			words[i] = uint64(s.rng.IntN(4))
		}
		if info.List != trace.NoList {
			n := words[len(words)-1]
			words = append(words, make([]uint64, map[trace.List]uint64{trace.MetricList: 2 * n, trace.StringList: n, trace.PayloadList: (n + 7) / 8}[info.List])...)
		}
		b.Append(now, kind, 0, words...)
	}
	return nil
}

// TestRandomEvents analyses streams that no program would write. The job must
// take them: any record may be anywhere in a damaged trace.
func TestRandomEvents(t *testing.T) {
	base, err := tracetest.Parse("-- program --\nprocesses 3\nthreads 2\n-- events --\n0 1 ENTER MPI_Send\n0 2 ENTER MPI_Barrier\n0 3 ENTER main\n0 4 ENTER MPI_Waitall\n")
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		src := &randomSource{base, seed, 300}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			for _, ranks := range []int{1, 4} {
				out := filepath.Join(t.TempDir(), "run.xtf")
				o := analyze.Options{Source: src, Output: out, StoreBytes: 1 << 20}
				switch seed % 4 {
				case 2:
					o.GraphOnly = true
				case 3:
					o.GraphOnly, o.Deviation = ranks == 1, "10%,1ticks"
				}
				if _, err := jobtest.Analyze(ranks, o); err != nil {
					t.Fatal(err)
				}
				f, err := callview.OpenFile(out, xtf.Options{})
				if err != nil {
					t.Fatal(err)
				}
				res, err := xtf.Check(f, nil)
				if err != nil || len(res.Problems) > 0 {
					t.Errorf("%d ranks: %v, %v", ranks, res.Problems, err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
