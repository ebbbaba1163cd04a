package main

import (
	"io"
	"os"

	"github.com/coppice-hpc/coppice/jobs/levers"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/spf13/cobra"
)

// leversVerb estimates what changes of the program would gain.
func leversVerb(s streams) *cobra.Command {
	o := levers.Options{Scratch: os.TempDir()}
	print := output{more: []string{"csv", "md", "html"}}
	var job jobFlags
	c := verb("levers RUN.xtf", "what changes of the program would be worth: the run is replayed with each", 1, 1,
		"coppice levers run.xtf",
		"coppice levers run.xtf --scale region:solve=0.5 --remove call:MPI_Barrier@exchange --run whatif.xtf",
		"mpirun -n 16 coppice levers run.xtf --targets 20 -o levers.json --format json")
	f := c.Flags()
	print.define(f)
	atLeast(f, 1, &o.Targets, "targets", "", 6, "functions, intervals and call sites of each kind that are tried")
	o.MemBytes = 256 << 20
	f.Var((*size)(&o.MemBytes), "mem", "memory per rank for what was read; the rest goes to a file")
	asked := [][2]string{
		{"scale", "region:NAME=FACTOR, interval:NAME=FACTOR or call:NAME=FACTOR: own code, or MPI calls apart from waits, take this part of their time (repeatable)"},
		{"balance", "region:NAME or interval:NAME: every process takes the mean of those that run it (repeatable)"},
		{"remove", "call:NAME or call:NAME@CALLER: collective operations that nobody calls (repeatable)"},
		{"no-wait", "call:NAME or call:NAME@CALLER: what these MPI calls wait for comes in time (repeatable)"},
		{"earlier-receive", "call:NAME or call:NAME@CALLER: receives of what these calls send are posted before, and end in the next MPI call of the receiver (repeatable)"},
	}
	texts := map[string]*[]string{}
	for _, x := range asked {
		texts[x[0]] = f.StringArray(x[0], nil, "try this change instead: "+x[1])
	}
	f.StringVar(&o.Output, "run", "", "write the run with these changes: an XTF file for report, diff and serve")
	print.defineLimit(f, longTables)
	job.define(f, "")
	return s.does(c, func(operands []string, s streams) error {
		o.Run = operands[0]
		for _, x := range asked {
			for _, text := range *texts[x[0]] {
				change, err := levers.ParseChange(x[0], text)
				if err != nil {
					return usage("%w", err)
				}
				o.Changes = append(o.Changes, change)
			}
		}
		if o.Output != "" && len(o.Changes) == 0 {
			return usage("--run writes the run with changes; give some, such as --scale region:NAME=0.5")
		}
		o.Analyze.Force, o.Analyze.Version, o.Analyze.PID, o.Analyze.Job = print.force, version, os.Getpid(), os.Getenv("SLURM_JOB_ID")
		o.Analyze.Host, _ = os.Hostname()
		return launch(job.ranks, s, func(c mpi.Comm) error {
			o := o
			d := job.display(c, &o.Show, s)
			r, err := levers.Run(c, o)
			d.end(err)
			if err != nil {
				return stopped(c, o.Run, err, s)
			}
			if c.Rank() == 0 {
				var run *results.Run
				if run, err = s.runs.open(o.Run); err == nil {
					err = print.print(s, r, func(w io.Writer) error { return about(w, run, "levers", r) })
				}
			}
			return mpi.AgreeOn(c, err, errSilent)
		})
	}, print.check)
}
