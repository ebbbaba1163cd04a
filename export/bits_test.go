package export

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// bitReader reads packed values, the lowest bit first.
type bitReader struct {
	b  []byte
	at int
}

func (r *bitReader) read(width int) (v uint64) {
	for i := range width {
		if r.b[r.at/8]>>(r.at%8)&1 != 0 {
			v |= 1 << i
		}
		r.at++
	}
	return v
}

// readDelta reads DELTA_BINARY_PACKED, as the format's description says.
func readDelta(b []byte) (values []uint64, rest []byte) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	signed := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	block, minis, count := next(), next(), next()
	v := uint64(signed())
	if count > 0 {
		values = append(values, v)
	}
	for uint64(len(values)) < count {
		least := signed()
		widths := b[:minis]
		b = b[minis:]
		for _, w := range widths {
			if uint64(len(values)) == count {
				break
			}
			r := bitReader{b: b}
			for range block / minis {
				v += uint64(least) + r.read(int(w))
				if uint64(len(values)) < count {
					values = append(values, v)
				}
			}
			b = b[int(block/minis)*int(w)/8:]
		}
	}
	return values, b
}

// readHybrid reads n values of runs and packed groups.
func readHybrid(b []byte, n, width int) (values []uint64, rest []byte) {
	for len(values) < n {
		head, k := binary.Uvarint(b)
		b = b[k:]
		if head&1 == 0 {
			v := uint64(0)
			for i := range (width + 7) / 8 {
				v |= uint64(b[i]) << (8 * i)
			}
			b = b[(width+7)/8:]
			for range head >> 1 {
				values = append(values, v)
			}
			continue
		}
		r := bitReader{b: b}
		for range 8 * (head >> 1) {
			values = append(values, r.read(width))
		}
		b = b[int(head>>1)*width:]
	}
	return values[:n], b
}

// TestPacked reads back random values of all widths, with runs and without.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		width := rng.IntN(65)
		values := make([]uint64, rng.IntN(300))
		for i := range values {
			if i == 0 || rng.IntN(4) == 0 {
				values[i] = rng.Uint64() >> min(63, 64-width) >> (max(1, 64-width) - min(63, 64-width))
				if width == 0 {
					values[i] = 0
				}
			} else {
				values[i] = values[i-1]
			}
		}
		r := bitReader{b: append(appendBits(nil, values, width), make([]byte, 8)...)}
		for i, v := range values {
			if got := r.read(width); got != v {
				t.Fatalf("width %d, value %d: %d, want %d", width, i, got, v)
			}
		}
		got, rest := readHybrid(appendHybrid(nil, values, width), len(values), width)
		if !slices.Equal(got, values) || len(rest) != 0 {
			t.Fatalf("width %d: %v, want %v; %d bytes left", width, got, values, len(rest))
		}
		got, rest = readDelta(appendDelta(nil, values, 64))
		if !slices.Equal(got, values) || len(rest) != 0 {
			t.Fatalf("64 bits: %v, want %v; %d bytes left", got, values, len(rest))
		}
		for i := range values {
			values[i] = uint64(uint32(values[i]))
		}
		got, _ = readDelta(appendDelta(nil, values, 32))
		for i := range got {
			got[i] = uint64(uint32(got[i]))
		}
		if !slices.Equal(got, values) {
			t.Fatalf("32 bits: %v, want %v", got, values)
		}
	}
}
