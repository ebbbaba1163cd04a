package cluster

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func (a wide) big() *big.Int {
	s := new(big.Int)
	for i := 3; i >= 0; i-- {
		s.Lsh(s, 64).Or(s, new(big.Int).SetUint64(a[i]))
	}
	return s
}

func (s signed) big() *big.Int {
	v := wide{s.lo, s.hi}.big()
	if int64(s.hi) < 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return v
}

// word is a random number of any length up to 64 bits.
func word(rng *rand.Rand) uint64 { return rng.Uint64() >> rng.IntN(64) }

func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	top := new(big.Int).Lsh(big.NewInt(1), 256)
	check := func(what string, got wide, want *big.Int) {
		t.Helper()
		if want.Mod(want, top); got.big().Cmp(want) != 0 {
			t.Fatalf("%s: %v, want %v", what, got.big(), want)
		}
	}
	for range 20000 {
		a, b := wide{word(rng), word(rng), word(rng), word(rng)}, wide{word(rng), word(rng), word(rng), word(rng)}
		x, y := word(rng), word(rng)|1
		v := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
		check("add", a.add(b), new(big.Int).Add(a.big(), b.big()))
		check("sub", a.sub(b), new(big.Int).Sub(a.big(), b.big()))
		check("times", a.times(x), new(big.Int).Mul(a.big(), v(x)))
		n := uint(x % 65)
		check("shift", a.shift(n), new(big.Int).Lsh(a.big(), n))
		q := new(big.Int).Add(a.big(), v(y-1))
		check("overUp", a.overUp(y), q.Quo(q, v(y)))
		s := wide{x, y}.big()
		check("addSquare", a.addSquare(y, x), s.Mul(s, s).Add(s, a.big()))
		if got, want := a.cmp(b), a.big().Cmp(b.big()); got != want || a.cmp(a) != 0 {
			t.Fatalf("cmp: %d, want %d", got, want)
		}
	}
}

func TestSigned(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range 20000 {
		var s signed
		sum := new(big.Int)
		for range 3 {
			x, n := int64(word(rng)), word(rng)>>32
			s = s.addProduct(x, n)
			p := new(big.Int).Mul(big.NewInt(x), new(big.Int).SetUint64(n))
			sum.Add(sum, p)
		}
		if s.big().Cmp(sum) != 0 {
			t.Fatalf("%v, want %v", s.big(), sum)
		}
		hi, lo := s.size()
		if (wide{lo, hi}).big().Cmp(sum.Abs(sum)) != 0 {
			t.Fatalf("size of %v is %v", sum, wide{lo, hi}.big())
		}
	}
}

func TestRootUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for i := range 50000 {
		hi, lo := word(rng)>>2, word(rng)
		switch i % 4 {
		case 0:
			hi = 0
		case 1: // beside a square
			s := word(rng) >> 1
			w := wide{}.addSquare(0, s)
			hi, lo = w[1], w[0]
			if d := uint64(rng.IntN(3)); lo >= 1 && lo < math.MaxUint64-2 {
				lo += d - 1
			}
		}
		got := new(big.Int).SetUint64(rootUp(hi, lo))
		if want := refRoot(wide{lo, hi}.big()); got.Cmp(want) != 0 {
			t.Fatalf("root of %v is %v, want %v", wide{lo, hi}.big(), got, want)
		}
	}
}

func TestHeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range 20000 {
		g := Height{word(rng), word(rng), word(rng) | 1}
		h := Height{g.Hi, g.Lo, g.Pairs}
		if rng.IntN(3) > 0 {
			h = Height{word(rng) >> 1, word(rng), word(rng) | 1}
		}
		if got, want := g.compare(h), g.rat().Cmp(h.rat()); got != want {
			t.Fatalf("%v and %v compare as %d, want %d", g, h, got, want)
		}
		want := new(big.Int).Quo(g.rat().Num(), g.rat().Denom())
		if got := g.Floor(); want.IsUint64() && got != want.Uint64() || !want.IsUint64() && got != math.MaxUint64 {
			t.Fatalf("floor of %v is %d, want %v", g, got, want)
		}
		f, _ := g.rat().Float64()
		if got := g.Float(3) * 8; math.Abs(got-f) > 1e-12*f {
			t.Fatalf("%v is %v, want %v", g, got, f)
		}
	}
	if (Height{}).Floor() != math.MaxUint64 {
		t.Error("a height of no pairs is a number")
	}
}

// A value is moved by at most half a quantum, equal ones to the same, and what is on the grid stays.
func TestRounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for range 50000 {
		x, ppm := int64(word(rng)), uint32(1+rng.IntN(1_000_000))
		r := rounded(x, ppm)
		most := new(big.Int).Mul(new(big.Int).SetUint64(apart(x, 0)), big.NewInt(int64(ppm)))
		moved := new(big.Int).Mul(new(big.Int).SetUint64(apart(x, r)), big.NewInt(2_000_000))
		if moved.Cmp(most) > 0 {
			t.Fatalf("%d became %d with %d ppm", x, r, ppm)
		}
		if again := rounded(r, ppm); again != r {
			t.Fatalf("%d became %d and then %d", x, r, again)
		}
		if x > 0 && rounded(-x, ppm) != -r {
			t.Fatalf("%d became %d, the negative %d", x, r, rounded(-x, ppm))
		}
	}
}
