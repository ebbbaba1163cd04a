package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/receivelog"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
	"github.com/spf13/pflag"
)

// output is where and how a verb prints its result.
type output struct {
	path   string // "" or "-": standard output
	format string // one of choices
	color  string
	force  bool
	limit  int
	more   []string // formats to choose next to text and json
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

// defineFile defines the flags of the output file.
func (o *output) defineFile(f *pflag.FlagSet, what string) {
	f.StringVarP(&o.path, "output", "o", "-", what+" to write, - for standard output")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing output file")
}

// defineLimit defines the flag that limits the rows of text.
func (o *output) defineLimit(f *pflag.FlagSet, of string) {
	atLeast(f, 0, &o.limit, "limit", "", usualRows, of)
}

// usualRows is the number of rows of text without --limit, and with --limit 0.
const usualRows = 20

// longTables is the object of --limit in reports.
const longTables = "rows of long text tables"

// choices are the values of --format.
func (o *output) choices() []string { return append([]string{"text", "json"}, o.more...) }

// check completes the flags and checks them.
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

// free refuses a path that exists, unless -f allows to replace it.
func (o *output) free(path string) error {
	if _, err := os.Lstat(path); path != "" && err == nil && !o.force {
		return outputError(fmt.Errorf("%s: %w", path, fs.ErrExist))
	}
	return nil
}

func (o *output) toStdout() bool { return o.path == "" || o.path == "-" }

// style is the look of text for its destination.
func (o *output) style(s streams) table.Style {
	st := table.Style{Limit: o.limit}
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

// isTerminal reports whether text goes to a terminal. On a rank it returns false: mpirun gives ranks a terminal of their own,
// whatever its own output is.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || mpi.Launched() {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// write makes the result in memory, then writes it at once: to standard output, or to a new file that gets its name when it is
// complete.
func (o *output) write(s streams, make func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := make(&b); err != nil {
		return err
	}
	x := files{force: o.force}
	defer x.discard()
	if err := x.write(cmp.Or(o.path, "-"), s, writeBytes(b.Bytes())); err != nil {
		return err
	}
	return x.publish()
}

// files are the files that a verb writes. Each has another name next to its place until all are complete.
type files struct {
	force bool
	done  [][2]string // temporary name, place
	// folder was made for the files. It is removed if it stays empty.
	folder string
}

func (x *files) create(path string) (*os.File, error) {
	switch st, err := os.Lstat(path); {
	case err == nil && st.IsDir():
		return nil, usage("%s is a folder: name a file with -o", path)
	case err == nil && !x.force:
		return nil, fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	f, err := os.Create(tmp)
	if err == nil {
		x.done = append(x.done, [2]string{tmp, path})
	}
	return f, err
}

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

// discard removes the files that do not have their final names yet.
func (x *files) discard() {
	for _, f := range x.done {
		os.Remove(f[0])
	}
	if x.folder != "" {
		os.Remove(x.folder)
	}
}

// outputErrors gives errors of writing their exit code.
type outputErrors struct {
	io.Writer
	to string // names the destination, which the errors' texts do not
}

func (w outputErrors) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		err = outputError(fmt.Errorf("%s%w", w.to, err))
	}
	return n, err
}

// write writes one file with fill, or writes to a device or a pipe, or to standard output for "-".
func (x *files) write(path string, s streams, fill func(w io.Writer) error) error {
	if path == "-" {
		return fill(outputErrors{s.out, "standard output: "})
	}
	open := x.create
	if isDevice(path) { // a device is never replaced
		open = func(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }
	}
	f, err := open(path)
	if err != nil {
		return outputError(err)
	}
	err = fill(outputErrors{f, ""})
	if cerr := f.Close(); err == nil && cerr != nil {
		err = outputError(cerr)
	}
	return err
}

// print writes tables in the chosen format; asJSON writes JSON.
func (o *output) print(s streams, x table.Printable, asJSON func(w io.Writer) error) error {
	return o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			return asJSON(w)
		}
		return table.Write(w, x, o.format, o.style(s))
	})
}

// show writes an answer about a file: in JSON as the value under a key, with the envelope of all documents; else as text.
func (o *output) show(s streams, r *results.Answer, key string) error {
	return o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			return r.WriteJSON(w, r.Brief, key, r.Value)
		}
		return r.Text(w, o.limit)
	})
}

func writeBytes(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// isDevice reports whether path exists and is not a regular file or folder, such as a device or a pipe.
func isDevice(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// fileError is an error about an input file of a verb.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string {
	text := e.err.Error()
	if strings.Contains(text, e.path) {
		return text
	}
	return e.path + ": " + text
}

func (e *fileError) Unwrap() error { return e.err }

// readError gives an error about the file at path its exit code.
func readError(path string, err error) error {
	if err := refused(err); errors.As(err, &ofVerb{}) {
		return err
	}
	code := jobs.ExitCode(err)
	switch {
	case errors.Is(err, results.ErrNoResult):
		code = jobs.ExitInput
	case errors.Is(err, lookup.ErrSpan):
		code = jobs.ExitUsage
	}
	return jobs.Fail(code, &fileError{path, err})
}

// refused gives errors about what the user asked for their exit code.
func refused(err error) error {
	if asked := (*results.Refused)(nil); errors.As(err, &asked) {
		return usage("%w", asked)
	}
	return err
}

// outputError gives an error of writing an output its exit code. The user can change a place that refuses files; all other errors
// are the file system's.
func outputError(err error) error {
	if errors.Is(err, os.ErrExist) {
		return usage("%w. Choose another name, or -f replaces it", err)
	}
	err = ofVerb{xtfwriter.OutputError("", err)}
	if jobs.ExitCode(err) == jobs.ExitInternal {
		return jobs.Fail(jobs.ExitResource, err)
	}
	return err
}

// advice says what to do about errors whose text says only what, where and why.
func advice(err error) string {
	path, missing := "FILE", "Check the path."
	if file := (*fileError)(nil); errors.As(err, &file) {
		path, missing = file.path, "Give the path of a trace, or of a file that coppice analyze wrote."
	}
	if result := errors.Is(err, xtf.ErrNotXTF); result || errors.Is(err, trace.ErrNotTrace) {
		return " " + instead(path, result)
	}
	changed := "It changed after it was written: copy it again or analyze the trace again; coppice check " + path + " lists what is still sound."
	for _, a := range []struct {
		is   error
		text string
	}{
		{record.ErrCache, "Set XDG_CACHE_HOME to a folder of yours that all nodes see, with room for 3 MB."},
		{xtfwriter.ErrExists, "Give -f to replace it, or another name with -o."},
		{xtfwriter.ErrLocked, "Wait for that run; if it is dead, --resume or -f takes over."},
		{xtfwriter.ErrUnits, "Give --resume to continue with them, or -f to start again from the beginning."},
		{xtfwriter.ErrNoSpace, "Free space there, or choose another place with -o, and with --checkpoint for segments. If the folder of segments is still there, --resume continues from it."},
		{xtfwriter.ErrStorage, "Check the file system, or choose another place with -o and --checkpoint. If the folder of segments is still there, --resume continues from it."},
		{xtfwriter.ErrFolderGone, "Start the run again, and leave its folder alone until it has ended."},
		{syscall.EIO, "Check the file system of the input, or copy the input elsewhere."},
		{xtfwriter.ErrUnwritable, "Choose a directory with -o that exists and that you may write."},
		{xtfwriter.ErrOtherJob, "Give -f in addition to --resume to start again from the beginning, or another folder with --checkpoint."},
		{trace.ErrUnsupported, "Convert it to a plain OTF2 archive."},
		{trace.ErrMissing, "Copy the whole archive again: NAME.otf2, NAME.def and the directory NAME."},
		{fs.ErrNotExist, missing},
		{fs.ErrPermission, "Ask its owner for the right to read it."},
		{xtf.ErrVersion, "A newer coppice wrote it: use that one, or analyze the trace again."},
		{graph.ErrVersion, "Another version of coppice wrote it: use that one, or analyze the trace again."},
		{xtf.ErrCorrupt, changed},
		{graph.ErrCorrupt, changed},
		{column.ErrCorrupt, changed},
		{trace.ErrCorrupt, "Copy the archive again."}, // after those: parts of results are read like those of traces
		{receivelog.ErrNotLog, "Give what coppice record --log-ranks wrote: DIR/logs/RANK.log."},
		{receivelog.ErrCorrupt, "Copy the log again, or record the program again."},
		{receivelog.ErrCut, "It ends before its first call: record the program again."},
		{receivelog.ErrVersion, "Another version of coppice wrote it: use that one, or record the program again."},
		{xtf.ErrNotCommitted, "The analysis that wrote it stopped before the end: analyze the trace again."},
		{predict.ErrTooLong, "A simulation counts up to 106 days: coppice info shows the clock of the trace, and how long it runs."},
		{results.ErrNoResult, "Analyze the trace again with the options that keep it."},
		{xtf.ErrNoSection, "It is not whole: analyze the trace again."},
	} {
		if errors.Is(err, a.is) {
			return " " + a.text
		}
	}
	return ""
}

// instead says what to give in place of path, which is not a result or not a trace.
func instead(path string, result bool) string {
	inside := filepath.Join(path, "run.xtf")
	if _, err := os.Stat(inside); err == nil && result {
		return "Its result is " + inside + ": give that."
	}
	kind, head, err := inspect.Recognise(path)
	traces, _ := filepath.Glob(filepath.Join(path, "*.prv*"))
	switch {
	case err == nil && kind == inspect.KindLog:
		return "It is a receive log: coppice info " + path + " shows what is in it, coppice replay takes it."
	case err == nil && kind == inspect.KindStatus:
		return "It is the status of a job: coppice info " + path + " shows it."
	case !result && bytes.HasPrefix(head, []byte("\x89XTF")):
		return "It is a result already: coppice report " + path + " shows it."
	case !result && len(traces) > 0:
		return "It holds a Paraver trace: give " + traces[0] + "."
	case !result:
		return "Give the anchor file of an OTF2 archive (NAME.otf2) or its directory, or a Paraver trace (NAME.prv, NAME.prv.gz)."
	}
	if src, err := jobs.OpenPath(path); err == nil {
		_ = src.Close()
		return "It is a trace: coppice analyze " + path + " -o run.xtf makes such a file of it."
	}
	return "Give a file that coppice analyze wrote."
}

// openRuns are the runs that a verb reads. They are closed when it ends. It is safe for concurrent use.
type openRuns struct {
	lock sync.Mutex
	list []*results.Run
}

func (o *openRuns) open(path string) (*results.Run, error) {
	r, err := results.Open(path, xtf.Options{})
	if err != nil {
		return nil, readError(path, err)
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	o.list = append(o.list, r)
	return r, nil
}

// about writes a document about a run in JSON: the envelope of all documents, then the value under its key.
func about(w io.Writer, run *results.Run, key string, v any) error {
	a, err := results.NewAnswer(run, v, nil)
	if err != nil {
		return readError(run.Path, err)
	}
	return a.WriteJSON(w, a.Brief, key, v)
}

// close closes the runs of a verb that ended with err. If a part of a run could not be read and the verb went on without it, the
// verb's result is partial. Only this place decides that, for every verb and format.
func (o *openRuns) close(err error) error {
	var paths []string
	var first string
	locations, whole := 0, 0
	for _, r := range o.list {
		lost := r.Complete(nil)
		for i := range lost {
			if lost[i].WholeRun {
				whole++
			} else {
				locations++
			}
		}
		if len(lost) > 0 {
			paths = append(paths, r.Path)
			first = cmp.Or(first, lost[0].Error)
		}
		r.Close() // it was only read: nothing can be lost
	}
	if code := jobs.ExitCode(err); len(paths) == 0 || code != jobs.ExitDone && code != jobs.ExitFound {
		return err
	}
	var parts []string
	if locations > 0 {
		parts = append(parts, numbers.Plural(locations, "location"))
	}
	if whole > 0 {
		parts = append(parts, "a part about the whole run")
	}
	return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: the file is damaged, the result leaves %s out: %s. Copy the file again or analyze the trace again; coppice check %s lists what is still sound",
		strings.Join(paths, ", "), strings.Join(parts, " and "), first, paths[0]))
}
