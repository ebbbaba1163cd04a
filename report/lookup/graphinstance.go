package lookup

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// Instance is one call of a region on a location.
type Instance struct {
	results.Place
	Region   uint32         `json:"region"`
	Name     string         `json:"name"`
	Calls    uint64         `json:"calls"` // of the region on the location
	Found    bool           `json:"found"` // the rest is 0 if there is no such call
	Number   uint64         `json:"number"`
	Depth    int            `json:"depth"`
	Event    uint64         `json:"event"`      // number of its enter
	Last     uint64         `json:"last_event"` // number of its leave
	Begin    uint64         `json:"begin"`      // ticks
	End      uint64         `json:"end"`
	Duration uint64         `json:"duration"`
	Cut      bool           `json:"cut"` // it never left: the last event ends it
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
	x.Begin, x.End, x.Duration = g.ticks(c.Begin), g.ticks(c.End), uint64(c.End-c.Begin)
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
