package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/xtf"
)

// analyzeFlags are the flags of analyze.
type analyzeFlags struct {
	output, pages     string
	checkpoint        checkpointFlags
	events, deviation string
	force, strict     bool
	repair            bool // of clocks
	mem, store        size
	progress          string
	status            string
	ranks             int
	collective        bool
	quiet             bool
	verbose           int
	hints             map[string]string
	intervals         interval.Flags
	sidecar           string
	classes           predict.ClassFlags
	failIf            []string
	rules             choice // of the numbers that conditions compare
}

func runAnalyze(args []string, s streams) error {
	var o analyzeFlags
	job, err := o.parse(o.define(s), args)
	if err != nil {
		return err
	}
	defer heedSignals(&job, s)()
	return launch(o.ranks, s, func(c mpi.Comm) error { return analyzeRank(c, job, &o, s) })
}

func (o *analyzeFlags) define(s streams) *pflag.FlagSet {
	f := flags("analyze", s,
		"coppice analyze scorep-run/traces.otf2 -o run.xtf",
		"mpirun -n 64 coppice analyze scorep-run/traces.otf2 -o run.xtf",
		"srun coppice analyze scorep-run -o run.xtf --resume --mem 2G")
	f.StringVarP(&o.output, "output", "o", "", "the XTF file to write (required)")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing output and take over its lock")
	f.StringVar(&o.pages, "pages", "packed", "page form: packed, raw, raw:16K or raw:64K")
	f.StringVar(&o.events, "events", "all", "all: rows of calls, messages and collectives beside the call graph; none: the call graph and sums alone, a smaller file in less time and memory")
	f.StringVar(&o.deviation, "deviation", "0", "how far each time between two events may be off in the call graph: 0 (exact), 10%, 1us, 500ticks, both as 10%,1us, or 10%,1us,timestamps, which bounds the time stamps too; rows stay exact")
	f.BoolVar(&o.repair, "clock-repair", false, "raise times until no message is received before it was sent, and no member leaves a collective before those it needs have entered; reads the input twice")
	f.BoolVar(&o.strict, "strict", false, "damaged or incomplete input is an error")
	f.Var(&o.mem, "mem", "memory per rank, heap and counted buffers (default 256 MiB and 12 bytes an event, within 0.8 of what the machine, cgroup or Slurm gives a rank)")
	o.store = -1
	f.Var(&o.store, "store", "segments kept in memory per rank, the rest goes to files (default from --mem)")
	o.checkpoint.define(f, "RUN.xtf")
	f.IntVarP(&o.ranks, "jobs", "j", runtime.NumCPU(), "in-process ranks when no launcher started them")
	f.StringVar(&o.progress, "progress", "auto", "auto, tty, plain, json or none")
	f.StringVar(&o.status, "status-file", os.Getenv("COPPICE_STATUS_FILE"), "keep the progress in this file, for coppice info")
	f.BoolVar(&o.collective, "collective-write", false, "write the output by collective MPI calls")
	f.StringToStringVar(&o.hints, "hint", nil, "MPI-IO hint NAME=VALUE")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no closing line")
	f.CountVarP(&o.verbose, "verbose", "v", "stage times, memory and traffic")
	o.intervalFlags(f)
	o.classFlags(f)
	f.StringArrayVar(&o.failIf, "fail-if", nil, "exit with status 1 if this holds of the result, as report --fail-if has it (repeatable)")
	o.rules.defineRules(f)
	return f
}

// parse makes the options of the job of a command line.
func (o *analyzeFlags) parse(f *pflag.FlagSet, args []string) (jobs.AnalyzeOptions, error) {
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return jobs.AnalyzeOptions{}, err
	}
	job, err := o.job(operands[0])
	if err == nil {
		job.Classes, err = o.classJob(f)
	}
	if err == nil {
		err = o.checkpoint.apply(&job)
	}
	return job, err
}

// intervalFlags are the flags about intervals; docs/markers.md explains them.
func (o *analyzeFlags) intervalFlags(f *pflag.FlagSet) {
	i := &o.intervals
	f.StringVar(&i.Markers, "markers", "auto", "markers to look for: auto, none, or some of f1 to f7, such as f2,f6")
	f.StringArrayVar(&i.Intervals, "interval", nil, "an interval for each call of matching regions, region:GLOB, or for a Paraver event type, prv:TYPE (repeatable)")
	f.StringVar(&o.sidecar, "intervals-file", "", "intervals from lines rank,begin,end,id,name[,file,line]; rank * is all")
	f.StringVar(&i.Slice, "slice", "", "intervals of this length, such as 100ms or 5000ticks")
	f.IntVar(&i.SliceCount, "slice-count", 0, "this many intervals of equal length")
	f.StringVar(&i.Between, "between", "", "intervals from one collective of the world communicator to the next, such as coll:Allreduce")
	f.BoolVar(&i.Fold, "fold-recursion", false, "an interval inside one of the same key counts once")
	f.StringVar(&i.MarkerCost, "marker-cost", "overhead", "overhead: time in marker calls is neither computation nor MPI; mpi: they are ordinary MPI calls")
	f.StringVar(&i.RecvPoint, "recv-point", "wait", "a non-blocking receive counts from the call that can block, wait, or from its posting, post")
	f.StringVar(&i.Init, "init", "include", "include, or exclude: the program begins behind MPI_Init and ends before MPI_Finalize")
}

// classFlags are the flags about classes of processes.
func (o *analyzeFlags) classFlags(f *pflag.FlagSet) {
	c := &o.classes
	f.StringVar(&c.Threshold, "classes", "", "classes of processes that call the same and compute alike: within a share of the mean computation of those that call the same, such as 5%, or within a time, such as 10us; report classes shows them")
	f.StringVar(&c.Linkage, "linkage", "complete", "of two classes how far apart: complete (their farthest members), average, single (their nearest members) or centroid")
	f.StringVar(&c.Metric, "metric", "l1", "distance of two processes: l1 (sum of differences) or l2 (Euclidean)")
	f.StringVar(&c.Representative, "representative", "mean", "who stands for a class: the member nearest to its mean, or the medoid")
	f.StringVar(&c.Sequence, "sequence", "calls", "processes call the same: calls (functions and sizes of communicators), or strict (partners, tags and bytes too)")
	f.StringVar(&c.Quantum, "quantum", "", "round times to a grid of this share before they are compared, such as 1%")
	f.Uint32Var(&c.MaxClasses, "classes-max", 0, "at most this many classes of processes that call the same, instead of a threshold")
	f.BoolVar(&c.Dendrogram, "dendrogram", false, "keep the merges above the threshold too")
}

// classJob returns the options of classes, nil where none are asked for.
func (o *analyzeFlags) classJob(f *pflag.FlagSet) (*predict.ClassFlags, error) {
	if o.classes.Threshold == "" && o.classes.MaxClasses == 0 {
		for _, name := range []string{"linkage", "metric", "representative", "sequence", "quantum", "dendrogram"} {
			if f.Changed(name) {
				return nil, usage("%s: --%s is about classes: add --classes 5%% or --classes-max", f.Name(), name)
			}
		}
		return nil, nil
	}
	if _, err := o.classes.Parse(1e9); err != nil { // with the trace's own clock once it is known
		return nil, usage("%s: %w", f.Name(), err)
	}
	return &o.classes, nil
}

// job checks the flags and makes the options of the job.
func (o *analyzeFlags) job(input string) (jobs.AnalyzeOptions, error) {
	job := jobs.AnalyzeOptions{
		Trace: input, Output: o.output, Force: o.force, ClockRepair: o.repair, Strict: o.strict,
		Collective: o.collective, Hints: o.hints, Version: version, PID: os.Getpid(), Job: os.Getenv("SLURM_JOB_ID"),
	}
	if o.output == "" {
		return job, usage("analyze: -o RUN.xtf is missing: name the file to write")
	}
	if o.ranks < 1 {
		return job, usage("analyze: -j %d: at least one rank is needed", o.ranks)
	}
	profile, ok := map[string]xtf.Profile{"packed": xtf.Packed, "raw": xtf.Raw4K, "raw:4K": xtf.Raw4K, "raw:16K": xtf.Raw16K, "raw:64K": xtf.Raw64K}[o.pages]
	if !ok {
		return job, usage("analyze: --pages %s: choose packed, raw, raw:16K or raw:64K", o.pages)
	}
	job.Profile = profile
	if o.events != "all" && o.events != "none" {
		return job, usage("analyze: --events %s: choose all or none", o.events)
	}
	job.GraphOnly = o.events == "none"
	if job.GraphOnly && o.repair {
		return job, usage("analyze: --clock-repair needs messages, which --events none leaves out")
	}
	if _, err := ccg.ParseDeviation(o.deviation, 1e9); err != nil { // with the trace's own clock once it is known
		return job, usage("analyze: --deviation: %w", err)
	}
	job.Deviation = o.deviation
	if _, err := o.intervals.Parse(); err != nil {
		return job, usage("analyze: %w", err)
	}
	job.Intervals, job.IntervalsFile = o.intervals, o.sidecar
	if !slices.Contains(progressForms, o.progress) {
		return job, usage("analyze: --progress %s: choose one of %s", o.progress, strings.Join(progressForms, ", "))
	}
	job.Host, _ = os.Hostname()
	var err error
	if o.rules.conditions, err = parseConditions("analyze", o.failIf); err != nil {
		return job, err
	}
	if _, err := o.rules.rules(); err != nil {
		return job, err
	}
	job.MemBytes = int64(o.mem)
	job.StoreBytes = int64(o.store)
	return job, nil
}

// analyzeRank runs the job on one rank and reports its end on rank 0.
func analyzeRank(c mpi.Comm, job jobs.AnalyzeOptions, o *analyzeFlags, s streams) error {
	var d *display
	if c.Rank() == 0 && !o.quiet {
		d = newDisplay(s.err, o.progress, o.status)
		job.Show = d.show
	}
	res, err := jobs.Analyze(c, job)
	d.end(err)
	if err != nil {
		return stopped(c, err, s)
	}
	if res.Done {
		if c.Rank() == 0 && !o.quiet {
			fmt.Fprintf(s.err, "coppice: %s: done already, from the same input and options\n", o.output)
		}
		return o.judge(c, s)
	}
	if c.Rank() == 0 && !o.quiet {
		printAnalyzed(s, &job, res, c.Size(), o.verbose)
	}
	if c.Rank() == 0 && res.Partial {
		printPartial(s, &job, res)
	}
	err = o.judge(c, s)
	if res.Partial && (err == nil || errors.Is(err, errSilent)) {
		return jobs.Fail(jobs.ExitPartial, errSilent)
	}
	return err
}

// judge decides the conditions on rank 0; all ranks return the same. Collective.
func (o *analyzeFlags) judge(c mpi.Comm, s streams) error {
	if len(o.rules.conditions) == 0 {
		return nil
	}
	var err error
	if c.Rank() == 0 {
		err = judgeFile(o.output, &o.rules, s)
	}
	if err = mpi.AgreeOn(c, err, errSilent); errors.Is(err, errSilent) {
		return jobs.Fail(jobs.ExitFound, errSilent)
	}
	return err
}

// errSilent is an outcome that was told already.
var errSilent = errors.New("told already")

// launch runs a job on the ranks of the launcher that started the program, or
// on n in-process ranks. Under a launcher it does not return.
func launch(n int, s streams, run func(mpi.Comm) error) error {
	if !mpi.Launched() {
		return mpi.RunInProcess(n, run)
	}
	mpi.Main(func(c mpi.Comm) int {
		err := run(c)
		var agreed *mpi.AgreedError
		if err != nil && (c.Rank() == 0 || !errors.As(err, &agreed)) {
			return conclude(err, s)
		}
		return jobs.ExitCode(err)
	})
	return nil
}
