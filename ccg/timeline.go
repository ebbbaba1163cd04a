package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/trace"
)

// Pixel is the region with the most time in a pixel, of several the one with the lowest reference.
type Pixel struct {
	Region uint32 // trace.Undefined: no call, or nothing was recorded
	Ticks  uint64 // time of the region in the pixel
}

// Timeline is a row of pixels. Pixel i of w begins at Begin + i*(End-Begin)/w, rounded down.
type Timeline struct {
	Begin, End trace.Time
	Pixels     []Pixel
	Bound      uint64 // ticks by which the times between two pixels may be wrong; 0 if lossless
}

// maxPixels is the most pixels of a timeline.
const maxPixels = 1 << 24

// painter computes the pixels from left to right.
type painter struct {
	g      *ledger
	c      *Cursor
	out    Timeline
	w      uint64
	i      uint64     // current pixel
	now    trace.Time // everything before is painted
	end    trace.Time // of the current pixel
	ticks  []uint64   // of each state, in the current pixel
	before []uint64   // of each state, before now; if known
	known  bool
}

// Timeline returns the region with most exclusive time in each of w pixels. Pixels with many events are differences of sums as in Interval;
// others are read: O(w * (nodes + columns)), less if there are few events.
func (x *Index) Timeline(begin, end trace.Time, w int) (Timeline, error) {
	if begin > end || w < 1 || w > maxPixels {
		return Timeline{}, fmt.Errorf("call graph: timeline of %d pixels from %d to %d: %w", w, begin, end, ErrRange)
	}
	if err := x.openFlat(); err != nil {
		return Timeline{}, err
	}
	g := x.flat
	p := painter{g: g, c: x.scouting(), w: uint64(w), now: begin, ticks: make([]uint64, g.states.len())}
	p.out = Timeline{Begin: begin, End: end, Pixels: make([]Pixel, 0, w)}
	p.end = p.border(1)
	if err := p.c.SeekTime(begin); err != nil {
		return Timeline{}, err
	}
	g.enterStates(p.c)
	for p.i < p.w {
		j, err := x.markBefore(p.end)
		if err == nil && j*graph.MarkEvery > p.c.next+2*x.near {
			err = p.jump()
		} else if err == nil {
			err = p.walk()
		}
		if err != nil {
			return Timeline{}, err
		}
	}
	p.out.Bound = x.timelineBound(end)
	return p.out, nil
}

// border returns the begin of pixel i.
func (p *painter) border(i uint64) trace.Time {
	q, _ := exact.MulDiv(i, uint64(p.out.End-p.out.Begin), p.w)
	return p.out.Begin + trace.Time(q)
}

// finish completes the current pixel.
func (p *painter) finish() {
	best, none := Pixel{Region: trace.Undefined}, uint64(0)
	for s, ticks := range p.ticks {
		region := p.g.states.region[s]
		switch {
		case region == trace.Undefined:
			none += ticks
		case ticks > best.Ticks, ticks == best.Ticks && ticks > 0 && region < best.Region:
			best = Pixel{region, ticks}
		}
	}
	if none > best.Ticks {
		best = Pixel{trace.Undefined, none}
	}
	p.out.Pixels = append(p.out.Pixels, best)
	clear(p.ticks)
	p.i++
	p.now = p.end
	if p.i < p.w {
		p.end = p.border(p.i + 1)
	}
}

// walk paints to the end of the current pixel, event by event.
func (p *painter) walk() error {
	p.known = false
	for i := p.i; p.i == i; {
		s := p.g.top()
		recorded := p.c.next > 0
		if _, ok := p.g.move(p.c); !ok {
			for p.i < p.w { // after the last event
				p.finish()
			}
			return p.c.err
		}
		for len(p.ticks) < p.g.states.len() {
			p.ticks = append(p.ticks, 0)
		}
		p.paint(s, p.c.time, recorded)
	}
	return nil
}

// paint gives the time up to t to a state, in all pixels that it covers.
func (p *painter) paint(s int32, t trace.Time, recorded bool) {
	for p.i < p.w && t >= p.end {
		if recorded {
			p.ticks[s] += uint64(p.end - p.now)
		}
		p.finish()
	}
	if p.i < p.w && t > p.now {
		if recorded {
			p.ticks[s] += uint64(t - p.now)
		}
		p.now = t
	}
}

// jump paints to the end of the current pixel by sums. The cursor must be after the last event before now, or just after now.
func (p *painter) jump() error {
	var err error
	if !p.known {
		if p.before, err = p.at(p.before); err != nil {
			return err
		}
	}
	if err := p.c.SeekTime(p.end); err != nil {
		return err
	}
	p.now = p.end
	after, err := p.at(nil)
	if err != nil {
		return err
	}
	for len(p.ticks) < len(after) {
		p.ticks = append(p.ticks, 0)
	}
	for s := range after {
		p.ticks[s] += after[s]
		if s < len(p.before) {
			p.ticks[s] -= p.before[s]
		}
	}
	p.finish()
	p.before, p.known = after, true
	p.g.enterStates(p.c)
	return nil
}

// at returns the ticks by state before now. The cursor's last event must not be after now.
func (p *painter) at(dst []uint64) ([]uint64, error) {
	dst, s, err := p.g.before(p.c, dst)
	if err == nil && p.c.next > 0 && p.c.next < p.g.x.loc.view.Events && p.now > p.c.time {
		dst[s] += uint64(p.now - p.c.time)
	}
	return dst, err
}

// timelineBound returns how far times up to t may be wrong in total.
func (x *Index) timelineBound(t trace.Time) uint64 {
	d := x.loc.Deviation()
	if d.Lossless() {
		return 0
	}
	ticks := uint64(0)
	if t > x.loc.first {
		ticks = uint64(t - x.loc.first)
	}
	n := x.loc.view.Events
	one := d.TimeBound(n, ticks)
	return min(min(d.StoredBound(n, ticks)+one, graph.Farthest)+one, graph.Farthest)
}
