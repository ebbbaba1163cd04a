package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Source is what numbers of a section come from.
type Source string

// Sources. Rows are exact; the graph is exact or within its bound.
const (
	SourceAuto  Source = ""      // rows where the file has them, else the graph
	SourceRows  Source = "rows"  // calls, messages, collectives, and sums of them
	SourceGraph Source = "graph" // the complete call graph
)

// Kept is what the provenance says of the events in the file.
type Kept struct {
	Events    string // "none": the call graph and sums alone
	Deviation string // of the call graph, as ccg.ParseDeviation reads it
	Intervals string // interval.Options.Canonical
	Classes   string // predict.ClassOptions; "": no classes
}

// Has reports whether an option of intervals was given.
func (k *Kept) Has(option string) bool { return slices.Contains(strings.Fields(k.Intervals), option) }

// MarkerCost is what calls of markers count as.
func (k *Kept) MarkerCost() string {
	if k.Has("marker-cost=mpi") {
		return "mpi"
	}
	return "overhead"
}

// Source decides what a section is computed from.
func (r *Run) Source(want Source) (Source, error) {
	switch {
	case want == SourceRows && !r.Rows:
		return "", r.Failed(xtf.WholeRun, "rows", errNoRows)
	case want == SourceGraph || !r.Rows:
		return SourceGraph, nil
	}
	return SourceRows, nil
}

// Graph returns the part of the call graph that all locations share. It is read
// once.
func (r *Run) Graph() (*ccg.Shared, error) {
	s, err := r.shared()
	return s, r.Failed(xtf.WholeRun, "call graph", err)
}

func openShared(r *Run) (*ccg.Shared, error) {
	b, err := r.File.SectionBytes(xtf.KindCCG)
	if errors.Is(err, xtf.ErrNoSection) {
		err = errors.Join(ErrNoResult, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := ccg.OpenShared(r.Defs, b)
	if Partial(err) {
		r.File.Damaged(xtf.WholeRun, err)
	}
	return s, err
}

// Location opens the graph of location p.
func (r *Run) Location(shared *ccg.Shared, p trace.P) (*ccg.Location, error) {
	l, _, err := callview.Location(r.File, shared, xtf.Proc(p))
	if err = r.Failed(xtf.Proc(p), "call graph", err); Partial(err) {
		r.File.Damaged(xtf.Proc(p), err)
	}
	return l, err
}

// Bound is how far times from a lossy graph may be from the truth.
type Bound struct {
	Text       string  `json:"text"`
	Absolute   uint64  `json:"absolute"` // ticks
	Relative   float64 `json:"relative"`
	TimeStamps bool    `json:"time_stamps"` // bounded too
	deviation  ccg.Deviation
}

// Bound returns the bound of the file's call graph, nil if it is lossless.
func (r *Run) Bound() (*Bound, error) {
	s, err := r.Graph()
	if err != nil {
		return nil, err
	}
	return r.BoundOf(s.Options().Deviation), nil
}

// BoundOf says what a deviation guarantees, nil if it is lossless.
func (r *Run) BoundOf(d ccg.Deviation) *Bound {
	if d.Lossless() {
		return nil
	}
	b := &Bound{Text: BoundText(d, r.Units()), Absolute: d.Abs, TimeStamps: d.TimeStamps, deviation: d}
	if d.Num > 0 {
		b.Relative = float64(d.Num) / float64(d.Den)
	}
	return b
}

// keptBound is Bound from the provenance, without a look at the graph.
func keptBound(r *Run) (*Bound, error) {
	if r.Kept.Deviation == "" {
		return nil, nil
	}
	d, err := ccg.ParseDeviation(r.Kept.Deviation, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: provenance: %w: %w", r.Name, xtf.ErrCorrupt, err)
	}
	return r.BoundOf(d), nil
}

// BoundText says what a deviation guarantees.
func BoundText(d ccg.Deviation, u numbers.Units) string {
	text := ""
	if d.Num > 0 {
		text = percentText(d)
	}
	if d.Abs > 0 {
		if text != "" {
			text += " or "
		}
		text += u.Span(d.Abs)
	}
	text = "every gap within " + text
	if d.TimeStamps {
		text += fmt.Sprintf(", no time stamp late or early by %s or more", u.Span(d.Abs))
	}
	return text
}

// percentText writes the relative part of a deviation.
func percentText(d ccg.Deviation) string {
	d.Abs, d.TimeStamps = 0, false
	text := d.String()
	if n := len(text) - 1; text[n] == '%' {
		return text[:n] + " %"
	}
	return text + " of it"
}

// NoteGraph says that numbers come from the graph, and how exact they are.
func NoteGraph(c *table.Chapter, s Source, b *Bound) {
	switch {
	case s != SourceGraph:
	case b == nil:
		c.Say("from the call graph, exact")
	default:
		c.Say("from the call graph: %s", b.Text)
	}
}

// NoteBound says how exact the times of an answer are.
func NoteBound(c *table.Chapter, b *Bound, off *uint64, u numbers.Units) {
	switch {
	case b == nil:
	case off == nil:
		c.Say("lossy graph: %s", b.Text)
	default:
		c.Say("lossy graph: %s; times here are off by at most %s", b.Text, u.Span(*off))
	}
}
