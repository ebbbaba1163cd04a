package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/column"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// fileError is an error about a file that a verb was told to read.
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
	code := jobs.ExitCode(err)
	switch {
	case errors.Is(err, report.ErrNoResult):
		code = jobs.ExitInput
	case errors.Is(err, report.ErrSpan):
		code = jobs.ExitUsage
	}
	return jobs.Fail(code, &fileError{path, err})
}

// outputError gives an error of writing an output its exit code: a place that refuses files is the user's to change, all else
// is up to the file system.
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

// advice says what to do about errors whose text tells only what, where and why.
func advice(err error) string {
	path, missing := "FILE", "Check the path."
	if file := (*fileError)(nil); errors.As(err, &file) {
		path, missing = file.path, "Give the path of a trace, or of a file that coppice analyze wrote."
	}
	changed := "It changed after it was written: copy it again or analyze the trace again; coppice check " + path + " tells what is still sound."
	for _, a := range []struct {
		is   error
		text string
	}{
		{xtfwriter.ErrExists, "Give -f to replace it, or another name with -o."},
		{xtfwriter.ErrLocked, "Wait for that run; if it is dead, --resume or -f takes over."},
		{xtfwriter.ErrUnits, "Give --resume to go on with them, or -f to start afresh."},
		{xtfwriter.ErrNoSpace, "Free space there, or choose another place with -o, and with --checkpoint for segments. If the folder of segments is still there, --resume goes on with it."},
		{xtfwriter.ErrStorage, "Look after the file system, or choose another place with -o and --checkpoint. If the folder of segments is still there, --resume goes on with it."},
		{xtfwriter.ErrFolderGone, "Start the run again, and leave its folder alone until it has ended."},
		{syscall.EIO, "Look after the file system of the input, or copy the input elsewhere."},
		{xtfwriter.ErrUnwritable, "Choose a directory with -o that exists and that you may write."},
		{xtfwriter.ErrOtherJob, "Give -f beside --resume to start afresh, or another folder with --checkpoint."},
		{trace.ErrNotTrace, "Give the anchor file of an OTF2 archive (NAME.otf2) or its directory, or a Paraver trace (NAME.prv, NAME.prv.gz)."},
		{trace.ErrUnsupported, "Convert it to a plain OTF2 archive."},
		{trace.ErrMissing, "Copy the whole archive again: NAME.otf2, NAME.def and the directory NAME."},
		{trace.ErrCorrupt, "Copy the archive again."},
		{fs.ErrNotExist, missing},
		{fs.ErrPermission, "Ask its owner for the right to read it."},
		{xtf.ErrNotXTF, "Give a file that coppice analyze wrote; coppice info " + path + " tells what this one is."},
		{xtf.ErrVersion, "A newer coppice wrote it: use that one, or analyze the trace again."},
		{ccg.ErrVersion, "Another version of coppice wrote it: use that one, or analyze the trace again."},
		{xtf.ErrCorrupt, changed},
		{ccg.ErrCorrupt, changed},
		{column.ErrCorrupt, changed},
		{xtf.ErrNotCommitted, "The analysis that wrote it stopped before the end: analyze the trace again."},
		{report.ErrNoResult, "Analyze the trace again with the options that keep it."},
		{xtf.ErrNoSection, "It is not whole: analyze the trace again."},
	} {
		if errors.Is(err, a.is) {
			return " " + a.text
		}
	}
	return ""
}
