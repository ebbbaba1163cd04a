package report

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// Fraction is an exact number of ticks; in JSON [numerator, denominator], null where it is not known. Sums fit 64 bits. Fractions are
// sums over numbers of processes, and of comparisons exact quotients of such: they do not, and are what math/big is for.
type Fraction struct {
	num, den *big.Int // nil: not known
}

// fraction returns a / b.
func fraction(a, b Sum) Fraction {
	if a == notKnown || b == notKnown {
		return Fraction{}
	}
	return Fraction{big.NewInt(int64(a)), big.NewInt(int64(b))}
}

func whole(v Sum) Fraction { return fraction(v, 1) }

func fraction64(a, b uint64) Fraction {
	return Fraction{new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)}
}

// fraction128 returns (high, low) / b.
func fraction128(high, low, b uint64) Fraction {
	f := fraction64(high, b)
	f.num.Lsh(f.num, 64)
	f.num.Or(f.num, new(big.Int).SetUint64(low))
	return f
}

func fractionOf(v *big.Rat) Fraction { return Fraction{v.Num(), v.Denom()} }

// MarshalJSON writes the two numbers.
func (f Fraction) MarshalJSON() ([]byte, error) { return json.Marshal([2]*big.Int{f.num, f.den}) }

// rat is the number itself, nil where it is not known or not defined.
func (f Fraction) rat() *big.Rat {
	if !f.defined() {
		return nil
	}
	return new(big.Rat).SetFrac(f.num, f.den)
}

// parseFraction reads a decimal number.
func parseFraction(text string) (Fraction, bool) {
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return Fraction{}, false
	}
	return fractionOf(v), true
}

// defined reports whether it is a number.
func (f Fraction) defined() bool { return f.known() && f.den.Sign() != 0 }

func (f Fraction) known() bool { return f.num != nil }

// sign is -1, 0 or 1, of what is not known 0.
func (f Fraction) sign() int {
	if !f.known() {
		return 0
	}
	return f.num.Sign()
}

// plus returns f + v.
func (f Fraction) plus(v Sum) Fraction {
	if !f.known() || v == notKnown {
		return Fraction{}
	}
	x := big.NewInt(int64(v))
	return Fraction{x.Add(x.Mul(x, f.den), f.num), f.den}
}

// from returns v - f.
func (f Fraction) from(v Sum) Fraction {
	if !f.known() {
		return f
	}
	return Fraction{new(big.Int).Neg(f.num), f.den}.plus(v)
}

// by returns f * g.
func (f Fraction) by(g Fraction) Fraction {
	if !f.known() || !g.known() {
		return Fraction{}
	}
	return Fraction{new(big.Int).Mul(f.num, g.num), new(big.Int).Mul(f.den, g.den)}
}

// minus returns f - g.
func (f Fraction) minus(g Fraction) Fraction {
	x := f.by(Fraction{g.den, g.den})
	y := g.by(Fraction{f.den, f.den})
	if !x.known() || !y.known() {
		return Fraction{}
	}
	return Fraction{x.num.Sub(x.num, y.num), x.den}
}

// abs returns |f|.
func (f Fraction) abs() Fraction {
	if f.sign() < 0 {
		return f.from(0)
	}
	return f
}

// times returns f * (a / b).
func (f Fraction) times(a, b uint64) Fraction { return f.by(fraction64(a, b)) }

// share returns f / g in parts of a scale.
func (f Fraction) share(g Fraction, scale uint64) Fraction {
	a, b := f.rat(), g.rat()
	if a == nil || b == nil || b.Sign() == 0 {
		return Fraction{}
	}
	return fractionOf(a.Quo(a, b)).times(scale, 1)
}

// compare compares two numbers; one that is not known counts as 0.
func (f Fraction) compare(g Fraction) int {
	x, y := f.rat(), g.rat()
	if x == nil {
		x = new(big.Rat)
	}
	if y == nil {
		y = new(big.Rat)
	}
	return x.Cmp(y)
}

// fraction is the number exactly.
func (r Ratio) fraction() Fraction {
	v := new(big.Rat).SetFloat64(r.Value)
	if !r.Defined || v == nil {
		return Fraction{}
	}
	return fractionOf(v)
}

// ratio is the nearest floating-point number.
func (f Fraction) ratio() Ratio {
	r := f.rat()
	if r == nil {
		return Ratio{}
	}
	v, _ := r.Float64()
	return Ratio{v, true}
}

// over returns f / d.
func (f Fraction) over(d Sum) Ratio {
	if d < 0 { // notKnown
		return Ratio{}
	}
	return f.times(1, uint64(d)).ratio()
}

// fixed prints the number with a number of decimals, half away from zero; n/a where it is not defined.
func (f Fraction) fixed(digits int) string {
	r := f.rat()
	if r == nil {
		return "n/a"
	}
	text := r.FloatString(digits)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// Floor is the number rounded down to a whole one, 0 where it is not known.
func (f Fraction) Floor() Sum {
	if !f.defined() {
		return 0
	}
	return Sum(new(big.Int).Div(f.num, f.den).Int64())
}

// round is the nearest whole number, half away from zero; 0 where it is not defined.
func (f Fraction) round() int64 {
	v, _ := strconv.ParseInt(f.fixed(0), 10, 64)
	return v
}

// variance is that of n numbers with a sum, and with a sum of squares of 128 bits: (n * squares - sum * sum) / (n * n).
func variance(n, sum, high, low uint64) Ratio {
	count, squares := fraction64(n, n), fraction128(high, low, 1)
	all := fraction64(sum, 1).num
	squares.num.Mul(squares.num, count.num).Sub(squares.num, all.Mul(all, all))
	return Fraction{squares.num, count.num.Mul(count.num, count.den)}.ratio()
}
