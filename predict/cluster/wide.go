package cluster

import (
	"cmp"
	"math"
	"math/bits"
)

// wide is an unsigned number of 256 bits, low word first.
type wide [4]uint64

func (a wide) add(b wide) wide {
	var s wide
	var carry uint64
	for i := range a {
		s[i], carry = bits.Add64(a[i], b[i], carry)
	}
	return s
}

func (a wide) sub(b wide) wide {
	var s wide
	var borrow uint64
	for i := range a {
		s[i], borrow = bits.Sub64(a[i], b[i], borrow)
	}
	return s
}

func (a wide) cmp(b wide) int {
	for i := 3; i > 0; i-- {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(a[0], b[0])
}

// times returns a·b; what is above 256 bits is lost.
func (a wide) times(b uint64) wide {
	var s wide
	var carry uint64
	for i := range a {
		hi, lo := bits.Mul64(a[i], b)
		var c uint64
		s[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	return s
}

// shift returns a·2^n, n at most 64; what is above 256 bits is lost.
func (a wide) shift(n uint) wide {
	return wide{a[0] << n, a[1]<<n | a[0]>>(64-n), a[2]<<n | a[1]>>(64-n), a[3]<<n | a[2]>>(64-n)}
}

// overUp returns a/b, rounded up.
func (a wide) overUp(b uint64) wide {
	var q wide
	var rest uint64
	for i := 3; i >= 0; i-- {
		q[i], rest = bits.Div64(rest, a[i], b)
	}
	if rest > 0 {
		return q.add(wide{1})
	}
	return q
}

// addSquare returns a + (hi·2^64 + lo)².
func (a wide) addSquare(hi, lo uint64) wide {
	s := wide{}
	s[1], s[0] = bits.Mul64(lo, lo)
	if hi == 0 {
		return a.add(s)
	}
	s[3], s[2] = bits.Mul64(hi, hi)
	mh, ml := bits.Mul64(hi, lo)
	cross := wide{0, ml, mh}
	return a.add(s).add(cross).add(cross)
}

// compare orders heights.
func (h Height) compare(g Height) int {
	if h.Pairs == g.Pairs {
		if h.Hi != g.Hi {
			return cmp.Compare(h.Hi, g.Hi)
		}
		return cmp.Compare(h.Lo, g.Lo)
	}
	return wide{h.Lo, h.Hi}.times(g.Pairs).cmp(wide{g.Lo, g.Hi}.times(h.Pairs))
}

// whole is the height of d units.
func whole(d uint64) Height { return Height{Lo: d, Pairs: 1} }

// Floor returns the height in units of 2^-Fraction, rounded down; what does not fit 64 bits is math.MaxUint64.
func (h Height) Floor() uint64 {
	if h.Pairs == 0 || h.Hi >= h.Pairs {
		return math.MaxUint64
	}
	q, _ := bits.Div64(h.Hi, h.Lo, h.Pairs)
	return q
}

// Float returns the height in units of the vectors, for display.
func (h Height) Float(fraction uint8) float64 {
	v := math.Ldexp(float64(h.Hi), 64) + float64(h.Lo)
	return math.Ldexp(v/float64(h.Pairs), -int(fraction))
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

// signed is a number of 128 bits in two's complement.
type signed struct{ hi, lo uint64 }

func (s signed) add(t signed) signed {
	lo, c := bits.Add64(s.lo, t.lo, 0)
	hi, _ := bits.Add64(s.hi, t.hi, c)
	return signed{hi, lo}
}

func (s signed) sub(t signed) signed {
	lo, b := bits.Sub64(s.lo, t.lo, 0)
	hi, _ := bits.Sub64(s.hi, t.hi, b)
	return signed{hi, lo}
}

// times returns s·n; what is above 128 bits is lost.
func (s signed) times(n uint64) signed {
	hi, lo := bits.Mul64(s.lo, n)
	return signed{hi + s.hi*n, lo}
}

// addProduct returns s + x·n.
func (s signed) addProduct(x int64, n uint64) signed {
	return s.add(signed{uint64(x >> 63), uint64(x)}.times(n))
}

// size returns the absolute value.
func (s signed) size() (hi, lo uint64) {
	if int64(s.hi) < 0 {
		s = signed{}.sub(s)
	}
	return s.hi, s.lo
}
