package report

import (
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// Fraction is an exact number of ticks, or a share; in JSON [numerator, denominator], null where it is not known.
type Fraction = exact.Number

// whole is a sum as a fraction.
func whole(v Sum) Fraction {
	if v == notKnown {
		return Fraction{}
	}
	return exact.Int(int64(v))
}

// fraction returns a / b, not known where b is not above 0.
func fraction(a, b Sum) Fraction { return whole(a).Div(uint64(max(b, 0))) }

func fraction64(a, b uint64) Fraction { return exact.Share(0, a, b) }

// ratioOf is the nearest floating-point number.
func ratioOf(f Fraction) Ratio { return Ratio{f.Float(), f.Known()} }

// over returns f / d.
func over(f Fraction, d Sum) Ratio { return ratioOf(f.Div(uint64(max(d, 0)))) }

// fraction is the number exactly.
func (r Ratio) fraction() Fraction {
	if !r.Defined {
		return Fraction{}
	}
	return exact.Float(r.Value)
}

// variance is that of n numbers with a sum, and with a sum of squares of 128 bits: (n * squares - sum * sum) / (n * n).
func variance(n, sum, high, low uint64) Ratio {
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
