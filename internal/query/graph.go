package query

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// graphPrimitives are the queries that the call graph answers, with or without
// rows in the file.
var graphPrimitives = []string{"stack", "instance", "interval", "timeline", "walk"}

// graphAnswer is an answer from the call graph.
type graphAnswer struct {
	Primitive string         `json:"primitive"`
	Answer    json.Marshaler `json:"answer"`
	Cost      xtf.Stats      `json:"cost"`
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
func answered[T any](q *asked, v T, err error, text func(T, io.Writer, numbers.Units) error) (*graphAnswer, error) {
	if err != nil {
		return nil, err
	}
	u := q.run.Units()
	return &graphAnswer{q.Primitive, results.Value(v), q.spent(), func(w io.Writer) error { return text(v, w, u) }}, nil
}

// spent is what was read and compared since the question was asked.
func (q *asked) spent() xtf.Stats {
	s := q.run.File.Stats()
	return xtf.Stats{PageReads: s.PageReads - q.before.PageReads, Hits: s.Hits - q.before.Hits, Comparisons: s.Comparisons - q.before.Comparisons}
}

// graph answers a query from the call graph.
func (q *asked) graph() (*graphAnswer, error) {
	q.before = q.run.File.Stats()
	if slices.Contains([]string{"window", "interval", "timeline"}, q.Primitive) {
		return q.overSpan()
	}
	loc, err := q.findLocation()
	if err != nil {
		return nil, err
	}
	if q.Primitive == "stack" {
		return q.stack(loc)
	}
	g, err := lookup.NewReader(q.run, loc)
	if err != nil {
		return nil, err
	}
	if q.Primitive == "instance" {
		return q.instance(g)
	}
	return q.walk(g)
}

// overSpan answers what happened in a span of time.
func (q *asked) overSpan() (*graphAnswer, error) {
	begin, end, ranks, err := q.span()
	if err != nil {
		return nil, err
	}
	switch q.Primitive {
	case "window":
		q.before = q.run.File.Stats()
		x, err := lookup.NewStatistics(q.run, ranks, begin, end, q.Exact)
		return answered(q, x, err, func(x *lookup.Statistics, w io.Writer, u numbers.Units) error { return x.WriteText(w, u, q.Limit) })
	case "interval":
		x, err := lookup.NewWindow(q.run, ranks, begin, end)
		return answered(q, x, err, func(x *lookup.Window, w io.Writer, u numbers.Units) error { return x.WriteText(w, u, q.Limit) })
	}
	x, err := lookup.NewPicture(q.run, ranks, begin, end, q.Width)
	return answered(q, x, err, (*lookup.Picture).WriteText)
}

func (q *asked) stack(loc trace.P) (*graphAnswer, error) {
	if q.Time == "" {
		return nil, results.Refuse("stack needs --time T")
	}
	at, err := results.Instant(q.run, "--time", q.Time)
	if err != nil {
		return nil, err
	}
	x, err := lookup.NewStack(q.run, loc, at, q.Source, &q.cost)
	a, err := answered(q, x, err, (*lookup.Stack).WriteText)
	if err == nil && x.Source == results.SourceRows {
		a.Cost = q.cost // without the provenance, which tells that there are rows
	}
	return a, err
}

func (q *asked) instance(g *lookup.GraphReader) (*graphAnswer, error) {
	if q.Region == "" {
		return nil, results.Refuse("instance needs --region NAME")
	}
	region, err := results.FindRegion(q.run, q.Region)
	if err != nil {
		return nil, err
	}
	k := uint64(0)
	if q.byNumber() {
		if k, err = q.number(); err != nil {
			return nil, err
		}
	}
	x, err := g.Instance(region, k)
	return answered(q, x, err, (*lookup.Instance).WriteText)
}

func (q *asked) walk(g *lookup.GraphReader) (*graphAnswer, error) {
	from := lookup.From{ByTime: q.Time != "", Reverse: q.Backwards}
	var err error
	switch {
	case q.Time != "" && q.byNumber():
		return nil, results.Refuse("--time and --n exclude each other")
	case q.Time != "":
		from.Time, err = results.Instant(q.run, "--time", q.Time)
	case q.byNumber():
		from.Event, err = q.number()
	case q.Backwards:
		from.Event = ^uint64(0)
	}
	if err != nil {
		return nil, err
	}
	x, err := g.Walk(from, q.Limit)
	return answered(q, x, err, (*lookup.Walk).WriteText)
}

// span is what --time A..B, or --time and --to, and --ranks choose; all of the
// run without them.
func (q *asked) span() (begin, end uint64, ranks results.Ranks, err error) {
	first, last := q.Time, q.To
	if a, z, ok := strings.Cut(q.Time, ".."); ok {
		if q.To != "" {
			return 0, 0, ranks, results.Refuse("--time %s has an end already, leave --to out", q.Time)
		}
		first, last = a, z
	}
	s, err := results.SpanBetween(q.run, q.Time, first, last)
	if err != nil {
		return 0, 0, ranks, err
	}
	ranks, err = results.ChosenRanks(q.Ranks, q.run.Defs)
	return s.Begin, s.End, ranks, err
}
