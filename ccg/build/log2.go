package build

import "math/bits"

// logBits is the number of fractional bits of log2Fixed.
const logBits = 16

// log2Steps is the size of the table. Between two entries log2 is interpolated, with an error of at most 0.01/2^logBits.
const log2Steps = 1 << 10

// log2Table has log2(1 + i/log2Steps) with 32 fractional bits.
var log2Table = newLog2Table()

// newLog2Table squares each number repeatedly. Whenever the square reaches 2, the next bit of the logarithm is 1. It uses integers only, so
// that every machine has the same table.
func newLog2Table() *[log2Steps + 1]uint64 {
	t := new([log2Steps + 1]uint64)
	for i := range log2Steps {
		x := uint64(log2Steps+i) << (63 - 10) // in [1, 2), 63 fractional bits
		for range 32 {
			hi, lo := bits.Mul64(x, x)
			t[i] <<= 1
			if hi>>63 != 0 {
				t[i]++
				x = hi
			} else {
				x = hi<<1 | lo>>63
			}
		}
	}
	t[log2Steps] = 1 << 32
	return t
}

// log2Fixed returns log2(x) in units of 2^-logBits, rounded to the nearest unit or the one next to it. It is exact for powers of two.
// log2Fixed(0) is 0.
func log2Fixed(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	whole := uint64(bits.Len64(x) - 1)
	m := x << (63 - whole) << 1 // fraction of x/2^whole, 64 bits
	i := m >> 54
	low, high := log2Table[i], log2Table[i+1]
	f := low + (high-low)*(m>>32&(1<<22-1))>>22
	return whole<<logBits + (f+1<<15)>>16
}
