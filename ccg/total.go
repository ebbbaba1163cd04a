package ccg

import (
	"cmp"
	"math"
	"math/bits"
)

// total is a sum of unsigned 128 bits: that of 2^64 values cannot overflow.
type total struct{ hi, lo uint64 }

func (t total) plus(o total) total {
	lo, carry := bits.Add64(t.lo, o.lo, 0)
	hi, _ := bits.Add64(t.hi, o.hi, carry)
	return total{hi, lo}
}

func (t total) minus(o total) total {
	lo, borrow := bits.Sub64(t.lo, o.lo, 0)
	hi, _ := bits.Sub64(t.hi, o.hi, borrow)
	return total{hi, lo}
}

func (t total) compare(o total) int {
	return cmp.Or(cmp.Compare(t.hi, o.hi), cmp.Compare(t.lo, o.lo))
}

// product returns a*b.
func product(a, b uint64) total {
	hi, lo := bits.Mul64(a, b)
	return total{hi, lo}
}

// divide returns t/n and the remainder; t must be the sum of n > 0 values.
func (t total) divide(n uint64) (quotient, rest uint64) { return bits.Div64(t.hi, t.lo, n) }

// mean returns t/n, n > 0, rounded to the nearest integer; 2^64-1 if t is more
// than n values can be.
func (t total) mean(n uint64) uint64 {
	if t = t.plus(total{0, n / 2}); t.hi >= n {
		return math.MaxUint64
	}
	q, _ := bits.Div64(t.hi, t.lo, n)
	return q
}
