package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
)

// Type is the type of the values of a column.
type Type uint8

// Types of columns.
const (
	Uint64  Type = iota
	Int64        // two's complement in Batch
	Uint32       // in the low half of a word
	Float64      // bits of IEEE 754
	Text         // index in the dictionary of the column
)

// Column describes one column of a table.
type Column struct {
	Name     string
	Type     Type
	Nullable bool
	Dict     []string // values of Text; valid UTF-8
}

// Meta is a key and value that a form stores with the table, if it can.
type Meta struct{ Key, Value string }

// Schema describes a table.
type Schema struct {
	Columns []Column
	Meta    []Meta
}

// GroupRows is the most rows of a batch, and so of a row group of Parquet and of a record batch of Arrow.
const GroupRows = 1 << 16

// ErrForm says that a form of table does not exist.
var ErrForm = errors.New("not a form of tables: csv, parquet or arrow")

// errSchema says that a batch does not belong to a table.
var errSchema = errors.New("batch of another table")

// TableWriter takes the rows of one table.
type TableWriter interface {
	// Write writes the rows of b; it does not keep b.
	Write(b *Batch) error
	// Close completes the table. It does not close the underlying writer.
	Close() error
}

// NewTable begins a table in one of the forms csv, parquet and arrow.
func NewTable(out io.Writer, form string, s *Schema) (TableWriter, error) {
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Type > Text {
			return nil, fmt.Errorf("column %s of type %d: %w", c.Name, c.Type, errSchema)
		}
		if uint64(len(c.Dict)) > math.MaxInt32 {
			return nil, fmt.Errorf("column %s: %d different texts, at most %d can be written", c.Name, len(c.Dict), math.MaxInt32)
		}
	}
	switch form {
	case "csv":
		t := &csvTable{s: s, w: csvwriter.New(out), row: make([]string, len(s.Columns))}
		for i := range s.Columns {
			t.row[i] = s.Columns[i].Name
		}
		return t, t.w.Write(t.row)
	case "parquet":
		return newParquet(out, s)
	case "arrow":
		return newArrow(out, s)
	}
	return nil, fmt.Errorf("%q: %w", form, ErrForm)
}

// checkTexts refuses texts that are too long for offsets of 32 bits.
func (c *Column) checkTexts() error {
	size := uint64(0)
	for _, text := range c.Dict {
		size += uint64(len(text))
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("column %s: texts of %d bytes, at most %d can be written: choose csv", c.Name, size, math.MaxInt32)
	}
	return nil
}

// Batch is rows of a table, column by column.
type Batch struct {
	rows   int
	values [][]uint64
	null   [][]bool // of nullable columns; else nil
}

// NewBatch makes an empty batch of a table.
func NewBatch(s *Schema) *Batch {
	b := &Batch{values: make([][]uint64, len(s.Columns)), null: make([][]bool, len(s.Columns))}
	for i := range s.Columns {
		if s.Columns[i].Nullable {
			b.null[i] = []bool{}
		}
	}
	return b
}

// Full reports whether b takes no more rows.
func (b *Batch) Full() bool { return b.rows >= GroupRows }

// Reset empties b and keeps its memory.
func (b *Batch) Reset() {
	b.rows = 0
	for i := range b.values {
		b.values[i] = b.values[i][:0]
		if b.null[i] != nil {
			b.null[i] = b.null[i][:0]
		}
	}
}

// Cell is a value to append to a batch; None marks the absent value.
type Cell struct {
	Bits uint64
	None bool
}

// Number is the cell of an integer, or of the text with this number.
func Number(v uint64) Cell { return Cell{Bits: v} }

// Real is the cell of a Float64.
func Real(v float64) Cell { return Cell{Bits: math.Float64bits(v)} }

// Absent is the cell without a value.
var Absent = Cell{None: true}

// Append adds a row with a cell for every column. Without a value, a column that is not nullable gets 0.
func (b *Batch) Append(row ...Cell) {
	for i := range b.values {
		var c Cell
		if i < len(row) {
			c = row[i]
		}
		b.values[i] = append(b.values[i], c.Bits)
		if b.null[i] != nil {
			b.null[i] = append(b.null[i], c.None)
		}
	}
	b.rows++
}

// fits reports whether b is a batch of the table, in a form that can be written.
func (b *Batch) fits(s *Schema) error {
	if len(b.values) != len(s.Columns) || b.rows > GroupRows {
		return errSchema
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Nullable != (b.null[i] != nil) {
			return errSchema
		}
		if c.Type != Text {
			continue
		}
		for k, v := range b.values[i] {
			if v >= uint64(len(c.Dict)) && (b.null[i] == nil || !b.null[i][k]) {
				return fmt.Errorf("column %s: text %d of %d: %w", c.Name, v, len(c.Dict), errSchema)
			}
		}
	}
	return nil
}

// Dictionary collects the texts of a column in the order of their first use.
type Dictionary struct {
	list  []string
	index map[string]uint64
}

// Cell returns the cell of a text, which is made valid UTF-8.
func (d *Dictionary) Cell(text string) Cell {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if d.index == nil {
		d.index = make(map[string]uint64)
	}
	i, ok := d.index[text]
	if !ok {
		i = uint64(len(d.list))
		d.index[text] = i
		d.list = append(d.list, text)
	}
	return Number(i)
}

// Texts returns the texts of all cells, by their number.
func (d *Dictionary) Texts() []string { return slices.Clip(d.list) }

// csvTable writes a heading and one line a row (RFC 4180, lines end with a line feed). An absent value is empty.
type csvTable struct {
	s   *Schema
	w   *csvwriter.Writer
	row []string
}

func (t *csvTable) Write(b *Batch) error {
	if err := b.fits(t.s); err != nil {
		return err
	}
	for r := range b.rows {
		for i := range t.row {
			t.row[i] = ""
			if b.null[i] == nil || !b.null[i][r] {
				t.row[i] = t.s.Columns[i].text(b.values[i][r])
			}
		}
		if err := t.w.Write(t.row); err != nil {
			return err
		}
	}
	t.w.Flush()
	return t.w.Error()
}

func (t *csvTable) Close() error {
	t.w.Flush()
	return t.w.Error()
}

// text prints a value. A number has as many digits as are needed to read the same number back.
func (c *Column) text(bits uint64) string {
	switch c.Type {
	case Int64:
		return strconv.FormatInt(int64(bits), 10)
	case Float64:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case Text:
		return c.Dict[bits]
	}
	return strconv.FormatUint(bits, 10)
}
