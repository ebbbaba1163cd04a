package readers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/coppice-hpc/coppice/report/export"
)

// sample is a table with its rows as texts; "null" stands for an absent value.
type sample struct {
	schema  *export.Schema
	batches []*export.Batch
	rows    [][]string
}

// hostile are names that a form could stumble over.
var hostile = []string{"", "a", "\"quoted\"", "two\nlines", "comma, and \x00 zero", "größer 測試 😀", "=1+1"}

// random makes a table of all types, with the given sizes of batches.
func random(seed uint64, sizes ...int) *sample {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &sample{schema: &export.Schema{Meta: []export.Meta{{Key: "coppice.table", Value: "x"}, {Key: "empty", Value: ""}}}}
	for typ := export.Uint64; typ <= export.Text; typ++ {
		for _, nullable := range []bool{false, true} {
			c := export.Column{Name: fmt.Sprintf("%d %v \"é\"", typ, nullable), Type: typ, Nullable: nullable}
			if typ == export.Text {
				c.Dict = append([]string(nil), hostile...)
				for i := range rng.IntN(500) {
					c.Dict = append(c.Dict, fmt.Sprint("name ", i))
				}
			}
			s.schema.Columns = append(s.schema.Columns, c)
		}
	}
	for _, n := range sizes {
		b := export.NewBatch(s.schema)
		slow := rng.Uint64() >> rng.IntN(64)
		for range n {
			var cells []export.Cell
			var texts []string
			for i := range s.schema.Columns {
				c := &s.schema.Columns[i]
				cell, text := value(rng, c, &slow)
				if c.Nullable && rng.IntN(3) == 0 {
					cell, text = export.Absent, "null"
				}
				cells, texts = append(cells, cell), append(texts, text)
			}
			b.Append(cells...)
			s.rows = append(s.rows, texts)
		}
		s.batches = append(s.batches, b)
	}
	return s
}

// value makes a value of a column: some that grow slowly, some of any size.
func value(rng *rand.Rand, c *export.Column, slow *uint64) (export.Cell, string) {
	v := rng.Uint64() >> rng.IntN(64)
	if rng.IntN(2) == 0 {
		*slow += rng.Uint64N(100)
		v = *slow
	}
	switch c.Type {
	case export.Int64:
		if rng.IntN(2) == 0 {
			v = -v
		}
		return export.Number(v), strconv.FormatInt(int64(v), 10)
	case export.Uint32:
		return export.Number(uint64(uint32(v))), strconv.FormatUint(uint64(uint32(v)), 10)
	case export.Float64:
		f := []float64{float64(v) / 3, math.Inf(1), math.NaN(), math.Copysign(0, -1)}[rng.IntN(4)]
		return export.Real(f), fmt.Sprint(f)
	case export.Text:
		i := rng.IntN(len(c.Dict))
		if rng.IntN(2) == 0 {
			i = 1 // runs
		}
		return export.Number(uint64(i)), c.Dict[i]
	}
	return export.Number(v), strconv.FormatUint(v, 10)
}

func (s *sample) write(t *testing.T, form string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := export.NewTable(&b, form, s.schema)
	for _, x := range s.batches {
		if err == nil {
			err = w.Write(x)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are tables without rows, of one row, with batches of all sizes.
func samples() []*sample {
	return []*sample{random(1), random(2, 0), random(3, 1), random(4, 5, 0, 129, 1), random(5, export.GroupRows, 3), random(6, 128, 127, 1000)}
}

func (s *sample) compare(t *testing.T, got [][]string) {
	t.Helper()
	if len(got) != len(s.rows) {
		t.Fatalf("%d rows, want %d", len(got), len(s.rows))
	}
	for r := range got {
		for i := range got[r] {
			if got[r][i] != s.rows[r][i] {
				t.Fatalf("row %d, column %s: %q, want %q", r, s.schema.Columns[i].Name, got[r][i], s.rows[r][i])
			}
		}
	}
}

func TestParquet(t *testing.T) {
	for k, s := range samples() {
		f, err := file.NewParquetReader(bytes.NewReader(s.write(t, "parquet")))
		if err != nil {
			t.Fatalf("table %d: %v", k, err)
		}
		m := f.MetaData()
		if v := m.KeyValueMetadata().FindValue("coppice.table"); v == nil || *v != "x" || f.NumRows() != int64(len(s.rows)) || m.GetCreatedBy() != "coppice" {
			t.Errorf("table %d: %d rows, metadata %v", k, f.NumRows(), m.KeyValueMetadata())
		}
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
		if err != nil {
			t.Fatalf("table %d: %v", k, err)
		}
		batches, err := r.GetRecordReader(t.Context(), nil, nil)
		if err != nil {
			t.Fatalf("table %d: %v", k, err)
		}
		s.fields(t, batches.Schema(), "utf8")
		s.compare(t, texts(t, batches))
		bounds(t, s, f)
	}
}

// fields compares names, types and nullability; text is the type of texts.
func (s *sample) fields(t *testing.T, schema *arrow.Schema, text string) {
	t.Helper()
	if schema.NumFields() != len(s.schema.Columns) {
		t.Fatalf("%d columns", schema.NumFields())
	}
	for i, f := range schema.Fields() {
		want := []string{"uint64", "int64", "uint32", "float64", text}[s.schema.Columns[i].Type]
		if f.Name != s.schema.Columns[i].Name || f.Nullable != s.schema.Columns[i].Nullable || f.Type.String() != want {
			t.Errorf("column %d: %v, want %s", i, f, want)
		}
	}
}

// texts are the rows of record batches.
func texts(t *testing.T, r array.RecordReader) (rows [][]string) {
	t.Helper()
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		for row := range int(b.NumRows()) {
			var texts []string
			for i := range int(b.NumCols()) {
				texts = append(texts, arrowText(b.Column(i), row))
			}
			rows = append(rows, texts)
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return rows
}

// bounds compares the row groups, their counts of nulls, and the least and largest integers that they tell, with the rows.
func bounds(t *testing.T, s *sample, f *file.Reader) {
	t.Helper()
	at := 0
	for k := range f.NumRowGroups() {
		g := f.MetaData().RowGroup(k)
		rows := s.rows[at : at+int(g.NumRows())]
		at += int(g.NumRows())
		for i := range s.schema.Columns {
			c, err := g.ColumnChunk(i)
			if err != nil {
				t.Fatal(err)
			}
			st, err := c.Statistics()
			if err != nil || c.Compression() != compress.Codecs.Zstd {
				t.Fatalf("%v, compressed with %v", err, c.Compression())
			}
			var least, most *big.Int
			nulls := int64(0)
			for _, r := range rows {
				if v, ok := new(big.Int).SetString(r[i], 10); ok {
					if least == nil || v.Cmp(least) < 0 {
						least = v
					}
					if most == nil || v.Cmp(most) > 0 {
						most = v
					}
				} else if r[i] == "null" {
					nulls++
				}
			}
			if st == nil || st.NullCount() != nulls {
				t.Errorf("column %d: nulls %v, want %d", i, st, nulls)
				continue
			}
			if typ := s.schema.Columns[i].Type; typ == export.Float64 || typ == export.Text || least == nil {
				continue
			}
			want := [2]string{least.String(), most.String()}
			if got := span(st, s.schema.Columns[i].Type); got != want {
				t.Errorf("column %d: %v, want %v", i, got, want)
			}
		}
	}
	if at != len(s.rows) {
		t.Errorf("%d rows in row groups of %d", at, len(s.rows))
	}
}

// span is the least and the largest integer of a column of a row group.
func span(st metadata.TypedStatistics, of export.Type) [2]string {
	switch st := st.(type) {
	case *metadata.Int32Statistics:
		return [2]string{fmt.Sprint(uint32(st.Min())), fmt.Sprint(uint32(st.Max()))}
	case *metadata.Int64Statistics:
		if of == export.Uint64 {
			return [2]string{fmt.Sprint(uint64(st.Min())), fmt.Sprint(uint64(st.Max()))}
		}
		return [2]string{fmt.Sprint(st.Min()), fmt.Sprint(st.Max())}
	}
	return [2]string{fmt.Sprintf("%T", st), ""}
}

func TestArrow(t *testing.T) {
	for k, s := range samples() {
		r, err := ipc.NewReader(bytes.NewReader(s.write(t, "arrow")))
		if err != nil {
			t.Fatalf("table %d: %v", k, err)
		}
		m := r.Schema().Metadata()
		if v, _ := m.GetValue("coppice.table"); v != "x" {
			t.Errorf("table %d: metadata %v", k, m)
		}
		s.fields(t, r.Schema(), "dictionary<values=utf8, indices=int32, ordered=false>")
		s.compare(t, texts(t, r))
	}
}

func arrowText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Uint64:
		return strconv.FormatUint(a.Value(i), 10)
	case *array.Int64:
		return strconv.FormatInt(a.Value(i), 10)
	case *array.Uint32:
		return strconv.FormatUint(uint64(a.Value(i)), 10)
	case *array.Float64:
		return fmt.Sprint(a.Value(i))
	case *array.String:
		return a.Value(i)
	case *array.Dictionary:
		return a.Dictionary().(*array.String).Value(a.GetValueIndex(i))
	}
	return fmt.Sprintf("%T", a)
}
