package xtf

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeometry(t *testing.T) {
	tests := []struct {
		n    uint64
		z, s int
		want []uint64
	}{
		{0, 64, 170, nil},
		{1, 64, 170, []uint64{1}},
		{64, 64, 170, []uint64{1}},
		{65, 64, 170, []uint64{2, 1}},
		{10880, 64, 170, []uint64{170, 1}},
		{10881, 64, 170, []uint64{171, 2, 1}},
		{1849600, 64, 170, []uint64{28900, 170, 1}},
		{1849601, 64, 170, []uint64{28901, 171, 2, 1}},
		{48, 3, 4, []uint64{16, 4, 1}},
		{49, 3, 4, []uint64{17, 5, 2, 1}},
		{1677721600, 64, 170, []uint64{26214400, 154203, 908, 6, 1}},
		{1677721600, 63, 168, []uint64{26630502, 158515, 944, 6, 1}},
		{1677721600, 64, 128, []uint64{26214400, 204800, 1600, 13, 1}},
		{1677721600, 1024, 680, []uint64{1638400, 2410, 4, 1}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, Geometry(tt.n, tt.z, tt.s)); d != "" {
			t.Errorf("Geometry(%d, %d, %d): %s", tt.n, tt.z, tt.s, d)
		}
	}
}

// TestSeedGeometry holds the arithmetic of 100 GiB of records of 64 bytes: the
// height, the pages of the index and the comparisons of the longest search.
func TestSeedGeometry(t *testing.T) {
	const n = 100 << 30 / 64
	for _, x := range []struct {
		name            string
		z, s            int
		height          int
		index, compares uint64
		share           float64 // index pages per leaf page, %, in thousandths
	}{
		{"as printed", 64, 170, 5, 155118, 33, 592},
		{"with a page header", 63, 168, 5, 159466, 33, 599},
		{"fan-out of a power of two", 64, 128, 5, 206414, 31, 787},
		{"default", 1024, 680, 4, 2415, 32, 147},
	} {
		geo := Geometry(n, x.z, x.s)
		index, compares := uint64(0), log2(uint64(x.z))
		for lv := 1; lv < len(geo); lv++ {
			index += geo[lv]
			compares += log2(min(uint64(x.s), geo[lv-1]))
		}
		share := math.Round(float64(index) / float64(geo[0]) * 1e5)
		if len(geo) != x.height || index != x.index || compares != x.compares || share != x.share {
			t.Errorf("%s: height %d, %d index pages (%v), %d comparisons, want %+v", x.name, len(geo), index, share, compares, x)
		}
	}
}

// Where pages and fan-out are powers of two a search needs ceil(log2 N) comparisons
// and no more: as many as without pages.
func TestExactComparisons(t *testing.T) {
	var keys []uint64
	for i := range uint64(256) {
		keys = append(keys, 2*i)
	}
	f := openMem(t, buildFile(t, tinyTypes(Packed, 4, 4), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}}))
	a, err := f.Array(0, TypeMetric)
	if err != nil || a.Height() != 4 {
		t.Fatal(a.Height(), err)
	}
	for _, k := range keys[1:] {
		var st Stats
		if _, ok, err := a.Counted(&st).Search(k, First); !ok || err != nil || st.Comparisons != 8 || st.PageReads+st.Hits != 4 {
			t.Fatalf("search of %d: %v %v, %+v", k, ok, err, st)
		}
	}
}

// log2 is the logarithm, rounded up.
func log2(n uint64) uint64 {
	k := uint64(0)
	for 1<<k < n {
		k++
	}
	return k
}

// worst is the bound of key comparisons of one search.
func worst(a *Array) uint64 {
	c := log2(min(uint64(a.typ.PageRows), a.Len()))
	for lv := 1; lv < a.Height(); lv++ {
		c += log2(min(uint64(a.typ.Fanout), uint64(a.desc.levels[lv-1].pages)))
	}
	return c
}

// model is the slow twin of an array's primitives.
type model []uint64

func (m model) lo(k uint64) uint64 {
	return uint64(sort.Search(len(m), func(i int) bool { return m[i] >= k }))
}

func (m model) hi(k uint64) uint64 {
	return uint64(sort.Search(len(m), func(i int) bool { return m[i] > k }))
}

func (m model) search(k uint64, mode Mode) (uint64, bool) {
	n := map[Mode]int64{
		First: int64(m.lo(k)), GE: int64(m.lo(k)), GT: int64(m.hi(k)),
		Last: int64(m.hi(k)) - 1, LE: int64(m.hi(k)) - 1, LT: int64(m.lo(k)) - 1,
	}[mode]
	if n < 0 || n >= int64(len(m)) || ((mode == First || mode == Last) && m[n] != k) {
		return 0, false
	}
	return uint64(n), true
}

// next steps with whole numbers.
func (m model) next(k uint64, step int64) (uint64, bool) {
	lo := m.lo(k)
	if lo < uint64(len(m)) && m[lo] == k {
		return m.step(float64(lo), float64(step))
	}
	switch {
	case step > 0:
		return m.step(float64(lo), float64(step)-1)
	case step < 0:
		return m.step(float64(lo), float64(step))
	}
	return 0, false
}

// step uses floats wide enough for every case tested: |n| < 2^50 or far outside.
func (m model) step(n, s float64) (uint64, bool) {
	if x := n + s; x >= 0 && x < float64(len(m)) {
		return uint64(x), true
	}
	return 0, false
}

func keySets() map[string][]uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	sets := map[string][]uint64{
		"all equal":    make([]uint64, 200),
		"extremes":     {0, 0, 0, 0, 0, 1, 1 << 57, 1 << 58, math.MaxUint64 - 1, math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64},
		"all largest":  {math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64},
		"width 57":     {0, 1<<57 - 1, 1<<57 - 1, 1<<57 - 1},
		"width 58":     {5, 5 + 1<<57, 1 << 58},
		"long run":     append(append(sortedKeys(r, 20, 50), bytes64(60, 70)...), 61, 99, 99),
		"sparse":       sortedKeys(r, 300, 1<<40),
		"heavy":        sortedKeys(r, 500, 12),
		"empty":        {},
		"one":          {42},
		"consecutive":  nil,
		"wide spread":  sortedKeys(r, 100, math.MaxUint64),
		"leading zero": append(make([]uint64, 37), 1, 2, 3),
	}
	for i := range uint64(130) {
		sets["consecutive"] = append(sets["consecutive"], i)
	}
	for i := range sets["all equal"] {
		sets["all equal"][i] = 77
	}
	for _, n := range []int{2, 3, 4, 11, 12, 13, 47, 48, 49, 192, 193} {
		sets[fmt.Sprintf("%d rows", n)] = sortedKeys(r, n, uint64(n))
	}
	return sets
}

func bytes64(v uint64, n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func TestPrimitives(t *testing.T) {
	for _, prof := range []Profile{Packed, Raw4K} {
		for name, keys := range keySets() {
			t.Run(fmt.Sprintf("%d/%s", prof.PageSize, name), func(t *testing.T) {
				tt := tinyTypes(prof, 3, 4)
				m := buildFile(t, tt, []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}})
				f := openMem(t, m)
				a, err := f.Array(0, TypeMetric)
				if err != nil {
					t.Fatal(err)
				}
				checkPrimitives(t, a, model(keys))
			})
		}
	}
}

func checkPrimitives(t *testing.T, a *Array, m model) {
	t.Helper()
	if a.Len() != uint64(len(m)) {
		t.Fatalf("Len = %d, want %d", a.Len(), len(m))
	}
	probes := []uint64{0, 1, math.MaxUint64 - 1, math.MaxUint64}
	for i, k := range m {
		if i%3 == 0 || len(m) < 60 {
			probes = append(probes, k, k-1, k+1)
		}
	}
	height := uint64(a.Height())
	for _, k := range probes {
		for _, mode := range []Mode{First, Last, GE, GT, LE, LT} {
			var st Stats
			pos, ok, err := a.Counted(&st).Search(k, mode)
			want, wantOK := m.search(k, mode)
			if err != nil || ok != wantOK || (ok && pos.N != want) {
				t.Fatalf("Search(%d, %d) = %v %v %v, want %d %v", k, mode, pos, ok, err, want, wantOK)
			}
			if ok && (pos.Page != pos.N/uint64(a.typ.PageRows) || pos.Slot != int(pos.N%uint64(a.typ.PageRows))) {
				t.Fatalf("position %v", pos)
			}
			if st.PageReads+st.Hits > height || st.Comparisons > worst(a) {
				t.Fatalf("Search(%d, %d) cost %+v, height %d, worst %d", k, mode, st, height, worst(a))
			}
		}
		for _, step := range []int64{0, 1, -1, 2, -2, 7, -7, int64(len(m)), -int64(len(m)), math.MaxInt64, math.MinInt64} {
			var st Stats
			pos, side, ok, err := a.Counted(&st).Next(k, step)
			want, wantOK := m.next(k, step)
			if err != nil || ok != wantOK || (ok && pos.N != want) || (ok && side != Inside) {
				t.Fatalf("Next(%d, %d) = %v %d %v %v, want %d %v", k, step, pos, side, ok, err, want, wantOK)
			}
			if st.PageReads+st.Hits > height+2 {
				t.Fatalf("Next cost %+v", st)
			}
		}
	}
	checkSizes(t, a, m, probes)
	checkRows(t, a, m)
}

func checkSizes(t *testing.T, a *Array, m model, probes []uint64) {
	t.Helper()
	for i, k1 := range probes {
		k2 := probes[(i*7+3)%len(probes)]
		want := uint64(0)
		if lo, hi := m.lo(k1), m.lo(k2); hi > lo {
			want = hi - lo
		}
		var st Stats
		got, err := a.Counted(&st).Size(k1, k2)
		if err != nil || got != want || st.PageReads+st.Hits > 2*uint64(a.Height()) {
			t.Fatalf("Size(%d, %d) = %d %v (%+v), want %d", k1, k2, got, err, st, want)
		}
		want = 0
		if lo, hi := m.lo(k1), m.hi(k2); hi > lo && k1 <= k2 {
			want = hi - lo
		}
		if got, err = a.SizeClosed(k1, k2); err != nil || got != want {
			t.Fatalf("SizeClosed(%d, %d) = %d %v, want %d", k1, k2, got, err, want)
		}
	}
	top := m.hi(math.MaxUint64) - m.lo(math.MaxUint64)
	if got, err := a.Size(0, math.MaxUint64); err != nil || got+top != uint64(len(m)) {
		t.Fatalf("Size(0, max) = %d %v of %d", got, err, len(m))
	}
}

func checkRows(t *testing.T, a *Array, m model) {
	t.Helper()
	want := metricRows(m)
	for n := range uint64(len(m)) {
		var st Stats
		k, err := a.Counted(&st).At(n)
		if err != nil || k != m[n] || st.PageReads+st.Hits > 2 {
			t.Fatalf("At(%d) = %d %v (%+v), want %d", n, k, err, st, m[n])
		}
		row, err := a.Row(n, nil)
		if err != nil || !bytes.Equal(row, want[n*MetricRowBytes:][:MetricRowBytes]) {
			t.Fatalf("Row(%d) = %x %v", n, row, err)
		}
		if back, side := a.NextN(n, 5); side == Inside {
			if again, side := a.NextN(back.N, -5); side != Inside || again.N != n {
				t.Fatalf("NextN there and back from %d: %v", n, again)
			}
		}
	}
	if _, err := a.At(uint64(len(m))); err == nil {
		t.Fatal("At after the end")
	}
	for _, from := range []uint64{0, 1, 3, uint64(len(m)) / 2} {
		if from > uint64(len(m)) {
			continue
		}
		n := from
		c := a.Rows(from, math.MaxUint64)
		for c.Next() {
			if c.N() != n || !bytes.Equal(c.Row(), want[n*MetricRowBytes:][:MetricRowBytes]) {
				t.Fatalf("cursor at %d gives %d: %x", n, c.N(), c.Row())
			}
			n++
		}
		if c.Err() != nil || n != uint64(len(m)) {
			t.Fatalf("cursor from %d ended at %d: %v", from, n, c.Err())
		}
	}
}
