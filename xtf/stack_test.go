package xtf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStack compares the climb with all rows that are open.
func TestStack(t *testing.T) {
	for round := range 12 {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		n := []int{1, 2, 3, 12, 13, 40, 90, 170}[round%8]
		rows := callRows(r, n)
		if round%3 == 0 { // the trace ends inside of the first call
			SetU64(rows, CallEnd, Never)
		}
		prof := Packed
		if round%2 == 1 {
			prof = Raw4K
		}
		t.Run(fmt.Sprintf("%d/%d rows", round, n), func(t *testing.T) {
			f := openMem(t, buildFile(t, tinyTypes(prof, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeCall, rows}}}, {p: WholeRun}}))
			a, err := f.Array(0, TypeCall)
			if err != nil {
				t.Fatal(err)
			}
			checkStack(t, a, rows)
		})
	}
}

func checkStack(t *testing.T, a *Array, rows []byte) {
	t.Helper()
	times := []uint64{0, 1, Never - 1, Never}
	for o := 0; o < len(rows); o += CallRowBytes {
		at, end := U64(rows[o:], CallT), U64(rows[o:], CallEnd)
		times = append(times, at-1, at, at+1, end-1, end)
	}
	for _, at := range times {
		var want, got []uint64
		depth := uint64(0)
		for n := uint64(0); int(n)*CallRowBytes < len(rows); n++ {
			row := rows[n*CallRowBytes:]
			if U64(row, CallT) <= at && U64(row, CallEnd) > at {
				want = append(want, n)
			}
			depth = max(depth, uint64(U32(row, CallDepth))+1)
		}
		var st Stats
		err := a.Counted(&st).Stack(at, func(n uint64, row []byte) bool {
			if string(row) != string(rows[n*CallRowBytes:][:CallRowBytes]) {
				t.Fatalf("row %d differs", n)
			}
			got = append(got, n)
			return true
		})
		slices.Reverse(got)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("Stack(%d): %v %s", at, err, d)
		}
		if pages := st.PageReads + st.Hits; pages > uint64(a.Height())+2*depth {
			t.Fatalf("Stack(%d) visits %d pages, height %d, depth %d", at, pages, a.Height(), depth)
		}
	}
	if calls := 0; len(rows) > CallRowBytes {
		if err := a.Stack(U64(rows[len(rows)-CallRowBytes:], CallT), func(uint64, []byte) bool { calls++; return false }); err != nil || calls > 1 {
			t.Fatalf("%d calls after the visit wanted no more: %v", calls, err)
		}
	}
}

// Parents that do not come before their calls end the climb with an error.
func TestStackDamaged(t *testing.T) {
	rows := callRows(rand.New(rand.NewPCG(1, 1)), 20)
	last := rows[19*CallRowBytes:]
	at := U64(last, CallT)
	for _, parent := range []uint64{19, 20, 1 << 60} {
		SetU64(last, CallParent, parent)
		SetU64(last, CallEnd, Never)
		f := openMem(t, buildFile(t, tinyTypes(Packed, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeCall, rows}}}, {p: WholeRun}}))
		a, err := f.Array(0, TypeCall)
		if err == nil {
			err = a.Stack(at, func(uint64, []byte) bool { return true })
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("parent %d: %v", parent, err)
		}
	}
}
