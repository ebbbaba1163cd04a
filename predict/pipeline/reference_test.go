package pipeline

import (
	"context"
	"math"
	"testing"
)

// fewSamples is how many walks short tests take the mean of, where the tolerance allows it; 0: as many as by default.
func fewSamples() int {
	if testing.Short() {
		return 150
	}
	return 0
}

// walkOf walks one type.
func walkOf(t testing.TB, m *Model, samples int) *walked {
	t.Helper()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	s := m.compile(nil)
	return s.recursion(newWalker(s, &s.jobs[0], 7, samples))
}

func simOf(t testing.TB, m *Model, jobs uint32) TypeAnswer {
	t.Helper()
	return solve(t, m, Options{Method: MethodSim, SimJobs: jobs}).Types[0]
}

// exactCase is a small model with its exact response.
type exactCase struct {
	name   string
	m      *Model
	states int
	exact  float64
	walk   float64
	digits float64 // tolerance of walk, relative; 0: 1e-6
	tree   float64 // what the tree model with exponential maxima is off by, percent
}

// exactCases are precedence jobs with PS centers and exponential service, whose responses are exact (Markov chain).
func exactCases() []exactCase {
	geo := service{1, 4, true}
	a1 := func(n int) *Model { return line(cpus(1), n, 0, 2, 0, exponential, d(0, 1), d(0, 1)) }
	a2 := func(n int) *Model { return line(cpus(2), n, 0, 2, 0, exponential, d(0, 1), d(1, 1)) }
	a3 := func(n int) *Model { return line(cpus(2), n, 0, 8, 0, exponential, d(0, 1), d(1, 1)) }
	a4 := func(n int) *Model { return line(cpus(2), n, 0, 3, 0, exponential, d(0, 1), d(1, 1), d(0, .5)) }
	a5 := func(n, b int) *Model { return line(cpus(3), n, 0, 4, b, exponential, d(0, 1), d(1, 1.2), d(2, .8)) }
	a7 := func(n int) *Model {
		return line(centersOf(Center{"cpu", PS, 2}), n, 0, 3, 0, exponential, d(0, 1), d(0, 1), d(0, 1))
	}
	a8 := func(n int, s service) *Model { return line(cpus(2), n, 0, 3, 0, s, d(0, 1, 1, .5), d(0, .5, 1, 1)) }
	a10 := func(n int) *Model { return line(cpus(2), n, 4, 3, 0, exponential, d(0, 1), d(1, 1)) }
	a12 := func(n int) *Model { return fork(cpus(2), n, d(0, 1), d(1, 1)) }
	a13 := func(n int) *Model { return fork(cpus(1), n, d(0, 1), d(0, 1), d(0, 1)) }
	return []exactCase{
		{"A1/1", a1(1), 5, 2, 2, 0, 6.3},
		{"A1/2", a1(2), 15, 4, 4, 0, 3.9},
		{"A1/3", a1(3), 35, 6, 6, 0, 2.8},
		{"A2/1", a2(1), 5, 1.75, 1.75, 0, 0},
		{"A2/2", a2(2), 15, 2.735714, 2.75, 0, .5},
		{"A2/4", a2(4), 70, 4.718322, 4.75, 0, .7},
		{"A3/1", a3(1), 44, 1.392761, 1.392761, 0, 12.2},
		{"A3/2", a3(2), 990, 2.348549, 2.392761, 0, 9.1},
		{"A4/1", a4(1), 19, 1.977366, 1.977366, 0, 3.7},
		{"A4/2", a4(2), 190, 3.305778, 3.262992, 0, 3.4},
		{"A5/1", a5(1, 0), 34, 2.032640, 2.032640, 0, 6.8},
		{"A5/2", a5(2, 0), 595, 3.053062, 3.079806, 0, 5.5},
		{"A6/1", a5(1, 1), 15, 2.666667, 2.666667, 0, 0},
		{"A6/2", a5(2, 1), 120, 3.716819, 3.710901, 0, .1},
		{"A7/1", a7(1), 19, 2.201389, 2.201389, 0, 18},
		{"A7/2", a7(2), 190, 3, 3.110404, 0, 25},
		{"A7/3", a7(3), 1330, 4.5, 4.5, 0, 13},
		{"A8/1", a8(1, geo), 24, 2.684414, 2.681, .01, 5.8},
		{"A8/2", a8(2, geo), 300, 4.168923, 4.175, .01, 4.4},
		{"A9/1", a8(1, exponential), 24, 2.675154, 2.635, .01, 6.2},
		{"A9/2", a8(2, exponential), 300, 4.169461, 4.126, .01, 4.4},
		{"A10/2", a10(2), 55, 1.914200, 1.913889, 0, 4.5},
		{"A10/4", a10(4), 715, 2.708369, 2.711812, 0, 8.4},
		{"A11/4", line(cpus(3), 4, 0, 1, 0, exponential, d(0, 1), d(1, .5), d(2, .25)), 15, 4.2, 4.2, 0, 3},
		{"A12/1", a12(1), 3, 1.5, 1.5, 0, 0},
		{"A12/2", a12(2), 6, 2.5, 2.5, 0, 0},
		{"A12/4", a12(4), 15, 4.5, 4.5, 0, 0},
		{"A13/1", a13(1), 7, 3, 3, 0, 22},
		{"A13/2", a13(2), 28, 6, 6, 0, 11},
	}
}

// TestExactCases compares walk, the simulator and the Markov chain with each other.
func TestExactCases(t *testing.T) {
	t.Parallel()
	for _, c := range exactCases() {
		t.Run(c.name, func(t *testing.T) {
			r, states := exactResponse(t, c.m)
			near(t, "exact", r, c.exact, 1e-6)
			if states != c.states {
				t.Errorf("%d states, not %d", states, c.states)
			}
			tolerance := 1e-6
			if c.digits > 0 {
				tolerance = c.digits * c.walk
			}
			near(t, "walk", walkOf(t, c.m, 0).response, c.walk, tolerance)
			jobs := uint32(2500)
			if !testing.Short() {
				jobs = 15_000
			}
			s := simOf(t, c.m, jobs)
			near(t, "sim", s.Response, c.exact, s.HalfWidth+.01*c.exact)
		})
	}
}

// TestChainsThroughWalk: without parallel tasks walk is exact mean value analysis.
func TestChainsThroughWalk(t *testing.T) {
	t.Parallel()
	src := newSource(3, 0)
	for range 50 {
		n := 1 + src.rng.IntN(30)
		think := float64(src.rng.IntN(3)) * src.exponential()
		var demand []float64
		for range 1 + src.rng.IntN(5) {
			demand = append(demand, .05+src.rng.Float64())
		}
		m := chain(n, think, nil, demand...)
		for k := range m.Centers {
			m.Centers[k].Kind = Kind(src.rng.IntN(3))
		}
		want := exactMVA(m)[0]
		near(t, "chain", walkOf(t, m, 0).response, want, 1e-9*want)
	}
}

// simCase is a model with its response by a long simulation, and what the methods were off by, in percent.
type simCase struct {
	name           string
	m              *Model
	sim, half      float64
	exp, fj, varki float64
}

func simCases() []simCase {
	five := service{1, 5, false}
	return []simCase{
		{"B1", biJob(2, 22, 4, exponential), 8.127, .014, 12.8, 44, 34},
		{"B2", biJob(8, 22, 4, exponential), 15.64, .11, 16.8, 43, 24},
		{"B3", biJob(4, 0, 4, exponential), 16.398, .037, 7.6, 25, 12},
		{"B4", biJob(4, 22, 16, exponential), 8.525, .040, 21.0, 69, 47},
		{"B5", biJob(4, 0, 16, five), 16.110, .026, 6.8, 29, 13},
		{"W1", wave(1, 0, exponential), 6.532, .009, 9.4, 9, -5},
		{"W2", wave(4, 17, exponential), 6.916, .011, 19.6, 20, 2},
		{"W3", wave(4, 0, five), 8.942, .008, 25.0, 25, 11},
		{"H1", hop(1, 0, exponential), 13.322, .029, 48.8, 57, 24},
		{"H2", hop(4, 40, exponential), 16.457, .059, 45.5, 53, 16},
		{"H3", hop(4, 0, five), 25.204, .034, 28.8, 33, 8},
	}
}

// TestSimulatedCases compares walk and the simulator with long simulations.
func TestSimulatedCases(t *testing.T) {
	t.Parallel()
	for _, c := range simCases() {
		near(t, c.name+" walk", walkOf(t, c.m, fewSamples()).response, c.sim, c.half+.04*c.sim)
		if testing.Short() {
			continue
		}
		s := simOf(t, c.m, 0)
		near(t, c.name+" sim", s.Response, c.sim, s.HalfWidth+c.half+.01*c.sim)
	}
}

// TestConstantLine: with constant service on own processors a line of S stages with M chunks takes S-1+M times one chunk.
func TestConstantLine(t *testing.T) {
	t.Parallel()
	m := line(cpus(4), 1, 0, 8, 0, service{visits: 1}, d(0, 8), d(1, 8), d(2, 8), d(3, 8))
	if r := walkOf(t, m, 0).response; math.Abs(r-11) > 1e-12 {
		t.Errorf("%v, not 11", r)
	}
}

// TestFinding: pipelining pays under light load, and not after saturation.
func TestFinding(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n     int
		think float64
		want  [6]float64 // 1, 2, 4, 8, 16, 32 chunks
	}{
		{1, 0, [6]float64{4.080, 2.925, 2.278, 1.955, 1.899, 2.111}},
		{4, 36, [6]float64{4.406, 3.171, 2.481, 2.145, 2.111, 2.407}},
		{6, 0, [6]float64{9.180, 8.125, 7.678, 7.755, 8.499, 10.311}},
	} {
		least := math.Inf(1)
		var first, last float64
		for i, want := range row.want {
			r := walkOf(t, finding(row.n, row.think, 1<<i), fewSamples()).response
			near(t, "finding", r, want, .02*want)
			least = min(least, r)
			if i == 0 {
				first = r
			}
			last = r
		}
		switch gain := first / least; {
		case row.n < 6 && gain < 2, row.n == 6 && (gain > 1.3 || last < first):
			t.Errorf("%d jobs, think %v: gain %v, %v with 1 chunk, %v with 32", row.n, row.think, gain, first, last)
		}
	}
	if testing.Short() {
		return
	}
	for _, c := range []struct {
		m    *Model
		want float64
	}{
		{finding(1, 0, 1), 4.08},
		{finding(1, 0, 16), 1.90},
		{finding(4, 36, 1), 4.40},
		{finding(4, 36, 16), 2.10},
		{finding(6, 0, 1), 9.18},
		{finding(6, 0, 4), 7.28},
		{finding(6, 0, 32), 9.97},
	} {
		s := simOf(t, c.m, 6000)
		near(t, "finding simulated", s.Response, c.want, s.HalfWidth+.01*c.want)
	}
}

// TestTree: what the method is off by was published with the cases.
func TestTree(t *testing.T) {
	t.Parallel()
	off := func(m *Model, sim float64, o Options) float64 {
		a, err := Solve(context.Background(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.Warnings {
			t.Error(w)
		}
		return 100 * (a.Types[0].Response/sim - 1)
	}
	for _, c := range exactCases() {
		near(t, c.name+" exp", off(c.m, c.exact, Options{Method: MethodTree}), c.tree, .51)
	}
	for _, c := range simCases() {
		half := 100 * c.half / c.sim
		near(t, c.name+" exp", off(c.m, c.sim, Options{Method: MethodTree}), c.exp, .06+2*half)
		near(t, c.name+" fj", off(c.m, c.sim, Options{Method: MethodTree, Operator: OpFJ}), c.fj, .51+2*half)
		near(t, c.name+" varki", off(c.m, c.sim, Options{Method: MethodTree, Operator: OpVarki}), c.varki, .51+2*half)
	}
}
