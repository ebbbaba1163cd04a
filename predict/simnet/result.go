package simnet

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Options are options of a run. The zero value is the default.
type Options struct {
	Workers  int // goroutines of this rank; 0: GOMAXPROCS, but at most one for 256 processes
	Ring     int // initial slots of a channel; 0: 64. Rings grow if the program needs it.
	Observer Observer
}

// Calc is the computation between calls.
type Calc interface {
	// Fill writes entries first, first+1, ... of a process's computation vector to dst, in picoseconds. Entry i precedes call i; one more
	// entry follows after the last call; later entries are 0. Calls for one process have contiguous ascending ranges and do not run at the
	// same time; calls for different processes may.
	Fill(process uint32, first uint64, dst []int64) error
}

// Observer is called when calls begin and end.
type Observer interface {
	// Calls reports consecutive calls of a process: call first+i took from times[2i] to times[2i+1], in picoseconds. Reports of one process
	// come in order, and not at the same time.
	Calls(process uint32, first uint64, times []int64) error
}

// ProcessTimes is the time of one process by category, in picoseconds. Compute, Send, Receive, Wait, Collective and File add up to Finish.
type ProcessTimes struct {
	Finish     int64 // when the process ends
	Compute    int64 // entries of the computation vector
	Send       int64 // in calls that send and do not receive
	Receive    int64 // in calls that receive, MPI_Sendrecv included
	Wait       int64 // in calls that complete requests of earlier calls, and in probes
	Collective int64
	File       int64
	Calls      uint64
	Messages   uint64 // number of messages sent
}

// Result is the outcome of a run for the processes of one rank.
type Result struct {
	First uint32 // first process
	Times []ProcessTimes
	// Makespan is the largest Finish of all processes of the run.
	Makespan int64
	// Events is the number of operations and messages of all processes.
	Events uint64
	// Unmatched is the number of posts of all processes that had no partner and were left out.
	Unmatched uint64
}

func (r *Result) add(list ...ProcessTimes) {
	r.Times = append(r.Times, list...)
	for i := range list {
		r.Makespan = max(r.Makespan, list[i].Finish)
	}
}

// Blocked is a process in a deadlock: the call that it is in and the process that it waits for.
type Blocked struct {
	Process uint32
	Call    uint64         // number of the call, from 0
	Node    program.NodeID // the call's node
	For     uint32         // the process that does not post what this one needs
}

// Deadlock says that the program stops forever.
type Deadlock struct {
	Cycle []Blocked
	// Eager is the least eager limit in bytes with which this cycle does not happen, 0 if there is none.
	Eager uint64
}

// Error describes the cycle.
func (d *Deadlock) Error() string {
	var b strings.Builder
	b.WriteString("the program deadlocks:")
	for i, x := range d.Cycle {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(d.Cycle)-i)
			break
		}
		fmt.Fprintf(&b, " process %d waits in call %d for process %d;", x.Process, x.Call, x.For)
	}
	return strings.TrimSuffix(b.String(), ";")
}
