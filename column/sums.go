package column

import (
	"fmt"
	"math/bits"
)

// Sums answers prefix sums of a column: from the block heads, and for the part
// of a block from that block, of which it keeps the last one decoded. Use Init.
// It takes 16 bytes per block and up to 8 KiB for the decoded one; a question
// costs one decoded block, or O(1) if the one before was about the same block.
type Sums struct {
	col    *Column
	before [][2]uint64 // sum of all values before a block: high, low
	block  int         // decoded block, -1: none
	prefix []uint64    // its sums of the first 1, 2, ... values; the values if wide
	wide   bool        // the block's sum exceeds 64 bits
	err    error
}

// Init prepares s for col and keeps its memory.
func (s *Sums) Init(col *Column) {
	*s = Sums{col: col, before: s.before[:0], prefix: s.prefix[:0], block: -1}
	var hi, lo uint64
	for i := range col.heads {
		s.before = append(s.before, [2]uint64{hi, lo})
		hi, lo = add128(hi, lo, col.heads[i].SumHi, col.heads[i].SumLo)
	}
	s.before = append(s.before, [2]uint64{hi, lo})
}

// Before returns the sum of the first i values, 128 bits wide; 0 after an error
// and for i above Len, see Err.
func (s *Sums) Before(i uint64) (hi, lo uint64) {
	if s.err != nil {
		return 0, 0
	}
	if i > s.col.Len() {
		s.err = fmt.Errorf("column: sum of %d of %d values: %w", i, s.col.Len(), ErrCorrupt)
		return 0, 0
	}
	b, r := int(i/BlockSize), int(i%BlockSize)
	if i == s.col.Len() && s.col.heads != nil {
		b, r = len(s.col.heads), 0
	}
	hi, lo = s.before[b][0], s.before[b][1]
	if r == 0 {
		return hi, lo
	}
	if b != s.block && !s.load(b) {
		return 0, 0
	}
	if !s.wide {
		return add128(hi, lo, 0, s.prefix[r-1])
	}
	for _, x := range s.prefix[:r] {
		hi, lo = add128(hi, lo, 0, x)
	}
	return hi, lo
}

// Err returns the first error of Before.
func (s *Sums) Err() error { return s.err }

// load decodes a block and compares it with its head, from which the sums of
// whole blocks come.
func (s *Sums) load(block int) bool {
	s.block = -1
	if n := int(min(s.col.Len(), BlockSize)); cap(s.prefix) < n {
		s.prefix = make([]uint64, n)
	}
	v := s.prefix[:cap(s.prefix)]
	n, err := s.col.Decode(block, v)
	if err != nil {
		s.err = err
		return false
	}
	v = v[:n]
	var hi, lo uint64
	for _, x := range v {
		hi, lo = add128(hi, lo, 0, x)
	}
	if h := s.col.heads; h != nil && (h[block].SumHi != hi || h[block].SumLo != lo) {
		s.err = fmt.Errorf("column: block %d: head does not fit the values: %w", block, ErrCorrupt)
		return false
	}
	s.wide = hi != 0
	if !s.wide {
		sum := uint64(0)
		for i, x := range v {
			sum += x
			v[i] = sum
		}
	}
	s.prefix, s.block = v, block
	return true
}

func add128(hi, lo, addHi, addLo uint64) (sumHi, sumLo uint64) {
	sumLo, carry := bits.Add64(lo, addLo, 0)
	return hi + addHi + carry, sumLo
}
