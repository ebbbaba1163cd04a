package ccg

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// ledger computes the ticks of each state before an event.
//
// If every column of gaps, and every node with classes, has only one state, prefix sums are enough: O(columns). Otherwise (for example for
// inclusive times of a function with several callers) it reads the location once and stores the ticks every few thousand events; a query
// then walks from there.
type ledger struct {
	x *Index
	*stateMap
	rows     []*rowTicks    // of each node with classes
	words    uint64         // in all their ticks
	classes  []*classColumn // of each column of classes
	underWay []uint64       // of each column of classes: 1 if its last row belongs to an open instance
	total    uint64         // of all states, in the current query
	over     bool           // total exceeds 64 bits
	samples  [][]uint64     // if not pure: ticks by state before every so many marks
	every    uint64         // marks between two samples
	walk     *Cursor        // from a sample on
	stack    []int32        // states of the open calls there, state 0 first
}

// maxSampleWords is the most words in the samples of a ledger, except for the last ones: 16 MiB.
const maxSampleWords = 1 << 21

// openLedger makes a ledger unless there is one.
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

// before writes the ticks of each state before the cursor to dst. It returns dst and the state at the cursor.
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

// put adds ticks to a state, times times. The sum over all states is part of the location's time; over is set if it cannot be.
func (g *ledger) put(dst []uint64, state int32, ticks, times uint64) {
	g.over = !addTimes(&g.total, ticks, times) || g.over
	dst[state] += ticks * times
}

// until is before for time t, including the part of the gap in which t lies. It moves the cursor there.
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

// top returns the last state on the stack.
func (g *ledger) top() int32 { return g.stack[len(g.stack)-1] }

// move moves a cursor, whose states are on the stack, over an event and returns the gap before it; false at the end.
func (g *ledger) move(c *Cursor) (uint64, bool) {
	st, id, gap, ok := c.forward()
	if !ok {
		return 0, false
	}
	if st == graph.StepOpen {
		g.stack = append(g.stack, g.states.enter(g.x.loc.view, g.top(), id))
	}
	g.stack = g.stack[:len(c.calls)+1] // without calls that ended, with a leave or without
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

// sample reads the location and stores the sums before every so many marks. It doubles that distance whenever there are too many samples.
func (g *ledger) sample() error {
	c := g.x.Cursor() // it reads blocks only once
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

// fromSample is before, by the last sample and a walk.
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

// rowTicks has the ticks by state of one instance of a node with classes, including all inside.
type rowTicks struct {
	states []int32  // states inside, ascending
	ticks  []uint64 // by row, then by state
}

// maxTickWords is the most words for the ticks of all rows of a ledger: 1 GiB.
const maxTickWords = 1 << 27

// classColumn has the sums of a column of classes.
type classColumn struct {
	rows   *rowTicks
	before [][]uint64 // by block, and at the end: ticks of rows by state
	block  int        // the block that is decoded in values, -1: none
	values []uint64
}

// sumRows adds up the rows of all nodes with classes, children first: O(rows *
// (children + states inside)).
func (g *ledger) sumRows() error {
	v := g.x.loc.view
	if v.Tables == nil {
		return nil
	}
	g.rows, g.classes, g.underWay = make([]*rowTicks, v.Nodes.Len()+1), make([]*classColumn, len(v.Cols)), make([]uint64, len(v.Cols))
	for _, id := range v.Order {
		if t := v.Tables[id]; t != nil && v.Nodes.Kind(id) != graph.KindEvent {
			if err := g.sumTable(id, t); err != nil {
				return err
			}
		}
	}
	for k := range v.Cols {
		if child := v.Cols[k].Child; child != 0 {
			if err := g.sumClasses(int32(k), child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *ledger) sumTable(id uint32, t *graph.ClassTable) error {
	v := g.x.loc.view
	r := &rowTicks{states: []int32{g.node[id]}}
	for _, c := range v.Nodes.Children(id) {
		if g.rows[c] != nil {
			r.states = append(r.states, g.rows[c].states...)
		}
	}
	slices.Sort(r.states)
	r.states = slices.Compact(r.states)
	if g.words += uint64(t.Rows) * uint64(len(r.states)); g.words > g.x.tickWords {
		return fmt.Errorf("call graph: location %d: ticks of %d classes in %d states, and of others: %w", g.x.loc.p, t.Rows, len(r.states), graph.ErrLimit)
	}
	r.ticks = make([]uint64, t.Rows*len(r.states))
	g.rows[id] = r
	times := v.Iterations(id, t)
	for row := range t.Rows {
		dst := r.ticks[row*len(r.states) : (row+1)*len(r.states)]
		gaps, kids := t.Row(row)
		own := g.own(r, id)
		over := false
		for _, gap := range gaps {
			over = !addTimes(&dst[own], gap, times) || over
		}
		for i, kid := range kids {
			inside := g.rows[v.ChildOf(id, i)]
			if inside == nil {
				continue
			}
			if int64(kid+1)*int64(len(inside.states)) > int64(len(inside.ticks)) {
				return g.x.loc.damaged("a class that does not exist")
			}
			for j, n := range inside.states {
				at, _ := slices.BinarySearch(r.states, n)
				over = !addTimes(&dst[at], inside.of(kid)[j], times) || over
			}
		}
		if over {
			return fmt.Errorf("call graph: location %d, node %d: time exceeds 64 bits: %w", g.x.loc.p, v.Ids[id], graph.ErrLimit)
		}
	}
	return nil
}

// own returns the place of the state of a node's own gaps.
func (g *ledger) own(r *rowTicks, id uint32) int {
	at, _ := slices.BinarySearch(r.states, g.node[id])
	return at
}

func (r *rowTicks) of(row uint32) []uint64 {
	n := len(r.states)
	return r.ticks[int(row)*n : (int(row)+1)*n]
}

// addTimes adds ticks*times to a sum; false if it exceeds 64 bits.
func addTimes(sum *uint64, ticks, times uint64) bool {
	hi, lo := bits.Mul64(ticks, times)
	var carry uint64
	*sum, carry = bits.Add64(*sum, lo, 0)
	return hi|carry == 0
}

// sumClasses reads a column of classes once: O(values * states).
func (g *ledger) sumClasses(k int32, child uint32) error {
	r := g.rows[child]
	c := &classColumn{rows: r, block: -1}
	g.classes[k] = c
	sum := make([]uint64, len(r.states))
	for b := range g.x.loc.cols[k].Blocks() {
		c.before = append(c.before, slices.Clone(sum))
		if err := g.decode(c, k, b); err != nil {
			return err
		}
		if !r.add(sum, c.values) {
			return g.x.loc.damaged("a class that does not exist, or time overflows")
		}
	}
	c.before = append(c.before, sum)
	return nil
}

func (g *ledger) decode(c *classColumn, k int32, b int) error {
	col := &g.x.loc.cols[k]
	if c.block == b {
		return nil
	}
	c.block = -1
	c.values = append(c.values[:0], make([]uint64, min(col.Len()-uint64(b)*column.BlockSize, column.BlockSize))...)
	if _, err := col.Decode(b, c.values); err != nil {
		return g.x.columnError(k, err)
	}
	c.block = b
	return nil
}

// add adds rows to sums by state. It returns false if a row does not exist or a sum exceeds 64 bits.
func (r *rowTicks) add(sum, rows []uint64) bool {
	n := uint64(len(r.states))
	last := uint64(len(r.ticks)) / n
	var over uint64
	for _, row := range rows {
		if row >= last {
			return false
		}
		for j, ticks := range r.ticks[row*n : (row+1)*n] {
			var carry uint64
			sum[j], carry = bits.Add64(sum[j], ticks, 0)
			over |= carry
		}
	}
	return over == 0
}

// addClasses adds what nodes with classes have before the cursor.
func (g *ledger) addClasses(c *Cursor, dst []uint64) error {
	v := g.x.loc.view
	clear(g.underWay)
	for i := range c.walk.Stack {
		r := &c.walk.Stack[i]
		innermost := i == len(c.walk.Stack)-1
		switch {
		case r.Table != nil:
			g.addRung(r, innermost, dst)
		case !innermost && c.walk.Stack[i+1].Table != nil: // its row is in the column, but it is not complete
			g.underWay[v.Class[r.Slot+r.Place(r.At-1)]] = 1
		}
	}
	for k := range v.Cols {
		if v.Cols[k].Child != 0 {
			if err := g.addColumn(int32(k), c.pos[k]-g.underWay[k], dst); err != nil {
				return err
			}
		}
	}
	return nil
}

// addColumn adds the first n rows of a column of classes.
func (g *ledger) addColumn(k int32, n uint64, dst []uint64) error {
	c := g.classes[k]
	b := int(n / column.BlockSize)
	for j, s := range c.rows.states {
		g.put(dst, s, c.before[b][j], 1)
	}
	rest := n % column.BlockSize
	if rest == 0 {
		return nil
	}
	if err := g.decode(c, k, b); err != nil {
		return err
	}
	sum := make([]uint64, len(c.rows.states))
	c.rows.add(sum, c.values[:rest])
	for j, s := range c.rows.states {
		g.put(dst, s, sum[j], 1)
	}
	return nil
}

// addRung adds the complete children of an open node with classes.
func (g *ledger) addRung(r *graph.Level, innermost bool, dst []uint64) {
	v := g.x.loc.view
	complete := r.At
	if !innermost {
		complete--
	}
	t := r.Table
	gaps, kids := t.Row(int(r.Row))
	add := func(position int, entered, complete uint64) {
		g.put(dst, g.node[r.Id], gaps[position], entered)
		inside := g.rows[v.ChildOf(r.Id, position)]
		if inside == nil {
			return
		}
		for j, ticks := range inside.of(kids[position]) {
			g.put(dst, inside.states[j], ticks, complete)
		}
	}
	if v.Iterations(r.Id, t) > 1 {
		add(0, r.At, complete)
		return
	}
	for i := range r.At {
		n := uint64(0)
		if i < complete {
			n = 1
		}
		add(int(i), 1, n)
	}
}
