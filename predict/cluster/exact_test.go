package cluster

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// big128 is a number of two words.
func big128(hi, lo uint64) *big.Int {
	s := new(big.Int).SetUint64(hi)
	return s.Lsh(s, 64).Or(s, new(big.Int).SetUint64(lo))
}

// word is a random number of any length up to 64 bits.
func word(rng *rand.Rand) uint64 { return rng.Uint64() >> rng.IntN(64) }

func Test128Bits(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 22))
	one := big.NewInt(1)
	for range 20000 {
		hi, lo, n := word(rng), word(rng), word(rng)|1
		a, m := big128(hi, lo), big128(0, n)
		h, l, ok := times(hi, lo, n)
		if want := new(big.Int).Mul(a, m); ok != (want.BitLen() <= 128) || ok && big128(h, l).Cmp(want) != 0 {
			t.Fatalf("%v · %v is %v, %v", a, m, big128(h, l), ok)
		}
		h, l = overUp(hi, lo, n)
		want := new(big.Int).Add(a, m)
		if want.Sub(want, one).Quo(want, m); big128(h, l).Cmp(want) != 0 {
			t.Fatalf("%v / %v is %v", a, m, big128(h, l))
		}
		h, l = plusSquare(hi>>1, lo, n>>1)
		want = big128(0, n>>1)
		if want.Mul(want, want).Add(want, big128(hi>>1, lo)); big128(h, l).Cmp(want) != 0 {
			t.Fatalf("%v + %v² is %v", big128(hi>>1, lo), n>>1, big128(h, l))
		}
	}
}

func TestRootUp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(25, 26))
	for i := range 50000 {
		hi, lo := word(rng)>>2, word(rng)
		switch i % 4 {
		case 0:
			hi = 0
		case 1: // next to a square
			s := word(rng) >> 1
			hi, lo = plusSquare(0, 0, s)
			if d := uint64(rng.IntN(3)); lo >= 1 && lo < math.MaxUint64-2 {
				lo += d - 1
			}
		}
		got := new(big.Int).SetUint64(rootUp(hi, lo))
		if want := refRoot(big128(hi, lo)); got.Cmp(want) != 0 {
			t.Fatalf("root of %v is %v, want %v", big128(hi, lo), got, want)
		}
	}
}

func TestHeight(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(27, 28))
	for range 20000 {
		g := Height{word(rng), word(rng) | 1}
		h := g
		switch rng.IntN(4) {
		case 0:
			h = Height{word(rng), word(rng) | 1}
		case 1:
			h = Height{g.Units &^ 1, g.Pairs}
		case 2: // equal, or close to it
			g.Units, g.Pairs = g.Units>>4, g.Pairs>>4|1
			h = Height{g.Units*7 + uint64(rng.IntN(2)), g.Pairs * 7}
		}
		if got, want := g.compare(h), g.rat().Cmp(h.rat()); got != want {
			t.Fatalf("%v and %v compare as %d, want %d", g, h, got, want)
		}
		if got, want := g.Floor(), new(big.Int).Quo(g.rat().Num(), g.rat().Denom()); got != want.Uint64() {
			t.Fatalf("floor of %v is %d, want %v", g, got, want)
		}
		f, _ := g.rat().Float64()
		if got := g.Float(3) * 8; math.Abs(got-f) > 1e-12*f {
			t.Fatalf("%v is %v, want %v", g, got, f)
		}
	}
}

// A value is moved by at most half a quantum, equal ones to the same, and what is on the grid stays.
func TestRounded(t *testing.T) {
	t.Parallel()
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
