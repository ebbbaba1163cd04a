package xtf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestLaws holds what must be true of any array, whatever its rows.
func TestLaws(t *testing.T) {
	for _, prof := range []Profile{Packed, Raw4K} {
		for name, keys := range keySets() {
			t.Run(fmt.Sprintf("%d/%s", prof.PageSize, name), func(t *testing.T) {
				f := openMem(t, buildFile(t, tinyTypes(prof, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}}))
				a, err := f.Array(0, TypeMetric)
				if err != nil {
					t.Fatal(err)
				}
				checkLaws(t, a, model(keys))
			})
		}
	}
}

func checkLaws(t *testing.T, a *Array, m model) {
	t.Helper()
	size := func(k1, k2 uint64) uint64 {
		n, err := a.Size(k1, k2)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	top, err := a.SizeClosed(math.MaxUint64, math.MaxUint64)
	if err != nil || size(0, math.MaxUint64)+top != a.Len() {
		t.Fatalf("size(0, max) = %d and %d rows of the largest key, of %d: %v", size(0, math.MaxUint64), top, a.Len(), err)
	}
	r := rand.New(rand.NewPCG(uint64(len(m)), 8))
	for range 60 {
		k := [3]uint64{}
		for i := range k {
			if k[i] = r.Uint64() >> r.UintN(64); len(m) > 0 && r.IntN(3) > 0 {
				k[i] = m[r.IntN(len(m))] + r.Uint64N(3) - 1
			}
		}
		b1, b2, b3 := min(k[0], k[1], k[2]), max(min(k[0], k[1]), min(max(k[0], k[1]), k[2])), max(k[0], k[1], k[2])
		if size(b1, b2)+size(b2, b3) != size(b1, b3) {
			t.Fatalf("size(%d, %d) + size(%d, %d) is not size(%d, %d)", b1, b2, b2, b3, b1, b3)
		}
		if b1 < b2 && size(b2, b1) != 0 {
			t.Fatalf("size(%d, %d) = %d", b2, b1, size(b2, b1))
		}
	}
	for n := range a.Len() {
		k, err := a.At(n)
		if err != nil {
			t.Fatal(err)
		}
		lo, err := a.Rank(k)
		if err != nil || lo > n {
			t.Fatalf("rank of the key of row %d is %d: %v", n, lo, err)
		}
		if again, err := a.At(lo); err != nil || again != k {
			t.Fatalf("row %d has key %d, the first of its key %d: %v", n, k, again, err)
		}
		step := r.Int64N(int64(2*len(m)+1)) - int64(len(m))
		if p, side := a.NextN(n, step); side == Inside {
			if back, side := a.NextN(p.N, -step); side != Inside || back.N != n {
				t.Fatalf("%d steps from row %d and back: %v", step, n, back)
			}
		}
		if p, ok := a.SearchN(n); !ok || p.Page*uint64(a.typ.PageRows)+uint64(p.Slot) != n {
			t.Fatalf("row %d is at %v", n, p)
		}
	}
	checkNumbers(t, a)
}

// checkNumbers asks by number beyond the ends.
func checkNumbers(t *testing.T, a *Array) {
	t.Helper()
	n := a.Len()
	for _, at := range []uint64{n, n + 1, math.MaxUint64} {
		if _, ok := a.SearchN(at); ok {
			t.Fatalf("row %d of %d was found", at, n)
		}
		if _, side := a.NextN(at, 0); side != After {
			t.Fatalf("row %d of %d: side %d", at, n, side)
		}
	}
	for _, x := range []struct{ n1, n2, want uint64 }{
		{0, n, n}, {0, math.MaxUint64, n}, {n, 0, 0}, {math.MaxUint64, 0, 0}, {n / 2, n, n - n/2}, {n + 5, n + 9, 0},
	} {
		if got := a.SizeN(x.n1, x.n2); got != x.want {
			t.Fatalf("SizeN(%d, %d) = %d, want %d", x.n1, x.n2, got, x.want)
		}
	}
	if n == 0 {
		return
	}
	for _, x := range []struct {
		step int64
		side Side
	}{{math.MaxInt64, After}, {math.MinInt64, Before}, {int64(n), After}, {-1, Before}} {
		if _, side := a.NextN(0, x.step); side != x.side {
			t.Fatalf("%d steps from row 0: side %d, want %d", x.step, side, x.side)
		}
	}
}

// TestEqualKeysOverLevels: a run of equal keys longer than an index page covers.
func TestEqualKeysOverLevels(t *testing.T) {
	for _, at := range []int{0, 1, 3, 11, 12, 13, 48, 50} {
		keys := make([]uint64, 0, 400)
		for i := range at {
			keys = append(keys, uint64(i))
		}
		keys = append(append(keys, bytes64(100, 3*4*4*4)...), 101, 101, 250)
		f := openMem(t, buildFile(t, tinyTypes(Packed, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}}))
		a, err := f.Array(0, TypeMetric)
		if err != nil {
			t.Fatal(err)
		}
		checkPrimitives(t, a, model(keys))
	}
}
