package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
)

// graphPrimitives are the queries that the call graph answers, with or without
// rows in the file, and window.
var graphPrimitives = []string{"window", "stack", "instance", "interval", "timeline", "walk"}

// graphAnswer is an answer from the call graph.
type graphAnswer struct {
	Primitive string         `json:"primitive"`
	Answer    json.Marshaler `json:"answer"`
	Cost      cost           `json:"cost"`
	text      func(io.Writer) error
}

// write prints the answer and what it cost.
func (a *graphAnswer) write(w io.Writer) error {
	if err := a.text(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "cost: %d reads, %d in the cache, %d comparisons\n", a.Cost.PageReads, a.Cost.Hits, a.Cost.Comparisons)
	return err
}

// answered makes an answer of a result; errors get their exit code.
func answered[T any](q *query, v T, err error, text func(T, io.Writer, report.Units) error) (*graphAnswer, error) {
	if err != nil {
		return nil, readError(q.run.Name, err)
	}
	u := report.UnitsOf(q.run.Defs.Clock().TimerResolution)
	return &graphAnswer{q.primitive, report.Value(v), q.spent(), func(w io.Writer) error { return text(v, w, u) }}, nil
}

// spent is what was read and compared since the question was asked.
func (q *query) spent() cost {
	s := q.run.File.Stats()
	return cost{s.PageReads - q.before.PageReads, s.Hits - q.before.Hits, s.Comparisons - q.before.Comparisons}
}

// graph answers a query from the call graph.
func (q *query) graph() (*graphAnswer, error) {
	q.before = q.run.File.Stats()
	switch q.primitive {
	case "window":
		begin, end, ranks, err := q.span()
		if err != nil {
			return nil, err
		}
		q.before = q.run.File.Stats()
		x, err := q.run.Statistics(ranks, begin, end, q.exact)
		return answered(q, x, err, func(x *report.Statistics, w io.Writer, u report.Units) error { return x.WriteText(w, u, q.limit) })
	case "interval":
		begin, end, ranks, err := q.span()
		if err != nil {
			return nil, err
		}
		x, err := q.run.Window(ranks, begin, end)
		return answered(q, x, err, func(x *report.Window, w io.Writer, u report.Units) error { return x.WriteText(w, u, q.limit) })
	case "timeline":
		begin, end, ranks, err := q.span()
		if err != nil {
			return nil, err
		}
		x, err := q.run.Picture(ranks, begin, end, q.width)
		return answered(q, x, err, (*report.Picture).WriteText)
	}
	loc, err := q.findLocation()
	if err != nil {
		return nil, err
	}
	if q.primitive == "stack" {
		return q.stack(loc)
	}
	g, err := q.run.Reader(loc)
	if err != nil {
		return nil, readError(q.run.Name, err)
	}
	if q.primitive == "instance" {
		return q.instance(g)
	}
	return q.walk(g)
}

func (q *query) stack(loc trace.P) (*graphAnswer, error) {
	if q.time == "" {
		return nil, usage("stack needs --time T")
	}
	at, err := q.tick("--time", q.time)
	if err != nil {
		return nil, err
	}
	x, err := q.run.Stack(loc, at, sources[q.source], &q.cost)
	a, err := answered(q, x, err, (*report.Stack).WriteText)
	if err == nil && x.Source == report.SourceRows {
		a.Cost = costOf(q.cost) // without the provenance, which tells that there are rows
	}
	return a, err
}

func (q *query) instance(g *report.GraphReader) (*graphAnswer, error) {
	if q.region == "" {
		return nil, usage("instance needs --region NAME")
	}
	region, err := findRegion(q.run, q.region)
	if err != nil {
		return nil, err
	}
	k := uint64(0)
	if q.flags.Changed("n") {
		if k, err = q.number(); err != nil {
			return nil, err
		}
	}
	x, err := g.Instance(region, k)
	return answered(q, x, err, (*report.Instance).WriteText)
}

func (q *query) walk(g *report.GraphReader) (*graphAnswer, error) {
	from := report.From{ByTime: q.time != "", Reverse: q.backwards}
	var err error
	switch {
	case q.time != "" && q.flags.Changed("n"):
		return nil, usage("--time and --n exclude each other")
	case q.time != "":
		from.Time, err = q.tick("--time", q.time)
	case q.flags.Changed("n"):
		from.Event, err = q.number()
	case q.backwards:
		from.Event = ^uint64(0)
	}
	if err != nil {
		return nil, err
	}
	x, err := g.Walk(from, q.limit)
	return answered(q, x, err, (*report.Walk).WriteText)
}

// span is what --time A..B, or --time and --to, and --ranks choose; all of the
// run without them.
func (q *query) span() (begin, end uint64, ranks report.Ranks, err error) {
	b, err := q.run.Brief()
	if err != nil {
		return 0, 0, ranks, readError(q.run.Name, err)
	}
	if b.First != nil && b.Last != nil {
		begin, end = *b.First, *b.Last+1 // the last event is inside
	}
	first, last := q.time, q.to
	if a, z, ok := strings.Cut(q.time, ".."); ok {
		if q.to != "" {
			return 0, 0, ranks, usage("--time %s has an end already, leave --to away", q.time)
		}
		first, last = a, z
	}
	if first != "" {
		if begin, err = q.tick("--time", first); err != nil {
			return 0, 0, ranks, err
		}
	}
	if last != "" {
		if end, err = q.tick("--time", last); err != nil {
			return 0, 0, ranks, err
		}
	}
	if err := spanInside(b, q.time, begin, end); err != nil {
		return 0, 0, ranks, err
	}
	if q.ranks != "" {
		if ranks, err = report.ParseRanks(q.ranks, q.run.Defs); err != nil {
			return 0, 0, ranks, usage("--ranks %w", err)
		}
	}
	return begin, end, ranks, nil
}
