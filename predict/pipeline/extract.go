package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// extraction is one under way.
type extraction struct {
	o    *Observed
	jobs []*Observed
	x    ExtractOptions
	out  *Extracted
	layout
	// kind is the entry of out.Stages that a class of the model belongs to; -1: to none.
	kind []int
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
	return e.out, e.selfCheck(ctx)
}

func newExtraction(o *Observed, x ExtractOptions) (*extraction, error) {
	jobs, err := o.jobs()
	if err != nil {
		return nil, err
	}
	e := &extraction{o: o, jobs: jobs, x: x, out: &Extracted{Jobs: len(jobs)}}
	e.layout.model = &Model{Origin: &Origin{Input: o.Input, SelfCheckError: math.NaN()}}
	e.layout.options = &e.x
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
	e.count(e.o)
	t.Jobs = 1
	m := e.layout.model
	m.Types = []Type{t}
	m.Origin.Window = [2]float64{rounded(first), rounded(last)}
	e.out.Form, e.out.Model, e.out.Traced = form, m, traced
}

// relieve takes out of the demands what processes took from each other, at processors that are fewer than they were.
func (e *extraction) relieve(ctx context.Context) error {
	crowded := e.crowded(e.o)
	if len(crowded) == 0 {
		return nil
	}
	m := e.out.Model
	measured := m.demandsAt(crowded)
	for range relief {
		a, err := Solve(ctx, m, Options{Seed: e.x.Seed})
		if err != nil {
			return err
		}
		t := &a.Types[0]
		factor := map[int]float64{}
		for _, k := range crowded {
			factor[k] = 1
			if inside := t.queue[k] * t.Response; inside > t.demand[k] {
				factor[k] = t.demand[k] / inside
			}
		}
		for _, d := range measured {
			d.at.Seconds = rounded(max(leastDemand, d.seconds*factor[d.at.Center]))
		}
	}
	for _, k := range crowded {
		e.warn("%s has fewer cores than processes: what they took from each other was divided out", m.Centers[k].Name)
	}
	return nil
}

// measuredDemand is a demand of a model and its first value.
type measuredDemand struct {
	at      *Demand
	seconds float64
}

// demandsAt are the demands at some centers.
func (m *Model) demandsAt(centers []int) (list []measuredDemand) {
	at := map[int]bool{}
	for _, k := range centers {
		at[k] = true
	}
	add := func(d []Demand) {
		for i := range d {
			if at[d[i].Center] {
				list = append(list, measuredDemand{&d[i], d[i].Seconds})
			}
		}
	}
	t := &m.Types[0]
	for c := range t.Classes {
		add(t.Classes[c].Demand)
	}
	if t.Pipeline != nil {
		for s := range t.Pipeline.Stages {
			add(t.Pipeline.Stages[s].Demand)
			add(t.Pipeline.Stages[s].Overhead)
		}
	}
	return list
}

// selfCheck predicts the traced run.
func (e *extraction) selfCheck(ctx context.Context) error {
	a, err := Solve(ctx, e.out.Model, Options{Seed: e.x.Seed})
	if err != nil {
		return err
	}
	e.out.Predicted = a.Types[0].Response
	e.out.Model.Origin.SelfCheckError = rounded(e.out.Predicted/e.out.Traced - 1)
	e.out.stageSpans(e.kind)
	return nil
}

// stageSpans predicts from when to when each stage works. kind is the stage of a class; nil: classes are stages.
func (e *Extracted) stageSpans(kind []int) {
	short, _ := e.Model.lengths()
	begin, end := e.Model.compile(short).jobs[0].spans()
	first, last := make([]float64, len(e.Stages)), make([]float64, len(e.Stages))
	for s := range first {
		first[s] = math.Inf(1)
	}
	for c := range begin {
		s := c
		if kind != nil {
			s = kind[c]
		}
		if s >= 0 {
			first[s], last[s] = min(first[s], begin[c]), max(last[s], end[c])
		}
	}
	for s := range e.Stages {
		e.Stages[s].Predicted = last[s] - first[s]
		if p := e.Model.Types[0].Pipeline; p != nil { // where the pipeline is shortened, the rate is the same
			e.Stages[s].Predicted *= float64(p.Chunks) / float64(short[0])
		}
	}
}

// spans are the first begin and the last end of the tasks of each class, were all times means and no task waited.
func (j *job) spans() (begin, end []float64) {
	begin, end = make([]float64, len(j.classes)), make([]float64, len(j.classes))
	for c := range begin {
		begin[c] = math.Inf(1)
	}
	ends := make([]float64, j.g.tasks())
	for i := range int32(j.g.tasks()) {
		var start float64
		for _, p := range j.g.preds(i) {
			start = max(start, ends[p])
		}
		c := j.g.class[i]
		ends[i] = start + j.total[c]
		begin[c], end[c] = min(begin[c], start), max(end[c], ends[i])
	}
	return begin, end
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
