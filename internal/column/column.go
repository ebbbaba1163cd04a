package column

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// statsFrom is the number of values from which a column keeps block heads.
const statsFrom = 64

// Block is the head of one block.
type Block struct {
	Min, Max     uint64
	First        uint64 // the first value; 0 in a column of one block
	SumHi, SumLo uint64 // sum of the values, 128 bits
	offset       int    // in the column's block bytes
}

// Writer encodes a column of so many values, a block at a time. Use Init, then Add until none are left, then AppendTo.
type Writer struct {
	enc    *Encoder
	count  uint64
	left   uint64 // not added yet
	heads  []byte // of finished blocks
	blocks []byte // finished blocks
}

// Init begins a column of count values and keeps w's memory. The encoder may serve many writers.
func (w *Writer) Init(enc *Encoder, count uint64) {
	w.enc, w.count, w.left = enc, count, count
	w.heads, w.blocks = w.heads[:0], w.blocks[:0]
}

// Left returns how many values are missing.
func (w *Writer) Left() uint64 { return w.left }

// Add appends values: BlockSize of them, or all that are left if these are fewer.
func (w *Writer) Add(v []uint64) {
	start := len(w.blocks)
	w.blocks = w.enc.AppendBlock(w.blocks, v)
	w.left -= uint64(len(v))
	if w.count < statsFrom {
		return
	}
	s := &w.enc.stats
	if s.min == s.max {
		w.blocks = w.blocks[:start] // the head says it all
	}
	if w.count > BlockSize {
		w.heads = binary.AppendUvarint(w.heads, uint64(len(w.blocks)-start))
		w.heads = binary.AppendUvarint(w.heads, v[0]-s.min)
	}
	w.heads = binary.AppendUvarint(w.heads, s.min)
	w.heads = binary.AppendUvarint(w.heads, s.max-s.min)
	w.heads = appendUvarint128(w.heads, s.hi, s.lo)
}

// AppendTo appends the column, its count first.
func (w *Writer) AppendTo(dst []byte) []byte {
	return w.AppendBare(binary.AppendUvarint(dst, w.count))
}

// AppendBare is AppendTo without the count, for readers that know it.
func (w *Writer) AppendBare(dst []byte) []byte {
	return append(append(dst, w.heads...), w.blocks...)
}

// Append appends v as a column, its count first.
func (e *Encoder) Append(dst []byte, v []uint64) []byte {
	var w Writer
	for w.Init(e, uint64(len(v))); len(v) > 0; {
		n := min(len(v), BlockSize)
		w.Add(v[:n])
		v = v[n:]
	}
	return w.AppendTo(dst)
}

func appendUvarint128(dst []byte, hi, lo uint64) []byte {
	for hi != 0 {
		dst = append(dst, byte(lo)|0x80)
		lo = lo>>7 | hi<<57
		hi >>= 7
	}
	return binary.AppendUvarint(dst, lo)
}

func uvarint128(src []byte) (hi, lo uint64, rest []byte, ok bool) {
	for i, b := range src {
		s := uint(7 * i)
		x := uint64(b & 0x7F)
		switch {
		case s > 126 || s == 126 && x > 3:
			return 0, 0, nil, false
		case s < 64:
			lo |= x << s
			if s > 57 {
				hi |= x >> (64 - s)
			}
		default:
			hi |= x << (s - 64)
		}
		if b < 0x80 {
			return hi, lo, src[i+1:], true
		}
	}
	return 0, 0, nil, false
}

// Column is an encoded column, opened for reading.
type Column struct {
	count uint64
	heads []Block // nil below statsFrom values
	data  []byte  // blocks
}

// Parse opens the column that fills src. It reads the heads, not the blocks.
func Parse(src []byte) (Column, error) {
	n, src, ok := varint(src)
	if !ok {
		return Column{}, fmt.Errorf("column head cut: %w", ErrCorrupt)
	}
	return ParseBare(src, n)
}

// ParseBare opens the column of n values that fills src and has no count.
func ParseBare(src []byte, n uint64) (Column, error) {
	c := Column{count: n}
	switch {
	case n == 0:
		if len(src) != 0 {
			return Column{}, fmt.Errorf("column: %d bytes after it: %w", len(src), ErrCorrupt)
		}
		return c, nil
	case n < statsFrom:
		c.data = src
		return c, nil
	}
	blocks := (n-1)/BlockSize + 1
	if blocks > uint64(len(src))/3 { // a head has 3 bytes at least
		return Column{}, fmt.Errorf("column of %d values in %d bytes: %w", n, len(src), ErrCorrupt)
	}
	c.heads = make([]Block, blocks)
	at := uint64(0)
	for i := range c.heads {
		var size uint64
		var ok bool
		if size, src, ok = c.heads[i].parse(src, min(n-uint64(i)*BlockSize, BlockSize), blocks > 1); !ok {
			return Column{}, fmt.Errorf("column: bad head of block %d: %w", i, ErrCorrupt)
		}
		c.heads[i].offset = int(at)
		if at += min(size, 1<<40); at > uint64(len(src)) {
			return Column{}, fmt.Errorf("column: block %d cut: %w", i, ErrCorrupt)
		}
	}
	if blocks > 1 && at != uint64(len(src)) {
		return Column{}, fmt.Errorf("column: %d bytes after the last block: %w", uint64(len(src))-at, ErrCorrupt)
	}
	c.data = src
	return c, nil
}

// parse reads the head of a block of n values; size and first value are there
// if the column has several.
func (b *Block) parse(src []byte, n uint64, several bool) (size uint64, rest []byte, ok bool) {
	var span, first uint64
	if several {
		if size, src, ok = varint(src); !ok {
			return 0, nil, false
		}
		if first, src, ok = varint(src); !ok {
			return 0, nil, false
		}
	}
	if b.Min, src, ok = varint(src); !ok {
		return 0, nil, false
	}
	if span, src, ok = varint(src); !ok {
		return 0, nil, false
	}
	hi, lo, src, ok := uvarint128(src)
	if !ok || b.Min+span < b.Min || first > span {
		return 0, nil, false
	}
	b.Max = b.Min + span
	if several {
		b.First = b.Min + first
	}
	topHi, topLo := bits.Mul64(span, n)
	if hi > topHi || hi == topHi && lo > topLo {
		return 0, nil, false
	}
	baseHi, baseLo := bits.Mul64(b.Min, n)
	var carry uint64
	b.SumLo, carry = bits.Add64(lo, baseLo, 0)
	b.SumHi = hi + baseHi + carry
	return size, src, true
}

// Len returns the number of values.
func (c *Column) Len() uint64 { return c.count }

// Blocks returns the number of blocks.
func (c *Column) Blocks() int { return int((c.count + BlockSize - 1) / BlockSize) }

// Heads returns the block heads, nil for a column too short to have any.
func (c *Column) Heads() []Block { return c.heads }

// Decode reads block i into dst, which has room for BlockSize values or as many
// as the column has, and returns their number.
func (c *Column) Decode(i int, dst []uint64) (int, error) {
	n, src, size, err := c.block(i)
	if err == nil && src == nil {
		fill(dst[:n], c.heads[i].Min)
	} else if err == nil {
		err = decodeWhole(dst[:n], src, size, i)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// block returns how many values block i has, its bytes with those after it, nil if the head says it all, and their number.
func (c *Column) block(i int) (n int, src []byte, size int, err error) {
	if i < 0 || i >= c.Blocks() {
		return 0, nil, 0, fmt.Errorf("column: block %d of %d: %w", i, c.Blocks(), ErrCorrupt)
	}
	n = int(min(c.count-uint64(i)*BlockSize, BlockSize))
	if c.heads == nil {
		return n, c.data, len(c.data), nil
	}
	at, end := c.heads[i].offset, len(c.data)
	if i+1 < len(c.heads) {
		end = c.heads[i+1].offset
	}
	switch {
	case c.heads[i].Min != c.heads[i].Max:
		return n, c.data[at:], end - at, nil
	case at != end:
		return 0, nil, 0, otherLength(i)
	}
	return n, nil, 0, nil
}

// codes returns the codes of a block where these have one width, with what is after them; else false and src.
func (c *Column) codes(i, n int, src []byte, size int) (base uint64, w uint, codes []byte, ok bool) {
	switch {
	case src == nil:
		return c.heads[i].Min, 0, nil, true
	case size == 0 || Pipeline(src[0]) != For:
		return 0, 0, src, false
	}
	base, codes, ok = varint(src[1:])
	if !ok || len(codes) == 0 {
		return 0, 0, src, false
	}
	w, codes = uint(codes[0]), codes[1:]
	if w > 64 || len(src)-len(codes)+packedLen(n, w) != size {
		return 0, 0, src, false
	}
	return base, w, codes, true
}

// decodeWhole reads block i, which takes so many bytes of src.
func decodeWhole(dst []uint64, src []byte, size, i int) error {
	rest, err := DecodeBlock(dst, src)
	if err != nil {
		return fmt.Errorf("column: block %d: %w", i, err)
	}
	if len(src)-len(rest) != size {
		return otherLength(i)
	}
	return nil
}

func otherLength(i int) error {
	return fmt.Errorf("column: block %d has another length than its head says: %w", i, ErrCorrupt)
}

// Sum returns the sum of all values, 128 bits wide. Short columns are decoded.
func (c *Column) Sum() (hi, lo uint64, err error) {
	if c.heads == nil && c.count > 0 {
		var v [statsFrom]uint64
		n, err := c.Decode(0, v[:])
		if err != nil {
			return 0, 0, err
		}
		for _, x := range v[:n] {
			var carry uint64
			lo, carry = bits.Add64(lo, x, 0)
			hi += carry
		}
		return hi, lo, nil
	}
	for i := range c.heads {
		var carry uint64
		lo, carry = bits.Add64(lo, c.heads[i].SumLo, 0)
		hi, _ = bits.Add64(hi, c.heads[i].SumHi, carry)
	}
	return hi, lo, nil
}

// Verify decodes every block and compares it with its head.
func (c *Column) Verify() error {
	var v [BlockSize]uint64
	for i := range c.Blocks() {
		n, err := c.Decode(i, v[:])
		if err != nil {
			return err
		}
		if c.heads == nil {
			continue
		}
		got := Block{Min: v[0], Max: v[0], offset: c.heads[i].offset}
		if len(c.heads) > 1 {
			got.First = v[0]
		}
		for _, x := range v[:n] {
			var carry uint64
			got.Min, got.Max = min(got.Min, x), max(got.Max, x)
			got.SumLo, carry = bits.Add64(got.SumLo, x, 0)
			got.SumHi += carry
		}
		if got != c.heads[i] {
			return fmt.Errorf("column: block %d: head does not fit the values: %w", i, ErrCorrupt)
		}
	}
	return nil
}
