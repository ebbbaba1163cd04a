package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHeap compares with a sorted list, and the places that are told with those that are.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	place := map[int]int{}
	h := Heap[int]{Before: func(a, b int) bool { return a < b }, Moved: func(x, i int) { place[x] = i }}
	var want []int
	for next := range 20_000 {
		switch {
		case len(want) > 0 && rng.IntN(3) == 0:
			x := h.Pop()
			if x != want[0] {
				t.Fatalf("%d is first, not %d", x, want[0])
			}
			want = want[1:]
		case len(want) > 0 && rng.IntN(3) == 0:
			k := rng.IntN(len(want))
			if x := h.Remove(place[want[k]]); x != want[k] {
				t.Fatalf("%d was taken out, not %d", x, want[k])
			}
			want = slices.Delete(want, k, k+1)
		case len(want) > 0 && rng.IntN(3) == 0: // another order
			k := rng.IntN(len(want))
			i := place[want[k]]
			h.List[i] = rng.IntN(1<<10)<<20 | next
			want[k] = h.List[i]
			h.Fix(i)
		default:
			x := rng.IntN(1<<10)<<20 | next
			h.Push(x)
			want = append(want, x)
		}
		slices.Sort(want)
	}
	for i, x := range h.List {
		if place[x] != i {
			t.Errorf("%d is told to be at %d, not %d", x, place[x], i)
		}
	}
}
