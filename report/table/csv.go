package table

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
)

// ErrCSV says that a document is not a single table.
var ErrCSV = fmt.Errorf("not one table: choose one section that has a table of its own")

// Data is the table that programs get of a result: the columns with a name of all its tables. Where these have rows of several
// kinds, the first column is the kind.
func Data(x Printable) ([]Column, iter.Seq2[[]string, error], error) {
	b, err := x.Book(false, -1)
	if err != nil {
		return nil, nil, err
	}
	return b.data()
}

func (b *Book) data() ([]Column, iter.Seq2[[]string, error], error) {
	var tables []*Table
	var columns []Column
	kinds := false
	for _, c := range b.Chapters {
		for _, t := range c.tables() {
			if t.merge(&columns) {
				tables = append(tables, t)
				kinds = kinds || t.Kind != ""
			}
		}
	}
	if len(tables) == 0 || b.Mixed {
		return nil, nil, ErrCSV
	}
	if kinds {
		columns = slices.Insert(columns, 0, Words("", "kind"))
	}
	return columns, func(yield func([]string, error) bool) {
		for _, t := range tables {
			for cells := range t.rows(-1) {
				if len(cells) > 0 && cells[0].Sum {
					continue
				}
				row := make([]string, len(columns))
				if kinds {
					row[0] = t.Kind
				}
				for i, c := range t.Columns {
					if c.Key != "" && i < len(cells) {
						row[columnOf(columns, c.Key)] = cells[i].Value
					}
				}
				if !yield(row, nil) {
					return
				}
			}
			if t.Failed != nil {
				yield(nil, t.Failed)
				return
			}
		}
	}, nil
}

func columnOf(columns []Column, key string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Key == key })
}

// merge adds the columns that programs get to those of other tables, each after the one before it, and reports whether there are any.
func (t *Table) merge(to *[]Column) (any bool) {
	at := len(*to)
	for _, c := range t.Columns {
		if c.Key == "" {
			continue
		}
		any = true
		if i := columnOf(*to, c.Key); i >= 0 {
			at = i + 1
			continue
		}
		*to = slices.Insert(*to, at, c)
		at++
	}
	return any
}

// writeCSV writes the table that programs get, with a heading.
func (b *Book) writeCSV(out io.Writer) error {
	columns, rows, err := b.data()
	if err != nil {
		return err
	}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.Key
	}
	w := csvwriter.New(out)
	if err := w.Write(head); err != nil {
		return err
	}
	for row, err := range rows {
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
