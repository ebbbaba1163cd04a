package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/export"
	"github.com/coppice-hpc/coppice/report"
)

// written is a table in the result of an export in JSON.
type written struct {
	Table string `json:"table"`
	Path  string `json:"path"`
	Rows  uint64 `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// tables is the result of an export of tables in JSON.
type tables struct {
	To     string    `json:"to"`
	Output string    `json:"output"`
	Tables []written `json:"tables"`
}

// exportEvents writes one table of events into a file, or all of them into a folder.
func exportEvents(path string, o *exportFlags, s streams) error {
	names := []string{o.table}
	switch {
	case o.table == "" && o.output == "-":
		names[0] = export.Tables()[0]
	case o.table == "":
		names = export.Tables()
	}
	run, src, err := exportSource(path, o, s)
	if err != nil {
		return err
	}
	x := &tableExport{o: o, s: s, src: src, files: files{force: o.force}, result: tables{To: o.to, Output: o.output}, left: int64(o.maxSize)}
	if len(names) > 1 {
		if _, err := os.Lstat(o.output); err != nil {
			defer os.Remove(o.output) // stays if anything is in it
		}
		if err := os.MkdirAll(o.output, 0o777); err != nil {
			return outputError(err)
		}
	}
	defer x.files.discard()
	for _, name := range names {
		at := o.output
		if len(names) > 1 {
			at = filepath.Join(o.output, name+"."+o.to)
		}
		if err := x.table(name, at); err != nil {
			if errors.Is(err, export.ErrTooLarge) {
				return usage("%s --to %s: more than the %s of --max-size. Choose a part with --time or --ranks, or allow more", path, o.to, report.Size(uint64(o.maxSize)))
			}
			return exportError(run, err)
		}
	}
	if err := x.files.publish(); err != nil {
		return err
	}
	if !o.job.quiet {
		for _, t := range x.result.Tables {
			fmt.Fprintf(s.err, "coppice: %s: %d rows of %s, %s\n", t.Path, t.Rows, t.Table, report.Size(uint64(t.Bytes)))
		}
	}
	if o.format == "json" {
		return about(s.out, run, "export", report.Value(x.result))
	}
	return nil
}

// tableExport writes tables one after the other.
type tableExport struct {
	o      *exportFlags
	s      streams
	src    *export.Source
	files  files
	result tables
	left   int64 // bytes that may be written, with --max-size
}

// table writes one table.
func (x *tableExport) table(name, path string) error {
	t := written{Table: name, Path: path}
	err := x.files.write(path, x.s, func(w io.Writer) error {
		count := &counted{out: w, left: -1}
		if x.o.maxSize > 0 {
			count.left = x.left
		}
		b := bufio.NewWriterSize(count, 1<<18)
		var err error
		t.Rows, err = x.src.Events(name, func(schema *export.Schema) (export.TableWriter, error) { return export.NewTable(b, x.o.to, schema) })
		if err == nil {
			err = b.Flush()
		}
		t.Bytes = count.n
		x.left -= count.n
		return err
	})
	x.result.Tables = append(x.result.Tables, t)
	return err
}

// counted counts the bytes on their way, and takes no more than are left, unless left is below 0.
type counted struct {
	out     io.Writer
	n, left int64
}

func (c *counted) Write(b []byte) (int, error) {
	if c.left >= 0 && c.n+int64(len(b)) > c.left {
		return 0, export.ErrTooLarge
	}
	n, err := c.out.Write(b)
	c.n += int64(n)
	if err != nil {
		err = outputError(err)
	}
	return n, err
}
