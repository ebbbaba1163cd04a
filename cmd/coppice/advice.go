package main

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// advice says what to do about errors whose text tells only what, where and why.
func advice(err error) string {
	for _, a := range []struct {
		is   error
		text string
	}{
		{xtfwriter.ErrExists, "Give -f to replace it, or another name with -o."},
		{xtfwriter.ErrLocked, "Wait for that run; if it is dead, --resume or -f takes over."},
		{xtfwriter.ErrUnits, "Give --resume to go on with them, or -f to start afresh."},
		{xtfwriter.ErrNoSpace, "Free space there, or choose another place with -o, and with --checkpoint for segments. If the folder of segments is still there, --resume goes on with it."},
		{xtfwriter.ErrStorage, "Look after the file system, or choose another place with -o and --checkpoint. If the folder of segments is still there, --resume goes on with it."},
		{syscall.EIO, "Look after the file system of the input, or copy the input elsewhere."},
		{xtfwriter.ErrUnwritable, "Choose a directory with -o that exists and that you may write."},
		{xtfwriter.ErrOtherJob, "Give -f beside --resume to start afresh, or another folder with --checkpoint."},
		{trace.ErrNotTrace, "Name the .otf2 file of an OTF2 archive, the directory that holds it, or a .prv file of Paraver."},
		{trace.ErrMissing, "Copy the whole archive again: the .otf2 file, the .def file and the folder beside them."},
		{fs.ErrNotExist, "Check the path."},
		{xtf.ErrNotXTF, "Give a file that coppice analyze wrote."},
		{xtf.ErrVersion, "A newer coppice wrote it: use that one, or analyze the trace again."},
		{xtf.ErrCorrupt, "It changed after it was written: copy it again or analyze the trace again; coppice check tells what is still sound."},
		{xtf.ErrNotCommitted, "It was never finished: analyze the trace again."},
	} {
		if errors.Is(err, a.is) {
			return " " + a.text
		}
	}
	return ""
}
