package pipeline

import (
	"context"
	"fmt"
	"slices"
)

// RunCheck is how well a model tells one of the runs that it comes from.
type RunCheck struct {
	Chunks            int     // 0: the job is a graph
	Traced, Predicted float64 // seconds
}

// Error is the relative error of the prediction.
func (c *RunCheck) Error() float64 { return c.Predicted/c.Traced - 1 }

// ExtractRuns makes one model of several runs of a pipeline that did the same work in different numbers of chunks. One run
// cannot tell what of the work on a chunk shrinks with the chunk and what every chunk costs anew; with several, both come from
// the line through the times of a chunk over its share of the whole (least squares). All else is that of the
// first run, variability too, which is better for about as many chunks.
func ExtractRuns(ctx context.Context, list []*Observed, x ExtractOptions) (*Extracted, error) {
	var runs []*Extracted
	for i, o := range list {
		e, err := Extract(ctx, o, x)
		if err != nil && len(list) > 1 {
			err = fmt.Errorf("run %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, e)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%w: no run", ErrNoPipeline)
	}
	e := runs[0]
	if len(runs) == 1 {
		return e, nil
	}
	p := e.Model.Types[0].Pipeline
	for i, r := range runs {
		if r.Form != FormPipeline {
			return nil, fmt.Errorf("%w: run %d; only pipelines are compared over several runs", ErrNoPipeline, i+1)
		}
	}
	for i, r := range runs {
		if !slices.EqualFunc(r.Model.Types[0].Pipeline.Stages, p.Stages, func(a, b Stage) bool { return a.Workers == b.Workers }) {
			return nil, fmt.Errorf("%w: run %d has other stages than the first one", ErrNoPipeline, i+1)
		}
	}
	for s := range p.Stages {
		fit(runs, s)
	}
	return e, e.check(ctx, runs, x.Seed)
}

// chunks of a pipeline; 0: the job is a graph.
func (e *Extracted) chunks() int {
	if p := e.Model.Types[0].Pipeline; p != nil {
		return p.Chunks
	}
	return 0
}

// processor is what a chunk of a stage takes of its processor, seconds.
func (e *Extracted) processor(stage int) float64 {
	p := e.Model.Types[0].Pipeline
	return p.Stages[stage].Demand[0].Seconds/float64(p.Chunks) + p.Stages[stage].Overhead[0].Seconds
}

// fit sets demand and overhead of a stage of the first run.
func fit(runs []*Extracted, stage int) {
	var x, y float64
	n := float64(len(runs))
	for _, r := range runs {
		x += 1 / float64(r.Stages[stage].Chunks) / n
		y += r.processor(stage) / n
	}
	var xx, xy float64
	for _, r := range runs {
		d := 1/float64(r.Stages[stage].Chunks) - x
		xx += float64(d * d)
		xy += float64(d * (r.processor(stage) - y))
	}
	if xx == 0 { // as many chunks in all runs
		return
	}
	st := &runs[0].Model.Types[0].Pipeline.Stages[stage]
	demand := max(0, xy/xx)
	overhead := y - float64(demand*x)
	if overhead < 0 {
		demand, overhead = y/x, 0
	}
	st.Demand[0].Seconds = rounded(max(leastDemand, demand))
	st.Overhead[0].Seconds = rounded(overhead)
}
