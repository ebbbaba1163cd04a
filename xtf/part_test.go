package xtf

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// rowScript is an array as somebody fills it: rows in order, some of them ended later.
type rowScript struct {
	rows []byte   // as they are in the end
	ends []uint64 // for each row: the number of rows there are when it is ended; Never: it is complete from the start
}

func randomScript(rng *rand.Rand, typ *Type, n int) rowScript {
	s := rowScript{rows: make([]byte, n*typ.RowBytes), ends: make([]uint64, n)}
	t := uint64(0)
	for i := range n {
		row := s.rows[i*typ.RowBytes:][:typ.RowBytes]
		for k := range row {
			row[k] = byte(rng.IntN(3))
		}
		t += uint64(rng.IntN(4))
		SetU64(row, 0, t)
		if s.ends[i] = Never; typ.End < 0 {
			continue
		}
		SetU64(row, typ.Columns[typ.End].Offset, t+uint64(rng.IntN(6)))
		switch rng.IntN(4) {
		case 0:
			s.ends[i] = uint64(i + 1 + rng.IntN(5))
		case 1:
			s.ends[i] = uint64(i + 1 + rng.IntN(n))
			SetU64(row, typ.Columns[typ.End].Offset, t+uint64(rng.IntN(4*n)))
		}
		if s.ends[i] != Never {
			s.ends[i] = min(s.ends[i], uint64(n))
		}
	}
	return s
}

// fill adds rows [from, to) and the ends that fall there.
func (s *rowScript) fill(b *ArrayBuilder, typ *Type, from, to int, late map[uint64][]int) {
	r := typ.RowBytes
	for i := from; i < to; i++ {
		if s.ends[i] == Never {
			row, _ := b.Append()
			copy(row, s.rows[i*r:(i+1)*r])
		} else {
			row, _ := b.Open()
			copy(row, s.rows[i*r:(i+1)*r])
			c := typ.Columns[typ.End]
			SetU64(row, c.Offset, Never)
			clear(row[c.Offset+8:])
		}
		for _, k := range late[uint64(i+1)] {
			row := b.Row(uint64(k))
			c := typ.Columns[typ.End]
			copy(row[c.Offset:], s.rows[k*r+c.Offset:(k+1)*r])
			b.Close(uint64(k))
		}
	}
}

// TestParts makes arrays of parts cut anywhere, passed on as bytes, and compares with one builder.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	for _, profile := range []Profile{Packed, Raw4K} {
		tt := tinyTypes(profile, 3, 4)
		for range 300 {
			typ := tt.Lookup([]TypeID{TypeCall, TypeIO, TypeMetric}[rng.IntN(3)])
			n := rng.IntN(40)
			s := randomScript(rng, typ, n)
			late := map[uint64][]int{}
			for i, at := range s.ends {
				if at != Never {
					late[at] = append(late[at], i)
				}
			}
			enc := NewEncoder()
			whole := &MemorySink{}
			b := NewArrayBuilder(enc, typ, 5, whole)
			s.fill(b, typ, 0, n, late)
			want, err := b.Finish()
			if err != nil {
				t.Fatal(err)
			}
			joined := &MemorySink{}
			j := NewArrayBuilder(enc, typ, 5, joined)
			j.SpillPinned(&MemorySink{}, 2)
			for from := 0; from < n; {
				to := from + rng.IntN(n-from+1)
				sink := &MemorySink{}
				b := NewPartBuilder(enc, typ, 5, uint64(from), sink)
				b.SpillPinned(&MemorySink{}, 2)
				s.fill(b, typ, from, to, late)
				part, err := b.FinishPart()
				if err != nil {
					t.Fatal(err)
				}
				part, rest, err := ParsePart(typ, part.AppendBinary(nil))
				if err != nil || len(rest) > 0 || part.next-part.first != uint64(to-from) {
					t.Fatalf("%d rows of %d, %d bytes left, %v", part.next-part.first, to-from, len(rest), err)
				}
				if err := j.AddPart(part, sink); err != nil {
					t.Fatal(err)
				}
				from = to
			}
			got, err := j.Finish()
			if err != nil {
				t.Fatal(err)
			}
			compareSummaries(t, want, got, whole, joined)
		}
	}
}

// compareSummaries compares all but the places of pages in their sinks.
func compareSummaries(t *testing.T, want, got *ArraySummary, w, g *MemorySink) {
	t.Helper()
	for i := range want.pages {
		x, y := want.pages[i], got.pages[i]
		a, b := make([]byte, x.stored), make([]byte, y.stored)
		if _, err := w.ReadAt(a, x.off); err != nil {
			t.Fatal(err)
		}
		if _, err := g.ReadAt(b, y.off); err != nil {
			t.Fatal(err)
		}
		x.off, y.off = 0, 0
		if x != y || !bytes.Equal(a, b) {
			t.Fatalf("page %d: %+v, want %+v", i, y, x)
		}
	}
	if want.rows != got.rows || want.first != got.first || want.last != got.last || want.maxEnd != got.maxEnd || want.codec != got.codec ||
		!slices.Equal(want.ps, got.ps) || !slices.Equal(want.totals, got.totals) {
		t.Fatalf("summary %+v, want %+v", got, want)
	}
}

// FuzzPart reads parts from any bytes: it must not panic, and what it takes it writes again alike.
func FuzzPart(f *testing.F) {
	tt := tinyTypes(Packed, 3, 4)
	typ := tt.Lookup(TypeCall)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 8} {
		s := randomScript(rng, typ, n)
		for i := range s.ends {
			s.ends[i] = Never
		}
		b := NewPartBuilder(NewEncoder(), typ, 5, 4, &MemorySink{})
		s.fill(b, typ, 0, n, nil)
		p, err := b.FinishPart()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, err := ParsePart(typ, data)
		if err != nil {
			return
		}
		again, rest, err := ParsePart(typ, p.AppendBinary(nil))
		if err != nil || len(rest) > 0 || !bytes.Equal(again.AppendBinary(nil), p.AppendBinary(nil)) {
			t.Fatalf("read again: %v, %d bytes left", err, len(rest))
		}
	})
}
