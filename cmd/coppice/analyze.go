package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// resultFlags are the flags of jobs that write an XTF file on ranks. They set fields of the embedded options.
type resultFlags struct {
	analyze.Options
	run     jobFlags
	classes predict.ClassFlags
}

// define defines the flags that all such jobs have; of names their output.
func (o *resultFlags) define(f *pflag.FlagSet, of string) {
	o.run.define(f, "")
	// of jobs that can be stopped and continued: see docs/checkpoint.md
	f.StringVar(&o.WorkDir, "checkpoint", "", "folder for segments and the list of finished work, which all ranks must see (default "+of+".work)")
	f.BoolVar(&o.Resume, "resume", false, "continue with what an earlier run of the same job finished, on any number of ranks; begin anew if there is none, do nothing if the output is complete")
	f.DurationVar(&o.Every, "checkpoint-every", 5*time.Minute, "list finished work this often, so that --resume keeps it; 0: only when the job is stopped by SIGUSR1, SIGTERM or the time limit")
	f.DurationVar(&o.Watch.GiveUp, "watchdog", time.Hour, "end the job when nothing has moved on a rank for so long; a tenth of it gives a warning that names rank and stage; 0: never")
	// about intervals: see docs/markers.md
	i := &o.Intervals
	f.StringVar(&i.Markers, "markers", "auto", "markers to look for: auto, none, or some of f1 to f7, such as f2,f6")
	f.StringArrayVar(&i.Intervals, "interval", nil, "an interval for each call of matching regions, region:GLOB, or for a Paraver event type, prv:TYPE (repeatable)")
	f.StringVar(&o.IntervalsFile, "intervals-file", "", "intervals from lines rank,begin,end,id,name[,file,line]; rank * is all")
	f.StringVar(&i.Slice, "slice", "", "intervals of this length, such as 100ms or 5000ticks")
	f.IntVar(&i.SliceCount, "slice-count", 0, "this many intervals of equal length")
	f.StringVar(&i.Between, "between", "", "intervals from one collective of the world communicator to the next, such as coll:Allreduce")
	f.BoolVar(&i.Fold, "fold-recursion", false, "an interval inside one of the same key counts once")
	oneOf(f, &i.MarkerCost, "marker-cost", "overhead", "overhead: time in marker calls is neither computation nor MPI; mpi: they are ordinary MPI calls", "overhead", "mpi")
	oneOf(f, &i.RecvPoint, "recv-point", "wait", "a non-blocking receive counts from the call that can block, wait, or from its posting, post", "wait", "post")
	oneOf(f, &i.Init, "init", "include", "include, or exclude: the program begins after MPI_Init and ends before MPI_Finalize", "include", "exclude")
	// about classes of processes
	c := &o.classes
	f.StringVar(&c.Threshold, "classes", "", "classes of processes that call the same and compute alike: within a share of the mean computation of those that call the same, such as 5%, or within a time, such as 10us; report classes shows them")
	f.StringVar(&c.Linkage, "linkage", "complete", "distance of two classes: complete (their farthest members), average, single (their nearest members) or centroid")
	f.StringVar(&c.Metric, "metric", "l1", "distance of two processes: l1 (sum of differences) or l2 (Euclidean)")
	f.StringVar(&c.Representative, "representative", "mean", "process that represents a class: the member nearest to its mean, or the medoid")
	f.StringVar(&c.Sequence, "sequence", "calls", "what makes processes call the same: calls (functions and sizes of communicators), or strict (partners, tags and bytes too)")
	f.StringVar(&c.Quantum, "quantum", "", "round times to a grid of this share before they are compared, such as 1%")
	f.Uint32Var(&c.MaxClasses, "classes-max", 0, "at most this many classes of processes that call the same, instead of a threshold")
	f.BoolVar(&c.Dendrogram, "dendrogram", false, "keep the merges above the threshold too")
}

// complete checks the flags and computes the options that follow from them.
func (o *resultFlags) complete(f *pflag.FlagSet) error {
	o.Version, o.PID, o.Job = version, os.Getpid(), os.Getenv("SLURM_JOB_ID")
	o.Host, _ = os.Hostname()
	o.Stop = &jobs.Stop{}
	if n, err := strconv.ParseInt(os.Getenv("SLURM_JOB_END_TIME"), 10, 64); err == nil && n > time.Now().Unix() { // else the value is that of a job that is over, or that got more time
		o.End = time.Unix(n, 0)
	}
	if o.Every < 0 || o.Watch.GiveUp < 0 {
		return usage("--checkpoint-every %v --watchdog %v: give durations such as 5m, or 0", o.Every, o.Watch.GiveUp)
	}
	if o.Output != "" {
		if _, err := o.Intervals.Parse(); err != nil {
			return usage("%w", err)
		}
	}
	if o.classes.Threshold == "" && o.classes.MaxClasses == 0 {
		for _, name := range []string{"linkage", "metric", "representative", "sequence", "quantum", "dendrogram"} {
			if f.Changed(name) {
				return usage("--%s is about classes: add --classes 5%% or --classes-max", name)
			}
		}
		return nil
	}
	if _, err := o.classes.Parse(1e9); err != nil { // with the trace's own clock once it is known
		return usage("%w", err)
	}
	o.Classes = &o.classes
	return nil
}

type analyzeFlags struct {
	resultFlags
	pages, events string
	failIf        failIf[report.Condition]
	rules         ruleFlags // of the numbers in conditions
}

func analyzeVerb(s streams) *cobra.Command {
	var o analyzeFlags
	c := verb("analyze TRACE -o RUN.xtf", "analyse a trace into one file, on all ranks", 1, 1,
		"coppice analyze scorep-run/traces.otf2 -o run.xtf",
		"mpirun -n 64 coppice analyze scorep-run/traces.otf2 -o run.xtf",
		"srun coppice analyze scorep-run -o run.xtf --resume --mem 2G")
	o.define(c.Flags())
	return s.does(c, func(operands []string, s streams) error {
		if err := o.complete(c.Flags(), operands); err != nil {
			return err
		}
		defer heedSignals(&o.Options, s)()
		return launch(o.run.ranks, s, func(c mpi.Comm) error { return analyzeRank(c, o.Options, &o, s) })
	})
}

// pageForms are the values of --pages; raw means raw:4K.
var pageForms = map[string]xtf.Profile{"packed": xtf.Packed, "raw": xtf.Raw4K, "raw:4K": xtf.Raw4K, "raw:16K": xtf.Raw16K, "raw:64K": xtf.Raw64K}

func (o *analyzeFlags) define(f *pflag.FlagSet) {
	f.StringVarP(&o.Output, "output", "o", "", "the XTF file to write (required)")
	f.BoolVarP(&o.Force, "force", "f", false, "replace an existing output and take over its lock")
	oneOf(f, &o.pages, "pages", "packed", "page form: packed, raw, raw:16K or raw:64K", "packed", "raw", "raw:4K", "raw:16K", "raw:64K")
	oneOf(f, &o.events, "events", "all", "all: rows of calls, messages and collectives in addition to the call graph; none: the call graph and sums alone, a smaller file in less time and memory", "all", "none")
	f.StringVar(&o.Deviation, "deviation", "0", "how far each time between two events may be off in the call graph: 0 (exact), 10%, 1us, 500ticks, both as 10%,1us, or 10%,1us,timestamps, which bounds the time stamps too; rows stay exact")
	f.BoolVar(&o.ClockRepair, "clock-repair", false, "raise times until no message is received before it was sent, and no member leaves a collective before those it needs have entered; reads the input twice, or up to five times where clocks start apart")
	f.BoolVar(&o.Strict, "strict", false, "damaged or incomplete input is an error")
	f.Var((*size)(&o.MemBytes), "mem", "memory per rank, heap and counted buffers (default 256 MiB and 12 bytes an event, within 0.8 of what the machine, cgroup or Slurm gives a rank)")
	o.StoreBytes = -1
	f.Var((*size)(&o.StoreBytes), "store", "segments kept in memory per rank, the rest goes to files (default from --mem)")
	f.BoolVar(&o.Collective, "collective-write", false, "write the output by collective MPI calls")
	f.StringToStringVar(&o.Hints, "hint", nil, "MPI-IO hint NAME=VALUE")
	o.run.defineVerbose(f, "stage times, memory and traffic")
	o.resultFlags.define(f, "RUN.xtf")
	o.failIf.define(f, report.ParseCondition, " of the result, as report --fail-if has it")
	o.rules.define(f)
}

func (o *analyzeFlags) complete(f *pflag.FlagSet, operands []string) error {
	o.Trace, o.Profile, o.GraphOnly = operands[0], pageForms[o.pages], o.events == "none"
	if o.Output == "" {
		return usage("-o RUN.xtf is missing: name the file to write")
	}
	if o.GraphOnly && o.ClockRepair {
		return usage("--clock-repair needs messages, which --events none leaves out")
	}
	if _, err := graph.ParseDeviation(o.Deviation, 1e9); err != nil { // with the trace's own clock once it is known
		return usage("--deviation: %w", err)
	}
	return o.resultFlags.complete(f)
}

// analyzeRank runs the job on one rank and reports the result on rank 0.
func analyzeRank(c mpi.Comm, job analyze.Options, o *analyzeFlags, s streams) error {
	d := o.run.display(c, &job.Show, s)
	res, err := analyze.Run(c, job)
	d.end(err)
	if err != nil {
		return stopped(c, job.Trace, err, s)
	}
	if res.Done {
		if c.Rank() == 0 && !o.run.quiet {
			s.say("%s: done already, from the same input and options", o.Output)
		}
		return o.judge(c, s)
	}
	if c.Rank() == 0 && !o.run.quiet {
		printAnalyzed(s, &job, res, c.Size(), o.run.verbose)
	}
	if c.Rank() == 0 && res.Partial {
		worst := ""
		for _, c := range res.Codes {
			if c.Code.Severity() == trace.Damage && worst == "" {
				worst = " (" + inspect.CodeText(c.Code, c.Count, uint64(c.Locations)) + ")"
			}
		}
		s.say("the input is damaged or incomplete%s: results are partial; %s lists what is missing", worst, slurm.Line([]string{"coppice", "report", job.Output, "diagnostics"}))
	}
	err = o.judge(c, s)
	if res.Partial && (err == nil || errors.Is(err, errSilent)) {
		return jobs.Fail(jobs.ExitPartial, errSilent)
	}
	return err
}

// judge decides the conditions on rank 0; all ranks return the same error. Collective.
func (o *analyzeFlags) judge(c mpi.Comm, s streams) error {
	if len(o.failIf.list) == 0 {
		return nil
	}
	var err error
	if c.Rank() == 0 {
		var run *results.Run
		if run, err = s.runs.open(o.Output); err == nil {
			err = judge(run, o.failIf.list, o.rules.rules(), s)
		}
	}
	if err = mpi.AgreeOn(c, err, errSilent); errors.Is(err, errSilent) {
		return jobs.Fail(jobs.ExitFound, errSilent)
	}
	return err
}

// errSilent is an outcome that has been reported already.
var errSilent = errors.New("told already")

// launch runs a job on the ranks of the launcher that started the program, or on n in-process ranks. Under a launcher it does not
// return.
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

// printAnalyzed prints the closing lines of an analysis.
func printAnalyzed(s streams, job *analyze.Options, r *analyze.Result, ranks, verbose int) {
	for _, c := range r.Codes {
		if c.Code.Severity() == trace.Note && verbose == 0 {
			continue
		}
		text := inspect.CodeText(c.Code, c.Count, uint64(c.Locations))
		if c.Worst > 0 {
			text += fmt.Sprintf(", worst %d", c.Worst)
			if c.Code.InTicks() {
				text += " ticks"
			}
		}
		s.say("%s", text)
		if c.Code == trace.DiagReplayStuck && !job.ClockRepair {
			s.say("clocks that differ can make such circles: try --clock-repair")
		}
	}
	if job.ClockRepair {
		x, end := &r.Clocks, "not repaired: locations wait for each other in a circle"
		if !x.Stuck {
			end = fmt.Sprintf("%d ends of calls raised in %d locations, by %d ticks at most", x.Corrections, x.Locations, x.Greatest)
			if x.Shifted > 0 {
				end = fmt.Sprintf("clocks of %d locations set later, by %d ticks at most; after that %s", x.Shifted, x.Shift, end)
			}
		}
		s.say("clocks: %d messages were received before they were sent (worst %d ticks), %d members of collectives left too early; %s", x.Violations, x.Worst, x.Collectives, end)
	}
	printResumed(s, &r.Resumed, r.Locations)
	var total time.Duration
	for _, t := range r.Seconds {
		total += t.Elapsed
	}
	s.say("%s: %d events of %d locations (%s) in %.2f s on %d ranks, %s, file %s",
		job.Output, r.Events, r.Locations, numbers.Bytes(r.Bytes), total.Seconds(), ranks, perSecond(r.Events, total), numbers.Bytes(uint64(r.File.FileBytes)))
	if verbose == 0 {
		return
	}
	for _, t := range r.Seconds {
		s.say("rank 0 %-8s %8.3f s", t.Stage, t.Elapsed.Seconds())
	}
	s.say("rank 0 segments: peak %s in memory, %s in files", numbers.Binary(r.Store.Peak), numbers.Binary(r.Store.Spilled))
	s.say("rank 0 sent %d messages of %s, %d collective calls of %s",
		r.Traffic.Messages.Load(), numbers.Bytes(uint64(r.Traffic.Bytes.Load())), r.Traffic.Collectives.Load(), numbers.Bytes(uint64(r.Traffic.CollectiveBytes.Load())))
	if m := &r.Matched; !job.GraphOnly {
		s.say("matched %d messages, %d between ranks (%.1f bytes each, in %d messages), %d collectives (%s in %d messages, %d rounds); a rank sent %d messages of %s at most",
			m.Messages, m.Remote, m.RemoteBytes(), m.Pairs.Messages, m.Collectives, numbers.Bytes(m.Members.Bytes), m.Members.Messages, r.Match.Rounds,
			m.Most.Messages, numbers.Bytes(m.Most.Bytes))
	}
	s.say("rank 0 ideal network: %d steps in %d slabs of time, %d phases; sent %s, %d crossings",
		r.Replay.Steps, r.Replay.Slabs, r.Replay.Phases, numbers.Bytes(r.Replay.Bytes), r.Replay.Messages)
	s.say("rank 0 delays: %d waits, sent %s; critical path: %d jumps, %d messages",
		r.Delays.Waits, numbers.Bytes(r.Delays.Bytes), r.Path.Jumps, r.Path.Messages)
	printGraph(s, &r.Graph)
}

func printResumed(s streams, r *analyze.Resumed, locations int) {
	switch {
	case r.Stage != "":
		s.say("all stages up to %s were kept of an earlier run", r.Stage)
	case r.Kept > 0:
		s.say("%d of %d locations were kept of earlier runs", r.Kept, locations)
	}
	if r.Torn > 0 {
		s.say("%d pieces of what earlier runs had finished were cut or changed, and done again", r.Torn)
	}
}

// printGraph prints what the reduction of the call graph sent.
func printGraph(s streams, g *ccgmerge.Report) {
	s.say("call graph: %d nodes of locations, %d of all; partner counts %s, broadcast %s",
		g.LocalNodes, g.Nodes, numbers.Bytes(g.PartnerBytes), numbers.Bytes(g.BroadcastBytes))
	if g.CodebookBytes > 0 {
		s.say("call graph: gap counts %s, codebook %s (%d values in %d contexts), slot counts %s, %d classes",
			numbers.Bytes(g.GapBytes), numbers.Bytes(g.CodebookBytes), g.GapValues, g.GapContexts, numbers.Bytes(g.SlotBytes), g.Rows)
	}
	for _, x := range []struct {
		what   string
		levels []ccgmerge.Level
	}{{"nodes", g.Levels}, {"classes", g.ClassLevels}} {
		for i, l := range x.levels {
			s.say("call graph level %d: %d messages, %s, %d %s, %d new", i, l.Messages, numbers.Bytes(l.Bytes), l.Nodes, x.what, l.New)
		}
	}
}

func perSecond(events uint64, d time.Duration) string {
	if d <= 0 {
		return "no time"
	}
	return fmt.Sprintf("%.2f M events/s", float64(events)/d.Seconds()/1e6)
}
