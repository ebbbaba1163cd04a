package lookup

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/results"
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
	Dev    ccg.Deviation
}

// NewReader opens the call graph of location p.
func NewReader(r *results.Run, p trace.P) (*GraphReader, error) {
	shared, err := r.Graph()
	if err != nil {
		return nil, err
	}
	l, err := r.Location(shared, p)
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
				r.Name, r.Defs.Location(p).Ref, l.First(), v[xtf.ItemFirst], ccg.ErrCorrupt)
		}
		g.origin = l.First() - trace.Time(v[xtf.ItemFirst])
	}
	return g, nil
}

// clock turns ticks since the origin into the graph's times; what no clock shows
// becomes its last tick.
func (g *GraphReader) clock(ticks uint64) trace.Time {
	if t := g.origin + trace.Time(ticks); t >= g.origin {
		return t
	}
	return ^trace.Time(0)
}

// ticks is the other way round.
func (g *GraphReader) ticks(t trace.Time) uint64 { return uint64(t - min(g.origin, t)) }

// seekBehind moves to after the last event at or before t.
func seekBehind(c *ccg.Cursor, l *ccg.Location, t trace.Time) error {
	if t+1 == 0 {
		return c.SeekEvent(l.Events())
	}
	return c.SeekTime(t + 1)
}

// off returns how far the time at a cursor may be off, nil if the graph is exact:
// what the bound of gaps guarantees, or the largest error of the location, which
// the analysis counted, if that is less.
func (g *GraphReader) off(c *ccg.Cursor) *uint64 {
	if g.Dev.Lossless() {
		return nil
	}
	n := min(g.Dev.TimeBound(c.Event(), uint64(c.Time()-g.Loc.First())), g.Loc.ErrorStats().Largest)
	return &n
}

// Failed says whose graph an error is about.
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
	Event   uint64 // number; forwards the first one, backwards the one after the first
	Time    uint64 // ticks, if ByTime: the first event then or later, backwards the last one before
	ByTime  bool
	Reverse bool // from the end
}

// Walk returns up to n events from a place on, in the order in which they are
// passed.
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
		w.Events = append(w.Events, EventAt{s.Event, g.ticks(s.Time), s.Kind.Info().Name, s.Region, g.run.RegionName(s.Region), s.Depth, off})
	}
	if err := c.Err(); err != nil {
		return nil, g.Failed(err)
	}
	return w, nil
}
