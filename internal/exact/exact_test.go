package exact

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// oracle is a number as the tests have it, nil where it is not known.
func (x Number) oracle() *big.Rat {
	if !x.Known() {
		return nil
	}
	return new(big.Rat).SetFrac(x.num, new(big.Int).SetUint64(x.den))
}

// word is an integer of any length, often at the edges.
func word(rng *rand.Rand) uint64 {
	v := rng.Uint64() >> rng.IntN(64)
	switch rng.IntN(8) {
	case 0:
		return uint64(1)<<rng.IntN(64) - uint64(rng.IntN(2))
	case 1:
		return math.MaxUint64 - uint64(rng.IntN(3))
	}
	return v
}

// number is a share whose denominator has up to a number of bits.
func number(rng *rand.Rand, bits int) Number {
	whole, rest, den := min(int64(word(rng)>>1), math.MaxInt64-1), word(rng), max(word(rng)>>(64-bits), 1)
	num := new(big.Int).Mul(big.NewInt(whole), words(0, den))
	if num.Add(num, words(0, rest%den)); rng.IntN(2) == 0 {
		num.Neg(num)
	}
	return Number{num, den}
}

// TestAgainstRationals compares every operation with exact rational numbers: equal where the denominator fits, else within 2^-60,
// or as near as a floating-point number, and not known only where the whole part does not fit.
func TestAgainstRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	fits := 0
	for range 20000 {
		bits := 1 + rng.IntN(64)
		x, y, n := number(rng, bits), number(rng, bits), word(rng)
		if x.Compare(y) != x.oracle().Cmp(y.oracle()) || x.Sign() != x.oracle().Sign() {
			t.Fatalf("%v and %v compare as %d", x, y, x.Compare(y))
		}
		if f, _ := x.oracle().Float64(); f != x.Float() {
			t.Fatalf("%v is %g, want %g", x, x.Float(), f)
		}
		for _, decimals := range []int{0, 1, 3, 6, 9, 18} {
			want := x.oracle().FloatString(decimals)
			if strings.Trim(want, "-0.") == "" {
				want = strings.TrimPrefix(want, "-")
			}
			if got := x.Fixed(decimals); got != want {
				t.Fatalf("%v with %d decimals is %s, want %s", x, decimals, got, want)
			}
			if decimals == 0 && big.NewInt(x.Round()).String() != want && x.Floor() < math.MaxInt64 {
				t.Fatalf("%v rounds to %d, want %s", x, x.Round(), want)
			}
		}
		var terms [2]*big.Int
		b, err := json.Marshal(x)
		if err != nil || json.Unmarshal(b, &terms) != nil || new(big.Rat).SetFrac(terms[0], terms[1]).Cmp(x.oracle()) != 0 || terms[1].Uint64() != x.den {
			t.Fatalf("%v in JSON is %s: %v", x, b, err)
		}
		factor, divisor := new(big.Int).SetUint64(n), new(big.Int).SetUint64(max(n, 1))
		for _, c := range []struct {
			what string
			got  Number
			want *big.Rat
		}{
			{"+", x.Plus(y), new(big.Rat).Add(x.oracle(), y.oracle())},
			{"-", x.Minus(y), new(big.Rat).Sub(x.oracle(), y.oracle())},
			{"*", x.Times(n), new(big.Rat).Mul(x.oracle(), new(big.Rat).SetInt(factor))},
			{"/", x.Div(max(n, 1)), new(big.Rat).Quo(x.oracle(), new(big.Rat).SetInt(divisor))},
			{"over", x.Over(y), quotient(x.oracle(), y.oracle())},
		} {
			if c.want == nil {
				if c.got.Known() {
					t.Fatalf("%v over 0 is %v", x, c.got)
				}
				continue
			}
			size := new(big.Rat).Abs(c.want)
			if !c.got.Known() {
				if size.Cmp(new(big.Rat).SetInt64(math.MaxInt64-1<<10)) < 0 { // a floating-point number rounds up
					t.Fatalf("%v %s %v or %d: not known, want %v", x, c.what, y, n, c.want)
				}
				continue
			}
			most := big.NewRat(1, 1<<60)
			if c.what == "over" { // a floating-point number
				most = big.NewRat(1, 1<<51)
				if size.Cmp(big.NewRat(1, 1)) > 0 {
					most.Mul(most, size)
				}
			}
			off := new(big.Rat).Sub(c.got.oracle(), c.want)
			if new(big.Rat).Abs(off).Cmp(most) > 0 {
				t.Fatalf("%v %s %v or %d is %v, off by %v", x, c.what, y, n, c.got, off)
			}
			if bits <= 20 && c.what != "over" && (c.what != "/" || n < 1<<43) {
				if fits++; off.Sign() != 0 {
					t.Fatalf("%v %s %v or %d is %v, want %v exactly", x, c.what, y, n, c.got, c.want)
				}
			}
		}
	}
	if fits < 10000 {
		t.Errorf("%d exact ones", fits)
	}
}

func quotient(x, y *big.Rat) *big.Rat {
	if y.Sign() == 0 {
		return nil
	}
	return new(big.Rat).Quo(x, y)
}

// TestShares are those of 128 bits over 64.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		hi, lo, n := word(rng)>>rng.IntN(64), word(rng), word(rng)
		want := new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64)
		want.Or(want, new(big.Int).SetUint64(lo))
		x := Share(hi, lo, n)
		if n == 0 {
			if x.Known() {
				t.Fatalf("(%d, %d) / 0 is known", hi, lo)
			}
			continue
		}
		v := new(big.Rat).SetFrac(want, new(big.Int).SetUint64(n))
		if f, _ := v.Float64(); f != Quotient(hi, lo, n) {
			t.Fatalf("(%d, %d) / %d is %g, want %g", hi, lo, n, Quotient(hi, lo, n), f)
		}
		if small := v.Cmp(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 63))) < 0; small != x.Known() || small && x.oracle().Cmp(v) != 0 {
			t.Fatalf("(%d, %d) / %d is %v", hi, lo, n, x)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"1": "[1,1]", "-1.5": "[-15,10]", "+.5": "[5,10]", "7.": "[7,1]", "2e-3": "[2,1000]", "1.25E2": "[125,1]", "1.200e1": "[12,1]", "0.10": "[1,10]",
		"9223372036854775807": "[9223372036854775807,1]", "9223372036854775807.75": "[922337203685477580775,100]", "1e-19": "[1,10000000000000000000]",
		"1e-20": "[0,1]", "1.5699999999999999E-4": "[1569999999999999,10000000000000000000]", "-0": "[0,1]", "1e-400": "[0,1]",
	} {
		x, ok := Parse(text)
		if b, _ := json.Marshal(x); !ok || string(b) != want {
			t.Errorf("%s: %s %v, want %s", text, b, ok, want)
		}
	}
	for _, text := range []string{"", "-", ".", "e", "1e", "e5", "1e401", "1e-401", "1e400", "9223372036854775808", "1e19", "1e40", "1/2", "0x10", "1_0", "inf", "nan", "--1", "1.2.3", "1e5e5", "1 ", strings.Repeat("0", 61)} {
		if x, ok := Parse(text); ok {
			t.Errorf("%q is %v", text, x)
		}
	}
}

func TestFloats(t *testing.T) {
	for _, v := range []float64{0, 0.05, -0.05, 1, 1e18, -1234.5678, 1 << 62} {
		if got := Float(v).Float(); got != v {
			t.Errorf("%g is %g", v, got)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1 << 63, -1e30} {
		if x := Float(v); x.Known() {
			t.Errorf("%g is %v", v, x)
		}
	}
}

// TestNotKnown goes through every operation.
func TestNotKnown(t *testing.T) {
	var none Number
	one := Int(1)
	for i, x := range []Number{none.Plus(one), one.Plus(none), none.Minus(none), none.Times(2), none.Div(2), one.Div(0), none.Over(one), one.Over(none), one.Over(Int(0)), none.Neg(), none.Abs(), none.Scale(2, 3), one.Scale(2, 0), Int(math.MaxInt64).Plus(one), Int(math.MinInt64).Minus(one), Int(math.MinInt64).Neg(), Int(1 << 62).Times(2)} {
		if x.Known() || x.IsInt() || x.Sign() != 0 || x.Round() != 0 || x.Floor() != 0 || x.Float() != 0 || x.Fixed(2) != "n/a" {
			t.Errorf("%d: %v", i, x)
		}
		if b, _ := json.Marshal(x); string(b) != "[null,null]" {
			t.Errorf("%d: %s", i, b)
		}
	}
}

// TestMulDiv: the quotient of a product of 128 bits, and that of 0, which is too large.
func TestMulDiv(t *testing.T) {
	for _, x := range []struct {
		a, b, c, want uint64
		fits          bool
	}{
		{6, 7, 4, 10, true},
		{math.MaxUint64, 10, 10, math.MaxUint64, true},
		{1 << 63, 6, 4, 3 << 62, true},
		{1 << 63, 2, 1, math.MaxUint64, false},
		{1, 1, 0, math.MaxUint64, false},
		{1 << 63, 2, 0, math.MaxUint64, false},
	} {
		if q, ok := MulDiv(x.a, x.b, x.c); q != x.want || ok != x.fits {
			t.Errorf("%d x %d / %d is %d, %v; want %d, %v", x.a, x.b, x.c, q, ok, x.want, x.fits)
		}
	}
}
