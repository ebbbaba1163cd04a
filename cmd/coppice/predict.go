package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/prediction"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/predicted"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type predictFlags struct {
	job               prediction.Options
	vectorTime, scale string
	substitute        string
	selfCheck         bool
	sweep             []string
	plot              string
	print             output
	failIf            failIf[predicted.Condition]
	run               string // folder of --run
	execute           bool
	compiler          string
	copies            int
	result            resultFlags // the predicted run
	command           []string    // launcher and program
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
		return launch(o.result.run.ranks, s, func(c mpi.Comm) error { return predictRank(c, o.job, &o, s) })
	})
}

func (o *predictFlags) define(f *pflag.FlagSet) {
	f.StringVar(&o.job.Platform, "platform", "", "platform file of the target (docs/platform.md)")
	f.StringVar(&o.job.Host, "host-platform", "", "platform file of the machine where the run was recorded: shows the error of the network")
	f.StringArrayVar(&o.job.Vectors, "vectors", nil, "computation measured on the target: a file of rank,index,ns, or what coppice replay wrote, a file or its folder (repeatable)")
	f.StringArrayVar(&o.job.HostVectors, "host-vectors", nil, "the same from replays on the machine where the run was recorded: shows the error of replays (repeatable)")
	oneOf(f, &o.vectorTime, "vectors-time", "wall", "column of replays: wall, time that passed, as in the recorded run; or cpu, processor time", "wall", "cpu")
	f.StringVar(&o.scale, "cpu-scale", "", "factor of the recorded computation time where no vectors replace it (default compute.scale of the platform)")
	oneOf(f, &o.substitute, "substitute", "scale", "how processes follow measured ones: scale, own time x the measured ratio; copy, the measured time", "scale", "copy")
	f.BoolVar(&o.selfCheck, "self-check", false, "the parts of the error alone; needs no --platform")
	f.StringArrayVar(&o.sweep, "sweep", nil, "predict for all combinations too: latency=0.5,1,2,bandwidth=1,2 with latency, bandwidth, overhead, eager (also net.latency, node.latency, ...), cpu, ranks-per-node, mapping (repeatable)")
	f.StringVar(&o.plot, "plot", "", "draw the sweep into this SVG file")
	f.StringVarP(&o.result.Output, "output", "o", "", "write the predicted run: an XTF file for report, query and export")
	f.BoolVarP(&o.result.Force, "force", "f", false, "replace existing files")
	o.print = output{more: []string{"csv"}, path: "-"}
	oneOf(f, &o.print.format, "format", "text", "of the report on standard output: text, json or csv", o.print.choices()...)
	o.print.defineColor(f)
	o.print.defineLimit(f, longTables)
	o.failIf.define(f, predicted.ParseCondition, ": METRIC<NUMBER, of "+strings.Join(conditions.Names(predicted.Metrics()), ", "))
	f.BoolVar(&o.execute, "run", false, "record and replay the representatives here, with the command after --, and predict with their vectors")
	f.StringVar(&o.run, "run-dir", "", "folder of --run (default RUN.xtf.replay)")
	atLeast(f, 0, &o.copies, "replay-copies", "", 0, "of --run: replay this many copies of each process at once (default: processes of a node of the platform, at most the processors here)")
	defineCompiler(f, &o.compiler, "of --run: ")
	o.result.run.defineVerbose(f, "times and sizes of the simulation")
	f.Var((*size)(&o.result.MemBytes), "mem", "memory per rank: while classes are looked for, and while -o is written")
	o.result.define(f, "the output")
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
	job.Run, job.Scale = operands[0], platform.One
	if err := o.check(job.Run); err != nil {
		return err
	}
	job.Clock = map[string]predict.Clock{"wall": predict.WallClock, "cpu": predict.CPUClock}[o.vectorTime]
	job.Rule = map[string]predict.Rule{"scale": predict.ScaleRule, "copy": predict.CopyRule}[o.substitute]
	if o.scale != "" {
		if job.Scale, job.Scaled = platform.ParseScale(o.scale); !job.Scaled {
			return usage("--cpu-scale %s: give a number above 0, such as 0.7, with nine decimals at most", o.scale)
		}
	}
	if job.Sweep, err = platform.ParseSweep(o.sweep); err != nil {
		return usage("--sweep: %w", err)
	}
	r := &o.result
	r.Trace, r.Profile, r.Deviation, r.StoreBytes = job.Run, xtf.Packed, "0", -1
	err = r.complete(f)
	job.Analyze, job.Output, job.Classes, job.Analyze.Classes = r.Options, r.Output, r.Classes, nil
	return err
}

// check checks flags that need others.
func (o *predictFlags) check(run string) error {
	j := &o.job
	switch {
	case j.Platform == "" && !o.selfCheck:
		return usage("--platform P.toml is missing: the machine to predict for; coppice platform measure writes the file of this one")
	case o.selfCheck && j.Platform == "" && j.Host == "" && len(j.HostVectors) == 0:
		return usage("--self-check needs --host-platform H.toml or --host-vectors, or a --platform")
	case j.Platform == "" && (o.result.Output != "" || len(o.sweep) > 0):
		return usage("-o and --sweep need --platform")
	case o.plot != "" && len(o.sweep) == 0:
		return usage("--plot draws a sweep: add one, such as --sweep latency=0.5,1,2")
	case o.execute && len(o.command) == 0:
		return usage("--run needs the command: coppice predict %s --platform P.toml --run -- mpirun -n 8 ./program", run)
	case !o.execute && len(o.command) > 0:
		return usage("the command after -- is for --run")
	case o.execute && slices.Contains(o.command, ":"):
		return usage("--run replays one program, and the command starts several: record each with coppice record --log-ranks, replay it, and give --vectors")
	case o.execute && len(j.Vectors) > 0:
		return usage("--run makes the vectors that --vectors names: give one of them")
	case o.execute && mpi.Launched():
		return usage("--run starts the program itself: do not start coppice with a launcher")
	}
	o.run = cmp.Or(o.run, run+".replay")
	for _, path := range []string{o.plot, o.result.Output} {
		if _, err := os.Lstat(path); path != "" && err == nil && !o.result.Force && !o.result.Resume {
			return usage("%s exists already. Give -f to replace it, or another name", path)
		}
	}
	return o.print.check()
}

// predictRank runs the job on one rank and reports on rank 0.
func predictRank(c mpi.Comm, job prediction.Options, o *predictFlags, s streams) error {
	d := o.result.run.display(c, &job.Show, s)
	began := time.Now()
	res, err := prediction.Run(c, job)
	d.end(err)
	if err != nil {
		return stopped(c, job.Run, err, s)
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

func (o *predictFlags) report(job *prediction.Options, r *prediction.Result, ranks int, took time.Duration, s streams) (int, error) {
	run, err := s.runs.open(job.Run)
	if err != nil {
		return 0, err
	}
	p := &r.Prediction
	p.Name = run.Name
	if p.Makespan != nil && len(p.Computation.Donors) == 0 && !job.Scaled {
		p.Commands = chainCommands(job, p)
	}
	if err := o.write(run, p, s); err != nil {
		return 0, err
	}
	if o.plot != "" {
		plot := output{path: o.plot, force: o.result.Force || o.result.Resume}
		title := filepath.Base(job.Run) + " on " + r.Platform.Name
		if err := plot.write(s, func(w io.Writer) error { return p.Sweep.WriteSVG(w, title) }); err != nil {
			return 0, err
		}
	}
	if !o.result.run.quiet {
		printPredicted(s, job, r, ranks, took)
	}
	code := jobs.ExitDone
	if r.Unmatched > 0 || r.Output != nil && r.Output.Partial {
		code = jobs.ExitPartial
		why := "the predicted run is without what could not be read"
		if r.Unmatched > 0 {
			why = numbers.Plural(int(r.Unmatched), "end") + " of messages without the other end left out"
		}
		s.say("%s: the prediction is partial: %s", job.Run, why)
	}
	if r.Deadlock != nil {
		return jobs.ExitFound, nil
	}
	if told(p.Judge(o.failIf.list), job.Run+": ", s) != nil {
		code = jobs.ExitFound
	}
	return code, nil
}

func (o *predictFlags) write(run *results.Run, p *predicted.Prediction, s streams) error {
	err := o.print.print(s, p, func(w io.Writer) error { return about(w, run, "predict", p) })
	if results.Partial(err) { // there is a prediction, but not its report
		return jobs.Fail(jobs.ExitPartial, err)
	}
	return err
}

// printPredicted prints the closing lines.
func printPredicted(s streams, job *prediction.Options, r *prediction.Result, ranks int, took time.Duration) {
	if r.Platform != nil && r.Deadlock == nil {
		s.say("%s: %d operations and messages simulated in %.2f s (%s), %.2f s in all on %d ranks",
			job.Run, r.Simulated, r.Elapsed.Seconds(), perSecond(r.Simulated, r.Elapsed), took.Seconds(), ranks)
	}
	if r.WithoutSidecar {
		s.say("%s does not have the intervals of --intervals-file: their times are those of the recorded run", job.Output)
	}
	if r.Output != nil && r.Output.Done {
		s.say("%s: done already, from the same run and options", job.Output)
	} else if r.Output != nil {
		printResumed(s, &r.Output.Resumed, r.Output.Locations)
		s.say("%s: %d events of %d locations. Next: coppice report %s", job.Output, r.Output.Events, r.Output.Locations, job.Output)
	}
}

// measure records what the representatives of the run receive, replays them on this machine, and gives their vectors to the job.
func (o *predictFlags) measure(s streams) error {
	job := &o.job
	var ranks []int
	err := mpi.RunInProcess(o.result.run.ranks, func(c mpi.Comm) error {
		list, err := prediction.Representatives(c, job)
		if err == nil && c.Rank() == 0 {
			for _, p := range list {
				ranks = append(ranks, int(p))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	at, err := record.ProgramAt(context.Background(), o.command)
	if err != nil {
		return usage("--run: %w", err)
	}
	program := o.command[at:]
	logs, vectors := filepath.Join(o.run, "log"), filepath.Join(o.run, "vectors")
	for _, dir := range []string{logs, vectors} {
		if _, err := os.Lstat(dir); err == nil && !o.result.Force {
			return usage("%s exists already. Give -f to replace it, or another folder with --run-dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return outputError(err)
		}
	}
	s.say("recording what %s receive: %s", numbers.Plural(len(ranks), "representative"), strings.Join(o.command, " "))
	r, err := record.Run(context.Background(), record.Options{
		Output: logs, Command: o.command, Compiler: o.compiler, Cache: cacheFolder(), Log: record.LogOptions{Ranks: ranks}, Out: s.err, Err: s.err,
	})
	if err != nil || r.Exit != 0 {
		return concludeRecord(r, err, s)
	}
	if len(r.Unlogged) > 0 {
		return usage("--run: process %d of the recorded run does not exist in %q: start as many processes as were recorded", r.Unlogged[0], strings.Join(o.command, " "))
	}
	copies, node, err := o.copiesOf(r.Processes)
	if err != nil {
		return err
	}
	s.say("replaying %s one after the other, %d times, each %d at once: %s", numbers.Plural(len(r.Logs), "process"), repetitions, copies, strings.Join(program, " "))
	if copies < node {
		s.say("a node of the platform has %d processes: with fewer at once, each has more of memory and caches, and the prediction is too good. --replay-copies %d replays as many", node, node)
	}
	return o.replay(r.Logs, program, vectors, copies, s)
}

// copiesOf returns how many replays of a process run at once, and how many processes a node of the platform has. The numbers are
// equal, but the former is at most the number of processors of this machine.
func (o *predictFlags) copiesOf(processes int) (copies, node int, err error) {
	path := cmp.Or(o.job.Platform, o.job.Host)
	node = 1
	if path != "" {
		p, err := platform.Open(path)
		if err != nil {
			return 0, 0, platformInput(err)
		}
		n, err := p.Network(uint32(processes))
		if err != nil {
			return 0, 0, platformInput(err)
		}
		node = min(int(n.RanksPerNode), processes)
	}
	if copies = o.copies; copies == 0 {
		copies = max(min(node, runtime.NumCPU()), 1)
	}
	return copies, node, nil
}

// repetitions of a replay: with fewer, time that other programs took cannot be separated from its own.
const repetitions = 3

// replay replays the logs, one after another.
func (o *predictFlags) replay(logs, program []string, vectors string, copies int, s streams) error {
	for _, log := range logs {
		list, err := record.RunReplay(context.Background(), record.ReplayOptions{
			Logs: []string{log}, Command: program, Output: vectors, Compiler: o.compiler, Cache: cacheFolder(), Repeat: repetitions, PerNode: copies, Out: s.err, Err: s.err,
		})
		if err != nil {
			return recordError(fmt.Errorf("--run: %w", err))
		}
		for i := range list {
			x := &list[i]
			s.say("rank %d of %d: %s, computation %.6f s of processor time, %.6f s passed", x.Rank, x.Size, outcome(x), float64(x.CPU)/1e9, float64(x.Wall)/1e9)
			if !x.Whole() && x.Vector == "" {
				return fail(jobs.ExitFound, "--run: the replay of process %d ended early: %s", x.Rank, outcome(x))
			}
			o.job.Vectors = append(o.job.Vectors, filepath.Join(vectors, strconv.Itoa(x.Rank)+".csv"))
		}
	}
	if len(o.job.Vectors) == 0 {
		return fail(jobs.ExitFound, "--run: no process was replayed")
	}
	return nil
}

// chainCommands are the commands that measure the computation of the representatives on a node of the target.
func chainCommands(job *prediction.Options, p *predicted.Prediction) []string {
	ranks := make([]int, len(p.Classes))
	for i := range p.Classes {
		ranks[i] = int(p.Classes[i].Representative)
	}
	slices.Sort(ranks)
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ","), "[]")
	if p.Computation.Threshold == "" {
		return []string{fmt.Sprintf("coppice predict %s --platform %s --classes %s      finds the processes that stand for the others", job.Run, job.Platform, prediction.DefaultClasses)}
	}
	cmds := []string{
		fmt.Sprintf("coppice record --log-ranks %s -o LOG -- mpirun -n %d ./PROGRAM", list, len(p.Processes)),
		"coppice replay LOG/logs/*.log -o VECTORS -- ./PROGRAM      (on the target)",
		fmt.Sprintf("coppice predict %s --platform %s --vectors VECTORS", job.Run, job.Platform),
	}
	return append(cmds, fmt.Sprintf("or all three here: coppice predict %s --platform %s --run -- mpirun -n %d ./PROGRAM", job.Run, job.Platform, len(p.Processes)))
}
