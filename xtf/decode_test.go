package xtf

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

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
