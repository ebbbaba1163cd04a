package build

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// Distributor puts the gaps and values of locations into the columns of their slots. At its first use it builds an index of the shared
// nodes, unless the Shared is from a Union of this process.
type Distributor struct {
	locator
	enc     column.Encoder
	writers []column.Writer
	single  column.Writer // for columns of less than a block
	body    []byte        // the columns of a blob
	program graph.Program
	gaps    stream
	values  stream

	// Values that are not yet in a block: those of column c are place[begin[c]:at[c]]. A column with at least one block has room for one
	// block, which ends at a multiple of the block's size.
	place     []uint64
	begin, at []uint32
}

// NewDistributor returns a Distributor for s.
func NewDistributor(s *graph.Shared) *Distributor {
	return &Distributor{locator: newLocator(s), enc: column.Encoder{Entropy: true}}
}

// locator finds the tuples and nodes of locations in a shared graph.
type locator struct {
	shared *graph.Shared
	numbering
}

func newLocator(s *graph.Shared) locator {
	found := func(n uint32, ok bool) (uint32, error) {
		if !ok {
			return 0, graph.ErrForeign
		}
		return n, nil
	}
	return locator{s, numbering{
		places: graph.NewPlaces(s.Defs), encoding: s.Encoding,
		findTuple: func(w []uint64) (uint32, error) { return found(s.Graph.Tuples.Find(w)) },
		findNode: func(meta uint32, words []uint32) (uint32, error) {
			n := s.Graph.Nodes.Find(meta, words)
			return found(n, n != 0)
		},
	}}
}

// open returns the view of a location with these classes. If the graph is lossy, the gaps of l must be quantised.
func (d *locator) open(l *Local, c *graph.Classes) (*graph.View, error) {
	if bounds := d.shared.Opt.Deviation; !bounds.Lossless() && !l.quantised {
		return nil, fmt.Errorf("bounds of %s: %w", bounds, ErrNoCodebook)
	}
	d.shared.BuildIndex()
	d.ids = make([]uint32, 0, l.Nodes()+1) // the view keeps the last ones
	if err := d.location(l); err != nil {
		return nil, err
	}
	ids := d.ids
	order := make([]uint32, l.Nodes())
	for i := range order {
		order[i] = uint32(i + 1)
	}
	slices.SortFunc(order, func(a, b uint32) int { return int(int64(ids[a]) - int64(ids[b])) })
	v, err := graph.NewView(l.graph, d.shared.Defs, c, uint32(l.Nodes()), order, ids, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	if v.Events != l.events {
		return nil, fmt.Errorf("%d events in the structure, %d in the location: %w", v.Events, l.events, graph.ErrCorrupt)
	}
	return v, nil
}

// Distribute returns the blob of l. If the graph is lossy, the gaps of l must be quantised.
func (d *Distributor) Distribute(l *Local) (_ []byte, err error) {
	defer graph.Wrap(&err, "call graph: distributing location %d", l.p)
	v, err := d.open(l, d.shared.Classes)
	if err != nil {
		return nil, err
	}
	if err := d.reserve(v); err != nil {
		return nil, err
	}
	d.gaps, d.values = stream{src: l.gaps}, stream{src: l.values}
	if v.Tables == nil {
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

// reserve makes room for the columns of a location.
func (d *Distributor) reserve(v *graph.View) error {
	n := len(v.Cols)
	d.begin, d.at = slices.Grow(d.begin[:0], n)[:n], slices.Grow(d.at[:0], n)[:n]
	for len(d.writers) < n {
		d.writers = append(d.writers, column.Writer{})
	}
	end := uint64(0)
	for _, large := range []bool{true, false} {
		for i, c := range v.Cols {
			if large == (c.Count >= column.BlockSize) {
				d.begin[i] = uint32(end)
				end += min(c.Count, column.BlockSize)
			}
			if end > math.MaxUint32 {
				return fmt.Errorf("%d columns: %w", n, graph.ErrLimit)
			}
		}
	}
	for i, c := range v.Cols {
		d.writers[i].Init(&d.enc, c.Count)
	}
	copy(d.at, d.begin)
	end++ // if there are too many gaps, there may be a mark too many
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

// encode encodes the values of a column if they fill a block.
func (d *Distributor) encode(c uint32) {
	if d.at[c]-d.begin[c] == column.BlockSize {
		d.writers[c].Add(d.place[d.begin[c]:d.at[c]])
		d.at[c] = d.begin[c]
	}
}

// block takes the next block of gaps. A full block ends at a mark.
func (d *Distributor) block(v *graph.View) []uint64 {
	b := d.gaps.take()
	if len(b) == graph.MarkEvery && v.Marks >= 0 {
		d.put(int32(v.Marks), d.gaps.sum)
	}
	return b
}

// walkRows is walk for a graph with classes. It visits node by node.
func (d *Distributor) walkRows(v *graph.View) error {
	w := rowWalk{find: d.row}
	w.begin(v)
	var gaps []uint64
	for !d.values.bad {
		st, id, slot := w.step()
		switch st {
		case graph.StepEnd:
			d.gaps.left(gaps)
			return w.err
		case graph.StepCut:
			continue
		case graph.StepRow:
			if id == v.Root {
				v.RootRow = int(w.last)
			} else {
				d.put(v.Class[slot], uint64(w.last))
			}
			continue
		}
		if len(gaps) == 0 {
			if gaps = d.block(v); gaps == nil {
				return errShort
			}
		}
		if c := v.Column[slot]; c >= 0 {
			d.put(c, gaps[0])
		} else {
			w.put(gaps[0])
		}
		gaps = gaps[1:]
		for _, c := range v.ValueColumns(id, st) {
			d.put(c, d.values.next())
		}
	}
	return errShort
}

// row returns the number of a class.
func (d *Distributor) row(id uint32, gaps []uint64, kids []uint32) (uint32, error) {
	n, ok := d.shared.Classes.Find(id, gaps, kids)
	if !ok {
		return 0, fmt.Errorf("a class of node %d: %w", id, graph.ErrForeign)
	}
	return n, nil
}

// payload puts the bytes of unknown records and surplus into their column.
func (d *Distributor) payload(v *graph.View, src []byte) error {
	words := uint64(0)
	if v.Bytes >= 0 {
		words = v.Cols[v.Bytes].Count
	}
	if uint64(len(src)) != 8*words {
		return fmt.Errorf("%d bytes of unknown records, %d in the structure: %w", len(src), 8*words, graph.ErrCorrupt)
	}
	for ; len(src) > 0; src = src[8:] {
		d.put(int32(v.Bytes), binary.LittleEndian.Uint64(src))
	}
	return nil
}

// blob assembles a blob; docs/format/ccg.md describes its parts.
func (d *Distributor) blob(v *graph.View, l *Local) ([]byte, error) {
	dst := append([]byte(graph.LocalMagic), graph.FormatVersion, d.shared.Opt.Deviation.Mode())
	for _, x := range []uint64{uint64(l.p), uint64(v.Ids[v.Root]), uint64(l.first), l.events, uint64(len(v.Cols))} {
		dst = binary.AppendUvarint(dst, x)
	}
	if !d.shared.Opt.Deviation.Lossless() {
		dst = l.errors.Append(binary.AppendUvarint(dst, uint64(v.RootRow+1)))
	}
	body := d.body[:0]
	for i, c := range v.Cols {
		w, rest := &d.writers[i], d.place[d.begin[i]:d.at[i]]
		if c.Count < column.BlockSize {
			w = &d.single
			w.Init(&d.enc, c.Count)
		}
		if w.Left() != uint64(len(rest)) {
			return nil, fmt.Errorf("column %d lacks %d values of %d: %w", i, w.Left()-uint64(len(rest)), c.Count, graph.ErrCorrupt)
		}
		if len(rest) > 0 {
			w.Add(rest)
		}
		start := len(body)
		body = w.AppendBare(body)
		dst = binary.AppendUvarint(dst, uint64(len(body)-start))
	}
	dst, d.body = append(slices.Grow(dst, len(body)+crc32.Size), body...), body
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, graph.Castagnoli)), nil
}

func (d *Distributor) walk(v *graph.View) error {
	err := d.program.Compile(v, func(_, slot uint32, st graph.Step) []int32 {
		if st == graph.StepCut {
			return nil
		}
		return v.Column[slot : slot+1]
	})
	if err == nil {
		err = d.deal(v, &d.gaps)
	}
	if err != nil || len(d.values.src) == 0 {
		return err
	}
	err = d.program.Compile(v, func(id, _ uint32, st graph.Step) []int32 {
		if st == graph.StepCut {
			return nil
		}
		return v.ValueColumns(id, st)
	})
	if err == nil {
		err = d.deal(v, &d.values)
	}
	return err
}

func (d *Distributor) deal(v *graph.View, in *stream) error {
	at, place := d.at, d.place
	d.program.Init(v)
	var block []uint64
	next := 0 // index in the block
	for steps := d.program.Next(); len(steps) > 0; steps = d.program.Next() {
		for _, c := range steps {
			if next == len(block) {
				if in == &d.gaps {
					block = d.block(v)
				} else {
					block = in.take()
				}
				if block == nil {
					return errShort
				}
				next = 0
			}
			k := at[c]
			place[k] = block[next]
			next++
			if at[c] = k + 1; (k+1)%column.BlockSize == 0 {
				d.encode(c)
			}
		}
	}
	in.left(block[next:])
	return nil
}
