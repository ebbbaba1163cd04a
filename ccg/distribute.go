package ccg

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/column"
)

// Distribute deals a location's gaps and values out to the columns of their
// slots and returns the location's blob.
func Distribute(s *Shared, l *Local) ([]byte, error) {
	return NewDistributor(s).Distribute(l)
}

// Distributor is Distribute with memory that is kept between locations. Its
// first use builds an index of the shared nodes, unless the Shared comes from a
// Union of this process.
type Distributor struct {
	locator
	enc     column.Encoder
	writers []column.Writer
	program program
	gaps    stream
	values  stream
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
func (d *Distributor) Distribute(l *Local) ([]byte, error) {
	blob, err := d.distribute(l)
	if err != nil {
		return nil, fmt.Errorf("call graph: distributing location %d: %w", l.p, err)
	}
	return blob, nil
}

func (d *Distributor) distribute(l *Local) ([]byte, error) {
	l, err := d.shared.Quantise(l)
	if err != nil {
		return nil, err
	}
	v, err := d.open(l, d.shared.classes)
	if err != nil {
		return nil, err
	}
	for len(d.writers) < len(v.cols) {
		d.writers = append(d.writers, column.Writer{})
	}
	for i, c := range v.cols {
		d.writers[i].Init(&d.enc)
		d.writers[i].Reserve(c.count)
	}
	d.gaps, d.values = stream{src: l.gaps}, stream{src: l.values}
	if v.marks >= 0 {
		d.gaps.marks = &d.writers[v.marks]
	}
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

// walkRows is walk for a graph with classes: it follows the nodes.
func (d *Distributor) walkRows(v *view) error {
	w := rowWalker{row: d.row}
	w.init(v)
	for !d.gaps.bad && !d.values.bad {
		st, id, slot := w.next()
		switch st {
		case stepEnd:
			return w.err
		case stepCut:
			continue
		case stepRow:
			if id == v.root {
				v.rootRow = int(w.last)
			} else {
				d.writers[v.class[slot]].Add(uint64(w.last))
			}
			continue
		}
		gap := d.gaps.next()
		if c := v.column[slot]; c >= 0 {
			d.writers[c].Add(gap)
		} else {
			w.put(gap)
		}
		for _, c := range v.valueColumns(id, st) {
			d.writers[c].Add(d.values.next())
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
	if len(src)%8 != 0 || len(src) > 0 && v.bytes < 0 {
		return fmt.Errorf("%d bytes of unknown records: %w", len(src), ErrCorrupt)
	}
	for ; len(src) > 0; src = src[8:] {
		d.writers[v.bytes].Add(binary.LittleEndian.Uint64(src))
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
	var body []byte
	for i, c := range v.cols {
		if n := d.writers[i].Len(); n != c.count {
			return nil, fmt.Errorf("column %d has %d values, its slots %d: %w", i, n, c.count, ErrCorrupt)
		}
		start := len(body)
		body = d.writers[i].AppendBare(body)
		dst = binary.AppendUvarint(dst, uint64(len(body)-start))
	}
	dst = append(dst, body...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli)), nil
}
