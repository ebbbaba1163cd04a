package simnet

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Options steer a run. The zero value is good.
type Options struct {
	Workers  int // goroutines of this rank; 0: GOMAXPROCS, but no more than one for 256 processes
	Ring     int // slots of a channel at first, 0: 64. Rings grow where the program needs it.
	Observer Observer
}

// Calc is the computation between calls.
type Calc interface {
	// Fill writes entries first, first+1, ... of a process's computation vector to dst, in picoseconds. Entry i lies before
	// the process's call i; the entry after the last call is the last. Calls for one process ask for ascending ranges, and
	// come from one goroutine at a time; those for others may come meanwhile. The ranges adjoin.
	// Entries after the last are 0.
	Fill(process uint32, first uint64, dst []int64) error
}

// Observer is called when calls begin and end.
type Observer interface {
	// Calls reports adjoining calls of a process: call first+i took from times[2i] to times[2i+1], in picoseconds. It comes
	// in order for one process, and from one goroutine at a time for one process.
	Calls(process uint32, first uint64, times []int64) error
}

// ProcessTimes is where the time of one process went, in picoseconds. Compute, Send, Receive, Wait, Collective and File
// add up to Finish.
type ProcessTimes struct {
	Finish     int64 // end of the process
	Compute    int64 // entries of the computation vector
	Send       int64 // in calls that send and do not receive
	Receive    int64 // in calls that receive, MPI_Sendrecv included
	Wait       int64 // in calls that complete requests of earlier calls, and in probes
	Collective int64
	File       int64
	Calls      uint64
	Messages   uint64 // sent
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

// Blocked is one process of a deadlock: the call it is in and the process it waits for.
type Blocked struct {
	Process uint32
	Call    uint64         // ordinal
	Node    program.NodeID // the call's node
	For     uint32         // the process that does not post what this one needs
}

// Deadlock says that the program stops for ever.
type Deadlock struct {
	Cycle []Blocked
	// Eager is the least eager limit at which this cycle does not happen, 0 if none helps.
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
