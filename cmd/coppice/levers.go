package main

import (
	"io"
	"os"

	"github.com/coppice-hpc/coppice/jobs/levers"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/spf13/cobra"
)

// leversVerb finds out what changes of the program would be worth.
func leversVerb(s streams) *cobra.Command {
	o := levers.Options{Scratch: os.TempDir()}
	print := output{more: []string{"csv", "md", "html"}}
	var job jobFlags
	c := verb("levers RUN.xtf", "what changes of the program would be worth: the run is replayed with each", 1, 1,
		"coppice levers run.xtf",
		"mpirun -n 16 coppice levers run.xtf --targets 20 -o levers.json --format json")
	f := c.Flags()
	print.define(f)
	atLeast(f, 1, &o.Targets, "targets", "", 6, "functions, intervals and call sites of each kind that are tried")
	o.MemBytes = 256 << 20
	f.Var((*size)(&o.MemBytes), "mem", "memory per rank for what was read; the rest goes to a file")
	print.defineLimit(f, longTables)
	job.define(f, "")
	return s.does(c, func(operands []string, s streams) error {
		o.Run = operands[0]
		return launch(job.ranks, s, func(c mpi.Comm) error {
			o := o
			d := job.display(c, &o.Show, s)
			r, err := levers.Run(c, o)
			d.end(err)
			if err != nil {
				return stopped(c, err, s)
			}
			if c.Rank() == 0 {
				err = printLevers(o.Run, r, &print, s)
			}
			return mpi.AgreeOn(c, err, errSilent)
		})
	}, print.check)
}

func printLevers(path string, r *levers.Report, print *output, s streams) error {
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	return print.write(s, func(w io.Writer) error {
		if print.format != "json" {
			return table.Write(w, r, print.format, print.style(s))
		}
		a, err := results.NewAnswer(run, results.Value(r), nil)
		if err != nil {
			return readError(path, err)
		}
		return a.WriteJSON(w, a.Brief, "levers", a.Value)
	})
}
