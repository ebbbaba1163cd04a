package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"strconv"

	"github.com/coppice-hpc/coppice/xtf"
)

// ErrCSV says that a document is no single table.
var ErrCSV = fmt.Errorf("not one table: choose one section of intervals, waits, pop and classes")

// WriteCSV writes the one section that was asked for as a table with a heading.
func (d *Document) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	var err error
	switch {
	case len(d.text) != 1:
		return ErrCSV
	case d.text[0] == SectionIntervals:
		err = d.Intervals.writeCSV(w, d.run)
	case d.text[0] == SectionWaits:
		err = d.Waits.writeCSV(w)
	case d.text[0] == SectionPOP:
		err = d.POPs.writeCSV(w)
	case d.text[0] == SectionClasses:
		err = d.Classes.writeCSV(w)
	default:
		return ErrCSV
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return err
}

// writeCSV writes a row for every interval and process, processes in the outer
// order; times are ticks.
func (x *Intervals) writeCSV(w *csv.Writer, r *Run) error {
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
				failed = w.Write(n.csvRow(p))
			}
		}
	}})
	if err == nil {
		err = failed
	}
	return err
}

// csvRow is what a process has of the interval. A process's lost time takes the
// mean rule: all of its MPI time but a P-th, its idle and its marker time.
func (n *Interval) csvRow(p *processItems) []string {
	id := uint32(n.index)
	row := []string{strconv.Itoa(int(p.rank)), strconv.Itoa(n.index), pathText(n.Path), fmt.Sprint(n.Level), fmt.Sprint(n.ID), n.Name, n.File, fmt.Sprint(n.Line)}
	for i := range xtf.NumItems {
		v := p.at(id, i)
		if v == xtf.Overflowed {
			row = append(row, "")
			continue
		}
		row = append(row, strconv.FormatUint(v, 10))
	}
	of := integer(max(n.Processors, 1))
	mpi := integer(p.at(id, xtf.ItemMPI))
	idle := integer(n.Ticks.Execution - min(n.Ticks.Execution, p.at(id, xtf.ItemTime)))
	lost := add(sub(new(big.Int).Mul(mpi, of), mpi), new(big.Int).Mul(add(idle, integer(p.at(id, xtf.ItemMarker))), of))
	return append(row, strconv.FormatUint(p.useful(id), 10), Fraction{lost, of}.fixed(3))
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
