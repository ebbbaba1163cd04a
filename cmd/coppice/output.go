package main

import (
	"bytes"
	"cmp"
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
	path   string // "" or "-": standard output
	format string // one of choices
	color  string
	force  bool
	limit  int
	more   []string // formats to choose beside text and json
}

// define defines the flags that all printing verbs share.
func (o *output) define(f *pflag.FlagSet) {
	oneOf(f, &o.format, "format", "", alternatives(o.choices())+" (default from the suffix of -o; without one and of .txt text)", o.choices()...)
	o.defineFile(f, "file")
	o.defineColor(f)
}

// defineColor defines the flag of colours.
func (o *output) defineColor(f *pflag.FlagSet) {
	oneOf(f, &o.color, "color", "auto", "auto, always or never; NO_COLOR and TERM=dumb mean never", "auto", "always", "never")
}

// defineFile defines the flags of where a result goes.
func (o *output) defineFile(f *pflag.FlagSet, what string) {
	f.StringVarP(&o.path, "output", "o", "-", what+" to write, - for standard output")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing output file")
}

// defineLimit defines the flag of how many rows text has.
func (o *output) defineLimit(f *pflag.FlagSet, of string) {
	atLeast(f, 0, &o.limit, "limit", "", usualRows, of)
}

// usualRows are how many rows text has without --limit, and with --limit 0.
const usualRows = 20

// longTables are what --limit of reports is about.
const longTables = "rows of long text tables"

// choices are the formats to choose from.
func (o *output) choices() []string { return append([]string{"text", "json"}, o.more...) }

// check completes the flags.
func (o *output) check() error {
	o.limit = cmp.Or(o.limit, usualRows)
	if o.format == "" {
		suffix := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.path), "."))
		switch letters := strings.Trim(suffix, "abcdefghijklmnopqrstuvwxyz") == ""; {
		case slices.Contains(o.choices(), suffix):
			o.format = suffix
		case suffix == "" || suffix == "txt" || !letters || isDevice(o.path):
			o.format = "text"
		default:
			return usage("-o %s: no format has this suffix: choose %s, or say with --format which one the file gets", o.path, alternatives(o.choices()))
		}
	}
	if !o.toStdout() && !isDevice(o.path) {
		return o.free(o.path)
	}
	return nil
}

// free refuses a path where something is that -f does not allow to replace.
func (o *output) free(path string) error {
	if _, err := os.Lstat(path); path != "" && err == nil && !o.force {
		return outputError(fmt.Errorf("%s: %w", path, fs.ErrExist))
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
			return outputError(fmt.Errorf("standard output: %w", err))
		}
		return nil
	}
	x := files{force: o.force}
	defer x.discard()
	err := x.write(o.path, s, func(w io.Writer) error {
		if _, err := w.Write(b.Bytes()); err != nil {
			return outputError(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.publish()
}

// files are the files that a verb writes: each under another name beside its place until all are complete.
type files struct {
	force bool
	done  [][2]string // temporary name, place
}

// create begins the file at path.
func (x *files) create(path string) (*os.File, error) {
	if _, err := os.Lstat(path); err == nil && !x.force {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	f, err := os.Create(tmp)
	if err == nil {
		x.done = append(x.done, [2]string{tmp, path})
	}
	return f, err
}

// publish gives all files their names.
func (x *files) publish() error {
	for i, f := range x.done {
		if err := os.Rename(f[0], f[1]); err != nil {
			x.done = x.done[i:]
			return outputError(err)
		}
	}
	x.done = nil
	return nil
}

// discard removes what has not got its name.
func (x *files) discard() {
	for _, f := range x.done {
		os.Remove(f[0])
	}
}

// write makes one file, or writes to a device or a pipe, or to standard output for "-".
func (x *files) write(path string, s streams, fill func(w io.Writer) error) error {
	if path == "-" {
		return fill(s.out)
	}
	open := x.create
	if isDevice(path) { // which is never replaced
		open = func(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }
	}
	f, err := open(path)
	if err != nil {
		return outputError(err)
	}
	err = fill(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = outputError(cerr)
	}
	return err
}

// isDevice tells whether something is at path that is not a file, such as a device or a pipe.
func isDevice(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// table writes rows in columns, two spaces apart; a heading that begins with < is aligned left.
func table(w io.Writer, head []string, rows [][]string) error {
	return report.WriteTable(w, head, rows)
}

// facts writes lines of a name and what is so called, below a title.
func facts(w io.Writer, title string, rows [][]string) error {
	fmt.Fprintln(w, title)
	return table(w, []string{"<", "<"}, rows)
}
