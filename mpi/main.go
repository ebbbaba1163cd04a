package mpi

import (
	"fmt"
	"os"
	"runtime/debug"
)

// World is a started communicator of all ranks.
type World struct {
	comm   Comm
	finish func(code int) int
}

// Finish ends the communication and returns the exit code for this process: the most severe of all ranks' codes, by
// severities. A rank with code 0 waits for the others without limit. A rank with another code waits 10 s; when others
// still go on then, they would wait for it in vain, and the whole job is aborted with that code.
func (w *World) Finish(code int) int { return w.finish(code) }

// Main is the entry of a program whose ranks were started by a launcher: it starts MPI, calls run, and exits with the
// code that Finish returns. It does not return. A panic prints its message and stack, and ends all ranks with code 6;
// a launcher that this binary cannot join gives code 2.
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

// Run calls run and ends the communication like Main, but returns the exit code. Nothing can be sent afterwards.
func (w *World) Run(run func(Comm) int) int {
	return w.Finish(w.guard(run))
}

// guard calls run and aborts the job when it panics or ends its goroutine.
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

// codeKey orders exit codes for a reduction by maximum: severity first.
func codeKey(code int) int64 {
	code &= 0xff
	return int64(severity(code))<<32 | int64(code)
}
