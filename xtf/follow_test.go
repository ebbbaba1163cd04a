package xtf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// madeRows builds an array of a type of random rows, which follow or do not. Rows with a call are as if of one of these, but for a few; with
// own they begin and end with it.
func madeRows(t *testing.T, tt *TypeTable, id TypeID, n int, seed uint64, calls FinishedArray, list []byte, follow, own bool) FinishedArray {
	t.Helper()
	typ, sink, rng := tt.Lookup(id), &MemorySink{}, rand.New(rand.NewPCG(seed, 1))
	b := NewArrayBuilder(NewEncoder(), typ, 0, sink)
	x := followers[id]
	if b.follower = nil; follow && x.call == noCalls {
		b.follower = newFollower(typ)
	} else if follow {
		b.Follow(tt, calls, own)
	}
	now, call := uint64(1000), uint64(0)
	for range n {
		row, _ := b.Append()
		for i := range row {
			row[i] = byte(rng.IntN(3))
		}
		now += rng.Uint64N(5)
		end := now + rng.Uint64N(9)
		if x.call > 0 {
			number := min(call, uint64(len(list)/CallRowBytes-1))
			call += rng.Uint64N(3)
			begin := U64(list[number*CallRowBytes:], CallT)
			if end = U64(list[number*CallRowBytes:], CallEnd); own {
				now = begin
			} else {
				now = max(now, begin)
			}
			if rng.IntN(20) == 0 {
				number = Never - rng.Uint64N(2)
			}
			SetU64(row, x.call, number)
		}
		if x.call == inferred && follow && own { // any call may be told, or none
			number := now % uint64(len(list)/CallRowBytes+1)
			begin := uint64(0)
			if at := number * CallRowBytes; at < uint64(len(list)) {
				begin = U64(list[at:], CallT)
			}
			b.Of(number, begin)
		}
		if SetU64(row, 0, now); typ.End > 0 {
			SetU64(row, typ.Columns[typ.End].Offset, end)
		}
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return FinishedArray{Summary: sum, Data: sink}
}

// Rows of pages that follow are those of pages that do not, and damage of the calls is noticed.
func TestFollow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 100 {
		tt := tinyTypes(Packed, 2+rng.IntN(6), 4)
		list := randomCalls(rng, 50+rng.IntN(300), round%2 == 0)
		calls := madeCalls(t, tt.Lookup(TypeCall), list, round%3 > 0)
		rows := allRows(t, ScanArray(tt, calls, 0))
		if len(rows) == 0 {
			continue
		}
		for id, x := range followers {
			n, seed, own := 1+rng.IntN(200), rng.Uint64(), rng.IntN(2) == 0
			plain := madeRows(t, tt, id, n, seed, calls, rows, false, own)
			other := madeRows(t, tt, id, n, seed, calls, rows, true, own)
			want := allRows(t, ScanArray(tt, plain, 0))
			if x.call == noCalls {
				if got := allRows(t, ScanArray(tt, other, 0)); !bytes.Equal(got, want) {
					t.Fatalf("round %d: rows of type %d of the segment differ", round, id)
				}
			}
			f := openMem(t, fileOf(t, tt, calls, other))
			f.SetCallTimes(&eventTimes{list: list})
			a, err := f.Array(0, id)
			if err != nil {
				t.Fatal(err)
			}
			if got := allRows(t, a.Rows(0, a.Len())); !bytes.Equal(got, want) {
				t.Fatalf("round %d: rows of type %d of the file differ", round, id)
			}
			for range min(a.Len(), 10) {
				k, r := rng.Uint64N(a.Len()), uint64(a.typ.RowBytes)
				if got, err := a.Row(k, nil); err != nil || !bytes.Equal(got, want[k*r:(k+1)*r]) {
					t.Fatalf("round %d: row %d of type %d is % x (%v)", round, k, id, got, err)
				}
			}
			if res, err := Check(f, nil); err != nil || res.Found > 0 {
				t.Fatalf("round %d: %+v (%v)", round, res, err)
			}
			if x.call == noCalls || round%3 == 0 || viewPages(t, calls) == 0 || a.Height() == 1 {
				continue
			}
			f = openMem(t, fileOf(t, tt, calls, other))
			f.SetCallTimes(&eventTimes{list: list, off: 1})
			if a, err = f.Array(0, id); err != nil {
				t.Fatal(err)
			}
			c := a.Rows(0, a.Len())
			for c.Next() {
			}
			if got := c.Err(); got != nil && !errors.Is(got, ErrCorrupt) {
				t.Errorf("round %d: ends one too late: %v", round, got)
			} else if got == nil && !bytes.Equal(allRows(t, a.Rows(0, a.Len())), want) {
				t.Errorf("round %d: wrong rows of type %d without an error", round, id)
			}
		}
	}
}

// A following page that is damaged gives an error or rows, and nothing else happens.
func TestFollowDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	tt := tinyTypes(Packed, 8, 4)
	list := randomCalls(rng, 200, false)
	calls := madeCalls(t, tt.Lookup(TypeCall), list, true)
	rows := allRows(t, ScanArray(tt, calls, 0))
	wrong := 0
	for id, x := range followers {
		typ := tt.Lookup(id)
		a := madeRows(t, tt, id, 5*typ.PageRows, 3, calls, rows, true, false)
		dec, dst := newDecoder(), make([]byte, typ.PageRows*typ.RowBytes)
		for range 2000 {
			b, err := readStored(nil, a.Data, a.Summary.pages[1], a.Summary.codec)
			if err != nil || !isFollowing(b) {
				t.Fatalf("page of type %d does not follow (%v)", id, err)
			}
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			b = b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]
			if !isFollowing(b) {
				continue
			}
			var spans *callSpans
			if x.call != noCalls {
				spans = &callSpans{typ: tt.Lookup(TypeCall), decoders: &segmentDecoders, rows: calls.Summary.rows, src: &segmentSource{a: calls}, index: calls.Summary.pages}
			}
			if dec.following(dst, typ, b, typ.PageRows, uint64(typ.PageRows), spans) != nil {
				wrong++
			}
		}
	}
	if wrong < 4000 {
		t.Errorf("%d of 10 000 damaged pages were refused", wrong)
	}
}
