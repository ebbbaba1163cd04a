package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Ratio is a quotient; undefined ones are null in JSON and n/a in text.
type Ratio struct {
	Value   float64
	Defined bool
}

// MarshalJSON writes the number with all its digits, or null.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if !r.Defined || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(r.Value)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ratio) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*r = Ratio{}
		return nil
	}
	r.Defined = true
	return json.Unmarshal(b, &r.Value)
}

// text prints the ratio with the given digits.
func (r Ratio) text(digits int) string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(r.Value, 'f', digits, 64)
}

// mean prints the mean of counts.
func (r Ratio) mean() string { return grouped(r.text(1)) }

// percent prints the ratio as a percentage.
func (r Ratio) percent() string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(float64(r.Value*100), 'f', 1, 64) + " %"
}

// known is percent, "" where there is none.
func (r Ratio) known() string {
	if !r.Defined {
		return ""
	}
	return r.percent()
}

// Fraction is an exact number of ticks; in JSON [numerator, denominator].
type Fraction struct {
	Num, Den *big.Int
}

// MarshalJSON writes the two numbers.
func (f Fraction) MarshalJSON() ([]byte, error) { return json.Marshal([2]*big.Int{f.Num, f.Den}) }

// over returns f / d.
func (f Fraction) over(d *big.Int) Ratio { return ratio(f.Num, new(big.Int).Mul(f.Den, d)) }

// fixed prints the fraction with a number of decimals, half away from zero; n/a
// for a denominator of 0.
func (f Fraction) fixed(digits int) string {
	if f.Den.Sign() == 0 {
		return "n/a"
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	v := roundQuotient(new(big.Int).Mul(f.Num, scale), f.Den)
	sign := ""
	if v.Sign() < 0 {
		sign = "-"
		v.Neg(v)
	}
	if digits == 0 {
		return sign + v.String()
	}
	whole, rest := new(big.Int).QuoRem(v, scale, new(big.Int))
	return fmt.Sprintf("%s%s.%0*s", sign, whole, digits, rest)
}

// ratio returns a / b, undefined for b = 0 and for sums that are not known. Both are exact, so the quotient is
// the nearest floating-point number on every machine.
func ratio(a, b *big.Int) Ratio {
	if a == nil || b == nil || b.Sign() == 0 {
		return Ratio{}
	}
	v, _ := new(big.Rat).SetFrac(a, b).Float64()
	return Ratio{v, true}
}

func ratio64(a, b uint64) Ratio { return ratio(integer(a), integer(b)) }

func integer(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// words makes a number of 64-bit words, low word first.
func words(w ...uint64) *big.Int {
	x := new(big.Int)
	for i := len(w) - 1; i >= 0; i-- {
		x.Lsh(x, 64)
		x.Or(x, integer(w[i]))
	}
	return x
}

// positive reports whether a sum is known and above 0.
func positive(v *big.Int) bool { return v != nil && v.Sign() > 0 }

func add(list ...*big.Int) *big.Int {
	x := new(big.Int)
	for _, v := range list {
		x.Add(x, v)
	}
	return x
}

func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

func times(a *big.Int, n uint64) *big.Int { return new(big.Int).Mul(a, integer(n)) }
