package numbers

import (
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// Fraction is an exact number of ticks, or a share; in JSON [numerator, denominator], null where it is not known.
type Fraction = exact.Number

// Whole is a sum as a fraction.
func Whole(v Sum) Fraction {
	if v == NotKnown {
		return Fraction{}
	}
	return exact.Int(int64(v))
}

// Divide returns a / b, not known where b is not above 0.
func Divide(a, b Sum) Fraction { return Whole(a).Div(uint64(max(b, 0))) }

// Divide64 returns a / b, not known for b = 0.
func Divide64(a, b uint64) Fraction { return exact.Share(0, a, b) }

// Nearest is the nearest floating-point number.
func Nearest(f Fraction) Ratio { return Ratio{f.Float(), f.Known()} }

// Part returns f / d.
func Part(f Fraction, d Sum) Ratio { return Nearest(f.Div(uint64(max(d, 0)))) }

// Fraction is the number exactly.
func (r Ratio) Fraction() Fraction {
	if !r.Defined {
		return Fraction{}
	}
	return exact.Float(r.Value)
}

// Variance is that of n numbers with a sum, and with a sum of squares of 128 bits: (n * squares - sum * sum) / (n * n).
func Variance(n, sum, high, low uint64) Ratio {
	if n == 0 || n > math.MaxUint32 {
		return Ratio{}
	}
	top, middle := bits.Mul64(n, high)
	hi, lo := bits.Mul64(n, low)
	hi, carry := bits.Add64(hi, middle, 0)
	x, y := bits.Mul64(sum, sum)
	lo, borrow := bits.Sub64(lo, y, 0)
	hi, borrow = bits.Sub64(hi, x, borrow)
	if top += carry - borrow; top != 0 {
		return Ratio{math.Ldexp(exact.Quotient(top, hi, n*n), 64), true}
	}
	return Ratio{exact.Quotient(hi, lo, n*n), true}
}
