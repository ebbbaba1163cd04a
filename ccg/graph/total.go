package graph

import (
	"cmp"
	"math"
	"math/bits"
)

// Total is an unsigned 128-bit sum. The sum of 2^64 values cannot overflow.
type Total struct{ Hi, Lo uint64 }

// Plus returns t+o.
func (t Total) Plus(o Total) Total {
	lo, carry := bits.Add64(t.Lo, o.Lo, 0)
	hi, _ := bits.Add64(t.Hi, o.Hi, carry)
	return Total{hi, lo}
}

// Minus returns t-o.
func (t Total) Minus(o Total) Total {
	lo, borrow := bits.Sub64(t.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(t.Hi, o.Hi, borrow)
	return Total{hi, lo}
}

// Compare compares as cmp.Compare does.
func (t Total) Compare(o Total) int {
	return cmp.Or(cmp.Compare(t.Hi, o.Hi), cmp.Compare(t.Lo, o.Lo))
}

// Product returns a*b.
func Product(a, b uint64) Total {
	hi, lo := bits.Mul64(a, b)
	return Total{hi, lo}
}

// Divide returns t/n and the remainder. t must be the sum of n > 0 values.
func (t Total) Divide(n uint64) (quotient, rest uint64) { return bits.Div64(t.Hi, t.Lo, n) }

// Mean returns t/n, n > 0, rounded to the nearest integer; 2^64-1 if t is larger than n values can be.
func (t Total) Mean(n uint64) uint64 {
	if t = t.Plus(Total{0, n / 2}); t.Hi >= n {
		return math.MaxUint64
	}
	q, _ := bits.Div64(t.Hi, t.Lo, n)
	return q
}
