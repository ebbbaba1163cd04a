package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/capacity"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/predict/pipeline/extract"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/spf13/cobra"
)

// extractFlags are the flags of capacity extract.
type extractFlags struct {
	output
	x                          extract.Options
	form, job, repeat, network string
	maps                       []string
}

func capacityExtract(s streams) *cobra.Command {
	o := extractFlags{output: output{format: "text"}}
	c := verb("extract RUN.xtf...", "a model from recorded runs of a pipeline", 1, 100,
		"coppice capacity extract run.xtf -o model.toml",
		"coppice capacity extract chunks64.xtf chunks16.xtf chunks256.xtf -o model.toml",
		"coppice capacity extract run.xtf -o model.toml --job sweep --platform cluster.toml --map 0-7=node0:4")
	f := c.Flags()
	o.defineFile(f, "model file")
	oneOf(f, &o.form, "form", "auto", "of the job: pipeline (stages and chunks), graph (tasks between calls), or auto: a pipeline where the run is one",
		"auto", string(extract.FormPipeline), string(extract.FormGraph))
	f.StringVar(&o.job, "job", "", "a job is each execution of this interval, or each call of this function (default: the whole run is one job)")
	oneOf(f, &o.repeat, "repeat", "none", "auto: a job is each execution of the outermost interval or function that all processes execute again and again", "auto", "none")
	f.StringVar(&o.network, "platform", "", "platform file with the cost of messages between nodes (default: they cost nothing)")
	f.StringArrayVar(&o.maps, "map", nil, "RANKS=NODE[:CORES], such as 0-3=node0:4: where processes ran, instead of what the trace says (repeatable)")
	atLeast(f, 0, &o.x.Cores, "cores", "", 0, "cores of each node (default: one for each process that ran there)")
	f.Uint64Var(&o.x.Seed, "seed", 7, "of random numbers of the self-check")
	return s.does(c, o.extract, o.check, o.complete)
}

func (o *extractFlags) extract(operands []string, s streams) error {
	var list []*extract.Run
	for _, path := range operands {
		r, err := o.observe(path, s)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	e, err := extract.Model(context.Background(), list, o.x)
	if slices.ContainsFunc([]error{extract.ErrNoPipeline, extract.ErrNoJob, extract.ErrClocks, extract.ErrAlone}, func(e error) bool { return errors.Is(err, e) }) {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", strings.Join(operands, ", "), err))
	}
	if err != nil {
		return capacityError(err)
	}
	text := e.Model.Append(nil)
	if len(text) > pipeline.MaxFile {
		return jobs.Fail(jobs.ExitResource, fmt.Errorf("%s: the model of a job takes %s, more than the %s of a model file. Name a shorter part of the run with --job, or give the file classes of processes (analyze --classes)",
			strings.Join(operands, ", "), numbers.Bytes(uint64(len(text))), numbers.Bytes(pipeline.MaxFile)))
	}
	if err := o.write(s, writeBytes(text)); err != nil {
		return err
	}
	if ok, err := capacity.WriteExtracted(s.err, e); err != nil || ok {
		return err
	}
	return jobs.Fail(jobs.ExitFound, errSilent)
}

// complete checks the flags and reads the platform.
func (o *extractFlags) complete() error {
	switch {
	case o.x.Cores > pipeline.MaxServers:
		return usage("--cores %d: give a number of cores", o.x.Cores)
	case o.repeat == "auto" && o.job != "":
		return usage("--job and --repeat both say what a job is: give one of them")
	case o.form != "auto":
		o.x.Form = extract.Form(o.form)
	}
	if o.network == "" {
		return nil
	}
	p, err := platform.Open(o.network)
	if err != nil {
		return jobs.Fail(jobs.ExitInput, err)
	}
	n, err := p.Network(2)
	if err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", o.network, err))
	}
	const bytes = 1 << 20
	l := &n.Links[network.LinkNet]
	wire, _ := l.Wire(bytes)
	o.x.Net = &extract.NetCost{PerByte: float64(wire) / (bytes - 1) / 1e12, Latency: float64(l.Latency) / 1e12}
	return nil
}

func (o *extractFlags) observe(path string, s streams) (*extract.Run, error) {
	run, err := s.runs.open(path)
	if err != nil {
		return nil, err
	}
	which := predict.ObservedJobs{Repeat: o.repeat == "auto"}
	if o.job != "" {
		node, err := results.IntervalNode(run, o.job)
		switch {
		case err == nil:
			which.Node = &node
		case errors.Is(err, results.ErrInterval) || errors.Is(err, results.ErrNoResult):
			which.Region = o.job
		default:
			return nil, readError(path, err)
		}
	}
	r, err := predict.Observe(run.File, which)
	switch {
	case errors.Is(err, predict.ErrNoRows):
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w: analyze the trace without --events none", path, err))
	case errors.Is(err, predict.ErrNoJob) && o.job != "":
		return nil, usage("--job %s: %s has no interval and no function of this name. coppice report %s intervals lists intervals, coppice report %s profile functions",
			o.job, path, path, path)
	case errors.Is(err, predict.ErrNoJob):
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", path, err))
	case err != nil:
		return nil, readError(path, err)
	}
	return r, o.place(run, r)
}

// place assigns ranks to nodes as --map says.
func (o *extractFlags) place(run *results.Run, r *extract.Run) error {
	for _, text := range o.maps {
		ranks, where, ok := strings.Cut(text, "=")
		node, cores, counted := strings.Cut(where, ":")
		if !ok || node == "" {
			return usage("--map %s: give RANKS=NODE or RANKS=NODE:CORES, such as 0-3=node0:4", text)
		}
		set, err := results.ParseRanks(ranks, run.Defs)
		if err != nil {
			return usage("--map %s: %w", text, err)
		}
		if counted {
			n, err := strconv.Atoi(cores)
			if err != nil || n < 1 || n > pipeline.MaxServers {
				return usage("--map %s: %s is not a number of cores", text, cores)
			}
			if o.x.CoresOf == nil {
				o.x.CoresOf = map[string]int{}
			}
			o.x.CoresOf[node] = n
		}
		member := set.Locations(run.Defs)
		for rank, p := range run.Defs.Processes() {
			if rank < len(r.Ranks) && member(p.First) {
				r.Ranks[rank].Node = node
			}
		}
	}
	return nil
}
