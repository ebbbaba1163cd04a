package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/prediction"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planStep is one job of a plan.
type planStep struct {
	verb   string
	input  string   // trace, RUN.xtf, or the folder of a recording
	output string   // the input of the next step; "": none
	more   []string // arguments for the verb
	named  bool     // the arguments name the output
	mem    bool     // the verb has --mem and the arguments do not
	first  bool     // its input exists
	job    *slurm.Job

	platform  string // of predict
	graphOnly bool   // of analyze
	before    *planStep
}

// planned are the verbs that can be planned, each with those that can follow it.
var planned = map[string][]string{
	"record":  {"analyze"},
	"analyze": {"predict", "export"},
	"predict": {"predict", "export"},
	"export":  {},
}

// steps makes the steps of the command line.
func (o *planFlags) steps(operands, more []string) ([]*planStep, error) {
	first := &planStep{verb: operands[0], input: operands[1], output: o.output, more: more, first: true}
	list := []*planStep{first}
	if planned[first.verb] == nil {
		return nil, usage("%q cannot be planned: choose record, analyze, predict or export", first.verb)
	}
	for _, text := range o.then {
		words, err := slurm.Split(text)
		if err != nil {
			return nil, usage("--then: %w", err)
		}
		last := list[len(list)-1]
		if len(words) == 0 || !slices.Contains(planned[last.verb], words[0]) {
			return nil, usage("--then %q: after %s comes one of %s", text, last.verb, strings.Join(planned[last.verb], ", "))
		}
		list = append(list, &planStep{verb: words[0], more: words[1:], before: last})
	}
	for _, st := range list {
		if st.before != nil {
			st.input = st.before.output
		}
		if err := st.complete(o); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// complete checks the arguments of a step in the same way as its verb, and names its output.
func (st *planStep) complete(o *planFlags) error {
	if st.verb == "record" {
		return st.completeRecord(o)
	}
	if st.input == "" {
		return usage("%s reads what the job before it writes: give that one -o", st.verb)
	}
	var a analyzeFlags
	var p predictFlags
	var e exportFlags
	c := verb(st.verb, "", 0, 0)
	(&cobra.Command{Use: "coppice"}).AddCommand(c)
	f := c.Flags()
	map[string]func(*pflag.FlagSet){"analyze": a.define, "predict": p.define, "export": e.define}[st.verb](f)
	err := c.ParseFlags(append(slices.Clone(st.more), st.input))
	if err != nil {
		return usage("%s: %w", st.verb, flagError(c, err))
	}
	output := f.Lookup("output").Value
	st.named = output.String() != ""
	st.output = cmp.Or(st.output, output.String())
	if st.output == "" && st.verb != "predict" {
		st.output = defaultOutput(st.verb, st.input)
	}
	if !st.named {
		err = output.Set(st.output)
	}
	switch {
	case err != nil:
	case f.NArg() != 1 && st.verb != "predict":
		err = fmt.Errorf("%s given, of one input", numbers.Plural(f.NArg(), "operand"))
	case st.verb == "analyze":
		st.mem, st.graphOnly, err = !f.Changed("mem"), a.events == "none", a.complete(f, f.Args())
	case st.verb == "predict":
		st.mem, st.platform, err = !f.Changed("mem"), p.job.Platform, p.complete(f, f.Args())
		if err == nil && p.execute {
			err = errors.New("--run starts programs itself and cannot be planned: record and replay first, then plan predict with --vectors")
		}
	case e.to != "otf2":
		err = errors.New("--to otf2 is the form that many ranks write: give it as an argument of export")
	}
	if err != nil {
		return usage("%s: %w", st.verb, err)
	}
	return nil
}

// completeRecord checks a recording: the program comes after --, or after arguments of record and a second --.
func (st *planStep) completeRecord(o *planFlags) error {
	switch {
	case len(st.more) == 0:
		return usage("record: no program: coppice plan record DIR --ranks N --time T -- ./program ARGUMENTS")
	case o.ranks == 0:
		return usage("record: --ranks is missing: the processes of the program")
	case o.limit == 0:
		return usage("record: --time is missing: how long the program takes at most")
	case len(o.then) > 0 && o.expect == 0:
		return usage("--expect is missing: how many bytes of trace the program will write, such as 200GB; a short run and coppice info show what a step takes")
	case st.output != "":
		return usage("record writes into the folder that is named as its input: leave out -o")
	}
	st.output = filepath.Join(st.input, "traces.otf2")
	return nil
}

// defaultOutput names the output after the input: run/traces.otf2 becomes run.xtf, epoch.prv.gz epoch.xtf.
func defaultOutput(verb, input string) string {
	base := filepath.Base(filepath.Clean(input))
	if base == archiveName+".otf2" {
		if dir, err := filepath.Abs(filepath.Dir(input)); err == nil {
			base = filepath.Base(dir)
		}
	}
	for _, suffix := range []string{".gz", ".otf2", ".prv", ".xtf"} {
		base = strings.TrimSuffix(base, suffix)
	}
	if base == "" || base == string(filepath.Separator) || base == "." {
		base = "run"
	}
	if verb == "export" {
		return base + "-otf2"
	}
	return base + ".xtf"
}

// command returns the command line of the step on the nodes.
func (st *planStep) command(site *slurm.Site, z *slurm.Size) (before, command []string) {
	program := site.Coppice
	if program == "" {
		program = "coppice"
		if exe, err := os.Executable(); err == nil {
			program = exe
		}
	}
	if st.verb == "record" {
		own, rest := []string(nil), st.more
		if i := slices.Index(st.more, "--"); i >= 0 {
			own, rest = st.more[:i], st.more[i+1:]
		}
		before = slices.Concat([]string{program, "record", "-o", plainPath(st.input)}, own, []string{"--"})
		return before, rest
	}
	command = slices.Concat([]string{program, st.verb, plainPath(st.input)}, st.more)
	if st.output != "" && !st.named {
		command = append(command, "-o", st.output)
	}
	if st.verb != "export" {
		command = append(command, "--resume")
	}
	if st.mem {
		command = append(command, "--mem", fmt.Sprintf("%dM", z.Memory>>20))
	}
	return nil, command
}

// plainPath protects a path that begins with - from being taken for a flag.
func plainPath(path string) string {
	if strings.HasPrefix(path, "-") {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// size computes the work of each step, and the resources to ask for.
func (p *plan) size(s streams) error {
	for _, st := range p.steps {
		w, about, err := p.work(st, s)
		if err != nil {
			return err
		}
		z := slurm.Fit(w, p.Site, p.flags.goal)
		if st.first {
			if err := p.flags.insist(z, p.Site); err != nil {
				return err
			}
		}
		if st.verb == "record" {
			*z = p.flags.recording(z)
		}
		note := fmt.Sprintf("sized by coppice plan %s %s: %s, limited by the %s", st.verb, numbers.Clean(st.input, 200), about, z.Decided)
		st.job = &slurm.Job{
			Verb: st.verb, Input: st.input, Output: st.output, Size: z,
			Resumable: st.verb == "analyze" || st.verb == "predict", Foreign: st.verb == "record" && p.flags.mem == 0, Note: note,
		}
		st.job.Before, st.job.Command = st.command(p.Site, z)
		p.Jobs = append(p.Jobs, st.job)
	}
	return nil
}

// insist applies flags to the computed resources of the first job.
func (o *planFlags) insist(z *slurm.Size, site *slurm.Site) error {
	if o.ranks > 0 {
		z.Ranks, z.Decided = o.ranks, "flag --ranks"
	}
	if o.mem > 0 {
		if int64(o.mem) < 64<<20 {
			return usage("--mem %s: a rank needs 64 MiB at least", o.mem.String())
		}
		z.SetMemory(int64(o.mem))
	}
	z.Place(site, o.nodes)
	if o.limit > 0 {
		z.Time, z.TimeBound = (o.limit+time.Second-1)/time.Second*time.Second, "flag --time"
	}
	return nil
}

// recording is the size of a job that records a program. Only flags tell it.
func (o *planFlags) recording(z *slurm.Size) slurm.Size {
	r := slurm.Size{
		Ranks: z.Ranks, Nodes: z.Nodes, RanksPerNode: z.RanksPerNode, PerNode: z.PerNode, Decided: z.Decided, Time: z.Time, TimeBound: z.TimeBound,
		Disk: uint64(o.expect), Result: uint64(o.expect),
	}
	if o.mem > 0 {
		r.Memory, r.Slot, r.MemoryBound = z.Memory, z.Slot, "flag --mem"
	}
	return r
}

// work returns the work of a step, and a short description.
func (p *plan) work(st *planStep, s streams) (*slurm.Work, string, error) {
	w := &slurm.Work{Rate: float64(p.flags.rate), Sequential: cmp.Or(p.flags.serial, math.SmallestNonzeroFloat64)}
	switch {
	case st.verb == "record":
		return w, "as asked for", nil
	case st.first && st.verb == "analyze":
		return p.workOfTrace(w, st, s)
	case st.first:
		return p.workOfRun(w, st)
	}
	b := st.before
	if b.verb == "record" {
		w.Bytes, w.Locations = uint64(p.flags.expect), b.job.Size.Ranks
	} else {
		w.Bytes, w.Locations = b.job.Size.Result, b.job.Size.Parts
	}
	w.Largest, w.Result = even(w.Bytes, w.Locations), w.Bytes
	if g := p.Site.Growth; g > 0 && st.verb == "analyze" {
		w.Result = scaled(w.Bytes, g)
	}
	if st.verb == "analyze" {
		w.Segments = jobs.SegmentsOf(w.Bytes, w.Locations)
	}
	return w, fmt.Sprintf("about %s in %d parts", numbers.Bytes(w.Bytes), w.Locations), p.platformWork(w, st)
}

func (p *plan) workOfTrace(w *slurm.Work, st *planStep, s streams) (*slurm.Work, string, error) {
	src, err := jobs.OpenPath(st.input)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	defer src.Close()
	x, err := inspect.Measure(src)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	d := src.Definitions()
	w.Bytes, w.Locations, w.Largest, w.Result = x.Bytes, d.NumLocations(), x.LargestBytes, x.Bytes
	w.Least, w.Segments = x.LeastMemory, jobs.SegmentsOf(x.Bytes, d.NumLocations())
	if st.graphOnly {
		w.Least = x.GraphMemory
	}
	w.Definitions = jobs.DefinitionsMemory(d)
	if g := p.Site.Growth; g > 0 {
		w.Result = scaled(x.Bytes, g)
	}
	p.envelope = results.Envelope{Processes: len(d.Processes()), Locations: d.NumLocations(), Events: x.Announced}
	p.brief = results.Brief{Resolution: d.Clock().TimerResolution}
	if p.flags.calibrate {
		c, err := slurm.Calibrate(src, analyze.Options{GraphOnly: st.graphOnly, Version: version})
		if err != nil {
			return nil, "", fail(jobs.ExitCode(err), "--calibrate: %s: %w. Give --rate instead", st.input, err)
		}
		w.Rate, w.Result = c.Rate, scaled(x.Bytes, c.Growth)
		s.say("calibrated: %s of %d locations in %.1f s of processor time, %s/s; the result has %.2f bytes for each of the trace",
			numbers.Bytes(c.Bytes), c.Locations, c.Seconds, numbers.Bytes(uint64(c.Rate)), c.Growth)
	}
	return w, fmt.Sprintf("%s, %s", numbers.Bytes(w.Bytes), numbers.Plural(w.Locations, "location")), nil
}

func scaled(bytes uint64, factor float64) uint64 {
	v := float64(bytes) * factor
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return uint64(v)
}

// workOfRun measures an existing result. Its parts are processes, of equal size as far as is known.
func (p *plan) workOfRun(w *slurm.Work, st *planStep) (*slurm.Work, string, error) {
	run, err := results.Open(st.input, xtf.Options{})
	if err != nil {
		return nil, "", fail(jobs.ExitCode(err), "%w", &fileError{st.input, err})
	}
	defer run.Close() // it is read only
	a, err := results.NewAnswer(run, nil, nil)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	stat, err := os.Stat(st.input)
	if err != nil {
		return nil, "", fail(jobs.ExitInput, "%w", err)
	}
	p.envelope, p.brief = a.Envelope, *a.Brief
	w.Bytes, w.Locations, w.Result = uint64(stat.Size()), a.Processes, uint64(stat.Size())
	w.Largest = even(w.Bytes, w.Locations)
	return w, fmt.Sprintf("%s, %s", numbers.Bytes(w.Bytes), numbers.Plural(w.Locations, "process")), p.platformWork(w, st)
}

// even is the size of one of n parts of equal size.
func even(bytes uint64, n int) uint64 { return bytes / uint64(max(n, 1)) }

// platformWork reads the platform of a prediction: with contention, one rank simulates it.
func (p *plan) platformWork(w *slurm.Work, st *planStep) error {
	if st.verb != "predict" || st.platform == "" {
		return nil
	}
	m, err := platform.Open(st.platform)
	if err != nil {
		return fail(jobs.ExitInput, "%w", err)
	}
	w.OneRank = prediction.NeedsEvents(m)
	return nil
}
