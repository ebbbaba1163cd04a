package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
)

func recordVerb(s streams) *cobra.Command {
	o := record.Options{Out: s.out, Err: s.err}
	var bytes, logBytes size
	var finish, ranks string
	c := verb("record -o DIR -- LAUNCHER PROGRAM", "trace a program that uses MPI into an OTF2 archive", 0, 1<<20,
		"coppice record -o run1 -- mpirun -n 8 ./program",
		"coppice record -o run2 --cc mpicc.mpich -- mpiexec.hydra -n 8 ./script.sh",
		"coppice record --finish run1")
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "folder of the archive (required)")
	defineCompiler(f, &o.Compiler, "")
	f.Var(&bytes, "max-bytes", "most bytes of the archive, as 500M: a process that used up its share goes on unrecorded")
	f.BoolVar(&o.Keep, "keep", false, "keep what the processes wrote, beside the archive made of it")
	f.StringVar(&ranks, "log-ranks", "", "world ranks, as 0,3, of which all that they receive is written to logs/R.log in the folder, for coppice replay; or RUN.xtf of coppice analyze --classes: its representatives")
	f.Var(&logBytes, "log-max-bytes", "most bytes of a receive log, as 2G; then the process goes on without it")
	f.BoolVar(&o.Log.Wtime, "log-wtime", false, "with the results of MPI_Wtime in the receive logs: for programs that decide by the clock")
	f.BoolVar(&o.CPUTime, "cpu-time", false, "with the processor time between MPI calls: vectors/R.csv of each process, to compare with coppice replay")
	f.StringSliceVar(&o.Counters, "counters", nil, "with these counters of the processor and the kernel, as instructions,cycles, at every call and region")
	f.StringVar(&finish, "finish", "", "make the archive of a recording in this folder whose launcher was killed")
	f.SetInterspersed(false)
	return s.does(c, func(operands []string, s streams) error {
		o.Bytes, o.Log.Bytes = int64(bytes), int64(logBytes)
		return recordRun(&o, finish, ranks, operands, s)
	})
}

// defineCompiler defines the flag of how the layer between a program and its MPI library is built.
func defineCompiler(f *pflag.FlagSet, to *string, of string) {
	f.StringVar(to, "cc", "", of+"compiler wrapper of the program's MPI library (default: found by the program's libraries)")
}

// recordRun records a command, or finishes a recording.
func recordRun(o *record.Options, finish, ranks string, operands []string, s streams) (err error) {
	if mpi.Launched() { // every rank would start the program, into one folder
		return launch(1, s, func(c mpi.Comm) error {
			return mpi.AgreeOn(c, usage("it starts the launcher itself: write coppice record -o DIR -- mpirun -n %d %s", c.Size(), strings.Join(operands, " ")))
		})
	}
	if finish != "" {
		if len(operands) > 0 || o.Output != "" {
			return usage("--finish DIR takes no command and no -o: the archive goes beside the recording")
		}
		r, err := record.Finish(finish, o.Keep)
		return concludeRecord(r, err, s)
	}
	switch {
	case o.Output == "":
		return usage("-o DIR is missing: name the folder of the archive")
	case len(operands) == 0:
		return usage("no command: write it after --, as in coppice record -o run1 -- mpirun -n 8 ./program")
	}
	if o.Log.Ranks, err = logRanks(ranks); err != nil {
		return err
	}
	o.Command, o.Cache = operands, cacheFolder()
	r, err := record.Run(context.Background(), *o)
	return concludeRecord(r, err, s)
}

// cacheFolder is where what is built for an MPI library is kept.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "coppice")
}

// concludeRecord says what was recorded. The exit status is that of the command, unless that is 0 and there is no archive.
func concludeRecord(r *record.Result, err error, s streams) error {
	if err != nil {
		return failedRecord(r, err, s)
	}
	cut := make(map[string][]int)
	for _, rank := range slices.Sorted(maps.Keys(r.Cut)) {
		cut[r.Cut[rank]] = append(cut[r.Cut[rank]], rank)
	}
	for _, why := range slices.Sorted(maps.Keys(cut)) {
		fmt.Fprintf(s.err, "coppice: %s of %d without MPI_Finalize (rank %s): %s\n", report.Plural(len(cut[why]), "process"), r.Processes, rankList(cut[why]), why)
	}
	for _, d := range r.Found {
		fmt.Fprintf(s.err, "coppice: %s: %d times; first: %s\n", d.Code.Text(), max(d.Count, 1), d.Detail)
	}
	fmt.Fprintf(s.err, "coppice: %s: %s recorded. Next: coppice analyze %s -o run.xtf\n", r.Archive, report.Plural(r.Processes, "process"), r.Archive)
	for _, name := range r.Logs {
		fmt.Fprintf(s.err, "coppice: %s: receive log. Next: coppice info %s\n", name, name)
	}
	for _, rank := range slices.Sorted(maps.Keys(r.Uncounted)) {
		fmt.Fprintf(s.err, "coppice: %s without the counters; rank %d: %s\n", report.Plural(len(r.Uncounted), "process"), rank, r.Uncounted[rank])
		break
	}
	for _, rank := range r.Unlogged {
		fmt.Fprintf(s.err, "coppice: rank %d has no receive log: no such process came to the end of MPI_Init\n", rank)
	}
	if r.Exit != 0 {
		fmt.Fprintf(s.err, "coppice: the command ended with status %d\n", r.Exit)
		return jobs.Fail(r.Exit, errSilent)
	}
	return nil
}

// recordError gives an error of package record its exit code.
func recordError(err error) error {
	var output *record.OutputError
	if errors.As(err, &output) {
		return outputError(err)
	}
	return ofVerb{err}
}

func failedRecord(r *record.Result, err error, s streams) error {
	err = recordError(err)
	switch {
	case r != nil && r.Exit != 0:
		fmt.Fprintf(s.err, "coppice: %s: %v\ncoppice: the command ended with status %d\n", s.verb, err, r.Exit)
		return jobs.Fail(r.Exit, errSilent)
	case errors.Is(err, record.ErrExists), errors.Is(err, record.ErrProgram), errors.Is(err, record.ErrCompiler), errors.Is(err, record.ErrRank),
		errors.Is(err, record.ErrCounter):
		return jobs.Fail(jobs.ExitUsage, err)
	case errors.Is(err, record.ErrNothing):
		return jobs.Fail(jobs.ExitInput, err)
	}
	return err
}
