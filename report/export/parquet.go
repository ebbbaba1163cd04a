package export

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
)

// parquetTable writes a Parquet file: a row group for every batch, with each column as one compressed page. In addition to the
// batch it holds the values of one column, the columns of the row group as numbers and encoded, and the footer's entries for row
// groups.
type parquetTable struct {
	s      *Schema
	out    *parquet.GenericWriter[any]
	texts  [][]parquet.Value // of a column of texts: its dictionary
	values []parquet.Value   // of one column
}

func newParquet(out io.Writer, s *Schema) (TableWriter, error) {
	if len(s.Columns) == 0 {
		return nil, errors.New("a Parquet file needs a column")
	}
	t := &parquetTable{s: s, texts: make([][]parquet.Value, len(s.Columns))}
	for i := range s.Columns {
		c := &s.Columns[i]
		if err := c.checkTexts(); err != nil {
			return nil, err
		}
		for _, text := range c.Dict {
			t.texts[i] = append(t.texts[i], parquet.ValueOf(text))
		}
	}
	options := []parquet.WriterOption{
		&parquet.WriterConfig{CreatedBy: "coppice"}, // without a version: equal tables give equal bytes
		parquet.NewSchema("schema", newParquetRow(s)),
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), // what every reader knows
		parquet.WriteBufferSize(0), // out has a buffer; a row group is written when it is full
	}
	for _, m := range s.Meta {
		options = append(options, parquet.KeyValueMetadata(m.Key, m.Value))
	}
	t.out = parquet.NewGenericWriter[any](out, options...)
	return t, nil
}

// parquetRow is a group of columns in the order of the table. A parquet.Group is a map, sorted by name.
type parquetRow struct {
	parquet.Group
	columns []parquet.Field
}

func (r *parquetRow) Fields() []parquet.Field { return r.columns }

func newParquetRow(s *Schema) *parquetRow {
	r := &parquetRow{}
	for i := range s.Columns {
		c := &s.Columns[i]
		r.columns = append(r.columns, parquet.Group{c.Name: c.parquetNode()}.Fields()...)
	}
	return r
}

// parquetNode is the type of a column: integers as packed differences, texts by a dictionary.
func (c *Column) parquetNode() parquet.Node {
	var n parquet.Node
	switch c.Type {
	case Text:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case Uint32:
		n = parquet.Encoded(parquet.Uint(32), &parquet.DeltaBinaryPacked)
	case Uint64:
		n = parquet.Encoded(parquet.Uint(64), &parquet.DeltaBinaryPacked)
	default:
		n = parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	}
	if c.Nullable {
		n = parquet.Optional(n)
	}
	return n
}

func (t *parquetTable) Write(b *Batch) error {
	if err := b.fits(t.s); err != nil {
		return err
	}
	for i, w := range t.out.ColumnWriters() {
		t.column(b, i)
		if len(t.values) == 0 { // the library takes the address of the first value
			continue
		}
		if _, err := w.WriteRowValues(t.values); err != nil {
			return fmt.Errorf("column %s: %w", t.s.Columns[i].Name, err)
		}
	}
	err := t.out.Flush()
	if errors.Is(err, parquet.ErrTooManyRowGroups) {
		return fmt.Errorf("more than %d row groups of at most %d rows in one file: choose a part with --time or --ranks: %w", parquet.MaxRowGroups, GroupRows, err)
	}
	return err
}

// column collects the values of column i. The definition level of a nullable value is 1 if it is there.
func (t *parquetTable) column(b *Batch, i int) {
	c := &t.s.Columns[i]
	level := 0
	if c.Nullable {
		level = 1
	}
	t.values = t.values[:0]
	for r, bits := range b.values[i] {
		if c.Nullable && b.null[i][r] {
			t.values = append(t.values, parquet.NullValue().Level(0, 0, i))
			continue
		}
		var v parquet.Value
		switch c.Type {
		case Text:
			v = t.texts[i][bits]
		case Float64:
			v = parquet.DoubleValue(math.Float64frombits(bits))
		case Uint32:
			v = parquet.Int32Value(int32(bits))
		default:
			v = parquet.Int64Value(int64(bits))
		}
		t.values = append(t.values, v.Level(0, level, i))
	}
}

func (t *parquetTable) Close() error { return t.out.Close() }
