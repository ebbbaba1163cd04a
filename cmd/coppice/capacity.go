package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coppice-hpc/coppice/internal/capacity"
	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// capacityFlags are the flags that the verbs of capacity share.
type capacityFlags struct {
	output
	options pipeline.Options
	plot    string
	vary    []string
	workers int
	model   *pipeline.Model
	knobs   []pipeline.Knob
}

// define defines the flags of how a model is solved.
func (x *capacityFlags) define(f *pflag.FlagSet) {
	x.output.define(f)
	f.Uint64Var(&x.options.Seed, "seed", 7, "of random numbers: the same seed gives the same result")
	atLeast(f, 0, &x.options.Samples, "samples", "", 0, "walks that a mean is taken of (default: 200000 tasks in all, at most 1000)")
	f.Uint32Var(&x.options.SimJobs, "sim-jobs", 0, "jobs that a simulation ends (default: 1000000 visits to centers in all, 2000 to 60000 jobs)")
	x.options.Method, x.options.Operator = pipeline.MethodWalk, pipeline.OpExp
}

// defineMethod defines the flags of verbs that solve by a method of choice, and draw.
func (x *capacityFlags) defineMethod(f *pflag.FlagSet, plot string) {
	oneOf(f, (*string)(&x.options.Method), "method", string(pipeline.MethodWalk), "walk, bounds, tree or sim", texts(pipeline.Methods())...)
	oneOf(f, (*string)(&x.options.Operator), "op", string(pipeline.OpExp), "operator of tree: exp, fj, varki or two", texts(pipeline.Operators())...)
	f.StringVar(&x.plot, "plot", "", "SVG file with "+plot)
}

// defineVary defines the flags of verbs that change numbers of the model.
func (x *capacityFlags) defineVary(f *pflag.FlagSet) {
	f.StringArrayVar(&x.vary, "vary", nil, "NAME=VALUES: jobs=1..32, chunks=1,2,4, machines.node=1..8, CENTER.servers, buffer, STAGE.workers, and of sweep think, STAGE.demand=FACTORS (repeatable)")
	f.IntVarP(&x.workers, "workers", "j", 0, "settings solved at once (default: one for each processor); results do not depend on it")
}

func texts[T ~string](list []T) []string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return out
}

// capacityVerb makes a verb that solves its model and prints the answer, then draws it. Errors of solvers get their exit codes.
func (s streams) capacityVerb(c *cobra.Command, x *capacityFlags, solve func(ctx context.Context) (*capacity.Report, error)) *cobra.Command {
	return s.does(c, func(operands []string, s streams) error {
		err := x.read(operands[0])
		if err != nil {
			return err
		}
		r, err := solve(context.Background())
		if err != nil {
			return capacityError(err)
		}
		r.Model, r.Knobs, r.Options = x.model, x.knobs, x.options
		if err := x.write(s, func(w io.Writer) error { return r.Write(w, x.format) }); err != nil {
			return err
		}
		if x.plot != "" {
			drawing := svg.File([]svg.Chart{pipeline.SweepChart(x.knobs, r.Rows)}, nil)
			if r.Answer != nil {
				drawing = svg.File(r.Answer.Curves(), r.Answer.OccupancyBar())
			}
			o := output{path: x.plot, force: x.force}
			if err := o.write(s, writeBytes(drawing)); err != nil {
				return err
			}
		}
		if r.Failed() {
			return jobs.Fail(jobs.ExitFound, errSilent)
		}
		return nil
	}, x.check, func() error { return x.free(x.plot) })
}

// read reads the model and the numbers to change.
func (x *capacityFlags) read(path string) error {
	for _, v := range x.vary {
		k, err := pipeline.ParseKnob(v)
		if err != nil {
			return usage("--vary %w", err)
		}
		x.knobs = append(x.knobs, k)
	}
	st, err := os.Stat(path)
	if err == nil && st.Size() > pipeline.MaxFile {
		err = fmt.Errorf("%s: %d bytes are not a model file", path, st.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("capacity: %w", err))
	}
	if x.model, err = pipeline.Parse(data); err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// capacityError gives an error of a solver its exit code.
func capacityError(err error) error {
	var field *pipeline.FileError
	switch {
	case errors.As(err, &field), errors.Is(err, pipeline.ErrKnob):
		return usage("%w", err)
	case errors.Is(err, pipeline.ErrTooLarge):
		return fail(jobs.ExitResource, "%w", err)
	}
	return ofVerb{err}
}

func capacitySolve(s streams) *cobra.Command {
	var x capacityFlags
	c := verb("solve MODEL.toml", "response, throughput, bottleneck, bounds, advice", 1, 1,
		"coppice capacity solve model.toml", "coppice capacity solve model.toml --method sim", "coppice capacity solve model.toml --plot curve.svg -o report.json")
	x.define(c.Flags())
	x.defineMethod(c.Flags(), "response and throughput by the number of jobs")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacity.Report, error) {
		return capacity.Solve(ctx, x.model, x.options)
	})
}

func capacitySweep(s streams) *cobra.Command {
	x := capacityFlags{output: output{more: []string{"csv"}}}
	c := verb("sweep MODEL.toml", "the same for all combinations of changed numbers of the model", 1, 1,
		"coppice capacity sweep model.toml --vary jobs=1..32 --vary chunks=1,2,4,8,16,32 -o sweep.csv --plot sweep.svg")
	x.define(c.Flags())
	x.defineVary(c.Flags())
	x.defineMethod(c.Flags(), "the response over the longest of the lists, a line for each combination of the others")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacity.Report, error) {
		if len(x.knobs) == 0 {
			return nil, usage("give --vary NAME=VALUES at least once")
		}
		rows, err := pipeline.Sweep(ctx, x.model, x.knobs, x.options, x.workers)
		return &capacity.Report{Rows: rows}, err
	})
}

func capacityCheck(s streams) *cobra.Command {
	var x capacityFlags
	c := verb("check MODEL.toml", "the answers for a model next to a simulation of it", 1, 1,
		"coppice capacity check model.toml", "coppice capacity check model.toml --sim-jobs 100000")
	x.define(c.Flags())
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacity.Report, error) {
		return capacity.Check(ctx, x.model, x.options)
	})
}

func capacityPlan(s streams) *cobra.Command {
	var x capacityFlags
	var target pipeline.Target
	var noSim bool
	c := verb("plan MODEL.toml", "the cheapest setting that reaches a response time or a throughput", 1, 1,
		"coppice capacity plan model.toml --max-response 20 --vary machines.node=1..64",
		"coppice capacity plan model.toml --jobs 8 --min-throughput 0.3 --vary disk.servers=1..4 --vary chunks=1..32")
	f := c.Flags()
	x.define(f)
	x.defineVary(f)
	atLeast(f, 0, &target.Jobs, "jobs", "", 0, "jobs that circulate (default: what the model says)")
	f.Float64Var(&target.MaxResponse, "max-response", 0, "largest mean response, in seconds")
	f.Float64Var(&target.MinThroughput, "min-throughput", 0, "least throughput, in jobs per second")
	f.BoolVar(&noSim, "no-sim", false, "do not judge the answer by a simulation")
	return s.capacityVerb(c, &x, func(ctx context.Context) (*capacity.Report, error) {
		if !(target.MaxResponse > 0) && !(target.MinThroughput > 0) || target.MaxResponse < 0 || target.MinThroughput < 0 {
			return nil, usage("give --max-response or --min-throughput, above 0")
		}
		if len(x.knobs) == 0 {
			return nil, usage("say what may be changed: --vary machines.NAME=1..8, --vary CENTER.servers=1..4, --vary chunks=1..32")
		}
		p, err := pipeline.MakePlan(ctx, x.model, x.knobs, target, pipeline.PlanOptions{Options: x.options, Workers: x.workers, NoSim: noSim})
		return &capacity.Report{Plan: p}, err
	})
}
