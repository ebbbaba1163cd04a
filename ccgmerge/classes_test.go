package ccgmerge

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// lossyOptions bound gaps by 10 % or 1 us.
var lossyOptions = graph.Options{Deviation: graph.Deviation{Abs: 1000, Num: 1, Den: 10}}

// graphOf is the call graph of a source.
type graphOf struct {
	defs    *trace.Definitions
	section []byte
	blobs   [][]byte
	report  Report
}

// locate makes the graphs of all locations of a generated program.
func locate(t testing.TB, spec string, o graph.Options) (*trace.Definitions, []*build.Local) {
	t.Helper()
	options, err := synthetic.ParseOptions(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(options)
	if err != nil {
		t.Fatal(err)
	}
	locals, err := buildAll(src, o)
	if err != nil {
		t.Fatal(err)
	}
	return src.Definitions(), locals
}

// reduceOn makes the graph on n ranks.
func reduceOn(n int, d *trace.Definitions, locals []*build.Local, o graph.Options, cfg Config) (*graphOf, error) {
	g := &graphOf{defs: d, blobs: make([][]byte, len(locals))}
	err := mpi.RunInProcess(n, func(c mpi.Comm) error {
		lo, hi := c.Rank()*len(locals)/n, (c.Rank()+1)*len(locals)/n
		shared, book, report, err := Reduce(c, d, slice(locals[lo:hi]), o, cfg)
		if err != nil {
			return err
		}
		dist := build.NewDistributor(shared)
		for p := lo; p < hi; p++ {
			l, err := book.Quantise(locals[p])
			if err != nil {
				return err
			}
			if g.blobs[p], err = dist.Distribute(l); err != nil {
				return err
			}
		}
		section := shared.Encode()
		if c.Rank() == 0 {
			g.section, g.report = section, report
			return nil
		}
		if other, err := graph.OpenShared(d, section); err != nil || !bytes.Equal(other.Encode(), section) {
			return fmt.Errorf("rank %d: section differs after reading: %w", c.Rank(), err)
		}
		return nil
	})
	return g, err
}

// open opens the graph, checks it and returns its figures.
func (g *graphOf) open(t testing.TB) ccg.Stats {
	t.Helper()
	s, err := graph.OpenShared(g.defs, g.section)
	if err != nil {
		t.Fatal(err)
	}
	sum := ccg.NewSummary(s, len(g.section))
	err = ccg.Check(s, func(yield func(*ccg.Location, error) bool) {
		for _, b := range g.blobs {
			l, err := ccg.OpenLocation(s, b)
			if err == nil {
				sum.Add(l)
			}
			if !yield(l, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Stats()
}

// TestClassesOnAnyNumberOfRanks compares every byte of lossy graphs.
func TestClassesOnAnyNumberOfRanks(t *testing.T) {
	ranks, messages := []int{1, 2, 3, 5, 9}, []int{0, 200}
	if testing.Short() {
		ranks, messages = []int{1, 5}, []int{200}
	}
	for _, spec := range []string{"stencil:procs=9,events=30k,jitter=5", "irregular:procs=9,events=20k", "masterworker:procs=9,events=20k,jitter=20"} {
		d, locals := locate(t, spec, lossyOptions)
		var one *graphOf
		for _, n := range ranks {
			for _, message := range messages {
				g, err := reduceOn(n, d, locals, lossyOptions, Config{Message: message})
				if err != nil {
					t.Fatal(err)
				}
				if one == nil {
					one = g
					stats := g.open(t)
					t.Logf("%s: %d nodes, %d rows, %.4f B/event", spec, stats.Nodes, stats.Rows, bytesPerEvent(&stats))
				}
				if !bytes.Equal(g.section, one.section) {
					t.Fatalf("%s: %d ranks, messages of %d: section differs", spec, n, message)
				}
				for p := range g.blobs {
					if !bytes.Equal(g.blobs[p], one.blobs[p]) {
						t.Fatalf("%s: %d ranks: blob of location %d differs", spec, n, p)
					}
				}
				if r := g.report; n > 1 && (len(r.ClassLevels) == 0 || r.SlotBytes == 0) || r.Rows != one.report.Rows {
					t.Errorf("%s: %d ranks: report %+v", spec, n, r)
				}
			}
		}
	}
}

// TestClassesOfStencil: with a bound above the jitter neither the structure nor
// its classes grow with iterations, and with processes they grow with the roles
// of the grid only.
func TestClassesOfStencil(t *testing.T) {
	if testing.Short() {
		t.Skip("64 processes, 400k events")
	}
	var last ccg.Stats
	for i, spec := range []string{
		"stencil:procs=16,iterations=200,jitter=2", "stencil:procs=16,iterations=800,jitter=2",
		"stencil:procs=64,iterations=200,jitter=2",
	} {
		d, locals := locate(t, spec, lossyOptions)
		g, err := reduceOn(2, d, locals, lossyOptions, Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := g.open(t)
		t.Logf("%s: %d events, %d nodes, %d rows, %d + %d bytes, %.4f B/event",
			spec, s.Events, s.Nodes, s.Rows, s.SharedBytes, s.ColumnBytes, bytesPerEvent(&s))
		if i > 0 && (s.Nodes > last.Nodes || s.Rows > last.Rows+last.Rows/4) {
			t.Errorf("%s: %d nodes and %d rows, were %d and %d", spec, s.Nodes, s.Rows, last.Nodes, last.Rows)
		}
		last = s
	}
}
