package xtf

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestEach compares rows read through the cache with those of a cursor.
func TestEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	rows := callRows(rng, 500)
	f := openMem(t, buildFile(t, tinyTypes(Packed, 8, 4), []testRegion{{p: 0, arrays: []testArray{{TypeCall, rows}}}, {p: WholeRun}}))
	a, err := f.Array(0, TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		n1, n2, stop := rng.Uint64N(520), rng.Uint64N(520), rng.Uint64N(600)
		want := n1
		err := a.Each(n1, n2, func(n uint64, row []byte) bool {
			if n != want || !bytes.Equal(row, rows[n*CallRowBytes:(n+1)*CallRowBytes]) {
				t.Fatalf("[%d, %d): row %d is not row %d", n1, n2, n, want)
			}
			want++
			return n != stop
		})
		end := max(n1, min(n2, 500))
		if stop >= n1 && stop < end {
			end = stop + 1
		}
		if err != nil || want != end {
			t.Fatalf("[%d, %d) ends at %d, not %d: %v", n1, n2, want, end, err)
		}
	}
}

// TestSumsAlong compares the sums with those at each of its instants.
func TestSumsAlong(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for _, n := range []int{1, 7, 8, 9, 40, 700} {
		f := openMem(t, buildFile(t, tinyTypes(Packed, 8, 4), []testRegion{{p: 0, arrays: []testArray{{TypeCall, callRows(rng, n)}}}, {p: WholeRun}}))
		a, err := f.Array(0, TypeCall)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			t1, most := rng.Uint64N(a.desc.maxEnd+10), 1+rng.IntN(30)
			t2 := t1 + 1 + rng.Uint64N(a.desc.maxEnd)
			s, err := a.Sums().Along(t1, t2, most)
			if err != nil {
				t.Fatal(err)
			}
			checkAlong(t, a, s, t1, t2, most)
		}
	}
}

func checkAlong(t *testing.T, a *Array, s *SumSeries, t1, t2 uint64, most int) {
	t.Helper()
	first, _, _ := a.Bounds()
	n := len(s.T)
	if n < 2 || n > most+1 || len(s.Sums) != n*s.K {
		t.Fatalf("%d instants of at most %d", n, most+1)
	}
	if s.T[0] > t1 && s.T[0] != first || s.T[n-1] < t2 && s.T[n-1] != a.desc.maxEnd {
		t.Fatalf("[%d, %d): instants from %d to %d", t1, t2, s.T[0], s.T[n-1])
	}
	for i := range s.T {
		lo, err := a.Sums().at(s.T[i])
		if err != nil {
			t.Fatal(err)
		}
		hi, err := a.Sums().at(s.T[i] + 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range s.K {
			// rows that begin at the instant may be on either side of it
			if v := s.Sums[i*s.K+k]; v < lo[k] || v > hi[k] || i > 0 && v < s.Sums[(i-1)*s.K+k] {
				t.Fatalf("sum %s at %d is %d, not between %d and %d", a.typ.Sums[k].Name, s.T[i], v, lo[k], hi[k])
			}
		}
	}
}
