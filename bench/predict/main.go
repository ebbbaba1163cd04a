// Command predict measures the network simulator on generated programs.
//
//	predict compare [-rounds N] [-loggopsim FOLDER]                        both, for the programs of the comparison
//	predict events PATTERN PROCESSES ITERATIONS [BYTES [CALC [JITTER]]]   runs the event engine
//	predict flow [unroll] [skip] [workers=N] the same                      runs the dataflow engine
//	predict goal   the same                                               writes the program as a schedule for LogGOPSim
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/workload"
)

// sections are what the first argument names.
var sections = map[string]func(w io.Writer, args []string) error{
	"compare": compare,
	"events":  events,
	"flow":    flow,
	"goal":    goal,
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
	return workload.WriteGOAL(w, p, c)
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
