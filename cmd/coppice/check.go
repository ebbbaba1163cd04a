package main

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/spf13/cobra"
)

func checkVerb(s streams) *cobra.Command {
	var o output
	var job jobFlags
	c := verb("check TRACE|RUN.xtf", "verify a trace or a result to the last page", 1, 1,
		"coppice check run.xtf",
		"coppice check scorep-run/traces.otf2 -j 8",
		"coppice check run.xtf --format json > check.json")
	f := c.Flags()
	o.define(f)
	job.define(f, "")
	f.Lookup("jobs").Usage = "number of locations to look at together"
	o.defineLimit(f, "problems to list in text")
	return s.does(c, func(operands []string, s streams) error { return check(operands[0], &job, &o, s) }, o.check)
}

// check checks a file and prints the result.
func check(path string, job *jobFlags, o *output, s streams) error {
	kind, _, err := inspect.Recognise(path)
	if err != nil {
		return readError(path, err)
	}
	switch kind {
	case inspect.KindStatus:
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: a status file: nothing to check. Give an archive or a result", path))
	case inspect.KindLog:
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: a receive log: coppice info reads all of it and says what is damaged", path))
	}
	var show func(jobs.Progress)
	d := job.display(mpi.Serial(), &show, s)
	r, clean, err := inspect.Check(path, kind, job.ranks, show)
	d.end(err)
	if r != nil {
		if err := o.show(s, r, "check"); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return readError(path, err)
	case !clean:
		return jobs.Fail(jobs.ExitFound, errSilent)
	}
	return nil
}
