package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/pipeline"
)

func runCapacityExtract(args []string, s streams) error {
	o := output{}
	var x pipeline.ExtractOptions
	f := flags("capacity extract", "RUN.xtf...", s, "coppice capacity extract run.xtf -o model.toml", "coppice capacity extract chunks64.xtf chunks16.xtf chunks256.xtf -o model.toml", "coppice capacity extract run.xtf -o model.toml --cores 8")
	o.verb = f.Name()
	f.StringVarP(&o.path, "output", "o", "-", "model file to write, - for standard output")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing model file")
	f.IntVar(&x.Cores, "cores", 0, "cores of each node (default: one for each process that ran there)")
	f.Uint64Var(&x.Seed, "seed", 7, "of random numbers of the self-check")
	operands, err := parse(f, args, 1, 100)
	if err != nil {
		return err
	}
	o.format, o.color = "text", "never"
	if err := o.check(); err != nil {
		return err
	}
	if x.Cores < 0 || x.Cores > pipeline.MaxServers {
		return usage("%s: --cores %d: give a number of cores", o.verb, x.Cores)
	}
	var list []*pipeline.Observed
	for _, path := range operands {
		r, err := observe(path)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	e, err := pipeline.ExtractRuns(context.Background(), list, x)
	if errors.Is(err, pipeline.ErrNoPipeline) {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", strings.Join(operands, ", "), err))
	}
	if err != nil {
		return capacityError(o.verb, err)
	}
	if err := o.write(s, writeBytes(e.Model.Append(nil))); err != nil {
		return err
	}
	return concludeExtract(e, s.err)
}

// observe reads a run.
func observe(path string) (*pipeline.Observed, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	o, err := predict.Observe(run.File)
	if errors.Is(err, predict.ErrNoRows) {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w: analyze the trace without --events none", path, err))
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return o, nil
}

// concludeExtract says what was found and how well the model tells its own run: status 1 where it does not.
func concludeExtract(e *pipeline.Extracted, w io.Writer) error {
	for i := range e.Stages {
		g := &e.Stages[i]
		fmt.Fprintf(w, "%s  ranks %s  %d chunks of %s s (%s s in calls), scv %.3f, waited %s s; from first to last %s s, by the model %s s\n",
			g.Name, rankList(g.Ranks), g.Chunks, short(g.Busy), short(g.Overhead), g.SCV, short(g.Waited), short(g.Traced), short(g.Predicted))
	}
	for _, x := range e.Warnings {
		fmt.Fprintln(w, "warning:", x)
	}
	gap := 0.0
	for i := range e.Runs {
		r := &e.Runs[i]
		fmt.Fprintf(w, "self-check: with %d chunks the run took %s s, the model says %s s, %+.1f %%\n", r.Chunks, short(r.Traced), short(r.Predicted), 100*r.Error())
		gap = max(gap, math.Abs(r.Error()))
	}
	if gap <= reliableCheck {
		return nil
	}
	worst := e.Worst()
	fmt.Fprintf(w, "UNRELIABLE: above %.0f %%. The largest gap is in %s, %+.1f %%.\n", 100*reliableCheck, worst.Name, 100*worst.Gap())
	return jobs.Fail(jobs.ExitFound, errSilent)
}

// rankList names ranks, neighbours as ranges.
func rankList(ranks []int) string {
	text := ""
	for i := 0; i < len(ranks); {
		n := i
		for n+1 < len(ranks) && ranks[n+1] == ranks[n]+1 {
			n++
		}
		if text != "" {
			text += ","
		}
		text += fmt.Sprint(ranks[i])
		if n > i {
			text += fmt.Sprintf("-%d", ranks[n])
		}
		i = n + 1
	}
	return text
}
