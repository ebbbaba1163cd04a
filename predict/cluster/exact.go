package cluster

import (
	"cmp"
	"math"
	"math/bits"
)

// Numbers of 128 bits are two words, hi and lo.

// times returns (hi, lo)·n; false where that does not fit 128 bits.
func times(hi, lo, n uint64) (uint64, uint64, bool) {
	h, l := bits.Mul64(lo, n)
	over, x := bits.Mul64(hi, n)
	h, carry := bits.Add64(h, x, 0)
	return h, l, over|carry == 0
}

// overUp returns (hi, lo)/n, rounded up.
func overUp(hi, lo, n uint64) (uint64, uint64) {
	q, r := bits.Div64(hi%n, lo, n)
	carry := uint64(0)
	if r > 0 {
		q, carry = bits.Add64(q, 1, 0)
	}
	return hi/n + carry, q
}

// plusSquare returns (hi, lo) + d².
func plusSquare(hi, lo, d uint64) (uint64, uint64) {
	h, l := bits.Mul64(d, d)
	lo, carry := bits.Add64(lo, l, 0)
	return hi + h + carry, lo
}

// distanceOf returns the L2 distance in units of 2^-fraction, rounded up, from its square.
func distanceOf(hi, lo uint64, fraction uint8) uint64 {
	s := 2 * uint(fraction)
	return rootUp(hi<<s|lo>>(64-s), lo<<s)
}

// rootUp returns the least s with s² >= hi·2^64 + lo, which must be below 2^126. The float is a first guess alone.
func rootUp(hi, lo uint64) uint64 {
	if hi == 0 && lo == 0 {
		return 0
	}
	s := uint64(math.Sqrt(math.Ldexp(float64(hi), 64) + float64(lo)))
	if hi != 0 { // one step of Newton's method: the guess has 52 good bits, the root up to 63
		q, _ := bits.Div64(hi, lo, s)
		s = s/2 + q/2 + s&q&1
	}
	for lessSquare(s, hi, lo) {
		s++
	}
	for s > 0 && !lessSquare(s-1, hi, lo) {
		s--
	}
	return s
}

// lessSquare tells whether s² is below hi·2^64 + lo.
func lessSquare(s, hi, lo uint64) bool {
	h, l := bits.Mul64(s, s)
	return h < hi || h == hi && l < lo
}

// apart is |x−y|.
func apart(x, y int64) uint64 {
	if x < y {
		return uint64(y) - uint64(x)
	}
	return uint64(x) - uint64(y)
}

func whole(d uint64) Height { return Height{Units: d, Pairs: 1} }

func (h Height) compare(g Height) int {
	ah, al := bits.Mul64(h.Units, g.Pairs)
	bh, bl := bits.Mul64(g.Units, h.Pairs)
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl))
}

// Floor returns the height in units of 2^-Fraction, rounded down.
func (h Height) Floor() uint64 { return h.Units / max(h.Pairs, 1) }

// Float returns the height in units of the vectors, for display.
func (h Height) Float(fraction uint8) float64 {
	return math.Ldexp(float64(h.Units)/float64(max(h.Pairs, 1)), -int(fraction))
}
