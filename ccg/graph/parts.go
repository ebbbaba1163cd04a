package graph

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/coppice-hpc/coppice/internal/column"
)

// A part has a run of tuples or of nodes. The children of its nodes are in the part or in earlier ones.
const (
	PartTuples = 1
	partNodes  = 2

	partSize  = 1 << 16 // most nodes, or words of tuples, in a part
	maxPart   = 1 << 28 // most bytes of a part
	minFolded = 2       // a Repeat has at least two instances of its body
)

var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// partEncoder writes parts.
type partEncoder struct {
	enc     column.Encoder
	squeeze *column.Squeezer
	Buf     []byte
	cols    [4][]uint64
	col     []byte
}

// NewPartEncoder returns an encoder: squeezed (with a second stage), or faster for segments that are read once.
func NewPartEncoder(squeezed bool) *partEncoder {
	p := &partEncoder{}
	if squeezed {
		p.squeeze = column.NewSqueezer()
	}
	return p
}

// Column appends v as a column, preceded by its length in bytes.
func (p *partEncoder) Column(v []uint64) {
	p.col = p.enc.Append(p.col[:0], v)
	p.Buf = binary.AppendUvarint(p.Buf, uint64(len(p.col)))
	p.Buf = append(p.Buf, p.col...)
}

// frame appends the part in Buf to dst: squeezed, with its checksum.
func (p *partEncoder) frame(dst []byte) []byte {
	start := len(dst)
	if p.squeeze != nil {
		dst = p.squeeze.Append(dst, p.Buf)
	} else {
		dst = column.AppendPlain(dst, p.Buf)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], Castagnoli))
}

// tuples appends a part with the tuples from number first on. It returns the number after its last one.
func (p *partEncoder) tuples(dst []byte, t *Tuples, first int) ([]byte, int) {
	lengths, words := p.cols[0][:0], p.cols[1][:0]
	n := first
	for n < t.Len() && (n == first || len(words) < partSize) {
		w := t.At(uint32(n))
		lengths = append(lengths, uint64(len(w)))
		words = append(words, w...)
		n++
	}
	p.cols[0], p.cols[1] = lengths, words
	p.Buf = append(p.Buf[:0], PartTuples)
	p.Column(lengths)
	p.Column(words)
	return p.frame(dst), n
}

// nodes appends a part with the nodes from id first on. It returns the id after its last one.
func (p *partEncoder) nodes(dst []byte, s *Store, first uint32) ([]byte, uint32) {
	metas, sizes, steps, counts := p.cols[0][:0], p.cols[1][:0], p.cols[2][:0], p.cols[3][:0]
	id := first
	for ; int(id) <= s.Len() && id-first < partSize; id++ {
		k := s.Kind(id)
		metas = append(metas, uint64(s.Tuple(id))<<3|uint64(k))
		list := s.Children(id)
		switch k {
		case KindEvent:
		case KindRepeat:
			counts = append(counts, s.Count(id)-minFolded)
		default:
			sizes = append(sizes, uint64(len(list)))
		}
		for _, c := range list {
			steps = append(steps, uint64(id-c))
		}
	}
	p.cols = [4][]uint64{metas, sizes, steps, counts}
	p.Buf = append(p.Buf[:0], partNodes)
	for _, c := range p.cols {
		p.Column(c)
	}
	return p.frame(dst), id
}

// EachPart yields parts with all tuples and nodes of a graph. A part is only valid until the next one.
func EachPart(g *Graph, squeezed bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p := NewPartEncoder(squeezed)
		var part []byte
		for n := 0; n < g.Tuples.Len(); {
			if part, n = p.tuples(part[:0], g.Tuples, n); !yield(part) {
				return
			}
		}
		for id := uint32(1); int(id) <= g.Nodes.Len(); {
			if part, id = p.nodes(part[:0], g.Nodes, id); !yield(part) {
				return
			}
		}
	}
}

// Messages joins parts to messages of about limit bytes.
func Messages(limit int, parts iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var msg []byte
		for part := range parts {
			if msg = append(msg, part...); len(msg) >= limit {
				if !yield(msg) {
					return
				}
				msg = nil
			}
		}
		if len(msg) > 0 {
			yield(msg)
		}
	}
}

// PartDecoder reads parts.
type PartDecoder struct {
	unsqueeze *column.Unsqueezer
	cols      [4][]uint64
}

// NewPartDecoder returns a decoder, which must be closed.
func NewPartDecoder() *PartDecoder {
	return &PartDecoder{unsqueeze: column.NewUnsqueezer(maxPart)}
}

// Close frees the memory of the decoder.
func (p *PartDecoder) Close() { p.unsqueeze.Close() }

// Column reads a column, preceded by its length, of at most limit values.
func (p *PartDecoder) Column(r *Reader, dst []uint64, limit uint64) ([]uint64, error) {
	c, err := column.Parse(r.Block())
	if r.Failed() || err != nil {
		return dst, fmt.Errorf("column of a part: %w", ErrCorrupt)
	}
	if c.Len() > limit {
		return dst, fmt.Errorf("column of %d values, %d at most: %w", c.Len(), limit, ErrCorrupt)
	}
	dst = dst[:0]
	var block [column.BlockSize]uint64
	for i := range c.Blocks() {
		n, err := c.Decode(i, block[:])
		if err != nil {
			return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		dst = append(dst, block[:n]...)
	}
	return dst, nil
}

// unit reads the frame of the part at the start of src. It returns the part's kind, a Reader of the rest of the part, and the bytes after
// it.
func (p *PartDecoder) unit(src []byte) (kind byte, r Reader, rest []byte, err error) {
	unit, rest, err := p.unsqueeze.Read(src)
	if err != nil {
		return 0, r, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(rest) < 4 || crc32.Checksum(src[:len(src)-len(rest)], Castagnoli) != binary.LittleEndian.Uint32(rest) {
		return 0, r, nil, fmt.Errorf("check sum of a part: %w", ErrCorrupt)
	}
	r = Read(unit)
	kind = r.Byte()
	return kind, r, rest[4:], nil
}

// Read decodes the part at the start of src and returns the bytes after it.
func (p *PartDecoder) Read(src []byte) (kind byte, rest []byte, err error) {
	kind, r, rest, err := p.unit(src)
	if err != nil {
		return 0, nil, err
	}
	columns := 4
	limits := [4]uint64{partSize, partSize, partSize * maxFan, partSize}
	switch kind {
	case partNodes:
	case PartTuples:
		columns = 2
		limits = [4]uint64{partSize, partSize + 4*MaxAttributes}
	default:
		return 0, nil, fmt.Errorf("part of kind %d: %w", kind, ErrCorrupt)
	}
	for i := range columns {
		if p.cols[i], err = p.Column(&r, p.cols[i], limits[i]); err != nil {
			return 0, nil, err
		}
	}
	if r.Len() != 0 {
		return 0, nil, fmt.Errorf("%d bytes after a part: %w", r.Len(), ErrCorrupt)
	}
	return kind, rest, nil
}

// EachTuple calls f for each tuple of a part.
func (p *PartDecoder) EachTuple(f func(w []uint64) error) error {
	words := p.cols[1]
	for _, n := range p.cols[0] {
		if n > uint64(len(words)) {
			return fmt.Errorf("tuples cut: %w", ErrCorrupt)
		}
		if err := f(words[:n]); err != nil {
			return err
		}
		words = words[n:]
	}
	if len(words) != 0 {
		return fmt.Errorf("words after the tuples: %w", ErrCorrupt)
	}
	return nil
}

// EachNode calls f for each node of a part, with ids from first on. Its words have ids of the sender; those of children are less than the
// node's own.
func (p *PartDecoder) EachNode(first uint32, f func(id, meta uint32, words []uint32) error) error {
	sizes, steps, counts := p.cols[1], p.cols[2], p.cols[3]
	var words []uint32
	for i, m := range p.cols[0] {
		id := uint64(first) + uint64(i)
		k := Kind(m & 7)
		if m>>3 >= maxTuples || id >= 1<<32-1 {
			return fmt.Errorf("node %d: tuple %d: %w", id, m>>3, ErrCorrupt)
		}
		n := uint64(0)
		switch {
		case k == KindEvent:
		case k == KindRepeat:
			n = 1
		case len(sizes) == 0:
			return fmt.Errorf("node %d: sizes cut: %w", id, ErrCorrupt)
		default:
			n, sizes = sizes[0], sizes[1:]
		}
		if n > uint64(len(steps)) {
			return fmt.Errorf("node %d: children cut: %w", id, ErrCorrupt)
		}
		words = words[:0]
		for _, d := range steps[:n] {
			if d == 0 || d >= id {
				return fmt.Errorf("node %d: child %d before it: %w", id, d, ErrCorrupt)
			}
			words = append(words, uint32(id-d))
		}
		steps = steps[n:]
		if k == KindRepeat {
			if len(counts) == 0 || counts[0] > 1<<62 {
				return fmt.Errorf("node %d: counts cut: %w", id, ErrCorrupt)
			}
			c := counts[0] + minFolded
			words, counts = append(words, uint32(c), uint32(c>>32)), counts[1:]
		}
		if err := f(uint32(id), uint32(k)<<KindShift|uint32(m>>3), words); err != nil {
			return err
		}
	}
	if len(sizes)+len(steps)+len(counts) != 0 {
		return fmt.Errorf("values after the nodes: %w", ErrCorrupt)
	}
	return nil
}
