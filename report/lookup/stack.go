package lookup

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
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
	results.Place
	Source results.Source `json:"source"`
	Time   uint64         `json:"time"`   // ticks
	Event  *uint64        `json:"events"` // until then; nil from rows
	Calls  []StackCall    `json:"calls"`  // outermost first
	Bound  *results.Bound `json:"bound"`
	Off    *uint64        `json:"deviation,omitempty"` // how far stored times there may be off; absent: exact
}

// NewStack returns the calls of location p that are open after all events at or
// before an instant: of rows those with T <= ticks < End. What rows cost is added
// to st.
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

// stack fills in what the graph knows.
func (g *GraphReader) stack(s *Stack) error {
	s.Bound = g.run.BoundOf(g.Dev)
	c := g.Index.Cursor()
	if err := seekBehind(c, g.Loc, g.clock(s.Time)); err != nil {
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
		s.Calls = append(s.Calls, StackCall{i, x.Region, g.run.RegionName(x.Region), &x.Event, nil, g.ticks(x.Begin)})
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
