package export

import (
	"io"
	"math"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
)

// csvTable writes a heading and one line a row (RFC 4180, lines end with a line feed); an absent value is empty.
type csvTable struct {
	s   *Schema
	w   *csvwriter.Writer
	row []string
}

func newCSV(out io.Writer, s *Schema) (TableWriter, error) {
	t := &csvTable{s: s, w: csvwriter.New(out), row: make([]string, len(s.Columns))}
	for i := range s.Columns {
		t.row[i] = s.Columns[i].Name
	}
	return t, t.w.Write(t.row)
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

// text writes a value; a number with as many digits as it needs to be read back the same.
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
