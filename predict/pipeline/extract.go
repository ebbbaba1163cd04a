package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Form says what the work of an extracted job is written as.
type Form string

// The forms.
const (
	FormAuto     Form = ""         // a pipeline where the run is one, else a graph
	FormPipeline Form = "pipeline" // stages that work on chunks
	FormGraph    Form = "graph"    // tasks between calls, messages and collectives as edges
)

// ExtractOptions complete what a trace does not say.
type ExtractOptions struct {
	Form    Form
	Cores   int            // of every node; 0: one for each process there
	CoresOf map[string]int // of a node, by its name: instead of Cores
	Net     *NetCost       // of messages between nodes; nil: they cost nothing
	Seed    uint64
}

// NetCost is what a message between two nodes takes: of the network, one message after the other, and on the way.
type NetCost struct {
	PerByte float64 // seconds
	Latency float64 // seconds
}

// Extracted is a model and how well it tells the run that it comes from.
type Extracted struct {
	Model     *Model
	Form      Form
	Jobs      int        // of the run: times are means over them
	Traced    float64    // response of a job in the trace, seconds
	Predicted float64    // and by the model
	Runs      []RunCheck // the same for each of several runs
	Stages    []ExtractedStage
	Warnings  []string
	stage     []int // of a class of the model; -1: of none
}

// ExtractedStage is a stage of a pipeline, or the processes of one kind in a graph, and what of it was seen.
type ExtractedStage struct {
	Name      string
	Ranks     []int
	Chunks    int     // of a job; in a graph tasks
	Busy      float64 // seconds per chunk
	Overhead  float64 // of it in calls of the message library
	Files     float64 // of it in operations on files
	SCV       float64
	Outliers  int // chunks left out of SCV
	Waited    float64
	Traced    float64 // from the begin of the first chunk of a job to the end of the last one
	Predicted float64 // the same by the model, without waiting for processors
}

// Gap is the difference of both, relative to the trace.
func (s *ExtractedStage) Gap() float64 { return s.Predicted/s.Traced - 1 }

const (
	// outlierDeviations are left out of the variability of a stage.
	outlierDeviations = 5
	// heavyTail is a variability from which a warning is given.
	heavyTail = 4
	// relief is how often demands are divided by what the model says that processes took from each other.
	relief = 3
)

// extraction is one in progress.
type extraction struct {
	o    *Observed
	jobs []*Observed
	x    ExtractOptions
	out  *Extracted
	layout
}

// Extract makes a model of a recorded run. What the pipeline of a run is, extractstream.go says, what its graph,
// extractgraph.go. Where fewer cores than processes were there, recorded times hold what others took: the demands are divided
// by the slowdown that the model itself finds, three times over.
func Extract(ctx context.Context, o *Observed, x ExtractOptions) (*Extracted, error) {
	e, err := newExtraction(o, x)
	if err != nil {
		return nil, err
	}
	if x.Form == FormGraph {
		err = e.graph()
	} else {
		err = e.pipeline()
	}
	if x.Form == FormAuto && errors.Is(err, ErrNoPipeline) {
		reason := err
		if e, err = newExtraction(o, x); err != nil {
			return nil, err
		}
		e.warn("%v: the model is the graph of the job", reason)
		err = e.graph()
	}
	if err != nil {
		return nil, err
	}
	if err := e.relieve(ctx); err != nil {
		return nil, err
	}
	return e.out, e.out.check(ctx, []*Extracted{e.out}, x.Seed)
}

func newExtraction(o *Observed, x ExtractOptions) (*extraction, error) {
	jobs, err := o.jobs()
	if err != nil {
		return nil, err
	}
	e := &extraction{o: o, jobs: jobs, x: x, out: &Extracted{Jobs: len(jobs)}}
	e.layout = layout{model: &Model{Origin: &Origin{Input: o.Input, SelfCheckError: math.NaN()}}, options: &e.x, cpu: map[string]int{}, disk: map[string]int{}}
	return e, nil
}

func (e *extraction) warn(format string, args ...any) {
	e.out.Warnings = append(e.out.Warnings, fmt.Sprintf(format, args...))
}

// finish completes the model: traced is the mean response of a job.
func (e *extraction) finish(form Form, t Type, traced float64) {
	first, last := math.Inf(1), 0.0
	for _, o := range e.jobs {
		for r := range o.Ranks {
			if e.o.Ranks[r].talks() {
				first, last = min(first, o.Ranks[r].Begin), max(last, o.Ranks[r].End)
			}
		}
	}
	for node, k := range e.cpu {
		e.model.Centers[k].Servers = e.cores(e.o, node)
	}
	t.Jobs = 1
	e.model.Types = []Type{t}
	e.model.Origin.Window = [2]float64{rounded(first), rounded(last)}
	e.out.Form, e.out.Model, e.out.Traced = form, e.model, traced
}

// relieve takes out of the demands what processes took from each other, at processors that are fewer than they were.
func (e *extraction) relieve(ctx context.Context) error {
	crowded := e.crowded(e.o)
	var at []*Demand
	var measured []float64
	add := func(list []Demand) {
		for i := range list {
			if slices.Contains(crowded, list[i].Center) {
				at, measured = append(at, &list[i]), append(measured, list[i].Seconds)
			}
		}
	}
	t := &e.model.Types[0]
	for c := range t.Classes {
		add(t.Classes[c].Demand)
	}
	if t.Pipeline != nil {
		for _, s := range t.Pipeline.Stages {
			add(s.Demand)
			add(s.Overhead)
		}
	}
	for range relief {
		if len(at) == 0 {
			break
		}
		a, err := Solve(ctx, e.model, Options{Seed: e.x.Seed})
		if err != nil {
			return err
		}
		t := &a.Types[0]
		for i, d := range at {
			factor := 1.0
			if inside := t.queue[d.Center] * t.Response; inside > t.demand[d.Center] {
				factor = t.demand[d.Center] / inside
			}
			d.Seconds = rounded(max(leastDemand, measured[i]*factor))
		}
	}
	for _, k := range crowded {
		e.warn("%s has fewer cores than processes: what they took from each other was divided out", e.model.Centers[k].Name)
	}
	return nil
}

// predict solves the model of a run with a number of chunks; 0: as many as it has.
func (e *Extracted) predict(ctx context.Context, chunks int, seed uint64) (c RunCheck, err error) {
	m := e.Model
	if p := m.Types[0].Pipeline; p != nil {
		if c.Chunks = cmp.Or(chunks, p.Chunks); c.Chunks != p.Chunks {
			if m, err = m.With("chunks", float64(c.Chunks)); err != nil {
				return c, err
			}
		}
	}
	a, err := Solve(ctx, m, Options{Seed: seed})
	if err == nil {
		c.Predicted = a.Types[0].Response
	}
	return c, err
}

// check predicts the runs that a model comes from, itself first. The error of the model is the largest of theirs.
func (e *Extracted) check(ctx context.Context, runs []*Extracted, seed uint64) error {
	e.Runs = nil
	worst := 0.0
	for i, r := range runs {
		c, err := e.predict(ctx, r.chunks(), seed)
		if err != nil {
			return err
		}
		if c.Traced = r.Traced; math.Abs(c.Error()) > math.Abs(worst) {
			worst = c.Error()
		}
		e.Runs = append(e.Runs, c)
		for _, w := range r.Warnings {
			if i > 0 {
				e.Warnings = append(e.Warnings, fmt.Sprintf("run %d: %s", i+1, w))
			}
		}
	}
	e.Predicted = e.Runs[0].Predicted
	e.Model.Origin.SelfCheckError = rounded(worst)
	e.stageSpans()
	return nil
}

// stageSpans predicts from when to when each stage works.
func (e *Extracted) stageSpans() {
	short, _ := e.Model.lengths()
	j := &e.Model.compile(short).jobs[0]
	begin, end := j.g.spans(j.total)
	for s := range e.Stages {
		first, last := math.Inf(1), 0.0
		for c, stage := range e.stage {
			if stage == s {
				first, last = min(first, begin[c]), max(last, end[c])
			}
		}
		e.Stages[s].Predicted = last - first
		if p := e.Model.Types[0].Pipeline; p != nil { // where the pipeline is shortened, the rate is the same
			e.Stages[s].Predicted *= float64(p.Chunks) / float64(short[0])
		}
	}
}

// Worst is the stage with the largest gap.
func (e *Extracted) Worst() *ExtractedStage {
	var worst *ExtractedStage
	for i := range e.Stages {
		if s := &e.Stages[i]; worst == nil || math.Abs(s.Gap()) > math.Abs(worst.Gap()) {
			worst = s
		}
	}
	return worst
}

// rounded is a number with the digits that are worth reading.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// sample is mean and variability of the times of many like pieces of work.
type sample struct {
	n        int
	mean     float64
	scv      float64
	outliers int // more than outlierDeviations off, and left out of scv
}

// sampleOf computes them.
func sampleOf(times []float64) sample {
	s := sample{n: len(times)}
	if s.n == 0 {
		return s
	}
	n := float64(s.n)
	for _, t := range times {
		s.mean += t
	}
	s.mean /= n
	var squares float64
	for _, t := range times {
		squares += square(t - s.mean)
	}
	limit := outlierDeviations * math.Sqrt(squares/n)
	var sum, kept float64
	squares = 0
	for _, t := range times {
		if math.Abs(t-s.mean) > limit {
			s.outliers++
			continue
		}
		kept++
		sum += t
		squares += square(t)
	}
	if mean := sum / kept; mean > 0 {
		s.scv = rounded(min(MaxSCV, max(0, squares/kept/square(mean)-1)))
	}
	return s
}
