package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// archive writes a generated trace and opens it.
func archive(t *testing.T, spec string) trace.Source {
	t.Helper()
	o, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := otf2.Create(dir, "t", src.Definitions(), otf2.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range trace.P(src.Definitions().NumLocations()) {
		l, err := w.Location(p)
		if err != nil {
			t.Fatal(err)
		}
		st, err := src.Stream(p)
		if err != nil {
			t.Fatal(err)
		}
		var b trace.Batch
		for i := range st.Chunks() {
			r, err := st.Chunk(i)
			for err == nil {
				if err = r.Next(&b); err == nil {
					err = l.Add(&b)
				}
			}
		}
		if err := errors.Join(st.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := jobs.OpenPath(filepath.Join(dir, "t.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestCalibrate(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	src := archive(t, "stencil:procs=12,events=40k")
	var all uint64
	for p := range trace.P(src.Definitions().NumLocations()) {
		x, err := src.Measure(p)
		if err != nil {
			t.Fatal(err)
		}
		all += x.Bytes
	}
	c, err := Calibrate(src, analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Locations != sampleLocations || c.Bytes == 0 || c.Bytes >= all || c.Rate <= 0 || c.Growth <= 0 {
		t.Errorf("of %d bytes: %+v", all, c)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// chunky is a trace of many chunks, whose sizes alone matter.
type chunky struct {
	trace.Source
	bytes, chunks []uint64
}

func (c *chunky) Measure(p trace.P) (trace.Extent, error) {
	return trace.Extent{Bytes: c.bytes[p], Chunks: int(c.chunks[p])}, nil
}

// TestSample takes no more than it may, and what is around the largest location.
func TestSample(t *testing.T) {
	o, err := synthetic.ParseOptions("ring:procs=20,events=400")
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		largest      int
		bytes        uint64 // of the largest, the others have half
		chunks       uint64
		first, count int
		most         uint64
	}{
		{"large", 10, 8 << 30, 8 << 10, 6, 8, 64 << 20},
		{"first", 0, 8 << 30, 8 << 10, 0, 8, 64 << 20},
		{"last", 19, 8 << 30, 8 << 10, 12, 8, 64 << 20},
		{"small", 10, 1000, 10, 6, 8, 4500},
		{"one chunk", 10, 1 << 30, 1, 6, 8, 9 << 29},
		{"one byte", 3, 1, 5, 3, 1, 1},
	} {
		x := &chunky{Source: src}
		for p := range 20 {
			b := c.bytes / 2
			if p == c.largest {
				b = c.bytes
			}
			x.bytes, x.chunks = append(x.bytes, b), append(x.chunks, c.chunks)
		}
		s, err := sampleOf(x)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.chunks) != c.count || s.bytes > c.most || s.chunks[trace.P(c.first)].Chunks == 0 || s.chunks[trace.P(c.largest)].Chunks == 0 {
			t.Errorf("%s: %d bytes of %v", c.name, s.bytes, s.chunks)
		}
	}
}
