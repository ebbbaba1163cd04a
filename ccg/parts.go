package ccg

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/internal/varint"
)

// A part carries a run of tuples or of nodes; the children of its nodes are in
// it or in earlier parts.
const (
	partTuples = 1
	partNodes  = 2

	partSize  = 1 << 16 // nodes, or words of tuples, in one part at most
	maxPart   = 1 << 28 // bytes of a part, refused above
	minFolded = 2       // a Repeat has two instances of its body at least
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// partEncoder writes parts.
type partEncoder struct {
	enc     column.Encoder
	squeeze *column.Squeezer
	buf     []byte
	cols    [4][]uint64
	col     []byte
}

// newPartEncoder returns an encoder with the second stage or, for segments that
// are read once, without it.
func newPartEncoder(squeezed bool) *partEncoder {
	p := &partEncoder{}
	if squeezed {
		p.squeeze = column.NewSqueezer()
	}
	return p
}

// column appends v as a column with its length in front.
func (p *partEncoder) column(v []uint64) {
	p.col = p.enc.Append(p.col[:0], v)
	p.buf = binary.AppendUvarint(p.buf, uint64(len(p.col)))
	p.buf = append(p.buf, p.col...)
}

// frame appends the part in buf to dst: squeezed, with its check sum.
func (p *partEncoder) frame(dst []byte) []byte {
	start := len(dst)
	if p.squeeze != nil {
		dst = p.squeeze.Append(dst, p.buf)
	} else {
		dst = column.AppendPlain(dst, p.buf)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// tuples appends the part of tuples from number first on, and returns the
// number after its last one.
func (p *partEncoder) tuples(dst []byte, t *tuples, first int) ([]byte, int) {
	lengths, words := p.cols[0][:0], p.cols[1][:0]
	n := first
	for n < t.len() && (n == first || len(words) < partSize) {
		w := t.at(uint32(n))
		lengths = append(lengths, uint64(len(w)))
		words = append(words, w...)
		n++
	}
	p.cols[0], p.cols[1] = lengths, words
	p.buf = append(p.buf[:0], partTuples)
	p.column(lengths)
	p.column(words)
	return p.frame(dst), n
}

// nodes appends the part of nodes from id first on, and returns the id after
// its last one.
func (p *partEncoder) nodes(dst []byte, s *store, first uint32) ([]byte, uint32) {
	metas, sizes, steps, counts := p.cols[0][:0], p.cols[1][:0], p.cols[2][:0], p.cols[3][:0]
	id := first
	for ; int(id) <= s.len() && id-first < partSize; id++ {
		k := s.kind(id)
		metas = append(metas, uint64(s.tuple(id))<<3|uint64(k))
		list := s.children(id)
		switch k {
		case kindEvent:
		case kindRepeat:
			counts = append(counts, s.count(id)-minFolded)
		default:
			sizes = append(sizes, uint64(len(list)))
		}
		for _, c := range list {
			steps = append(steps, uint64(id-c))
		}
	}
	p.cols = [4][]uint64{metas, sizes, steps, counts}
	p.buf = append(p.buf[:0], partNodes)
	for _, c := range p.cols {
		p.column(c)
	}
	return p.frame(dst), id
}

// eachPart yields all tuples and nodes of a graph. A part is valid until the next one.
func eachPart(g *graph, squeezed bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p := newPartEncoder(squeezed)
		var part []byte
		for n := 0; n < g.tuples.len(); {
			if part, n = p.tuples(part[:0], g.tuples, n); !yield(part) {
				return
			}
		}
		for id := uint32(1); int(id) <= g.nodes.len(); {
			if part, id = p.nodes(part[:0], g.nodes, id); !yield(part) {
				return
			}
		}
	}
}

// messages puts parts together to messages of about limit bytes.
func messages(limit int, parts iter.Seq[[]byte]) iter.Seq[[]byte] {
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

// partDecoder reads parts.
type partDecoder struct {
	unsqueeze *column.Unsqueezer
	cols      [4][]uint64
}

func newPartDecoder() *partDecoder {
	return &partDecoder{unsqueeze: column.NewUnsqueezer(maxPart)}
}

func (p *partDecoder) close() { p.unsqueeze.Close() }

// column reads a column with its length in front, of limit values at most.
func (p *partDecoder) column(r *reader, dst []uint64, limit uint64) ([]uint64, error) {
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

// unit takes the frame off the part at the start of src: it returns the part's
// kind, what follows that, and the bytes after the part.
func (p *partDecoder) unit(src []byte) (kind byte, r reader, rest []byte, err error) {
	unit, rest, err := p.unsqueeze.Read(src)
	if err != nil {
		return 0, r, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(rest) < 4 || crc32.Checksum(src[:len(src)-len(rest)], castagnoli) != binary.LittleEndian.Uint32(rest) {
		return 0, r, nil, fmt.Errorf("check sum of a part: %w", ErrCorrupt)
	}
	r = reader{varint.Read(unit)}
	kind = r.Byte()
	return kind, r, rest[4:], nil
}

// read decodes the part at the start of src and returns the bytes after it.
func (p *partDecoder) read(src []byte) (kind byte, rest []byte, err error) {
	kind, r, rest, err := p.unit(src)
	if err != nil {
		return 0, nil, err
	}
	columns := 4
	limits := [4]uint64{partSize, partSize, partSize * maxFan, partSize}
	switch kind {
	case partNodes:
	case partTuples:
		columns = 2
		limits = [4]uint64{partSize, partSize + 4*maxAttributes}
	default:
		return 0, nil, fmt.Errorf("part of kind %d: %w", kind, ErrCorrupt)
	}
	for i := range columns {
		if p.cols[i], err = p.column(&r, p.cols[i], limits[i]); err != nil {
			return 0, nil, err
		}
	}
	if r.Len() != 0 {
		return 0, nil, fmt.Errorf("%d bytes after a part: %w", r.Len(), ErrCorrupt)
	}
	return kind, rest, nil
}

// eachTuple calls f for each tuple of a part.
func (p *partDecoder) eachTuple(f func(w []uint64) error) error {
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

// eachNode calls f for each node of a part, with ids from first on. Its words
// hold ids of the sender, children below the node's own.
func (p *partDecoder) eachNode(first uint32, f func(id, meta uint32, words []uint32) error) error {
	sizes, steps, counts := p.cols[1], p.cols[2], p.cols[3]
	var words []uint32
	for i, m := range p.cols[0] {
		id := uint64(first) + uint64(i)
		k := kind(m & 7)
		if m>>3 >= maxTuples || id >= 1<<32-1 {
			return fmt.Errorf("node %d: tuple %d: %w", id, m>>3, ErrCorrupt)
		}
		n := uint64(0)
		switch {
		case k == kindEvent:
		case k == kindRepeat:
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
		if k == kindRepeat {
			if len(counts) == 0 || counts[0] > 1<<62 {
				return fmt.Errorf("node %d: counts cut: %w", id, ErrCorrupt)
			}
			c := counts[0] + minFolded
			words, counts = append(words, uint32(c), uint32(c>>32)), counts[1:]
		}
		if err := f(uint32(id), uint32(k)<<kindShift|uint32(m>>3), words); err != nil {
			return err
		}
	}
	if len(sizes)+len(steps)+len(counts) != 0 {
		return fmt.Errorf("values after the nodes: %w", ErrCorrupt)
	}
	return nil
}
