package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrCSV says that a document is no single table.
var ErrCSV = fmt.Errorf("not one table: choose one section of intervals, waits, pop and classes")

// rowWriter takes the rows of a table, the heading first.
type rowWriter interface{ Write(row []string) error }

// WriteCSV writes the one section that was asked for as a table with a heading.
func (d *Document) WriteCSV(out io.Writer) error {
	w := csvwriter.New(out)
	err := d.rows(w)
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return err
}

// writeTable writes rows as CSV.
func writeTable(out io.Writer, rows [][]string) error { return csvwriter.New(out).WriteAll(rows) }

// rows writes the rows of the one section that was asked for.
func (d *Document) rows(w rowWriter) error {
	switch {
	case len(d.text) != 1:
		return ErrCSV
	case d.text[0] == SectionIntervals:
		return d.Intervals.writeCSV(w, d.run)
	case d.text[0] == SectionWaits:
		return d.Waits.writeCSV(w)
	case d.text[0] == SectionPOP:
		return d.POPs.writeCSV(w)
	case d.text[0] == SectionClasses:
		return d.Classes.writeCSV(w)
	}
	return ErrCSV
}

// Section is the one section that is a table, "" if there is none.
func (d *Document) Section() Section {
	if len(d.text) != 1 {
		return ""
	}
	return d.text[0]
}

// Rows gives the rows that WriteCSV writes, the heading first.
func (d *Document) Rows(f func(row []string) error) error { return d.rows(rowFunc(f)) }

type rowFunc func(row []string) error

func (f rowFunc) Write(row []string) error { return f(row) }

// ColumnKind is what the values of a column of a section's table are; an empty one stands for none.
type ColumnKind uint8

// Kinds of columns.
const (
	IntegerColumn ColumnKind = iota // not negative
	DecimalColumn
	TextColumn
)

// Kind returns the kind of a column by its heading.
func (s Section) Kind(column string) ColumnKind {
	switch column {
	case "path", "name", "file", "interval", "kind", "pattern", "order_or_activity", "approximate":
		return TextColumn
	case "lost":
		return DecimalColumn
	case "processors", "runtime", "ideal":
		return IntegerColumn
	}
	if s == SectionPOP {
		return DecimalColumn
	}
	return IntegerColumn
}

// writeCSV writes a row for every interval and process, processes in the outer
// order; times are ticks.
func (x *Intervals) writeCSV(w rowWriter, r *Run) error {
	head := []string{"rank", "node", "path", "level", "id", "name", "file", "line"}
	for i := range xtf.NumItems {
		head = append(head, i.String())
	}
	if err := w.Write(append(head, "useful", "lost")); err != nil {
		return err
	}
	var failed error
	_, err := r.survey(surveyOptions{ranks: x.text.Ranks, span: x.Span, section: "intervals", deep: true, each: func(p *processItems) {
		for _, n := range x.Nodes {
			if p.took(uint32(n.index)) && failed == nil {
				failed = w.Write(n.csvRow(p, x.text.Rules))
			}
		}
	}})
	if err == nil {
		err = failed
	}
	return err
}

// csvRow is what a process has of the interval. A process's lost time takes the
// mean rule: all of its MPI time but a P-th, its idle time, and what else is not productive.
func (n *Interval) csvRow(p *processItems, rules Rules) []string {
	id := uint32(n.index)
	row := []string{strconv.Itoa(int(p.rank)), strconv.Itoa(n.index), pathText(n.Path), fmt.Sprint(n.Level), fmt.Sprint(n.ID), n.Name, n.File, fmt.Sprint(n.Line)}
	for i := range xtf.NumItems {
		v := p.at(id, i)
		row = append(row, strconv.FormatUint(v, 10))
	}
	of := integer(max(n.Processors, 1))
	setup := p.at(id, xtf.ItemSetup)
	if rules.Init {
		setup = 0
	}
	mpi := integer(p.at(id, xtf.ItemMPI) - min(setup, p.at(id, xtf.ItemMPI)))
	other := sub(n.Ticks.longest, integer(p.at(id, xtf.ItemTime)-min(setup, p.at(id, xtf.ItemTime)))) // idle
	for _, i := range xtf.AsideItems {
		if i != xtf.ItemMPI && (i != xtf.ItemIO || !rules.IO) {
			other = add(other, integer(p.at(id, i)))
		}
	}
	lost := whole(add(mpi, other)).Minus(fraction(mpi, of))
	return append(row, strconv.FormatUint(p.useful(id, rules), 10), lost.Fixed(3))
}

// pathText is a path as 0.1.0.
func pathText(path []int) string {
	text := ""
	for i, k := range path {
		if i > 0 {
			text += "."
		}
		text += strconv.Itoa(k)
	}
	return text
}
