package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ExampleRanges() {
	bytes := []uint64{10, 10, 10, 70, 10, 10}
	for rank, r := range Ranges(bytes, 3) {
		fmt.Println(rank, r.First, r.End)
	}
	// Output:
	// 0 0 3
	// 1 3 4
	// 2 4 6
}

func TestRanges(t *testing.T) {
	const top = math.MaxUint64
	for _, c := range []struct {
		name    string
		weights []uint64
		n       int
		want    []Range
	}{
		{"no workers", []uint64{1}, 0, nil},
		{"nothing to do", nil, 2, []Range{{0, 0}, {0, 0}}},
		{"one worker", []uint64{1, 2, 3}, 1, []Range{{0, 3}}},
		{"even", []uint64{1, 1, 1, 1}, 2, []Range{{0, 2}, {2, 4}}},
		{"near the even share", []uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 4, []Range{{0, 2}, {2, 5}, {5, 7}, {7, 10}}},
		{"all zero", []uint64{0, 0, 0, 0}, 2, []Range{{0, 2}, {2, 4}}},
		{"zeros around", []uint64{0, 5, 0, 0}, 3, []Range{{0, 1}, {1, 2}, {2, 4}}},
		{"no empty range", []uint64{100, 1, 1}, 3, []Range{{0, 1}, {1, 2}, {2, 3}}},
		{"more workers", []uint64{3, 4}, 4, []Range{{0, 1}, {1, 2}, {2, 2}, {2, 2}}},
		{"more than sums hold", []uint64{top, top, top, top}, 2, []Range{{0, 2}, {2, 4}}},
		{"largest next to smallest", []uint64{top, 1, 1, top}, 2, []Range{{0, 2}, {2, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Ranges(c.weights, c.n)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAgainstBruteForce compares the largest part with the best of all cuts.
func TestAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		weights := make([]uint64, 1+rng.IntN(7))
		scale := []uint64{2, 5, 100, 1 << 40, 1 << 60}[rng.IntN(5)]
		for i := range weights {
			weights[i] = rng.Uint64N(scale)
			if rng.IntN(8) == 0 {
				weights[i] = scale
			}
		}
		n := 1 + rng.IntN(len(weights)+2)
		got := Ranges(weights, n)
		checkCover(t, weights, n, got)
		if want, have := best(weights, n), heaviest(weights, got); want != have {
			t.Fatalf("weights %v in %d parts: largest %v, possible %v: %v", weights, n, have, want, got)
		}
	}
}

// TestLarge checks what holds for sizes beyond brute force: nothing is above
// the largest weight plus the even share.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	weights := make([]uint64, 20_000)
	var sum, top uint64
	for i := range weights {
		weights[i] = rng.Uint64N(1 << uint(rng.IntN(30)))
		sum += weights[i]
		top = max(top, weights[i])
	}
	for _, n := range []int{1, 7, 4096, 20_001} {
		got := Ranges(weights, n)
		checkCover(t, weights, n, got)
		largest := heaviest(weights, got)
		if limit := sum/uint64(n) + top; largest > limit {
			t.Errorf("%d parts: largest %d above %d", n, largest, limit)
		}
		if d := cmp.Diff(got, Ranges(weights, n)); d != "" {
			t.Errorf("%d parts: second call differs: %s", n, d)
		}
	}
}

func checkCover(t *testing.T, weights []uint64, n int, got []Range) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d ranges, want %d", len(got), n)
	}
	next := got[0].First
	for k, r := range got {
		if r.First != next || r.End < r.First {
			t.Fatalf("range %d of %v does not follow its predecessor", k, got)
		}
		if empty := r.Len() == 0; empty != (k >= len(weights)) {
			t.Fatalf("range %d of %v: empty %v with %d locations", k, got, empty, len(weights))
		}
		next = r.End
	}
	if got[0].First != 0 || int(next) != len(weights) {
		t.Fatalf("%v does not cover %d locations", got, len(weights))
	}
}

func heaviest(weights []uint64, ranges []Range) uint64 {
	top := uint64(0)
	for _, r := range ranges {
		top = max(top, total(weights[r.First:r.End]))
	}
	return top
}

func total(weights []uint64) (sum uint64) {
	for _, w := range weights {
		sum += w
	}
	return sum
}

// best tries every way to cut.
func best(weights []uint64, n int) uint64 {
	top := total(weights)
	if n == 1 {
		return top
	}
	head := uint64(0)
	for i := range weights {
		if head += weights[i]; head >= top {
			break
		}
		top = min(top, max(head, best(weights[i+1:], n-1)))
	}
	return top
}

func BenchmarkRanges(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	weights := make([]uint64, 100_000)
	for i := range weights {
		weights[i] = rng.Uint64N(1 << 30)
	}
	b.SetBytes(int64(8 * len(weights)))
	b.ReportAllocs()
	for b.Loop() {
		Ranges(weights, 1024)
	}
}
