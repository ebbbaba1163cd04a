// Package extract makes capacity models from recorded runs, which package predict reads from files. A run whose messages go from
// stage to stage becomes a pipeline (stream.go), any other run the precedence graph of its tasks (precedence.go). As a
// self-check, the model predicts the run that it comes from.
//
//	[]Run -> Model -> Result{pipeline.Model, Check of each run}
//
// Times are seconds. The same runs and options give the same model; a Run is only read.
package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

// Form is the form of the work of an extracted job.
type Form string

// The forms.
const (
	FormAuto     Form = ""         // a pipeline where the run is one, else a graph
	FormPipeline Form = "pipeline" // stages that work on chunks
	FormGraph    Form = "graph"    // tasks between calls, messages and collectives as edges
)

// Options say what a trace does not say.
type Options struct {
	Form    Form
	Cores   int            // of every node; 0: one for each process there
	CoresOf map[string]int // of a node, by its name: instead of Cores
	Net     *NetCost       // of messages between nodes; nil: they cost nothing
	Seed    uint64
}

// NetCost is the cost of a message between two nodes: time on the network, one message after the other, and time on the way.
type NetCost struct {
	PerByte float64 // seconds
	Latency float64 // seconds
}

// Result is a model, and how well it predicts the run that it comes from.
type Result struct {
	Model     *pipeline.Model
	Form      Form
	Jobs      int     // of the run: times are means over them
	Traced    float64 // response of a job in the trace, seconds
	Predicted float64 // and by the model
	Runs      []Check // the same for each of several runs
	Stages    []Stage
	Warnings  []string
	stage     []int // of a class of the model; -1: none
}

// Stage is a stage of a pipeline, or the processes of one kind in a graph, with what the run shows of it.
type Stage struct {
	Name      string
	Ranks     []int
	Chunks    int     // of a job; in a graph tasks
	Busy      float64 // seconds per chunk
	Overhead  float64 // part of Busy in calls of the message library
	Files     float64 // part of Busy in operations on files
	SCV       float64
	Outliers  int // chunks left out of SCV
	Waited    float64
	Traced    float64 // from the begin of the first chunk of a job to the end of the last one
	Predicted float64 // the same by the model, without waiting for processors
}

// Gap is the difference between predicted and traced time, relative to the trace.
func (s *Stage) Gap() float64 { return s.Predicted/s.Traced - 1 }

const (
	// Tasks that are off by more than outlierDeviations deviations are left out of the variability of a stage.
	outlierDeviations = 5
	// heavyTail is the variability from which a warning is given.
	heavyTail = 4
	// relief is how often demands are divided by the slowdown of processes by each other in the model.
	relief = 3
)

// extraction is the extraction of one run.
type extraction struct {
	o    *Run
	jobs []*Run
	x    Options
	out  *Result
	layout
}

// single makes a model of a recorded run. stream.go defines the pipeline of a run, precedence.go its graph. If a node had fewer
// cores than processes, recorded times include time that others took: the demands are divided by the slowdown that the model
// itself finds, relief times.
func single(ctx context.Context, o *Run, x Options) (*Result, error) {
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
	return e.out, e.out.check(ctx, []*Result{e.out}, x.Seed)
}

func newExtraction(o *Run, x Options) (*extraction, error) {
	jobs, err := o.jobs()
	if err != nil {
		return nil, err
	}
	e := &extraction{o: o, jobs: jobs, x: x, out: &Result{Jobs: len(jobs)}}
	e.layout = layout{model: &pipeline.Model{Origin: &pipeline.Origin{Input: o.Input, SelfCheckError: math.NaN()}}, options: &e.x, cpu: map[string]int{}, disk: map[string]int{}}
	return e, nil
}

func (e *extraction) warn(format string, args ...any) {
	e.out.Warnings = append(e.out.Warnings, fmt.Sprintf(format, args...))
}

// finish completes the model; traced is the mean response of a job.
func (e *extraction) finish(form Form, t pipeline.Type, traced float64) {
	first, last := math.Inf(1), 0.0
	for _, o := range e.jobs {
		for r := range o.Ranks {
			if e.o.Ranks[r].Talks() {
				first, last = min(first, o.Ranks[r].Begin), max(last, o.Ranks[r].End)
			}
		}
	}
	for node, k := range e.cpu {
		e.model.Centers[k].Servers = e.cores(e.o, node)
	}
	t.Jobs = 1
	e.model.Types = []pipeline.Type{t}
	e.model.Origin.Window = [2]float64{rounded(first), rounded(last)}
	e.out.Form, e.out.Model, e.out.Traced = form, e.model, traced
}

// relieve removes from the demands the time that processes took from each other, on nodes with fewer processors than processes.
func (e *extraction) relieve(ctx context.Context) error {
	crowded := e.crowded(e.o)
	var at []*pipeline.Demand
	var measured []float64
	add := func(list []pipeline.Demand) {
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
		a, err := pipeline.Solve(ctx, e.model, pipeline.Options{Seed: e.x.Seed})
		if err != nil {
			return err
		}
		t := &a.Types[0]
		for i, d := range at {
			d.Seconds = rounded(max(pipeline.LeastDemand, measured[i]*t.Served(d.Center)))
		}
	}
	for _, k := range crowded {
		e.warn("%s has fewer cores than processes: what they took from each other was divided out", e.model.Centers[k].Name)
	}
	return nil
}

// predict solves the model of a run with a number of chunks; 0: its own number.
func (e *Result) predict(ctx context.Context, chunks int, seed uint64) (c Check, err error) {
	m := e.Model
	if p := m.Types[0].Pipeline; p != nil {
		if c.Chunks = cmp.Or(chunks, p.Chunks); c.Chunks != p.Chunks {
			if m, err = m.With("chunks", float64(c.Chunks)); err != nil {
				return c, err
			}
		}
	}
	a, err := pipeline.Solve(ctx, m, pipeline.Options{Seed: seed})
	if err == nil {
		c.Predicted = a.Types[0].Response
	}
	return c, err
}

// check predicts the runs that a model comes from, the first of them first. The error of the model is the largest error.
func (e *Result) check(ctx context.Context, runs []*Result, seed uint64) error {
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
	begin, end, scale := e.Model.ClassSpans()
	for s := range e.Stages {
		first, last := math.Inf(1), 0.0
		for c, stage := range e.stage {
			if stage == s {
				first, last = min(first, begin[c]), max(last, end[c])
			}
		}
		e.Stages[s].Predicted = (last - first) * scale
	}
	return nil
}

// Worst is the stage with the largest gap.
func (e *Result) Worst() *Stage {
	var worst *Stage
	for i := range e.Stages {
		if s := &e.Stages[i]; worst == nil || math.Abs(s.Gap()) > math.Abs(worst.Gap()) {
			worst = s
		}
	}
	return worst
}

// rounded is a number with its significant digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// sample is the mean and variability of the times of similar pieces of work.
type sample struct {
	n        int
	mean     float64
	scv      float64
	outliers int // more than outlierDeviations off, left out of scv
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
		squares += float64((t - s.mean) * (t - s.mean))
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
		squares += float64(t * t)
	}
	if mean := sum / kept; mean > 0 {
		s.scv = rounded(min(pipeline.MaxSCV, max(0, squares/kept/float64(mean*mean)-1)))
	}
	return s
}

// Check is how well a model predicts one of the runs that it comes from.
type Check struct {
	Chunks            int     // 0: the job is a graph
	Traced, Predicted float64 // seconds
}

// Error is the relative error of the prediction.
func (c *Check) Error() float64 { return c.Predicted/c.Traced - 1 }

// Model makes one model of several runs of a pipeline that did the same work in different numbers of chunks. One run cannot show
// which part of the work on a chunk shrinks with the chunk and which part every chunk costs anew. With several runs, both come
// from the line through the times of a chunk over its share of the whole (least squares). All else is that of the first run,
// including variability, which is better for similar numbers of chunks.
func Model(ctx context.Context, list []*Run, x Options) (*Result, error) {
	var runs []*Result
	for i, o := range list {
		e, err := single(ctx, o, x)
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
		if !slices.EqualFunc(r.Model.Types[0].Pipeline.Stages, p.Stages, func(a, b pipeline.Stage) bool { return a.Workers == b.Workers }) {
			return nil, fmt.Errorf("%w: run %d has other stages than the first one", ErrNoPipeline, i+1)
		}
	}
	for s := range p.Stages {
		fit(runs, s)
	}
	return e, e.check(ctx, runs, x.Seed)
}

// chunks returns the number of chunks of a pipeline; 0: the job is a graph.
func (e *Result) chunks() int {
	if p := e.Model.Types[0].Pipeline; p != nil {
		return p.Chunks
	}
	return 0
}

// processor is the time of a chunk of a stage on its processor, in seconds.
func (e *Result) processor(stage int) float64 {
	p := e.Model.Types[0].Pipeline
	return p.Stages[stage].Demand[0].Seconds/float64(p.Chunks) + p.Stages[stage].Overhead[0].Seconds
}

// fit sets demand and overhead of a stage of the first run.
func fit(runs []*Result, stage int) {
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
	if xx == 0 { // the same number of chunks in all runs
		return
	}
	st := &runs[0].Model.Types[0].Pipeline.Stages[stage]
	demand := max(0, xy/xx)
	overhead := y - float64(demand*x)
	if overhead < 0 {
		demand, overhead = y/x, 0
	}
	st.Demand[0].Seconds = rounded(max(pipeline.LeastDemand, demand))
	st.Overhead[0].Seconds = rounded(overhead)
}

// ErrNoJob means that the processes of a run have different numbers of jobs.
var ErrNoJob = errors.New("no jobs that all processes have equally many of")

// Run is a recorded run, the input of extraction. Times are seconds.
type Run struct {
	Input string // name of the run
	Ranks []Rank
}

// Rank is one process.
type Rank struct {
	Node        string // that it ran on
	Class       string // of processes that compute alike; "": not known
	Begin, End  float64
	Jobs        []Span       // its part in each job, in order, without overlap; none: the run is one job
	Messages    []Message    // in the order in which they end
	Collectives []Collective // likewise
	Waits       []Wait       // in order, without overlap; they lie in calls
	Calls       []Span       // of the message library, in order, without overlap
	Files       []Span       // operations on files, likewise
}

// Message is one side of a message.
type Message struct {
	Peer       int // rank
	Send       bool
	Begin, End float64 // of the call that sends it, or in which its receive ends
	Bytes      uint64
	Row, Mate  uint64 // number of this side on its rank, and of the other side on the peer
	Function   string // of the call
	// Awaited sends end only when their receiver has come to its call or has posted the receive. Done is the end of the call that
	// completes the send.
	Awaited bool
	Done    float64
	Ready   float64 // of a receive: from then on it does not keep its sender waiting
}

// Flow says which members of a collective operation need which others.
type Flow uint8

// The flows.
const (
	AllToAll Flow = iota
	OneToAll      // all need the root
	AllToOne      // the root needs all
	Prefix        // each needs those of lower rank
	NoFlow        // nobody needs anybody
)

// Collective is one member of a collective operation.
type Collective struct {
	Begin, End float64 // of its call
	Comm       uint32
	Ordinal    uint64 // on the communicator; all members have the same
	Flow       Flow
	Root       bool // this member is
	Function   string
}

// Span is a piece of time.
type Span struct{ Begin, End float64 }

// Wait is time in which a process waited for another one.
type Wait struct {
	Span
	InSend bool // for a receiver that was not ready
}

// Talks reports whether the rank takes part in communication.
func (r *Rank) Talks() bool { return len(r.Messages)+len(r.Collectives) > 0 }

// jobs divides the run into jobs. Each is a Run with the entries whose calls end in it; they share the slices. Ranks that
// communicate must have equally many jobs.
func (o *Run) jobs() ([]*Run, error) {
	count, first := 0, -1
	for r := range o.Ranks {
		x := &o.Ranks[r]
		switch n := len(x.Jobs); {
		case !x.Talks():
		case first < 0:
			count, first = n, r
		case n != count:
			return nil, fmt.Errorf("%w: process %d has %d of them, process %d has %d", ErrNoJob, first, count, r, n)
		}
	}
	if count == 0 {
		return []*Run{o}, nil
	}
	list := make([]*Run, count)
	for k := range list {
		list[k] = &Run{Input: o.Input, Ranks: make([]Rank, len(o.Ranks))}
		for r := range o.Ranks {
			if x := &o.Ranks[r]; k < len(x.Jobs) {
				list[k].Ranks[r] = x.in(x.Jobs[k])
			}
		}
	}
	return list, nil
}

// in returns the part of a rank in a span.
func (r *Rank) in(s Span) Rank {
	return Rank{
		Node: r.Node, Class: r.Class, Begin: s.Begin, End: s.End,
		Messages:    within(r.Messages, s, func(m *Message) float64 { return m.End }),
		Collectives: within(r.Collectives, s, func(c *Collective) float64 { return c.End }),
		Waits:       within(r.Waits, s, func(w *Wait) float64 { return w.End }),
		Calls:       within(r.Calls, s, func(c *Span) float64 { return c.End }),
		Files:       within(r.Files, s, func(c *Span) float64 { return c.End }),
	}
}

// within returns the entries that end in a span, of a list in the order of ends.
func within[T any](list []T, s Span, end func(*T) float64) []T {
	find := func(t float64) int { return sort.Search(len(list), func(i int) bool { return end(&list[i]) > t }) }
	a, b := find(s.Begin), find(s.End)
	return list[a:max(a, b)]
}

// layout makes the centers of an extracted model: processors and disk of each node, and the network between them.
type layout struct {
	model     *pipeline.Model
	options   *Options
	cpu, disk map[string]int // center of a node
	net, wire int            // centers of messages between nodes, plus one; 0: not made
}

// center adds a center, with a name of its own.
func (l *layout) center(name string, kind pipeline.Kind, servers int) int {
	k := len(l.model.Centers)
	if slices.ContainsFunc(l.model.Centers, func(c pipeline.Center) bool { return c.Name == name }) {
		name = fmt.Sprintf("%s.%d", name, k)
	}
	l.model.Centers = append(l.model.Centers, pipeline.Center{Name: name, Kind: kind, Servers: servers})
	return k
}

// processor is the center of a node's cores.
func (l *layout) processor(node string) int { return l.of(l.cpu, node, ".cpu", pipeline.PS) }

// files is the center of a node's disk.
func (l *layout) files(node string) int { return l.of(l.disk, node, ".disk", pipeline.FCFS) }

func (l *layout) of(list map[string]int, node, suffix string, kind pipeline.Kind) int {
	if _, ok := list[node]; !ok {
		list[node] = l.center(node+suffix, kind, 1)
	}
	return list[node]
}

// message is the demand of bytes between two nodes: the network's, and the delay of one message.
func (l *layout) message(bytes float64) (carry, delay pipeline.Demand) {
	if l.net == 0 {
		l.net = 1 + l.center("net", pipeline.FCFS, 1)
		l.wire = 1 + l.center("wire", pipeline.Delay, 1)
	}
	return pipeline.Demand{Center: l.net - 1, Seconds: bytes * l.options.Net.PerByte}, pipeline.Demand{Center: l.wire - 1, Seconds: l.options.Net.Latency}
}

// cores of a node: the given number, or one for each of its processes that communicate.
func (l *layout) cores(o *Run, node string) int {
	switch n, ok := l.options.CoresOf[node]; {
	case ok:
		return n
	case l.options.Cores > 0:
		return l.options.Cores
	}
	return max(1, processesOn(o, node))
}

func processesOn(o *Run, node string) (n int) {
	for r := range o.Ranks {
		if x := &o.Ranks[r]; x.Node == node && x.Talks() {
			n++
		}
	}
	return n
}

// crowded are the processors with fewer cores than processes.
func (l *layout) crowded(o *Run) (list []int) {
	for node, k := range l.cpu {
		if l.cores(o, node) < processesOn(o, node) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}
