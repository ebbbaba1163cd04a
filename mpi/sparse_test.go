package mpi

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
)

// TestHops checks for all numbers of ranks up to 70 that who sends is who is received from, and that from every rank every other
// one is reached.
func TestHops(t *testing.T) {
	for size := 1; size <= 70; size++ {
		all := make([][]Hop, size)
		for r := range all {
			all[r] = Hops(r, size)
			if len(all[r]) > bits.Len(uint(size-1)) {
				t.Fatalf("%d ranks: rank %d makes %d hops", size, r, len(all[r]))
			}
		}
		for r, hops := range all {
			for i, h := range hops {
				if !slices.Contains(all[h.To][i].From, r) {
					t.Fatalf("%d ranks: hop %d of rank %d goes to %d, which does not receive it", size, i, r, h.To)
				}
				for _, from := range h.From {
					if all[from][i].To != r {
						t.Fatalf("%d ranks: in hop %d rank %d receives from %d, which sends to %d", size, i, r, from, all[from][i].To)
					}
				}
			}
		}
		for a := range size {
			for b := range size {
				if at := walk(all, a, b); at != b {
					t.Fatalf("%d ranks: from %d to %d ends at %d", size, a, b, at)
				}
			}
		}
	}
}

func walk(all [][]Hop, at, to int) int {
	for i := 0; i < len(all[at]); i++ {
		if h := all[at][i]; to >= h.First && to < h.End {
			at = h.To
		}
	}
	return at
}

// testSparse compares with Alltoall.
func testSparse(t *rankTest, c Comm) {
	for round := range 3 {
		dense := make([][]byte, c.Size())
		var parts []Part
		for to := range dense {
			if (c.Rank()*7+to*5+round)%4 == 0 {
				dense[to] = pattern(partLen(c.Rank(), to)+1, c.Rank(), to)
				half := len(dense[to]) / 2
				parts = append(parts, Part{to, dense[to][:half]}, Part{to, dense[to][half:]})
			}
		}
		want, err := Alltoall(c, 8, dense)
		t.ok("alltoall", err)
		got, err := SparseAlltoall(c, 7, parts)
		t.ok("sparse alltoall", err)
		for from, b := range want {
			var joined []byte
			for len(got) > 0 && got[0].Rank == from {
				joined, got = append(joined, got[0].Data...), got[1:]
			}
			t.equal(fmt.Sprint("from rank ", from), joined, b)
		}
		if len(got) > 0 {
			t.fatalf("%d parts of no rank", len(got))
		}
	}
	_, err := SparseAlltoall(c, 7, []Part{{Rank: c.Size()}})
	t.is("to a large rank", err, ErrRank)
}

func TestSparseDamaged(t *testing.T) {
	whole := (&routed{3, Part{4, []byte("abc")}}).append(nil)
	for n := range whole {
		var x routed
		if _, err := x.take(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken", n, len(whole))
		}
	}
}

// FuzzRouted reads parts from any bytes: what is read gives the bytes again.
func FuzzRouted(f *testing.F) {
	f.Add((&routed{3, Part{4, []byte("abc")}}).append((&routed{0, Part{1, nil}}).append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		rest := b
		for len(rest) > 0 {
			var x routed
			var err error
			if rest, err = x.take(rest); err != nil {
				return
			}
			if again = x.append(again); len(again)+len(rest) != len(b) {
				t.Fatalf("%d bytes taken and %d left of %d", len(again), len(rest), len(b))
			}
		}
		if string(again) != string(b) {
			t.Fatalf("%x is read as %x", b, again)
		}
	})
}
