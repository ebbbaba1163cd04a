// Package query answers questions about rows of a result by time, key or number, and about calls, intervals and timelines
// from the call graph, for coppice query.
//
//	answer, err := query.Ask(run, &query.Question{Primitive: "stack", Process: 3, Time: "1.25s", Limit: 20})
//	err = answer.Text(os.Stdout, 20)
//
// An answer has its value in JSON, its text, and its cost: page reads, hits in the cache and comparisons. A question without
// meaning gives results.Refused. An answer about rows holds at most Limit rows, 8 bytes for each column.
package query

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Question is a question about a run, in the words of the command line.
type Question struct {
	Primitive       string
	Type            string // of rows; "" is call
	Process, Thread int64
	Location        *uint64 // id in the trace, instead of Process and Thread
	Whole           bool    // rows about the whole run
	Time, To        string
	Key, N          string
	Mode            string // one of Modes
	Step            int64
	Region          string // of the queries of the call graph, like the fields below
	Ranks           string
	Width           int
	Limit           int
	Backwards       bool
	Source          results.Source // of stack
	Exact           bool           // of window
}

// asked is a question that is being answered.
type asked struct {
	*Question
	run     *results.Run
	array   *xtf.Array
	cost    xtf.Stats // of the query itself
	rowCost xtf.Stats // of reading the rows that it found
	before  xtf.Stats // cost before the question
}

// Primitives lists the queries that rows answer, then those that the call graph or indexes answer.
func Primitives() []string { return slices.Concat(rowPrimitives, []string{"window"}, graphPrimitives) }

var rowPrimitives = []string{"search", "size", "next", "at", "rows", "visible", "stats", "partner", "members", "bins"}

// Modes are the modes of a search.
var Modes = []string{"exact", "first", "last", "ge", "gt", "le", "lt"}

var searchModes = map[string]xtf.Mode{"exact": xtf.First, "first": xtf.First, "last": xtf.Last, "ge": xtf.GE, "gt": xtf.GT, "le": xtf.LE, "lt": xtf.LT}

// Help lists the primitives.
const Help = `
Primitives on rows:
  search    a row by time or key
  size      number of rows in a window
  next      a row a number of steps further
  at        the key of a row
  rows      rows one after another
  visible   rows that begin or are open in a span of time
  stats     sums over a span of time: bounded, interpolated and exact
  partner   the other side of a message, as stored and by its channel
  members   all rows of a collective
  bins      what regions did in the time bins of a span, for a picture --width pixels wide
  window    all characteristics of processes in a span of time, at a cost that does not depend on its length

Primitives on the call graph, of files analyzed with --events none too:
  stack     calls open at a time; from the rows where there are any, see --source
  instance  call number --n of a region
  interval  what processes did in a time
  timeline  which region took most of each pixel's time
  walk      events from a time or event on, forwards or backwards
`

// Ask answers a question.
func Ask(run *results.Run, question *Question) (*results.Answer, error) {
	q := &asked{Question: question, run: run}
	if slices.Contains(rowPrimitives, q.Primitive) {
		a, err := q.answer()
		if err != nil {
			return nil, err
		}
		return results.NewAnswer(run, a, func(w io.Writer, _ int) error { return a.text(w, run) })
	}
	a, err := q.graph()
	if err != nil {
		return nil, err
	}
	return results.NewAnswer(run, a, func(w io.Writer, _ int) error {
		if err := a.text(w); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "cost: %d reads, %d in the cache, %d comparisons\n", a.Cost.PageReads, a.Cost.Hits, a.Cost.Comparisons)
		return err
	})
}

func (q *asked) number() (uint64, error) {
	if q.N == "" {
		return 0, results.Refuse("%s needs a row number: --n N", q.Primitive)
	}
	return parseNumber("--n", q.N)
}

func parseNumber(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, results.Refuse("%s %s: not a number", flag, text)
	}
	return n, nil
}

func (q *asked) from() (uint64, error) {
	switch {
	case q.Time != "" && q.Key != "":
		return 0, results.Refuse("--time and --key exclude each other")
	case q.Time != "":
		return q.instant("--time", q.Time)
	case q.Key != "":
		return parseNumber("--key", q.Key)
	}
	return 0, results.Refuse("%s needs --time, --key or --n", q.Primitive)
}

// instant reads a time or, for rows with another key, a number.
func (q *asked) instant(flag, text string) (uint64, error) {
	if q.array.Type().Role != xtf.RoleT {
		return parseNumber(flag, strings.TrimPrefix(text, "#"))
	}
	return results.Instant(q.run, flag, text)
}

// graphPrimitives are the queries that the call graph answers, whether or not the file has rows.
var graphPrimitives = []string{"stack", "instance", "interval", "timeline", "walk"}

// graphAnswer is an answer from the call graph.
type graphAnswer struct {
	Primitive string    `json:"primitive"`
	Answer    any       `json:"answer"`
	Cost      xtf.Stats `json:"cost"`
	text      func(io.Writer) error
}

// answered makes an answer from a result, with the reads and comparisons since the question was asked.
func answered[T any](q *asked, v T, err error, text func(T, io.Writer, numbers.Units) error) (*graphAnswer, error) {
	if err != nil {
		return nil, err
	}
	u, s := q.run.Units(), q.run.File.Stats()
	cost := xtf.Stats{PageReads: s.PageReads - q.before.PageReads, Hits: s.Hits - q.before.Hits, Comparisons: s.Comparisons - q.before.Comparisons}
	return &graphAnswer{q.Primitive, v, cost, func(w io.Writer) error { return text(v, w, u) }}, nil
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

// overSpan answers a question about a span of time.
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
		a.Cost = q.cost // without the provenance, which proves that there are rows
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

// span returns the span of --time A..B, or of --time and --to, and the processes of --ranks; without these flags all of the run.
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
