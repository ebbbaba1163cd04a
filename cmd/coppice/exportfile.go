package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/export"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
)

// files are the files that an export writes: each under another name beside its place until all are complete.
type files struct {
	force bool
	done  [][2]string // temporary name, place
}

// create begins the file at path.
func (x *files) create(path string) (*os.File, error) {
	if _, err := os.Lstat(path); err == nil && !x.force {
		return nil, outputError("export", fmt.Errorf("%s: %w", path, fs.ErrExist))
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	f, err := os.Create(tmp)
	if err != nil {
		return nil, outputError("export", err)
	}
	x.done = append(x.done, [2]string{tmp, path})
	return f, nil
}

// publish gives all files their names.
func (x *files) publish() error {
	for i, f := range x.done {
		if err := os.Rename(f[0], f[1]); err != nil {
			x.done = x.done[i:]
			return outputError("export", err)
		}
	}
	x.done = nil
	return nil
}

// discard removes what has not got its name.
func (x *files) discard() {
	for _, f := range x.done {
		os.Remove(f[0])
	}
}

// write makes one file, or standard output for "-".
func (x *files) write(path string, s streams, fill func(w io.Writer) error) error {
	if path == "-" {
		return fill(s.out)
	}
	if ok, err := throughDevice(path, fill); ok {
		return err
	}
	f, err := x.create(path)
	if err != nil {
		return err
	}
	err = fill(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = outputError("export", cerr)
	}
	return err
}

// exportSource opens a run and the part of it that the flags choose. A file without rows of events cannot be exported from.
func exportSource(path string, o *exportFlags, s streams) (*report.Run, *export.Source, error) {
	run, err := s.runs.open(path)
	if err != nil {
		return nil, nil, err
	}
	src, err := o.source(run)
	return run, src, err
}

func (o *exportFlags) source(run *report.Run) (*export.Source, error) {
	rows, err := run.HasRows()
	if err == nil && !rows {
		err = fmt.Errorf("%s: events: %w: it was analyzed with --events none, so it has the call graph and sums alone; --to otf2 writes the call graph's events", run.Path, report.ErrNoResult)
	}
	var labels []string
	if err == nil {
		labels, err = run.NodeLabels()
	}
	if err != nil {
		return nil, readError(run.Path, err)
	}
	src := &export.Source{File: run.File, Defs: run.Defs, Nodes: labels, Window: export.Everything}
	span, err := spanOf(run, "export", o.time)
	if err != nil {
		return nil, err
	}
	if span != nil {
		src.Window = export.Window{Begin: span.Begin, End: span.End}
		if span.Of != nil {
			src.Window.Of = &export.Execution{Node: span.Of.Node, K: span.Of.K}
		}
	}
	if o.ranks != "" {
		set, err := report.ParseRanks(o.ranks, run.Defs)
		if err != nil {
			return nil, usage("export: --ranks %w", err)
		}
		inside := set.Locations(run.Defs)
		src.Selected = func(p trace.P) bool { return inside(p) }
	}
	return src, nil
}

// checkFile looks at flags that are about files.
func (o *exportFlags) checkFile() error {
	switch {
	case o.output == "-" && o.format == "json":
		return usage("export: -o - and --format json both want standard output: write to a file")
	case o.strict:
		return usage("export: --strict is for --to otf2")
	}
	return nil
}

// exportResult prints the result in JSON.
func exportResult(s streams, run *report.Run, v any) error {
	e, err := run.Envelope()
	var brief *report.Brief
	if err == nil {
		brief, err = run.Brief()
	}
	if err != nil {
		return readError(run.Path, err)
	}
	return e.WriteJSON(s.out, brief, "export", report.Value(v))
}
