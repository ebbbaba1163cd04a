package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// foundRow is a row with its columns, by the file's own type table.
type foundRow struct {
	n       uint64
	typ     *xtf.Type
	columns []uint64
	where   *report.Place // of answers with rows of several locations
}

func makeRow(t *xtf.Type, n uint64, row []byte) foundRow {
	r := foundRow{n: n, typ: t}
	for i := range t.Columns {
		r.columns = append(r.columns, load(row, &t.Columns[i]))
	}
	return r
}

// load reads a little-endian column.
func load(row []byte, c *xtf.Column) (v uint64) {
	for i := c.Width - 1; i >= 0; i-- {
		v = v<<8 | uint64(row[c.Offset+i])
	}
	return v
}

// MarshalJSON writes the row as an object: where it is, if that is not told once
// for all, n, then the columns in their order, as the numbers that the file holds
// (all ones stand for none).
func (r foundRow) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	if p := r.where; p != nil {
		b = fmt.Appendf(b, `"location":%d,"process":%d,"thread":%d,`, p.Location, p.Process, p.Thread)
	}
	b = fmt.Appendf(b, `"n":%d`, r.n)
	for i, v := range r.columns {
		b = append(b, ',')
		b = strconv.AppendQuoteToASCII(b, report.Clean(r.typ.Columns[i].Name, 100))
		b = append(b, ':')
		b = strconv.AppendUint(b, v, 10)
	}
	return append(b, '}'), nil
}

// text prints the answer.
func (a *answer) text(w io.Writer, run *report.Run) error {
	where := "the whole run"
	if a.Location != nil {
		where = fmt.Sprintf("process %d, thread %d (location %d)", *a.Process, *a.Thread, *a.Location)
	}
	fmt.Fprintf(w, "%s in %s of %s: %s, index of height %d\n", a.Primitive, a.Type, where, plural(a.ArrayRows, "row"), a.Height)
	switch {
	case a.Bins != nil:
		if err := a.Bins.text(w, a, run); err != nil {
			return err
		}
	case a.Position != nil && typeOf[a.Primitive] != "":
		fmt.Fprintln(w, a.paired())
	case a.Begin != nil:
		if err := a.window(w, run); err != nil {
			return err
		}
	case a.Size != nil:
		fmt.Fprintf(w, "size %s\n", report.Count(*a.Size))
	case !a.Found && a.Side != "":
		fmt.Fprintf(w, "not found: the step ends %s the array\n", a.Side)
	case !a.Found:
		fmt.Fprintln(w, "not found")
	case a.Position != nil:
		fmt.Fprintf(w, "row %d, page %d, slot %d\n", a.Position.N, a.Position.Page, a.Position.Slot)
	case a.KeyAt != nil:
		fmt.Fprintf(w, "key %d\n", *a.KeyAt)
	}
	if len(a.Rows) > 0 {
		if err := a.table(w, run); err != nil {
			return err
		}
	}
	if a.More {
		fmt.Fprintln(w, "there are more: --limit N")
	}
	for _, c := range a.Costs {
		fmt.Fprintf(w, "%s: %d pages read, %d in the cache, %d comparisons\n", c.Of, c.PageReads, c.Hits, c.Comparisons)
	}
	_, err := fmt.Fprintf(w, "cost: %d pages read, %d in the cache, %d comparisons; rows: %d pages read, %d in the cache\n",
		a.Cost.PageReads, a.Cost.Hits, a.Cost.Comparisons, a.RowCost.PageReads, a.RowCost.Hits)
	return err
}

func plural(n uint64, what string) string { return report.Plural(int(n), what) }

// table prints the rows with their columns; references get their names.
func (a *answer) table(w io.Writer, run *report.Run) error {
	var head []string
	if a.Rows[0].where != nil {
		head = append(head, "process", "thread")
	}
	head = append(head, "n")
	for i := range a.typ.Columns {
		name := a.typ.Columns[i].Name
		if _, named := columnName(name, 0, run); named {
			name = "<" + name
		}
		head = append(head, name)
	}
	var rows [][]string
	for _, r := range a.Rows {
		var cells []string
		if r.where != nil {
			cells = append(cells, fmt.Sprint(r.where.Process), fmt.Sprint(r.where.Thread))
		}
		cells = append(cells, fmt.Sprint(r.n))
		for i, v := range r.columns {
			cells = append(cells, cell(&a.typ.Columns[i], v, run))
		}
		rows = append(rows, cells)
	}
	return table(w, head, rows)
}

// cell prints a value; - stands for all ones, which mean none.
func cell(c *xtf.Column, v uint64, run *report.Run) string {
	if v == 1<<(8*c.Width)-1 && c.Width >= 4 {
		return "-"
	}
	if name, ok := columnName(c.Name, v, run); ok {
		return fmt.Sprintf("%d %s", v, report.Clean(name, 40))
	}
	return strconv.FormatUint(v, 10)
}

// columnName is the name that the value of a column refers to.
func columnName(column string, v uint64, run *report.Run) (string, bool) {
	switch column {
	case "region":
		return run.RegionName(uint32(v)), true
	case "comm":
		return run.CommName(uint32(v)), true
	case "code":
		return strings.TrimSpace(trace.Code(v).String()), true
	}
	return "", false
}
