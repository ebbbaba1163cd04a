package ccgmerge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// traces returns the directory of the collected archives, found next to the
// repository.
func traces(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no repository above this package")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "traces", "otf2")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no ../shared/traces/otf2 next to the repository")
	}
	return path
}

// each calls f for every batch of a location.
func each(src trace.Source, p trace.P, f func(*trace.Batch) error) error {
	st, err := src.Stream(p)
	if err != nil {
		return err
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return err
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			if err := f(&b); err != nil {
				return err
			}
		}
		if err != io.EOF {
			return err
		}
	}
	return nil
}

// buildAll makes the graphs of all locations of a source.
func buildAll(src trace.Source, o graph.Options) ([]*build.Local, error) {
	d := src.Definitions()
	var locals []*build.Local
	for p := range d.NumLocations() {
		b := build.NewBuilder(d, trace.P(p), o)
		if err := each(src, trace.P(p), b.Add); err != nil {
			return nil, err
		}
		l, err := b.Finish()
		if err != nil {
			return nil, err
		}
		locals = append(locals, l)
	}
	return locals, nil
}

// sizes are the figures of one archive.
type sizes struct {
	local, nodes, roots int
	stats               ccg.Stats
	build               time.Duration
}

// pass makes the whole call graph of a source on three ranks, and compares its
// expansion with the source, event by event and word by word.
func pass(src trace.Source) (sizes, error) {
	var s sizes
	d := src.Definitions()
	start := time.Now()
	locals, err := buildAll(src, graph.Options{})
	if err != nil {
		return s, err
	}
	s.build = time.Since(start)
	var section []byte
	blobs := make([][]byte, len(locals))
	const ranks = 3
	err = mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		lo, hi := c.Rank()*len(locals)/ranks, (c.Rank()+1)*len(locals)/ranks
		shared, _, report, err := Reduce(c, d, slice(locals[lo:hi]), graph.Options{}, Config{})
		if err != nil {
			return err
		}
		dist := build.NewDistributor(shared)
		for p := lo; p < hi; p++ {
			if blobs[p], err = dist.Distribute(locals[p]); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			section = shared.Encode()
			s.local, s.nodes = int(report.LocalNodes), int(report.Nodes)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	shared, err := graph.OpenShared(d, section)
	if err != nil {
		return s, err
	}
	sum := ccg.NewSummary(shared, len(section))
	roots := map[uint32]bool{}
	for p, blob := range blobs {
		loc, err := ccg.OpenLocation(shared, blob)
		if err != nil {
			return s, err
		}
		sum.Add(loc)
		roots[loc.Root()] = true
		if err := compare(src, loc); err != nil {
			return s, fmt.Errorf("location %d: %w", p, err)
		}
	}
	s.stats, s.roots = sum.Stats(), len(roots)
	return s, ccg.Check(shared, func(yield func(*ccg.Location, error) bool) {
		for _, blob := range blobs {
			if l, err := ccg.OpenLocation(shared, blob); !yield(l, err) {
				return
			}
		}
	})
}

// compare expands a location next to its source.
func compare(src trace.Source, l *ccg.Location) error {
	x := l.Expand()
	var got trace.Batch
	at, n := 0, 0
	err := each(src, l.P(), func(want *trace.Batch) error {
		for i := range want.Events {
			if at == len(got.Events) {
				if err := x.Next(&got); err != nil {
					return fmt.Errorf("event %d: %w", n, err)
				}
				at = 0
			}
			w, g := want.Events[i], got.Events[at]
			ww, gw := want.Words(&w), got.Words(&g)
			w.Arg, g.Arg = 0, 0
			if w != g || !slices.Equal(ww, gw) {
				return fmt.Errorf("event %d is %+v %x, want %+v %x", n, g, gw, w, ww)
			}
			at++
			n++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if at == len(got.Events) && x.Next(&got) == io.EOF {
		return nil
	}
	return fmt.Errorf("more than %d events", n)
}

// bytesPerEvent counts the shared section and the blobs.
func bytesPerEvent(s *ccg.Stats) float64 {
	return float64(s.SharedBytes+s.ColumnBytes) / float64(max(s.Events, 1))
}

// nodes are the nodes of the merged structure of some archives. A change that
// moves them changes the files of every run.
var nodes = map[string]int{
	"npb-lu.S-16": 186, "sweep3d-16": 263, "lammps-melt-16": 126, "npb-sp.S-9": 159, "lulesh-s4-27": 1052,
	"lammps-pppm-8": 2201, "npb-cg.S-16": 110, "npb-lu.S-func-4": 177, "npb-mg.S-func-16": 271, "synthetic-all-events": 170,
}

// estimates are bytes per event of an archiver that nobody can query: gaps by the
// two events before, as varbyte, and the sequences of events, both by LZMA.
var estimates = map[string]float64{
	"npb-lu.S-16": 0.96, "npb-cg.S-16": 1.28, "npb-cg.S-8": 1.08, "npb-lu.S-func-4": 0.56, "npb-mg.S-func-16": 0.98, "npb-sp.S-9": 1.41,
	"npb-bt.S-9": 1.44, "lammps-melt-16": 1.53, "lammps-pppm-8": 1.56, "sweep3d-16": 1.63, "lulesh-s4-27": 1.43,
}

// short are the archives of a run with -short.
var short = []string{"lulesh-8", "npb-cg.S-4", "synthetic-all-events", "pingpong-papi-scorep71", "stencil4d-32", "btmz-8x4-K-bigendian-defs"}

// TestArchives is the round trip of every archive of the trace set. With -v it
// prints sizes: bytes per event of the shared section and of the columns.
func TestArchives(t *testing.T) {
	root := traces(t)
	anchors, err := filepath.Glob(filepath.Join(root, "*", "*.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, anchor := range anchors {
		name := filepath.Base(filepath.Dir(anchor))
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(short, name) {
				t.Skip("runs without -short")
			}
			src, err := otf2.OpenPath(anchor)
			if errors.Is(err, trace.ErrMissing) {
				t.Skip(err) // buffers without definitions: no trace
			}
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			s, err := pass(src)
			if err != nil {
				t.Fatal(err)
			}
			st := &s.stats
			if want := nodes[name]; want != 0 && s.nodes != want {
				t.Errorf("%d nodes, want %d", s.nodes, want)
			}
			if e, ok := estimates[name]; ok && bytesPerEvent(st) > 1.3*e {
				t.Errorf("%.3f bytes per event, more than 1.3 times %.2f", bytesPerEvent(st), e)
			}
			if st.Events > 0 {
				n := float64(st.Events)
				t.Logf("%s: %d events, nodes %d -> %d, %d roots; B/event: shared %.3f columns %.3f all %.3f; %d columns; %.1f M events/s with decoding",
					name, st.Events, s.local, s.nodes, s.roots,
					float64(st.SharedBytes)/n, float64(st.ColumnBytes)/n, bytesPerEvent(st), st.Columns, n/s.build.Seconds()/1e6)
			}
			done++
		})
	}
	if done == 0 {
		t.Skip("no archive could be opened")
	}
}
