package ccg

import (
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// ledger tells how many ticks of each state lie before an event.
//
// Where each column of gaps, and each node with classes, is in one state
// throughout, that is a matter of prefix sums: O(columns). Else, as for
// inclusive times of a function that is called from several places, the ledger
// goes through the location once and writes the ticks down every few thousand
// events; a question then walks on from there.
type ledger struct {
	x *Index
	*stateMap
	rows     []*rowTicks    // by node with classes
	words    uint64         // in their ticks
	classes  []*classColumn // by column of classes
	underWay []uint64       // by column of classes: 1 if its last row is that of an instance in progress
	total    uint64         // of all states, of the question in progress
	over     bool           // total exceeds 64 bits
	samples  [][]uint64     // if not pure: ticks by state before every so many marks
	every    uint64         // marks between two samples
	walk     *Cursor        // from a sample on
	stack    []int32        // states of the open calls there, 0 first
}

// maxSampleWords bounds the samples of a ledger: 16 MiB, but for the last ones.
const maxSampleWords = 1 << 21

// openLedger makes a ledger where there is none yet.
func (x *Index) openLedger(to **ledger, next func(*states, int32, uint32) int32) (err error) {
	if *to != nil {
		return nil
	}
	v := x.loc.view
	g := &ledger{x: x, stateMap: newStates(v, next).assign(v)}
	if g.pure {
		err = g.sumRows()
	} else {
		err = g.sample()
	}
	if err == nil {
		*to = g
	}
	return err
}

// before writes the ticks of each state before the cursor into dst, which it
// returns with the state in which the cursor is.
func (g *ledger) before(c *Cursor, dst []uint64) ([]uint64, int32, error) {
	if !g.pure {
		return g.fromSample(c, dst)
	}
	dst = append(dst[:0], make([]uint64, g.states.len())...)
	g.total, g.over = 0, false
	v := g.x.loc.view
	for k := range v.Cols {
		if !v.Cols[k].Gap {
			continue
		}
		sum, err := g.x.sums.before(int32(k), c.pos[k])
		if err != nil {
			return dst, 0, err
		}
		g.put(dst, g.column[k], sum, 1)
	}
	if v.Tables != nil {
		if err := g.addClasses(c, dst); err != nil {
			return dst, 0, err
		}
	}
	if g.over {
		return dst, 0, g.x.loc.damaged("time overflows")
	}
	return dst, g.node[c.walk.Stack[len(c.walk.Stack)-1].Id], nil
}

// put adds ticks to a state, so many times. What all states have together is a span
// of the location's time: over says that it cannot be one.
func (g *ledger) put(dst []uint64, state int32, ticks, times uint64) {
	g.over = !addTimes(&g.total, ticks, times) || g.over
	dst[state] += ticks * times
}

// until is before at time t: with the part of the gap in which t lies. The
// cursor goes there.
func (g *ledger) until(c *Cursor, t trace.Time, dst []uint64) ([]uint64, error) {
	if err := c.SeekTime(t); err != nil {
		return dst, err
	}
	dst, s, err := g.before(c, dst)
	if err == nil && c.next > 0 && c.next < g.x.loc.view.Events {
		dst[s] += uint64(t - c.time)
	}
	return dst, err
}

// enterStates sets the stack of states to that of a cursor.
func (g *ledger) enterStates(c *Cursor) {
	v := g.x.loc.view
	g.stack = append(g.stack[:0], 0)
	for i := range c.walk.Stack {
		if r := &c.walk.Stack[i]; r.Kind == graph.KindCall {
			g.stack = append(g.stack, g.states.enter(v, g.stack[len(g.stack)-1], r.Id))
		}
	}
}

// top returns the state that the stack of states ends in.
func (g *ledger) top() int32 { return g.stack[len(g.stack)-1] }

// move moves a cursor, whose states are on the stack, over an event, and returns
// the gap before it; false if there is none.
func (g *ledger) move(c *Cursor) (uint64, bool) {
	st, id, gap, ok := c.forward()
	if !ok {
		return 0, false
	}
	if st == graph.StepOpen {
		g.stack = append(g.stack, g.states.enter(g.x.loc.view, g.top(), id))
	}
	g.stack = g.stack[:len(c.calls)+1] // without calls that ended, by a leave or not
	return gap, true
}

// pass is move, and adds the gap to its state.
func (g *ledger) pass(c *Cursor, dst []uint64) ([]uint64, bool) {
	s := g.top()
	gap, ok := g.move(c)
	for len(dst) < g.states.len() {
		dst = append(dst, 0)
	}
	dst[s] += gap
	return dst, ok
}

// sample goes through the location and keeps what lies before every so many
// marks: twice as many whenever there are too many samples.
func (g *ledger) sample() error {
	c := g.x.Cursor() // its blocks are read once
	g.every = 1
	g.enterStates(c)
	now := make([]uint64, g.states.len())
	g.samples = append(g.samples, slices.Clone(now))
	words := 0
	for {
		var ok bool
		if now, ok = g.pass(c, now); !ok {
			return c.err
		}
		if (c.next-1)%(graph.MarkEvery*g.every) != 0 || c.next == 1 {
			continue
		}
		g.samples = append(g.samples, slices.Clone(now))
		if words += len(now); words > g.x.sampleWords {
			g.every *= 2
			words = 0
			for i := range (len(g.samples) + 1) / 2 {
				g.samples[i] = g.samples[2*i]
				words += len(g.samples[i])
			}
			clear(g.samples[(len(g.samples)+1)/2:])
			g.samples = g.samples[:(len(g.samples)+1)/2]
		}
	}
}

// fromSample is before from the last sample and a walk.
func (g *ledger) fromSample(c *Cursor, dst []uint64) ([]uint64, int32, error) {
	i := uint64(0)
	if c.next > 0 {
		i = (c.next - 1) / (graph.MarkEvery * g.every)
	}
	dst = append(dst[:0], g.samples[i]...)
	dst = append(dst, make([]uint64, g.states.len()-len(dst))...)
	if g.walk == nil {
		g.walk = g.x.ownCursor()
	}
	g.walk.toMark(i * g.every)
	g.enterStates(g.walk)
	for g.walk.next < c.next {
		var ok bool
		if dst, ok = g.pass(g.walk, dst); !ok {
			break
		}
	}
	return dst, g.top(), g.walk.err
}
