// Command predict measures the network simulator on generated programs, and writes them for other simulators.
//
//	predict events PATTERN PROCESSES ITERATIONS [BYTES [CALC [JITTER]]]   runs the event engine
//	predict flow [unroll] [workers=N]        [runs=N] the same             runs the dataflow engine
//	predict goal the same                                                  writes a schedule for LogGOPSim
//	predict smpi FOLDER the same                                           writes traces and a cluster for SimGrid
//
// The first two print makespan in ns, events, seconds of processor time without making the program, millions of events in
// such a second, and the peak of the process's memory in MB. Patterns are those of bench/predict/workload. bench/run simulation
// compares.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// sections are what the first argument names.
var sections = map[string]func(w io.Writer, args []string) error{
	"events": events,
	"flow":   flow,
	"goal":   goal,
	"smpi":   smpi,
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/predict:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	if len(args) == 0 || sections[args[0]] == nil {
		return fmt.Errorf("usage: see the comment of the command")
	}
	return sections[args[0]](w, args[1:])
}

// goal writes the program of a spec.
func goal(w io.Writer, args []string) error {
	s, err := spec(args)
	if err != nil {
		return err
	}
	p, c, err := workload.Make(s)
	if err != nil {
		return err
	}
	return writeGOAL(w, p, c)
}

// spec reads a pattern and up to five numbers; the last three are those of the comparison where they are missing.
func spec(args []string) (workload.Spec, error) {
	n := [5]int64{0, 0, 8192, 100_000, 5_000}
	if len(args) < 3 || len(args) > 6 {
		return workload.Spec{}, fmt.Errorf("a program is PATTERN PROCESSES ITERATIONS [BYTES [CALC [JITTER]]]")
	}
	for i, a := range args[1:] {
		v, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			return workload.Spec{}, err
		}
		n[i] = v
	}
	return workload.Spec{
		Pattern: args[0], Processes: int(n[0]), Iterations: int(n[1]), Bytes: uint64(n[2]), Calc: n[3], Jitter: n[4],
	}, nil
}

// comparison is the network of those with LogGOPSim: L=2500 o=1500 g=1000 G=6 O=0 S=65535, ns.
func comparison(policy network.Policy) *network.Network {
	n := &network.Network{Policy: policy, RanksPerNode: 1, NoRendezvousLatency: policy == network.Arrival}
	for i := range n.Links {
		n.Links[i] = network.Link{
			Latency: 2_500_000, SendOver: 1_500_000, RecvOver: 1_500_000, Gap: 1_000_000, PerByte: 6000 << 32, Eager: 65535,
		}
	}
	return n
}

// report prints what a run of an engine gave and took.
func report(w io.Writer, s workload.Spec, r *simnet.Result, seconds float64) error {
	_, err := fmt.Fprintf(w, "%s: %d ns, %d events, %.3f s, %.1f M/s, %d MB\n",
		s, r.Makespan/1000, r.Events, seconds, float64(r.Events)/seconds/1e6, usage().Maxrss>>10)
	return err
}

// processorTime returns the seconds of processor time that the process has taken, of user and system.
func processorTime() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// usage is what the process has taken so far.
func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for other arguments alone
	return u
}
