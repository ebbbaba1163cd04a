package ccg

import (
	"fmt"
	"math"
	"slices"
)

// classTable holds the classes of a structure node: the distinct rows of gaps
// and of its children's classes that its instances have, over all locations.
//
// Position i of a row is child i; of a Repeat of at most Fan iterations it is
// iteration i, and a longer Repeat, whose iterations are all alike, has position
// 0 alone. The tail gap of a Call is the last position of gaps. Gaps before
// artificial children, and classes of Events, do not exist and are 0.
type classTable struct {
	rows       int
	gapsPerRow int
	kidsPerRow int
	gaps       []uint64 // ticks, row after row
	kids       []uint32 // rows of the children's tables, likewise
}

// row returns the gaps and the children's rows of row n.
func (t *classTable) row(n int) ([]uint64, []uint32) {
	return t.gaps[n*t.gapsPerRow : (n+1)*t.gapsPerRow], t.kids[n*t.kidsPerRow : (n+1)*t.kidsPerRow]
}

// gap returns the gap before child i in a row, kid the class of that child. A Repeat of equal iterations has one position.
func (t *classTable) gap(row uint32, i uint64) uint64 {
	return t.gaps[int(row)*t.gapsPerRow+inRow(i, t.gapsPerRow)]
}

func (t *classTable) kid(row uint32, i uint64) uint32 {
	return t.kids[int(row)*t.kidsPerRow+inRow(i, t.kidsPerRow)]
}

func inRow(i uint64, width int) int {
	if i >= uint64(width) {
		return 0
	}
	return int(i)
}

// classes are the class tables of a graph's nodes. Rows are numbered from 0 in
// each table, by first appearance over the locations in ascending P.
type classes struct {
	tables []*classTable // by node id; nil in column mode, and of Events
	rows   []classRow    // in the order of the index
	index  index         // of numbers in rows, + 1
}

type classRow struct{ node, row uint32 }

// positions returns how many children a row of a node has.
func (s *store) positions(id uint32, fan int) int {
	if s.kind(id) != kindRepeat {
		return len(s.words(id))
	}
	if n := s.count(id); n <= uint64(fan) {
		return int(n)
	}
	return 1
}

// newClasses returns empty tables for the nodes whose mode is true.
func newClasses(g *graph, fan int, mode []bool) *classes {
	c := &classes{tables: make([]*classTable, g.nodes.len()+1)}
	c.make(g, fan, mode, 1, uint32(len(c.tables)))
	return c
}

// make makes the tables of the nodes from first to before end.
func (c *classes) make(g *graph, fan int, mode []bool, first, end uint32) {
	for id := first; id < end; id++ {
		if !mode[id] {
			continue
		}
		n := g.nodes.positions(id, fan)
		t := &classTable{gapsPerRow: n, kidsPerRow: n}
		if g.nodes.kind(id) == kindCall {
			t.gapsPerRow++
		}
		c.tables[id] = t
	}
}

// hashRow is multilinear like hashNode; the gaps' upper halves are folded in.
func hashRow(id uint32, gaps []uint64, kids []uint32) uint64 {
	h := uint64(id) * factors[0]
	for i, g := range gaps {
		h += (g ^ g>>32<<1 + 1) * factors[uint8(i+1)]
	}
	for i, k := range kids {
		h += (uint64(k) + 1) * factors[uint8(i+131)]
	}
	return mix(h)
}

// lookUp returns 1 + a row's number in c.rows, 0 if there is none.
func (c *classes) lookUp(h uint64, id uint32, gaps []uint64, kids []uint32) uint32 {
	return c.index.find(h, func(n uint32) bool {
		r := c.rows[n-1]
		if r.node != id {
			return false
		}
		g, k := c.tables[id].row(int(r.row))
		return slices.Equal(g, gaps) && slices.Equal(k, kids)
	})
}

// find returns the row with the given content, false if there is none.
func (c *classes) find(id uint32, gaps []uint64, kids []uint32) (uint32, bool) {
	n := c.lookUp(hashRow(id, gaps, kids), id, gaps, kids)
	if n == 0 {
		return 0, false
	}
	return c.rows[n-1].row, true
}

// intern returns the row with the given content, made if there is none.
func (c *classes) intern(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	h := hashRow(id, gaps, kids)
	if n := c.lookUp(h, id, gaps, kids); n != 0 {
		return c.rows[n-1].row, nil
	}
	row, err := c.append(id, gaps, kids)
	if err == nil {
		c.number(h, classRow{id, row})
	}
	return row, err
}

// number makes a row findable.
func (c *classes) number(h uint64, r classRow) {
	c.rows = append(c.rows, r)
	c.index.put(h, uint32(len(c.rows)))
}

// maxRows bounds the rows of a graph: their numbers, and 1 more, are 32 bits.
const maxRows = math.MaxInt32 - 1

// append adds a row that is not looked up.
func (c *classes) append(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	t := c.tables[id]
	if t.rows >= maxRows || len(c.rows) >= maxRows {
		return 0, fmt.Errorf("node %d: more than %d classes: %w", id, maxRows, ErrLimit)
	}
	t.gaps, t.kids = append(t.gaps, gaps...), append(t.kids, kids...)
	t.rows++
	return uint32(t.rows - 1), nil
}

// reindex makes rows findable that were appended without an index; it returns a
// row that repeats another one's content, or node 0 if there is none.
func (c *classes) reindex() (duplicate classRow) {
	c.index.reset()
	c.rows = c.rows[:0]
	for id, t := range c.tables {
		if t == nil {
			continue
		}
		for n := range t.rows {
			gaps, kids := t.row(n)
			h, r := hashRow(uint32(id), gaps, kids), classRow{uint32(id), uint32(n)}
			if c.lookUp(h, uint32(id), gaps, kids) != 0 {
				return r
			}
			c.number(h, r)
		}
	}
	return classRow{}
}
