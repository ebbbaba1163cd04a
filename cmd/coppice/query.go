package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// query is one query with its flags.
type query struct {
	primitive string
	typ       string
	process   int64
	thread    int64
	location  uint64
	whole     bool
	time, to  string
	key, n    string
	mode      string
	step      int64
	region    string // of the call graph's queries, as the rest
	ranks     string
	width     int
	limit     int
	backwards bool
	source    string // of stack
	exact     bool   // of window
	flags     *pflag.FlagSet
	run       *report.Run
	array     *xtf.Array
	cost      xtf.Stats // of the primitive
	rowCost   xtf.Stats // of reading the rows found
	before    xtf.Stats // what was read before the question was asked
}

var primitives = []string{"search", "size", "next", "at", "rows", "visible", "stats", "partner", "members", "bins"}

type searchMode struct {
	name string
	mode xtf.Mode
}

var searchModes = []searchMode{
	{"exact", xtf.First},
	{"first", xtf.First},
	{"last", xtf.Last},
	{"ge", xtf.GE},
	{"gt", xtf.GT},
	{"le", xtf.LE},
	{"lt", xtf.LT},
}

func queryVerb(s streams) *cobra.Command {
	var o output
	q := query{}
	c := verb("query RUN.xtf PRIMITIVE", "rows by time, key or number; calls, intervals and timelines from the call graph", 2, 2,
		"coppice query run.xtf search --rank 3 --type call --time 1.25s --mode le",
		"coppice query run.xtf rows --rank 0 --type coll --n 100 --limit 5 --format json",
		"coppice query run.xtf stats --rank 3 --time 40%..60%",
		"coppice query run.xtf window --time 40%..60% --ranks 0-3",
		"coppice query run.xtf partner --rank 3 --n 17",
		"coppice query run.xtf stack --rank 3 --time 1.25s",
		"coppice query run.xtf interval --time 40%..60% --ranks 0-3",
		"coppice query run.xtf walk --rank 0 --time 1.25s --limit 50 --backwards")
	c.Long = primitiveHelp
	q.flags = c.Flags()
	o.define(q.flags)
	q.define(q.flags)
	o.defineLimit(q.flags, "rows or events: how many")
	c.ValidArgsFunction = after(1, everyPrimitive())
	return s.does(c, func(operands []string, s streams) error { return q.ask(operands[0], operands[1], &o, s) }, o.check)
}

func everyPrimitive() []string { return slices.Concat(primitives, []string{"window"}, graphPrimitives) }

// ask answers one query.
func (q *query) ask(path, primitive string, o *output, s streams) (err error) {
	q.primitive, q.limit = primitive, o.limit
	fromGraph := q.primitive == "window" || slices.Contains(graphPrimitives, q.primitive)
	all := everyPrimitive()
	switch {
	case !slices.Contains(all, q.primitive):
		return usage("%q is not a primitive: choose from %s.%s", q.primitive, strings.Join(all, ", "), similar(q.primitive, all))
	case q.primitive != "stack" && q.flags.Changed("source"):
		return usage("--source is for stack alone")
	case q.primitive != "window" && q.exact:
		return usage("--exact is for window alone")
	}
	if q.run, err = s.runs.open(path); err != nil {
		return err
	}
	var v json.Marshaler
	var text func(io.Writer) error
	if fromGraph {
		var a *graphAnswer
		if a, err = q.graph(); err == nil {
			v, text = report.Value(a), a.write
		}
	} else {
		var a *answer
		if a, err = q.answer(); err == nil {
			v, text = report.Value(a), func(w io.Writer) error { return a.text(w, q.run) }
		}
	}
	if errors.As(err, &ofVerb{}) {
		return err
	}
	if err != nil {
		return readError(q.run.Name, err)
	}
	e, brief, err := aboutOf(q.run)
	if err != nil {
		return readError(path, err)
	}
	return o.show(s, &inspect.Result{Envelope: e, Brief: brief, Value: v, Text: func(w io.Writer, _ int) error { return text(w) }}, "query")
}

// primitiveHelp is what the help tells of the primitives.
const primitiveHelp = `
Primitives on rows:
  search    a row by time or key
  size      number of rows in a window
  next      a row so many steps further
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

// define defines the flags.
func (q *query) define(f *pflag.FlagSet) {
	f.StringVar(&q.typ, "type", "call", "rows to look at: call, p2p, coll, channel, chan, timebin, comp, diag, ... (coppice info lists them)")
	f.Int64Var(&q.process, "rank", 0, "process, by its rank in MPI_COMM_WORLD")
	f.Int64Var(&q.thread, "thread", 0, "location of the process")
	f.Uint64Var(&q.location, "location", 0, "location by its id in the trace, instead of --rank and --thread")
	f.BoolVar(&q.whole, "whole", false, "rows about the whole run, instead of a location's")
	f.StringVar(&q.time, "time", "", "instant: 12.5s, 40% of the run, or #TICKS; visible, stats, bins, window, interval and timeline: A..B")
	f.StringVar(&q.key, "key", "", "key of rows that are not ordered by time")
	f.StringVarP(&q.n, "n", "n", "", "row number, of a message or collective for partner and members; instance: number of the call, from 0; walk: number of the event")
	f.StringVar(&q.to, "to", "", "end of the interval, exclusive: as --time, --key or --n")
	var modes []string
	for _, m := range searchModes {
		modes = append(modes, m.name)
	}
	oneOf(f, &q.mode, "mode", "exact", "search, and --time of partner and members: exact, last, ge, gt, le or lt", modes...)
	f.Int64Var(&q.step, "step", 1, "next: rows to step, back with a minus")
	f.StringVar(&q.region, "region", "", "instance: name or number of the region")
	f.StringVar(&q.ranks, "ranks", "", "window, interval, timeline: processes, as 0-3,8,16-31:4, comm:NAME or node:N (default all)")
	atLeast(f, 1, &q.width, "width", "", 80, "timeline, bins: pixels of a line")
	f.BoolVar(&q.backwards, "backwards", false, "walk: towards the first event")
	defineSource(f, &q.source, "stack")
	f.BoolVar(&q.exact, "exact", false, "window: also of functions, from the calls at the borders")
}

func (q *query) number() (uint64, error) {
	if q.n == "" {
		return 0, usage("%s needs a row number: --n N", q.primitive)
	}
	return parseNumber("--n", q.n)
}

func parseNumber(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, usage("%s %s: not a number", flag, text)
	}
	return n, nil
}

// from is the key that --time or --key give.
func (q *query) from() (uint64, error) {
	switch {
	case q.time != "" && q.key != "":
		return 0, usage("--time and --key exclude each other")
	case q.time != "":
		return q.instant("--time", q.time)
	case q.key != "":
		return parseNumber("--key", q.key)
	}
	return 0, usage("%s needs --time, --key or --n", q.primitive)
}

// instant reads a time or, for rows ordered by another key, a number.
func (q *query) instant(flag, text string) (uint64, error) {
	if q.array.Type().Role != xtf.RoleT {
		return parseNumber(flag, strings.TrimPrefix(text, "#"))
	}
	return q.tick(flag, text)
}

// tick reads 12.5s, 40% or #TICKS.
func (q *query) tick(flag, text string) (uint64, error) { return tickAt(q.run, flag, text) }

// graphPrimitives are the queries that the call graph answers, with or without
// rows in the file.
var graphPrimitives = []string{"stack", "instance", "interval", "timeline", "walk"}

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
		return nil, err
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
	if slices.Contains([]string{"window", "interval", "timeline"}, q.primitive) {
		return q.overSpan()
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
		return nil, err
	}
	if q.primitive == "instance" {
		return q.instance(g)
	}
	return q.walk(g)
}

// overSpan answers what happened in a span of time.
func (q *query) overSpan() (*graphAnswer, error) {
	begin, end, ranks, err := q.span()
	if err != nil {
		return nil, err
	}
	switch q.primitive {
	case "window":
		q.before = q.run.File.Stats()
		x, err := q.run.Statistics(ranks, begin, end, q.exact)
		return answered(q, x, err, func(x *report.Statistics, w io.Writer, u report.Units) error { return x.WriteText(w, u, q.limit) })
	case "interval":
		x, err := q.run.Window(ranks, begin, end)
		return answered(q, x, err, func(x *report.Window, w io.Writer, u report.Units) error { return x.WriteText(w, u, q.limit) })
	}
	x, err := q.run.Picture(ranks, begin, end, q.width)
	return answered(q, x, err, (*report.Picture).WriteText)
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
	first, last := q.time, q.to
	if a, z, ok := strings.Cut(q.time, ".."); ok {
		if q.to != "" {
			return 0, 0, ranks, usage("--time %s has an end already, leave --to away", q.time)
		}
		first, last = a, z
	}
	s, err := spanBetween(q.run, q.time, first, last)
	if err != nil {
		return 0, 0, ranks, err
	}
	ranks, err = chosenRanks(q.ranks, q.run.Defs)
	return s.Begin, s.End, ranks, err
}
