package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

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
	Place
	Source Source      `json:"source"`
	Time   uint64      `json:"time"`   // ticks
	Event  *uint64     `json:"events"` // until then; nil from rows
	Calls  []StackCall `json:"calls"`  // outermost first
	Bound  *Bound      `json:"bound"`
	Off    *uint64     `json:"deviation,omitempty"` // how far stored times there may be off; absent: exact
}

// Stack returns the calls of location p that are open after all events at or
// before an instant: of rows those with T <= ticks < End. What rows cost is added
// to st.
func (r *Run) Stack(p trace.P, ticks uint64, from Source, st *xtf.Stats) (*Stack, error) {
	from, err := r.source(from)
	if err != nil {
		return nil, err
	}
	s := &Stack{Place: r.place(p), Source: from, Time: ticks, Calls: []StackCall{}}
	if from == SourceRows {
		return s, r.stackOfRows(s, p, st)
	}
	g, err := r.Reader(p)
	if err != nil {
		return nil, err
	}
	return s, g.stack(s)
}

func (r *Run) stackOfRows(s *Stack, p trace.P, st *xtf.Stats) error {
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

// stack fills in what the graph knows.
func (g *GraphReader) stack(s *Stack) error {
	s.Bound = g.run.boundOf(g.dev)
	c := g.index.Cursor()
	if err := seekBehind(c, g.loc, g.clock(s.Time)); err != nil {
		return g.failed(err)
	}
	event := c.Event()
	s.Event = &event
	s.Off = g.off(c)
	open, err := c.Open(nil)
	if err != nil {
		return g.failed(err)
	}
	for i, x := range open {
		s.Calls = append(s.Calls, StackCall{i, x.Region, g.run.RegionName(x.Region), &x.Event, nil, g.ticks(x.Begin)})
	}
	return nil
}

// WriteText prints the stack, outermost call first.
func (s *Stack) WriteText(out io.Writer, u unit) error {
	return u.print(out, 0, nil, func(c *chapter) {
		from, last := "the rows", "row"
		if s.Event != nil {
			from, last = "the call graph, behind event "+count(*s.Event), "event"
		}
		c.say("%s at %s: %s open, from %s", s.Place.text(), u.Time(s.Time), plural(len(s.Calls), "call"), from)
		c.noteBound(s.Bound, s.Off, u)
		t := &Table{Columns: []Column{ints("depth", ""), words("region", ""), ints(u.of("entered"), ""), ints("open for", ""), ints(last, "")}}
		for _, x := range s.Calls {
			n := cmp.Or(x.N, x.Event)
			t.add(plainNumber(x.Depth), tree(clean(x.Name, 60), min(x.Depth, 20)), u.time(x.Begin), u.time(s.Time-min(x.Begin, s.Time)), number(*n))
		}
		c.table(t)
	})
}
