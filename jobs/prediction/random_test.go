package prediction_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/prediction"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/trace"
)

// instantNetwork is a machine on which messages take no time.
const instantNetwork = "schema = \"coppice.platform/1\"\n[nodes]\nranks_per_node = 1\n[links.net]\nL_ns = 0\neager_bytes = 1048576\n"

// predictable is a random program whose calls take no time but to wait, in operations that all members wait for if any does: so
// it takes as long as on a network without delays.
func predictable(seed uint64) *tracetest.Script {
	s := tracetest.RandomScript(seed)
	s.Latency = 0
	for _, steps := range s.Steps {
		for i := range steps {
			x := &steps[i]
			if x.Call == "" {
				continue
			}
			x.Ticks, x.Blocks = 0, x.Blocks && strings.HasPrefix(x.Call, "Win_")
			switch {
			case strings.HasPrefix(x.Call, "File_"):
				x.Call = "Barrier"
			case strings.HasPrefix(x.Call, "Test"):
				x.Call = "Waitall"
			}
			for _, name := range []*string{&x.Call, &x.As} {
				switch *name {
				case "Bcast", "Scatter", "Scatterv", "Reduce", "Gather", "Gatherv", "Scan", "Exscan":
					*name = "Allreduce"
				case "Ibcast", "Iscatter", "Iscatterv", "Ireduce", "Igather", "Igatherv", "Iscan", "Iexscan":
					*name = "Iallreduce"
				}
			}
		}
	}
	return s
}

// TestPredictRandomPrograms predicts random programs on the machine where they ran.
func TestPredictRandomPrograms(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	machines := []string{platformFile(t, instantNetwork), platformFile(t, strings.Replace(instantNetwork, "[nodes]", "contention = \"nic\"\n[nodes]", 1))}
	for seed := range seeds {
		src, err := predictable(seed).Source()
		if err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(t.TempDir(), "run.xtf")
		if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
			t.Fatal(err)
		}
		r := mustPredict(t, 1+int(seed%3), prediction.Options{Run: run, Platform: machines[seed/3%2]})
		if r.Makespan == nil || *r.Makespan != r.Measured {
			t.Errorf("seed %d: %d ps, measured %d, deadlock %+v, left %+v", seed, *r.Makespan, r.Measured, r.Deadlock, r.LeftOut)
		}
	}
}

// analyzedScript analyses a script, and returns the file.
func analyzedScript(t *testing.T, s *tracetest.Script) string {
	t.Helper()
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return run
}

// pingPong has two processes that send a message to and fro so many times, and compute 1000 before each; the second one is first if swapped.
func pingPong(times int, swapped bool) *tracetest.Script {
	s := &tracetest.Script{Regions: []tracetest.ScriptRegion{{Name: "main"}}, Steps: make([][]tracetest.Step, 2)}
	a, b := 0, 1
	if swapped {
		a, b = 1, 0
	}
	s.Steps[a], s.Steps[b] = []tracetest.Step{{Enter: "main"}}, []tracetest.Step{{Enter: "main"}}
	for range times {
		s.Steps[a] = append(s.Steps[a], tracetest.Step{Ticks: 1000}, tracetest.Step{Call: "Send", Peer: b}, tracetest.Step{Call: "Recv", Peer: b})
		s.Steps[b] = append(s.Steps[b], tracetest.Step{Call: "Recv", Peer: a}, tracetest.Step{Ticks: 1000}, tracetest.Step{Call: "Send", Peer: a})
	}
	for p := range s.Steps {
		s.Steps[p] = append(s.Steps[p], tracetest.Step{Leave: "main"})
	}
	return s
}

// TestPredictLaws predicts random programs with their computation scaled on a network of no cost: they take as long as the programs in
// which all is scaled, by the machine of scripts, and no less with a slower network. Of messages that go to and fro every latency counts, whichever process is first.
func TestPredictLaws(t *testing.T) {
	scales := map[string][2]uint64{"0.5": {1, 2}, "2": {2, 1}, "0.25": {1, 4}}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	instant := platformFile(t, instantNetwork)
	compared := 0
	for seed := range seeds {
		s, starts, shared := predictable(seed), map[bool]bool{}, false
		s.Start = nil
		for p := range s.Steps {
			s.Steps[p] = slices.DeleteFunc(s.Steps[p], func(x tracetest.Step) bool { return strings.HasPrefix(x.Call, "Init") }) // their waits are kept
			for i := range s.Steps[p] {
				s.Steps[p][i].Ticks *= 4
				switch x := &s.Steps[p][i]; {
				case x.Call == "Win_start":
					starts[x.Blocks] = true
				case x.Call == "Win_lock" && !x.Blocks:
					shared = true // whose waits are kept, where several wait for one release
				}
			}
		}
		if shared || len(starts) == 2 { // a library has starts of one kind
			continue
		}
		compared++
		run := analyzedScript(t, s)
		for text, part := range scales {
			scale, _ := platform.ParseScale(text)
			c := *s
			c.Steps = make([][]tracetest.Step, len(s.Steps))
			for p, steps := range s.Steps {
				c.Steps[p] = slices.Clone(steps)
				for i := range c.Steps[p] {
					c.Steps[p][i].Ticks = steps[i].Ticks * part[0] / part[1]
				}
			}
			want := mustPredict(t, 1, prediction.Options{Run: analyzedScript(t, &c), Platform: instant}).Measured
			got := mustPredict(t, 2, prediction.Options{Run: run, Platform: instant, Scale: scale, Scaled: true})
			if got.Makespan == nil || *got.Makespan != want {
				t.Errorf("seed %d, scale %s: %d ps, want %d; left out %+v", seed, text, *got.Makespan, want, got.LeftOut)
			}
		}
		slower := uint64(0)
		for _, latency := range []string{"L_ns = 0", "L_ns = 7000", "L_ns = 90000", "L_ns = 90000\nG_ns_per_byte = 1000"} {
			r := mustPredict(t, 1, prediction.Options{Run: run, Platform: platformFile(t, strings.Replace(instantNetwork, "L_ns = 0", latency, 1))})
			if r.Makespan == nil || *r.Makespan < slower {
				t.Errorf("seed %d: %d ps with %s, less than %d", seed, *r.Makespan, latency, slower)
			}
			slower = *r.Makespan
		}
	}
	if compared < int(seeds)/6 {
		t.Errorf("%d programs compared", compared)
	}
	for _, swapped := range []bool{false, true} {
		run := analyzedScript(t, pingPong(50, swapped))
		for _, ns := range []uint64{0, 1, 2500, 5000} {
			r := mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, strings.Replace(instantNetwork, "L_ns = 0", fmt.Sprintf("L_ns = %d", ns), 1))})
			if want := r.Measured + 100*ns*1000; *r.Makespan != want {
				t.Errorf("latency %d ns, swapped %v: %d ps, want %d", ns, swapped, *r.Makespan, want)
			}
		}
	}
}

// TestPredictFinalize has a process that waits in MPI_Finalize from 400 to 1005 for another one, which comes at 1000 and leaves at 1010. At
// half of the computation it comes at 200, and both are there at 500; what MPI_Finalize takes from then on stays, on each of them. Where one leaves before
// the last one comes it is as long as it was.
func TestPredictFinalize(t *testing.T) {
	half, _ := platform.ParseScale("0.5")
	for leaves, want := range map[int]uint64{1005: 510, 1030: 530, 900: 700} {
		src, err := tracetest.Parse(fmt.Sprintf("-- program --\nprocesses 2\nresolution 1000000\n-- events --\n"+
			"0 0 ENTER main\n0 1000 ENTER MPI_Finalize\n0 1010 LEAVE MPI_Finalize\n0 1010 LEAVE main\n"+
			"1 0 ENTER main\n1 400 ENTER MPI_Finalize\n1 %[1]d LEAVE MPI_Finalize\n1 %[1]d LEAVE main\n", leaves))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		run, output := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "predicted.xtf")
		if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
			t.Fatal(err)
		}
		for ranks := 1; ranks <= 2; ranks++ {
			r := mustPredict(t, ranks, prediction.Options{Run: run, Platform: platformFile(t, instantNetwork), Scale: half, Scaled: true, Output: output})
			if *r.Makespan != want*1_000_000 {
				t.Errorf("left at %d, %d ranks: %d ps, want %d us", leaves, ranks, *r.Makespan, want)
			}
			g := graphOf(t, output)
			var begin trace.Time
			for _, e := range eventsOf(t, g, 1) {
				if e.Kind == trace.Enter {
					begin = e.Time
				}
			}
			if begin != 200_000_000 {
				t.Errorf("left at %d, %d ranks: MPI_Finalize begins at %d ps, want 200 us", leaves, ranks, begin)
			}
		}
	}
}

// TestPredictGroups has an inter-communicator of process 0, and processes 1 and 2. All come to a barrier, the last one at 300, and take 4 from then
// on; 0 sends at 400 to the others, which wait for it from 350 on and take 6; it gets from both of them, of which the last one comes at 700, and takes 10. At
// half of the computation they leave the barrier at 154, 0 sends at 202, the others leave at 208, the last one is there at 355, and 0 ends at 365 + 45.
func TestPredictGroups(t *testing.T) {
	checkGroups(t, [][]int{{100, 304, 400, 402, 500, 710}, {300, 304, 350, 406, 500, 501}, {200, 304, 350, 406, 700, 701}}, 410)
}

// TestPredictRelays has the same two groups, in which data of processes 1 and 2 passes through 1, as it comes last to the broadcast, at 600, and takes 6
// for both, and as it waits for 2 in the reduction, from 610 to 700, and takes 10. At half of the computation they leave the barrier at 154, 1 comes to the
// broadcast at 302, both leave it at 308, 2 comes to the reduction at 355, and 1 ends at 365 + 45.
func TestPredictRelays(t *testing.T) {
	checkGroups(t, [][]int{{100, 304, 400, 402, 500, 702}, {300, 304, 600, 606, 610, 710}, {200, 304, 350, 606, 700, 701}}, 410)
}

// checkGroups predicts a run of a barrier, a broadcast and a reduction between process 0, the root, and processes 1 and 2. at has when each process comes
// and leaves, of the 800 us that it takes; half is the runtime with half of the computation.
func checkGroups(t *testing.T, at [][]int, half uint64) {
	t.Helper()
	scale, _ := platform.ParseScale("0.5")
	events := "-- events --\n"
	for p, at := range at {
		roots, bytes := [2]string{"0", "0"}, [2]string{"0 8", "8 0"}
		if p == 0 {
			roots, bytes = [2]string{"4294967294", "4294967294"}, [2]string{"16 0", "0 16"}
		}
		events += fmt.Sprintf("%d 0 ENTER main\n", p)
		for i, x := range []struct{ name, op, root, bytes string }{
			{"MPI_Barrier", "BARRIER", "none", "0 0"}, {"MPI_Bcast", "BCAST", roots[0], bytes[0]}, {"MPI_Reduce", "REDUCE", roots[1], bytes[1]},
		} {
			events += fmt.Sprintf("%[1]d %[2]d ENTER %[4]s\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[3]d MPI_COLLECTIVE_END %[5]s both %[6]s %[7]s\n%[1]d %[3]d LEAVE %[4]s\n",
				p, at[2*i], at[2*i+1], x.name, x.op, x.root, x.bytes)
		}
		events += fmt.Sprintf("%d 800 LEAVE main\n", p)
	}
	src, err := tracetest.Parse("-- program --\nprocesses 3\nresolution 1000000\ncomm left 0\ncomm right 1 2\ncomm both 0 1 2\n" + events)
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	n := len(d.Comms)
	both := d.Comms[n-1]
	d.InterComms = append(d.InterComms, trace.InterComm{Ref: both.Ref, Name: both.Name, GroupA: d.Comms[n-3].Group, GroupB: d.Comms[n-2].Group, CommonComm: d.Comms[0].Ref})
	d.Comms = d.Comms[:n-1]
	d.Seal()
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	for ranks := 1; ranks <= 3; ranks++ {
		for want, o := range map[uint64]prediction.Options{800: {}, half: {Scale: scale, Scaled: true}} {
			o.Run, o.Platform = run, platformFile(t, instantNetwork)
			if r := mustPredict(t, ranks, o); *r.Makespan != want*1_000_000 || len(r.LeftOut) != 1 || r.LeftOut[0].What != "synchronised" || r.LeftOut[0].Count != 9 {
				t.Errorf("%d ranks: %d ps, want %d us; %+v", ranks, *r.Makespan, want, r.LeftOut)
			}
		}
	}
}
