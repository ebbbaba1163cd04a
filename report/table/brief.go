package table

import (
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// WriteTable writes rows in columns, two spaces apart. A heading that begins with <
// is aligned left.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	t := &Table{}
	for _, h := range head {
		name, left := strings.CutPrefix(h, "<")
		t.Columns = append(t.Columns, Column{Name: name, AlignLeft: left})
	}
	for _, row := range rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Word(text)
		}
		t.Add(cells...)
	}
	return WriteText(numbers.Units{}, w, 0, nil, func(c *Chapter) { c.Table(t) })
}
