package export

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestParquetBytes writes a table of all types and compares the file with the one of every other machine: the library
// has assembly for some and plain Go for others. A new version of it may make another file.
func TestParquetBytes(t *testing.T) {
	t.Parallel()
	s := &Schema{Meta: []Meta{{Key: "b", Value: "1"}, {Key: "a", Value: ""}}}
	for of := Uint64; of <= Text; of++ {
		for _, nullable := range []bool{false, true} {
			s.Columns = append(s.Columns, Column{Name: fmt.Sprint("z", 9-of, nullable), Type: of, Nullable: nullable})
		}
	}
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprint("name ", i)
	}
	s.Columns[8].Dict, s.Columns[9].Dict = names, names
	var out bytes.Buffer
	w, err := NewTable(&out, "parquet", s)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []uint64{1, 0, 5000, 129} {
		b := NewBatch(s)
		for i := range rows {
			v := i * i * 0x9E3779B97F4A7C15 >> (i % 64)
			row := make([]Cell, len(s.Columns))
			for c := range row {
				switch row[c] = Number(v); {
				case s.Columns[c].Nullable && v%3 == 0:
					row[c] = Absent
				case s.Columns[c].Type == Text:
					row[c] = Number(v % 300)
				case s.Columns[c].Type == Float64 && v%5 == 0:
					row[c] = Real(math.NaN())
				}
			}
			b.Append(row...)
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "32ca3fd885caee87a4f1f3496faac267272866f70ca733b2f3dc8fa6facdb4e8"
	if got := fmt.Sprintf("%x", sha256.Sum256(out.Bytes())); got != want {
		t.Errorf("%d bytes with hash %s, want %s", out.Len(), got, want)
	}
}

// TestParquetRowGroups writes as many row groups as a file can have, and one more.
func TestParquetRowGroups(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 32 768 row groups, left out with -short")
	}
	s := &Schema{Columns: []Column{{Name: "a"}}}
	w, err := NewTable(io.Discard, "parquet", s)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBatch(s)
	b.Append(Number(1))
	for k := range parquet.MaxRowGroups + 1 {
		err := w.Write(b)
		if full := k == parquet.MaxRowGroups; errors.Is(err, parquet.ErrTooManyRowGroups) != full || (err != nil) != full {
			t.Fatalf("row group %d: %v", k, err)
		}
	}
}
