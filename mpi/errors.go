package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// Class is the kind of an error, for decisions with errors.Is. The values are this package's own, because those of MPI libraries differ.
// Agree keeps classes.
type Class int32

// The classes. Those with a counterpart in the standard library match it too: errors.Is(err, fs.ErrNotExist) holds for
// an error of class ErrNotExist.
const (
	ErrOther      Class = iota + 1 // none of those below
	ErrComm                        // communicator freed or not allowed here
	ErrRank                        // no such rank
	ErrTag                         // tag out of range
	ErrRoot                        // no such root
	ErrCount                       // bad count
	ErrType                        // bad datatype
	ErrOp                          // bad reduction
	ErrArg                         // another bad argument
	ErrTruncate                    // message longer than the buffer
	ErrRequest                     // bad request
	ErrMismatch                    // the ranks made different collective calls, or with different lengths
	ErrOverflow                    // a sum does not fit 64 bits
	ErrMemory                      // no memory
	ErrInternal                    // failure inside the MPI library
	ErrCancelled                   // another rank failed, or a context ended
	ErrLaunch                      // started by a launcher that this binary cannot join
	ErrIO                          // input or output failed for another reason
	ErrNotExist                    // no such file or directory
	ErrExists                      // file exists
	ErrPermission                  // permission denied
	ErrReadOnly                    // read-only file or file system
	ErrNoSpace                     // storage full or quota used up
	ErrBadFile                     // not a file that can be opened: a directory, an invalid name
	ErrInUse                       // file is open elsewhere
	ErrMode                        // bad access mode
	ErrShortRead                   // end of file before all bytes were read
	ErrShortWrite                  // fewer bytes written than given
	numClasses
)

var classText = [numClasses]string{
	ErrOther: "failed", ErrComm: "invalid communicator", ErrRank: "invalid rank", ErrTag: "invalid tag",
	ErrRoot: "invalid root", ErrCount: "invalid count", ErrType: "invalid datatype", ErrOp: "invalid reduction",
	ErrArg: "invalid argument", ErrTruncate: "message truncated", ErrRequest: "invalid request",
	ErrMismatch: "ranks disagree about a collective call", ErrOverflow: "sum does not fit 64 bits",
	ErrMemory: "out of memory", ErrInternal: "internal error of the MPI library", ErrCancelled: "cancelled",
	ErrLaunch: "launcher does not fit this binary", ErrIO: "input/output error",
	ErrNotExist: "no such file or directory", ErrExists: "file exists", ErrPermission: "permission denied",
	ErrReadOnly: "file is read-only", ErrNoSpace: "no space left", ErrBadFile: "not a regular file",
	ErrInUse: "file in use", ErrMode: "invalid access mode", ErrShortRead: "unexpected end of file",
	ErrShortWrite: "short write",
}

func (c Class) Error() string {
	if c > 0 && c < numClasses {
		return "mpi: " + classText[c]
	}
	return fmt.Sprintf("mpi: error class %d", int32(c))
}

// Is returns whether target is the standard library's counterpart of a class.
func (c Class) Is(target error) bool {
	return slices.ContainsFunc(twins, func(t twin) bool { return t.class == c && t.err == target })
}

type twin struct {
	class Class
	err   error
}

// twins are the counterparts of classes in the standard library. classOf tries them in this order.
var twins = []twin{
	{ErrNoSpace, syscall.ENOSPC},
	{ErrNoSpace, syscall.EDQUOT},
	{ErrNoSpace, syscall.EFBIG},
	{ErrReadOnly, syscall.EROFS},
	{ErrBadFile, syscall.EISDIR},
	{ErrBadFile, syscall.ENOTDIR},
	{ErrBadFile, syscall.ENAMETOOLONG},
	{ErrMemory, syscall.ENOMEM},
	{ErrNotExist, fs.ErrNotExist},
	{ErrExists, fs.ErrExist},
	{ErrPermission, fs.ErrPermission},
	{ErrShortRead, io.ErrUnexpectedEOF},
	{ErrShortWrite, io.ErrShortWrite},
	{ErrCancelled, context.Canceled},
	{ErrCancelled, context.DeadlineExceeded},
	{ErrIO, syscall.EIO},
}

// classOf returns the class of any error, 0 if it has none.
func classOf(err error) Class {
	if c, ok := errors.AsType[Class](err); ok {
		return c
	}
	for _, t := range twins {
		if errors.Is(err, t.err) {
			return t.class
		}
	}
	return 0
}

// Error is a failed call of this package.
type Error struct {
	Op    string // the call, such as "recv" or "write"
	Class Class
	Code  int    // the MPI library's own code; 0: the error is not the library's
	Msg   string // what failed, where and why
	err   error  // the cause, if it is an error of the standard library
}

func (e *Error) Error() string { return "mpi: " + e.Op + ": " + e.Msg }

// Unwrap returns the class and the cause, so that errors.Is finds both.
func (e *Error) Unwrap() []error {
	if e.err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.err}
}

func errf(op string, class Class, format string, args ...any) *Error {
	return &Error{Op: op, Class: class, Msg: fmt.Sprintf(format, args...)}
}

// fileError wraps an error of package os.
func fileError(op, name string, off int64, err error) error {
	if err == nil {
		return nil
	}
	cause := err
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		cause = pe.Err
	}
	if off >= 0 {
		name = fmt.Sprintf("%s: offset %d", name, off)
	}
	e := errf(op, cmp.Or(classOf(err), ErrIO), "%s: %v", name, cause)
	e.err = err
	return e
}

// PanicError is a panic of one rank, as RunInProcess and Main report it.
type PanicError struct {
	Value string // the panic value, printed
	Stack []byte
}

func (e *PanicError) Error() string { return "panic: " + e.Value }

// Code is the exit code of an internal error.
func (e *PanicError) Code() int { return 6 }

// AbortError is what RunInProcess returns after a rank called Abort.
type AbortError struct{ ExitCode int }

func (e *AbortError) Error() string { return fmt.Sprintf("aborted with exit code %d", e.ExitCode) }

// Code is the exit code given to Abort.
func (e *AbortError) Code() int { return e.ExitCode }

// RankError says which rank an error came from.
type RankError struct {
	Rank int
	Err  error
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

func (e *RankError) Unwrap() error { return e.Err }
