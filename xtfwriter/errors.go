package xtfwriter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/coppice-hpc/coppice/mpi"
)

// One sentinel per decision a caller can take.
var (
	// ErrExists says the output is there already and force was not given.
	ErrExists = errors.New("output exists already")
	// ErrNoSpace says the file system or quota is full.
	ErrNoSpace = errors.New("no space left on the file system")
	// ErrUnwritable says a directory does not exist or refuses files.
	ErrUnwritable = errors.New("directory cannot be written")
	// ErrFolderGone says that somebody removed the work folder under the run.
	ErrFolderGone = errors.New("the work folder was removed while the run was going on")
	// ErrStorage says the file system failed: a disk, a server or the way to it.
	ErrStorage = errors.New("the file system failed")
	// ErrLocked says another run holds the output.
	ErrLocked = errors.New("output is locked by another run")
	// ErrSuperseded says a younger run took the output over: stop and leave it alone.
	ErrSuperseded = errors.New("a newer run took over this output")
	// ErrOtherJob says a work folder belongs to another input or other options.
	ErrOtherJob = errors.New("work folder belongs to another job")
	// ErrUnits says a work folder holds units of an interrupted run, and nobody said what to do with them.
	ErrUnits = errors.New("an interrupted run can continue")
	// ErrWrite says storage lost or changed what was written.
	ErrWrite = errors.New("written data did not reach the file")
	// ErrDone says the output is there, complete, of the same input and options.
	ErrDone = errors.New("output is complete already")
	// ErrNoSegment says the store has no such segment.
	ErrNoSegment = errors.New("no such segment")
)

// readFault is nil for a file that is shorter than it should be, which the caller judges, and else the error of a read.
func readFault(path string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("xtfwriter: %w", OutputError("segment file "+path, err))
}

// outputErrors are the errors about an output that a user can act on, with those of the operating system, which errors of package mpi
// match too.
var outputErrors = []struct {
	sentinel error
	of       []error
}{
	{ErrNoSpace, []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}},
	{ErrUnwritable, []error{
		fs.ErrPermission, fs.ErrNotExist, fs.ErrExist, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG,
	}},
	{ErrStorage, []error{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENXIO, syscall.ENODEV, syscall.ENOTCONN, syscall.EHOSTDOWN}},
	{ErrWrite, []error{io.ErrShortWrite}},
}

// named adds the sentinel of an error, if it has one.
func named(err error) error {
	for _, x := range outputErrors {
		if slices.ContainsFunc(x.of, func(e error) bool { return errors.Is(err, e) }) {
			return fmt.Errorf("%w: %w", x.sentinel, err)
		}
	}
	return err
}

// OutputError names the errors of the operating system about an output that a user can act on, and what it was, "" where the
// error tells. An error with an exit code stays.
func OutputError(what string, err error) error {
	var coded mpi.Coded
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if what != "" {
		what += ": "
	}
	return fmt.Errorf("%s%w", what, named(err))
}

// folderError is OutputError about a file of the work folder, which was there when the run began.
func folderError(what, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s%s: %w: %w", what, path, ErrFolderGone, err)
	}
	return OutputError(what+path, err)
}
