package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type planFlags struct {
	output    string
	then      []string
	site      string
	scheduler string
	launcher  string
	goal      time.Duration
	rate      size
	calibrate bool
	serial    float64 // share of a location that one rank alone can do
	ranks     int     // asked for
	nodes     int
	mem       size
	limit     time.Duration
	expect    size // trace of a recording
	format    string
	submit    bool
	follow    bool
}

func planVerb(s streams) *cobra.Command {
	var o planFlags
	c := verb("plan VERB INPUT [-- ARGUMENT...]", "ranks, nodes, memory and time of a job on a cluster; its batch script; --submit", 1, 1<<20,
		"coppice plan analyze scorep-run/traces.otf2 -o run.xtf",
		"coppice plan analyze scorep-run/traces.otf2 -o run.xtf --format script > job.sh",
		"coppice plan analyze scorep-run/traces.otf2 -o run.xtf --submit --follow -- --events none",
		"coppice plan analyze scorep-run/traces.otf2 -o run.xtf --then 'predict --platform cluster.toml' --submit",
		"coppice plan record run1 --ranks 512 --time 30m --expect 200GB --then analyze --submit -- ./program input",
		"coppice plan predict run.xtf -- --platform cluster.toml")
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "what the verb writes (default: from the name of its input; of predict nothing but the report)")
	f.StringArrayVar(&o.then, "then", nil, "a job that starts when the one before has ended well and reads what it wrote: a verb and its arguments, such as 'predict --platform P.toml' (repeatable)")
	f.StringVar(&o.site, "site", os.Getenv("COPPICE_SITE"), "the machine: a site file, docs/slurm.md (default coppice/site.toml in the user's folder of configurations, where it is)")
	f.StringVar(&o.scheduler, "scheduler", "", strings.Join(slurm.Schedulers(), ", ")+" (default that of the site, else slurm)")
	f.StringVar(&o.launcher, "launcher", "", "srun or mpirun (default that of the site, else the usual one)")
	f.DurationVar(&o.goal, "goal", slurm.DefaultGoal, "enough ranks to be done in this time, if nothing else bounds them")
	f.Var(&o.rate, "rate", "bytes of input that a rank reads in a second, such as 60MB (default that of the site, else 10MB)")
	f.BoolVar(&o.calibrate, "calibrate", false, "measure the rate now, here: analyse 64 MiB around the largest location")
	f.Float64Var(&o.serial, "sequential", 1, "share of the largest location that one rank alone can do, 0 to 1")
	atLeast(f, 0, &o.ranks, "ranks", "", 0, "this many ranks; of record, the processes of the program")
	atLeast(f, 0, &o.nodes, "nodes", "", 0, "on this many nodes")
	f.Var(&o.mem, "mem", "memory of a rank, instead of that of the formula")
	f.DurationVar(&o.limit, "time", 0, "time limit, instead of that of the formula; record needs it")
	f.Var(&o.expect, "expect", "bytes of the trace that record will write, for the jobs that read it")
	oneOf(f, &o.format, "format", "text", "text, json, or script: the script of the one job", "text", "json", "script")
	f.BoolVar(&o.submit, "submit", false, "put the jobs into the queue")
	f.BoolVar(&o.follow, "follow", false, "with --submit: show each job until it has ended; Ctrl-C ends only the showing")
	return s.does(c, func(operands []string, s streams) error {
		var more []string
		if dash := f.ArgsLenAtDash(); dash >= 0 {
			operands, more = operands[:dash], operands[dash:]
		}
		site, known, err := o.check(f, operands)
		if err != nil {
			return err
		}
		steps, err := o.steps(operands, more)
		if err != nil {
			return err
		}
		p := &plan{Plan: slurm.Plan{Site: site, Known: known}, flags: &o, steps: steps}
		if err := p.size(s); err != nil {
			return err
		}
		ctx := context.Background()
		if o.submit {
			if err := p.submit(ctx); err != nil {
				return err
			}
		}
		if err := p.write(s); err != nil || !o.follow {
			return err
		}
		return p.Follow(ctx, s.out)
	})
}

// check checks the flags and reads the site file.
func (o *planFlags) check(f *pflag.FlagSet, operands []string) (site *slurm.Site, known bool, err error) {
	switch {
	case len(operands) != 2:
		return nil, false, usage("%s: name a verb and its input, as coppice plan analyze TRACE; arguments of the verb come after --", numbers.Plural(len(operands), "operand"))
	case o.format == "script" && (len(o.then) > 0 || o.submit):
		return nil, false, usage("--format script prints one job that is not submitted: leave out --then and --submit, or plan each job alone")
	case o.follow && (!o.submit || o.format != "text"):
		return nil, false, usage("--follow shows what --submit submitted, as text. For a job that runs already: coppice info STATUSFILE --follow")
	case o.goal < time.Second || o.goal > 1000*time.Hour:
		return nil, false, usage("--goal %v: give a time of 1s to 1000h", o.goal)
	case !(o.serial >= 0 && o.serial <= 1):
		return nil, false, usage("--sequential %v: give a share of 0 to 1", o.serial)
	case o.ranks > 1<<24 || o.nodes > 1<<20 || o.limit < 0 || o.limit > 1e5*time.Hour:
		return nil, false, usage("--ranks, --nodes and --time are not negative, and at most 16777216, 1048576 and 100000h")
	case o.rate == 0 && f.Changed("rate"):
		return nil, false, usage("--rate 0: give the bytes of a second, such as 60MB")
	case o.calibrate && o.rate > 0:
		return nil, false, usage("--rate gives what --calibrate measures: give one of them")
	}
	if site, known, err = o.readSite(); err != nil {
		return nil, false, err
	}
	return site, known, o.override(site)
}

// readSite reads the site file, if it exists.
func (o *planFlags) readSite() (site *slurm.Site, known bool, err error) {
	path := o.site
	if path == "" {
		if dir, err := os.UserConfigDir(); err == nil {
			path = filepath.Join(dir, "coppice", "site.toml")
		}
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && o.site == "" {
		return &slurm.Site{}, false, nil
	}
	if err != nil {
		return nil, false, fail(jobs.ExitInput, "site file: %w. Give the path of a file as docs/slurm.md describes it", err)
	}
	if site, err = slurm.ReadSite(path, b); err != nil {
		return nil, false, fail(jobs.ExitInput, "%w. docs/slurm.md describes the file", err)
	}
	return site, true, nil
}

// override applies flags to the site.
func (o *planFlags) override(site *slurm.Site) error {
	if o.scheduler != "" && o.scheduler != site.Scheduler {
		site.Scheduler = o.scheduler
		if site.Launcher == "srun" {
			site.Launcher = ""
		}
	}
	if o.launcher != "" {
		site.Launcher = o.launcher
	}
	if err := site.Check(); err != nil {
		return usage("%w", err)
	}
	return nil
}

// plan is the planned job and what is known of its input.
type plan struct {
	slurm.Plan
	flags    *planFlags
	steps    []*planStep
	envelope results.Envelope
	brief    results.Brief
}

func (p *plan) submit(ctx context.Context) error {
	for _, job := range p.Jobs {
		if job.Size.Unfit != "" {
			return fail(jobs.ExitResource, "%s does not fit: %s. Give --mem less, or a partition with larger nodes", job.Verb, job.Size.Unfit)
		}
	}
	err := p.Submit(ctx)
	if err == nil {
		return nil
	}
	text := "Look at what the scheduler says; a site file names partition and account"
	if len(p.Submitted) > 0 {
		var in []string
		for _, x := range p.Submitted {
			in = append(in, x.Cancel)
		}
		text += ". Already in the queue; to take back: " + strings.Join(in, "; ")
	}
	return usage("%w. %s", err, text)
}

func (p *plan) write(s streams) error {
	switch p.flags.format {
	case "script":
		text, err := p.Jobs[0].Script(p.Site, p.Known)
		if err != nil {
			return err
		}
		if _, err := s.out.Write(text); err != nil {
			return outputError(fmt.Errorf("standard output: %w", err))
		}
		return nil
	case "json":
		doc, err := p.Document()
		if err != nil {
			return err
		}
		return p.envelope.WriteJSON(s.out, &p.brief, "plan", doc)
	}
	return p.WriteText(s.out)
}
