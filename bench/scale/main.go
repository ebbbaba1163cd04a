// Command scale counts what the ranks of `coppice analyze` do, and says what that costs on a machine that is not there.
//
//	scale weak     the same work for every rank
//	scale strong   the same trace for any number of ranks
//	scale lengths  programs in two lengths: what more events add to what a rank counts
//	scale simulate the counted calls of many ranks on a described cluster
//
// The job is the real one, analyze.Run, on generated traces: with goroutine ranks, or with those that mpirun starts. Nothing is
// judged by time; what a unit of work costs goes into the simulation.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/coppice-hpc/coppice/mpi"
)

func main() {
	if mpi.Launched() {
		mpi.Main(func(c mpi.Comm) int { return report(launched(c, os.Args[1:])) })
	}
	os.Exit(report(command(os.Stdout, os.Args[1:])))
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		return 1
	}
	return 0
}

var errUsage = errors.New("say weak, strong, lengths or simulate")

// command runs a subcommand.
func command(w io.Writer, args []string) error {
	name, s, err := parse(args)
	if err != nil {
		return err
	}
	switch name {
	case "weak", "strong":
		return scaling(w, s)
	case "lengths":
		return lengths(w, s)
	case "simulate":
		return simulation(w, s)
	}
	return fmt.Errorf("%q: %w", name, errUsage)
}

func parse(args []string) (string, *settings, error) {
	if len(args) == 0 {
		return "", nil, errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	s := newSettings(flags)
	s.strong = args[0] == "strong"
	return args[0], s, flags.Parse(args[1:])
}

// launched is what the ranks of mpirun do: rank 0 prints the figures of all as JSON.
func launched(c mpi.Comm, args []string) error {
	_, s, err := parse(args)
	if err != nil {
		return err
	}
	f, err := s.onRanks(c)
	if err != nil || c.Rank() > 0 {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}
