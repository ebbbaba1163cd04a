package tracetest

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

// specs are runs that every general test goes through.
var specs = []string{
	"stencil:procs=1,iterations=30",
	"stencil:procs=4,iterations=30",
	"stencil:procs=12,events=20k,jitter=40,imbalance=30,seed=3",
	"stencil:procs=7,iterations=50,every=3,jitter=10,depth=4,metrics,parameters,io",
	"stencil:procs=6,threads=3,iterations=20,jitter=50,depth=2,chunk=200,io",
	"stencil:procs=4,events=2",
	"stencil:procs=1,events=2",
	"stencil:procs=3,events=30",
	"ring:procs=1,iterations=20",
	"ring:procs=5,iterations=40,jitter=60",
	"ring:procs=2,threads=2,iterations=40,every=7,jitter=60,bytes=1M,metrics,chunk=100",
	"wavefront:procs=1,iterations=20",
	"wavefront:procs=12,iterations=30,io",
	"wavefront:procs=15,iterations=30,threads=2,jitter=50,imbalance=20,metrics,chunk=100",
	"masterworker:procs=1,iterations=20",
	"masterworker:procs=2,iterations=20",
	"masterworker:procs=9,events=20k,jitter=40,io",
	"masterworker:procs=70,iterations=13,jitter=300,imbalance=100,threads=2,chunk=100",
	"irregular:procs=1,iterations=20",
	"irregular:procs=2,iterations=100",
	"irregular:procs=13,iterations=60,seed=7,jitter=10,io,parameters",
	"irregular:procs=16,events=40k,threads=2,metrics,depth=6,chunk=500",
	"ring:procs=64,events=20k,jitter=100,imbalance=100,every=4,chunk=100",
}

func open(t testing.TB, spec string) *Source {
	t.Helper()
	o, err := ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTruth compares what the program knows with what the events tell.
func TestTruth(t *testing.T) {
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			s := open(t, spec)
			r, err := Reference(s)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s.Truth().Facts, r.Facts); d != "" {
				t.Errorf("truth (-) and reference (+) differ:\n%s", d)
			}
			if len(r.Problems) != 0 {
				t.Errorf("problems in a sound run: %v", r.Problems)
			}
		})
	}
}

// TestChunks reads chunks in reverse and compares them with the stream in
// order, with what Measure and the definitions announce, and with a second source.
func TestChunks(t *testing.T) {
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			s, again := open(t, spec), open(t, spec)
			if s.Identity() != again.Identity() {
				t.Error("identity differs between equal sources")
			}
			for p := range trace.P(s.Definitions().NumLocations()) {
				e, err := s.Measure(p)
				if err != nil {
					t.Fatal(err)
				}
				forward, backward := chunks(t, s, p, false), chunks(t, again, p, true)
				if !slices.EqualFunc(forward, backward, func(a, b []record) bool { return slices.EqualFunc(a, b, record.Equal) }) {
					t.Fatalf("location %d: order of chunks matters", p)
				}
				var n uint64
				for _, c := range forward {
					n += uint64(len(c))
				}
				if l := s.Definitions().Location(p); n != e.Events || n != l.Events || len(forward) != e.Chunks {
					t.Errorf("location %d: %d events in %d chunks, measured %d in %d, announced %d", p, n, len(forward), e.Events, e.Chunks, l.Events)
				}
				if e.HasFirst && forward[0][0].time != e.First {
					t.Errorf("location %d: first event at %d, measured %d", p, forward[0][0].time, e.First)
				}
			}
		})
	}
}

func chunks(t *testing.T, s *Source, p trace.P, reverse bool) [][]record {
	t.Helper()
	st, err := s.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]record, st.Chunks())
	first := make([]uint64, st.Chunks())
	for i := range out {
		if reverse {
			i = len(out) - 1 - i
		}
		r, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		var b trace.Batch
		begun := false
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			if !begun {
				first[i], begun = b.First, true
			} else if b.First != first[i]+uint64(len(out[i])) {
				t.Fatalf("location %d chunk %d: batch begins with event %d after %d", p, i, b.First, first[i]+uint64(len(out[i])))
			}
			for j := range b.Events {
				e := &b.Events[j]
				f, _, _, _ := b.Layout(e)
				out[i] = append(out[i], record{e.Time, e.Kind, e.Ref, append([]uint64(nil), f...)})
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	var n uint64
	for i := range out {
		if len(out[i]) > 0 && first[i] != n {
			t.Fatalf("location %d chunk %d: first event %d, want %d", p, i, first[i], n)
		}
		n += uint64(len(out[i]))
	}
	return out
}
