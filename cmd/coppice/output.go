package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report"
	"github.com/spf13/pflag"
)

// output is where and how a verb prints its result.
type output struct {
	verb   string
	path   string // "" or "-": standard output
	format string // one of choices
	color  string
	force  bool
	limit  int
	tables bool // csv can be chosen
	pages  bool // md and html can be chosen
	packed bool // parquet can be chosen
}

// add defines the flags that all printing verbs share.
func (o *output) add(f *pflag.FlagSet) {
	o.verb = f.Name()
	f.StringVar(&o.format, "format", "", o.formats()+" (default from the suffix of -o; without one and of .txt text)")
	f.StringVarP(&o.path, "output", "o", "-", "file to write, - for standard output")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing output file")
	f.StringVar(&o.color, "color", "auto", "auto, always or never; NO_COLOR and TERM=dumb mean never")
}

// choices are the formats to choose from.
func (o *output) choices() []string {
	list := []string{"text", "json"}
	if o.tables {
		list = append(list, "csv")
	}
	if o.packed {
		list = append(list, "parquet")
	}
	if o.pages {
		list = append(list, "md", "html")
	}
	return list
}

// formats names the formats to choose from.
func (o *output) formats() string {
	return alternatives(o.choices())
}

// check completes the flags.
func (o *output) check() error {
	if o.format == "" {
		suffix := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.path), "."))
		switch letters := strings.Trim(suffix, "abcdefghijklmnopqrstuvwxyz") == ""; {
		case slices.Contains(o.choices(), suffix):
			o.format = suffix
		case suffix == "" || suffix == "txt" || !letters || isDevice(o.path):
			o.format = "text"
		default:
			return usage("%s: -o %s: no format has this suffix: choose %s, or say with --format which one the file gets", o.verb, o.path, o.formats())
		}
	}
	if !slices.Contains(o.choices(), o.format) {
		return usage("%s: --format %s: choose %s", o.verb, o.format, o.formats())
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.color) {
		return usage("%s: --color %s: choose auto, always or never", o.verb, o.color)
	}
	if o.limit < 0 {
		return usage("%s: --limit %d: give the number of rows to show, or 0 for the usual one", o.verb, o.limit)
	}
	if !o.toStdout() && !o.force {
		if _, err := os.Lstat(o.path); err == nil && !isDevice(o.path) {
			return outputError(o.verb, fmt.Errorf("%s: %w", o.path, fs.ErrExist))
		}
	}
	return nil
}

func (o *output) toStdout() bool { return o.path == "" || o.path == "-" }

// style is the look of text on its way to where it goes.
func (o *output) style(s streams) report.Style {
	st := report.Style{Limit: o.limit}
	terminal := o.toStdout() && isTerminal(s.out) && os.Getenv("TERM") != "dumb"
	st.Bars = terminal
	switch o.color {
	case "always":
		st.Color, st.Bars = true, true
	case "auto":
		st.Color = terminal && os.Getenv("NO_COLOR") == ""
	}
	return st
}

// isTerminal tells whether text goes to a terminal. A rank never says so: mpirun gives it a terminal of its own, whatever its
// output goes to.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || mpi.Launched() {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// write makes the result in memory, then writes it at once: to standard output,
// or to a new file that gets its name when it is complete.
func (o *output) write(s streams, make func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := make(&b); err != nil {
		return err
	}
	if o.toStdout() {
		if _, err := s.out.Write(b.Bytes()); err != nil {
			return outputError(o.verb, fmt.Errorf("standard output: %w", err))
		}
		return nil
	}
	ok, err := throughDevice(o.path, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
	if ok && err == nil {
		return nil
	}
	if ok {
		return outputError(o.verb, err)
	}
	tmp := filepath.Join(filepath.Dir(o.path), "."+filepath.Base(o.path)+".new")
	err = os.WriteFile(tmp, b.Bytes(), 0o666)
	if err == nil && !o.force {
		if _, e := os.Lstat(o.path); e == nil {
			err = fmt.Errorf("%s: %w", o.path, fs.ErrExist)
		}
	}
	if err == nil {
		err = os.Rename(tmp, o.path)
	}
	if err != nil {
		os.Remove(tmp)
		return outputError(o.verb, err)
	}
	return nil
}

// isDevice tells whether something is at path that is no file, such as a device or a pipe.
func isDevice(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// throughDevice writes to a device or a pipe, which is never replaced; ok is false where there is none at path.
func throughDevice(path string, fill func(w io.Writer) error) (ok bool, err error) {
	if !isDevice(path) {
		return false, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return true, err
	}
	return true, errors.Join(fill(f), f.Close())
}
