// Package exact has numbers that are sums of ticks, shares of such sums, and decimals that people write. A [Number] is exact
// while its whole part fits 63 bits and its denominator 64, which holds for sums of a trace. A longer denominator loses its
// lowest bits; the digits after the point are then right to 2^-62. A number that is not defined, such as a share of nothing, or
// that does not fit, is not known. Everything that is computed from it is not known either.
package exact

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// MulDiv returns a * b / c, rounded down; the largest number and false if that does not fit, or if c is 0.
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

// MulSat returns a * b, or the largest number if that does not fit.
func MulSat(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// Number is num/den, not reduced, so that a share of n keeps the denominator n. The zero value is not known.
type Number struct {
	num *big.Int // never changed
	den uint64
}

// Int is a whole number.
func Int(v int64) Number { return Number{big.NewInt(v), 1} }

// Share is (hi, lo) / n, not known for n = 0.
func Share(hi, lo, n uint64) Number { return ratio(words(hi, lo), words(0, n)) }

// words is hi * 2^64 + lo.
func words(hi, lo uint64) *big.Int {
	v := new(big.Int).SetUint64(hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(lo))
}

// ratio returns num/den if its whole part fits. A denominator of more than 64 bits loses its lowest bits.
func ratio(num, den *big.Int) Number {
	if den.Sign() == 0 {
		return Number{}
	}
	whole, rest := new(big.Int).DivMod(num, den, new(big.Int))
	if !whole.IsInt64() || whole.Int64() == math.MinInt64 {
		return Number{}
	}
	if den.BitLen() > 64 {
		s := uint(den.BitLen() - 64)
		den = new(big.Int).Rsh(den, s)
		if rest.Rsh(rest, s); rest.Cmp(den) == 0 {
			rest.Sub(rest, big.NewInt(1))
		}
		num = rest.Add(rest, whole.Mul(whole, den))
	}
	return Number{num, den.Uint64()}
}

// terms returns numerator and denominator; those of 0 for a number that is not known.
func (x Number) terms() (num, den *big.Int) {
	if !x.Known() {
		return new(big.Int), big.NewInt(1)
	}
	return x.num, words(0, x.den)
}

// rat converts to the standard library's form, 0 if not known.
func (x Number) rat() *big.Rat { return new(big.Rat).SetFrac(x.terms()) }

// product is a * b.
func product(a *big.Int, b uint64) *big.Int { return new(big.Int).Mul(a, words(0, b)) }

// Parse reads a decimal number such as -1.5 or 2e-6. It drops decimals after the 19th.
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
	num, _ := new(big.Int).SetString(digits[:point]+decimals, 10)
	x := ratio(num, words(0, uint64(math.Pow10(len(decimals)))))
	if minus {
		x = x.Neg()
	}
	return x, x.Known()
}

// Float returns the shortest decimal number whose nearest floating-point number is v.
func Float(v float64) Number {
	x, _ := Parse(strconv.FormatFloat(v, 'e', -1, 64))
	return x
}

// Known reports whether the number is known.
func (x Number) Known() bool { return x.den != 0 }

// IsInt reports whether it is a whole number.
func (x Number) IsInt() bool { return x.Known() && x.rat().IsInt() }

// Sign returns -1, 0 or 1; 0 if not known.
func (x Number) Sign() int { return x.Compare(Int(0)) }

// Floor returns the number rounded down, 0 if not known.
func (x Number) Floor() int64 {
	num, den := x.terms()
	return new(big.Int).Div(num, den).Int64()
}

// Round returns the nearest whole number, half away from zero; 0 if not known.
func (x Number) Round() int64 {
	v, _ := strconv.ParseInt(x.Fixed(0), 10, 64)
	return v
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Minus returns x - y.
func (x Number) Minus(y Number) Number {
	if !x.Known() || !y.Known() {
		return Number{}
	}
	by, of := y.den/gcd(x.den, y.den), x.den/gcd(x.den, y.den) // factors that expand x and y to a common denominator
	den := product(words(0, x.den), by)
	if den.BitLen() > 64 {
		switch {
		case x.IsInt():
			return Int(x.Floor()).Minus(y)
		case y.IsInt():
			return x.Minus(Int(y.Floor()))
		}
	}
	num := product(x.num, by)
	return ratio(num.Sub(num, product(y.num, of)), den)
}

// Neg returns -x.
func (x Number) Neg() Number { return Int(0).Minus(x) }

// Plus returns x + y.
func (x Number) Plus(y Number) Number { return x.Minus(y.Neg()) }

// Abs returns |x|.
func (x Number) Abs() Number {
	if x.Sign() < 0 {
		return x.Neg()
	}
	return x
}

// Times returns x * n.
func (x Number) Times(n uint64) Number {
	if !x.Known() {
		return x
	}
	return ratio(product(x.num, n), words(0, x.den))
}

// Div returns x / n.
func (x Number) Div(n uint64) Number {
	if x.Sign() < 0 {
		return x.Neg().Div(n).Neg()
	}
	if !x.Known() {
		return x
	}
	return ratio(x.num, product(words(0, x.den), n))
}

// Scale returns x * a/b.
func (x Number) Scale(a, b uint64) Number {
	g := max(gcd(a, b), 1)
	return x.Times(a / g).Div(b / g)
}

// Over returns x / y: a floating-point number if the terms of x or y do not fit 64 bits.
func (x Number) Over(y Number) Number {
	switch {
	case !x.Known() || y.Sign() == 0:
		return Number{}
	case x.Sign() < 0:
		return x.Neg().Over(y).Neg()
	case y.Sign() < 0:
		return x.Over(y.Neg()).Neg()
	case x.num.BitLen() > 64 || y.num.BitLen() > 64:
		return Float(x.Float() / y.Float())
	}
	g := gcd(x.den, y.den)
	num, den := product(x.num, y.den/g), product(y.num, x.den/g)
	s := uint(max(den.BitLen()-64, 0))
	return ratio(num.Rsh(num, s), den.Rsh(den, s))
}

// Compare compares two numbers; one that is not known counts as 0.
func (x Number) Compare(y Number) int {
	num, den := x.terms()
	other, by := y.terms()
	return new(big.Int).Mul(num, by).Cmp(new(big.Int).Mul(other, den))
}

// Float returns the nearest floating-point number, the same on every machine; 0 if not known.
func (x Number) Float() float64 {
	f, _ := x.rat().Float64()
	return f
}

// Quotient returns (hi, lo) / n as the nearest floating-point number, the same on every machine; n is positive.
func Quotient(hi, lo, n uint64) float64 {
	if hi == 0 && lo < 1<<53 && n < 1<<53 {
		return float64(lo) / float64(n) // both are exact
	}
	f, _ := new(big.Rat).SetFrac(words(hi, lo), words(0, n)).Float64()
	return f
}

// Fixed prints the number with so many decimals, half away from zero; n/a if not known.
func (x Number) Fixed(decimals int) string {
	if !x.Known() {
		return "n/a"
	}
	text := x.rat().FloatString(decimals)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// MarshalJSON writes [numerator, denominator], null if not known.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() {
		return []byte("[null,null]"), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", x.num, x.den), nil
}
