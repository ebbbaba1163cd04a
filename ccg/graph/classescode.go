package graph

import "fmt"

// Class tables travel and are stored as parts, for nodes in ascending id: a head
// part for up to partSize nodes, then row parts until their rows are there. A
// row part carries pieces, runs of rows of one node. Pieces of at least ownColumn
// rows have a column per position, the rows of all others go to two columns.
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

// Of finds the positions of node id; rows gives the number of rows of a child.
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

// words returns the values of a row.
func (r *RowShape) words() int { return len(r.Gaps) + len(r.Kids) }

// classEncoder writes the parts of class tables.
type classEncoder struct {
	*partEncoder
	g     *Graph
	c     *Classes
	fan   int
	shape RowShape

	pieces, gaps, kids []uint64 // of the part in progress
	own                []byte   // its columns per position
	words              int
}

// NewClassEncoder returns an encoder of class tables, squeezed or for segments that are read once.
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

// modes returns the head part of the nodes from first to before end.
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

// piece adds rows of t from row on and returns the row after them.
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

// position collects one position of rows.
func (e *classEncoder) position(row, end int, value func(row int) uint64) []uint64 {
	v := e.cols[2][:0]
	for ; row < end; row++ {
		v = append(v, value(row))
	}
	e.cols[2] = v
	return v
}

// flush returns the row part in progress.
func (e *classEncoder) flush() []byte {
	e.Buf = []byte{partRows} // not over own
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
	mode  []bool   // by node, so far as known
	rows  []uint32 // by node: its rows
	known uint32   // nodes before this one have their mode
	node  uint32   // nodes before this one have all their rows
	got   uint32   // rows of node that are there
	shape RowShape
	gaps  []uint64 // of a row
	kids  []uint32
}

// NewClassDecoder returns a decoder of class tables of nodes of g.
func NewClassDecoder(g *Graph, fan int) *ClassDecoder {
	n := g.Nodes.Len() + 1
	return &ClassDecoder{PartDecoder: NewPartDecoder(), g: g, fan: fan, mode: make([]bool, n), rows: make([]uint32, n), known: 1, node: 1}
}

// Done reports whether all is there.
func (d *ClassDecoder) Done() bool { return int(d.node) > d.g.Nodes.Len() }

// Add reads the part at the start of src, calls f for each of its rows, and
// returns the bytes after it. The rows' slices are used again.
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

// skip goes on to the next node whose rows are not all there.
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

// begin makes room for a row of the current node.
func (d *ClassDecoder) begin() {
	d.shape.Of(d.g, d.fan, d.node, func(c uint32) int { return int(d.rows[c]) })
	n := d.g.Nodes.positions(d.node, d.fan)
	d.kids = append(d.kids[:0], make([]uint32, n)...)
	if d.g.Nodes.Kind(d.node) == KindCall {
		n++
	}
	d.gaps = append(d.gaps[:0], make([]uint64, n)...)
}

// kid checks and sets the row of a child.
func (d *ClassDecoder) kid(i int, row uint64) error {
	if row >= uint64(d.rows[d.shape.node[i]]) {
		return fmt.Errorf("node %d: row %d of child %d, which has %d: %w", d.node, row, d.shape.node[i], d.rows[d.shape.node[i]], ErrCorrupt)
	}
	d.kids[d.shape.Kids[i]] = uint32(row)
	return nil
}

// each calls f for n rows, of which gap and kid tell the values by position.
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

// large reads a piece with a column per position.
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

// AppendClasses appends all tables of a shared graph; all nodes are in column
// mode if c is nil.
func AppendClasses(dst []byte, g *Graph, c *Classes, fan int) []byte {
	if c == nil {
		c = NewClasses(g, fan, make([]bool, g.Nodes.Len()+1))
	}
	for part := range NewClassEncoder(g, c, fan, true).Each {
		dst = append(dst, part...)
	}
	return dst
}

// ReadClasses reads what appendClasses wrote, unless its rows take more than limit
// bytes of memory; it returns the bytes after it.
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
