package graph

import (
	"fmt"
	"math"
	"slices"
)

// ClassTable has the classes of a structure node: the distinct rows of gaps and children's classes that its instances have, over all
// locations.
//
// Position i of a row is child i. For a Repeat of at most Fan iterations it is iteration i; a longer Repeat, whose iterations are all
// equal, has only position 0. The tail gap of a Call is the last position of gaps. Gaps before artificial children, and classes of Events,
// do not exist and are 0.
type ClassTable struct {
	Rows       int
	GapsPerRow int
	KidsPerRow int
	Gaps       []uint64 // ticks, row by row
	Kids       []uint32 // rows of the children's tables, row by row
}

// Row returns the gaps and the children's rows of row n.
func (t *ClassTable) Row(n int) ([]uint64, []uint32) {
	return t.Gaps[n*t.GapsPerRow : (n+1)*t.GapsPerRow], t.Kids[n*t.KidsPerRow : (n+1)*t.KidsPerRow]
}

// gap returns the gap before child i in a row; kid returns the class of that child.
func (t *ClassTable) gap(row uint32, i uint64) uint64 {
	return t.Gaps[int(row)*t.GapsPerRow+InRow(i, t.GapsPerRow)]
}

func (t *ClassTable) kid(row uint32, i uint64) uint32 {
	return t.Kids[int(row)*t.KidsPerRow+InRow(i, t.KidsPerRow)]
}

// InRow returns the position of child i in a row with this many positions: 0 if all iterations of a Repeat share one.
func InRow(i uint64, width int) int {
	if i >= uint64(width) {
		return 0
	}
	return int(i)
}

// Classes are the class tables of a graph's nodes. The rows of each table are numbered from 0, by first appearance over the locations in
// ascending P.
type Classes struct {
	Tables []*ClassTable // of each node id; nil in column mode, and for Events
	Rows   []classRow    // by number in the index
	index  index         // of indexes in Rows, + 1
}

type classRow struct{ Node, Row uint32 }

// positions returns the number of children in a row of a node.
func (s *Store) positions(id uint32, fan int) int {
	if s.Kind(id) != KindRepeat {
		return len(s.Words(id))
	}
	if n := s.Count(id); n <= uint64(fan) {
		return int(n)
	}
	return 1
}

// NewClasses returns empty tables for the nodes with mode true.
func NewClasses(g *Graph, fan int, mode []bool) *Classes {
	c := &Classes{Tables: make([]*ClassTable, g.Nodes.Len()+1)}
	c.make(g, fan, mode, 1, uint32(len(c.Tables)))
	return c
}

// make makes the tables of nodes first to end-1.
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

// hashRow is a multilinear hash like hashNode; the upper halves of gaps are folded in.
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

// lookUp returns 1 + the index of a row in c.Rows, 0 if there is none.
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

// Find returns the row with this content, false if there is none.
func (c *Classes) Find(id uint32, gaps []uint64, kids []uint32) (uint32, bool) {
	n := c.lookUp(hashRow(id, gaps, kids), id, gaps, kids)
	if n == 0 {
		return 0, false
	}
	return c.Rows[n-1].Row, true
}

// Intern returns the row with this content. It makes one if there is none.
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

// number adds a row to the index.
func (c *Classes) number(h uint64, r classRow) {
	c.Rows = append(c.Rows, r)
	c.index.put(h, uint32(len(c.Rows)))
}

// maxRows is the most rows of a graph: their numbers + 1 must fit 32 bits.
const maxRows = math.MaxInt32 - 1

// append adds a row without adding it to the index.
func (c *Classes) append(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	t := c.Tables[id]
	if t.Rows >= maxRows || len(c.Rows) >= maxRows {
		return 0, fmt.Errorf("node %d: more than %d classes: %w", id, maxRows, ErrLimit)
	}
	t.Gaps, t.Kids = append(t.Gaps, gaps...), append(t.Kids, kids...)
	t.Rows++
	return uint32(t.Rows - 1), nil
}

// Reindex adds rows to the index that were appended without it. It returns a row with the same content as another one; node 0: there is
// none.
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

// Class tables are sent and stored as parts, for nodes in ascending id: a head part for up to partSize nodes, then row parts until their
// rows are complete. A row part has pieces, each a run of rows of one node. Pieces of at least OwnColumn rows have a column for each
// position; the rows of all others share two columns.
const (
	partModes = 3
	partRows  = 4
)

// RowShape says which positions of a node's rows are stored.
type RowShape struct {
	Gaps []int    // positions with a gap
	Kids []int    // positions with a child that has several rows
	node []uint32 // their children
}

// Of computes the positions of node id; rows returns the number of rows of a child.
func (r *RowShape) Of(g *Graph, fan int, id uint32, rows func(uint32) int) {
	r.Gaps, r.Kids, r.node = r.Gaps[:0], r.Kids[:0], r.node[:0]
	children := g.Nodes.Children(id)
	n := g.Nodes.positions(id, fan)
	for i := range n {
		c := children[min(i, len(children)-1)]
		if k := g.Nodes.Kind(c); k <= KindEvent {
			r.Gaps = append(r.Gaps, i)
			if k == KindEvent {
				continue
			}
		}
		if rows(c) > 1 {
			r.Kids, r.node = append(r.Kids, i), append(r.node, c)
		}
	}
	if h := g.ShapeOf(id); h.Class == ClassCall && !h.Cut {
		r.Gaps = append(r.Gaps, n)
	}
}

// words returns the number of values in a row.
func (r *RowShape) words() int { return len(r.Gaps) + len(r.Kids) }

// classEncoder writes the parts of class tables.
type classEncoder struct {
	*partEncoder
	g     *Graph
	c     *Classes
	fan   int
	shape RowShape

	pieces, gaps, kids []uint64 // of the current part
	own                []byte   // its columns by position
	words              int
}

// NewClassEncoder returns an encoder of class tables: squeezed, or faster for segments that are read once.
func NewClassEncoder(g *Graph, c *Classes, fan int, squeezed bool) *classEncoder {
	return &classEncoder{partEncoder: NewPartEncoder(squeezed), g: g, c: c, fan: fan}
}

// Each calls yield for each part, until it returns false.
func (e *classEncoder) Each(yield func(part []byte) bool) {
	n := uint32(e.g.Nodes.Len())
	for first := uint32(1); first <= n; first += partSize {
		end := min(first+partSize, n+1)
		if !yield(e.modes(first, end)) {
			return
		}
		for id := first; id < end; id++ {
			t := e.c.Tables[id]
			if t == nil || t.Rows == 0 {
				continue
			}
			e.shape.Of(e.g, e.fan, id, func(c uint32) int { return e.c.Tables[c].Rows })
			for row := 0; row < t.Rows; {
				row = e.piece(t, row)
				if e.words >= partSize && !yield(e.flush()) {
					return
				}
			}
		}
		if len(e.pieces) > 0 && !yield(e.flush()) {
			return
		}
	}
}

// modes returns the head part of nodes first to end-1.
func (e *classEncoder) modes(first, end uint32) []byte {
	modes, rows := e.cols[0][:0], e.cols[1][:0]
	for id := first; id < end; id++ {
		if e.g.Nodes.Kind(id) == KindEvent {
			continue
		}
		if t := e.c.Tables[id]; t != nil {
			modes, rows = append(modes, 1), append(rows, uint64(t.Rows))
		} else {
			modes = append(modes, 0)
		}
	}
	e.cols[0], e.cols[1] = modes, rows
	e.Buf = append(e.Buf[:0], partModes)
	e.Column(modes)
	e.Column(rows)
	return e.frame(nil)
}

// piece adds rows of t, from row on, and returns the row after them.
func (e *classEncoder) piece(t *ClassTable, row int) int {
	n := min(t.Rows-row, partSize/max(e.shape.words(), 1)+1)
	e.pieces = append(e.pieces, uint64(n))
	e.words += n*e.shape.words() + 1
	end := row + n
	if n < OwnColumn {
		for ; row < end; row++ {
			gaps, kids := t.Row(row)
			for _, i := range e.shape.Gaps {
				e.gaps = append(e.gaps, gaps[i])
			}
			for _, i := range e.shape.Kids {
				e.kids = append(e.kids, uint64(kids[i]))
			}
		}
		return end
	}
	e.Buf = e.own
	for _, i := range e.shape.Gaps {
		e.Column(e.position(row, end, func(r int) uint64 { return t.Gaps[r*t.GapsPerRow+i] }))
	}
	for _, i := range e.shape.Kids {
		e.Column(e.position(row, end, func(r int) uint64 { return uint64(t.Kids[r*t.KidsPerRow+i]) }))
	}
	e.own = e.Buf
	return end
}

// position collects the values of one position.
func (e *classEncoder) position(row, end int, value func(row int) uint64) []uint64 {
	v := e.cols[2][:0]
	for ; row < end; row++ {
		v = append(v, value(row))
	}
	e.cols[2] = v
	return v
}

// flush returns the current row part.
func (e *classEncoder) flush() []byte {
	e.Buf = []byte{partRows} // a new buffer, because own is part of the old one
	e.Column(e.pieces)
	e.Column(e.gaps)
	e.Column(e.kids)
	e.Buf = append(e.Buf, e.own...)
	e.pieces, e.gaps, e.kids, e.own, e.words = e.pieces[:0], e.gaps[:0], e.kids[:0], nil, 0
	return e.frame(nil)
}

// ClassDecoder reads parts of class tables of graph g.
type ClassDecoder struct {
	*PartDecoder
	g     *Graph
	fan   int
	mode  []bool   // of each node, as far as known
	rows  []uint32 // of each node: number of rows
	known uint32   // nodes before this one have a known mode
	node  uint32   // nodes before this one have all their rows
	got   uint32   // rows of node so far
	shape RowShape
	gaps  []uint64 // of a row
	kids  []uint32
}

// NewClassDecoder returns a decoder of class tables of nodes of g.
func NewClassDecoder(g *Graph, fan int) *ClassDecoder {
	n := g.Nodes.Len() + 1
	return &ClassDecoder{PartDecoder: NewPartDecoder(), g: g, fan: fan, mode: make([]bool, n), rows: make([]uint32, n), known: 1, node: 1}
}

// Done reports whether all tables are complete.
func (d *ClassDecoder) Done() bool { return int(d.node) > d.g.Nodes.Len() }

// Add reads the part at the start of src, calls f for each of its rows, and returns the bytes after it. The slices that f gets are reused.
func (d *ClassDecoder) Add(src []byte, f func(id uint32, gaps []uint64, kids []uint32) error) (rest []byte, err error) {
	k, r, rest, err := d.unit(src)
	if err != nil {
		return nil, err
	}
	switch {
	case k == partModes && d.node == d.known && !d.Done():
		err = d.modes(&r)
	case k == partRows && d.node < d.known:
		err = d.pieces(&r, f)
	default:
		err = fmt.Errorf("part of kind %d among the classes: %w", k, ErrCorrupt)
	}
	if err == nil && (!r.Done()) {
		err = fmt.Errorf("%d bytes after a part: %w", r.Len(), ErrCorrupt)
	}
	return rest, err
}

// modes reads a head part.
func (d *ClassDecoder) modes(r *Reader) error {
	var err error
	for i := range 2 {
		if d.cols[i], err = d.Column(r, d.cols[i], partSize); err != nil {
			return err
		}
	}
	modes, rows := d.cols[0], d.cols[1]
	end := min(d.known+partSize, uint32(d.g.Nodes.Len()+1))
	for id := d.known; id < end; id++ {
		if d.g.Nodes.Kind(id) == KindEvent {
			continue
		}
		if len(modes) == 0 || modes[0] > 1 {
			return fmt.Errorf("node %d: mode: %w", id, ErrCorrupt)
		}
		d.mode[id] = modes[0] == 1
		if modes = modes[1:]; !d.mode[id] {
			continue
		}
		if len(rows) == 0 || rows[0] > maxRows {
			return fmt.Errorf("node %d: rows: %w", id, ErrCorrupt)
		}
		d.rows[id], rows = uint32(rows[0]), rows[1:]
		for _, c := range d.g.Nodes.Children(id) {
			if d.g.Nodes.Kind(c) != KindEvent && (!d.mode[c] || d.rows[id] > 0 && d.rows[c] == 0) {
				return fmt.Errorf("node %d has classes, its child %d has none: %w", id, c, ErrCorrupt)
			}
		}
	}
	if len(modes)+len(rows) != 0 {
		return fmt.Errorf("values after the modes: %w", ErrCorrupt)
	}
	d.known = end
	d.skip()
	return nil
}

// skip moves to the next node that lacks rows.
func (d *ClassDecoder) skip() {
	for ; d.node < d.known && d.got == d.rows[d.node]; d.node++ {
		d.got = 0
	}
}

// pieces reads a row part.
func (d *ClassDecoder) pieces(r *Reader, f func(id uint32, gaps []uint64, kids []uint32) error) error {
	var err error
	for i := range 3 {
		if d.cols[i], err = d.Column(r, d.cols[i], 2*partSize); err != nil {
			return err
		}
	}
	gaps, kids := d.cols[1], d.cols[2]
	for _, n := range d.cols[0] {
		if d.node == d.known || n == 0 || n > uint64(d.rows[d.node]-d.got) {
			return fmt.Errorf("node %d: %d rows: %w", d.node, n, ErrCorrupt)
		}
		if d.begin(); d.shape.words() == 0 && d.rows[d.node] > 1 {
			return fmt.Errorf("node %d: %d rows of nothing: %w", d.node, d.rows[d.node], ErrCorrupt)
		}
		if n < OwnColumn {
			need := int(n) * len(d.shape.Gaps)
			needKids := int(n) * len(d.shape.Kids)
			if need > len(gaps) || needKids > len(kids) {
				return fmt.Errorf("node %d: rows cut: %w", d.node, ErrCorrupt)
			}
			err = d.each(int(n), f, func(j, row int) uint64 { return gaps[row*len(d.shape.Gaps)+j] },
				func(j, row int) uint64 { return kids[row*len(d.shape.Kids)+j] })
			gaps, kids = gaps[need:], kids[needKids:]
		} else {
			err = d.large(r, int(n), f)
		}
		if err != nil {
			return err
		}
		d.got += uint32(n)
		d.skip()
	}
	if len(gaps)+len(kids) != 0 || len(d.cols[0]) == 0 {
		return fmt.Errorf("values after the rows: %w", ErrCorrupt)
	}
	return nil
}

// begin prepares a row of the current node.
func (d *ClassDecoder) begin() {
	d.shape.Of(d.g, d.fan, d.node, func(c uint32) int { return int(d.rows[c]) })
	n := d.g.Nodes.positions(d.node, d.fan)
	d.kids = append(d.kids[:0], make([]uint32, n)...)
	if d.g.Nodes.Kind(d.node) == KindCall {
		n++
	}
	d.gaps = append(d.gaps[:0], make([]uint64, n)...)
}

// kid checks and sets the class of a child.
func (d *ClassDecoder) kid(i int, row uint64) error {
	if row >= uint64(d.rows[d.shape.node[i]]) {
		return fmt.Errorf("node %d: row %d of child %d, which has %d: %w", d.node, row, d.shape.node[i], d.rows[d.shape.node[i]], ErrCorrupt)
	}
	d.kids[d.shape.Kids[i]] = uint32(row)
	return nil
}

// each calls f for n rows; gap and kid return their values by position.
func (d *ClassDecoder) each(n int, f func(id uint32, gaps []uint64, kids []uint32) error, gap, kid func(j, row int) uint64) error {
	for row := range n {
		for j, at := range d.shape.Gaps {
			d.gaps[at] = gap(j, row)
		}
		for j := range d.shape.Kids {
			if err := d.kid(j, kid(j, row)); err != nil {
				return err
			}
		}
		if err := f(d.node, d.gaps, d.kids); err != nil {
			return err
		}
	}
	return nil
}

// large reads a piece with a column for each position.
func (d *ClassDecoder) large(r *Reader, n int, f func(id uint32, gaps []uint64, kids []uint32) error) error {
	words := d.shape.words()
	if n > partSize/max(words, 1)+1 {
		return fmt.Errorf("node %d: %d rows in a part: %w", d.node, n, ErrCorrupt)
	}
	var all []uint64 // column after column
	var err error
	for range words {
		if d.cols[3], err = d.Column(r, d.cols[3], uint64(n)); err != nil {
			return err
		}
		if len(d.cols[3]) != n {
			return fmt.Errorf("node %d: rows cut: %w", d.node, ErrCorrupt)
		}
		all = append(all, d.cols[3]...)
	}
	return d.each(n, f, func(j, row int) uint64 { return all[j*n+row] },
		func(j, row int) uint64 { return all[(len(d.shape.Gaps)+j)*n+row] })
}

// AppendClasses appends all tables of a shared graph. If c is nil all nodes are in column mode.
func AppendClasses(dst []byte, g *Graph, c *Classes, fan int) []byte {
	if c == nil {
		c = NewClasses(g, fan, make([]bool, g.Nodes.Len()+1))
	}
	for part := range NewClassEncoder(g, c, fan, true).Each {
		dst = append(dst, part...)
	}
	return dst
}

// ReadClasses reads what AppendClasses wrote, and returns the bytes after it. It fails if the rows need more than limit bytes of memory.
func ReadClasses(src []byte, g *Graph, fan int, limit uint64) (*Classes, []byte, error) {
	d := NewClassDecoder(g, fan)
	defer d.Close()
	c := NewClasses(g, fan, d.mode)
	for !d.Done() {
		known := d.known
		var err error
		src, err = d.Add(src, func(id uint32, gaps []uint64, kids []uint32) error {
			if n := uint64(8*len(gaps) + 4*len(kids)); n > limit {
				return fmt.Errorf("rows of node %d and before: %w", id, ErrLimit)
			} else {
				limit -= n
			}
			_, err := c.append(id, gaps, kids)
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("classes: %w", err)
		}
		c.make(g, fan, d.mode, known, d.known)
	}
	return c, src, nil
}

// Spread adds the counts of a node's rows to those of its children's rows.
func (v *View) Spread(id uint32, t *ClassTable, counts [][]uint64) {
	children := v.Nodes.Children(id)
	times := v.Iterations(id, t)
	for row, m := range counts[id] {
		if m == 0 {
			continue
		}
		for i, kid := range t.Kids[row*t.KidsPerRow : (row+1)*t.KidsPerRow] {
			if to := counts[children[min(i, len(children)-1)]]; to != nil {
				to[kid] += m * times // at most the number of instances of the child
			}
		}
	}
}

// Iterations returns how often each position of a row occurs in an instance.
func (v *View) Iterations(id uint32, t *ClassTable) uint64 {
	if v.Nodes.Kind(id) == KindRepeat && t.KidsPerRow == 1 {
		return v.Nodes.Count(id)
	}
	return 1
}

// TableTime returns the ticks of the gaps in a node's rows.
func (v *View) TableTime(id uint32, counts []uint64) (sum Total) {
	t := v.Tables[id]
	times := v.Iterations(id, t)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		for _, g := range t.Gaps[row*t.GapsPerRow : (row+1)*t.GapsPerRow] {
			sum = sum.Plus(Product(g, m*times))
		}
	}
	return sum
}
