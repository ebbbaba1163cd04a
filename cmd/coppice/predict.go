package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	platform, host       string
	vectors, hostVectors []string
	vectorTime           string
	scale, substitute    string
	selfCheck            bool
	sweep                []string
	plot                 string
	output               string
	force                bool
	analyze              analyzeFlags // of the predicted run
	print                output
	failIf               []string
	conditions           []*report.PredictCondition
	run                  string // folder of --run
	execute              bool
	compiler             string
	copies               int
	ranks                int
	progress, status     string
	quiet                bool
	verbose              int
	command              []string // launcher and program
}

func runPredict(args []string, s streams) error {
	var o predictFlags
	job, err := o.parse(o.flagSet(s), args)
	if err != nil {
		return err
	}
	if o.execute {
		if err := o.measure(&job, s); err != nil {
			return err
		}
	}
	defer heedSignals(&job.Analyze, s)()
	return launch(o.ranks, s, func(c mpi.Comm) error { return predictRank(c, job, &o, s) })
}

func (o *predictFlags) flagSet(s streams) *pflag.FlagSet {
	f := flags("predict", s,
		"coppice predict run.xtf --platform cluster.toml",
		"coppice predict run.xtf --platform cluster.toml --host-platform here.toml --vectors replay --substitute copy",
		"mpirun -n 64 coppice predict run.xtf --platform cluster.toml --cpu-scale 0.7 -o predicted.xtf",
		"coppice predict run.xtf --platform cluster.toml --sweep latency=0.5,1,2,bandwidth=0.5,1,2 --plot sweep.svg",
		"coppice predict run.xtf --platform cluster.toml --run -- mpirun -n 8 ./program",
		"coppice predict run.xtf --self-check --host-platform here.toml",
		"coppice predict run.xtf --platform cluster.toml --fail-if 'makespan>12s'")
	o.define(f)
	return f
}

// parse makes the options of the job of a command line.
func (o *predictFlags) parse(f *pflag.FlagSet, args []string) (jobs.PredictOptions, error) {
	operands, err := parse(f, args, 1, 1<<20)
	if err != nil {
		return jobs.PredictOptions{}, err
	}
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		operands, o.command = operands[:dash], operands[dash:]
	}
	if len(operands) != 1 {
		return jobs.PredictOptions{}, usage("predict: name one RUN.xtf; a command for --run stands behind --")
	}
	job, err := o.job(operands[0])
	if err == nil {
		err = o.analyze.checkpoint.apply(&job.Analyze)
	}
	if err == nil {
		job.Classes, err = o.analyze.classJob(f)
	}
	return job, err
}

func (o *predictFlags) define(f *pflag.FlagSet) {
	f.StringVar(&o.platform, "platform", "", "platform file of the target (docs/platform.md)")
	f.StringVar(&o.host, "host-platform", "", "platform file of the machine where the run was recorded: tells the error of the network")
	f.StringArrayVar(&o.vectors, "vectors", nil, "computation measured on the target: a file of rank,index,ns, or what coppice replay wrote, a file or its folder (repeatable)")
	f.StringArrayVar(&o.hostVectors, "host-vectors", nil, "the same from replays on the machine where the run was recorded: tells the error of replays (repeatable)")
	f.StringVar(&o.vectorTime, "vectors-time", "wall", "column of replays: wall, time that passed, as in the recorded run; or cpu, processor time")
	f.StringVar(&o.scale, "cpu-scale", "", "factor of the recorded computation time where no vectors replace it (default compute.scale of the platform)")
	f.StringVar(&o.substitute, "substitute", "scale", "how processes follow measured ones: scale, own time x the measured ratio; copy, the measured time")
	f.BoolVar(&o.selfCheck, "self-check", false, "the parts of the error alone; needs no --platform")
	f.StringArrayVar(&o.sweep, "sweep", nil, "predict for all combinations too: latency=0.5,1,2,bandwidth=1,2 with latency, bandwidth, overhead, eager (also net.latency, node.latency, ...), cpu, ranks-per-node, mapping (repeatable)")
	f.StringVar(&o.plot, "plot", "", "draw the sweep into this SVG file")
	f.StringVarP(&o.output, "output", "o", "", "write the predicted run: an XTF file for report, query and export")
	f.BoolVarP(&o.force, "force", "f", false, "replace existing files")
	f.StringVar(&o.print.format, "format", "text", "of the report on standard output: text, json or csv")
	f.StringVar(&o.print.color, "color", "auto", "auto, always or never; NO_COLOR and TERM=dumb mean never")
	f.IntVar(&o.print.limit, "limit", 0, "rows of long text tables (default 20)")
	f.StringArrayVar(&o.failIf, "fail-if", nil, "exit with status 1 if this holds: METRIC<NUMBER, of "+strings.Join(report.PredictMetricNames(), ", ")+" (repeatable)")
	f.BoolVar(&o.execute, "run", false, "record and replay the representatives here, with the command behind --, and predict with their vectors")
	f.StringVar(&o.run, "run-dir", "", "folder of --run (default RUN.xtf.replay)")
	f.IntVar(&o.copies, "replay-copies", 0, "of --run: replay each process so many times at once (default: processes of a node of the platform, at most the processors here)")
	f.StringVar(&o.compiler, "cc", "", "of --run: compiler wrapper of the program's MPI library")
	f.IntVarP(&o.ranks, "jobs", "j", runtime.NumCPU(), "in-process ranks when no launcher started them")
	f.Var(&o.analyze.mem, "mem", "memory per rank: while classes are looked for, and while -o is written")
	f.StringVar(&o.progress, "progress", "auto", "auto, tty, plain, json or none")
	f.StringVar(&o.status, "status-file", os.Getenv("COPPICE_STATUS_FILE"), "keep the progress in this file, for coppice info")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no closing lines")
	f.CountVarP(&o.verbose, "verbose", "v", "times and sizes of the simulation")
	o.analyze.checkpoint.define(f, "the output")
	o.analyze.classFlags(f)
	o.analyze.intervalFlags(f)
}

// job checks the flags and makes the options of the job.
func (o *predictFlags) job(run string) (jobs.PredictOptions, error) {
	job := jobs.PredictOptions{Run: run, Platform: o.platform, Host: o.host, Vectors: o.vectors, HostVectors: o.hostVectors, Output: o.output, Scale: predict.One}
	if err := o.check(run); err != nil {
		return job, err
	}
	var known bool
	if job.Clock, known = map[string]predict.Clock{"wall": predict.WallClock, "cpu": predict.CPUClock}[o.vectorTime]; !known {
		return job, usage("predict: --vectors-time %s: choose wall or cpu", o.vectorTime)
	}
	if job.Rule, known = map[string]predict.Rule{"scale": predict.ScaleRule, "copy": predict.CopyRule}[o.substitute]; !known {
		return job, usage("predict: --substitute %s: choose scale or copy", o.substitute)
	}
	if o.scale != "" {
		if job.Scale, job.Scaled = predict.ParseScale(o.scale); !job.Scaled {
			return job, usage("predict: --cpu-scale %s: give a number above 0, such as 0.7, with nine decimals at most", o.scale)
		}
	}
	var err error
	if job.Sweep, err = predict.ParseSweep(o.sweep); err != nil {
		return job, usage("predict: --sweep: %w", err)
	}
	for _, text := range o.failIf {
		c, err := report.ParsePredictCondition(text)
		if err != nil {
			return job, usage("predict: --fail-if: %w", err)
		}
		o.conditions = append(o.conditions, c)
	}
	if o.output == "" {
		job.Analyze.MemBytes = int64(o.analyze.mem)
		return job, nil
	}
	a := &o.analyze
	a.output, a.force, a.pages, a.events, a.deviation, a.ranks, a.progress, a.store = o.output, o.force, "packed", "all", "0", o.ranks, o.progress, -1
	a.rules.productive, a.rules.processors = "mean", "participants"
	job.Analyze, err = a.job(run)
	return job, err
}

// check looks at flags that need others.
func (o *predictFlags) check(run string) error {
	o.print.verb, o.print.tables, o.print.path, o.print.force = "predict", true, "-", true
	switch {
	case o.platform == "" && !o.selfCheck:
		return usage("predict: --platform P.toml is missing: the machine to predict for; coppice platform measure writes the file of this one")
	case o.selfCheck && o.platform == "" && o.host == "" && len(o.hostVectors) == 0:
		return usage("predict: --self-check needs --host-platform H.toml or --host-vectors, or a --platform")
	case o.platform == "" && (o.output != "" || len(o.sweep) > 0):
		return usage("predict: -o and --sweep need --platform")
	case o.plot != "" && len(o.sweep) == 0:
		return usage("predict: --plot draws a sweep: add --sweep latency=0.5,1,2 or the like")
	case o.execute && len(o.command) == 0:
		return usage("predict: --run needs the command: coppice predict %s --platform P.toml --run -- mpirun -n 8 ./program", run)
	case !o.execute && len(o.command) > 0:
		return usage("predict: the command behind -- is for --run")
	case o.execute && len(o.vectors) > 0:
		return usage("predict: --run makes the vectors that --vectors names: give one of them")
	case o.execute && mpi.Launched():
		return usage("predict: --run starts the program itself: do not start coppice with a launcher")
	case o.copies < 0:
		return usage("predict: --replay-copies %d: give the number of replays at once", o.copies)
	case o.ranks < 1:
		return usage("predict: -j %d: at least one rank is needed", o.ranks)
	case !slices.Contains(progressForms, o.progress):
		return usage("predict: --progress %s: choose one of %s", o.progress, strings.Join(progressForms, ", "))
	}
	if o.run == "" {
		o.run = run + ".replay"
	}
	for _, path := range []string{o.plot, o.output} {
		if _, err := os.Lstat(path); path != "" && err == nil && !o.force && !o.analyze.checkpoint.resume {
			return usage("predict: %s exists already. Give -f to replace it, or another name", path)
		}
	}
	return o.print.check()
}

// predictRank runs the job on one rank and reports on rank 0.
func predictRank(c mpi.Comm, job jobs.PredictOptions, o *predictFlags, s streams) error {
	var d *display
	if c.Rank() == 0 && !o.quiet {
		d = newDisplay(s.err, o.progress, o.status)
		job.Show = d.show
	}
	began := time.Now()
	res, err := jobs.Predict(c, job)
	d.end(err)
	if err != nil {
		return stopped(c, err, s)
	}
	code := jobs.ExitDone
	if c.Rank() == 0 {
		code, err = o.report(&job, res, c.Size(), time.Since(began), s)
	}
	if err := mpi.AgreeOn(c, err, errSilent); err != nil {
		return err
	}
	codes := []int64{int64(code)}
	if err := c.AllreduceInt64(codes, mpi.Max); err != nil {
		return err
	}
	if codes[0] != jobs.ExitDone {
		return jobs.Fail(int(codes[0]), errSilent)
	}
	return nil
}

// report prints the result and returns the exit code.
func (o *predictFlags) report(job *jobs.PredictOptions, r *jobs.PredictResult, ranks int, took time.Duration, s streams) (int, error) {
	run, err := s.runs.open(job.Run)
	if err != nil {
		return 0, err
	}
	p := newPrediction(run, job, r)
	if err := o.write(run, p, s); err != nil {
		return 0, err
	}
	if o.plot != "" {
		plot := output{verb: "predict", path: o.plot, format: "text", color: "never", force: o.force || o.analyze.checkpoint.resume}
		title := filepath.Base(job.Run) + " on " + r.Platform.Name
		if err := plot.write(s, func(w io.Writer) error { return p.Sweep.WriteSVG(w, title) }); err != nil {
			return 0, err
		}
	}
	if !o.quiet {
		printPredicted(s, job, r, ranks, took, o.verbose)
	}
	code := jobs.ExitDone
	if r.Unmatched > 0 || r.Output != nil && r.Output.Partial {
		code = jobs.ExitPartial
		why := "the predicted run is without what could not be read"
		if r.Unmatched > 0 {
			why = report.Plural(int(r.Unmatched), "end") + " of messages without the other end left out"
		}
		fmt.Fprintf(s.err, "coppice: %s: the prediction is partial: %s\n", job.Run, why)
	}
	if r.Deadlock != nil {
		return jobs.ExitFound, nil
	}
	for _, v := range p.Judge(o.conditions) {
		if v.Holds {
			fmt.Fprintf(s.err, "coppice: %s: %s\n", job.Run, v.Text)
			code = jobs.ExitFound
		}
	}
	return code, nil
}

// write prints the report.
func (o *predictFlags) write(run *report.Run, p *report.Prediction, s streams) error {
	return o.print.write(s, func(w io.Writer) error {
		if o.print.format != "json" {
			return report.Write(w, p, o.print.format, o.print.style(s))
		}
		e, err := run.Envelope()
		var brief *report.Brief
		if err == nil {
			brief, err = run.Brief()
		}
		if report.Partial(err) { // the prediction is there, its report is not
			return jobs.Fail(jobs.ExitPartial, &fileError{run.Path, err})
		}
		if err != nil {
			return readError(run.Path, err)
		}
		return e.WriteJSON(w, brief, "predict", report.Value(p))
	})
}

// printPredicted prints the closing lines.
func printPredicted(s streams, job *jobs.PredictOptions, r *jobs.PredictResult, ranks int, took time.Duration, verbose int) {
	if r.Platform != nil && r.Deadlock == nil {
		fmt.Fprintf(s.err, "coppice: %s: %d operations and messages simulated in %.2f s (%s), %.2f s in all on %d ranks\n",
			job.Run, r.Simulated, r.Elapsed.Seconds(), perSecond(r.Simulated, r.Elapsed), took.Seconds(), ranks)
	}
	if verbose > 0 && r.Skipped > 0 {
		fmt.Fprintf(s.err, "coppice: %d iterations were like others before them and were added, not run\n", r.Skipped)
	}
	if r.WithoutSidecar {
		fmt.Fprintf(s.err, "coppice: %s has not the intervals of --intervals-file: their times are those of the recorded run\n", job.Output)
	}
	if r.Output != nil && r.Output.Done {
		fmt.Fprintf(s.err, "coppice: %s: done already, from the same run and options\n", job.Output)
	} else if r.Output != nil {
		printResumed(s, &r.Output.Resumed, r.Output.Locations)
		fmt.Fprintf(s.err, "coppice: %s: %d events of %d locations. Next: coppice report %s\n", job.Output, r.Output.Events, r.Output.Locations, job.Output)
	}
}
