package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/table"
)

// sectionTable turns the rows of a section into batches: 9 bytes for each value, and each text once.
type sectionTable struct {
	section report.Section
	schema  *export.Schema
	texts   []export.Dictionary
	batches []*export.Batch
}

// writeParquet writes the one section of a report as a Parquet file.
func writeParquet(w io.Writer, d *report.Document) error {
	columns, rows, err := table.Data(d)
	if err != nil {
		return err
	}
	t := &sectionTable{section: d.Section(), texts: make([]export.Dictionary, len(columns))}
	t.schema = &export.Schema{Meta: []export.Meta{{Key: "coppice.section", Value: string(t.section)}}}
	for _, c := range columns {
		typ := map[table.ColumnKind]export.Type{table.IntegerColumn: export.Uint64, table.DecimalColumn: export.Float64, table.TextColumn: export.Text}[c.Kind]
		t.schema.Columns = append(t.schema.Columns, export.Column{Name: c.Key, Type: typ, Nullable: true})
	}
	for row, err := range rows {
		if err == nil {
			err = t.add(row)
		}
		if err != nil {
			return err
		}
	}
	for i := range t.texts {
		t.schema.Columns[i].Dict = t.texts[i].Texts()
	}
	out, err := export.NewTable(w, "parquet", t.schema)
	if err != nil {
		return err
	}
	for _, b := range t.batches {
		if err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Close()
}

func (t *sectionTable) add(row []string) error {
	if n := len(t.batches); n == 0 || t.batches[n-1].Full() {
		t.batches = append(t.batches, export.NewBatch(t.schema))
	}
	cells := make([]export.Cell, len(row))
	for i, text := range row {
		var err error
		if cells[i], err = t.cell(i, text); err != nil {
			return err
		}
	}
	t.batches[len(t.batches)-1].Append(cells...)
	return nil
}

// cell reads a value of column i; nothing, null and n/a stand for none.
func (t *sectionTable) cell(i int, text string) (export.Cell, error) {
	c := &t.schema.Columns[i]
	switch {
	case c.Type == export.Text:
		return t.texts[i].Cell(text), nil
	case text == "" || text == "null" || text == "n/a":
		return export.Absent, nil
	case c.Type == export.Float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return export.Absent, t.unfit(c, text)
		}
		return export.Real(v), nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return export.Absent, t.unfit(c, text)
	}
	return export.Number(v), nil
}

func (t *sectionTable) unfit(c *export.Column, text string) error {
	return usage("--format parquet: section %s: %s in column %s does not fit into 64 bits: take --format csv", t.section, fmt.Sprintf("%.40s", text), c.Name)
}
