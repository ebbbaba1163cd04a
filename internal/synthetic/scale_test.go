package synthetic

import (
	"runtime"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestScale makes runs far too large to read, and reads single chunks of them.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("large runs")
	}
	for _, c := range []struct {
		spec      string
		locations int
		low, high uint64 // events
	}{
		{"stencil:procs=64,events=1G,jitter=5", 64, 999_000_000, 1_000_000_000},
		{"wavefront:procs=1024,events=1G,jitter=5", 1024, 999_000_000, 1_000_000_000},
		{"stencil:procs=100k,events=100M,jitter=5", 100_000, 90_000_000, 100_000_000},
		{"ring:procs=4096,threads=8,events=1G", 32768, 999_000_000, 1_000_000_000},
		{"masterworker:procs=10k,events=5M,jitter=50", 10_000, 4_000_000, 5_500_000},
		{"irregular:procs=1000,events=20M", 1000, 15_000_000, 25_000_000},
	} {
		t.Run(c.spec, func(t *testing.T) {
			s := open(t, c.spec)
			if n := s.Definitions().NumLocations(); n != c.locations {
				t.Fatalf("%d locations, want %d", n, c.locations)
			}
			if n := s.Events(); n < c.low || n > c.high {
				t.Errorf("%d events, want %d to %d", n, c.low, c.high)
			}
			for _, p := range []trace.P{0, trace.P(c.locations / 2), trace.P(c.locations - 1)} {
				readLastChunk(t, s, p)
			}
		})
	}
}

// readLastChunk checks that the last chunk ends where Measure says, and that
// reading it takes no more memory than a batch and a step.
func readLastChunk(t *testing.T, s *Source, p trace.P) {
	t.Helper()
	e, err := s.Measure(p)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := st.Chunk(st.Chunks() - 1)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var b trace.Batch
	end := uint64(0)
	for r.Next(&b) == nil {
		end = b.First + uint64(len(b.Events))
	}
	runtime.ReadMemStats(&after)
	if end != e.Events {
		t.Errorf("location %d ends with event %d of %d", p, end, e.Events)
	}
	if m := after.TotalAlloc - before.TotalAlloc; m > 4<<20 {
		t.Errorf("location %d: %d bytes allocated for one chunk", p, m)
	}
}
