package main

import (
	"context"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/spf13/cobra"
)

func infoVerb(s streams) *cobra.Command {
	var o output
	var follow bool
	c := verb("info TRACE|RUN.xtf|LOG|STATUS", "what is in a trace, a result, a receive log or a status file", 1, 1,
		"coppice info scorep-run/traces.otf2",
		"coppice info epoch.prv.gz",
		"coppice info run.xtf --format json",
		"coppice info run1/logs/0.log",
		"coppice info coppice-1234.status --follow")
	f := c.Flags()
	o.define(f)
	f.BoolVar(&follow, "follow", false, "of a status file: a line whenever it changes, until the job has ended; waits for a file that is not there yet")
	return s.does(c, func(operands []string, s streams) error {
		path := operands[0]
		if follow {
			if o.format != "text" || !o.toStdout() {
				return usage("--follow prints lines of text to standard output: leave out --format and -o")
			}
			return slurm.FollowStatus(context.Background(), path, s.out)
		}
		r, err := info(path, s)
		if err != nil {
			return readError(path, err)
		}
		return o.show(s, r, "info")
	}, o.check)
}

// info looks at a file.
func info(path string, s streams) (*results.Answer, error) {
	kind, head, err := inspect.Recognise(path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case inspect.KindRun:
		run, err := s.runs.open(path)
		if err != nil {
			return nil, err
		}
		return inspect.Run(run)
	case inspect.KindLog:
		return inspect.Log(path)
	case inspect.KindStatus:
		return inspect.Status(path, head)
	}
	return inspect.Trace(path)
}
