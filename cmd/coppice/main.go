// Command coppice analyses event traces of parallel programs. Every verb is one
// file of this package; the work is done in the packages below.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/spf13/pflag"
)

// version is the tool's version; it stands in files as part of what decides
// their bytes.
const version = "0.1.0"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// streams are where a verb writes: results to out, everything else to err.
type streams struct {
	out, err io.Writer
	// describe, where not nil, gets what --help would print.
	describe func(f *pflag.FlagSet, operands string, examples []string)
}

// verb is one command. Its run gets the arguments after its name and returns an
// error that jobs.ExitCode understands.
type verb struct {
	name  string
	usage string // operands
	short string
	run   func(args []string, s streams) error
	parts []string // verbs of its own
}

// verbs are the commands, in the order of the help text.
func verbs() []verb {
	return []verb{
		{"info", "TRACE|RUN.xtf|LOG|STATUS", "what is in a trace, a result, a receive log or a status file", runInfo, nil},
		{"analyze", "TRACE -o RUN.xtf", "analyse a trace into one file, on all ranks", runAnalyze, nil},
		{"report", "RUN.xtf [SECTION]...", "print results: summary, intervals, waits, pop, profile, paths, histogram, comm, ccg, diagnostics; scaling of several runs", runReport, []string{"scaling"}},
		{"diff", "A.xtf B.xtf", "two runs side by side: what got worse, by how much, and what made it so", runDiff, nil},
		{"serve", "RUN.xtf [PREDICTED.xtf]", "show a run in the browser: timeline, messages, waits, intervals, statistics of any window", runServe, nil},
		{"query", "RUN.xtf PRIMITIVE", "rows by time, key or number; calls, intervals and timelines from the call graph", runQuery, nil},
		{"export", "RUN.xtf --to FORM -o PATH", "write a result for other tools: OTF2 archive, Perfetto or Chrome timeline, tables as CSV, Parquet or Arrow", runExport, nil},
		{"check", "TRACE|RUN.xtf", "verify a trace or a result to the last page", runCheck, nil},
		{"record", "-o DIR -- mpirun ...", "trace a program that uses MPI into an OTF2 archive", runRecord, nil},
		{"replay", "LOG -- ./program ...", "run one process of a recorded program alone, its MPI calls answered from its receive log", runReplay, nil},
		{"plan", "VERB INPUT", "ranks, nodes, memory and time of a job on a cluster; its batch script; --submit", runPlan, nil},
		{"platform", "show|convert|measure", "the machine of a prediction: show its file, convert one of another tool, or measure this machine", runPlatform, platformParts},
		{"predict", "RUN.xtf --platform P.toml", "how long the run takes on another machine: simulated network, measured or scaled computation", runPredict, nil},
		{"capacity", "extract|solve|sweep|check|plan", "how long jobs with pipeline parallelism take, alone and with others, and what machines a target needs", runCapacity, capacityParts},
		{"demo", "", "write the trace of a generated program", runDemo, nil},
		{"completion", "bash|zsh|fish", "print what a shell needs to complete verbs and flags", runCompletion, nil},
		{"manual", "DIR", "write the manual pages", runManual, nil},
		{"version", "", "print versions", runVersion, nil},
	}
}

// run runs one verb and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	s := streams{out: out, err: errs}
	if len(args) == 0 {
		printHelp(errs)
		return jobs.ExitUsage
	}
	switch args[0] {
	case "help", "-h", "--help":
		return conclude(help(args[1:], s), s)
	case "--version":
		args[0] = "version"
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return conclude(v.run(args[1:], s), s)
		}
	}
	fmt.Fprintf(errs, "coppice: %q is no verb. Run coppice help for the list.\n", args[0])
	return jobs.ExitUsage
}

// conclude prints the error of a verb and returns its exit code.
func conclude(err error, s streams) int {
	if err == nil {
		return jobs.ExitDone
	}
	if errors.Is(err, pflag.ErrHelp) {
		return jobs.ExitDone
	}
	code := jobs.ExitCode(err)
	if errors.Is(err, errSilent) {
		return code // the status of a recorded program, maybe
	}
	fmt.Fprintf(s.err, "coppice: %s.%s\n", strings.TrimSuffix(err.Error(), "."), advice(err))
	if code == jobs.ExitInternal {
		fmt.Fprintln(s.err, "coppice: this is a bug of coppice; please report it with the input's `coppice info` and the command line.")
	}
	return code
}

func printHelp(w io.Writer) {
	fmt.Fprintln(w, "coppice analyses event traces of MPI programs, on as many ranks as you give it.\n\nUsage: coppice VERB [flags] OPERAND...\n\nVerbs:")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-8s %-22s %s\n", v.name, v.usage, v.short)
	}
	fmt.Fprintln(w, "\ncoppice VERB --help shows the flags of a verb.")
	printTopics(w)
}

// usage is an error of the command line.
func usage(format string, args ...any) error {
	return jobs.Fail(jobs.ExitUsage, fmt.Errorf(format, args...))
}

// flags returns the flag set of a verb, whose help begins with the examples.
func flags(name, operands string, s streams, examples ...string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(s.err)
	f.SortFlags = false
	f.Usage = func() {
		if s.describe != nil {
			s.describe(f, operands, examples)
			return
		}
		fmt.Fprintf(s.out, "Usage: coppice %s [flags] %s\n\nExamples:\n", name, operands)
		for _, e := range examples {
			fmt.Fprintf(s.out, "  %s\n", e)
		}
		fmt.Fprintf(s.out, "\nFlags:\n%s", f.FlagUsages())
	}
	return f
}

// parse parses the arguments of a verb that takes between least and most operands.
func parse(f *pflag.FlagSet, args []string, least, most int) ([]string, error) {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, usage("%s: %w. Run coppice %s --help.", f.Name(), err, f.Name())
	}
	if n := f.NArg(); n < least || n > most {
		return nil, usage("%s: %d operands given. Run coppice %s --help.", f.Name(), n, f.Name())
	}
	return f.Args(), nil
}
