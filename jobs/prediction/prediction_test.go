package prediction_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/prediction"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// platformText is a platform file with other keys in front of the tables.
func platformText(keys, nodes string) string {
	return `schema = "coppice.platform/1"
name = "test"
` + keys + `
[nodes]
` + nodes + `
[links.node]
L_ns = 300
o_send_ns = 150
o_recv_ns = 170
g_ns = 100
G_ns_per_byte = 0.05
eager_bytes = 16384
[links.net]
L_ns = 1200
o_send_ns = 400
o_recv_ns = 450
g_ns = 250
G_ns_per_byte = 0.08
eager_bytes = 16384
`
}

// platformFile writes a platform file.
func platformFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runFile writes the analysed run of a generated program.
func runFile(t *testing.T, spec string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: jobtest.Generated(t, spec), Output: path, StoreBytes: 1 << 20, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return path
}

// predicted runs the job on in-process ranks and returns rank 0's result.
func predicted(ranks int, o prediction.Options) (*prediction.Result, error) {
	if o.Scale == (platform.Scale{}) {
		o.Scale = platform.One
	}
	o.Analyze.Version, o.Analyze.StoreBytes, o.Analyze.Force = "test", 1<<20, true
	results := make([]*prediction.Result, ranks)
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		var err error
		results[c.Rank()], err = prediction.Run(c, o)
		return err
	})
	return results[0], err
}

// mustPredict is predicted that has to succeed.
func mustPredict(t *testing.T, ranks int, o prediction.Options) *prediction.Result {
	t.Helper()
	r, err := predicted(ranks, o)
	if err != nil {
		t.Fatalf("%d ranks: %v", ranks, err)
	}
	return r
}

// predictPrograms have point-to-point and collective operations, threads, and all kinds of calls.
func predictPrograms() []string {
	events := "6k"
	if testing.Short() {
		events = "2k"
	}
	return []string{
		"stencil:procs=6,jitter=10,seed=1,events=" + events,
		"wavefront:procs=8,threads=2,jitter=30,imbalance=40,events=" + events,
		"irregular:procs=7,threads=2,jitter=20,io,metrics,parameters,seed=3,events=" + events,
		"masterworker:procs=5,jitter=50,events=" + events,
	}
}

// rankCounts are the numbers of ranks whose results are compared.
func rankCounts() []int {
	if testing.Short() {
		return []int{1, 3}
	}
	return []int{1, 2, 3, 8}
}

// TestPredictSameBytes is the promise that the number of ranks changes neither the report nor the predicted run.
func TestPredictSameBytes(t *testing.T) {
	for i, spec := range predictPrograms() {
		for _, keys := range []string{"", `contention = "nic"`} {
			if keys != "" && i%2 > 0 || testing.Short() && keys == "" && i%2 == 0 {
				continue
			}
			t.Run(spec+" "+keys, func(t *testing.T) {
				axes, err := platform.ParseSweep([]string{"latency=0.5,2,cpu=0.5"})
				if err != nil {
					t.Fatal(err)
				}
				o := prediction.Options{
					Run: runFile(t, spec), Platform: platformFile(t, platformText(keys, "ranks_per_node = 2")), Rule: predict.CopyRule, Sweep: axes,
					Output: filepath.Join(t.TempDir(), "predicted.xtf"),
				}
				o.Host, o.Classes = o.Platform, &predict.ClassFlags{Threshold: "20%"}
				var want []byte
				var first *prediction.Result
				for _, ranks := range rankCounts() {
					r := mustPredict(t, ranks, o)
					got, err := os.ReadFile(o.Output)
					if err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first, want = r, got
						continue
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%d ranks write another predicted run", ranks)
					}
					ignored := cmpopts.IgnoreFields(prediction.Result{}, "Elapsed", "Output")
					if d := cmp.Diff(first, r, ignored); d != "" {
						t.Errorf("%d ranks: %s", ranks, d)
					}
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Output), "*")); len(left) != 1 {
					t.Errorf("left behind: %v", left)
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Output), ".*")); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// TestPredictProgress: the work of a simulation is the computation vectors of all processes, on any number of ranks.
func TestPredictProgress(t *testing.T) {
	run := runFile(t, predictPrograms()[0])
	in, want := graphOf(t, run), uint64(0)
	for p := range in.Processes() {
		want += 8 * in.Calls(p)
	}
	for _, keys := range []string{"", `contention = "nic"`} {
		for _, ranks := range []int{1, 2, 7} {
			seen := 0
			mustPredict(t, ranks, prediction.Options{
				Run: run, Platform: platformFile(t, platformText(keys, "ranks_per_node = 2")), Rule: predict.CopyRule,
				Show: func(p jobs.Progress) {
					if p.Stage == "simulate" {
						seen++
						if p.Total != want || p.Done > want || p.End && p.Done != want {
							t.Errorf("%d ranks %s: %d bytes of %d, want %d", ranks, keys, p.Done, p.Total, want)
						}
					}
				},
			})
			if seen < 2 {
				t.Errorf("%d ranks %s: %d reports", ranks, keys, seen)
			}
		}
	}
}

// graphOf opens the call graphs of a run.
func graphOf(t *testing.T, path string) *predict.Input {
	t.Helper()
	f, err := callview.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	in, err := predict.Open(mpi.Serial(), f, predict.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// eventsOf lists the events of a location.
func eventsOf(t *testing.T, in *predict.Input, p trace.P) (list []jobtest.Event) {
	t.Helper()
	l, err := in.Location(p)
	if err != nil {
		t.Fatal(err)
	}
	x := l.Expand()
	var b trace.Batch
	for x.Next(&b) == nil {
		for i := range b.Events {
			e := &b.Events[i]
			list = append(list, jobtest.Event{Time: e.Time, Kind: e.Kind, Flags: e.Flags, Ref: e.Ref, Words: append([]uint64{}, b.Words(e)...)})
		}
	}
	return list
}

// TestPredictAgain predicts a predicted run with its own computation and platform: every event has its time again.
func TestPredictAgain(t *testing.T) {
	for i, spec := range predictPrograms() {
		for _, keys := range []string{"", `receive_policy = "copy"`, `contention = "nic"`} {
			if testing.Short() && (keys != "" || i%2 == 0) {
				continue
			}
			t.Run(spec+" "+keys, func(t *testing.T) {
				dir := t.TempDir()
				one, two := filepath.Join(dir, "1.xtf"), filepath.Join(dir, "2.xtf")
				machine := platformFile(t, platformText(keys, "ranks_per_node = 3"))
				first := mustPredict(t, 2, prediction.Options{Run: runFile(t, spec), Platform: machine, Output: one})
				second := mustPredict(t, 3, prediction.Options{Run: one, Platform: machine, Host: machine, Output: two})
				if want := *first.Makespan; *second.Makespan != want || second.Measured != want || *second.Errors.HostMakespan != want {
					t.Errorf("first %d ps, measured %d, again %d, on the host %d", want, second.Measured, *second.Makespan, *second.Errors.HostMakespan)
				}
				a, b := graphOf(t, one), graphOf(t, two)
				for p := range trace.P(a.Defs.NumLocations()) {
					if d := cmp.Diff(eventsOf(t, a, p), eventsOf(t, b, p)); d != "" {
						t.Fatalf("location %d: %s", p, d)
					}
				}
			})
		}
	}
}

// TestPredictKeepsEvents compares the predicted run with the recorded one: the same events, times in order, messages in order.
func TestPredictKeepsEvents(t *testing.T) {
	for i, spec := range predictPrograms() {
		if testing.Short() && i%2 > 0 { // those that are predicted again
			continue
		}
		t.Run(spec, func(t *testing.T) {
			run, out := runFile(t, spec), filepath.Join(t.TempDir(), "1.xtf")
			r := mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, platformText("", "ranks_per_node = 3")), Output: out})
			a, b := graphOf(t, run), graphOf(t, out)
			last := trace.Time(0)
			for p := range trace.P(a.Defs.NumLocations()) {
				want, got := eventsOf(t, a, p), eventsOf(t, b, p)
				if d := cmp.Diff(want, got, cmpopts.IgnoreFields(jobtest.Event{}, "Time")); d != "" {
					t.Fatalf("location %d: %s", p, d)
				}
				for i := range got {
					if i > 0 && got[i].Time < got[i-1].Time {
						t.Fatalf("location %d: event %d at %d ps, the one before at %d ps", p, i, got[i].Time, got[i-1].Time)
					}
					last = max(last, got[i].Time)
				}
			}
			if uint64(last) != *r.Makespan {
				t.Errorf("the last event is at %d ps, the makespan is %d ps", last, *r.Makespan)
			}
		})
	}
}

// vectorFile writes the gaps between the calls of processes, each times its rate, as rank,index,ns.
func vectorFile(t *testing.T, in *predict.Input, processes []uint32, rate func(p uint32) (num, den int64)) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("rank,index,ns\n")
	for _, p := range processes {
		gaps := make([]int64, in.Vectors.Entries(p))
		if err := in.Vectors.Fill(p, 0, gaps); err != nil {
			t.Fatal(err)
		}
		num, den := rate(p)
		for i, ps := range gaps {
			fmt.Fprintf(&b, "%d,%d,%d\n", p, i, ps/1000*num/den)
		}
	}
	path := filepath.Join(t.TempDir(), "v.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPredictRepresentatives takes the computation of representatives alone to the target, and compares with that of all
// processes: the same where members are equal, else within what the classes allow.
func TestPredictRepresentatives(t *testing.T) {
	for _, x := range []struct {
		spec  string
		ppm   uint32
		equal bool
	}{
		{"ring:procs=6,events=6k", 1, true},
		{"ring:procs=8,events=6k,jitter=4,seed=2", 100_000, false},
	} {
		for _, rule := range []predict.Rule{predict.CopyRule, predict.ScaleRule} {
			t.Run(fmt.Sprint(x.spec, " rule ", rule), func(t *testing.T) {
				machine := platformFile(t, platformText("", "ranks_per_node = 2"))
				host := filepath.Join(t.TempDir(), "host.xtf")
				mustPredict(t, 2, prediction.Options{Run: runFile(t, x.spec), Platform: machine, Output: host})
				in := graphOf(t, host)
				o := prediction.Options{Run: host, Platform: machine, Rule: rule}
				o.Classes = &predict.ClassFlags{Threshold: fmt.Sprintf("%d.%04d%%", x.ppm/10_000, x.ppm%10_000)}
				plan := mustPredict(t, 2, o)
				rate := func(p uint32) (int64, int64) { return int64(plan.Processes[p].Class%3) + 2, 5 }
				all := make([]uint32, in.Processes())
				for p := range all {
					all[p] = uint32(p)
				}
				o.Vectors = []string{vectorFile(t, in, all, rate)}
				truth := mustPredict(t, 2, o)
				var some []uint32
				for i := range plan.Classes {
					some = append(some, plan.Classes[i].Representative)
				}
				o.Vectors = []string{vectorFile(t, in, some, rate)}
				got := mustPredict(t, 3, o)
				if len(plan.Classes) == len(all) {
					t.Fatal("every process is a class")
				}
				if x.equal && *got.Makespan != *truth.Makespan {
					t.Errorf("representatives alone: %d ps, all: %d ps", *got.Makespan, *truth.Makespan)
				}
				// A path through the program meets each difference of an entry once at most; those of a process add up to at
				// most the threshold, here a share of what it computes.
				bound := uint64(0)
				for p := range truth.Processes {
					bound += truth.Processes[p].Predicted.Compute / 1_000_000 * uint64(x.ppm)
				}
				if a, b := *got.Makespan, *truth.Makespan; max(a, b)-min(a, b) > bound {
					t.Errorf("representatives alone: %d ps, all: %d ps, more than %d ps apart", a, b, bound)
				}
			})
		}
	}
}

// delayedSource is a source whose recorder told for how long processes had no processor.
type delayedSource struct {
	trace.Source
	defs *trace.Definitions
}

func (s *delayedSource) Definitions() *trace.Definitions { return s.defs }

// delayedRun is a run of a program whose processes may use one processor, and had none for some ns.
func delayedRun(t *testing.T, src trace.Source, ns ...uint64) string {
	t.Helper()
	d := *src.Definitions()
	name := uint32(0)
	for i := range d.Strings {
		name = max(name, d.Strings[i].Ref+1)
	}
	d.Strings = append(slices.Clone(d.Strings), trace.String{Ref: name, Value: trace.PropertyDelay},
		trace.String{Ref: name + 1, Value: trace.PropertyProcessors}, trace.String{Ref: name + 2, Value: "0"})
	for p, v := range ns {
		d.LocationProperties = append(d.LocationProperties, trace.LocationProperty{
			Location: d.Locations[p].Ref, Name: name, StringValue: trace.Undefined, Value: trace.Value{Type: trace.TypeUint64, Bits: v},
		}, trace.LocationProperty{
			Location: d.Locations[p].Ref, Name: name + 1, StringValue: trace.Undefined, Value: trace.Value{Type: trace.TypeString, Bits: uint64(name + 2)},
		})
	}
	d.Seal()
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: &delayedSource{src, &d}, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return run
}

// TestPredictMeasured tells the parts of the error that the measurements themselves tell.
func TestPredictMeasured(t *testing.T) {
	const spec = "ring:procs=3,events=600"
	run, machine := delayedRun(t, jobtest.Generated(t, spec), 1000, 4000, 2000), platformFile(t, platformText("", "ranks_per_node = 2"))
	vectors := []string{replayFile(t, run, 0, "least,,1,790,990\nmost,,1,890,1090\n"), replayFile(t, run, 2, "")}
	for _, o := range []prediction.Options{{HostVectors: vectors}, {Vectors: vectors, Scaled: true}} {
		o.Run, o.Platform = run, machine
		r := mustPredict(t, 2, o)
		e := &r.Errors
		if compute := r.Processes[1].Measured.Compute; e.WorstDelay == nil || *e.WorstDelay != 1 || e.Delayed != 4_000_000 || compute <= e.Delayed || e.Delay.Value != 4e6/float64(compute) {
			t.Errorf("delay %+v", e)
		}
		if l := r.LeftOut; len(l) != 1 || l[0].What != "shared processors" || l[0].Count != 3 || l[0].Lost {
			t.Errorf("three processes have one processor: %+v", l)
		}
		if e.WorstSpread == nil || *e.WorstSpread != 0 || e.Spread.Value != 0.1 || e.Most-e.Least != 100_000 || len(o.Vectors) > 0 && r.Computation.Donors[0].Off != 200_000 {
			t.Errorf("spread %+v of %+v", e, r.Computation.Donors)
		}
	}
	all := mustPredict(t, 2, prediction.Options{Run: delayedRun(t, jobtest.Generated(t, spec), 1, math.MaxUint64), Platform: machine})
	if e := &all.Errors; e.WorstDelay == nil || *e.WorstDelay != 1 || e.Delayed != all.Processes[1].Measured.Compute/1000*1000 {
		t.Errorf("all of the computation %+v", e)
	}
	if r := mustPredict(t, 1, prediction.Options{Run: runFile(t, spec), Platform: machine}); r.Errors.WorstDelay != nil || r.Errors.WorstSpread != nil || len(r.LeftOut) > 0 {
		t.Errorf("nobody told, and there is %+v, %+v", r.Errors, r.LeftOut)
	}
}

// TestPredictSharedProcessors: what calls keep of their time may be waits for a processor, so the runtime has a lower bound without it. Two
// processes compute 100 and 300 us to a fence that takes 50 more, ten times, between an MPI_Init of 1000 and an MPI_Finalize of 500.
func TestPredictSharedProcessors(t *testing.T) {
	s := &tracetest.Script{Regions: []tracetest.ScriptRegion{{Name: "main"}}, Steps: make([][]tracetest.Step, 2)}
	for p := range s.Steps {
		steps := []tracetest.Step{{Enter: "main"}, {Call: "Init", Ticks: 1000}}
		for range 10 {
			steps = append(steps, tracetest.Step{Ticks: 100 + 200*uint64(p)}, tracetest.Step{Call: "Win_fence", As: "Barrier", Ticks: 50})
		}
		s.Steps[p] = append(steps, tracetest.Step{Call: "Finalize", Ticks: 500}, tracetest.Step{Leave: "main"})
	}
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []string{"", "contention = \"nic\"\n"} {
		o := prediction.Options{Run: delayedRun(t, src, 0, 0), Platform: platformFile(t, keys+instantNetwork)}
		r := mustPredict(t, 2, o)
		if r.Makespan == nil || *r.Makespan != 5_000_000_000 || r.Least == nil || *r.Least != 4_500_000_000 {
			t.Errorf("%q: %v to %v ps, want 4500 to 5000 us", keys, r.Least, r.Makespan)
		}
		o.Run = analyzedScript(t, s)
		if r := mustPredict(t, 2, o); r.Makespan == nil || *r.Makespan != 5_000_000_000 || r.Least != nil {
			t.Errorf("%q: %v to %v ps with a processor each, want 5000 us", keys, r.Least, r.Makespan)
		}
	}
}

// replayFile writes the vector of a replay of process p as coppice replay does: 1 us in all, and more rows below.
func replayFile(t *testing.T, run string, p uint32, more string) string {
	t.Helper()
	in := graphOf(t, run)
	nodes, err := in.CallNodes(p)
	if err != nil {
		t.Fatal(err)
	}
	calls, names := in.Functions(predict.Counted(nodes, in.IsMPI))
	text := "sequence,function,count,cpu_ns,wall_ns\n"
	for i, f := range calls[1:] {
		text += fmt.Sprintf("%d,%s,1,5,5\n", i, names[f])
	}
	path := filepath.Join(t.TempDir(), fmt.Sprint(p)+".csv")
	if err := os.WriteFile(path, []byte(text+"sum,,1,800,1000\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPredictDeadlock sends without room for messages that are not awaited.
func TestPredictDeadlock(t *testing.T) {
	run := runFile(t, "ring:procs=4,events=2k")
	for _, keys := range []string{"", `contention = "nic"`} {
		text := strings.ReplaceAll(platformText(keys, "ranks_per_node = 2"), "eager_bytes = 16384", "eager_bytes = 1")
		out := filepath.Join(t.TempDir(), "out.xtf")
		for _, ranks := range []int{1, 3} {
			r := mustPredict(t, ranks, prediction.Options{Run: run, Platform: platformFile(t, text), Output: out})
			d := r.Deadlock
			if d == nil || len(d.Cycle) != 4 || d.Eager != 8192 || d.Cycle[0].Function != "MPI_Send" {
				t.Errorf("%d ranks: deadlock %+v", ranks, d)
			}
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a predicted run of a deadlock: %v", err)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	run := runFile(t, "stencil:procs=4,events=2k,imbalance=50")
	machine := platformFile(t, platformText("", "ranks_per_node = 2"))
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	longSweep, err := platform.ParseSweep([]string{"bandwidth=1,0.000000001"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		o    prediction.Options
		code int
		want string
	}{
		{"no run", prediction.Options{Run: "none.xtf", Platform: machine}, jobs.ExitInput, "none.xtf"},
		{"no platform", prediction.Options{Platform: "none.toml"}, jobs.ExitInput, "none.toml"},
		{"platform key", prediction.Options{Platform: platformFile(t, platformText("colour = 1", ""))}, jobs.ExitInput, ":3: colour"},
		{"too few nodes", prediction.Options{Platform: platformFile(t, platformText("", "count = 1\nranks_per_node = 2"))}, jobs.ExitInput, "do not fit"},
		{"no vectors", prediction.Options{Vectors: []string{"none.csv"}}, jobs.ExitInput, "none.csv"},
		{"vector line", prediction.Options{Vectors: []string{file("v.csv", "rank,index,ns\n0,1,2\n0,x,2\n")}}, jobs.ExitInput, "v.csv:3"},
		{"vector entry", prediction.Options{Vectors: []string{file("v.csv", "rank,index,ns\n0,1000000,2\n")}}, jobs.ExitInput, "entry 1000000"},
		{"vector process", prediction.Options{Vectors: []string{file("v.csv", "rank,index,ns\n7,1,2\n")}}, jobs.ExitInput, "process 7 of a run of 4"},
		{"vector twice", prediction.Options{Vectors: []string{file("v.csv", "rank,index,ns\n0,1,2\n"), file("w.csv", "rank,index,ns\n0,1,2\n")}}, jobs.ExitInput, "two vectors"},
		{"class without vector", prediction.Options{Vectors: []string{file("v.csv", "rank,index,ns\n0,1,2\n")}}, jobs.ExitInput, "have no measured process"},
		{"other program", prediction.Options{Vectors: []string{file("0.csv", "sequence,function,count,cpu_ns,wall_ns\n0,MPI_Scan,1,2,2\n")}}, jobs.ExitInput, "another program"},
		{"too long", prediction.Options{Scale: platform.Scale{Num: 1 << 62, Den: 1}, Scaled: true}, jobs.ExitInput, "106 days"},
		{"sweep that does not fit", prediction.Options{Sweep: longSweep}, jobs.ExitUsage, "bandwidth=0.000000001"},
		{"output", prediction.Options{Output: filepath.Join(t.TempDir(), "no", "x.xtf")}, jobs.ExitUsage, "no such file"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.o.Run == "" {
				x.o.Run = run
			}
			if x.o.Platform == "" {
				x.o.Platform = machine
			}
			_, err := predicted(3, x.o)
			if jobs.ExitCode(err) != x.code || err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("exit code %d, want %d and %q: %v", jobs.ExitCode(err), x.code, x.want, err)
			}
		})
	}
}

// TestPredictDamaged flips bytes of a run: predictions that fail have the exit code of input, on any number of ranks.
func TestPredictDamaged(t *testing.T) {
	good, err := os.ReadFile(runFile(t, "stencil:procs=4,events=1k"))
	if err != nil {
		t.Fatal(err)
	}
	o := prediction.Options{Run: filepath.Join(t.TempDir(), "run.xtf"), Platform: platformFile(t, platformText("", "ranks_per_node = 2"))}
	failed := 0
	for i := range 48 {
		b := bytes.Clone(good)
		b[i*len(b)/48] ^= 0x21
		if err := os.WriteFile(o.Run, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, ranks := range []int{1, 3} {
			_, err := predicted(ranks, o)
			if err != nil {
				failed++
			}
			if code := jobs.ExitCode(err); err != nil && code != jobs.ExitInput {
				t.Errorf("byte %d, %d ranks: exit code %d: %v", i*len(b)/48, ranks, code, err)
			}
		}
	}
	if failed == 0 {
		t.Error("no flip was found")
	}
}

// TestPredictUnmatched leaves out what has no partner, and says so.
func TestPredictUnmatched(t *testing.T) {
	run := runFile(t, "stencil:procs=4,events=4k,broken=unmatched-send+open-request")
	r := mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, platformText("", "ranks_per_node = 2"))})
	if r.Unmatched == 0 || r.Deadlock != nil || r.Makespan == nil || *r.Makespan == 0 {
		t.Errorf("%d unmatched, deadlock %v", r.Unmatched, r.Deadlock)
	}
}

// TestPredictScale halves the computation, and nothing else: with what calls keep the parts are all of the time.
func TestPredictScale(t *testing.T) {
	run := runFile(t, "stencil:procs=4,events=4k")
	machine := platformFile(t, platformText("", "ranks_per_node = 4"))
	half, _ := platform.ParseScale("0.5")
	whole := mustPredict(t, 2, prediction.Options{Run: run, Platform: machine})
	r := mustPredict(t, 2, prediction.Options{Run: run, Platform: machine, Scale: half, Scaled: true})
	for p := range r.Processes {
		a, b := &whole.Processes[p].Predicted, &r.Processes[p].Predicted
		if d := a.Compute/2 - b.Compute; d > r.Processes[p].Calls+1 { // a negative one is large
			t.Errorf("process %d computes %d ps, and at half %d ps", p, a.Compute, b.Compute)
		}
		if sum := b.Compute + b.Send + b.Receive + b.Wait + b.Collective + b.File + b.Kept + r.Processes[p].Measured.Start; sum != b.Finish {
			t.Errorf("process %d: parts add up to %d ps of %d ps", p, sum, b.Finish)
		}
	}
}

// TestPredictIntervals gives the predicted run the intervals of the recorded one, or others.
func TestPredictIntervals(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run.xtf")
	o := analyze.Options{Source: jobtest.Generated(t, "stencil:procs=4,events=2k"), Output: run, Version: "test"}
	o.Intervals.Intervals = []string{"region:*"}
	if _, err := jobtest.Analyze(2, o); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		between, want string
	}{{"", `interval=region:\"*\"`}, {"coll:Allreduce", "between=coll:ALLREDUCE"}} {
		p := prediction.Options{Run: run, Platform: platformFile(t, platformText("", "ranks_per_node = 2")), Output: filepath.Join(t.TempDir(), "p.xtf")}
		p.Analyze.Intervals.Between = x.between
		mustPredict(t, 2, p)
		f, err := callview.OpenFile(p.Output, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.Provenance()
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), x.want) {
			t.Errorf("intervals between %q: %s", x.between, b)
		}
	}
}

// TestPredictLateEpoch predicts a run whose clock counts from long before: its times are more than 2^63 ticks.
func TestPredictLateEpoch(t *testing.T) {
	predictedFrom := func(epoch uint64) *prediction.Result {
		var b strings.Builder
		b.WriteString("-- program --\nprocesses 2\n-- events --\n")
		for _, e := range []struct {
			p, t uint64
			what string
		}{
			{0, 0, "ENTER main"},
			{0, 500, "ENTER MPI_Send"},
			{0, 500, "MPI_SEND 1 MPI_COMM_WORLD 7 64"},
			{0, 510, "LEAVE MPI_Send"},
			{0, 900, "LEAVE main"},
			{1, 0, "ENTER main"},
			{1, 100, "ENTER MPI_Recv"},
			{1, 510, "MPI_RECV 0 MPI_COMM_WORLD 7 64"},
			{1, 510, "LEAVE MPI_Recv"},
			{1, 1000, "LEAVE main"},
		} {
			fmt.Fprintf(&b, "%d %d %s\n", e.p, epoch+e.t, e.what)
		}
		src, err := tracetest.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		d := *src.Definitions()
		d.Clocks = []trace.ClockProperties{{TimerResolution: 1e9, GlobalOffset: epoch, TraceLength: 1000, RealtimeTimestamp: trace.Undefined64}}
		run := filepath.Join(t.TempDir(), "run.xtf")
		if _, err := jobtest.Analyze(2, analyze.Options{Source: &delayedSource{src, &d}, Output: run, Version: "test"}); err != nil {
			t.Fatal(err)
		}
		return mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, platformText("", "ranks_per_node = 2"))})
	}
	for _, epoch := range []uint64{1<<63 - 200, 1 << 63, 1<<64 - 2000} {
		if want, got := predictedFrom(0), predictedFrom(epoch); got.Measured != want.Measured || got.Makespan == nil || *got.Makespan != *want.Makespan {
			t.Errorf("epoch %d: measured %d and predicted %d ps, want %d and %d", epoch, got.Measured, *got.Makespan, want.Measured, *want.Makespan)
		}
	}
}
