package xtfwriter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// TestSorter compares with a stable sort of all rows in memory: few and many
// telling key bytes, equal keys, rows in order, one row, none; with runs and
// several merge passes.
func TestSorter(t *testing.T) {
	for _, tc := range []struct {
		rows, width, key int
		digits           int // values of a key byte
		memory           int64
	}{
		{0, 8, 4, 256, 1 << 20},
		{1, 8, 4, 256, 1 << 20},
		{5000, 8, 4, 256, 1 << 20},
		{5000, 24, 16, 256, 1 << 20},
		{5000, 24, 16, 2, 4 << 10},
		{20000, 40, 12, 3, 1 << 10}, // more runs than are merged at once
		{3000, 72, 24, 1, 2 << 10},  // all keys equal: order of adding
	} {
		for _, rising := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d rows of %d key %d rising %v", tc.rows, tc.width, tc.key, rising), func(t *testing.T) {
				st := NewStore(filepath.Join(t.TempDir(), "seg"), 1<<10)
				defer st.Close(true)
				rng := rand.New(rand.NewPCG(1, uint64(tc.rows)))
				rows := make([][]byte, tc.rows)
				for i := range rows {
					rows[i] = make([]byte, tc.width)
					for k := range tc.key {
						rows[i][k] = byte(rng.IntN(tc.digits))
					}
					rows[i][tc.width-1], rows[i][tc.width-2] = byte(i), byte(i>>8) // tells equal keys apart
				}
				byKey := func(a, b []byte) int { return bytes.Compare(a[:tc.key], b[:tc.key]) }
				if rising {
					slices.SortStableFunc(rows, byKey)
				}
				s := NewSorter(st, tc.width, tc.key, tc.memory)
				for _, r := range rows {
					s.Add(r)
				}
				slices.SortStableFunc(rows, byKey)
				got, err := s.Sort()
				if err != nil {
					t.Fatal(err)
				}
				defer got.Close()
				for i, want := range rows {
					if !got.Next() {
						t.Fatalf("ends after %d of %d rows: %v", i, len(rows), got.Err())
					}
					if !bytes.Equal(got.Row(), want) {
						t.Fatalf("row %d is %x, want %x", i, got.Row(), want)
					}
				}
				if got.Next() || got.Err() != nil {
					t.Fatalf("more than %d rows, or %v", len(rows), got.Err())
				}
			})
		}
	}
}

func BenchmarkSorter(b *testing.B) {
	const rows, width, key = 1 << 18, 64, 16
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, rows*width)
	for at := 0; at < len(data); at += width {
		le := rng.Uint32()
		data[at+13], data[at+14], data[at+15] = byte(le>>16), byte(le>>8), byte(le)
	}
	for _, memory := range []int64{64 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("memory=%dMiB", memory>>20), func(b *testing.B) {
			st := NewStore(filepath.Join(b.TempDir(), "seg"), 1<<30)
			b.SetBytes(rows * width)
			b.ReportAllocs()
			s := NewSorter(st, width, key, memory) // used again and again, as in a job
			for b.Loop() {
				for at := 0; at < len(data); at += width {
					s.Add(data[at : at+width])
				}
				r, err := s.Sort()
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
				}
				r.Close()
			}
		})
	}
}
