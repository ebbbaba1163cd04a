package build

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLog2Fixed(t *testing.T) {
	for i := range 64 {
		if got := log2Fixed(1 << i); got != uint64(i)<<logBits {
			t.Errorf("log2(2^%d) = %d/2^16", i, got)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	last := uint64(0)
	for i := range uint64(100_000) {
		x := i
		if i >= 50_000 {
			x = r.Uint64() >> r.IntN(64)
		}
		got := log2Fixed(x)
		want := 0.0
		if x > 0 {
			want = math.Log2(float64(x)) * (1 << logBits)
		}
		if math.Abs(float64(got)-want) > 0.55 {
			t.Fatalf("log2(%d) = %d/2^16, want %f", x, got, want)
		}
		if i < 50_000 && got < last {
			t.Fatalf("log2(%d) = %d is below that of the number before, %d", x, got, last)
		}
		last = got
	}
}

func BenchmarkLog2Fixed(b *testing.B) {
	x := uint64(12345)
	for b.Loop() {
		x += log2Fixed(x)
	}
}
