package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
	c.ValidArgsFunction = after(1, slices.Concat(primitives, graphPrimitives))
	return s.does(c, func(operands []string, s streams) error { return q.ask(operands[0], operands[1], &o, s) }, o.check)
}

// ask answers one query.
func (q *query) ask(path, primitive string, o *output, s streams) (err error) {
	q.primitive, q.limit = primitive, o.limit
	fromGraph := slices.Contains(graphPrimitives, q.primitive)
	all := slices.Concat(primitives, graphPrimitives)
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
		a, err := q.graph()
		if err != nil {
			return err
		}
		v, text = report.Value(a), a.write
	} else {
		a, err := q.answer()
		if err != nil {
			return err
		}
		v, text = report.Value(a), func(w io.Writer) error { return a.text(w, q.run) }
	}
	return o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			return about(w, q.run, "query", v)
		}
		return text(w)
	})
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

// open finds the array that the flags name.
func (q *query) open() error {
	if fixed, ok := typeOf[q.primitive]; ok {
		if q.flags.Changed("type") && !strings.EqualFold(q.typ, fixed) {
			return usage("%s is about rows of type %s: leave --type away", q.primitive, fixed)
		}
		q.typ = fixed
	}
	typ, err := q.findType()
	if err != nil {
		return err
	}
	rows, err := q.run.HasRows()
	if err == nil && !rows && slices.Contains(eventTypes, typ.ID) && !(q.whole && typ.ID == xtf.TypeTimeBin) {
		err = fmt.Errorf("rows of type %s: %w: it was analyzed with --events none; the call graph answers %s", typ.Name, report.ErrNoResult, strings.Join(graphPrimitives, ", "))
	}
	if err != nil {
		return readError(q.run.Name, err)
	}
	p := xtf.WholeRun
	if !q.whole && typ.ID < xtf.TypeInterval {
		loc, err := q.findLocation()
		if err != nil {
			return err
		}
		p = xtf.Proc(loc)
	}
	a, err := q.run.File.Array(p, typ.ID)
	if err != nil {
		return readError(q.run.Name, fmt.Errorf("array %s: %w", typ.Name, err))
	}
	q.array = a
	return nil
}

// typeOf is the type of primitives that are about one.
var typeOf = map[string]string{"partner": "p2p", "members": "coll", "bins": "timebin"}

// eventTypes are the rows that analyze --events none leaves out.
var eventTypes = []xtf.TypeID{
	xtf.TypeCall, xtf.TypeP2P, xtf.TypeColl, xtf.TypeIO, xtf.TypeRMA, xtf.TypeMetric, xtf.TypeChannel, xtf.TypeChan, xtf.TypeTile, xtf.TypeTimeBin,
}

func (q *query) findType() (*xtf.Type, error) {
	all := q.run.File.Types().All()
	var names []string
	for i := range all {
		if strings.EqualFold(all[i].Name, q.typ) {
			return &all[i], nil
		}
		names = append(names, strings.ToLower(all[i].Name))
	}
	return nil, usage("--type %s: the file has %s", q.typ, strings.Join(names, ", "))
}

func (q *query) findLocation() (trace.P, error) {
	d := q.run.Defs
	if q.flags.Changed("location") {
		p, ok := d.Ordinal(q.location)
		if !ok {
			return 0, usage("--location %d: the trace has no location with this id; coppice info --format json or coppice report list what there is", q.location)
		}
		return p, nil
	}
	if q.process < 0 || q.process >= int64(len(d.Processes())) {
		return 0, usage("--rank %d: the run has processes 0 to %d", q.process, len(d.Processes())-1)
	}
	x := d.Processes()[q.process]
	if q.thread < 0 || q.thread >= int64(x.Count) {
		return 0, usage("--thread %d: process %d has locations 0 to %d", q.thread, q.process, int64(x.Count)-1)
	}
	return x.First + trace.P(q.thread), nil
}

// answer is the result of a query.
type answer struct {
	Primitive string     `json:"primitive"`
	Type      string     `json:"type"`
	Location  *uint64    `json:"location"` // id, nil for the whole run
	Process   *uint32    `json:"process"`
	Thread    *uint32    `json:"thread"`
	ArrayRows uint64     `json:"array_rows"`
	Height    int        `json:"height"` // of the index, data pages included
	Found     bool       `json:"found"`
	Side      string     `json:"side"`     // of a step that left the array: before or after
	Size      *uint64    `json:"size"`     // of size, members and bins
	KeyAt     *uint64    `json:"key"`      // of at
	Position  *position  `json:"position"` // of search and next; of partner and members: the row asked about
	Rows      []foundRow `json:"rows"`
	Cost      cost       `json:"cost"`
	RowCost   cost       `json:"row_cost"`
	Begin     *uint64    `json:"begin,omitempty"` // of visible, stats and bins, ticks
	End       *uint64    `json:"end,omitempty"`
	More      bool       `json:"more,omitempty"`       // there are more rows than the limit
	Sums      []sumOver  `json:"sums,omitempty"`       // of stats
	Bins      *binsAt    `json:"bins,omitempty"`       // of bins
	ByChannel string     `json:"by_channel,omitempty"` // of partner: same, none, shared, or another
	Costs     []costPart `json:"costs,omitempty"`      // parts of cost
	typ       *xtf.Type
}

// costPart is the cost of one of the answers.
type costPart struct {
	Of string `json:"of"`
	cost
}

type position struct {
	N    uint64 `json:"n"`
	Page uint64 `json:"page"`
	Slot int    `json:"slot"`
}

type cost struct {
	PageReads   uint64 `json:"page_reads"`
	Hits        uint64 `json:"hits"`
	Comparisons uint64 `json:"comparisons"`
}

func costOf(s xtf.Stats) cost { return cost{s.PageReads, s.Hits, s.Comparisons} }

// answer runs the primitive and reads the rows it found.
func (q *query) answer() (*answer, error) {
	if err := q.open(); err != nil {
		return nil, err
	}
	a := &answer{Primitive: q.primitive, Type: q.array.Type().Name, ArrayRows: q.array.Len(), Height: q.array.Height(), Rows: []foundRow{}, typ: q.array.Type()}
	if p := q.array.Proc(); p != xtf.WholeRun {
		id := q.run.Defs.Location(trace.P(p)).Ref
		process, thread := q.run.Defs.Process(trace.P(p))
		a.Location, a.Process, a.Thread = &id, &process, &thread
	}
	counted := q.array.Counted(&q.cost)
	first, rows, err := q.primitives(a, counted)
	if err != nil {
		return nil, err
	}
	body := q.array.Counted(&q.rowCost)
	var row []byte
	for n := first; n < first+rows; n++ {
		if row, err = body.Row(n, row); err != nil {
			return nil, readError(q.run.Name, err)
		}
		a.Rows = append(a.Rows, makeRow(a.typ, n, row))
	}
	a.Cost, a.RowCost = costOf(q.cost), costOf(q.rowCost)
	return a, nil
}

// primitives runs the primitive; it returns which rows to show.
func (q *query) primitives(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	byNumber := q.flags.Changed("n")
	switch q.primitive {
	case "at":
		return q.at(a, x)
	case "rows":
		return q.rows(a, x)
	case "size":
		return 0, 0, q.size(a, x, byNumber)
	case "visible":
		return 0, 0, q.visible(a, x)
	case "bins":
		return q.bins(a, x)
	case "stats":
		return 0, 0, q.stats(a)
	case "partner", "members":
		return 0, 0, q.paired(a, x)
	}
	var pos xtf.Pos
	switch {
	case q.primitive == "search" && byNumber:
		var n uint64
		if n, err = q.number(); err == nil {
			pos, a.Found = x.SearchN(n)
		}
	case q.primitive == "search":
		pos, err = q.search(a, x)
	case byNumber:
		var n uint64
		if n, err = q.number(); err == nil {
			var side xtf.Side
			pos, side = x.NextN(n, q.step)
			a.Found, a.Side = side == xtf.Inside, sideName(side)
		}
	default:
		var key uint64
		if key, err = q.from(); err == nil {
			var side xtf.Side
			pos, side, a.Found, err = x.Next(key, q.step)
			a.Side, err = sideName(side), q.readFailure(err)
		}
	}
	if err != nil || !a.Found {
		return 0, 0, err
	}
	a.Position = &position{pos.N, pos.Page, pos.Slot}
	return pos.N, 1, nil
}

func (q *query) search(a *answer, x *xtf.Array) (xtf.Pos, error) {
	key, err := q.from()
	if err != nil {
		return xtf.Pos{}, err
	}
	i := slices.IndexFunc(searchModes, func(m searchMode) bool { return m.name == q.mode })
	pos, ok, err := x.Search(key, searchModes[i].mode)
	a.Found = ok
	return pos, q.readFailure(err)
}

func (q *query) size(a *answer, x *xtf.Array, byNumber bool) error {
	var n uint64
	if byNumber {
		n1, err := q.number()
		if err != nil {
			return err
		}
		n2 := x.Len()
		if q.to != "" {
			if n2, err = parseNumber("--to", q.to); err != nil {
				return err
			}
		}
		n = x.SizeN(n1, n2)
	} else {
		k1, k2, err := uint64(0), xtf.Never, error(nil)
		if q.time != "" || q.key != "" {
			if k1, err = q.from(); err != nil {
				return err
			}
		}
		if q.to != "" {
			if k2, err = q.instant("--to", q.to); err != nil {
				return err
			}
			n, err = x.Size(k1, k2)
		} else {
			n, err = x.SizeClosed(k1, k2)
		}
		if err != nil {
			return q.readFailure(err)
		}
	}
	a.Size, a.Found = &n, true
	return nil
}

func (q *query) at(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	n, err := q.number()
	if err != nil || n >= x.Len() {
		return 0, 0, err
	}
	key, err := x.At(n)
	if err != nil {
		return 0, 0, q.readFailure(err)
	}
	a.Found, a.KeyAt = true, &key
	return n, 1, nil
}

// rows lists rows from --n, --time or --key on, up to --to.
func (q *query) rows(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	last := x.Len()
	switch {
	case q.flags.Changed("n"):
		if first, err = q.number(); err == nil && q.to != "" {
			last, err = parseNumber("--to", q.to)
		}
	default:
		if q.time != "" || q.key != "" {
			var key uint64
			if key, err = q.from(); err == nil {
				first, err = x.Rank(key)
				err = q.readFailure(err)
			}
		}
		if err == nil && q.to != "" {
			var key uint64
			if key, err = q.instant("--to", q.to); err == nil {
				last, err = x.Rank(key)
				err = q.readFailure(err)
			}
		}
	}
	last = min(last, x.Len())
	if err != nil || first >= last {
		return 0, 0, err
	}
	a.Found = true
	return first, min(last-first, uint64(q.limit)), nil
}

func (q *query) readFailure(err error) error {
	if err == nil {
		return nil
	}
	return readError(q.run.Name, err)
}

func sideName(s xtf.Side) string {
	switch s {
	case xtf.Before:
		return "before"
	case xtf.After:
		return "after"
	}
	return ""
}
