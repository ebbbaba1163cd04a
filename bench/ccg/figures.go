package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"golang.org/x/sync/errgroup"
)

// program is something to measure.
type program struct {
	name string
	open func() (trace.Source, error)
}

// generated returns a program of package synthetic, with noise in percent on
// every gap.
func generated(name, spec string, noise int64) program {
	return program{name: name, open: func() (trace.Source, error) {
		o, err := synthetic.ParseOptions(spec)
		if err != nil {
			return nil, err
		}
		src, err := synthetic.New(o)
		if err != nil || noise == 0 {
			return src, err
		}
		return noisy{src, noise}, nil
	}}
}

// programs are the generated ones of the table: the iterative ones, whose
// computation has a jitter, or every gap a noise; and one that does not repeat
// itself.
func programs(events string) []program {
	rest := "procs=16,seed=1,events=" + events
	return []program{
		generated("stencil, jitter 2 %", "stencil:jitter=2,"+rest, 0),
		generated("stencil, jitter 10 %", "stencil:jitter=10,"+rest, 0),
		generated("stencil, noise 2 %", "stencil:"+rest, 2),
		generated("stencil, noise 10 %", "stencil:"+rest, 10),
		generated("ring, jitter 2 %", "ring:jitter=2,"+rest, 0),
		generated("wavefront, jitter 2 %", "wavefront:jitter=2,"+rest, 0),
		generated("master/worker, jitter 2 %", "masterworker:jitter=2,"+rest, 0),
		generated("irregular", "irregular:jitter=2,"+rest, 0),
	}
}

// found lists the archives below the folder of config with enough events.
func found(w io.Writer, c config) ([]program, error) {
	anchors, err := filepath.Glob(filepath.Join(c.traces, "*", "*.otf2"))
	if err != nil {
		return nil, err
	}
	if len(anchors) == 0 {
		fmt.Fprintf(w, "No archives in %s: real programs are left out.\n\n", c.traces)
	}
	var list []program
	for _, anchor := range anchors {
		open := func() (trace.Source, error) { return otf2.OpenPath(anchor) }
		src, err := open()
		if errors.Is(err, trace.ErrMissing) || errors.Is(err, os.ErrNotExist) {
			continue // definitions or buffers alone
		}
		if err != nil {
			return nil, err
		}
		events := uint64(0)
		for p := range src.Definitions().NumLocations() {
			x, err := src.Measure(trace.P(p))
			if err != nil || x.Bytes == 0 {
				events = 0
				break // a location without its events
			}
			events += src.Definitions().Location(trace.P(p)).Events
		}
		src.Close()
		if events >= c.least {
			list = append(list, program{filepath.Base(filepath.Dir(anchor)), open})
		}
	}
	return list, nil
}

// together calls f for the number of each program, as many at a time as there
// are cores.
func together(list []program, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range list {
		g.Go(func() error {
			if err := f(i); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// matrix is a table with a row per program and a column per deviation.
type matrix struct {
	*table
	title string
	cell  func(f *figure) any
}

func newMatrix(title string, deviations []string, cell func(f *figure) any) matrix {
	return matrix{newTable(append([]string{"program"}, deviations...)...), title, cell}
}

// figures prints ratios, sizes and errors of all programs at all deviations.
func figures(w io.Writer, c config) error {
	list, err := found(w, c)
	if err != nil {
		return err
	}
	structure := newTable("program", "events", "nodes", "tuples", "distinct roots", "R_n", "single-use nodes", "shared", "per location")
	all := []matrix{
		newMatrix("Memory ratio R_m", deviations, func(f *figure) any { return f.memoryRatio() }),
		newMatrix("Bytes per event", deviations, func(f *figure) any { return f.bytesPerEvent() }),
		newMatrix("Time stamps: largest and mean error", deviations[1:], func(f *figure) any {
			return fmt.Sprintf("%v, %v", ticks(f.largest), ticks(f.mean+0.5))
		}),
		newMatrix("Rows of class tables", deviations[1:], func(f *figure) any { return f.Rows }),
	}
	list = append(programs(c.events), list...)
	results := make([][]figure, len(list))
	err = together(list, func(i int) (err error) {
		results[i], err = list[i].measure()
		return err
	})
	if err != nil {
		return err
	}
	for i, p := range list {
		measured := results[i]
		f, n := &measured[0], float64(measured[0].Events)
		structure.row(p.name, f.Events, f.Nodes, f.Tuples, f.roots, f.nodeRatio(), f.singleShare(), float64(f.SharedBytes)/n, float64(f.ColumnBytes)/n)
		for _, m := range all {
			row := []any{p.name}
			for i := len(deviations) - len(m.cells[0]) + 1; i < len(deviations); i++ {
				row = append(row, m.cell(&measured[i]))
			}
			m.row(row...)
		}
	}
	fmt.Fprintf(w, "## Structure, and lossless sizes\n\nBytes per event, definitions apart: the shared graph, and the columns of the locations.\n\n")
	structure.print(w)
	for _, m := range all {
		fmt.Fprintf(w, "## %s, by deviation\n\n", m.title)
		m.print(w)
	}
	return nil
}

// measure returns the figures of p at all deviations.
func (p program) measure() ([]figure, error) {
	src, err := p.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var list []figure
	for _, d := range deviations {
		f, err := measureAt(src, d)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}
