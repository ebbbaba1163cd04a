package mpi

import (
	"fmt"
	"os"
	"runtime/debug"
)

// World is the communicator of all ranks of a started job.
type World struct {
	comm   Comm
	finish func(code int) int
}

// Finish ends the communication and returns the exit code for this process: the most severe of all ranks' codes (see severities). A rank
// with code 0 waits for the others without limit. A rank with another code waits 10 s and then aborts the job with its code, because the
// others may wait for it in vain.
func (w *World) Finish(code int) int { return w.finish(code) }

// Main runs a program whose ranks were started by a launcher. It starts MPI, calls run, and exits with the code that Finish returns. A
// panic prints its message and stack, and ends all ranks with code 6. A launcher that this binary cannot join gives code 2.
//
// Without a launcher, or without MPI in the binary, there is one rank.
func Main(run func(Comm) int) {
	w, err := Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(w.Run(run))
}

// Run is Main for a started world, and returns the exit code. Nothing can be sent afterwards.
func (w *World) Run(run func(Comm) int) int {
	return w.Finish(w.guard(run))
}

// guard calls run. It aborts the job if run panics or ends its goroutine.
func (w *World) guard(run func(Comm) int) int {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = "the rank ended without returning"
		}
		fmt.Fprintf(os.Stderr, "mpi: rank %d of %d: panic: %v\n%s", w.comm.Rank(), w.comm.Size(), v, debug.Stack())
		w.comm.Abort(6)
	}()
	code := run(w.comm)
	returned = true
	return code
}

// codeKey orders exit codes by severity, for a reduction by maximum.
func codeKey(code int) int64 {
	code &= 0xff
	return int64(severity(code))<<32 | int64(code)
}
