package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Knob is a number of a model that is varied: jobs, think, chunks, buffer, STAGE.workers, STAGE.demand (a factor),
// CENTER.servers, machines.NAME; in a model with several types TYPE.jobs and so on.
type Knob struct {
	Name   string
	Values []float64
}

// ErrKnob says that a knob or its values are not possible.
var ErrKnob = errors.New("cannot be varied")

// maxValues is the most values of a knob.
const maxValues = 10_000

// ParseKnob reads NAME=VALUES, where values are numbers and ranges of integers: 1,2,8..12.
func ParseKnob(text string) (Knob, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || name == "" || list == "" {
		return Knob{}, fmt.Errorf("%q: give NAME=VALUES, as in chunks=1,2,4..8", text)
	}
	k := Knob{Name: name}
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "..")
		if !ranged {
			x, err := strconv.ParseFloat(part, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return Knob{}, fmt.Errorf("%q: %q is not a number", text, part)
			}
			k.Values = append(k.Values, x)
			continue
		}
		a, err1 := strconv.ParseInt(first, 10, 32)
		b, err2 := strconv.ParseInt(last, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a >= maxValues {
			return Knob{}, fmt.Errorf("%q: %q is not a range of at most %d integers", text, part, maxValues)
		}
		for x := a; x <= b; x++ {
			k.Values = append(k.Values, float64(x))
		}
	}
	if len(k.Values) > maxValues {
		return Knob{}, fmt.Errorf("%q: more than %d values", text, maxValues)
	}
	seen := map[float64]bool{}
	for _, x := range k.Values {
		if seen[x] {
			return Knob{}, fmt.Errorf("%q: %v is there twice", text, x)
		}
		seen[x] = true
	}
	return k, nil
}

// clone copies the parts that knobs change.
func (m *Model) clone() *Model {
	c := *m
	c.Centers, c.Machines, c.Types = slices.Clone(m.Centers), slices.Clone(m.Machines), slices.Clone(m.Types)
	for i := range c.Types {
		if p := c.Types[i].Pipeline; p != nil {
			q := *p
			q.Stages = slices.Clone(p.Stages)
			c.Types[i].Pipeline = &q
		}
		c.Types[i].Classes = slices.Clone(c.Types[i].Classes)
	}
	return &c
}

// numbers calls f with the name of each number that can be varied, and a pointer to it: an *int, a *float64, or a *[]Demand, of
// which a factor is varied.
func (m *Model) numbers(f func(name string, at any)) {
	for i := range m.Machines {
		f("machines."+m.Machines[i].Name, &m.Machines[i].Count)
	}
	for k := range m.Centers {
		f(m.Centers[k].Name+".servers", &m.Centers[k].Servers)
	}
	for i := range m.Types {
		t := &m.Types[i]
		add := func(name string, at any) {
			f(name, at)
			if t.Name != "" {
				f(t.Name+"."+name, at)
			}
		}
		add("jobs", &t.Jobs)
		add("think", &t.Think)
		for i := range t.Classes {
			add(t.Classes[i].Name+".demand", &t.Classes[i].Demand)
		}
		if p := t.Pipeline; p != nil {
			add("chunks", &p.Chunks)
			add("buffer", &p.Buffer)
			for i := range p.Stages {
				s := &p.Stages[i]
				add(s.Name+".workers", &s.Workers)
				add(s.Name+".buffer", &s.Buffer)
				add(s.Name+".demand", &s.Demand)
			}
		}
	}
}

// With returns the model with a knob at a value. The result may be impossible, which Validate reports.
func (m *Model) With(name string, value float64) (*Model, error) {
	c := m.clone()
	var found []any
	c.numbers(func(n string, at any) {
		if n == name {
			found = append(found, at)
		}
	})
	switch n := len(found); {
	case n == 0:
		return nil, fmt.Errorf("%s %w: the model has no such number; there are jobs, think, chunks, buffer, STAGE.workers, STAGE.demand, CENTER.servers and machines.NAME", name, ErrKnob)
	case n > 1:
		return nil, fmt.Errorf("%s %w: several types have it; write TYPE.%s", name, ErrKnob, name)
	}
	switch at := found[0].(type) {
	case *float64:
		*at = value
	case *[]Demand:
		*at = slices.Clone(*at)
		for i := range *at {
			(*at)[i].Seconds *= value
		}
	case *int:
		if *at = int(max(math.MinInt32, min(math.MaxInt32, value))); float64(*at) != value {
			return nil, fmt.Errorf("%s=%v %w: it is an integer", name, value, ErrKnob)
		}
	}
	return c, nil
}

// apply sets several knobs.
func (m *Model) apply(knobs []Knob, values []float64) (*Model, error) {
	for i, k := range knobs {
		var err error
		if m, err = m.With(k.Name, values[i]); err != nil {
			return nil, err
		}
	}
	return m, m.Validate()
}

// combinations returns the number of combinations of the knobs' values, up to a limit.
func combinations(knobs []Knob, limit int) (int, error) {
	n := 1
	for i, k := range knobs {
		if slices.ContainsFunc(knobs[:i], func(other Knob) bool { return other.Name == k.Name }) {
			return 0, fmt.Errorf("%s %w: it is varied twice", k.Name, ErrKnob)
		}
		if len(k.Values) == 0 || n > limit/len(k.Values) {
			return 0, fmt.Errorf("%s %w: more than %d combinations, or none", k.Name, ErrKnob, limit)
		}
		n *= len(k.Values)
	}
	return n, nil
}

// settings returns the n combinations. The last knob changes fastest.
func settings(knobs []Knob, n int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		row, rest := make([]float64, len(knobs)), i
		for q := len(knobs) - 1; q >= 0; q-- {
			row[q] = knobs[q].Values[rest%len(knobs[q].Values)]
			rest /= len(knobs[q].Values)
		}
		out[i] = row
	}
	return out
}

// Row is one setting of a sweep and its results.
type Row struct {
	Values     []float64 `json:"-"`        // of the knobs
	Response   []float64 `json:"response"` // seconds, by type
	Throughput []float64 `json:"throughput"`
	Alone      []float64 `json:"alone"`
	Bound      []float64 `json:"bound"`       // no response is less
	Bottleneck string    `json:"bottleneck"`  // center with the highest utilisation; Nowhere: none
	Busy       float64   `json:"utilisation"` // utilisation of the bottleneck
}

// maxSweep is the most settings of a sweep.
const maxSweep = 100_000

// Sweep solves the model at all combinations of the knobs' values, the last knob changing fastest. At most workers settings are
// solved at once; 0 means one for each processor. The rows do not depend on that number.
func Sweep(ctx context.Context, m *Model, knobs []Knob, o Options, workers int) ([]Row, error) {
	n, err := combinations(knobs, maxSweep)
	if err != nil {
		return nil, err
	}
	list := settings(knobs, n)
	rows := make([]Row, len(list))
	err = parallel(ctx, len(list), workers, func(ctx context.Context, i int) error {
		x, err := m.apply(knobs, list[i])
		if err != nil {
			return err
		}
		a, err := Solve(ctx, x, o)
		if err != nil {
			return err
		}
		rows[i] = a.row(list[i])
		return nil
	})
	return rows, err
}

// parallel calls f for 0 to n-1, several at once.
func parallel(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return g.Wait()
}

func (a *Answer) row(values []float64) Row {
	r := Row{Values: values}
	for i := range a.Types {
		t := &a.Types[i]
		r.Response, r.Throughput = append(r.Response, t.Response), append(r.Throughput, t.Throughput)
		r.Alone, r.Bound = append(r.Alone, t.Bounds.Alone), append(r.Bound, t.Bounds.Response)
	}
	k, busy := a.Busiest()
	if r.Bottleneck, r.Busy = Nowhere, busy; k >= 0 {
		r.Bottleneck = a.Centers[k].Name
	}
	return r
}

// Busiest returns the first center with the largest utilisation; -1 if no center has a queue.
func (a *Answer) Busiest() (center int, utilisation float64) {
	center = -1
	for k, c := range a.Centers {
		if c.Utilisation > utilisation {
			center, utilisation = k, c.Utilisation
		}
	}
	return center, utilisation
}

// Change is a change of one number of a model, and its effect.
type Change struct {
	Knob  string  `json:"knob"`
	Value float64 `json:"value"`
	Point         // with so many jobs of the type
}

// chunkFactor is the factor between the numbers of chunks that TryChunks tries.
const chunkFactor = 4

// TryChunks solves a model of one pipeline with a quarter of its chunks, its own number, and four times as many; each with all
// its jobs, then with a single one. It returns nil for other models.
func TryChunks(ctx context.Context, m *Model, o Options) ([]Change, error) {
	if len(m.Types) != 1 || m.Types[0].Pipeline == nil {
		return nil, nil
	}
	p, jobs := m.Types[0].Pipeline, []int{m.Types[0].Jobs, 1}
	var list []Change
	for _, n := range slices.Compact(jobs) {
		chunks := []int{max(1, p.Chunks/chunkFactor), p.Chunks, chunkFactor * min(p.Chunks, MaxTasks/chunkFactor/len(p.Stages))}
		for i, x := range chunks {
			if i > 0 && x <= slices.Max(chunks[:i]) {
				continue
			}
			c := Change{Knob: "chunks", Value: float64(x)}
			if err := c.solve(ctx, m, o, n); err != nil {
				return nil, err
			}
			list = append(list, c)
		}
	}
	return list, nil
}

// solve solves a model of one type with the change and a number of jobs.
func (c *Change) solve(ctx context.Context, m *Model, o Options, jobs int) error {
	x, err := m.With(c.Knob, c.Value)
	if err != nil {
		return err
	}
	x.Types[0].Jobs = jobs
	a, err := Solve(ctx, x, o)
	if err == nil {
		c.Point = Point{jobs, a.Types[0].Response, a.Types[0].Throughput}
	}
	return err
}

// TryMore solves a model of one type with one more server at the center with the highest utilisation, and with one more of the
// machine that it belongs to.
func TryMore(ctx context.Context, m *Model, a *Answer) ([]Change, error) {
	k, _ := a.Busiest()
	if k < 0 || len(m.Types) != 1 {
		return nil, nil
	}
	list := []Change{{Knob: m.Centers[k].Name + ".servers", Value: float64(m.Centers[k].Servers + 1)}}
	for _, g := range m.Machines {
		if slices.Contains(g.Centers, k) {
			list = append(list, Change{Knob: "machines." + g.Name, Value: float64(g.Count + 1)})
		}
	}
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Value > MaxServers })
	for i := range list {
		if err := list[i].solve(ctx, m, a.Options, m.Types[0].Jobs); err != nil {
			return nil, err
		}
	}
	return list, nil
}
