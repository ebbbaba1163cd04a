package xtf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestDecodeRow compares single rows with those of the whole page.
func TestDecodeRow(t *testing.T) {
	tt := StandardTypes(Packed)
	dec, enc := newDecoder(), NewEncoder()
	for i := range tt.types {
		typ := &tt.types[i]
		for _, n := range []int{1, 2, 100} {
			r := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			rows := randomRows(r, typ, n)
			enc.firstPage(typ, rows)
			page := bytes.Clone(enc.out)
			firstN := r.Uint64() >> 30
			want, got := make([]byte, len(rows)), make([]byte, typ.RowBytes)
			if err := dec.rows(want, typ, CodecPacked, page, n, firstN); err != nil {
				t.Fatal(err)
			}
			for slot := range n {
				if err := dec.row(got, typ, page, n, slot, firstN); err != nil || !bytes.Equal(got, want[slot*typ.RowBytes:][:typ.RowBytes]) {
					t.Fatalf("%s: row %d of %d: %v\n%x\n%x", typ.Name, slot, n, err, got, want[slot*typ.RowBytes:][:typ.RowBytes])
				}
			}
			for range 20 { // damaged pages: no row where the whole page has none
				bad := bytes.Clone(page)
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				all := dec.rows(want, typ, CodecPacked, bad, n, firstN)
				slot := r.IntN(n)
				one := dec.row(got, typ, bad, n, slot, firstN)
				if (all == nil) != (one == nil) || (one != nil && !errors.Is(one, ErrCorrupt)) {
					t.Fatalf("%s: the page says %v, its row %v", typ.Name, all, one)
				}
				if one == nil && !bytes.Equal(got, want[slot*typ.RowBytes:][:typ.RowBytes]) {
					t.Fatalf("%s: row %d of a damaged page differs", typ.Name, slot)
				}
			}
		}
	}
}

// TestDecodeColumns compares the columns that are wanted with those of whole rows.
func TestDecodeColumns(t *testing.T) {
	tt := StandardTypes(Packed)
	dec, enc := newDecoder(), NewEncoder()
	for i := range tt.types {
		typ := &tt.types[i]
		r := rand.New(rand.NewPCG(uint64(i), 3))
		const n = 50
		rows := randomRows(r, typ, n)
		enc.firstPage(typ, rows)
		whole, got := make([]byte, len(rows)), make([]byte, len(rows))
		if err := dec.rows(whole, typ, CodecPacked, enc.out, n, 9); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			want := []Column{typ.Columns[0]}
			var offsets []int
			for _, c := range typ.Columns[1:] {
				if r.IntN(2) == 0 {
					want, offsets = append(want, c), append(offsets, c.Offset)
				}
			}
			if err := dec.columns(got, typ, CodecPacked, enc.out, n, 9, typ.columnsAt(offsets)); err != nil {
				t.Fatal(err)
			}
			for _, c := range want {
				for at := c.Offset; at < len(rows); at += typ.RowBytes {
					if !bytes.Equal(got[at:at+c.Width], whole[at:at+c.Width]) {
						t.Fatalf("%s: column %s of row %d differs", typ.Name, c.Name, at/typ.RowBytes)
					}
				}
			}
			clear(got)
		}
	}
}
