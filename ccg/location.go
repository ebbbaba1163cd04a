package ccg

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Location is the graph of one location in a Shared, opened from its blob. It
// is read-only.
type Location struct {
	shared *Shared
	p      trace.P
	root   uint32 // shared id
	first  trace.Time
	view   *view
	cols   []column.Column
	size   int
	errors ErrorStats
}

// OpenLocation opens the blob of a location and validates it against the
// structure. Values are read when they are needed.
func OpenLocation(s *Shared, blob []byte) (_ *Location, err error) {
	defer wrap(&err, "call graph: blob of a location")
	if len(blob) < 4 || crc32.Checksum(blob[:len(blob)-4], castagnoli) != binary.LittleEndian.Uint32(blob[len(blob)-4:]) {
		return nil, fmt.Errorf("check sum: %w", ErrCorrupt)
	}
	r := reader{varint.Read(blob[:len(blob)-4])}
	lossy, err := r.magic(localMagic)
	if err != nil {
		return nil, err
	}
	if lossy == s.opt.Deviation.Lossless() {
		return nil, fmt.Errorf("lossy %t, the shared section is not so: %w", lossy, ErrCorrupt)
	}
	l := &Location{shared: s, p: trace.P(r.Uint32()), root: r.Uint32(), first: trace.Time(r.Next()), size: len(blob)}
	events, columns := r.Next(), r.Next()
	row := uint64(0) // 1 + the root's row
	if lossy {
		row = r.Next()
		l.errors = r.errorStats(events)
	}
	if r.Failed() || l.root == 0 || int64(l.root) > int64(s.Nodes()) || s.graph.nodes.kind(l.root) != kindRoot {
		return nil, fmt.Errorf("location %d: root %d: %w", l.p, l.root, ErrCorrupt)
	}
	if l.view, err = s.cut(l.root, len(blob)); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	if l.view.events != events || uint64(len(l.view.cols)) != columns {
		return nil, fmt.Errorf("location %d: %d events and %d columns, the structure has %d and %d: %w",
			l.p, events, columns, l.view.events, len(l.view.cols), ErrCorrupt)
	}
	if err := l.view.setRoot(row); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	if err := l.columns(&r); err != nil {
		return nil, fmt.Errorf("location %d: %w", l.p, err)
	}
	return l, nil
}

// columns opens the columns after the lengths.
func (l *Location) columns(r *reader) error {
	n := len(l.view.cols)
	if n > r.Len() {
		return fmt.Errorf("%d columns in %d bytes: %w", n, r.Len(), ErrCorrupt)
	}
	sizes := make([]uint64, n)
	for i := range sizes {
		sizes[i] = r.Next()
	}
	l.cols = make([]column.Column, n)
	for i, size := range sizes {
		c, err := column.ParseBare(r.Bytes(size), l.view.cols[i].count)
		switch {
		case r.Failed():
			return fmt.Errorf("column %d cut: %w", i, ErrCorrupt)
		case err != nil:
			return fmt.Errorf("column %d: %w: %w", i, ErrCorrupt, err)
		}
		l.cols[i] = c
	}
	if r.Len() != 0 {
		return fmt.Errorf("%d bytes after the columns: %w", r.Len(), ErrCorrupt)
	}
	return nil
}

// cut copies what root reaches into a graph of its own, ids ascending.
func (s *Shared) cut(root uint32, size int) (*view, error) {
	from := s.graph.nodes
	local := make([]uint32, root+1) // shared id -> number in the copy
	todo := []uint32{root}
	local[root] = 1
	ids := []uint32{root}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, c := range from.children(id) {
			if local[c] == 0 {
				local[c] = 1
				todo = append(todo, c)
				ids = append(ids, c)
			}
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		local[id] = uint32(i + 1)
	}
	g := graph{nodes: newStore(), tuples: s.graph.tuples, shapes: s.graph.shapes}
	order := make([]uint32, len(ids))
	var words []uint32
	for i, id := range ids {
		order[i] = uint32(i + 1)
		words = append(words[:0], from.words(id)...)
		for j, c := range from.children(id) {
			words[j] = local[c]
		}
		if _, err := g.nodes.append(from.meta[id], words); err != nil {
			return nil, err
		}
	}
	// 1 024 values take 4 bytes at least; artificial children have no gap, and
	// the gaps of classes are not in the blob
	limit := 256*uint64(size) + uint64(len(g.nodes.pool)+g.nodes.len())
	return newView(g, s.defs, s.classes, uint32(len(ids)), order, slices.Insert(ids, 0, 0), limit)
}

// setRoot sets the class of the root, 0 for none, and checks that a node with
// classes has one.
func (v *view) setRoot(row uint64) error {
	var rows int
	if v.tables != nil {
		for id, t := range v.tables {
			if t != nil && t.rows == 0 {
				return fmt.Errorf("node %d has no class: %w", v.ids[id], ErrCorrupt)
			}
		}
		if t := v.tables[v.root]; t != nil {
			rows = t.rows
		}
	}
	if row > uint64(rows) || row == 0 && rows > 0 {
		return fmt.Errorf("class %d of the root, which has %d: %w", row, rows, ErrCorrupt)
	}
	v.rootRow = int(row) - 1
	return nil
}

// markCursor reads the marks; it must not be asked for more than there are.
func (l *Location) markCursor() *column.Cursor {
	k := &column.Cursor{}
	if l.view.marks >= 0 {
		k.Init(&l.cols[l.view.marks])
	}
	return k
}

// cursors returns one for each column, at its start.
func (l *Location) cursors() []column.Cursor {
	cursors := make([]column.Cursor, len(l.cols))
	for i := range cursors {
		cursors[i].Init(&l.cols[i])
	}
	return cursors
}

// sum returns the sum of a column.
func (l *Location) sum(c int) (total, error) {
	hi, lo, err := l.cols[c].Sum()
	if err != nil {
		return total{}, l.columnError(c, err)
	}
	return total{hi, lo}, nil
}

// blocks calls f for each block of values of a column.
func (l *Location) blocks(c int, f func([]uint64) error) error {
	var buf [column.BlockSize]uint64
	for b := range l.cols[c].Blocks() {
		n, err := l.cols[c].Decode(b, buf[:])
		if err != nil {
			return l.columnError(c, err)
		}
		if err := f(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Location) columnError(column int, err error) error {
	return fmt.Errorf("call graph: location %d, column %d: %w: %w", l.p, column, ErrCorrupt, err)
}

// P returns the location.
func (l *Location) P() trace.P { return l.p }

// Events returns the number of events.
func (l *Location) Events() uint64 { return l.view.events }

// First returns the time of the first event, 0 if there is none.
func (l *Location) First() trace.Time { return l.first }

// Deviation returns the bounds of the location's gaps.
func (l *Location) Deviation() Deviation { return l.shared.opt.Deviation }

// ErrorStats returns the errors of the stored times; all zero if the graph is
// lossless.
func (l *Location) ErrorStats() ErrorStats { return l.errors }

// Root returns the id of the location's root: locations with equal roots have
// equal structure.
func (l *Location) Root() uint32 { return l.root }
