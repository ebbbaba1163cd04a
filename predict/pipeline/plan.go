package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Target is what a plan must reach.
type Target struct {
	Jobs          int     // 0: as the model says
	MaxResponse   float64 // seconds, of every type; 0: any
	MinThroughput float64 // jobs per second, of all types together; 0: any
}

// PlanOptions bound a search.
type PlanOptions struct {
	Options
	Workers int  // settings solved at once; 0: one for each processor
	NoSim   bool // the answer is not judged by simulation
}

// Verdict is what simulation says of a setting.
type Verdict string

// The verdicts.
const (
	Confirmed        Verdict = "confirmed"
	WithinModelError Verdict = "within model error" // a limit lies within the interval of the simulation and 8 %
	Refuted          Verdict = "refuted"
	NotSimulated     Verdict = "not simulated"
)

// modelError is the error of walk for which a verdict allows.
const modelError = 0.08

// Setting is one combination of values and its results.
type Setting struct {
	Values     []float64 `json:"-"` // of Plan.Knobs
	Cost       float64   `json:"cost"`
	Response   float64   `json:"response"`   // the largest of all types; by the bound where it was not solved
	Throughput float64   `json:"throughput"` // of all types together
	Bounded    bool      `json:"bounded"`    // not solved: a bound excludes it
	Path       float64   `json:"path"`       // the longest path: no number of servers and machines makes the response less
	ByPath     bool      `json:"-"`          // the longest path alone excludes it
	ByWork     bool      `json:"-"`          // the work of the busiest center alone excludes it
	Bottleneck string    `json:"bottleneck"` // center with the highest utilisation
	Busy       float64   `json:"utilisation"`
	Misses     string    `json:"misses"` // targets that are missed; "": none
	Verdict    Verdict   `json:"verdict"`
	*Simulated           // nil where it was not simulated
}

// Simulated is what a simulation says of a setting.
type Simulated struct {
	Mean      float64 `json:"simulated"` // response, and the half-width of its interval
	HalfWidth float64 `json:"half_width"`
}

// Plan is the result of a search.
type Plan struct {
	Target   Target   `json:"-"`
	Knobs    []Knob   `json:"-"` // by name, values ascending
	Answer   *Setting `json:"-"`
	Cheaper  *Setting `json:"-"` // the best one that costs less, or as much with fewer chunks, if there is one
	Settings int      `json:"settings"`
	Solved   int      `json:"solved"`   // settings that no bound excludes
	Bisected bool     `json:"bisected"` // there were too many settings to try all
	// Without an answer: the numbers of settings that each bound alone excludes, and the closest setting.
	ByPath  int      `json:"excluded_by_path"`
	ByWork  int      `json:"excluded_by_work"`
	Closest *Setting `json:"-"`
}

const (
	mostScanned  = 4096
	mostSettings = 50_000_000
)

// search is a search for a plan.
type search struct {
	m       *Model
	o       PlanOptions
	plan    *Plan
	chunks  []int // knobs that are numbers of chunks
	price   []float64
	base    float64
	visited map[string]*Setting // by values
}

// MakePlan finds the cheapest setting of the knobs that meets the target, which has a largest response, a least throughput, or both;
// of settings with equal cost, the one with fewest chunks. The answer does not depend on the order of the knobs or the number of
// workers.
func MakePlan(ctx context.Context, m *Model, knobs []Knob, target Target, o PlanOptions) (*Plan, error) {
	var err error
	if target.Jobs > 0 {
		if m, err = m.With("jobs", float64(target.Jobs)); err != nil {
			return nil, err
		}
	}
	if err = m.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Target: target}
	s := &search{m: m, o: o, plan: p, visited: map[string]*Setting{}}
	if err = s.prepare(knobs); err != nil {
		return nil, err
	}
	if p.Bisected = p.Settings > mostScanned; p.Bisected {
		err = s.bisect(ctx)
	} else {
		err = s.scan(ctx)
	}
	if err != nil || p.Answer == nil {
		return p, err
	}
	for _, x := range s.visited {
		if x.Misses != "" && s.order(x.Values, p.Answer.Values) < 0 && (p.Cheaper == nil || s.order(x.Values, p.Cheaper.Values) > 0) {
			p.Cheaper = x
		}
	}
	for _, x := range []*Setting{p.Answer, p.Cheaper} {
		if err == nil && x != nil {
			err = s.judge(ctx, x)
		}
	}
	return p, err
}

// prepare sorts the knobs and finds their costs.
func (s *search) prepare(knobs []Knob) error {
	p := s.plan
	for _, k := range knobs {
		k.Values = slices.Sorted(slices.Values(k.Values))
		p.Knobs = append(p.Knobs, k)
	}
	slices.SortFunc(p.Knobs, func(a, b Knob) int { return strings.Compare(a.Name, b.Name) })
	var err error
	if p.Settings, err = combinations(p.Knobs, mostSettings); err != nil {
		return err
	}
	for i, k := range p.Knobs {
		price := 0.0
		switch last := k.Name[strings.LastIndexByte(k.Name, '.')+1:]; {
		case slices.ContainsFunc(s.m.Centers, func(c Center) bool { return k.Name == c.Name+".servers" }):
			price = 1
		case last == "chunks":
			s.chunks = append(s.chunks, i)
		case last != "buffer" && last != "workers" && !slices.ContainsFunc(s.m.Machines, func(g Machine) bool { return k.Name == "machines."+g.Name }):
			return fmt.Errorf("%s %w in a plan: knobs are machines.NAME, CENTER.servers, chunks, buffer and STAGE.workers", k.Name, ErrKnob)
		}
		s.price = append(s.price, price)
	}
	for _, g := range s.m.Machines {
		if i := slices.IndexFunc(p.Knobs, func(k Knob) bool { return k.Name == "machines."+g.Name }); i >= 0 {
			s.price[i] = g.Price
		} else {
			s.base += float64(g.Price * float64(g.Count))
		}
	}
	return nil
}

func (s *search) cost(values []float64) float64 {
	sum := s.base
	for i, x := range values {
		sum += float64(s.price[i] * x)
	}
	return sum
}

// order sorts settings by cost, then by chunks, then by values.
func (s *search) order(a, b []float64) int {
	var chunks float64 // more of a
	for _, i := range s.chunks {
		chunks += a[i] - b[i]
	}
	return cmp.Or(cmp.Compare(s.cost(a), s.cost(b)), cmp.Compare(chunks, 0), slices.Compare(a, b))
}

// scan tries all settings, cheapest first, several at once.
func (s *search) scan(ctx context.Context) error {
	list := settings(s.plan.Knobs, s.plan.Settings)
	slices.SortFunc(list, s.order)
	for part := range slices.Chunk(list, 16) {
		found := make([]*Setting, len(part))
		err := parallel(ctx, len(part), s.o.Workers, func(ctx context.Context, i int) (err error) {
			found[i], err = s.solve(ctx, part[i])
			return err
		})
		if err != nil {
			return err
		}
		for _, x := range found {
			if s.count(x); x.Misses == "" {
				s.plan.Answer = x
				return nil
			}
		}
	}
	return nil
}

// count records a setting in the statistics of the plan.
func (s *search) count(x *Setting) {
	p := s.plan
	s.visited[fmt.Sprint(x.Values)] = x
	if !x.Bounded {
		p.Solved++
	}
	if x.ByPath {
		p.ByPath++
	}
	if x.ByWork {
		p.ByWork++
	}
	if p.Closest == nil || x.Response < p.Closest.Response {
		p.Closest = x
	}
}

// at solves the setting with the given indexes of values, once, and reports whether it meets the target.
func (s *search) at(ctx context.Context, place []int) (*Setting, bool, error) {
	values := make([]float64, len(place))
	for i, p := range place {
		values[i] = s.plan.Knobs[i].Values[p]
	}
	x, ok := s.visited[fmt.Sprint(values)]
	if !ok {
		var err error
		if x, err = s.solve(ctx, values); err != nil {
			return nil, false, err
		}
		s.count(x)
	}
	return x, x.Misses == "", nil
}

// bisect is for too many settings to try all. It begins with the largest values of all knobs that cost something, and the first
// combination of the other knobs that meets the target with these. Then it lowers one knob after the other, until none can be
// lowered alone. More is not always better in precedence graphs (Graham's anomalies), so it tries the neighbours of each limit
// too. The answer meets the target, but is not certainly the cheapest one.
func (s *search) bisect(ctx context.Context) error {
	place, err := s.feasible(ctx)
	if err != nil || place == nil {
		return err
	}
	for changed := true; changed; {
		changed = false
		for i := range place {
			p, err := s.lower(ctx, place, i)
			if err != nil {
				return err
			}
			changed = changed || p != place[i]
			place[i] = p
		}
	}
	s.plan.Answer, _, err = s.at(ctx, place)
	return err
}

// feasible returns a setting with the largest values of all knobs that cost something that meets the target, or nil. Of the other
// knobs it tries each value of each one, with the rest at both ends.
func (s *search) feasible(ctx context.Context) ([]int, error) {
	low, high := make([]int, len(s.price)), make([]int, len(s.price))
	for i, k := range s.plan.Knobs {
		high[i] = len(k.Values) - 1
		if s.price[i] > 0 {
			low[i] = high[i]
		}
	}
	for _, base := range [][]int{low, high} {
		if _, ok, err := s.at(ctx, base); err != nil || ok {
			return base, err
		}
		for i := range base {
			if s.price[i] > 0 {
				continue
			}
			place := slices.Clone(base)
			for place[i] = 0; place[i] < len(s.plan.Knobs[i].Values); place[i]++ {
				if _, ok, err := s.at(ctx, place); err != nil || ok {
					return place, err
				}
			}
		}
	}
	return nil, nil
}

// lower finds the least value of a knob that meets the target, with the other knobs unchanged.
func (s *search) lower(ctx context.Context, place []int, knob int) (int, error) {
	try := slices.Clone(place)
	var failed error
	passes := func(p int) bool {
		try[knob] = p
		_, ok, err := s.at(ctx, try)
		failed = cmp.Or(failed, err)
		return ok
	}
	fails, least := -1, place[knob]
	for least-fails > 1 {
		if mid := (fails + least) / 2; passes(mid) {
			least = mid
		} else {
			fails = mid
		}
	}
	for p := least - 2; p >= max(0, least-3); p-- {
		if passes(p) {
			least = p
		}
	}
	return least, failed
}

// solve reports whether a setting meets the target: by bounds first, then by walk.
func (s *search) solve(ctx context.Context, values []float64) (*Setting, error) {
	m, err := s.m.apply(s.plan.Knobs, values)
	if err != nil {
		return nil, err
	}
	x := &Setting{Values: values, Cost: s.cost(values), Verdict: NotSimulated}
	for _, method := range []Method{MethodBounds, MethodWalk} {
		o := s.o.Options
		o.Method = method
		a, err := Solve(ctx, m, o)
		if err != nil {
			return nil, err
		}
		x.Response, x.Throughput, x.Path, x.Bounded = 0, 0, 0, method == MethodBounds
		var work, byPath, byWork float64 // seconds; jobs per second, were that all there is
		for i := range a.Types {
			t := &a.Types[i]
			x.Throughput += t.Throughput
			x.Response, x.Path = max(x.Response, t.Response), max(x.Path, t.Bounds.Path)
			work = max(work, t.Bounds.Saturation)
			byPath += float64(t.Jobs) / (t.Bounds.Path + t.Think)
			byWork += float64(t.Jobs) / (t.Bounds.Saturation + t.Think)
		}
		x.ByPath = x.Bounded && s.misses(x.Path, byPath) != ""
		x.ByWork = x.Bounded && s.misses(work, byWork) != ""
		if k, busy := a.Busiest(); k >= 0 {
			x.Bottleneck, x.Busy = a.Centers[k].Name, busy
		}
		if x.Misses = s.misses(x.Response, x.Throughput); x.Misses != "" {
			break
		}
	}
	return x, nil
}

// misses says which target is missed.
func (s *search) misses(response, throughput float64) string {
	t := s.plan.Target
	switch {
	case t.MaxResponse > 0 && response > t.MaxResponse:
		return fmt.Sprintf("response %.4g s > %.4g s", response, t.MaxResponse)
	case throughput < t.MinThroughput:
		return fmt.Sprintf("throughput %.4g/s < %.4g/s", throughput, t.MinThroughput)
	}
	return ""
}

// judge compares a setting with a simulation of it. It gives no verdict if the simulation has no mean response of a type, or is
// too large.
func (s *search) judge(ctx context.Context, x *Setting) error {
	if s.o.NoSim || x.Bounded {
		return nil
	}
	m, err := s.m.apply(s.plan.Knobs, x.Values)
	if err != nil {
		return err
	}
	o := s.o.Options
	o.Method = MethodSim
	a, err := Solve(ctx, m, o)
	if errors.Is(err, ErrTooLarge) {
		return nil
	}
	if err != nil || slices.ContainsFunc(a.Types, func(t TypeAnswer) bool { return math.IsNaN(t.Response) }) {
		return err
	}
	var throughput float64
	sim := &Simulated{}
	x.Simulated = sim
	for i := range a.Types {
		t := &a.Types[i]
		throughput += t.Throughput
		if t.Response > sim.Mean {
			*sim = Simulated{t.Response, t.HalfWidth}
		}
	}
	slack := sim.HalfWidth + float64(modelError*sim.Mean)
	part := slack / sim.Mean
	meets, fails := true, false
	if limit := s.plan.Target.MaxResponse; limit > 0 {
		meets, fails = sim.Mean+slack <= limit, sim.Mean-slack > limit
	}
	if limit := s.plan.Target.MinThroughput; limit > 0 {
		meets, fails = meets && throughput*(1-part) >= limit, fails || throughput*(1+part) < limit
	}
	switch {
	case meets == (x.Misses == "") && meets != fails:
		x.Verdict = Confirmed
	case meets || fails:
		x.Verdict = Refuted
	default:
		x.Verdict = WithinModelError
	}
	return nil
}
