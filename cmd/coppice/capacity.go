package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/spf13/pflag"
)

// capacityFlags are the flags that the verbs of capacity share.
type capacityFlags struct {
	output
	options  pipeline.Options
	method   string
	operator string
	plot     string
	vary     []string
	workers  int
}

// define defines the flags of how a model is solved.
func (x *capacityFlags) define(f *pflag.FlagSet, methods bool) {
	x.add(f)
	f.Uint64Var(&x.options.Seed, "seed", 7, "of random numbers: the same seed gives the same result")
	f.IntVar(&x.options.Samples, "samples", 0, "walks that a mean is taken of (default: 200000 tasks in all, at most 1000)")
	f.Uint32Var(&x.options.SimJobs, "sim-jobs", 0, "jobs that a simulation ends (default: 1000000 visits to centers in all, 2000 to 60000 jobs)")
	x.method, x.operator = string(pipeline.MethodWalk), string(pipeline.OpExp)
	if methods {
		f.StringVar(&x.method, "method", x.method, "walk, bounds, tree or sim")
		f.StringVar(&x.operator, "op", x.operator, "operator of tree: exp, fj, varki or two")
	}
}

// defineVary defines the flags of verbs that change numbers of the model.
func (x *capacityFlags) defineVary(f *pflag.FlagSet) {
	f.StringArrayVar(&x.vary, "vary", nil, "NAME=VALUES: jobs=1..32, chunks=1,2,4, machines.node=1..8, CENTER.servers, buffer, STAGE.workers, and of sweep think, STAGE.demand=FACTORS (repeatable)")
	f.IntVarP(&x.workers, "workers", "j", 0, "settings solved at once (default: one for each processor); results do not depend on it")
}

// open checks the flags and reads the model.
func (x *capacityFlags) open(f *pflag.FlagSet, args []string) (*pipeline.Model, []pipeline.Knob, error) {
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return nil, nil, err
	}
	if err := x.check(); err != nil {
		return nil, nil, err
	}
	x.options.Method, x.options.Operator = pipeline.Method(x.method), pipeline.Operator(x.operator)
	if !slices.Contains(pipeline.Methods(), x.options.Method) || !slices.Contains(pipeline.Operators(), x.options.Operator) || x.options.Samples < 0 {
		return nil, nil, usage("%s: --method is walk, bounds, tree or sim, --op exp, fj, varki or two, and --samples is not negative", x.verb)
	}
	if x.plot != "" && !x.force {
		if _, err := os.Lstat(x.plot); err == nil {
			return nil, nil, outputError(x.verb, fmt.Errorf("%s: %w", x.plot, fs.ErrExist))
		}
	}
	var knobs []pipeline.Knob
	for _, v := range x.vary {
		k, err := pipeline.ParseKnob(v)
		if err != nil {
			return nil, nil, usage("%s: --vary %w", x.verb, err)
		}
		knobs = append(knobs, k)
	}
	m, err := readModel(operands[0])
	return m, knobs, err
}

// readModel reads a model file.
func readModel(path string) (*pipeline.Model, error) {
	st, err := os.Stat(path)
	if err == nil && st.Size() > pipeline.MaxFile {
		err = fmt.Errorf("%s: %d bytes are no model file", path, st.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("capacity: %w", err))
	}
	m, err := pipeline.Parse(data)
	if err != nil {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", path, err))
	}
	return m, nil
}

// capacityError gives an error of a solver its exit code.
func capacityError(verb string, err error) error {
	var field *pipeline.FieldError
	switch {
	case errors.As(err, &field), errors.Is(err, pipeline.ErrKnob), errors.Is(err, pipeline.ErrMethod):
		return jobs.Fail(jobs.ExitUsage, fmt.Errorf("%s: %w", verb, err))
	case errors.Is(err, pipeline.ErrTooLarge):
		return jobs.Fail(jobs.ExitResource, fmt.Errorf("%s: %w", verb, err))
	}
	return fmt.Errorf("%s: %w", verb, err)
}

func runCapacitySolve(args []string, s streams) error {
	var x capacityFlags
	f := flags("capacity solve", s, "coppice capacity solve model.toml", "coppice capacity solve model.toml --method sim", "coppice capacity solve model.toml --plot curve.svg -o report.json")
	x.define(f, true)
	f.StringVar(&x.plot, "plot", "", "SVG file with response and throughput by the number of jobs")
	m, _, err := x.open(f, args)
	if err != nil {
		return err
	}
	r := capacityReport{model: m}
	ctx := context.Background()
	if r.answer, err = pipeline.Solve(ctx, m, x.options); err != nil {
		return capacityError(x.verb, err)
	}
	if x.options.Method == pipeline.MethodWalk {
		if r.chunks, err = pipeline.TryChunks(ctx, m, x.options); err == nil {
			r.more, err = pipeline.TryMore(ctx, m, r.answer)
		}
		if err != nil {
			return capacityError(x.verb, err)
		}
	}
	if err := x.print(&r, s); err != nil {
		return err
	}
	if x.plot != "" {
		if err := x.draw(s, svg.File(r.answer.Curves(), r.answer.OccupancyBar())); err != nil {
			return err
		}
	}
	return r.judge()
}

// draw writes an SVG file.
func (x *capacityFlags) draw(s streams, svg []byte) error {
	o := output{verb: x.verb, path: x.plot, force: x.force}
	return o.write(s, writeBytes(svg))
}

// judge is status 1 where the model is known not to fit its trace.
func (r *capacityReport) judge() error {
	if r.unreliable() {
		return jobs.Fail(jobs.ExitFound, errSilent)
	}
	return nil
}

// reliableCheck is the largest error of the self-check with which answers count.
const reliableCheck = 0.10

func (r *capacityReport) unreliable() bool {
	o := r.model.Origin
	return o != nil && math.Abs(o.SelfCheckError) > reliableCheck
}

func runCapacitySweep(args []string, s streams) error {
	x := capacityFlags{output: output{tables: true}}
	f := flags("capacity sweep", s, "coppice capacity sweep model.toml --vary jobs=1..32 --vary chunks=1,2,4,8,16,32 -o sweep.csv --plot sweep.svg")
	x.define(f, true)
	x.defineVary(f)
	f.StringVar(&x.plot, "plot", "", "SVG file with the response over the longest of the lists, a line for each combination of the others")
	m, knobs, err := x.open(f, args)
	if err != nil {
		return err
	}
	if len(knobs) == 0 {
		return usage("capacity sweep: give --vary NAME=VALUES at least once")
	}
	rows, err := pipeline.Sweep(context.Background(), m, knobs, x.options, x.workers)
	if err != nil {
		return capacityError(x.verb, err)
	}
	r := capacityReport{model: m, knobs: knobs, rows: rows, options: x.options}
	if err := x.print(&r, s); err != nil {
		return err
	}
	if x.plot != "" {
		if err := x.draw(s, svg.File([]svg.Chart{pipeline.SweepChart(knobs, rows)}, nil)); err != nil {
			return err
		}
	}
	return r.judge()
}

// checkError is how far walk may be from the interval of the simulation.
const checkError = 0.08

// agrees reports whether walk is within the interval of the simulation and checkError.
func agrees(walk, sim *pipeline.TypeAnswer) bool {
	return math.Abs(walk.Response-sim.Response) <= sim.HalfWidth+float64(checkError*sim.Response)
}

func runCapacityCheck(args []string, s streams) error {
	var x capacityFlags
	f := flags("capacity check", s, "coppice capacity check model.toml", "coppice capacity check model.toml --sim-jobs 100000")
	x.define(f, false)
	m, _, err := x.open(f, args)
	if err != nil {
		return err
	}
	r := capacityReport{model: m}
	if r.answer, err = pipeline.Solve(context.Background(), m, x.options); err != nil {
		return capacityError(x.verb, err)
	}
	o := x.options
	o.Method = pipeline.MethodSim
	if r.simulated, err = pipeline.Solve(context.Background(), m, o); err != nil {
		return capacityError(x.verb, err)
	}
	if err := x.print(&r, s); err != nil {
		return err
	}
	for i := range r.answer.Types {
		a, b := &r.answer.Types[i], &r.simulated.Types[i]
		if !agrees(a, b) {
			return jobs.Fail(jobs.ExitFound, errSilent)
		}
	}
	return r.judge()
}

func runCapacityPlan(args []string, s streams) error {
	var x capacityFlags
	var target pipeline.Target
	var noSim bool
	f := flags("capacity plan", s,
		"coppice capacity plan model.toml --max-response 20 --vary machines.node=1..64",
		"coppice capacity plan model.toml --jobs 8 --min-throughput 0.3 --vary disk.servers=1..4 --vary chunks=1..32")
	x.define(f, false)
	x.defineVary(f)
	f.IntVar(&target.Jobs, "jobs", 0, "jobs that circulate (default: what the model says)")
	f.Float64Var(&target.MaxResponse, "max-response", 0, "largest mean response, in seconds")
	f.Float64Var(&target.MinThroughput, "min-throughput", 0, "least throughput, in jobs per second")
	f.BoolVar(&noSim, "no-sim", false, "do not judge the answer by a simulation")
	m, knobs, err := x.open(f, args)
	if err != nil {
		return err
	}
	if !(target.MaxResponse > 0) && !(target.MinThroughput > 0) || target.MaxResponse < 0 || target.MinThroughput < 0 || target.Jobs < 0 {
		return usage("capacity plan: give --max-response or --min-throughput, above 0")
	}
	if len(knobs) == 0 {
		return usage("capacity plan: say what may be changed: --vary machines.NAME=1..8, --vary CENTER.servers=1..4, --vary chunks=1..32")
	}
	p, err := pipeline.MakePlan(context.Background(), m, knobs, target, pipeline.PlanOptions{Options: x.options, Workers: x.workers, NoSim: noSim})
	if err != nil {
		return capacityError(x.verb, err)
	}
	r := capacityReport{model: m, plan: p, options: x.options}
	if err := x.print(&r, s); err != nil {
		return err
	}
	if p.Answer == nil || p.Answer.Verdict == pipeline.Refuted {
		return jobs.Fail(jobs.ExitFound, errSilent)
	}
	return r.judge()
}

// center is the name of a center of the model, or a dash.
func (r *capacityReport) center(k int) string {
	if k < 0 {
		return "-"
	}
	return strings.ToValidUTF8(r.model.Centers[k].Name, "?")
}
