package otf2

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// traces returns the folder of real archives next to the repository. Tests that
// need them are skipped where it is absent.
func traces(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		p := filepath.Join(dir, "..", "shared", "traces", "otf2")
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			return p
		}
		dir = filepath.Dir(dir)
	}
	t.Skip("no ../shared/traces/otf2 next to the repository")
	return ""
}

// sink collects what a source delivers.
type sink struct {
	events uint64
	diags  trace.Diagnostics
}

// drain reads location p to its end, chunk after chunk, and calls f for every
// batch.
func drain(t testing.TB, src trace.Source, p trace.P, f func(b *trace.Batch)) *sink {
	t.Helper()
	var s sink
	st, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s.diags.AddAll(st.Diagnostics())
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for {
			err := r.Next(&b)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.First != s.events && s.diags.Count(trace.DiagCorrupt)+s.diags.Count(trace.DiagTruncated)+s.diags.Count(trace.DiagTimeBackwards) == 0 && len(r.Diagnostics()) == 0 {
				t.Errorf("location %d: batch starts at event %d, expected %d", p, b.First, s.events)
			}
			s.events += uint64(len(b.Events))
			if f != nil {
				f(&b)
			}
		}
		s.diags.AddAll(r.Diagnostics())
		r.Close()
	}
	return &s
}

func mustOpen(t testing.TB, path string) *Archive {
	t.Helper()
	a, err := OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
