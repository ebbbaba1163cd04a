package main

import (
	"fmt"

	"github.com/coppice-hpc/coppice/export"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
)

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
	span, err := spanOf(run, o.time)
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
			return nil, usage("--ranks %w", err)
		}
		inside := set.Locations(run.Defs)
		src.Selected = func(p trace.P) bool { return inside(p) }
	}
	return src, nil
}
