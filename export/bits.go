package export

import (
	"encoding/binary"
	"math/bits"
)

// appendBits packs values of width bits each, the lowest bit first, and fills the last byte with 0.
func appendBits(dst []byte, values []uint64, width int) []byte {
	var word uint64
	used := 0
	for _, v := range values {
		word |= v << used
		if used+width >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			word = 0
			if used > 0 {
				word = v >> (64 - used)
			}
			used += width - 64
			continue
		}
		used += width
	}
	for ; used > 0; used -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// Sizes of DELTA_BINARY_PACKED: values of a block, and of a miniblock, which has a width of its own.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDelta writes integers of 32 or 64 bits as Parquet's DELTA_BINARY_PACKED: the first value, then blocks of
// differences above their smallest one. Differences wrap around, so every value comes back.
func appendDelta(dst []byte, values []uint64, width int) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaBlock/deltaMini)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	signed := func(v uint64) int64 { return int64(v<<(64-width)) >> (64 - width) }
	if len(values) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, signed(values[0]))
	var deltas [deltaBlock]uint64
	for i := 1; i < len(values); i += deltaBlock {
		n := min(deltaBlock, len(values)-i)
		least := int64(0)
		for k := range n {
			d := signed(values[i+k] - values[i+k-1])
			deltas[k] = uint64(d)
			if k == 0 || d < least {
				least = d
			}
		}
		for k := range n {
			deltas[k] = (deltas[k] - uint64(least)) << (64 - width) >> (64 - width)
		}
		clear(deltas[n:])
		dst = appendDeltaBlock(dst, &deltas, n, least)
	}
	return dst
}

// appendDeltaBlock writes one block of n differences. Miniblocks without values have width 0.
func appendDeltaBlock(dst []byte, deltas *[deltaBlock]uint64, n int, least int64) []byte {
	dst = binary.AppendVarint(dst, least)
	var widths [deltaBlock / deltaMini]int
	for m := range widths {
		all := uint64(0)
		for _, d := range deltas[m*deltaMini : (m+1)*deltaMini] {
			all |= d
		}
		widths[m] = bits.Len64(all)
		dst = append(dst, byte(widths[m]))
	}
	for m, w := range widths {
		if m*deltaMini < n {
			dst = appendBits(dst, deltas[m*deltaMini:(m+1)*deltaMini], w)
		}
	}
	return dst
}

// appendHybrid writes values as Parquet's mix of runs and packed groups of 8: a run of at least 8 equal values is
// its length and the value, all else is packed. The last group may be filled with 0.
func appendHybrid(dst []byte, values []uint64, width int) []byte {
	for i := 0; i < len(values); {
		if n := runAt(values, i); n >= 8 {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for b := 0; b < width; b += 8 {
				dst = append(dst, byte(values[i]>>b))
			}
			i += n
			continue
		}
		end := i
		for end < len(values) && (end == i || !eightEqual(values[end:])) {
			end = min(end+8, len(values))
		}
		groups := (end - i + 7) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		packed := len(dst)
		dst = appendBits(dst, values[i:end], width)
		for len(dst) < packed+groups*width {
			dst = append(dst, 0)
		}
		i = end
	}
	return dst
}

func runAt(values []uint64, i int) int {
	n := 1
	for i+n < len(values) && values[i+n] == values[i] {
		n++
	}
	return n
}

func eightEqual(values []uint64) bool {
	if len(values) < 8 {
		return false
	}
	for _, v := range values[1:8] {
		if v != values[0] {
			return false
		}
	}
	return true
}
