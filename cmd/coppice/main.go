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
	describe func(f *pflag.FlagSet, examples []string)
	runs     *openRuns // of the verb
}

// run runs one verb and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	s := streams{out: out, err: errs, runs: &openRuns{}}
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
	if v := find(verbs(), args[0]); v != nil {
		return conclude(s.runs.close(v.call(args[1:], s)), s)
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

// usage is an error of the command line.
func usage(format string, args ...any) error {
	return jobs.Fail(jobs.ExitUsage, fmt.Errorf(format, args...))
}
