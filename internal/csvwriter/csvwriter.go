// Package csvwriter writes all CSV of the module: RFC 4180, lines end with a line feed. A text that a spreadsheet would take for
// a formula gets a single quote before it, as OWASP advises against CSV injection: a trace of somebody else may have any names.
// U+FFFD replaces bytes that are not UTF-8.
package csvwriter

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// Writer writes rows. Flush ends the output, Error returns the first error.
type Writer struct {
	*csv.Writer
	row []string
}

// New returns a writer to out.
func New(out io.Writer) *Writer { return &Writer{Writer: csv.NewWriter(out)} }

// Write writes a row.
func (w *Writer) Write(row []string) error {
	w.row = w.row[:0]
	for _, cell := range row {
		w.row = append(w.row, strings.ToValidUTF8(safe(cell), "\uFFFD"))
	}
	return w.Writer.Write(w.row)
}

// WriteAll writes rows and flushes.
func (w *Writer) WriteAll(rows [][]string) error {
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// safe puts a single quote before a text that a spreadsheet would compute: one that begins with =, +, -, @, a tab or a line end.
// A number stays as it is.
func safe(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
