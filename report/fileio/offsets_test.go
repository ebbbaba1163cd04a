package fileio

import (
	"math/rand/v2"
	"testing"
)

// TestRanges compares ranges with a bit for each byte.
func TestRanges(t *testing.T) {
	const size = 400
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var r ranges
		var read [size]bool
		for range 200 {
			from := random.Uint64N(size - 40)
			to := from + 1 + random.Uint64N(40)
			if random.IntN(3) == 0 {
				r.remove(from, to)
				clear(read[from:to])
			} else {
				want := uint64(0)
				for i := from; i < to; i++ {
					if read[i] {
						want++
					}
					read[i] = true
				}
				if got := r.add(from, to); got != want {
					t.Fatalf("[%d, %d): %d bytes again, want %d", from, to, got, want)
				}
			}
			for i, x := range r {
				if x.Begin >= x.End || i > 0 && r[i-1].End >= x.Begin {
					t.Fatalf("%v", r)
				}
			}
		}
	}
}

// TestRangesBound forgets short ranges, and tells of less, not of more.
func TestRangesBound(t *testing.T) {
	var r ranges
	for i := range uint64(3 * mostRanges) {
		r.add(10*i, 10*i+1+i%7)
	}
	if len(r) != mostRanges {
		t.Errorf("%d ranges", len(r))
	}
	if again := r.add(0, 30*mostRanges); again == 0 || again >= 12*mostRanges {
		t.Errorf("%d bytes again, of %d", again, 12*mostRanges)
	}
}
