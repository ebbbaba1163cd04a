package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// program is something to measure.
type program struct {
	name string
	open func() (trace.Source, error)
	dir  string // of an archive, "" for a generated program
}

// generated returns a program of package tracetest, with noise in percent on
// every gap.
func generated(name, spec string, noise int64) program {
	return program{name: name, open: func() (trace.Source, error) {
		o, err := tracetest.ParseOptions(spec)
		if err != nil {
			return nil, err
		}
		src, err := tracetest.New(o)
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
		dir := filepath.Dir(anchor)
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
			list = append(list, program{name: filepath.Base(dir), open: open, dir: dir})
		}
	}
	return list, nil
}

// opened is a program with its source.
type opened struct {
	program
	trace.Source
}

// otf2Bytes returns the size of the program's event files.
func (p opened) otf2Bytes() (uint64, error) {
	if p.dir != "" {
		return archiveBytes(p.dir)
	}
	return otf2Bytes(p.Source)
}

// figures prints ratios and sizes of all programs at all deviations, and what
// others need for the same events.
func figures(w io.Writer, c config) error {
	list, err := found(w, c)
	if err != nil {
		return err
	}
	z := zstd19()
	sizes := newTable("program", "deviation", "events", "nodes", "class rows", "R_n", "R_m", "B/event", "shared", "per location",
		"largest time error", "mean time error")
	peers := newTable("program", "events", "CCG lossless", "OTF2 event files", "24-byte records, "+z.name, "single-use nodes")
	for _, p := range append(programs(c.events), list...) {
		src, err := p.open()
		if err == nil {
			err = opened{p, src}.figures(sizes, peers, z)
			src.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Fprintf(w, "## Ratios and sizes\n\nOne tick is 1 ns. Sizes are bytes per event, definitions apart.\n\n")
	sizes.print(w)
	fmt.Fprintf(w, "## Beside other encodings, bytes per event\n\n")
	peers.print(w)
	return nil
}

func (p opened) figures(sizes, peers *table, z compressor) error {
	for _, d := range deviations {
		f, err := graph(p, d)
		if err != nil {
			return err
		}
		n := float64(f.Events)
		sizes.row(p.name, d, f.Events, f.Nodes, f.Rows, f.NodeRatio(), f.MemoryRatio(), f.BytesPerEvent(),
			float64(f.SharedBytes)/n, float64(f.ColumnBytes)/n, ticks(f.largest), ticks(uint64(f.mean+0.5)))
		if d != lossless {
			continue
		}
		archive, err := p.otf2Bytes()
		if err != nil {
			return err
		}
		raw, err := rawZstd(p.Source, z)
		if err != nil {
			return err
		}
		peers.row(p.name, f.Events, f.BytesPerEvent(), float64(archive)/n, raw, f.SingleShare())
	}
	return nil
}
