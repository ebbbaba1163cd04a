package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	job               jobs.PredictOptions
	vectorTime, scale string
	substitute        string
	selfCheck         bool
	sweep             []string
	plot              string
	force             bool
	print             output
	failIf            conditions[report.PredictCondition]
	run               string // folder of --run
	execute           bool
	compiler          string
	copies            int
	ranks             jobFlags
	mem               size
	checkpoint        checkpointFlags
	classes           classFlags
	intervals         intervalFlags // of the predicted run
	command           []string      // launcher and program
}

func predictVerb(s streams) *cobra.Command {
	var o predictFlags
	c := verb("predict RUN.xtf --platform P.toml", "how long the run takes on another machine: simulated network, measured or scaled computation", 1, 1<<20,
		"coppice predict run.xtf --platform cluster.toml",
		"coppice predict run.xtf --platform cluster.toml --host-platform here.toml --vectors replay --substitute copy",
		"mpirun -n 64 coppice predict run.xtf --platform cluster.toml --cpu-scale 0.7 -o predicted.xtf",
		"coppice predict run.xtf --platform cluster.toml --sweep latency=0.5,1,2,bandwidth=0.5,1,2 --plot sweep.svg",
		"coppice predict run.xtf --platform cluster.toml --run -- mpirun -n 8 ./program",
		"coppice predict run.xtf --self-check --host-platform here.toml",
		"coppice predict run.xtf --platform cluster.toml --fail-if 'makespan>12s'")
	o.define(c.Flags())
	return s.does(c, func(operands []string, s streams) error {
		if err := o.complete(c.Flags(), operands); err != nil {
			return err
		}
		if o.execute {
			if err := o.measure(s); err != nil {
				return err
			}
		}
		defer heedSignals(&o.job.Analyze, s)()
		return launch(o.ranks.ranks, s, func(c mpi.Comm) error { return predictRank(c, o.job, &o, s) })
	})
}

func (o *predictFlags) define(f *pflag.FlagSet) {
	f.StringVar(&o.job.Platform, "platform", "", "platform file of the target (docs/platform.md)")
	f.StringVar(&o.job.Host, "host-platform", "", "platform file of the machine where the run was recorded: tells the error of the network")
	f.StringArrayVar(&o.job.Vectors, "vectors", nil, "computation measured on the target: a file of rank,index,ns, or what coppice replay wrote, a file or its folder (repeatable)")
	f.StringArrayVar(&o.job.HostVectors, "host-vectors", nil, "the same from replays on the machine where the run was recorded: tells the error of replays (repeatable)")
	oneOf(f, &o.vectorTime, "vectors-time", "wall", "column of replays: wall, time that passed, as in the recorded run; or cpu, processor time", "wall", "cpu")
	f.StringVar(&o.scale, "cpu-scale", "", "factor of the recorded computation time where no vectors replace it (default compute.scale of the platform)")
	oneOf(f, &o.substitute, "substitute", "scale", "how processes follow measured ones: scale, own time x the measured ratio; copy, the measured time", "scale", "copy")
	f.BoolVar(&o.selfCheck, "self-check", false, "the parts of the error alone; needs no --platform")
	f.StringArrayVar(&o.sweep, "sweep", nil, "predict for all combinations too: latency=0.5,1,2,bandwidth=1,2 with latency, bandwidth, overhead, eager (also net.latency, node.latency, ...), cpu, ranks-per-node, mapping (repeatable)")
	f.StringVar(&o.plot, "plot", "", "draw the sweep into this SVG file")
	f.StringVarP(&o.job.Output, "output", "o", "", "write the predicted run: an XTF file for report, query and export")
	f.BoolVarP(&o.force, "force", "f", false, "replace existing files")
	o.print = output{more: []string{"csv"}, path: "-"}
	oneOf(f, &o.print.format, "format", "text", "of the report on standard output: text, json or csv", o.print.choices()...)
	o.print.defineColor(f)
	o.print.defineLimit(f, longTables)
	o.failIf.define(f, report.ParsePredictCondition, ": METRIC<NUMBER, of "+strings.Join(report.PredictMetricNames(), ", "))
	f.BoolVar(&o.execute, "run", false, "record and replay the representatives here, with the command behind --, and predict with their vectors")
	f.StringVar(&o.run, "run-dir", "", "folder of --run (default RUN.xtf.replay)")
	atLeast(f, 0, &o.copies, "replay-copies", "", 0, "of --run: replay each process so many times at once (default: processes of a node of the platform, at most the processors here)")
	defineCompiler(f, &o.compiler, "of --run: ")
	o.ranks.define(f, "")
	o.ranks.defineVerbose(f, "times and sizes of the simulation")
	f.Var(&o.mem, "mem", "memory per rank: while classes are looked for, and while -o is written")
	o.checkpoint.define(f, "the output")
	o.classes.define(f)
	o.intervals.define(f)
}

// complete checks the flags and operands, and makes the options of the job.
func (o *predictFlags) complete(f *pflag.FlagSet, operands []string) (err error) {
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		operands, o.command = operands[:dash], operands[dash:]
	}
	if len(operands) != 1 {
		return usage("name one RUN.xtf; a command for --run comes after --")
	}
	job := &o.job
	job.Run, job.Scale = operands[0], predict.One
	if err := o.check(job.Run); err != nil {
		return err
	}
	job.Clock = map[string]predict.Clock{"wall": predict.WallClock, "cpu": predict.CPUClock}[o.vectorTime]
	job.Rule = map[string]predict.Rule{"scale": predict.ScaleRule, "copy": predict.CopyRule}[o.substitute]
	if o.scale != "" {
		if job.Scale, job.Scaled = predict.ParseScale(o.scale); !job.Scaled {
			return usage("--cpu-scale %s: give a number above 0, such as 0.7, with nine decimals at most", o.scale)
		}
	}
	if job.Sweep, err = predict.ParseSweep(o.sweep); err != nil {
		return usage("--sweep: %w", err)
	}
	if job.Output != "" {
		job.Analyze = fileJob(job.Run, job.Output, o.force)
		err = o.intervals.apply(&job.Analyze)
	}
	job.Analyze.MemBytes = int64(o.mem)
	if err == nil {
		err = o.checkpoint.apply(&job.Analyze)
	}
	if err == nil {
		job.Classes, err = o.classes.asked(f)
	}
	return err
}

// check looks at flags that need others.
func (o *predictFlags) check(run string) error {
	j := &o.job
	switch {
	case j.Platform == "" && !o.selfCheck:
		return usage("--platform P.toml is missing: the machine to predict for; coppice platform measure writes the file of this one")
	case o.selfCheck && j.Platform == "" && j.Host == "" && len(j.HostVectors) == 0:
		return usage("--self-check needs --host-platform H.toml or --host-vectors, or a --platform")
	case j.Platform == "" && (j.Output != "" || len(o.sweep) > 0):
		return usage("-o and --sweep need --platform")
	case o.plot != "" && len(o.sweep) == 0:
		return usage("--plot draws a sweep: add --sweep latency=0.5,1,2 or the like")
	case o.execute && len(o.command) == 0:
		return usage("--run needs the command: coppice predict %s --platform P.toml --run -- mpirun -n 8 ./program", run)
	case !o.execute && len(o.command) > 0:
		return usage("the command after -- is for --run")
	case o.execute && len(j.Vectors) > 0:
		return usage("--run makes the vectors that --vectors names: give one of them")
	case o.execute && mpi.Launched():
		return usage("--run starts the program itself: do not start coppice with a launcher")
	}
	if o.run == "" {
		o.run = run + ".replay"
	}
	for _, path := range []string{o.plot, j.Output} {
		if _, err := os.Lstat(path); path != "" && err == nil && !o.force && !o.checkpoint.resume {
			return usage("%s exists already. Give -f to replace it, or another name", path)
		}
	}
	return o.print.check()
}

// predictRank runs the job on one rank and reports on rank 0.
func predictRank(c mpi.Comm, job jobs.PredictOptions, o *predictFlags, s streams) error {
	d := o.ranks.display(c, &job.Show, s)
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
		plot := output{path: o.plot, force: o.force || o.checkpoint.resume}
		title := filepath.Base(job.Run) + " on " + r.Platform.Name
		if err := plot.write(s, func(w io.Writer) error { return p.Sweep.WriteSVG(w, title) }); err != nil {
			return 0, err
		}
	}
	if !o.ranks.quiet {
		printPredicted(s, job, r, ranks, took, o.ranks.verbose)
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
	if told(p.Judge(o.failIf.list), job.Run+": ", s) != nil {
		code = jobs.ExitFound
	}
	return code, nil
}

// write prints the report.
func (o *predictFlags) write(run *report.Run, p *report.Prediction, s streams) error {
	return o.print.write(s, func(w io.Writer) error {
		if o.print.format != "json" {
			return report.Write(w, p, o.print.format, o.print.style(s))
		}
		e, brief, err := aboutOf(run)
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
		fmt.Fprintf(s.err, "coppice: %s does not have the intervals of --intervals-file: their times are those of the recorded run\n", job.Output)
	}
	if r.Output != nil && r.Output.Done {
		fmt.Fprintf(s.err, "coppice: %s: done already, from the same run and options\n", job.Output)
	} else if r.Output != nil {
		printResumed(s, &r.Output.Resumed, r.Output.Locations)
		fmt.Fprintf(s.err, "coppice: %s: %d events of %d locations. Next: coppice report %s\n", job.Output, r.Output.Events, r.Output.Locations, job.Output)
	}
}
