package graph

import (
	"fmt"
	"math"
	"slices"
)

// ClassTable holds the classes of a structure node: the distinct rows of gaps
// and of its children's classes that its instances have, over all locations.
//
// Position i of a row is child i; of a Repeat of at most Fan iterations it is
// iteration i, and a longer Repeat, whose iterations are all alike, has position
// 0 alone. The tail gap of a Call is the last position of gaps. Gaps before
// artificial children, and classes of Events, do not exist and are 0.
type ClassTable struct {
	Rows       int
	GapsPerRow int
	KidsPerRow int
	Gaps       []uint64 // ticks, row after row
	Kids       []uint32 // rows of the children's tables, likewise
}

// Row returns the gaps and the children's rows of row n.
func (t *ClassTable) Row(n int) ([]uint64, []uint32) {
	return t.Gaps[n*t.GapsPerRow : (n+1)*t.GapsPerRow], t.Kids[n*t.KidsPerRow : (n+1)*t.KidsPerRow]
}

// gap returns the gap before child i in a row, kid the class of that child. A Repeat of equal iterations has one position.
func (t *ClassTable) gap(row uint32, i uint64) uint64 {
	return t.Gaps[int(row)*t.GapsPerRow+InRow(i, t.GapsPerRow)]
}

func (t *ClassTable) kid(row uint32, i uint64) uint32 {
	return t.Kids[int(row)*t.KidsPerRow+InRow(i, t.KidsPerRow)]
}

// InRow returns the position in a row of a width that child i has: a Repeat of equal iterations has one.
func InRow(i uint64, width int) int {
	if i >= uint64(width) {
		return 0
	}
	return int(i)
}

// Classes are the class tables of a graph's nodes. Rows are numbered from 0 in
// each table, by first appearance over the locations in ascending P.
type Classes struct {
	Tables []*ClassTable // by node id; nil in column mode, and of Events
	Rows   []classRow    // in the order of the index
	index  index         // of numbers in rows, + 1
}

type classRow struct{ Node, Row uint32 }

// positions returns how many children a row of a node has.
func (s *Store) positions(id uint32, fan int) int {
	if s.Kind(id) != KindRepeat {
		return len(s.Words(id))
	}
	if n := s.Count(id); n <= uint64(fan) {
		return int(n)
	}
	return 1
}

// NewClasses returns empty tables for the nodes whose mode is true.
func NewClasses(g *Graph, fan int, mode []bool) *Classes {
	c := &Classes{Tables: make([]*ClassTable, g.Nodes.Len()+1)}
	c.make(g, fan, mode, 1, uint32(len(c.Tables)))
	return c
}

// make makes the tables of the nodes from first to before end.
func (c *Classes) make(g *Graph, fan int, mode []bool, first, end uint32) {
	for id := first; id < end; id++ {
		if !mode[id] {
			continue
		}
		n := g.Nodes.positions(id, fan)
		t := &ClassTable{GapsPerRow: n, KidsPerRow: n}
		if g.Nodes.Kind(id) == KindCall {
			t.GapsPerRow++
		}
		c.Tables[id] = t
	}
}

// hashRow is multilinear like hashNode; the gaps' upper halves are folded in.
func hashRow(id uint32, gaps []uint64, kids []uint32) uint64 {
	h := uint64(id) * Factors[0]
	for i, g := range gaps {
		h += (g ^ g>>32<<1 + 1) * Factors[uint8(i+1)]
	}
	for i, k := range kids {
		h += (uint64(k) + 1) * Factors[uint8(i+131)]
	}
	return Mix(h)
}

// lookUp returns 1 + a row's number in c.rows, 0 if there is none.
func (c *Classes) lookUp(h uint64, id uint32, gaps []uint64, kids []uint32) uint32 {
	return c.index.find(h, func(n uint32) bool {
		r := c.Rows[n-1]
		if r.Node != id {
			return false
		}
		g, k := c.Tables[id].Row(int(r.Row))
		return slices.Equal(g, gaps) && slices.Equal(k, kids)
	})
}

// Find returns the row with the given content, false if there is none.
func (c *Classes) Find(id uint32, gaps []uint64, kids []uint32) (uint32, bool) {
	n := c.lookUp(hashRow(id, gaps, kids), id, gaps, kids)
	if n == 0 {
		return 0, false
	}
	return c.Rows[n-1].Row, true
}

// Intern returns the row with the given content, made if there is none.
func (c *Classes) Intern(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	h := hashRow(id, gaps, kids)
	if n := c.lookUp(h, id, gaps, kids); n != 0 {
		return c.Rows[n-1].Row, nil
	}
	row, err := c.append(id, gaps, kids)
	if err == nil {
		c.number(h, classRow{id, row})
	}
	return row, err
}

// number makes a row findable.
func (c *Classes) number(h uint64, r classRow) {
	c.Rows = append(c.Rows, r)
	c.index.put(h, uint32(len(c.Rows)))
}

// maxRows bounds the rows of a graph: their numbers, and 1 more, are 32 bits.
const maxRows = math.MaxInt32 - 1

// append adds a row that is not looked up.
func (c *Classes) append(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	t := c.Tables[id]
	if t.Rows >= maxRows || len(c.Rows) >= maxRows {
		return 0, fmt.Errorf("node %d: more than %d classes: %w", id, maxRows, ErrLimit)
	}
	t.Gaps, t.Kids = append(t.Gaps, gaps...), append(t.Kids, kids...)
	t.Rows++
	return uint32(t.Rows - 1), nil
}

// Reindex makes rows findable that were appended without an index; it returns a
// row that repeats another one's content, or node 0 if there is none.
func (c *Classes) Reindex() (duplicate classRow) {
	c.index.reset()
	c.Rows = c.Rows[:0]
	for id, t := range c.Tables {
		if t == nil {
			continue
		}
		for n := range t.Rows {
			gaps, kids := t.Row(n)
			h, r := hashRow(uint32(id), gaps, kids), classRow{uint32(id), uint32(n)}
			if c.lookUp(h, uint32(id), gaps, kids) != 0 {
				return r
			}
			c.number(h, r)
		}
	}
	return classRow{}
}
