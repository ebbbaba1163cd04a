package view

import (
	"context"
	"strings"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// meta answers api/meta.
func (s *Server) meta(_ context.Context, _ *params) (any, error) {
	m := &Meta{Schema: Schema, Version: s.version, Tool: s.o.Tool, Runs: []RunMeta{}, Words: map[string]string{}, Limits: Limits{
		TileBins: tileBins, TileRows: tileRows, TileSpans: tileSpans, Messages: mostMessages, Matrix: matrixCells,
		Columns: profileColumns, CounterBins: counterBins,
	}}
	for _, x := range s.runs {
		m.Runs = append(m.Runs, x.meta)
	}
	classes := results.ShareWords(s.runs[0].Run)
	m.Classes = classes[:]
	for i := range xtf.NumItems {
		m.Words[i.String()] = results.ItemWord(i)
	}
	return m, nil
}

// Bounds of answers.
const (
	mostMessages   = 2000
	matrixCells    = 256
	profileColumns = 1000
	counterBins    = 2048
	mostLocations  = 4096
)

// locations answers api/locations.
func (s *Server) locations(_ context.Context, p *params) (any, error) {
	n := uint64(p.run.Defs.NumLocations())
	from, err := p.number("from", 0, 0, n)
	if err != nil {
		return nil, err
	}
	limit, err := p.limit(mostLocations, mostLocations)
	if err != nil {
		return nil, err
	}
	x := &Locations{From: from, List: []Location{}}
	for i := from; i < min(n, from+uint64(limit)); i++ {
		l, err := p.run.location(trace.P(i))
		if err != nil {
			return nil, err
		}
		x.List = append(x.List, l)
	}
	return x, nil
}

// location describes a row of the timeline.
func (x *run) location(p trace.P) (Location, error) {
	d := x.Defs
	l := d.Location(p)
	process, thread := d.Process(p)
	row, err := x.File.Dir(xtf.Proc(p))
	if err != nil {
		return Location{}, err
	}
	loc := Location{
		Location: int(p), Process: process, Thread: thread, Name: d.Text(l.Name), Type: locationType(l.Type), Class: x.classOf(process), Events: row.Events,
	}
	if g := x.groups[l.Group]; g != nil {
		loc.Group, loc.Node = d.Text(g.Name), x.nodes[g.Parent]
	}
	return loc, nil
}

func locationType(t trace.LocationType) string {
	switch t {
	case trace.CPUThread:
		return "cpu"
	case trace.AcceleratorStream:
		return "accelerator"
	case trace.MetricLocation:
		return "metric"
	}
	return "other"
}

// counters lists the metrics of the definitions.
func counters(d *trace.Definitions) []Counter {
	list := []Counter{}
	for i := range d.MetricMembers {
		m := &d.MetricMembers[i]
		list = append(list, Counter{
			ID: i, Name: d.Text(m.Name), Unit: strings.TrimSpace(d.Text(m.Unit)), Description: d.Text(m.Description),
			Cumulative: m.Mode&metricValueMask == metricAccumulated, Signed: m.ValueType == trace.TypeInt64, Float: m.ValueType == trace.TypeDouble,
		})
	}
	return list
}

// Properties of a metric's value: the low bits of its mode in OTF2.
const (
	metricValueMask   = 0xf
	metricAccumulated = 0
)
