package xtf

import (
	"math/rand/v2"
	"testing"
)

// TestPyramid compares spans found with all rows looked at one by one.
func TestPyramid(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var rows []byte
	var keys []uint64
	for group := range uint64(3) {
		for level := uint8(3); level < 9; level++ {
			for bin := range uint64(1) << (2 * (8 - level)) {
				for range rng.IntN(3) {
					keys = append(keys, group<<60|BinKey(level, bin))
				}
			}
		}
		keys = append(keys, group<<60|BinKey(8, 0))
	}
	for _, k := range keys {
		row := make([]byte, TileRowBytes)
		(&Tile{Key: k}).Put(row)
		rows = append(rows, row...)
	}
	f := openMem(t, buildFile(t, tinyTypes(Packed, 8, 4), []testRegion{{p: 0, arrays: []testArray{{TypeTile, rows}}}, {p: WholeRun}}))
	a, err := f.Array(0, TypeTile)
	if err != nil {
		t.Fatal(err)
	}
	for group := range uint8(4) {
		p, err := a.Pyramid(group)
		if err != nil {
			t.Fatal(err)
		}
		if want := group < 3; want != (p.Top == 8) || want != (p.Finest == 3) {
			t.Errorf("group %d: levels %d to %d", group, p.Finest, p.Top)
		}
		for range 300 {
			t1, t2 := rng.Uint64N(70_000), rng.Uint64N(70_000)
			level := uint8(rng.IntN(12))
			n1, n2, err := p.Find(level, t1, t2)
			if err != nil {
				t.Fatal(err)
			}
			for n, k := range keys {
				first, last := BinSpan(k)
				want := k>>60 == uint64(group) && BinLevel(k) == level && t1 < t2 && first < t2 && last >= t1
				if got := uint64(n) >= n1 && uint64(n) < n2; got != want {
					t.Fatalf("group %d level %d, [%d, %d): row %d of key %#x found %t", group, level, t1, t2, n, k, got)
				}
			}
		}
	}
}

func TestPyramidLevel(t *testing.T) {
	p := Pyramid{Finest: 2, Top: 9}
	for _, test := range []struct {
		t1, t2 uint64
		width  int
		want   uint8
	}{
		{0, 1000, 1000, 2},
		{0, 16_000, 1000, 2},
		{0, 63_999, 1000, 2},
		{0, 64_000, 1000, 3},
		{5, 256_004, 1000, 3},
		{5, 256_005, 1000, 4},
		{0, 1 << 60, 1, 9},
		{0, Never, 0, 9},
		{9, 3, 10, 2},
	} {
		if got := p.Level(test.t1, test.t2, test.width); got != test.want {
			t.Errorf("%+v: level %d", test, got)
		}
	}
}
