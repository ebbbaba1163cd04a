package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func knobs(t *testing.T, list ...string) []Knob {
	t.Helper()
	var out []Knob
	for _, s := range list {
		k, err := ParseKnob(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

func planOf(t *testing.T, m *Model, target Target, o PlanOptions, vary ...string) *Plan {
	t.Helper()
	o.Seed = 7
	o.SimJobs = simJobs(6000)
	if o.Samples == 0 {
		o.Samples = fewSamples()
	}
	p, err := MakePlan(context.Background(), m, knobs(t, vary...), target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanServersAndMachines: one processor, 8 jobs: response 8/m with m servers, ceil(8/K) on K machines.
func TestPlanServersAndMachines(t *testing.T) {
	t.Parallel()
	m := fork([]Center{{"cpu", PS, 1}}, 8, d(0, 1))
	m.Machines = []Machine{{"node", []int{0}, 1, 1}}
	p := planOf(t, m, Target{MaxResponse: 2}, PlanOptions{}, "cpu.servers=1..8")
	if p.Answer == nil || p.Answer.Values[0] != 4 || math.Abs(p.Answer.Response-2) > 1e-9 || math.Abs(p.Cheaper.Response-8./3) > 1e-9 {
		t.Errorf("%+v %+v", p.Answer, p.Cheaper)
	}
	p = planOf(t, m, Target{MaxResponse: 2}, PlanOptions{}, "machines.node=1..8")
	if p.Answer == nil || p.Answer.Values[0] != 4 || math.Abs(p.Answer.Response-2) > 1e-9 || math.Abs(p.Cheaper.Response-3) > 1e-9 {
		t.Errorf("%+v %+v", p.Answer, p.Cheaper)
	}
	if p.Answer.Cost != 4 || p.Answer.Verdict != WithinModelError {
		t.Errorf("%+v", p.Answer)
	}
}

// TestPlanDisk is the model of the documentation.
func TestPlanDisk(t *testing.T) {
	t.Parallel()
	p := planOf(t, disks(4), Target{MaxResponse: 15}, PlanOptions{}, "node0.disk.servers=1..4")
	a := p.Answer
	if a == nil || a.Values[0] != 2 || a.Verdict != Confirmed || !p.Cheaper.Bounded || p.Cheaper.ByPath || !p.Cheaper.ByWork {
		t.Fatalf("%+v %+v", a, p.Cheaper)
	}
	near(t, "walk", a.Response, 12.4, .02*12.4)
	near(t, "sim", a.Mean, 12.02, a.HalfWidth+.01*12.02)
	near(t, "one disk", p.Cheaper.Response, 22, 1e-9)
	p = planOf(t, disks(4), Target{MaxResponse: 8}, PlanOptions{}, "node0.disk.servers=1..4")
	if p.Answer != nil || p.Solved != 0 || p.ByPath != 4 || p.ByWork != 4 {
		t.Errorf("%+v", p)
	}
	near(t, "path", p.Closest.Path, 9.81, .01)
}

// TestPlanChunks: chunks help under light load, servers after saturation.
func TestPlanChunks(t *testing.T) {
	t.Parallel()
	const chunks = "chunks=1,2,4,8,16,32"
	p := planOf(t, finding(4, 36, 1), Target{MaxResponse: 2.3}, PlanOptions{}, chunks)
	if p.Answer == nil || p.Answer.Values[0] != 8 {
		t.Fatalf("%+v", p.Answer)
	}
	near(t, "8 chunks", p.Answer.Response, 2.15, .02*2.15)
	p = planOf(t, finding(4, 36, 1), Target{MaxResponse: 2.3}, PlanOptions{}, "c0.servers=1..8", "c1.servers=1..8")
	if p.Answer != nil || p.Solved != 0 || p.ByPath != 64 {
		t.Errorf("%+v", p)
	}
	near(t, "path", p.Closest.Response, 4.08, 1e-9)
	p = planOf(t, finding(6, 0, 1), Target{MaxResponse: 4}, PlanOptions{}, chunks)
	if p.Answer != nil || p.Solved != 0 || p.ByWork != 6 {
		t.Errorf("%+v", p)
	}
	near(t, "work", p.Closest.Response, 6.12, 1e-9)
	p = planOf(t, finding(6, 0, 1), Target{MaxResponse: 4}, PlanOptions{}, chunks,
		"c0.servers=1,2", "c1.servers=1,2", "c2.servers=1,2", "c3.servers=1,2")
	a := p.Answer
	if a == nil || !slices.Equal(a.Values, []float64{2, 2, 2, 2, 4}) || a.Verdict != WithinModelError || a.Cost != 8 {
		t.Fatalf("%+v of %v", a, p.Knobs)
	}
	near(t, "walk", a.Response, 3.924, .01*3.924)
	near(t, "sim", a.Mean, 3.784, a.HalfWidth+.01*3.784)
}

// randomModel is a small pipeline whose stages share some centers.
func randomModel(src *source) *Model {
	stages, n := 1+src.rng.IntN(3), 1+src.rng.IntN(4)
	centers := centersOf(Center{"cpu", PS, 1}, Center{"disk", FCFS, 1})
	var list [][]Demand
	for range stages {
		x := d(0, .3+src.rng.Float64())
		if src.rng.IntN(2) == 0 {
			x = append(x, Demand{1, .1 + .5*src.rng.Float64()})
		}
		list = append(list, x)
	}
	m := line(centers, n, float64(src.rng.IntN(3)), 2, 0, service{scv: .5, visits: 1}, list...)
	m.Machines = []Machine{{"node", []int{0}, 1, 1.5}}
	return m
}

// TestPlanBruteForce compares with the solution of every setting, in any order of knobs and with any number of workers.
func TestPlanBruteForce(t *testing.T) {
	t.Parallel()
	rounds := 200
	if testing.Short() {
		rounds = 15
	}
	src := newSource(11, 0)
	vary := []string{"machines.node=1..2", "disk.servers=1..2", "chunks=1,3"}
	answers := 0
	for range rounds {
		m := randomModel(src)
		o := Options{Seed: 7, Samples: 20}
		alone, err := Solve(context.Background(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		target := Target{MaxResponse: alone.Types[0].Response * (.5 + src.rng.Float64()/2)}
		if src.rng.IntN(2) == 0 {
			target = Target{MinThroughput: alone.Types[0].Throughput * (1 + src.rng.Float64())}
		}
		best := bruteForce(t, m, knobs(t, vary...), target, o)
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
			var list []string
			for _, i := range order {
				list = append(list, vary[i])
			}
			p, err := MakePlan(context.Background(), m, knobs(t, list...), target, PlanOptions{Options: o, NoSim: true, Workers: 1 + order[0]})
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			if p.Answer != nil {
				got = fmt.Sprint(p.Answer.Values)
				answers++
			}
			if got != best {
				t.Fatalf("%v: answer %s, not %s", target, got, best)
			}
		}
	}
	if answers < rounds/2 {
		t.Errorf("only %d answers", answers)
	}
}

// bruteForce solves all settings by walk and returns the values of the cheapest one that meets the target, knobs by name.
func bruteForce(t *testing.T, m *Model, list []Knob, target Target, o Options) string {
	t.Helper()
	slices.SortFunc(list, func(a, b Knob) int { return strings.Compare(a.Name, b.Name) })
	rows, err := Sweep(context.Background(), m, list, o, 2)
	if err != nil {
		t.Fatal(err)
	}
	best, least := "none", [2]float64{math.Inf(1), 0}
	for _, r := range rows {
		// Knobs are chunks, disk.servers, machines.node.
		cost := [2]float64{r.Values[1] + 1.5*r.Values[2], r.Values[0]}
		meets := (target.MaxResponse == 0 || r.Response[0] <= target.MaxResponse) && r.Throughput[0] >= target.MinThroughput
		if meets && (cost[0] < least[0] || cost[0] == least[0] && cost[1] < least[1]) {
			best, least = fmt.Sprint(r.Values), cost
		}
	}
	return best
}

// TestPlanBisects: with too many settings the answer still meets the target, and no neighbour that costs less does.
func TestPlanBisects(t *testing.T) {
	t.Parallel()
	m := finding(6, 0, 4)
	p := planOf(t, m, Target{MaxResponse: 4}, PlanOptions{NoSim: true, Options: Options{Samples: 50}},
		"c0.servers=1..10", "c1.servers=1..10", "c2.servers=1..10", "c3.servers=1..10", "chunks=4")
	if p.Answer == nil || !p.Bisected || p.Answer.Misses != "" || p.Solved > 200 {
		t.Fatalf("%+v", p)
	}
	for i := range 4 {
		values := slices.Clone(p.Answer.Values)
		if values[i]--; values[i] == 0 {
			continue
		}
		x, err := m.apply(p.Knobs, values)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Solve(context.Background(), x, Options{Seed: 7, Samples: 50})
		if err != nil || a.Types[0].Response <= 4 {
			t.Errorf("%v meets the target too: %v", values, a.Types[0].Response)
		}
	}
	if p.Cheaper == nil || p.Cheaper.Cost > p.Answer.Cost {
		t.Errorf("%+v", p.Cheaper)
	}
}

func TestKnobs(t *testing.T) {
	t.Parallel()
	k, err := ParseKnob("a.b=1,3..5,0.5")
	if err != nil || !cmp.Equal(k, Knob{"a.b", []float64{1, 3, 4, 5, .5}}) {
		t.Errorf("%v %v", k, err)
	}
	for _, s := range []string{"", "a", "a=", "a=x", "a=5..1", "a=1..999999999", "a=1,1", "a=nan", "a=1..2..3"} {
		if _, err := ParseKnob(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
	m := disks(4)
	m.Machines = []Machine{{"node", []int{0, 1}, 1, 1}}
	for _, s := range []string{"jobs=2", "think=1.5", "chunks=3", "buffer=1", "read.workers=2", "read.demand=0.5", "net.servers=3", "machines.node=2"} {
		k := knobs(t, s)[0]
		x, err := m.With(k.Name, k.Values[0])
		if err != nil || x.Validate() != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if cmp.Equal(m, x) {
			t.Errorf("%s changes nothing", s)
		}
	}
	if !cmp.Equal(m.Types, disks(4).Types) {
		t.Error("the model changed")
	}
	for _, s := range []string{"job=2", "chunks=1.5", "machines.nodes=2", "wire.server=2"} {
		k := knobs(t, s)[0]
		if _, err := m.With(k.Name, k.Values[0]); !errors.Is(err, ErrKnob) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// TestSweep: rows come in the order of the knobs, for any number of workers.
func TestSweep(t *testing.T) {
	t.Parallel()
	list := knobs(t, "jobs=1,3", "chunks=1..4")
	var first []Row
	for _, workers := range []int{1, 3} {
		rows, err := Sweep(context.Background(), disks(4), list, Options{Samples: 10}, workers)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = rows
		}
		if diff := cmp.Diff(first, rows); diff != "" {
			t.Error(diff)
		}
	}
	if len(first) != 8 || !slices.Equal(first[5].Values, []float64{3, 2}) {
		t.Errorf("%+v", first)
	}
	if _, err := Sweep(context.Background(), disks(4), knobs(t, "chunks=0"), Options{}, 1); err == nil {
		t.Error("0 chunks are taken")
	}
}

// TestPlanRare: a type of which too few jobs end in a simulation has no response there, and no setting is judged by the
// responses of the others.
func TestPlanRare(t *testing.T) {
	t.Parallel()
	m := fork([]Center{{"a", PS, 1}, {"b", PS, 1}}, 1, d(0, 1))
	rare := fork(nil, 1, d(1, 1e5)).Types[0]
	m.Types[0].Name, rare.Name = "often", "rare"
	m.Types = append(m.Types, rare)
	p := planOf(t, m, Target{MaxResponse: 2e5}, PlanOptions{}, "a.servers=1")
	if p.Answer == nil || p.Answer.Verdict != NotSimulated || p.Answer.Simulated != nil {
		t.Errorf("%+v", p.Answer)
	}
	a, err := Solve(context.Background(), m, Options{Method: MethodSim, SimJobs: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range slices.AppendSeq([]float64{a.Types[1].Response, a.Types[1].HalfWidth}, maps.Values(a.Types[1].Percentile)) {
		if !math.IsNaN(x) {
			t.Errorf("%v of a type with %d jobs", x, a.Types[1].Samples)
		}
	}
	if len(a.Warnings) != 1 || !strings.HasPrefix(a.Warnings[0], "rare: ") {
		t.Errorf("%q", a.Warnings)
	}
}
