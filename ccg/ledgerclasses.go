package ccg

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// rowTicks are the ticks by state of one instance of a node with classes, all
// that is inside included.
type rowTicks struct {
	states []int32  // those inside, ascending
	ticks  []uint64 // by row, then by state
}

// maxTickWords bounds the ticks of all rows of a ledger: 1 GiB.
const maxTickWords = 1 << 27

// classColumn are the sums of a column of classes.
type classColumn struct {
	rows   *rowTicks
	before [][]uint64 // by block, and at the end: ticks by state of rows
	block  int        // decoded in values, -1: none
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

// own returns where the state of a node's own gaps is.
func (g *ledger) own(r *rowTicks, id uint32) int {
	at, _ := slices.BinarySearch(r.states, g.node[id])
	return at
}

func (r *rowTicks) of(row uint32) []uint64 {
	n := len(r.states)
	return r.ticks[int(row)*n : (int(row)+1)*n]
}

// addTimes adds ticks*times to a sum, false if it exceeds 64 bits.
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

// add adds rows to sums by state; false if a row does not exist or a sum exceeds
// 64 bits.
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

// addRung adds what a node with classes has after it while it is in progress.
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
