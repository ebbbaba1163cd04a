package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/svg"

	"github.com/google/go-cmp/cmp"
)

func solve(t testing.TB, m *Model, o Options) *Answer {
	t.Helper()
	if o.Seed == 0 {
		o.Seed = 7
	}
	a, err := Solve(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// simJobs is the size of a simulation, smaller in short tests.
func simJobs(n uint32) uint32 {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestHoldout: 60 random pipelines (bench/tool capacity -write FILE) and their simulated responses. No constant was
// chosen by them.
func TestHoldout(t *testing.T) {
	f, err := os.Open("testdata/holdout.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sum, most float64
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		if testing.Short() && n%4 != 0 {
			continue
		}
		var row struct {
			Name, Model string
			Simulated   float64
		}
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		m, err := Parse([]byte(row.Model))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		if testing.Short() {
			o.Samples = 100
		}
		e := math.Abs(solve(t, m, o).Types[0].Response/row.Simulated - 1)
		sum += e
		most = max(most, e)
		if e > .08 {
			t.Errorf("%s: %.1f %% off", row.Name, 100*e)
		}
	}
	if n != 60 || !testing.Short() && sum/60 > .02 {
		t.Errorf("%d rows, mean error %.2f %%", n, 100*sum/60)
	}
	t.Logf("mean %.2f %%, largest %.2f %%", 100*sum/float64(n), 100*most)
}

// TestMoreJobsAreNotFaster: the response does not fall with the number of jobs.
func TestMoreJobsAreNotFaster(t *testing.T) {
	src := newSource(5, 0)
	for range 25 {
		m := randomModel(src)
		m.Types[0].Jobs = 10
		last := 0.0
		for _, p := range solve(t, m, Options{Samples: 200}).Types[0].Curve {
			if p.Response < last*.995 {
				t.Errorf("%d jobs: %v after %v", p.Jobs, p.Response, last)
			}
			last = p.Response
		}
	}
}

// TestDealtJobs: without shared centers, K machines with N jobs are one machine with ceil(N/K).
func TestDealtJobs(t *testing.T) {
	for _, k := range []int{2, 3} {
		for n := 1; n <= 7; n++ {
			m := wave(n, 3, exponential)
			m.Machines = []Machine{{"node", []int{0, 1, 2}, k, 1}}
			got := solve(t, m, Options{Samples: 50}).Types[0].Response
			want := solve(t, wave((n+k-1)/k, 3, exponential), Options{Samples: 50}).Types[0].Response
			if got != want {
				t.Errorf("%d jobs on %d machines: %v, not %v", n, k, got, want)
			}
			if n == 4 && !testing.Short() {
				s := solve(t, m, Options{Method: MethodSim, SimJobs: 8000}).Types[0]
				near(t, "simulated", s.Response, want, s.HalfWidth+.04*want)
			}
		}
	}
}

// TestGroups: stages that share nothing are solved apart. A shared center that nobody feels makes one group of them.
func TestGroups(t *testing.T) {
	for _, s := range []service{exponential, {.3, 2, false}} {
		apart := line(cpus(4), 3, 2, 6, 1, s, d(0, 1), d(1, 1.5), d(2, .7), d(3, 1))
		joint := line(append(cpus(4), Center{"all", PS, 1}), 3, 2, 6, 1, s, d(0, 1, 4, 1e-11), d(1, 1.5, 4, 1e-11), d(2, .7, 4, 1e-11), d(3, 1, 4, 1e-11))
		a, b := solve(t, apart, Options{Samples: 100}), solve(t, joint, Options{Samples: 100})
		if n := len(newWalker(apart.compile(nil), &apart.compile(nil).jobs[0], 7, 1).h.groups); n != 4 {
			t.Errorf("%d groups", n)
		}
		near(t, "response", b.Types[0].Response, a.Types[0].Response, 1e-6)
		near(t, "queue", b.Centers[1].Queue, a.Centers[1].Queue, 1e-6)
	}
}

// TestForgetting: with little memory for active sets the result is the same.
func TestForgetting(t *testing.T) {
	for _, m := range []*Model{biJob(3, 5, 8, service{.5, 1, false}), line(cpus(1), 2, 0, 6, 0, exponential, d(0, 1), d(0, 2), d(0, 3))} {
		want := walkOf(t, m, 20).response
		s := m.compile(nil)
		w := newWalker(s, &s.jobs[0], 7, 20)
		for _, g := range w.h.groups {
			g.memory = 1500
		}
		near(t, "response", s.recursion(w).response, want, 1e-9*want)
	}
}

// TestLargeSets: above a size, residence times are a fixed point; the responses are nearly those of exact ones.
func TestLargeSets(t *testing.T) {
	m := line(centersOf(Center{"cpu", PS, 2}, Center{"disk", FCFS, 1}), 3, 4, 4, 0, service{.5, 1, false},
		d(0, 1, 1, .3), d(0, 2), d(0, 1.5, 1, .5), d(1, .4, 0, .5), d(0, 1), d(0, 1.2))
	want := walkOf(t, m, 100).response
	s := m.compile(nil)
	w := newWalker(s, &s.jobs[0], 7, 100)
	for _, g := range w.h.groups {
		g.exact = 1
	}
	near(t, "response", s.recursion(w).response, want, .02*want)
	if exactLimit(4, 4) != exactSize || exactLimit(100, 4) != 2 || exactLimit(3, 1e5) != 1 {
		t.Errorf("limits %d %d %d", exactLimit(4, 4), exactLimit(100, 4), exactLimit(3, 1e5))
	}
}

// treeModelOf is a model with a tree of exponential classes on own processors.
func treeModelOf(n int, think float64, tree string, demands ...float64) *Model {
	var b strings.Builder
	b.WriteString("schema = \"coppice.capacity/1\"\ncenters = [")
	for i := range demands {
		fmt.Fprintf(&b, "{name = \"c%d\", kind = \"ps\"},", i)
	}
	fmt.Fprintf(&b, "]\nload = {jobs = %d, think = %v}\ntree = %s\n", n, think, tree)
	for i, x := range demands {
		fmt.Fprintf(&b, "[classes.%c]\ndemand = {c%d = %v}\n", 'a'+rune(i), i, x)
	}
	m, err := Parse([]byte(b.String()))
	if err != nil {
		panic(err)
	}
	return m
}

// TestTrees: parts that are given up and parts that are chosen, against closed forms and simulation.
func TestTrees(t *testing.T) {
	for _, c := range []struct {
		tree    string
		demands []float64
		want    float64 // alone
	}{
		{`["OR", "a", "b"]`, []float64{1, 2}, 2. / 3},
		{`["P", "a", "b"]`, []float64{1, 2}, 7. / 3},
		{`["ALT", [0.25, "a"], [0.75, "b"]]`, []float64{1, 2}, 1.75},
		{`["S", "a", ["OR", "b", ["S", "c"]], ["ALT", [1, "a"], [0, "b"]]]`, []float64{1, 2, 2}, 3},
	} {
		m := treeModelOf(1, 0, c.tree, c.demands...)
		near(t, c.tree+" tree", solve(t, m, Options{Method: MethodTree}).Types[0].Response, c.want, 1e-6)
		near(t, c.tree+" walk", solve(t, m, Options{}).Types[0].Response, c.want, .05*c.want)
		s := solve(t, m, Options{Method: MethodSim, SimJobs: simJobs(20_000)}).Types[0]
		near(t, c.tree+" sim", s.Response, c.want, 1.5*s.HalfWidth)
		if b := solve(t, m, Options{Method: MethodBounds}).Types[0].Response; b > c.want*1.000001 {
			t.Errorf("%s: bound %v above %v", c.tree, b, c.want)
		}
	}
	tolerance := .06
	if testing.Short() {
		tolerance = .12
	}
	nested := `["S", "a", ["OR", "b", ["S", "c", "d"]], ["P", "a", ["ALT", [0.7, "b"], [0.3, "d"]]]]`
	for _, n := range []int{1, 4} {
		m := treeModelOf(n, 2, nested, 1, .8, .5, .4)
		s := solve(t, m, Options{Method: MethodSim, SimJobs: simJobs(20_000)})
		w := solve(t, m, Options{})
		near(t, "nested walk", w.Types[0].Response, s.Types[0].Response, .05*s.Types[0].Response)
		for k := range w.Centers {
			near(t, "used", w.Centers[k].Utilisation, s.Centers[k].Utilisation, tolerance*s.Centers[k].Utilisation)
		}
		near(t, "nested tree", solve(t, m, Options{Method: MethodTree}).Types[0].Response, s.Types[0].Response, .2*s.Types[0].Response)
	}
	// A pure tree is a graph: all methods take it, and walk visits all its states.
	m := treeModelOf(1, 0, `["S", ["P", "a", "b"], ["P", "a", "b"]]`, 1, 1)
	if a := solve(t, m, Options{}); a.Types[0].Samples != 0 || math.Abs(a.Types[0].Response-3) > 1e-9 {
		t.Errorf("%+v", a.Types[0])
	}
}

// TestTypes: chains of two types against exact mean value analysis, and one type written as two.
func TestTypes(t *testing.T) {
	m := line(cpus(2), 2, 0, 1, 0, exponential, d(0, 1), d(1, .5))
	other := line(cpus(2), 3, 0, 1, 0, exponential, d(0, .5), d(1, 1))
	m.Types[0].Name, other.Types[0].Name = "a", "b"
	m.Types = append(m.Types, other.Types[0])
	a := solve(t, m, Options{})
	s := solve(t, m, Options{Method: MethodSim, SimJobs: simJobs(30_000)})
	for i, want := range []float64{4.18811881, 4.5} {
		near(t, "walk", a.Types[i].Response, want, .02*want)
		near(t, "sim", s.Types[i].Response, want, s.Types[i].HalfWidth+.01*want)
	}
	twice := biJob(2, 22, 4, exponential)
	twice.Types = append(twice.Types, twice.Types[0])
	twice.Types[0].Name, twice.Types[1].Name = "a", "b"
	want := solve(t, biJob(4, 22, 4, exponential), Options{}).Types[0].Response
	for _, method := range []Method{MethodTree, MethodWalk} {
		if testing.Short() && method != MethodTree {
			break
		}
		o := Options{Method: method}
		whole := want
		if method != MethodWalk {
			whole = solve(t, biJob(4, 22, 4, exponential), o).Types[0].Response
		}
		for _, x := range solve(t, twice, o).Types {
			near(t, "two types alike, "+string(method), x.Response, whole, .03*whole)
		}
	}
	// Two types saturate a processor together: none does more than it can.
	m = fork(cpus(1), 5, d(0, 1), d(0, 1))
	more := fork(cpus(1), 3, d(0, 3))
	m.Types[0].Name, more.Types[0].Name = "a", "b"
	m.Types = append(m.Types, more.Types[0])
	x := solve(t, m, Options{})
	if u := 2*x.Types[0].Throughput + 3*x.Types[1].Throughput; u > 1.0001 || u < .97 {
		t.Errorf("used %v", u)
	}
}

// TestManyJobs are solved by the linearizer.
func TestManyJobs(t *testing.T) {
	for _, think := range []float64{0, 300} {
		m := chain(120, think, nil, 1, 2, 1.5)
		want := exactMVA(m)[0]
		a := solve(t, m, Options{}).Types[0]
		near(t, "many jobs", a.Response, want, .01*want)
	}
	// More jobs than a machine has bits for are still only numbers.
	a := solve(t, line(cpus(1), MaxJobs, 0, 2, 0, exponential, d(0, 1), d(0, 1)), Options{}).Types[0]
	near(t, "a million jobs", a.Response, 2*MaxJobs, 1)
}

// TestExtrapolation compares very long pipelines with walks through all their chunks.
func TestExtrapolation(t *testing.T) {
	for _, think := range []float64{0, 50_000} {
		if testing.Short() {
			break
		}
		m := line(append(cpus(4), Center{"net", FCFS, 1}), 3, think, 60_000, 2, service{.3, 1, false},
			d(0, 6000, 4, 500), d(1, 7000, 4, 500), d(2, 5000), d(3, 6500))
		a := solve(t, m, Options{})
		if len(a.Warnings) != 1 {
			t.Fatalf("not extrapolated: %v", a.Warnings)
		}
		s := m.compile(nil)
		want := s.recursion(newWalker(s, &s.jobs[0], 7, 1)).response
		near(t, "response", a.Types[0].Response, want, .005*want)
		b := solve(t, m, Options{Method: MethodBounds}).Types[0]
		near(t, "path", b.Bounds.Path, s.jobs[0].path, 1e-9*b.Bounds.Path)
	}
	// The largest model there may be.
	m := line(cpus(2), 2, 0, MaxTasks/2, 0, exponential, d(0, 1), d(1, 1))
	if a := solve(t, m, Options{}).Types[0]; !(a.Response > 2 && a.Response < 3) {
		t.Errorf("%v", a.Response)
	}
}

// TestHundredThousandTasks: memory that is taken in all, not only at once, is far below 200 MB.
func TestHundredThousandTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("a large model, left out with -short")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := line(append(cpus(4), Center{"net", FCFS, 1}), 8, 0, 25_000, 2, service{.3, 1, false},
		d(0, 6000, 4, 500), d(1, 7000, 4, 500), d(2, 5000), d(3, 6500))
	a := solve(t, m, Options{})
	runtime.ReadMemStats(&after)
	if a.Types[0].Samples != 2 || a.Warnings != nil {
		t.Errorf("%+v", a.Types[0])
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 {
		t.Errorf("%d MB were taken", mb)
	}
	near(t, "saturated", a.Types[0].Response, 8*7000, .05*8*7000)
}

// TestWideJob: many tasks at once on one processor take their work.
func TestWideJob(t *testing.T) {
	ty := Type{Jobs: 2, Classes: []Class{{Name: "a", Demand: d(0, 1), SCV: .5, Visits: 1}}}
	for range 3000 {
		ty.Tasks = append(ty.Tasks, Task{})
	}
	m := &Model{Centers: cpus(1), Types: []Type{ty}}
	near(t, "wide", solve(t, m, Options{Samples: 2}).Types[0].Response, 6000, .03*6000)
}

// TestSameAnswers: everything comes out the same again.
func TestSameAnswers(t *testing.T) {
	for _, method := range Methods() {
		o := Options{Method: method, Samples: 50, SimJobs: 500}
		a, b := solve(t, hop(3, 5, exponential), o), solve(t, hop(3, 5, exponential), o)
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(TypeAnswer{})); diff != "" {
			t.Errorf("%s: %s", method, diff)
		}
		if method == MethodSim || method == MethodWalk {
			o.Seed = 8
			if c := solve(t, hop(3, 5, exponential), o); c.Types[0].Response == a.Types[0].Response {
				t.Errorf("%s: the seed changes nothing", method)
			}
		}
	}
}

// TestRefusals are what solvers do not take.
func TestRefusals(t *testing.T) {
	var field *FileError
	if _, err := Solve(context.Background(), &Model{}, Options{}); !errors.As(err, &field) {
		t.Errorf("%v", err)
	}
	if _, err := Solve(context.Background(), disks(4), Options{Method: "x"}); err == nil {
		t.Error("any method is taken")
	}
	m := line(cpus(2), 10, 0, 100_000, 0, exponential, d(0, 1), d(1, 1))
	if _, err := Solve(context.Background(), m, Options{Method: MethodSim}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	m = line(cpus(1), 1, 0, 2, 0, service{1, MaxVisits, false}, d(0, 1))
	if _, err := Solve(context.Background(), m, Options{Method: MethodSim, SimJobs: 1 << 20}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, method := range []Method{MethodSim, MethodWalk} {
		if _, err := Solve(ctx, disks(4), Options{Method: method}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func ExampleSolve() {
	m, err := Parse([]byte(`
schema = "coppice.capacity/1"
load = { jobs = 2 }
centers = [ { name = "a", kind = "ps" }, { name = "b", kind = "ps" } ]
[pipeline]
chunks = 2
stages = [ { name = "first", demand = { a = 1.0 } }, { name = "second", demand = { b = 1.0 } } ]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := Solve(context.Background(), m, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("response %.2f s, %.3f jobs per second\n", answer.Types[0].Response, answer.Types[0].Throughput)
	// Output: response 2.75 s, 0.727 jobs per second
}

// The cheapest number of servers at b for jobs that take no longer than two seconds.
func ExampleMakePlan() {
	m, err := Parse([]byte(`
schema = "coppice.capacity/1"
load = { jobs = 4 }
centers = [ { name = "a", kind = "is" }, { name = "b", kind = "ps" } ]
[classes.work]
demand = { a = 1.0, b = 0.5 }
[[tasks]]
id = 1
class = "work"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	servers, err := ParseKnob("b.servers=1..4")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := MakePlan(context.Background(), m, []Knob{servers}, Target{MaxResponse: 2}, PlanOptions{NoSim: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v servers: response %.2f s\n", plan.Answer.Values[0], plan.Answer.Response)
	// Output: 2 servers: response 1.58 s
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// FuzzSolve: no model that is small enough makes a solver panic or say what is not a number.
func FuzzSolve(f *testing.F) {
	f.Add([]byte(manual))
	f.Add([]byte(head + "tree = [\"S\", \"a\", [\"OR\", \"a\", \"b\"], [\"ALT\", [0.5, \"a\"], [0.5, \"b\"]]]\n[classes]\na.demand = {cpu = 1}\nb.demand = {disk = 1}\n"))
	f.Add([]byte(head + "[[types]]\nname = \"a\"\n[types.pipeline]\nstages = [{name = \"x\", demand = {cpu = 1}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		tasks := 0
		for i := range m.Types {
			n := (&validation{m: m}).job(&m.Types[i], "")
			tasks += n * m.Types[i].Jobs
		}
		if tasks > 60 || len(m.Types) > 2 {
			return
		}
		for _, method := range []Method{MethodBounds, MethodWalk, MethodTree} {
			a, err := Solve(context.Background(), m, Options{Method: method, Samples: 2, Seed: 1})
			if err != nil {
				continue
			}
			for i := range a.Types {
				if r := a.Types[i].Response; !(r > 0) && method != MethodBounds || !finite(r) || !finite(a.Types[i].Throughput) && method != MethodBounds {
					t.Fatalf("%s: %+v", method, a.Types[i])
				}
			}
			svg.File(a.Curves(), a.OccupancyBar())
		}
	})
}
