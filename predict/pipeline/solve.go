package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
)

// Method is a way to solve a model.
type Method string

// The methods.
const (
	MethodWalk   Method = "walk"
	MethodBounds Method = "bounds"
	MethodTree   Method = "tree"
	MethodSim    Method = "sim"
)

// Methods lists them, the default first.
func Methods() []Method { return []Method{MethodWalk, MethodBounds, MethodTree, MethodSim} }

// Options say how a model is solved. The zero value is the default.
type Options struct {
	Method   Method   // "": walk
	Operator Operator // of tree; "": exp
	Seed     uint64
	Samples  int    // walks for a mean; 0: chosen by the size of a job
	SimJobs  uint32 // jobs that a simulation completes; 0: chosen likewise
}

// Answer is the result of a method.
type Answer struct {
	Method  Method
	Options Options
	Types   []TypeAnswer
	Centers []CenterAnswer
	// Machines have copies: utilisation and queue are those of the fullest one.
	Warnings []string
}

// TypeAnswer is the result for one type of jobs. Times are seconds. Values that a method does not compute are nil or 0.
type TypeAnswer struct {
	Name        string      `json:"name"`
	Jobs        int         `json:"jobs"`
	Think       float64     `json:"think"`
	Chunks      int         `json:"chunks,omitempty"` // of a pipeline
	Response    float64     `json:"response"`         // NaN where too few jobs ended in a simulation, with HalfWidth and Percentile
	*Spread                 // of sim
	Throughput  float64     `json:"throughput"`
	Samples     int         `json:"samples"` // walks for the mean; 0: all states of the job were visited
	Bounds      Bounds      `json:"bounds"`
	SaturatesAt float64     `json:"n_star"`              // (R1+Z)/D*max jobs; 0 where nothing saturates
	Curve       []Point     `json:"curve,omitempty"`     // with 1 to Jobs jobs
	Occupancy   []Occupancy `json:"occupancy,omitempty"` // most time first
	demand      []float64
	queue       []float64 // customers of one job
}

// Served is the share of a job's time at a center during which it is served, by walk.
func (t *TypeAnswer) Served(center int) float64 {
	if inside := t.queue[center] * t.Response; inside > t.demand[center] {
		return t.demand[center] / inside
	}
	return 1
}

// CenterAnswer is the result for one center.
type CenterAnswer struct {
	Name        string
	Utilisation float64 // of its servers; 0 for a delay
	Queue       float64 // mean number of tasks there, those in service included
}

// Occupancy is the share of a job's response during which exactly these classes are in progress.
type Occupancy struct {
	Classes []string `json:"stages"`
	Share   float64  `json:"share"`
}

// Spread is how far the responses of simulated jobs lie apart.
type Spread struct {
	HalfWidth  float64             `json:"half_width"` // of the 95 % confidence interval of the mean
	Percentile map[float64]float64 `json:"percentiles"`
}

// Solve answers a model.
func Solve(ctx context.Context, m *Model, o Options) (*Answer, error) {
	o.Method = cmp.Or(o.Method, MethodWalk)
	o.Operator = cmp.Or(o.Operator, OpExp)
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(Methods(), o.Method) || !slices.Contains(Operators(), o.Operator) || o.Samples < 0 || o.Samples > maxSamples {
		return nil, fmt.Errorf("no method %q with operator %q and %d samples", o.Method, o.Operator, o.Samples)
	}
	a := &Answer{Method: o.Method, Options: o}
	if o.Method == MethodSim {
		return a, a.simulate(ctx, m)
	}
	short, long := m.lengths()
	first, err := a.solve(ctx, m, short)
	if err != nil {
		return nil, err
	}
	if long != nil {
		second, err := a.solve(ctx, m, long)
		if err != nil {
			return nil, err
		}
		for i := range first {
			if m.Types[i].Pipeline != nil && long[i] < m.Types[i].Pipeline.Chunks {
				first[i] = extrapolate(&m.Types[i], &first[i], &second[i], short[i], long[i])
				a.warn("%s%d chunks: solved with %d and %d, and extrapolated", prefix(m.Types[i].Name), m.Types[i].Pipeline.Chunks, short[i], long[i])
			} else {
				first[i] = second[i]
			}
		}
	}
	a.Types = first
	a.summarize(m)
	return a, nil
}

const maxSamples = 1_000_000

func (a *Answer) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// prefix names a type in a message.
func prefix(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// Pipelines with more tasks than longPipeline are solved with fewer chunks: startChunks for every stage, so that filling and
// draining are the smaller part, and with twice as many. From there on each chunk adds one period.
const (
	longPipeline = 200_000
	startChunks  = 8
)

// lengths are the numbers of chunks to solve each type with. The second is nil where all are solved as they are.
func (m *Model) lengths() (short, long []int) {
	short, long = make([]int, len(m.Types)), make([]int, len(m.Types))
	shorter := false
	for i := range m.Types {
		p := m.Types[i].Pipeline
		if p == nil {
			continue
		}
		short[i], long[i] = p.Chunks, p.Chunks
		start := startChunks * len(p.Stages)
		for q, s := range p.Stages {
			start += startChunks*min(s.Workers, p.Chunks) + 2*min(p.buffer(q), p.Chunks)
		}
		if p.Chunks*len(p.Stages) > longPipeline && 4*start < p.Chunks {
			short[i], long[i] = start, 2*start
			shorter = true
		}
	}
	if !shorter {
		return short, nil
	}
	return short, long
}

// extrapolate continues the line through two solutions to the number of chunks that there are.
func extrapolate(t *Type, a, b *TypeAnswer, short, long int) TypeAnswer {
	full := t.Pipeline.Chunks
	line := func(x, y float64) float64 {
		return y + float64((y-x)/float64(long-short)*float64(full-long))
	}
	r := *b
	r.Chunks, r.Think = full, t.Think
	r.Response = line(a.Response, b.Response)
	r.Bounds.Alone, r.Bounds.Path, r.Bounds.Work = line(a.Bounds.Alone, b.Bounds.Alone), line(a.Bounds.Path, b.Bounds.Path), line(a.Bounds.Work, b.Bounds.Work)
	r.complete()
	r.Throughput = float64(t.Jobs) / (r.Response + t.Think)
	r.demand = slices.Clone(b.demand)
	for k := range r.demand {
		r.demand[k] *= float64(full) / float64(long)
	}
	r.Curve = slices.Clone(b.Curve)
	for i := range r.Curve {
		r.Curve[i].Response = line(a.Curve[i].Response, b.Curve[i].Response)
		r.Curve[i].Throughput = float64(r.Curve[i].Jobs) / (r.Curve[i].Response + t.Think)
	}
	return r
}

// solve solves all types, pipelines with the given numbers of chunks.
func (a *Answer) solve(ctx context.Context, m *Model, chunks []int) ([]TypeAnswer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := m.compile(chunks)
	out := make([]TypeAnswer, len(s.jobs))
	for i := range s.jobs {
		out[i] = s.answer(&s.jobs[i])
	}
	switch a.Method {
	case MethodBounds:
		for i := range out {
			out[i].Response, out[i].Throughput = out[i].Bounds.Response, out[i].Bounds.Throughput
		}
	case MethodTree:
		if err := s.treeAnswers(a, out); err != nil {
			return nil, err
		}
	default:
		s.walkAnswers(a, out)
	}
	return out, nil
}

// answer is what is known of a type before it is solved.
func (s *system) answer(j *job) TypeAnswer {
	t := TypeAnswer{Name: j.name, Jobs: j.n, Think: j.think, Chunks: j.chunks}
	s.bound(&t, j, j.demand, j.path)
	return t
}

// walkAnswers solves by walk.
func (s *system) walkAnswers(a *Answer, out []TypeAnswer) {
	linear := len(s.jobs) > 1 || s.jobs[0].n > mostRecursion
	var walkers []*walker
	for i := range s.jobs {
		n := a.Options.Samples
		if linear && n == 0 {
			n = min(max(1, linearTasks/len(s.jobs[i].tasks)), mostSamples)
		}
		walkers = append(walkers, newWalker(s, &s.jobs[i], a.Options.Seed, n))
	}
	var list []*walked
	if linear {
		list = s.linear(walkers)
	} else {
		list = []*walked{s.recursion(walkers[0])}
	}
	for i, r := range list {
		j, t := &s.jobs[i], &out[i]
		t.Response, t.Samples, t.Curve = r.response, len(walkers[i].work), r.curve
		t.Throughput = float64(j.n) / (r.response + j.think)
		s.bound(t, j, r.demand, r.alone)
		t.Occupancy = occupied(j, r.last)
		t.queue = r.queue(j.think)
	}
}

// mostOccupancy is how many sets of classes an answer lists.
const mostOccupancy = 64

// occupied lists the sets of classes that are in progress at once, by their share of the response.
func occupied(j *job, o *occupancy) []Occupancy {
	list := slices.Sorted(maps.Keys(o.sets))
	slices.SortStableFunc(list, func(a, b uint64) int { return cmp.Compare(o.sets[b], o.sets[a]) })
	var out []Occupancy
	for _, set := range list[:min(len(list), mostOccupancy)] {
		x := Occupancy{Share: o.sets[set] / o.response}
		for c := range j.classes {
			if set>>c&1 == 1 {
				x.Classes = append(x.Classes, j.classes[c].Name)
			}
		}
		if x.Share > 0 {
			out = append(out, x)
		}
	}
	return out
}

// summarize computes the load of the types on the centers.
func (a *Answer) summarize(m *Model) {
	copies := m.copies()
	for k, c := range m.Centers {
		x := CenterAnswer{Name: c.Name}
		for i := range a.Types {
			t := &a.Types[i]
			there := float64(dealt(t.Jobs, copies[k]))
			if c.Kind != Delay {
				x.Utilisation += there / (t.Response + t.Think) * t.demand[k] / float64(c.Servers)
			}
			if t.queue != nil {
				x.Queue += float64(there * t.queue[k])
			}
		}
		x.Utilisation = min(1, x.Utilisation)
		a.Centers = append(a.Centers, x)
	}
}

// Bounds are bounds for one type of jobs that hold for any law and order of service. Asymptotic bounds after Denning and Buzen
// (Computing Surveys 10, 1978).
type Bounds struct {
	Alone      float64 `json:"alone"`      // response of one job that is alone, seconds
	Path       float64 `json:"path"`       // the longest path of mean demands: no number of servers makes the mean response less
	Work       float64 `json:"-"`          // N D*max: seconds that the center that saturates first works for all jobs
	Saturation float64 `json:"saturation"` // N D*max - Z: the work of the center that saturates first
	Response   float64 `json:"response"`   // the largest of these: a lower bound of the mean response
	Throughput float64 `json:"throughput"` // an upper bound of the throughput, jobs per second
	Bottleneck string  `json:"bottleneck"` // center that saturates first; Nowhere: none has a queue
}

// Nowhere is printed instead of the name of a center if there is none.
const Nowhere = "-"

// bound computes the bounds of a type whose jobs take alone seconds when alone, and demand seconds of the centers.
func (s *system) bound(t *TypeAnswer, j *job, demand []float64, alone float64) {
	t.demand, t.Bounds = demand, Bounds{Alone: alone, Path: j.path, Bottleneck: Nowhere}
	var k int
	if t.Bounds.Work, k = s.saturation(demand, j.n); k >= 0 {
		t.Bounds.Bottleneck = s.centers[k].Name
	}
	t.complete()
}

// complete computes what follows from the times.
func (t *TypeAnswer) complete() {
	b := &t.Bounds
	b.Saturation = max(0, b.Work-t.Think)
	b.Response = max(b.Path, b.Alone, b.Saturation)
	b.Throughput = float64(t.Jobs) / (b.Response + t.Think)
	if b.Work > 0 {
		t.SaturatesAt = float64(t.Jobs) * (b.Alone + t.Think) / b.Work
	}
}

// Curves are the charts of an answer with one type: response and throughput by the number of jobs, with their asymptotic bounds
// and the number of jobs at which the first center saturates. It is nil if the answer has no curve.
func (a *Answer) Curves() []svg.Chart {
	if len(a.Types) != 1 || a.Types[0].Curve == nil {
		return nil
	}
	t := &a.Types[0]
	perJob := t.Bounds.Work / float64(t.Jobs) // seconds, of the center that saturates first
	var n, response, throughput, alone, saturated, offered, most []float64
	for _, p := range t.Curve {
		jobs := float64(p.Jobs)
		n = append(n, jobs)
		response, throughput = append(response, p.Response), append(throughput, p.Throughput)
		alone, saturated = append(alone, t.Bounds.Alone), append(saturated, max(0, float64(jobs*perJob)-t.Think))
		offered = append(offered, jobs/(t.Bounds.Alone+t.Think))
		most = append(most, 1/perJob) // infinite where nothing saturates
	}
	marks := []svg.Mark{{X: t.SaturatesAt, Text: "N* = " + svg.Tick(t.SaturatesAt)}}
	if t.Bounds.Bottleneck == Nowhere {
		marks, saturated, most = nil, nil, nil
	}
	upper := svg.Chart{Title: "Response by jobs", X: "jobs", Y: "seconds", Marks: marks, Lines: []svg.Line{{Name: "response", X: n, Y: response}, {Name: "alone", X: n, Y: alone, Dashed: true}}}
	lower := svg.Chart{Title: "Throughput by jobs", X: "jobs", Y: "jobs per second", Marks: marks, Lines: []svg.Line{{Name: "throughput", X: n, Y: throughput}, {Name: "no waiting", X: n, Y: offered, Dashed: true}}}
	if saturated != nil {
		upper.Lines = append(upper.Lines, svg.Line{Name: "saturated", X: n, Y: saturated, Dashed: true})
		lower.Lines = append(lower.Lines, svg.Line{Name: "saturated", X: n, Y: most, Dashed: true})
		for i := range offered {
			if offered[i] > 1.2/perJob { // far above all other lines
				offered[i] = math.NaN()
			}
		}
	}
	return []svg.Chart{upper, lower}
}

// OccupancyBar draws which stages are in progress together, for an answer with one type; nil if that is not known.
func (a *Answer) OccupancyBar() *svg.Bar {
	if len(a.Types) != 1 || len(a.Types[0].Occupancy) == 0 {
		return nil
	}
	b := &svg.Bar{Title: "Share of the response by stages in progress"}
	for _, o := range a.Types[0].Occupancy {
		b.Parts = append(b.Parts, svg.Part{Name: strings.Join(o.Classes, " + "), Share: o.Share})
	}
	return b
}

// mostLines bounds the lines of a chart.
const mostLines = 8

// SweepChart draws the response of the first type over the knob with the most values, with a line for each of the first mostLines
// combinations of the others.
func SweepChart(knobs []Knob, rows []Row) svg.Chart {
	x := 0
	for i, k := range knobs {
		if len(k.Values) > len(knobs[x].Values) {
			x = i
		}
	}
	c := svg.Chart{Title: "Response", Y: "seconds"}
	if len(knobs) == 0 {
		return c
	}
	c.X = knobs[x].Name
	index := map[string]int{}
	for _, r := range rows {
		var name []string
		for i, k := range knobs {
			if i != x {
				name = append(name, k.Name+" "+svg.Tick(r.Values[i]))
			}
		}
		key := strings.Join(name, " ")
		i, ok := index[key]
		if !ok {
			i = len(c.Lines)
			if i == mostLines {
				continue
			}
			index[key] = i
			c.Lines = append(c.Lines, svg.Line{Name: key})
		}
		l := &c.Lines[i]
		l.X, l.Y = append(l.X, r.Values[x]), append(l.Y, r.Response[0])
	}
	return c
}
