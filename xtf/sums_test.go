package xtf

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bruteSum is F(t) by its definition: what every row has contributed by t.
func bruteSum(typ *Type, rows []byte, t uint64) []uint64 {
	f := make([]uint64, len(typ.Sums))
	load := func(row []byte, c int) uint64 {
		return typ.Columns[c].Value(row)
	}
	for o := 0; o < len(rows); o += typ.RowBytes {
		row := rows[o : o+typ.RowBytes]
		at, end := load(row, 0), load(row, typ.End)
	sums:
		for k, s := range typ.Sums {
			for _, term := range s.Filter {
				if load(row, term.Column)&term.Mask != term.Value {
					continue sums
				}
			}
			v := uint64(1)
			if s.Column >= 0 {
				v = load(row, s.Column)
			}
			if s.Minus >= 0 {
				v -= min(v, load(row, s.Minus))
			}
			switch {
			case s.Rule == RuleAtT && at < t, s.Rule == RuleAtEnd && end <= t:
				f[k] += v
			case s.Rule == RuleSpan && at < t && min(end, t) > at:
				f[k] += min(end, t) - at
			}
		}
	}
	return f
}

// overlapRows makes rows of a type with an End: equal T in runs, ends in any
// order, some reaching over many pages, all sums touched.
func overlapRows(r *rand.Rand, typ *Type, n int) []byte {
	b := make([]byte, n*typ.RowBytes)
	t := uint64(50)
	for i := range n {
		row := b[i*typ.RowBytes:]
		if r.IntN(3) == 0 {
			t += r.Uint64N(20)
		}
		for _, c := range typ.Columns {
			v := r.Uint64N(60)
			if c.Width == 8 {
				le.PutUint64(row[c.Offset:], v)
			} else {
				le.PutUint32(row[c.Offset:], uint32(v))
			}
		}
		le.PutUint64(row, t)
		end := t + r.Uint64N(15)
		if r.IntN(20) == 0 {
			end = t + r.Uint64N(2000)
		}
		le.PutUint64(row[typ.Columns[typ.End].Offset:], end)
		if typ.ID == TypeCall {
			SetU64(row, CallParent, Never)
		}
		for _, s := range typ.Sums { // let filters pass now and then
			for _, f := range s.Filter {
				if c := typ.Columns[f.Column]; r.IntN(2) == 0 {
					le.PutUint32(row[c.Offset:], uint32(f.Value))
				}
			}
		}
	}
	return b
}

func TestSums(t *testing.T) {
	tt := tinyTypes(Packed, 4, 3)
	for _, id := range []TypeID{TypeCall, TypeP2P, TypeColl, TypeIO, TypeRMA, TypeWait} {
		typ := tt.Lookup(id)
		for round := range 8 {
			t.Run(fmt.Sprintf("%s/%d", typ.Name, round), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(id), uint64(round)))
				n := []int{1, 4, 5, 30, 90, 170, 13, 60}[round]
				if testing.Short() {
					n = min(n, 40)
				}
				rows := overlapRows(r, typ, n)
				if id == TypeCall && round%2 == 0 {
					rows = callRows(r, n)
				}
				checkSums(t, tt, id, rows)
			})
		}
	}
}

func checkSums(t *testing.T, tt *TypeTable, id TypeID, rows []byte) {
	t.Helper()
	f := openMem(t, buildFile(t, tt, []testRegion{{p: 0, arrays: []testArray{{id, rows}}}, {p: WholeRun}}))
	if res, err := Check(f, nil); err != nil || res.Found > 0 {
		t.Fatalf("Check: %+v %v", res, err)
	}
	a, err := f.Array(0, id)
	if err != nil {
		t.Fatal(err)
	}
	times := []uint64{0, Never}
	for o := 0; o < len(rows); o += a.typ.RowBytes {
		at, end := U64(rows[o:], 0), U64(rows[o:], 8)
		times = append(times, at, at+1, end)
	}
	r := rand.New(rand.NewPCG(uint64(len(rows)), 1))
	for _, at := range times {
		got, err := a.Sums().at(at)
		if d := cmp.Diff(bruteSum(a.typ, rows, at), got); d != "" || err != nil {
			t.Fatalf("sumsAt(%d): %v %s", at, err, d)
		}
		t2 := times[r.IntN(len(times))]
		checkBounds(t, a, rows, min(at, t2), max(at, t2))
		checkOverlap(t, a, rows, min(at, t2), max(at, t2))
	}
	if d := cmp.Diff(bruteSum(a.typ, rows, Never), a.Sums().Totals()); d != "" {
		t.Fatalf("totals: %s", d)
	}
}

func checkBounds(t *testing.T, a *Array, rows []byte, t1, t2 uint64) {
	t.Helper()
	want := bruteSum(a.typ, rows, t2)
	for k, v := range bruteSum(a.typ, rows, t1) {
		want[k] -= v
	}
	got, err := a.Sums().Between(t1, t2)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Fatalf("SumsBetween(%d, %d): %v %s", t1, t2, err, d)
	}
	var x Stats
	lower, about, upper, err := a.Counted(&x).Sums().Limits(t1, t2)
	if err != nil {
		t.Fatal(err)
	}
	// four descents without their data page, four aux pages
	if most := 4 * uint64(a.Height()-1); x.PageReads+x.Hits > most+4 || a.Height() == 1 && x.PageReads+x.Hits > 0 || x.Comparisons > 4*worst(a) {
		t.Fatalf("bounds of [%d, %d) cost %+v, height %d", t1, t2, x, a.Height())
	}
	for k, v := range want {
		if v < lower[k] || v > upper[k] || about[k] < lower[k] || about[k] > upper[k] {
			t.Fatalf("sum %s of [%d, %d) is %d, about %d, bounds %d and %d", a.typ.Sums[k].Name, t1, t2, v, about[k], lower[k], upper[k])
		}
	}
}

func checkOverlap(t *testing.T, a *Array, rows []byte, t1, t2 uint64) {
	t.Helper()
	var want, got []uint64
	for n := 0; n*a.typ.RowBytes < len(rows); n++ {
		if row := rows[n*a.typ.RowBytes:]; U64(row, 0) < t2 && U64(row, 8) > t1 {
			want = append(want, uint64(n))
		}
	}
	err := a.Overlapping(t1, t2, func(n uint64, row []byte) bool {
		if string(row) != string(rows[int(n)*a.typ.RowBytes:][:a.typ.RowBytes]) {
			t.Fatalf("row %d differs", n)
		}
		got = append(got, n)
		return true
	})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Fatalf("Overlapping(%d, %d): %v %s", t1, t2, err, d)
	}
}

// A call over the whole run, and deep recursion: sums stay right when pages close
// in reverse order and rows wait for their end in number.
func TestSumsLateEnds(t *testing.T) {
	tt := tinyTypes(Packed, 8, 4)
	const depth = 4000
	b := NewArrayBuilder(NewEncoder(), tt.Lookup(TypeCall), 0, &MemorySink{})
	rows := make([]byte, depth*CallRowBytes)
	for i := range uint64(depth) {
		row, n := b.Open()
		c := Call{T: 3 * i, End: 3*depth + 2*(depth-i), Parent: n - 1, Depth: uint32(i), Flags: FlagOutermostMPI, Class: ClassMPI}
		if i == 0 {
			c.Parent = Never
		}
		c.Put(row)
		c.Put(rows[i*CallRowBytes:])
	}
	for n := b.Len(); n > 0; n-- {
		b.Close(n - 1)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	want := buildArray(t, tt, 0, testArray{TypeCall, rows})
	if d := cmp.Diff(want.Summary.ps, sum.ps); d != "" {
		t.Fatalf("prefix sums depend on the order of closing: %s", d)
	}
	for _, j := range []int{0, 1, 77, len(sum.pages) - 1} {
		var spans uint64
		for i := range uint64(8 * j) {
			spans += sum.pages[j].t0 - 3*i
		}
		if got := sum.ps[j*sum.k+2]; got != spans {
			t.Errorf("PS[%d] of time in MPI = %d, want %d", j, got, spans)
		}
	}
}
