package ccg

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/internal/column"
)

// Distributor deals the gaps and values of locations out to the columns of their
// slots. Its first use builds an index of the shared nodes, unless the Shared
// comes from a Union of this process.
type Distributor struct {
	locator
	enc     column.Encoder
	writers []column.Writer
	single  column.Writer // of columns of less than a block
	body    []byte        // of a blob: its columns
	program program
	gaps    stream
	values  stream

	// Values that are in no block yet: of column c place[begin[c]:at[c]]. A column of a block and more has room for one, which
	// ends where the number of a place is a multiple of the block's.
	place     []uint64
	begin, at []uint32
}

// NewDistributor returns a Distributor for s.
func NewDistributor(s *Shared) *Distributor {
	return &Distributor{locator: newLocator(s), enc: column.Encoder{Entropy: true}}
}

// locator finds locations in a shared graph.
type locator struct {
	shared *Shared
	places *places
	words  []uint64
}

func newLocator(s *Shared) locator { return locator{shared: s, places: newPlaces(s.defs)} }

// open returns the view of a location, with the given classes.
func (d *locator) open(l *Local, c *classes) (*view, error) {
	ids, err := d.locate(l)
	if err != nil {
		return nil, err
	}
	order := make([]uint32, l.Nodes())
	for i := range order {
		order[i] = uint32(i + 1)
	}
	slices.SortFunc(order, func(a, b uint32) int { return int(int64(ids[a]) - int64(ids[b])) })
	v, err := newView(l.graph, d.shared.defs, c, uint32(l.Nodes()), order, ids, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	if v.events != l.events {
		return nil, fmt.Errorf("%d events in the structure, %d in the location: %w", v.events, l.events, ErrCorrupt)
	}
	return v, nil
}

// locate maps the nodes of a location to those of the shared graph.
func (d *locator) locate(l *Local) ([]uint32, error) {
	s := d.shared
	s.indexed.Do(s.buildIndex)
	d.places.of(l.p)
	tuple := make([]uint32, l.graph.tuples.len())
	for t := range tuple {
		w, err := s.encoding.relabel(d.places, &l.graph.shapes[t], l.graph.tuples.at(uint32(t)), d.words)
		if err != nil {
			return nil, err
		}
		d.words = slices.Grow(d.words[:0], len(w))
		n, ok := s.graph.tuples.find(w)
		if !ok {
			return nil, fmt.Errorf("tuple %d: %w", t, ErrForeign)
		}
		tuple[t] = n
	}
	from := l.graph.nodes
	ids := make([]uint32, from.len()+1)
	var words []uint32
	for id := uint32(1); int(id) <= from.len(); id++ {
		words = append(words[:0], from.words(id)...)
		for i, c := range from.children(id) {
			words[i] = ids[c]
		}
		if ids[id] = s.graph.nodes.find(from.meta[id]&^tupleMask|tuple[from.tuple(id)], words); ids[id] == 0 {
			return nil, fmt.Errorf("node %d: %w", id, ErrForeign)
		}
	}
	return ids, nil
}

// buildIndex makes nodes and classes findable.
func (s *Shared) buildIndex() {
	if s.graph.nodes.len() > 0 && s.graph.nodes.index.used == 0 {
		s.graph.nodes.reindex()
	}
	if s.classes != nil && s.classes.index.used == 0 {
		s.classes.reindex()
	}
}

// Distribute returns the blob of l.
func (d *Distributor) Distribute(l *Local) (_ []byte, err error) {
	defer wrap(&err, "call graph: distributing location %d", l.p)
	l, err = d.shared.Quantise(l)
	if err != nil {
		return nil, err
	}
	v, err := d.open(l, d.shared.classes)
	if err != nil {
		return nil, err
	}
	if err := d.reserve(v); err != nil {
		return nil, err
	}
	d.gaps, d.values = stream{src: l.gaps}, stream{src: l.values}
	if v.tables == nil {
		err = d.walk(v)
	} else {
		err = d.walkRows(v)
	}
	if err == nil {
		err = d.payload(v, l.payload)
	}
	if err := cmp.Or(err, d.gaps.finished(), d.values.finished()); err != nil {
		return nil, err
	}
	return d.blob(v, l)
}

// reserve makes room for the values of a location's columns.
func (d *Distributor) reserve(v *view) error {
	n := len(v.cols)
	d.begin, d.at = slices.Grow(d.begin[:0], n)[:n], slices.Grow(d.at[:0], n)[:n]
	for len(d.writers) < n {
		d.writers = append(d.writers, column.Writer{})
	}
	end := uint64(0)
	for _, large := range []bool{true, false} {
		for i, c := range v.cols {
			if large == (c.count >= column.BlockSize) {
				d.begin[i] = uint32(end)
				end += min(c.count, column.BlockSize)
			}
			if end > math.MaxUint32 {
				return fmt.Errorf("%d columns: %w", n, ErrLimit)
			}
		}
	}
	for i, c := range v.cols {
		d.writers[i].Init(&d.enc, c.count)
	}
	copy(d.at, d.begin)
	end++ // too many gaps may make a mark too many
	d.place = slices.Grow(d.place[:0], int(end))[:end]
	return nil
}

// put appends a value to a column.
func (d *Distributor) put(c int32, v uint64) {
	i := d.at[c]
	d.place[i] = v
	if d.at[c] = i + 1; (i+1)%column.BlockSize == 0 {
		d.encode(uint32(c))
	}
}

// encode encodes the values of a column if they are a block.
func (d *Distributor) encode(c uint32) {
	if d.at[c]-d.begin[c] == column.BlockSize {
		d.writers[c].Add(d.place[d.begin[c]:d.at[c]])
		d.at[c] = d.begin[c]
	}
}

// block takes the next gaps. Those of a whole block end at a mark.
func (d *Distributor) block(v *view) []uint64 {
	b := d.gaps.take()
	if len(b) == markEvery && v.marks >= 0 {
		d.put(int32(v.marks), d.gaps.sum)
	}
	return b
}

// walkRows is walk for a graph with classes: it follows the nodes.
func (d *Distributor) walkRows(v *view) error {
	w := rowWalk{find: d.row}
	w.begin(v)
	var gaps []uint64
	for !d.values.bad {
		st, id, slot := w.step()
		switch st {
		case stepEnd:
			d.gaps.left(gaps)
			return w.err
		case stepCut:
			continue
		case stepRow:
			if id == v.root {
				v.rootRow = int(w.last)
			} else {
				d.put(v.class[slot], uint64(w.last))
			}
			continue
		}
		if len(gaps) == 0 {
			if gaps = d.block(v); gaps == nil {
				return errShort
			}
		}
		if c := v.column[slot]; c >= 0 {
			d.put(c, gaps[0])
		} else {
			w.put(gaps[0])
		}
		gaps = gaps[1:]
		for _, c := range v.valueColumns(id, st) {
			d.put(c, d.values.next())
		}
	}
	return errShort
}

// row looks a class up.
func (d *Distributor) row(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	n, ok := d.shared.classes.find(id, gaps, kids)
	if !ok {
		return 0, fmt.Errorf("a class of node %d: %w", id, ErrForeign)
	}
	return n, nil
}

// payload writes the bytes of unknown records and surplus, which all have one column.
func (d *Distributor) payload(v *view, src []byte) error {
	words := uint64(0)
	if v.bytes >= 0 {
		words = v.cols[v.bytes].count
	}
	if uint64(len(src)) != 8*words {
		return fmt.Errorf("%d bytes of unknown records, %d in the structure: %w", len(src), 8*words, ErrCorrupt)
	}
	for ; len(src) > 0; src = src[8:] {
		d.put(int32(v.bytes), binary.LittleEndian.Uint64(src))
	}
	return nil
}

// valueColumns returns the columns of the values of a record, enter or leave.
func (v *view) valueColumns(id uint32, st step) []int32 {
	if st == stepClose && v.extra[id]&extraLeave == 0 || st != stepClose && v.extra[id]&extraFirst == 0 {
		return nil
	}
	at, n := v.valueSlots(v.shapeOf(id), id, st)
	return v.column[at : at+n]
}

// valueSlots returns the first value slot of a record, enter or leave, and their
// number.
func (v *view) valueSlots(h *shape, id uint32, st step) (at, n uint32) {
	s := v.nodes
	at = v.slot[id] + s.off[id+1] - s.off[id]
	if h.class == classCall {
		at++
	}
	if st == stepClose {
		return at + h.values, h.leaveValues
	}
	return at, h.values
}

// blob puts a location together; see the package comment.
func (d *Distributor) blob(v *view, l *Local) ([]byte, error) {
	dst := append([]byte(localMagic), formatVersion, d.shared.opt.Deviation.mode())
	for _, x := range []uint64{uint64(l.p), uint64(v.ids[v.root]), uint64(l.first), l.events, uint64(len(v.cols))} {
		dst = binary.AppendUvarint(dst, x)
	}
	if !d.shared.opt.Deviation.Lossless() {
		dst = l.errors.append(binary.AppendUvarint(dst, uint64(v.rootRow+1)))
	}
	body := d.body[:0]
	for i, c := range v.cols {
		w, rest := &d.writers[i], d.place[d.begin[i]:d.at[i]]
		if c.count < column.BlockSize {
			w = &d.single
			w.Init(&d.enc, c.count)
		}
		if w.Left() != uint64(len(rest)) {
			return nil, fmt.Errorf("column %d lacks %d values of %d: %w", i, w.Left()-uint64(len(rest)), c.count, ErrCorrupt)
		}
		if len(rest) > 0 {
			w.Add(rest)
		}
		start := len(body)
		body = w.AppendBare(body)
		dst = binary.AppendUvarint(dst, uint64(len(body)-start))
	}
	dst, d.body = append(slices.Grow(dst, len(body)+crc32.Size), body...), body
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli)), nil
}
