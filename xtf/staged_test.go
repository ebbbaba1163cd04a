package xtf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStagedRows appends rows in pieces of any length, in two parts that are joined, and reads them in pieces of other lengths.
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
			s := NewStagedRows(typ, sink)
			for range 2 { // the second time from the begin again
				for at := 0; at < len(want); {
					got := make([]byte, min(len(want)-at, (1+r.IntN(1200))*typ.RowBytes))
					if n, err := s.ReadAt(got, int64(at)); n < len(got) {
						t.Fatal(n, err)
					}
					if !bytes.Equal(got, want[at:at+len(got)]) {
						t.Fatalf("%s: rows from byte %d of %d differ", typ.Name, at, len(want))
					}
					at += len(got)
				}
			}
			if n, err := s.ReadAt(make([]byte, 1), int64(len(want))); n != 0 || err != io.EOF {
				t.Error(n, err)
			}
			for i := range 200 { // damage is an error, or other rows
				damaged := &MemorySink{}
				b := bytes.Clone(sink.b)
				if len(b) == 0 {
					break
				}
				b[r.IntN(len(b))] ^= byte(1 << (i % 8))
				_, _ = damaged.Append(b[:len(b)-i%3])
				if n, err := NewStagedRows(typ, damaged).ReadAt(make([]byte, len(want)), 0); n < len(want) && !errors.Is(err, ErrCorrupt) && err != io.EOF && err != io.ErrUnexpectedEOF {
					t.Fatal(n, err)
				}
			}
		}
	}
}
