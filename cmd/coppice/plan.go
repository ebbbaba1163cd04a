package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planFlags are the flags of plan.
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
	known     bool // a site file was read
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
	o.define(f)
	return s.does(c, func(operands []string, s streams) error {
		var more []string
		if dash := f.ArgsLenAtDash(); dash >= 0 {
			operands, more = operands[:dash], operands[dash:]
		}
		site, err := o.check(f, operands)
		if err != nil {
			return err
		}
		steps, err := o.steps(operands, more)
		if err != nil {
			return err
		}
		p := &plan{flags: &o, site: site, steps: steps}
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
		return p.follow(ctx, s)
	})
}

func (o *planFlags) define(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "what the verb writes (default: from the name of its input)")
	f.StringArrayVar(&o.then, "then", nil, "a job that starts when the one before has ended well and reads what it wrote: a verb and its arguments, as 'predict --platform P.toml' (repeatable)")
	f.StringVar(&o.site, "site", os.Getenv("COPPICE_SITE"), "the machine: a site file, docs/slurm.md (default coppice/site.toml in the user's folder of configurations, where it is)")
	f.StringVar(&o.scheduler, "scheduler", "", strings.Join(slurm.Schedulers(), ", ")+" (default that of the site, else slurm)")
	f.StringVar(&o.launcher, "launcher", "", "srun or mpirun (default that of the site, else the usual one)")
	f.DurationVar(&o.goal, "goal", slurm.DefaultGoal, "enough ranks to be done in this time, if nothing else bounds them")
	f.Var(&o.rate, "rate", "bytes of input that a rank goes through in a second, as 60MB (default that of the site, else 10MB)")
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
}

// check looks at the flags and reads the site file.
func (o *planFlags) check(f *pflag.FlagSet, operands []string) (*slurm.Site, error) {
	switch {
	case len(operands) != 2:
		return nil, usage("%s: name a verb and its input, as coppice plan analyze TRACE; arguments of the verb come after --", report.Plural(len(operands), "operand"))
	case o.format == "script" && (len(o.then) > 0 || o.submit):
		return nil, usage("--format script prints one job that is not submitted: leave out --then and --submit, or plan each job alone")
	case o.follow && (!o.submit || o.format != "text"):
		return nil, usage("--follow shows what --submit submitted, as text. For a job that runs already: coppice info STATUSFILE --follow")
	case o.goal < time.Second || o.goal > 1000*time.Hour:
		return nil, usage("--goal %v: give a time of 1s to 1000h", o.goal)
	case !(o.serial >= 0 && o.serial <= 1):
		return nil, usage("--sequential %v: give a share of 0 to 1", o.serial)
	case o.ranks > 1<<24 || o.nodes > 1<<20 || o.limit < 0 || o.limit > 1e5*time.Hour:
		return nil, usage("--ranks, --nodes and --time are not negative, and at most 16777216, 1048576 and 100000h")
	case o.rate == 0 && f.Changed("rate"):
		return nil, usage("--rate 0: give the bytes of a second, as 60MB")
	case o.calibrate && o.rate > 0:
		return nil, usage("--rate gives what --calibrate measures: give one of them")
	}
	site, err := o.readSite()
	if err != nil {
		return nil, err
	}
	return site, o.override(site)
}

// readSite reads the site file, if there is one.
func (o *planFlags) readSite() (*slurm.Site, error) {
	path := o.site
	if path == "" {
		if dir, err := os.UserConfigDir(); err == nil {
			path = filepath.Join(dir, "coppice", "site.toml")
		}
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && o.site == "" {
		return &slurm.Site{Schema: slurm.SiteSchema}, nil
	}
	if err != nil {
		return nil, fail(jobs.ExitInput, "site file: %w. Give the path of a file as docs/slurm.md describes it", err)
	}
	site, err := slurm.ReadSite(path, b)
	if err != nil {
		return nil, fail(jobs.ExitInput, "%w. docs/slurm.md describes the file", err)
	}
	o.known = true
	return site, nil
}

// override gives the site what flags say about it.
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

// plan is what is planned: jobs in the order in which they run.
type plan struct {
	flags     *planFlags
	site      *slurm.Site
	steps     []*planStep
	envelope  report.Envelope
	brief     report.Brief
	submitted []slurm.Submitted
}

func (p *plan) jobs() []*slurm.Job {
	list := make([]*slurm.Job, len(p.steps))
	for i, st := range p.steps {
		list[i] = st.job
	}
	return list
}

func (p *plan) submit(ctx context.Context) error {
	for _, st := range p.steps {
		if st.job.Size.Unfit != "" {
			return fail(jobs.ExitResource, "%s does not fit: %s. Give --mem less, or a partition with larger nodes", st.verb, st.job.Size.Unfit)
		}
	}
	var err error
	if p.submitted, err = slurm.Submit(ctx, p.site, p.flags.known, p.jobs()); err == nil {
		return nil
	}
	text := "Look at what the scheduler says; a site file names partition and account"
	if len(p.submitted) > 0 {
		var in []string
		for _, x := range p.submitted {
			in = append(in, x.Cancel)
		}
		text += ". Already in the queue; to take back: " + strings.Join(in, "; ")
	}
	return usage("%w. %s", err, text)
}

// write prints the plan.
func (p *plan) write(s streams) error {
	switch p.flags.format {
	case "script":
		text, err := p.steps[0].job.Script(p.site, p.flags.known)
		if err != nil {
			return err
		}
		if _, err := s.out.Write(text); err != nil {
			return outputError(fmt.Errorf("standard output: %w", err))
		}
		return nil
	case "json":
		doc, err := p.document()
		if err != nil {
			return err
		}
		return p.envelope.WriteJSON(s.out, &p.brief, "plan", report.Value(doc))
	}
	return p.text(s.out)
}

// text prints the plan for people.
func (p *plan) text(w io.Writer) error {
	for i, st := range p.steps {
		if i > 0 {
			fmt.Fprintln(w)
		}
		z := st.job.Size
		if err := facts(w, st.verb+" "+report.Clean(st.input, 200), p.rows(st, z)); err != nil {
			return err
		}
	}
	if p.submitted == nil {
		return p.advise(w)
	}
	fmt.Fprintln(w)
	for _, x := range p.submitted {
		fmt.Fprintf(w, "job %s: %s\n  follow  coppice info %s --follow; %s\n  cancel  %s\n", x.ID, x.Verb, x.Status, x.Show, x.Cancel)
	}
	return nil
}

// rows are the lines of one job.
func (p *plan) rows(st *planStep, z *slurm.Size) [][]string {
	ranks := fmt.Sprintf("%d, limited by the %s", z.Ranks, z.Decided)
	if st.verb == "record" {
		ranks = fmt.Sprintf("%d processes, as asked for", z.Ranks)
	}
	rows := [][]string{{"ranks", ranks}}
	for _, b := range z.Bounds {
		rows = append(rows, []string{"", fmt.Sprintf("%-18s %8d  %s", b.Name, b.Ranks, b.Why)})
	}
	switch {
	case z.Nodes > 0:
		rows = append(rows, []string{"nodes", fmt.Sprintf("%d with up to %s, by their %s", z.Nodes, report.Plural(z.RanksPerNode, "rank"), z.PerNode)})
	default:
		rows = append(rows, []string{"nodes", "not known: a site file gives the cores of a node"})
	}
	if z.Memory > 0 {
		rows = append(rows, []string{"memory", fmt.Sprintf("%s a rank, by %s; the job asks for %s", slurm.Binary(z.Memory), z.MemoryBound, slurm.Binary(z.Slot))})
	}
	if z.Disk > 0 {
		rows = append(rows, []string{"disk", "up to " + report.Size(z.Disk)})
	}
	limit := fmt.Sprintf("%s, by %s", minutes(z.Time), z.TimeBound)
	if z.Computed > 0 && z.TimeBound != "flag --time" {
		limit += fmt.Sprintf(": %s at %s/s a rank, and a reserve", z.Computed.Round(time.Second), report.Size(uint64(z.Rate)))
	}
	rows = append(rows, []string{"time", limit})
	if z.Unfit != "" {
		rows = append(rows, []string{"problem", "does not fit: " + z.Unfit})
	}
	return append(rows, []string{"runs", st.job.CommandLine(p.site)})
}

func minutes(d time.Duration) string {
	if d%time.Minute != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// advise says what to do with a plan.
func (p *plan) advise(w io.Writer) error {
	text := "\n--submit puts it into the queue"
	if len(p.steps) > 1 {
		text = "\n--submit puts all into the queue; each starts when the one before has ended well"
	} else {
		text += "; --format script prints the batch script"
	}
	if !p.flags.known {
		text += "\nNothing is known about the machine: look at the EDIT lines of the script, or write a site file (coppice help slurm)"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// planDocument is a plan in JSON.
type planDocument struct {
	Scheduler string            `json:"scheduler"`
	Jobs      []planJob         `json:"jobs"`
	Submitted []slurm.Submitted `json:"submitted"`
}

// planJob is one job of it.
type planJob struct {
	Verb   string `json:"verb"`
	Input  string `json:"input"`
	Output string `json:"output"`
	*slurm.Size
	Seconds  float64  `json:"computed_seconds"`
	Limit    int64    `json:"time_limit_seconds"`
	Command  []string `json:"command"`
	Script   string   `json:"script"`
	Requires *int     `json:"requires"` // number of the job in this list that must have ended well
}

func (p *plan) document() (*planDocument, error) {
	d := &planDocument{Scheduler: p.site.Name(), Jobs: []planJob{}, Submitted: p.submitted}
	if d.Submitted == nil {
		d.Submitted = []slurm.Submitted{}
	}
	for i, st := range p.steps {
		text, err := st.job.Script(p.site, p.flags.known)
		if err != nil {
			return nil, err
		}
		z := st.job.Size
		x := planJob{
			Verb: st.verb, Input: st.input, Output: st.output, Size: z, Seconds: z.Computed.Seconds(), Limit: int64(z.Time / time.Second),
			Command: st.job.Words(p.site), Script: string(text),
		}
		if i > 0 {
			before := i - 1
			x.Requires = &before
		}
		d.Jobs = append(d.Jobs, x)
	}
	return d, nil
}

// How often a followed job is looked at: its status file is replaced every 10 s, its queue is asked no more often than people do.
const (
	followEvery = 2 * time.Second
	askEvery    = 10 * time.Second
)

// runningState is the state of a status file whose job runs; other states are how it ended.
const runningState = "running"

// readStatus reads a status file, nil while there is none. The file is replaced by renaming, so it is whole.
func readStatus(path string) (*status, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%w. Give the path of a file that --status-file names", err))
	}
	st := &status{}
	if err := json.Unmarshal(bytes.TrimSpace(b), st); err != nil || st.Schema != statusSchema {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: not a status file. Give the path of one that --status-file names", path))
	}
	return st, nil
}

// statusLine is a status in one line.
func statusLine(st *status) string {
	at := report.Clean(st.Time, 40)
	if st.State != runningState {
		return fmt.Sprintf("%s %s", at, report.Clean(st.State, 300))
	}
	text := fmt.Sprintf("%s %s %.0f %%", at, report.Clean(st.Stage, 40), 100*st.Share)
	if st.Total > 0 {
		text += fmt.Sprintf(" %s of %s, %s/s", report.Size(st.Done), report.Size(st.Total), report.Size(st.Rate))
	}
	if st.Ranks > 1 {
		text += fmt.Sprintf(", %d ranks, slowest %d at %.0f %%", st.Ranks, st.Slowest, 100*st.Slow)
	}
	if st.Left > 0 {
		text += fmt.Sprintf(", about %.0f s left in this stage", st.Left)
	}
	return text
}

// follower prints the states of one job as they change.
type follower struct {
	w     io.Writer
	path  string // status file
	last  string
	state string // of the last status, "" before there is one
}

// look prints what is new in the status file.
func (f *follower) look() error {
	st, err := readStatus(f.path)
	if err != nil || st == nil {
		return err
	}
	f.state = st.State
	if line := statusLine(st); line != f.last {
		f.last = line
		_, err = fmt.Fprintln(f.w, line)
	}
	return err
}

// followStatus shows a status file until its job has ended.
func followStatus(ctx context.Context, path string, w io.Writer) error {
	f := &follower{w: w, path: path}
	for {
		if err := f.look(); err != nil {
			return err
		}
		if f.state != "" && f.state != runningState {
			return nil
		}
		if err := pause(ctx, followEvery); err != nil {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// follow shows the submitted jobs, one after the other, until the last has left the queue. A job that goes back into the queue
// is still there. The exit status is that of the showing: the jobs' own are in their output.
func (p *plan) follow(ctx context.Context, s streams) error {
	for _, x := range p.submitted {
		f := &follower{w: s.out, path: x.Status}
		var asked time.Time
		for last := ""; ; {
			before := f.state
			if err := f.look(); err != nil {
				return err
			}
			if time.Since(asked) >= askEvery || f.state != before { // a job that stopped may wait in the queue again for long
				state, err := slurm.State(ctx, p.site, x.ID)
				if err != nil {
					return jobs.Fail(jobs.ExitUsage, err)
				}
				asked = time.Now()
				if state == "" {
					break
				}
				if state != last {
					last = state
					fmt.Fprintf(s.out, "job %s, %s: %s\n", x.ID, x.Verb, strings.ToLower(state))
				}
			}
			if err := pause(ctx, followEvery); err != nil {
				return nil
			}
		}
		if err := f.look(); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "job %s, %s: no longer in the queue; its output is coppice-%s.out\n", x.ID, x.Verb, x.ID)
	}
	return nil
}
