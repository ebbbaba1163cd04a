package report

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/ccg"
)

// Instance is one call of a region on a location.
type Instance struct {
	Place
	Region   uint32  `json:"region"`
	Name     string  `json:"name"`
	Calls    uint64  `json:"calls"` // of the region on the location
	Found    bool    `json:"found"` // the rest is 0 if there is no such call
	Number   uint64  `json:"number"`
	Depth    int     `json:"depth"`
	Event    uint64  `json:"event"`      // number of its enter
	Last     uint64  `json:"last_event"` // number of its leave
	Begin    uint64  `json:"begin"`      // ticks
	End      uint64  `json:"end"`
	Duration uint64  `json:"duration"`
	Cut      bool    `json:"cut"` // it never left: the last event ends it
	Bound    *Bound  `json:"bound"`
	Off      *uint64 `json:"deviation,omitempty"` // how far the duration may be off; absent: exact
}

// Instance returns call number k of a region, from 0 in the order of enters.
func (g *GraphReader) Instance(region uint32, k uint64) (*Instance, error) {
	x := &Instance{
		Place: g.run.place(g.p), Region: region, Name: g.run.RegionName(region), Number: k,
		Calls: g.index.Calls(region), Bound: g.run.boundOf(g.dev),
	}
	c, err := g.index.Call(region, k)
	if errors.Is(err, ccg.ErrRange) {
		return x, nil
	}
	if err != nil {
		return nil, g.failed(err)
	}
	x.Found, x.Depth, x.Event, x.Last, x.Cut = true, c.Depth, c.Event, c.Last, c.Cut
	x.Begin, x.End, x.Duration = g.ticks(c.Begin), g.ticks(c.End), uint64(c.End-c.Begin)
	if !g.dev.Lossless() {
		off := g.dev.StoredBound(c.Last-c.Event, x.Duration)
		if g.dev.TimeStamps { // a span is off by less than the absolute bound
			off = min(off, g.dev.Abs-1)
		}
		if most := g.loc.ErrorStats().Largest; most < off/2 { // of both ends
			off = 2 * most
		}
		x.Off = &off
	}
	return x, nil
}

// WriteText prints where the call is and how long it takes.
func (x *Instance) WriteText(out io.Writer, u unit) error {
	return u.print(out, 0, nil, func(c *chapter) {
		c.say("call %s of %s of %s, %s", count(x.Number), count(x.Calls), clean(x.Name, 60), x.Place.text())
		if !x.Found {
			c.say("not found: calls are numbered from 0")
			return
		}
		c.noteBound(x.Bound, x.Off, u)
		cut := ""
		if x.Cut {
			cut = ", never left: the last event"
		}
		c.say("%s to %s%s, %s", u.Time(x.Begin), u.Time(x.End), cut, u.span(x.Duration))
		c.say("events %s to %s, depth %d", count(x.Event), count(x.Last), x.Depth)
	})
}
