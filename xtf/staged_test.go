package xtf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStagedRows appends rows in pieces of any length, in two parts that are joined, and reads them.
func TestStagedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	types := StandardTypes(Packed)
	unknown := []string{"mateN", "seq", "mateT", "lastEnter", "firstLeave", "lastLeave"}
	for _, id := range []TypeID{TypeP2P, TypeColl} {
		typ := types.Lookup(id)
		for _, total := range []int{0, 1, stagedBlock, 3*stagedBlock + 5, 5000} {
			sink := &MemorySink{}
			want := make([]byte, total*typ.RowBytes)
			for i := range want {
				want[i] = byte(r.Uint32() >> r.IntN(32))
			}
			for _, c := range typ.Columns {
				for o := c.Offset; o < len(want) && slices.Contains(unknown, c.Name); o += typ.RowBytes {
					copy(want[o:o+c.Width], "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")
				}
			}
			half := total / 2 * typ.RowBytes
			for _, part := range [][]byte{want[:half], want[half:]} {
				s := NewStagedRows(typ, sink)
				for at := 0; at < len(part); {
					n := min(len(part)-at, (1+r.IntN(1200))*typ.RowBytes)
					off, err := s.Append(part[at : at+n])
					if err != nil || off != int64(at) {
						t.Fatal(off, err)
					}
					at += n
				}
			}
			if got, err := stagedRows(typ, sink); !bytes.Equal(got, want) || err != io.EOF {
				t.Fatalf("%s: %d bytes of rows differ from %d (%v)", typ.Name, len(got), len(want), err)
			}
			for i := range 200 { // damage is an error, or other rows
				damaged := &MemorySink{}
				b := bytes.Clone(sink.b)
				if len(b) == 0 {
					break
				}
				b[r.IntN(len(b))] ^= byte(1 << (i % 8))
				_, _ = damaged.Append(b[:len(b)-i%3])
				if got, err := stagedRows(typ, damaged); !errors.Is(err, ErrCorrupt) && err != io.EOF && err != io.ErrUnexpectedEOF {
					t.Fatal(len(got), err)
				}
			}
		}
	}
}

// stagedRows are all rows in a sink, and what ended them.
func stagedRows(typ *Type, sink Sink) (rows []byte, err error) {
	s := NewStagedRows(typ, sink)
	for {
		r, err := s.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, make([]byte, typ.RowBytes)...)
		to := rows[len(rows)-typ.RowBytes:]
		if typ.ID == TypeP2P {
			var x P2P
			r.P2P(&x)
			x.Put(to)
		} else {
			var x Coll
			r.Coll(&x)
			x.Put(to)
		}
	}
}
