package query

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// open finds the array that the flags name.
func (q *asked) open() error {
	if fixed, ok := typeOf[q.Primitive]; ok {
		if q.Type != "" && !strings.EqualFold(q.Type, fixed) {
			return results.Refuse("%s is about rows of type %s: leave --type out", q.Primitive, fixed)
		}
		q.Type = fixed
	}
	q.Type = cmp.Or(q.Type, "call")
	typ, err := q.findType()
	if err != nil {
		return err
	}
	if !q.run.Rows && slices.Contains(eventTypes, typ.ID) && !(q.Whole && typ.ID == xtf.TypeTimeBin) {
		return fmt.Errorf("rows of type %s: %w: it was analyzed with --events none; the call graph answers %s", typ.Name, results.ErrNoResult, strings.Join(graphPrimitives, ", "))
	}
	p := xtf.WholeRun
	if !q.Whole && typ.ID < xtf.TypeInterval {
		loc, err := q.findLocation()
		if err != nil {
			return err
		}
		p = xtf.Proc(loc)
	}
	a, err := q.run.File.Array(p, typ.ID)
	if err != nil {
		return fmt.Errorf("array %s: %w", typ.Name, err)
	}
	q.array = a
	return nil
}

// typeOf is the type of rows of primitives that have only one.
var typeOf = map[string]string{"partner": "p2p", "members": "coll", "bins": "timebin"}

// eventTypes are the rows that analyze --events none leaves out.
var eventTypes = []xtf.TypeID{
	xtf.TypeCall, xtf.TypeP2P, xtf.TypeColl, xtf.TypeIO, xtf.TypeRMA, xtf.TypeMetric, xtf.TypeChannel, xtf.TypeChan, xtf.TypeTile, xtf.TypeTimeBin,
}

func (q *asked) findType() (*xtf.Type, error) {
	all := q.run.File.Types().All()
	if i := slices.IndexFunc(all, func(t xtf.Type) bool { return strings.EqualFold(t.Name, q.Type) }); i >= 0 {
		return &all[i], nil
	}
	return nil, results.Refuse("--type %s: the file has %s", q.Type, typesWith(q.run, func(*xtf.Type) bool { return true }))
}

func (q *asked) findLocation() (trace.P, error) {
	d := q.run.Defs
	if q.Location != nil {
		p, ok := d.Ordinal(*q.Location)
		if !ok {
			return 0, results.Refuse("--location %d: the trace has no location with this id; coppice info --format json or coppice report list what there is", *q.Location)
		}
		return p, nil
	}
	if q.Process < 0 || q.Process >= int64(len(d.Processes())) {
		return 0, results.Refuse("--rank %d: the run has processes 0 to %d", q.Process, len(d.Processes())-1)
	}
	x := d.Processes()[q.Process]
	if q.Thread < 0 || q.Thread >= int64(x.Count) {
		return 0, results.Refuse("--thread %d: process %d has locations 0 to %d", q.Thread, q.Process, int64(x.Count)-1)
	}
	return x.First + trace.P(q.Thread), nil
}

// answer is the answer to a query about rows.
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
	Position  *position  `json:"position"` // of search and next; of partner and members: the row in question
	Rows      []foundRow `json:"rows"`
	Cost      xtf.Stats  `json:"cost"`
	RowCost   xtf.Stats  `json:"row_cost"`
	Begin     *uint64    `json:"begin,omitempty"` // of visible, stats and bins, ticks
	End       *uint64    `json:"end,omitempty"`
	More      bool       `json:"more,omitempty"`       // there are more rows than the limit
	Sums      []sumOver  `json:"sums,omitempty"`       // of stats
	Bins      *binsAt    `json:"bins,omitempty"`       // of bins
	ByChannel string     `json:"by_channel,omitempty"` // of partner: same, none, shared, or another
	Costs     []costPart `json:"costs,omitempty"`      // parts of cost
	typ       *xtf.Type
}

// costPart is the cost of one of several answers.
type costPart struct {
	Of string `json:"of"`
	xtf.Stats
}

type position struct {
	N    uint64 `json:"n"`
	Page uint64 `json:"page"`
	Slot int    `json:"slot"`
}

// answer runs the query and reads the rows that it found.
func (q *asked) answer() (*answer, error) {
	if err := q.open(); err != nil {
		return nil, err
	}
	a := &answer{Primitive: q.Primitive, Type: q.array.Type().Name, ArrayRows: q.array.Len(), Height: q.array.Height(), Rows: []foundRow{}, typ: q.array.Type()}
	if p := q.array.Proc(); p != xtf.WholeRun {
		at := q.run.Place(trace.P(p))
		a.Location, a.Process, a.Thread = &at.Location, &at.Process, &at.Thread
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
			return nil, err
		}
		a.Rows = append(a.Rows, makeRow(a.typ, n, row))
	}
	a.Cost, a.RowCost = q.cost, q.rowCost
	return a, nil
}

// primitives runs the query and returns the range of rows to show.
func (q *asked) primitives(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	switch q.Primitive {
	case "at":
		return q.at(a, x)
	case "rows":
		return q.rows(a, x)
	case "size":
		return 0, 0, q.size(a, x)
	case "visible":
		return 0, 0, q.visible(a, x)
	case "bins":
		return q.bins(a, x)
	case "stats":
		return 0, 0, q.stats(a)
	case "partner", "members":
		return 0, 0, q.paired(a, x)
	case "next":
		err = q.next(a, x)
	default:
		err = q.search(a, x)
	}
	if err != nil || !a.Found {
		return 0, 0, err
	}
	return a.Position.N, 1, nil
}

// at stores the place of a row in the answer.
func (a *answer) at(pos xtf.Pos, found bool) {
	if a.Found = found; found {
		a.Position = &position{pos.N, pos.Page, pos.Slot}
	}
}

// search finds the row that --n, or --time or --key with --mode, chooses.
func (q *asked) search(a *answer, x *xtf.Array) error {
	if q.byNumber() {
		n, err := q.number()
		if err == nil {
			a.at(x.SearchN(n))
		}
		return err
	}
	key, err := q.from()
	if err != nil {
		return err
	}
	pos, found, err := x.Search(key, searchModes[q.Mode])
	a.at(pos, found)
	return err
}

// next finds the row some steps further.
func (q *asked) next(a *answer, x *xtf.Array) (err error) {
	var pos xtf.Pos
	var side xtf.Side
	var found bool
	var from uint64
	if q.byNumber() {
		if from, err = q.number(); err == nil {
			pos, side = x.NextN(from, q.Step)
			found = side == xtf.Inside
		}
	} else if from, err = q.from(); err == nil {
		pos, side, found, err = x.Next(from, q.Step)
	}
	a.at(pos, found)
	a.Side = map[xtf.Side]string{xtf.Before: "before", xtf.After: "after"}[side]
	return err
}

func (q *asked) byNumber() bool { return q.N != "" }

// numbers returns the range of row numbers from --n up to --to.
func (q *asked) numbers(x *xtf.Array) (first, last uint64, err error) {
	last = x.Len()
	if first, err = q.number(); err == nil && q.To != "" {
		last, err = parseNumber("--to", q.To)
	}
	return first, last, err
}

// keys returns the range of keys from --time or --key up to --to.
func (q *asked) keys() (first, last uint64, err error) {
	last = xtf.Never
	if q.Time != "" || q.Key != "" {
		first, err = q.from()
	}
	if err == nil && q.To != "" {
		last, err = q.instant("--to", q.To)
	}
	return first, last, err
}

func (q *asked) size(a *answer, x *xtf.Array) (err error) {
	var n, first, last uint64
	if q.byNumber() {
		if first, last, err = q.numbers(x); err == nil {
			n = x.SizeN(first, last)
		}
	} else if first, last, err = q.keys(); err == nil && q.To != "" {
		n, err = x.Size(first, last)
	} else if err == nil {
		n, err = x.SizeClosed(first, last)
	}
	a.Size, a.Found = &n, err == nil
	return err
}

func (q *asked) at(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	n, err := q.number()
	if err != nil || n >= x.Len() {
		return 0, 0, err
	}
	key, err := x.At(n)
	if err != nil {
		return 0, 0, err
	}
	a.Found, a.KeyAt = true, &key
	return n, 1, nil
}

// rows lists rows from --n, --time or --key on, up to --to.
func (q *asked) rows(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	last := x.Len()
	if q.byNumber() {
		first, last, err = q.numbers(x)
	} else {
		var k1, k2 uint64
		if k1, k2, err = q.keys(); err == nil && (q.Time != "" || q.Key != "") {
			first, err = x.Rank(k1)
		}
		if err == nil && q.To != "" {
			last, err = x.Rank(k2)
		}
	}
	last = min(last, x.Len())
	if err != nil || first >= last {
		return 0, 0, err
	}
	a.Found = true
	return first, min(last-first, uint64(q.Limit)), nil
}

// sumOver is one sum of a type over a span of time, computed in three ways.
type sumOver struct {
	Name         string `json:"name"`
	Lower        uint64 `json:"lower"`
	Upper        uint64 `json:"upper"`
	Interpolated uint64 `json:"interpolated"`
	Exact        uint64 `json:"exact"`
}

// visible lists the rows with T < end and End > begin.
func (q *asked) visible(a *answer, x *xtf.Array) error {
	if a.typ.End < 0 {
		return results.Refuse("visible: rows of type %s have no end: choose from %s", a.typ.Name, typesWith(q.run, func(t *xtf.Type) bool { return t.End >= 0 }))
	}
	begin, end, err := q.window()
	if err != nil {
		return err
	}
	a.Begin, a.End = &begin, &end
	err = x.Overlapping(begin, end, func(n uint64, row []byte) bool {
		if a.More = len(a.Rows) == q.Limit; a.More {
			return false
		}
		a.Rows = append(a.Rows, makeRow(a.typ, n, row))
		return true
	})
	a.Found = len(a.Rows) > 0
	return err
}

// window returns the span of time of rows. It refuses --ranks.
func (q *asked) window() (begin, end uint64, err error) {
	if q.Ranks != "" {
		return 0, 0, results.Refuse("%s is about one location: --rank and --thread, instead of --ranks", q.Primitive)
	}
	begin, end, _, err = q.span()
	return begin, end, err
}

// typesWith lists the types of the file for a message.
func typesWith(r *results.Run, has func(*xtf.Type) bool) string {
	var names []string
	all := r.File.Types().All()
	for i := range all {
		if has(&all[i]) {
			names = append(names, strings.ToLower(all[i].Name))
		}
	}
	return strings.Join(names, ", ")
}

// stats gives the sums of a span bounded, interpolated and exact.
func (q *asked) stats(a *answer) error {
	if len(a.typ.Sums) == 0 {
		return results.Refuse("stats: rows of type %s have no sums: choose from %s", a.typ.Name, typesWith(q.run, func(t *xtf.Type) bool { return len(t.Sums) > 0 }))
	}
	begin, end, err := q.window()
	if err != nil {
		return err
	}
	a.Begin, a.End = &begin, &end
	var lower, upper, about, exact []uint64
	for _, x := range []struct {
		of  string
		run func(*xtf.Array) error
	}{
		{"bounded", func(x *xtf.Array) error { lower, _, upper, err = x.Sums().Limits(begin, end); return err }},
		{"interpolated", func(x *xtf.Array) error { _, about, _, err = x.Sums().Limits(begin, end); return err }},
		{"exact", func(x *xtf.Array) error { exact, err = x.Sums().Between(begin, end); return err }},
	} {
		if err := a.part(&q.cost, x.of, func(st *xtf.Stats) error { return x.run(q.array.Counted(st)) }); err != nil {
			return err
		}
	}
	a.Sums = make([]sumOver, len(a.typ.Sums))
	for i := range a.Sums {
		s := &a.Sums[i]
		s.Name = a.typ.Sums[i].Name
		if q.array.HasSums() { // an array without rows has no sums
			s.Lower, s.Upper, s.Interpolated, s.Exact = lower[i], upper[i], about[i], exact[i]
		}
	}
	a.Found = q.array.Len() > 0
	return nil
}

// part runs one part of an answer and records its cost.
func (a *answer) part(cost *xtf.Stats, of string, run func(*xtf.Stats) error) error {
	var st xtf.Stats
	err := run(&st)
	cost.Add(st)
	a.Costs = append(a.Costs, costPart{of, st})
	return err
}

// window prints an answer about a span of time.
func (a *answer) window(w io.Writer, run *results.Run) error {
	u := run.Units()
	fmt.Fprintf(w, "%s to %s", u.Time(*a.Begin), u.Time(*a.End))
	if a.Sums == nil {
		fmt.Fprintf(w, ": %s\n", numbers.Plural(len(a.Rows), "row"))
		return nil
	}
	fmt.Fprintln(w, "; times in ticks")
	var rows [][]string
	for i := range a.Sums {
		s := &a.Sums[i]
		rows = append(rows, []string{numbers.Clean(s.Name, 40), numbers.Count(s.Lower), numbers.Count(s.Interpolated), numbers.Count(s.Exact), numbers.Count(s.Upper)})
	}
	return table.WriteTable(w, []string{"<sum", "at least", "interpolated", "exact", "at most"}, rows)
}

// binsAt is the level that a query of time bins chose.
type binsAt struct {
	Level  uint8  `json:"level"`
	Ticks  uint64 `json:"ticks"` // in a bin, 0 for 2^64
	Finest uint8  `json:"finest"`
	Top    uint8  `json:"top"`
}

// bins finds the rows of the time bins that overlap a span, on the level for --width pixels.
func (q *asked) bins(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	begin, end, err := q.window()
	if err != nil {
		return 0, 0, err
	}
	var n1, n2 uint64
	p, err := x.Pyramid(0)
	if err == nil {
		level := p.Level(begin, end, q.Width)
		a.Bins = &binsAt{level, 1 << (2 * level), p.Finest, p.Top}
		n1, n2, err = p.Find(level, begin, end)
	}
	if err != nil {
		return 0, 0, err
	}
	size := n2 - n1
	a.Begin, a.End, a.Size, a.Found, a.More = &begin, &end, &size, size > 0, size > uint64(q.Limit)
	return n1, min(size, uint64(q.Limit)), nil
}

// What by_channel says of a partner.
const (
	channelSame   = "same"    // as the stored one
	channelNone   = "none"    // the channel has no entry there
	channelShared = "shared"  // threads share the channel, only the stored one tells
	channelOther  = "another" // the file contradicts itself
)

// paired answers partner and members, for the row that --n, or --time and --mode, chooses.
func (q *asked) paired(a *answer, x *xtf.Array) error {
	if err := q.search(a, x); err != nil || !a.Found {
		return err
	}
	n := a.Position.N
	row, err := q.array.Counted(&q.rowCost).Row(n, nil)
	if err != nil {
		return err
	}
	if q.Primitive == "members" {
		return q.members(a, row)
	}
	a.Rows = append(a.Rows, q.rowOf(a, q.array.Proc(), n, row))
	return q.partner(a, n)
}

// rowOf returns a row with its location.
func (q *asked) rowOf(a *answer, p xtf.Proc, n uint64, row []byte) foundRow {
	r := makeRow(a.typ, n, row)
	r.where = new(q.run.Place(trace.P(p)))
	return r
}

func (q *asked) partner(a *answer, n uint64) error {
	f, p := q.run.File, q.array.Proc()
	var stored, found xtf.Partner
	var has, by bool
	err := a.part(&q.cost, "stored", func(st *xtf.Stats) (err error) {
		stored, has, err = f.Partner(p, n, st)
		return err
	})
	if err != nil {
		return err
	}
	a.ByChannel = ""
	err = a.part(&q.cost, "by channel", func(st *xtf.Stats) (err error) {
		found, by, err = f.PartnerByChannel(p, n, st)
		if errors.Is(err, xtf.ErrSharedChannel) {
			a.ByChannel, err = channelShared, nil
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case a.ByChannel != "":
	case by && (!has || found != stored):
		a.ByChannel = channelOther
	case by:
		a.ByChannel = channelSame
	default:
		a.ByChannel = channelNone
	}
	if a.Found = has; !has {
		return nil
	}
	at, err := f.Array(stored.P, xtf.TypeP2P)
	var row []byte
	if err == nil && stored.N >= at.Len() {
		err = fmt.Errorf("message %d: partner in row %d of %d: %w", n, stored.N, at.Len(), xtf.ErrCorrupt)
	}
	if err == nil {
		row, err = at.Counted(&q.rowCost).Row(stored.N, nil)
	}
	if err == nil {
		a.Rows = append(a.Rows, q.rowOf(a, stored.P, stored.N, row))
	}
	return err
}

func (q *asked) members(a *answer, row []byte) error {
	var c xtf.Coll
	c.Load(row)
	return a.part(&q.cost, "members", func(st *xtf.Stats) error {
		p1, p2, err := xtf.Proc(0), xtf.Proc(q.run.File.Procs()), error(nil)
		if q.run.Defs.IsSelf(c.Comm) { // each process has its own
			process, _ := q.run.Defs.Process(trace.P(q.array.Proc()))
			p1, p2, err = q.run.File.Locations(process, st)
		}
		size := uint64(0)
		if err == nil {
			err = q.run.File.Members(c.Comm, c.Ordinal, p1, p2, st, func(p xtf.Proc, n uint64, row []byte) bool {
				if size++; len(a.Rows) < q.Limit {
					a.Rows = append(a.Rows, q.rowOf(a, p, n, row))
				}
				return true
			})
		}
		a.Size, a.Found, a.More = &size, size > 0, size > uint64(len(a.Rows))
		return err
	})
}

// paired prints the answer about a row in one line.
func (a *answer) paired() string {
	of := fmt.Sprintf("row %d", a.Position.N)
	switch {
	case a.Primitive == "members" && !a.Found:
		return of + " was not matched with others"
	case a.Primitive == "members":
		return fmt.Sprintf("%s is one of %s", of, numbers.Plural(int(*a.Size), "member"))
	}
	by := map[string]string{
		channelSame: "its channel says the same", channelNone: "its channel has none either",
		channelShared: "threads share its channel, which therefore does not say",
		channelOther:  "its channel says another: run coppice check",
	}[a.ByChannel]
	if !a.Found {
		return of + " has no partner; " + by
	}
	if a.ByChannel == channelNone {
		by = strings.TrimSuffix(by, " either") + ": run coppice check"
	}
	to := a.Rows[len(a.Rows)-1]
	return fmt.Sprintf("%s and row %d of process %d, thread %d; %s", of, to.n, to.where.Process, to.where.Thread, by)
}

// foundRow is a row with its columns, from the file's own type table.
type foundRow struct {
	n       uint64
	typ     *xtf.Type
	columns []uint64
	where   *results.Place // for answers with rows of several locations
}

func makeRow(t *xtf.Type, n uint64, row []byte) foundRow {
	r := foundRow{n: n, typ: t}
	for i := range t.Columns {
		r.columns = append(r.columns, t.Columns[i].Value(row))
	}
	return r
}

// MarshalJSON writes the row as an object: its location if that differs between rows, n, then the columns in their order, as the
// numbers in the file. All ones mean none.
func (r foundRow) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	if p := r.where; p != nil {
		b = fmt.Appendf(b, `"location":%d,"process":%d,"thread":%d,`, p.Location, p.Process, p.Thread)
	}
	b = fmt.Appendf(b, `"n":%d`, r.n)
	for i, v := range r.columns {
		b = append(b, ',')
		b = strconv.AppendQuoteToASCII(b, numbers.Clean(r.typ.Columns[i].Name, 100))
		b = append(b, ':')
		b = strconv.AppendUint(b, v, 10)
	}
	return append(b, '}'), nil
}

func (a *answer) text(w io.Writer, run *results.Run) error {
	where := "the whole run"
	if a.Location != nil {
		where = results.Place{Location: *a.Location, Process: *a.Process, Thread: *a.Thread}.Text()
	}
	fmt.Fprintf(w, "%s in %s of %s: %s, index of height %d\n", a.Primitive, a.Type, where, numbers.Plural(int(a.ArrayRows), "row"), a.Height)
	switch {
	case a.Bins != nil:
		b, u := a.Bins, run.Units()
		fmt.Fprintf(w, "%s to %s: %s at level %d of %d to %d, bins of %s\n", u.Time(*a.Begin), u.Time(*a.End), numbers.Plural(int(*a.Size), "row"), b.Level, b.Finest, b.Top, u.Time(b.Ticks))
	case a.Position != nil && typeOf[a.Primitive] != "":
		fmt.Fprintln(w, a.paired())
	case a.Begin != nil:
		if err := a.window(w, run); err != nil {
			return err
		}
	case a.Size != nil:
		fmt.Fprintf(w, "size %s\n", numbers.Count(*a.Size))
	case !a.Found && a.Side != "":
		fmt.Fprintf(w, "not found: the step ends %s the array\n", a.Side)
	case !a.Found:
		fmt.Fprintln(w, "not found")
	case a.Position != nil:
		fmt.Fprintf(w, "row %d, page %d, slot %d\n", a.Position.N, a.Position.Page, a.Position.Slot)
	case a.KeyAt != nil:
		fmt.Fprintf(w, "key %d\n", *a.KeyAt)
	}
	if len(a.Rows) > 0 {
		if err := a.table(w, run); err != nil {
			return err
		}
	}
	if a.More {
		fmt.Fprintln(w, "there are more: --limit N")
	}
	for _, c := range a.Costs {
		fmt.Fprintf(w, "%s: %d pages read, %d in the cache, %d comparisons\n", c.Of, c.PageReads, c.Hits, c.Comparisons)
	}
	_, err := fmt.Fprintf(w, "cost: %d pages read, %d in the cache, %d comparisons; rows: %d pages read, %d in the cache\n",
		a.Cost.PageReads, a.Cost.Hits, a.Cost.Comparisons, a.RowCost.PageReads, a.RowCost.Hits)
	return err
}

// table prints the rows with their columns, and names for references.
func (a *answer) table(w io.Writer, run *results.Run) error {
	var head []string
	if a.Rows[0].where != nil {
		head = append(head, "process", "thread")
	}
	head = append(head, "n")
	for i := range a.typ.Columns {
		name := a.typ.Columns[i].Name
		if _, named := columnName(name, 0, run); named {
			name = "<" + name
		}
		head = append(head, name)
	}
	var rows [][]string
	for _, r := range a.Rows {
		var cells []string
		if r.where != nil {
			cells = append(cells, fmt.Sprint(r.where.Process), fmt.Sprint(r.where.Thread))
		}
		cells = append(cells, fmt.Sprint(r.n))
		for i, v := range r.columns {
			cells = append(cells, cell(&a.typ.Columns[i], v, run))
		}
		rows = append(rows, cells)
	}
	return table.WriteTable(w, head, rows)
}

// cell prints a value, - for all ones, which mean none.
func cell(c *xtf.Column, v uint64, run *results.Run) string {
	if v == 1<<(8*c.Width)-1 && c.Width >= 4 {
		return "-"
	}
	if name, ok := columnName(c.Name, v, run); ok {
		return fmt.Sprintf("%d %s", v, numbers.Clean(name, 40))
	}
	return strconv.FormatUint(v, 10)
}

// columnName returns the name to which the value of a column refers.
func columnName(column string, v uint64, run *results.Run) (string, bool) {
	switch column {
	case "region":
		return run.RegionName(uint32(v)), true
	case "comm":
		return run.CommName(uint32(v)), true
	case "code":
		return strings.TrimSpace(trace.Code(v).String()), true
	}
	return "", false
}
