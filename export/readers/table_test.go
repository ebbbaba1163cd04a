package readers

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/coppice-hpc/coppice/export"
	"github.com/parquet-go/parquet-go"
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
		b := s.write(t, "parquet")
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("table %d: %v", k, err)
		}
		if v, ok := f.Lookup("coppice.table"); !ok || v != "x" || f.NumRows() != int64(len(s.rows)) {
			t.Errorf("table %d: %d rows, metadata %q", k, f.NumRows(), v)
		}
		for i, c := range f.Root().Columns() {
			want := []string{"INT(64,false)", "INT64", "INT(32,false)", "DOUBLE", "STRING"}[s.schema.Columns[i].Type]
			if c.Name() != s.schema.Columns[i].Name || c.Optional() != s.schema.Columns[i].Nullable || c.Type().String() != want {
				t.Errorf("column %d: %s %v %s, want %s", i, c.Name(), c.Optional(), c.Type(), want)
			}
		}
		var got [][]string
		rows := make([]parquet.Row, 1000)
		for _, g := range f.RowGroups() {
			r := g.Rows()
			for {
				n, err := r.ReadRows(rows)
				for _, row := range rows[:n] {
					got = append(got, s.texts(row))
				}
				if err != nil {
					break
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		s.compare(t, got)
		bounds(t, s, f)
	}
}

// texts are the values of a row of Parquet.
func (s *sample) texts(row parquet.Row) (list []string) {
	for i, v := range row {
		text := "null"
		if !v.IsNull() {
			switch s.schema.Columns[i].Type {
			case export.Uint64:
				text = strconv.FormatUint(v.Uint64(), 10)
			case export.Int64:
				text = strconv.FormatInt(v.Int64(), 10)
			case export.Uint32:
				text = strconv.FormatUint(uint64(v.Uint32()), 10)
			case export.Float64:
				text = fmt.Sprint(v.Double())
			default:
				text = string(v.ByteArray())
			}
		}
		list = append(list, text)
	}
	return list
}

// bounds compares the counts of nulls and the least and largest integers that row groups tell with their rows.
func bounds(t *testing.T, s *sample, f *parquet.File) {
	t.Helper()
	at := 0
	for _, g := range f.Metadata().RowGroups {
		rows := s.rows[at : at+int(g.NumRows)]
		at += int(g.NumRows)
		for i := range g.Columns {
			st := &g.Columns[i].MetaData.Statistics
			nulls := int64(0)
			for _, r := range rows {
				if r[i] == "null" {
					nulls++
				}
			}
			if st.NullCount != nulls {
				t.Errorf("column %d: %d nulls, want %d", i, st.NullCount, nulls)
			}
			if s.schema.Columns[i].Type != export.Int64 || len(st.MinValue) != 8 {
				continue
			}
			least, most := int64(math.MaxInt64), int64(math.MinInt64)
			for _, r := range rows {
				if v, err := strconv.ParseInt(r[i], 10, 64); err == nil {
					least, most = min(least, v), max(most, v)
				}
			}
			if a, b := parquet.Int64.Value(st.MinValue).Int64(), parquet.Int64.Value(st.MaxValue).Int64(); a != least || b != most {
				t.Errorf("column %d: %d to %d, want %d to %d", i, a, b, least, most)
			}
		}
	}
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
		for i, f := range r.Schema().Fields() {
			want := []string{"uint64", "int64", "uint32", "float64", "dictionary<values=utf8, indices=int32, ordered=false>"}[s.schema.Columns[i].Type]
			if f.Name != s.schema.Columns[i].Name || f.Nullable != s.schema.Columns[i].Nullable || f.Type.String() != want {
				t.Errorf("column %d: %v, want %s", i, f, want)
			}
		}
		var got [][]string
		for r.Next() {
			b := r.RecordBatch()
			for row := range int(b.NumRows()) {
				var texts []string
				for i := range int(b.NumCols()) {
					texts = append(texts, arrowText(b.Column(i), row))
				}
				got = append(got, texts)
			}
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		s.compare(t, got)
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
	case *array.Dictionary:
		return a.Dictionary().(*array.String).Value(a.GetValueIndex(i))
	}
	return fmt.Sprintf("%T", a)
}
