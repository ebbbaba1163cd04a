// Package exact has numbers that are sums of ticks, shares of such sums, and decimals that people write. A [Number] is exact while its
// whole part fits 63 bits and its denominator 64; the sums of a trace do. A longer denominator loses its lowest bits, and what is after
// the point is right to 2^-62.
// What has no value, such as a share of nothing, or does not fit, is not known, and so is all that is computed of it.
package exact

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MulDiv is a * b / c, rounded down; the largest number and false where that does not fit, as for c 0.
func MulDiv(a, b, c uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64, false
	}
	if hi == 0 {
		return lo / c, true
	}
	q, _ := bits.Div64(hi, lo, c)
	return q, true
}

// MulSat is a * b, or the largest number where that does not fit.
func MulSat(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// Number is whole + rest/den. The zero value is not known.
type Number struct {
	whole     int64
	rest, den uint64 // rest is below den
}

// Int is a whole number.
func Int(v int64) Number { return Number{v, 0, 1} }

// Share is (hi, lo) / n, not known for n = 0.
func Share(hi, lo, n uint64) Number {
	if hi >= n {
		return Number{}
	}
	q, rest := bits.Div64(hi, lo, n)
	if q > math.MaxInt64 {
		return Number{}
	}
	return Number{int64(q), rest, n}
}

// Parse reads a decimal number such as -1.5 or 2e-6. Decimals beyond the 19th are dropped.
func Parse(text string) (Number, bool) {
	text, power, found := strings.Cut(strings.ToLower(text), "e")
	shift, err := strconv.Atoi(power)
	number, minus := strings.CutPrefix(text, "-")
	if !minus {
		number = strings.TrimPrefix(text, "+")
	}
	before, after, _ := strings.Cut(number, ".")
	if found && (err != nil || max(shift, -shift) > 400) || len(text) > 60 || before+after == "" || strings.Trim(before+after, "0123456789") != "" {
		return Number{}, false
	}
	zeros := strings.Repeat("0", 420)
	digits, point := zeros+before+after+zeros, len(zeros)+len(before)+shift
	decimals := strings.TrimRight(digits[point:point+19], "0")
	whole, err := strconv.ParseInt(digits[:point], 10, 64)
	if err != nil {
		return Number{}, false
	}
	rest, _ := strconv.ParseUint("0"+decimals, 10, 64)
	x := Number{whole, rest, uint64(math.Pow10(len(decimals)))}
	if minus {
		x = x.Neg()
	}
	return x, true
}

// Float is the shortest decimal number that v is the nearest floating-point number of.
func Float(v float64) Number {
	x, _ := Parse(strconv.FormatFloat(v, 'e', -1, 64))
	return x
}

// Known reports whether there is a number.
func (x Number) Known() bool { return x.den != 0 }

// IsInt reports whether it is a whole one.
func (x Number) IsInt() bool { return x.Known() && x.rest == 0 }

// Sign is -1, 0 or 1, of what is not known 0.
func (x Number) Sign() int { return x.Compare(Int(0)) }

// Floor is the number rounded down, 0 where it is not known.
func (x Number) Floor() int64 { return x.whole }

// Round is the nearest whole number, half away from zero; 0 where it is not known.
func (x Number) Round() int64 {
	v, _ := strconv.ParseInt(x.Fixed(0), 10, 64)
	return v
}

// ratio is whole + (hi, lo) / (dhi, dlo), where the quotient is below 1.
func ratio(whole int64, hi, lo, dhi, dlo uint64) Number {
	s := bits.Len64(dhi)
	x := Number{whole, hi<<(64-s) | lo>>s, dhi<<(64-s) | dlo>>s}
	x.rest = min(x.rest, x.den-1)
	return x
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Minus returns x - y.
func (x Number) Minus(y Number) Number {
	whole := x.whole - y.whole
	if !x.Known() || !y.Known() || whole == math.MinInt64 || (x.whole < 0) != (y.whole < 0) && (whole < 0) != (x.whole < 0) {
		return Number{}
	}
	g := gcd(x.den, y.den)
	dhi, dlo := bits.Mul64(x.den, y.den/g)
	switch {
	case dhi != 0 && x.rest == 0:
		return Int(x.whole).Minus(y)
	case dhi != 0 && y.rest == 0:
		return x.Minus(Int(y.whole))
	}
	hi, lo := bits.Mul64(x.rest, y.den/g)
	yhi, ylo := bits.Mul64(y.rest, x.den/g)
	lo, borrow := bits.Sub64(lo, ylo, 0)
	if hi, borrow = bits.Sub64(hi, yhi, borrow); borrow == 1 {
		if whole--; whole == math.MinInt64 {
			return Number{}
		}
		var carry uint64
		lo, carry = bits.Add64(lo, dlo, 0)
		hi, _ = bits.Add64(hi, dhi, carry)
	}
	return ratio(whole, hi, lo, dhi, dlo)
}

// Neg returns -x.
func (x Number) Neg() Number { return Int(0).Minus(x) }

// Plus returns x + y.
func (x Number) Plus(y Number) Number { return x.Minus(y.Neg()) }

// Abs returns |x|.
func (x Number) Abs() Number {
	if x.whole < 0 {
		return x.Neg()
	}
	return x
}

// Times returns x * n.
func (x Number) Times(n uint64) Number {
	if x.whole < 0 {
		return x.Neg().Times(n).Neg()
	}
	if !x.Known() {
		return x
	}
	hi, lo := bits.Mul64(x.rest, n)
	q, rest := bits.Div64(hi, lo, x.den)
	high, whole := bits.Mul64(uint64(x.whole), n)
	whole, carry := bits.Add64(whole, q, 0)
	if high+carry != 0 || whole > math.MaxInt64 {
		return Number{}
	}
	return Number{int64(whole), rest, x.den}
}

// Div returns x / n.
func (x Number) Div(n uint64) Number {
	if x.whole < 0 {
		return x.Neg().Div(n).Neg()
	}
	if !x.Known() || n == 0 {
		return Number{}
	}
	hi, lo := bits.Mul64(uint64(x.whole)%n, x.den)
	lo, carry := bits.Add64(lo, x.rest, 0)
	dhi, dlo := bits.Mul64(x.den, n)
	return ratio(int64(uint64(x.whole)/n), hi+carry, lo, dhi, dlo)
}

// Scale returns x * a/b.
func (x Number) Scale(a, b uint64) Number {
	g := max(gcd(a, b), 1)
	return x.Times(a / g).Div(b / g)
}

// Over returns x / y, a floating-point number where the terms of x or y do not fit 64 bits.
func (x Number) Over(y Number) Number {
	if x.whole < 0 {
		return x.Neg().Over(y).Neg()
	}
	if y.whole < 0 {
		return x.Over(y.Neg()).Neg()
	}
	if !x.Known() || y.Sign() == 0 {
		return Number{}
	}
	hi, lo := x.terms()
	over, n := y.terms()
	if hi != 0 || over != 0 {
		return Float(x.Float() / y.Float())
	}
	g := gcd(x.den, y.den)
	hi, lo = bits.Mul64(lo, y.den/g)
	over, n = bits.Mul64(n, x.den/g)
	s := bits.Len64(over)
	return Share(hi>>s, hi<<(64-s)|lo>>s, over<<(64-s)|n>>s)
}

// terms is the numerator.
func (x Number) terms() (hi, lo uint64) {
	hi, lo = bits.Mul64(uint64(x.whole), x.den)
	lo, carry := bits.Add64(lo, x.rest, 0)
	return hi + carry, lo
}

// Compare compares two numbers; one that is not known counts as 0.
func (x Number) Compare(y Number) int {
	hi, lo := bits.Mul64(x.rest, max(y.den, 1))
	yhi, ylo := bits.Mul64(y.rest, max(x.den, 1))
	return cmp.Or(cmp.Compare(x.whole, y.whole), cmp.Compare(hi, yhi), cmp.Compare(lo, ylo))
}

// Float is the nearest floating-point number on every machine, 0 where it is not known.
func (x Number) Float() float64 {
	if x.whole < 0 {
		return -x.Neg().Float()
	}
	hi, lo := x.terms()
	return Quotient(hi, lo, max(x.den, 1))
}

// Quotient is (hi, lo) / n, the nearest floating-point number on every machine; n is positive.
func Quotient(hi, lo, n uint64) float64 {
	up, down := bits.LeadingZeros64(hi), bits.LeadingZeros64(n)
	if hi == 0 {
		up += bits.LeadingZeros64(lo)
		hi, lo = lo, 0
	}
	s := up % 64
	hi, lo = hi<<s|lo>>(64-s), lo<<s
	q, rest := bits.Div64(hi>>1, hi<<63|lo>>1, n<<down) // 63 or 64 bits
	if rest > 0 || lo&1 != 0 {
		q |= 1 // no tie
	}
	return math.Ldexp(float64(q), down-up+1)
}

// Fixed prints the number with at most 18 decimals, half away from zero; n/a where it is not known.
func (x Number) Fixed(decimals int) string {
	if !x.Known() {
		return "n/a"
	}
	y := x.Abs()
	digit, behind, rest := uint64(0), uint64(0), y.rest
	for range decimals {
		hi, lo := bits.Mul64(rest, 10)
		digit, rest = bits.Div64(hi, lo, x.den)
		behind = 10*behind + digit
	}
	whole, unit := uint64(y.whole), uint64(math.Pow10(decimals))
	if rest >= x.den-rest {
		behind++
		whole, behind = whole+behind/unit, behind%unit
	}
	text := strconv.FormatUint(whole, 10)
	if decimals > 0 {
		text += fmt.Sprintf(".%0*d", decimals, behind)
	}
	if x.whole < 0 && whole+behind > 0 {
		text = "-" + text
	}
	return text
}

// MarshalJSON writes [numerator, denominator], null where they are not known.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() {
		return []byte("[null,null]"), nil
	}
	const unit = 10_000_000_000_000_000_000
	hi, lo := x.Abs().terms()
	hi, lo = bits.Div64(hi, lo, unit)
	text := cmp.Or(strings.TrimLeft(fmt.Sprintf("%d%019d", hi, lo), "0"), "0")
	if x.whole < 0 {
		text = "-" + text
	}
	return fmt.Appendf(nil, "[%s,%d]", text, x.den), nil
}
