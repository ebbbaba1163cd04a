package tracetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// FlipBit returns a copy of b with one bit turned, and says which.
func FlipBit(x *rand.Rand, b []byte) ([]byte, string) {
	b = slices.Clone(b)
	at := x.IntN(max(len(b), 1))
	if len(b) > 0 {
		b[at] ^= 1 << x.IntN(8)
	}
	return b, fmt.Sprintf("bit of byte %d turned", at)
}

// Damage returns a copy of b with some bytes changed, lost or doubled, and says
// how: what disks, copies and editors do to a file.
func Damage(x *rand.Rand, b []byte) ([]byte, string) {
	b = slices.Clone(b)
	if len(b) == 0 {
		return append(b, byte(x.Uint32())), "a byte more"
	}
	at := x.IntN(len(b))
	if x.IntN(3) == 0 {
		at = x.IntN(min(len(b), 64)) // heads hold what sizes the rest
	}
	n := min(1+x.IntN(64)>>x.IntN(7), len(b)-at)
	part := b[at : at+n]
	switch x.IntN(9) {
	case 0:
		return FlipBit(x, b)
	case 1:
		for i := range part {
			part[i] = byte(x.Uint32())
		}
		return b, fmt.Sprintf("%d random bytes at %d", n, at)
	case 2:
		clear(part)
		return b, fmt.Sprintf("%d zeros at %d", n, at)
	case 3:
		for i := range part {
			part[i] = 0xff
		}
		return b, fmt.Sprintf("%d bytes 0xff at %d", n, at)
	case 4:
		return b[:at], fmt.Sprintf("cut at %d of %d", at, len(b))
	case 5:
		return slices.Delete(b, at, at+n), fmt.Sprintf("%d bytes left out at %d", n, at)
	case 6:
		return slices.Insert(b, at, slices.Clone(part)...), fmt.Sprintf("%d bytes twice at %d", n, at)
	case 7: // the other byte order, where it is told: the heads of chunks
		for i := range b {
			if b[i] == 'B' && (i == 0 || x.IntN(4) == 0) {
				b[i] = '#'
			} else if b[i] == '#' && (i == 0 || x.IntN(4) == 0) {
				b[i] = 'B'
			}
		}
		return b, "byte order"
	default:
		for range 1 + x.IntN(20) {
			b[x.IntN(len(b))] = byte(x.Uint32())
		}
		return b, "random bytes all over"
	}
}

// Forge returns a copy of b with other bytes and the same checksums, and says
// where: what it adds are multiples of the polynomial of CRC-32C, so the sum of
// every span of bytes around them stays, seeds and sums of sums too.
func Forge(x *rand.Rand, b []byte) ([]byte, string) {
	const polynomial = 1 | uint64(0x82f63b78)<<1 // of 33 bits, the highest power first
	b = slices.Clone(b)
	at := x.IntN(max(1, len(b)-8))
	if x.IntN(3) == 0 {
		at = max(0, len(b)-1-x.IntN(min(len(b), 20_000))) // the directory, definitions and tables of the call graph
	}
	at = min(at, max(0, len(b)-8))
	for range 1 + x.IntN(3) {
		p := b[at:min(at+8, len(b))]
		if len(p) < 8 {
			break
		}
		v := binary.LittleEndian.Uint64(p) ^ polynomial<<x.IntN(31)
		binary.LittleEndian.PutUint64(p, v)
	}
	return b, fmt.Sprintf("forged at %d", at)
}
