package synthetic

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic/specs"
	"github.com/coppice-hpc/coppice/trace"
)

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

// TestChunks reads chunks in reverse and compares them with the stream in
// order, with what Measure and the definitions announce, and with a second source.
func TestChunks(t *testing.T) {
	for _, spec := range specs.Sound {
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

func chunks(t *testing.T, s trace.Source, p trace.P, reverse bool) [][]record {
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

// readAll reads the events of a location.
func readAll(t *testing.T, s trace.Source, p trace.P) []record {
	t.Helper()
	return slices.Concat(chunks(t, s, p, false)...)
}
