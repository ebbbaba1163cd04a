package main

import (
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"golang.org/x/sync/errgroup"
)

// checkTrace decodes every location of a trace to its end.
func (c *checked) checkTrace(path string, parallel int) (report.Envelope, *report.Brief, error) {
	c.Kind = "archive"
	src, err := jobs.OpenPath(path)
	if err != nil {
		return report.Envelope{}, nil, readError(path, err)
	}
	defer src.Close()
	if _, ok := src.(*otf2.Archive); !ok {
		c.Kind = "trace"
	}
	d := src.Definitions()
	c.Locations = d.NumLocations()
	scans := make([]scan, d.NumLocations())
	var g errgroup.Group
	g.SetLimit(parallel)
	for p := range trace.P(d.NumLocations()) {
		g.Go(func() error { return scans[p].run(src, p) })
	}
	if err := g.Wait(); err != nil {
		return report.Envelope{}, nil, readError(path, err)
	}
	e := report.Envelope{Processes: len(d.Processes()), Locations: d.NumLocations()}
	brief := &report.Brief{Resolution: d.Clock().TimerResolution}
	var all trace.Diagnostics
	all.Merge(d.Problems())
	locations := map[trace.Code]uint64{}
	for i := range d.Problems().Codes {
		c.addCode(d, nil, &d.Problems().Codes[i])
	}
	for p := range scans {
		s := &scans[p]
		e.Events += s.events
		c.Bytes += s.bytes
		for i := range s.found.Codes {
			x := &s.found.Codes[i]
			locations[x.Code]++
			p := trace.P(p)
			c.addCode(d, &p, x)
		}
		all.Merge(&s.found)
		if s.events > 0 && (brief.First == nil || s.first < *brief.First) {
			brief.First = &s.first
		}
		if s.events > 0 && (brief.Last == nil || s.last > *brief.Last) {
			brief.Last = &s.last
		}
	}
	e.Diagnostics, c.Events = codeTotals(&all), e.Events
	for i := range e.Diagnostics {
		t := &e.Diagnostics[i]
		t.Locations = locations[t.Code]
		brief.Partial = brief.Partial || t.Code.Severity() == trace.Damage
		if t.Code.Severity() == trace.Note {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %d in %s", t.Code.Text(), t.Count, report.Plural(int(t.Locations), "location")))
		}
	}
	return e, brief, nil
}

// addCode lists the first problems of one code; notes are none.
func (c *checked) addCode(d *trace.Definitions, p *trace.P, x *trace.CodeDiagnostics) {
	severity := "note"
	switch x.Code.Severity() {
	case trace.Note:
		return
	case trace.Warning:
		severity = "warning"
	case trace.Damage:
		severity = "damage"
	}
	c.Found += x.Count
	for _, f := range x.First {
		y := problem{Kind: x.Code.String(), Severity: severity, Count: f.Count, Text: x.Code.Text()}
		if f.Detail != "" {
			y.Text += ": " + f.Detail
		}
		if p != nil {
			id := d.Location(*p).Ref
			process, thread := d.Process(*p)
			y.Location, y.Process, y.Thread = &id, &process, &thread
			event, at := f.Event, uint64(f.Time)
			if at != 0 || event != 0 {
				y.Event, y.Time = &event, &at
			}
		}
		c.Problems = append(c.Problems, y)
	}
}

// scan decodes one location and looks at what it can judge alone: order of
// times, nesting of calls, references to regions and communicators, the
// announced number of events.
type scan struct {
	events, bytes uint64
	first, last   uint64
	found         trace.Diagnostics
	defs          *trace.Definitions
	stack         []uint32
}

func (s *scan) run(src trace.Source, p trace.P) error {
	s.defs = src.Definitions()
	size, err := src.Measure(p)
	if err != nil {
		return err
	}
	s.bytes = size.Bytes
	if err := otf2.EachBatch(src, p, &s.found, s.batch); err != nil {
		return err
	}
	for _, region := range s.stack {
		s.add(trace.DiagOpenCall, s.events, fmt.Sprintf("region %d", region))
	}
	if want := s.defs.Location(p).Events; want != s.events && want != trace.Undefined64 {
		s.add(trace.DiagEventCount, s.events, fmt.Sprintf("%d events, the definitions announce %d", s.events, want))
	}
	s.stack = nil
	return nil
}

func (s *scan) add(code trace.Code, event uint64, detail string) {
	s.found.Add(trace.Diagnostic{Code: code, Time: trace.Time(s.last), Event: event, Detail: detail})
}

func (s *scan) batch(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		at := uint64(e.Time)
		switch {
		case s.events == 0:
			s.first = at
		case at < s.last:
			s.add(trace.DiagTimeBackwards, s.events, fmt.Sprintf("tick %d behind %d", at, s.last))
		}
		s.last = max(s.last, at)
		switch e.Kind {
		case trace.Enter:
			s.enter(e.Ref)
		case trace.Leave:
			s.leave(e.Ref)
		default:
			s.references(b, e)
		}
		s.events++
	}
	return nil
}

func (s *scan) enter(region uint32) {
	s.region(region)
	s.stack = append(s.stack, region)
}

func (s *scan) region(ref uint32) {
	if s.defs.Region(ref) == nil {
		s.add(trace.DiagBadReference, s.events, fmt.Sprintf("region %d", ref))
	}
}

func (s *scan) leave(region uint32) {
	s.region(region)
	top := len(s.stack) - 1
	if top < 0 || s.stack[top] != region {
		s.add(trace.DiagStrayLeave, s.events, fmt.Sprintf("region %d", region))
		return
	}
	s.stack = s.stack[:top]
}

// references looks up the communicators and calling contexts that a record names.
func (s *scan) references(b *trace.Batch, e *trace.Event) {
	fields, _, _, _ := b.Layout(e)
	for i, f := range e.Kind.Info().Fields {
		if i >= len(fields) {
			return
		}
		ref := uint32(fields[i])
		switch {
		case f.Ref == trace.RefComm && ref != trace.Undefined && s.defs.CommSize(ref) == 0 && !s.defs.IsSelf(ref):
			s.add(trace.DiagBadReference, s.events, fmt.Sprintf("communicator %d", ref))
		case f.Ref == trace.RefCallingContext && ref != trace.Undefined:
			if _, ok := s.defs.ContextRegion(ref); !ok {
				s.add(trace.DiagBadReference, s.events, fmt.Sprintf("calling context %d", ref))
			}
		case f.Ref == trace.RefRegion && ref != trace.Undefined && s.defs.Region(ref) == nil:
			s.add(trace.DiagBadReference, s.events, fmt.Sprintf("region %d", ref))
		}
	}
}
