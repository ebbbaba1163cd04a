package lookup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// GraphReader answers questions about one location from its call graph, without
// unfolding it. Times are ticks since the run's origin, as in rows. It belongs to
// one goroutine.
type GraphReader struct {
	run    *results.Run
	p      trace.P
	Loc    *ccg.Location
	Index  *ccg.Index
	origin trace.Time
	Dev    graph.Deviation
}

// OfMetrics reports whether the location records metrics of others. Such a location has no time of its own.
func (g *GraphReader) OfMetrics() bool { return g.run.Defs.Location(g.p).Type == trace.MetricLocation }

// NewReader opens the call graph of location p.
func NewReader(r *results.Run, p trace.P) (*GraphReader, error) {
	l, err := r.Location(p)
	if err != nil {
		return nil, err
	}
	v, err := r.Components(p)
	if err != nil {
		return nil, err
	}
	g := &GraphReader{run: r, p: p, Loc: l, Index: l.Index(), Dev: l.Deviation()}
	if l.Events() > 0 {
		if v[xtf.ItemFirst] > uint64(l.First()) {
			return nil, fmt.Errorf("%s: location %d: call graph: first event at tick %d of its clock, at %d of the run: %w",
				r.Name, r.Defs.Location(p).Ref, l.First(), v[xtf.ItemFirst], graph.ErrCorrupt)
		}
		g.origin = l.First() - trace.Time(v[xtf.ItemFirst])
	}
	return g, nil
}

// clock turns ticks since the origin into times of the graph. Ticks that the clock cannot show become its last tick.
func (g *GraphReader) clock(ticks uint64) trace.Time {
	if t := g.origin + trace.Time(ticks); t >= g.origin {
		return t
	}
	return ^trace.Time(0)
}

// Ticks is the reverse of clock: ticks since the origin of the run at a time of the graph.
func (g *GraphReader) Ticks(t trace.Time) uint64 { return uint64(t - min(g.origin, t)) }

// off returns how far the time at a cursor may be off, nil if the graph is exact. This is the guaranteed bound of gaps or, if it
// is less, the largest error of the location, which the analysis counted.
func (g *GraphReader) off(c *ccg.Cursor) *uint64 {
	if g.Dev.Lossless() {
		return nil
	}
	n := min(g.Dev.TimeBound(c.Event(), uint64(c.Time()-g.Loc.First())), g.Loc.ErrorStats().Largest)
	return &n
}

// Failed adds to an error whose graph it is about.
func (g *GraphReader) Failed(err error) error {
	return fmt.Errorf("%s: location %d: %w", g.run.Name, g.run.Defs.Location(g.p).Ref, err)
}

// EventAt is one event of a walk.
type EventAt struct {
	Event  uint64  `json:"event"` // number in the location's stream
	Time   uint64  `json:"time"`  // ticks
	Kind   string  `json:"kind"`
	Region uint32  `json:"region"` // entered, left, or around the record
	Name   string  `json:"name"`
	Depth  int     `json:"depth"` // calls open around it
	Off    *uint64 `json:"deviation,omitempty"`
}

// Walk is a run of events of a location.
type Walk struct {
	results.Place
	Backwards bool           `json:"backwards"`
	Events    []EventAt      `json:"events"`
	Bound     *results.Bound `json:"bound"`
}

// From is where a walk begins.
type From struct {
	Event   uint64 // number: forwards of the first event, backwards of the one after the first
	Time    uint64 // ticks, if ByTime: the first event at or after it, backwards the last one before it
	ByTime  bool
	Reverse bool // from the end
}

// Walk returns up to n events from a place on, in the order of the walk.
func (g *GraphReader) Walk(from From, n int) (*Walk, error) {
	w := &Walk{Place: g.run.Place(g.p), Backwards: from.Reverse, Events: []EventAt{}, Bound: g.run.BoundOf(g.Dev)}
	c := g.Index.Cursor()
	var err error
	if from.ByTime {
		err = c.SeekTime(g.clock(from.Time))
	} else {
		err = c.SeekEvent(min(from.Event, g.Loc.Events()))
	}
	if err != nil {
		return nil, g.Failed(err)
	}
	step := c.Next
	if from.Reverse {
		step = c.Prev
	}
	for len(w.Events) < n {
		off := g.off(c)
		s, ok := step()
		if !ok {
			break
		}
		if !from.Reverse {
			off = g.off(c)
		}
		w.Events = append(w.Events, EventAt{s.Event, g.Ticks(s.Time), s.Kind.Info().Name, s.Region, g.run.RegionName(s.Region), s.Depth, off})
	}
	if err := c.Err(); err != nil {
		return nil, g.Failed(err)
	}
	return w, nil
}

// Instance is one call of a region on a location.
type Instance struct {
	results.Place
	Region   uint32         `json:"region"`
	Name     string         `json:"name"`
	Calls    uint64         `json:"calls"` // of the region on the location
	Found    bool           `json:"found"` // false: there is no such call, and the fields below are 0
	Number   uint64         `json:"number"`
	Depth    int            `json:"depth"`
	Event    uint64         `json:"event"`      // number of its enter
	Last     uint64         `json:"last_event"` // number of its leave
	Begin    uint64         `json:"begin"`      // ticks
	End      uint64         `json:"end"`
	Duration uint64         `json:"duration"`
	Cut      bool           `json:"cut"` // it has no leave: the last event ends it
	Bound    *results.Bound `json:"bound"`
	Off      *uint64        `json:"deviation,omitempty"` // how far the duration may be off; absent: exact
}

// Instance returns call number k of a region, from 0 in the order of enters.
func (g *GraphReader) Instance(region uint32, k uint64) (*Instance, error) {
	x := &Instance{
		Place: g.run.Place(g.p), Region: region, Name: g.run.RegionName(region), Number: k,
		Calls: g.Index.Calls(region), Bound: g.run.BoundOf(g.Dev),
	}
	c, err := g.Index.Call(region, k)
	if errors.Is(err, ccg.ErrRange) {
		return x, nil
	}
	if err != nil {
		return nil, g.Failed(err)
	}
	x.Found, x.Depth, x.Event, x.Last, x.Cut = true, c.Depth, c.Event, c.Last, c.Cut
	x.Begin, x.End, x.Duration = g.Ticks(c.Begin), g.Ticks(c.End), uint64(c.End-c.Begin)
	if !g.Dev.Lossless() {
		off := g.Dev.StoredBound(c.Last-c.Event, x.Duration)
		if g.Dev.TimeStamps { // a span is off by less than the absolute bound
			off = min(off, g.Dev.Abs-1)
		}
		if most := g.Loc.ErrorStats().Largest; most < off/2 { // of both ends
			off = 2 * most
		}
		x.Off = &off
	}
	return x, nil
}

// WriteText prints where the call is and how long it takes.
func (x *Instance) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, 0, nil, func(c *table.Chapter) {
		c.Say("call %s of %s of %s, %s", numbers.Count(x.Number), numbers.Count(x.Calls), numbers.Clean(x.Name, 60), x.Place.Text())
		if !x.Found {
			c.Say("not found: calls are numbered from 0")
			return
		}
		results.NoteBound(c, x.Bound, x.Off, u)
		cut := ""
		if x.Cut {
			cut = ", never left: the last event"
		}
		c.Say("%s to %s%s, %s", u.Time(x.Begin), u.Time(x.End), cut, u.Span(x.Duration))
		c.Say("events %s to %s, depth %d", numbers.Count(x.Event), numbers.Count(x.Last), x.Depth)
	})
}

// ErrSpan says that a span of time or a width makes no sense.
var ErrSpan = errors.New("not a span of time")

// Window is what the chosen processes did in [Begin, End), from the call graph. Calls that cross a border count with the part
// inside.
type Window struct {
	Ranks         string         `json:"ranks"`
	Locations     int            `json:"locations"`
	Begin         uint64         `json:"begin"` // ticks
	End           uint64         `json:"end"`
	Events        uint64         `json:"events"`
	Sent          uint64         `json:"messages_sent"`
	SentBytes     uint64         `json:"bytes_out"`
	Received      uint64         `json:"messages_received"` // as they complete
	ReceivedBytes uint64         `json:"bytes_in"`
	Outside       uint64         `json:"outside"` // ticks in no recorded call
	Regions       []WindowRegion `json:"regions"` // by falling exclusive time
	Bound         *results.Bound `json:"bound"`
	Off           *uint64        `json:"deviation,omitempty"` // how far any of the times may be off; absent: exact
	Lost          []table.Lost   `json:"lost,omitempty"`
}

// WindowRegion is a region's part in a Window.
type WindowRegion struct {
	Region    uint32        `json:"region"`
	Name      string        `json:"name"`
	Calls     uint64        `json:"calls"`    // begun inside
	Touching  uint64        `json:"touching"` // open inside
	Exclusive uint64        `json:"exclusive"`
	Inclusive uint64        `json:"inclusive"` // with calls of it open, nested ones counted once
	Share     numbers.Ratio `json:"share"`     // exclusive, of the locations' time in the window
}

// EachReader opens the graphs of the chosen processes' locations that have events, one after another. It returns locations that
// cannot be read as lost.
func EachReader(r *results.Run, ranks results.Ranks, section string, f func(*GraphReader) error) ([]table.Lost, error) {
	if _, err := r.Graph(); err != nil {
		return nil, err
	}
	return r.EachLocation(ranks, section, func(p trace.P) error {
		g, err := NewReader(r, p)
		if err == nil && g.Loc.Events() > 0 {
			err = f(g)
		}
		return err
	})
}

// NewWindow returns what the chosen processes did in [begin, end), in ticks.
func NewWindow(r *results.Run, ranks results.Ranks, begin, end uint64) (*Window, error) {
	if begin > end {
		return nil, fmt.Errorf("from tick %d to %d: %w", begin, end, ErrSpan)
	}
	w := &Window{Ranks: ranks.String(), Begin: begin, End: end, Regions: []WindowRegion{}}
	var sum *ccg.Interval
	var err error
	w.Lost, err = EachReader(r, ranks, "interval", func(g *GraphReader) error {
		iv, err := g.Index.Interval(g.clock(begin), g.clock(end))
		if err != nil {
			return g.Failed(err)
		}
		if sum == nil {
			sum = &iv
		} else if err := sum.Add(&iv); errors.Is(err, ccg.ErrRange) { // its clock differs from that of earlier locations
			return g.Failed(fmt.Errorf("%w: %w", err, graph.ErrCorrupt))
		} else if err != nil {
			return g.Failed(err)
		}
		w.Locations++
		w.Bound = g.run.BoundOf(g.Dev)
		return nil
	})
	if err != nil || sum == nil {
		return w, err
	}
	w.fill(r, sum)
	return w, nil
}

func (w *Window) fill(r *results.Run, iv *ccg.Interval) {
	w.Events, w.Sent, w.SentBytes, w.Received, w.ReceivedBytes = iv.Events, iv.Sent, iv.SentBytes, iv.Received, iv.ReceivedBytes
	if w.Bound != nil {
		w.Off = &iv.Bound
	}
	all := uint64(0)
	for _, x := range iv.Regions {
		all += x.Exclusive
	}
	for _, x := range iv.Regions {
		if x.Region == trace.Undefined && x.Calls == 0 && x.Touching == 0 {
			w.Outside = x.Exclusive
			continue
		}
		w.Regions = append(w.Regions, WindowRegion{
			x.Region, r.RegionName(x.Region), x.Calls, x.Touching, x.Exclusive, x.Inclusive, numbers.NewRatio(x.Exclusive, all),
		})
	}
	slices.SortStableFunc(w.Regions, func(a, b WindowRegion) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
}

// Picture is a timeline: for each location the region that took most of each
// pixel's time.
type Picture struct {
	Ranks   string          `json:"ranks"`
	Begin   uint64          `json:"begin"` // ticks
	End     uint64          `json:"end"`
	Width   int             `json:"width"`
	Regions []PictureRegion `json:"regions"` // painted ones, by falling time
	Rows    []PictureRow    `json:"rows"`
	Bound   *results.Bound  `json:"bound"`
	Off     *uint64         `json:"deviation,omitempty"` // how far the times between two pixels may be off
	Lost    []table.Lost    `json:"lost,omitempty"`
}

// PictureRegion is a region of a Picture.
type PictureRegion struct {
	Region uint32 `json:"region"`
	Name   string `json:"name"`
	Pixels uint64 `json:"pixels"`
	Time   uint64 `json:"time"` // ticks in the pixels that show it
}

// PictureRow is a location of a Picture.
type PictureRow struct {
	results.Place
	Pixels []int `json:"pixels"` // number in Regions, -1: nothing recorded
}

// NewPicture paints [begin, end) of the chosen processes in width pixels each.
func NewPicture(r *results.Run, ranks results.Ranks, begin, end uint64, width int) (*Picture, error) {
	if begin > end || width < 1 || width > maxWidth {
		return nil, fmt.Errorf("from tick %d to %d in %d pixels: %w", begin, end, width, ErrSpan)
	}
	p := &Picture{Ranks: ranks.String(), Begin: begin, End: end, Width: width, Regions: []PictureRegion{}, Rows: []PictureRow{}}
	at := map[uint32]int{}
	var err error
	p.Lost, err = EachReader(r, ranks, "timeline", func(g *GraphReader) error {
		t, err := g.Index.Timeline(g.clock(begin), g.clock(end), width)
		if err != nil {
			return g.Failed(err)
		}
		if p.Bound = g.run.BoundOf(g.Dev); p.Bound != nil && (p.Off == nil || t.Bound > *p.Off) {
			p.Off = &t.Bound
		}
		p.Rows = append(p.Rows, p.row(g, t.Pixels, at))
		return nil
	})
	p.sort()
	return p, err
}

// maxWidth bounds a picture: its text has a character per pixel.
const maxWidth = 1 << 16

func (p *Picture) row(g *GraphReader, pixels []ccg.Pixel, at map[uint32]int) PictureRow {
	row := PictureRow{Place: g.run.Place(g.p), Pixels: make([]int, len(pixels))}
	for i, x := range pixels {
		if x.Region == trace.Undefined {
			row.Pixels[i] = -1
			continue
		}
		k, ok := at[x.Region]
		if !ok {
			k = len(p.Regions)
			at[x.Region] = k
			p.Regions = append(p.Regions, PictureRegion{Region: x.Region, Name: g.run.RegionName(x.Region)})
		}
		p.Regions[k].Pixels++
		p.Regions[k].Time += x.Ticks
		row.Pixels[i] = k
	}
	return row
}

// sort numbers the regions by falling time, ties by reference.
func (p *Picture) sort() {
	order := make([]int, len(p.Regions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Regions[b].Time, p.Regions[a].Time), cmp.Compare(p.Regions[a].Region, p.Regions[b].Region))
	})
	number := make([]int, len(order))
	regions := make([]PictureRegion, len(order))
	for n, i := range order {
		number[i], regions[n] = n, p.Regions[i]
	}
	p.Regions = regions
	for _, row := range p.Rows {
		for i, k := range row.Pixels {
			if k >= 0 {
				row.Pixels[i] = number[k]
			}
		}
	}
}

// WriteText prints the events in the order in which they were passed.
func (x *Walk) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, len(x.Events), nil, func(c *table.Chapter) {
		c.Say("%s of %s", numbers.Plural(len(x.Events), "event"), x.Place.Text())
		results.NoteBound(c, x.Bound, nil, u)
		t := &table.Table{Columns: []table.Column{table.Ints("event", ""), table.Ints(table.Of(u, "time"), ""), table.Words("record", ""), table.Ints("depth", ""), table.Words("region", ""), table.Ints("±", "")}}
		for _, e := range x.Events {
			t.Add(table.Number(e.Event), table.Time(u, e.Time), table.Word(e.Kind), table.PlainNumber(e.Depth), table.Word(numbers.Clean(e.Name, 60)), table.Off(u, e.Off))
		}
		c.Table(t)
	})
}

// WriteText prints the profile of the window.
func (x *Window) WriteText(out io.Writer, u numbers.Units, limit int) error {
	return table.WriteText(u, out, limit, x.Lost, func(c *table.Chapter) {
		c.Say("%s to %s, %s: %s, %s of %s sent, %s of %s received", u.Time(x.Begin), u.Time(x.End), numbers.Plural(x.Locations, "location"),
			numbers.Plural(int(x.Events), "event"), numbers.Plural(int(x.Sent), "message"), numbers.Bytes(x.SentBytes), numbers.Count(x.Received), numbers.Bytes(x.ReceivedBytes))
		results.NoteBound(c, x.Bound, x.Off, u)
		t := &table.Table{Columns: []table.Column{table.Words("region", ""), table.Ints("calls", ""), table.Ints("open", ""), table.Ints(table.Of(u, "exclusive"), ""), table.Reals("share", ""), table.Ints(table.Of(u, "inclusive"), "")}}
		table.Fill(t, "region", x.Regions, func(r *WindowRegion) []table.Cell {
			return []table.Cell{table.Word(numbers.Clean(r.Name, 60)), table.Number(r.Calls), table.Number(r.Touching), table.Time(u, r.Exclusive), table.Share(r.Share), table.Time(u, r.Inclusive)}
		})
		if x.Outside > 0 {
			t.Add(table.Word("(outside recorded calls)"), table.None(), table.None(), table.Time(u, x.Outside))
		}
		c.Table(t)
	})
}

// letters are the regions of a picture; the last letter is all others.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#"

// WriteText draws a line per location and a legend.
func (p *Picture) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, len(letters), p.Lost, func(c *table.Chapter) {
		c.Say("%s to %s in %s of %s", u.Time(p.Begin), u.Time(p.End), numbers.Plural(p.Width, "pixel"), u.Span((p.End-p.Begin)/uint64(p.Width)))
		results.NoteBound(c, p.Bound, p.Off, u)
		t := &table.Table{Columns: []table.Column{table.Words("", ""), table.Words("", "")}}
		for _, row := range p.Rows {
			line := make([]byte, len(row.Pixels))
			for i, k := range row.Pixels {
				if line[i] = '.'; k >= 0 {
					line[i] = letters[min(k, len(letters)-1)]
				}
			}
			t.Add(table.Word(fmt.Sprintf("%d.%d", row.Process, row.Thread)), table.Word(string(line)))
		}
		c.Table(t)
		if n := len(p.Regions) - len(letters); n > 0 {
			c.Say("# stands for %s more", numbers.Plural(n+1, "region"))
		}
		t = &table.Table{Columns: []table.Column{table.Words("", ""), table.Words("region", ""), table.Ints("pixels", ""), table.Ints(u.Name(), "")}}
		for k, r := range p.Regions[:min(len(p.Regions), len(letters))] {
			t.Add(table.Word(letters[k:k+1]), table.Word(numbers.Clean(r.Name, 60)), table.Number(r.Pixels), table.Time(u, r.Time))
		}
		c.Table(t)
	})
}

// StackCall is a call that is open at an instant.
type StackCall struct {
	Depth  int     `json:"depth"`
	Region uint32  `json:"region"`
	Name   string  `json:"name"`
	Event  *uint64 `json:"event"` // number of its enter; nil from rows
	N      *uint64 `json:"n"`     // number of its row; nil from the graph
	Begin  uint64  `json:"begin"` // ticks
}

// Stack is what is open on a location at an instant.
type Stack struct {
	results.Place
	Source results.Source `json:"source"`
	Time   uint64         `json:"time"`   // ticks
	Event  *uint64        `json:"events"` // events until then; nil from rows
	Calls  []StackCall    `json:"calls"`  // outermost first
	Bound  *results.Bound `json:"bound"`
	Off    *uint64        `json:"deviation,omitempty"` // how far stored times near it may be off; absent: exact
}

// NewStack returns the calls of location p that are open after all events at or before an instant: in rows, those with T <= ticks
// < End. It adds the cost of rows to st.
func NewStack(r *results.Run, p trace.P, ticks uint64, from results.Source, st *xtf.Stats) (*Stack, error) {
	from, err := r.Source(from)
	if err != nil {
		return nil, err
	}
	s := &Stack{Place: r.Place(p), Source: from, Time: ticks, Calls: []StackCall{}}
	if from == results.SourceRows {
		return s, stackOfRows(r, s, p, st)
	}
	g, err := NewReader(r, p)
	if err != nil {
		return nil, err
	}
	return s, g.stack(s)
}

func stackOfRows(r *results.Run, s *Stack, p trace.P, st *xtf.Stats) error {
	a, err := r.File.Array(xtf.Proc(p), xtf.TypeCall)
	if err == nil {
		err = a.Counted(st).Stack(s.Time, func(n uint64, row []byte) bool {
			var c xtf.Call
			c.Load(row)
			s.Calls = append(s.Calls, StackCall{Region: c.Region, Name: r.RegionName(c.Region), N: &n, Begin: c.T})
			return true
		})
	}
	if err != nil {
		return fmt.Errorf("%s: location %d: %w", r.Name, s.Location, err)
	}
	slices.Reverse(s.Calls)
	for i := range s.Calls {
		s.Calls[i].Depth = i
	}
	return nil
}

// stack fills in what the call graph knows.
func (g *GraphReader) stack(s *Stack) error {
	s.Bound = g.run.BoundOf(g.Dev)
	c := g.Index.Cursor()
	err := c.SeekEvent(g.Loc.Events())
	if t := g.clock(s.Time); t+1 != 0 { // go to after the last event at or before it
		err = c.SeekTime(t + 1)
	}
	if err != nil {
		return g.Failed(err)
	}
	event := c.Event()
	s.Event = &event
	s.Off = g.off(c)
	open, err := c.Open(nil)
	if err != nil {
		return g.Failed(err)
	}
	for i, x := range open {
		s.Calls = append(s.Calls, StackCall{i, x.Region, g.run.RegionName(x.Region), &x.Event, nil, g.Ticks(x.Begin)})
	}
	return nil
}

// WriteText prints the stack, outermost call first.
func (s *Stack) WriteText(out io.Writer, u numbers.Units) error {
	return table.WriteText(u, out, 0, nil, func(c *table.Chapter) {
		from, last := "the rows", "row"
		if s.Event != nil {
			from, last = "the call graph, after event "+numbers.Count(*s.Event), "event"
		}
		c.Say("%s at %s: %s open, from %s", s.Place.Text(), u.Time(s.Time), numbers.Plural(len(s.Calls), "call"), from)
		results.NoteBound(c, s.Bound, s.Off, u)
		t := &table.Table{Columns: []table.Column{table.Ints("depth", ""), table.Words("region", ""), table.Ints(table.Of(u, "entered"), ""), table.Ints("open for", ""), table.Ints(last, "")}}
		for _, x := range s.Calls {
			n := cmp.Or(x.N, x.Event)
			t.Add(table.PlainNumber(x.Depth), table.Tree(numbers.Clean(x.Name, 60), min(x.Depth, 20)), table.Time(u, x.Begin), table.Time(u, s.Time-min(x.Begin, s.Time)), table.Number(*n))
		}
		c.Table(t)
	})
}
