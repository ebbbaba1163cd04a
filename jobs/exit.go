package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/receivelog"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Exit codes of every verb.
const (
	ExitDone      = 0
	ExitFound     = 1  // done, but a condition holds or a check found problems
	ExitUsage     = 2  // wrong flags, output exists, locked by another run
	ExitInput     = 3  // input cannot be read or is not what the verb takes
	ExitPartial   = 4  // finished with damaged or partial input
	ExitResource  = 5  // memory or disk would be exceeded
	ExitInternal  = 6  // a bug
	ExitSaved     = 75 // stopped on request with a checkpoint
	ExitInterrupt = 130
	ExitTerminate = 143
)

// Error is an error with an exit code.
type Error struct {
	code int
	Err  error
}

// Fail returns err with an exit code.
func Fail(code int, err error) error { return &Error{code, err} }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// Code returns the exit code.
func (e *Error) Code() int { return e.code }

// ExitCode returns the exit code for err.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	var coded mpi.Coded
	if errors.As(err, &coded) && coded.Code() != uncoded {
		return coded.Code()
	}
	var own *Error
	if errors.As(err, &own) {
		return own.code // ExitFound, which is also the code of agreed errors without one
	}
	for _, c := range exitCodes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return ExitInternal
}

// Agree returns nil on all ranks if no rank has an error, else the same error on all, with its exit code and the sentinels that exit codes
// and advice depend on. Collective.
func Agree(c mpi.Comm, err error) error { return KeepingCodes(c).Agree(err) }

// KeepingCodes returns a communicator whose Agree does the same, for packages that do not know the sentinels of others.
func KeepingCodes(c mpi.Comm) mpi.Keeping {
	sentinels := make([]error, len(exitCodes))
	for i := range exitCodes {
		sentinels[i] = exitCodes[i].err
	}
	return mpi.Keeping{Comm: c, Sentinels: sentinels, Coded: Coded}
}

// uncoded is the code of agreed errors without one.
const uncoded = 1

// Coded returns err with the exit code of its sentinel, so that other ranks get the code too.
func Coded(err error) error {
	var c mpi.Coded
	if err == nil || errors.As(err, &c) {
		return err
	}
	return Fail(ExitCode(err), err)
}

// ErrDamaged is the error of a damaged input with --strict.
var ErrDamaged = errors.New("the input is damaged or incomplete, which --strict refuses")

// InputError names the file at path in an error of reading it, and gives the error the exit code of input.
func InputError(path string, err error) error {
	if err == nil {
		return nil
	}
	if !strings.Contains(err.Error(), path+": ") {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if Unreadable(err) || errors.Is(err, graph.ErrVersion) || errors.Is(err, xtf.ErrNoSection) {
		return Fail(ExitInput, err)
	}
	return err
}

// Unreadable reports whether err says that a part of the file is damaged.
func Unreadable(err error) bool {
	return errors.Is(err, xtf.ErrCorrupt) || errors.Is(err, graph.ErrCorrupt) || errors.Is(err, trace.ErrCorrupt)
}

var exitCodes = []struct {
	err  error
	code int
}{
	{ErrStopped, ExitSaved},
	{xtfwriter.ErrDone, ExitDone},
	{xtfwriter.ErrUnits, ExitUsage},
	{xtfwriter.ErrExists, ExitUsage},
	{xtfwriter.ErrLocked, ExitUsage},
	{xtfwriter.ErrOtherJob, ExitUsage},
	{xtfwriter.ErrSuperseded, ExitUsage},
	{xtfwriter.ErrUnwritable, ExitUsage},
	{xtfwriter.ErrNoSpace, ExitResource},
	{xtfwriter.ErrStorage, ExitResource},
	{xtfwriter.ErrFolderGone, ExitResource},
	{xtfwriter.ErrWrite, ExitResource},
	{graph.ErrDeviation, ExitUsage},
	{interval.ErrOption, ExitUsage},
	{mpi.ErrNoSpace, ExitResource},
	{syscall.ENOSPC, ExitResource},
	{syscall.EDQUOT, ExitResource},
	{syscall.EIO, ExitInput}, // for outputs there is ErrStorage
	{syscall.ESTALE, ExitInput},
	{syscall.EISDIR, ExitInput}, // for outputs there is ErrUnwritable
	{syscall.ENOTDIR, ExitInput},
	{syscall.ELOOP, ExitInput},
	{syscall.ENAMETOOLONG, ExitInput},
	{syscall.EFBIG, ExitResource},
	{syscall.EMFILE, ExitResource},
	{syscall.ENFILE, ExitResource},
	{syscall.ENOMEM, ExitResource},
	{trace.ErrNotTrace, ExitInput},
	{trace.ErrUnsupported, ExitInput},
	{trace.ErrCorrupt, ExitInput},
	{trace.ErrMissing, ExitInput},
	{receivelog.ErrNotLog, ExitInput},
	{receivelog.ErrVersion, ExitInput},
	{receivelog.ErrCorrupt, ExitInput},
	{receivelog.ErrCut, ExitInput},
	{xtf.ErrNotXTF, ExitInput},
	{xtf.ErrNotCommitted, ExitInput},
	{xtf.ErrVersion, ExitInput},
	{xtf.ErrCorrupt, ExitInput},
	{xtf.ErrNoSection, ExitInput},
	{xtf.ErrNoProc, ExitInput},
	{xtf.ErrClasses, ExitInput},
	{xtf.ErrTooLarge, ExitResource},
	{column.ErrCorrupt, ExitInput},
	{graph.ErrCorrupt, ExitInput},
	{graph.ErrVersion, ExitInput},
	{graph.ErrLimit, ExitResource},
	{fs.ErrNotExist, ExitInput},
	{fs.ErrPermission, ExitInput},
	{predict.ErrNoRows, ExitInput},
	{predict.ErrTarget, ExitInput},
	{platform.ErrInvalid, ExitInput},
	{predict.ErrTooLong, ExitInput},
	{predict.ErrTooLarge, ExitResource},
	{program.ErrInvalid, ExitInput},
	{cluster.ErrMemory, ExitResource},
	{cluster.ErrTooMany, ExitUsage},
	{cluster.ErrRange, ExitUsage},
}
