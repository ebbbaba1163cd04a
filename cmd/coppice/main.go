// Command coppice analyses event traces of parallel programs. Every verb is one
// file of this package; the work is done in the packages below.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
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
	verb     string    // that runs, such as "capacity solve"
	runs     *openRuns // of the verb
}

// run runs one verb and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	s := streams{out: out, err: errs, runs: &openRuns{}}
	args = slices.Clone(args)
	if len(args) > 0 && args[0] == "--version" {
		args[0] = "version"
	}
	root := commands(s)
	root.SetArgs(append([]string{}, args...)) // nil would be those of the process
	c, err := root.ExecuteC()
	s.verb = nameOf(c)
	return conclude(s.runs.close(err), s)
}

// conclude prints the error of a verb and returns its exit code.
func conclude(err error, s streams) int {
	if err == nil {
		return jobs.ExitDone
	}
	code := jobs.ExitCode(err)
	if errors.Is(err, errSilent) {
		return code // the status of a recorded program, maybe
	}
	verb := ""
	if of := (ofVerb{}); errors.As(err, &of) && s.verb != "" {
		verb = s.verb + ": "
	}
	fmt.Fprintf(s.err, "coppice: %s%s.%s\n", verb, strings.TrimRight(err.Error(), "."), advice(err))
	if code == jobs.ExitInternal {
		fmt.Fprintln(s.err, "coppice: this is a bug of coppice; please report it with the input's `coppice info` and the command line.")
	}
	return code
}

// ofVerb is an error whose message begins with the name of the verb.
type ofVerb struct{ error }

func (e ofVerb) Unwrap() error { return e.error }

// fail is an error of a verb with its exit code.
func fail(code int, format string, args ...any) error {
	return jobs.Fail(code, ofVerb{fmt.Errorf(format, args...)})
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return fail(jobs.ExitUsage, format, args...) }
