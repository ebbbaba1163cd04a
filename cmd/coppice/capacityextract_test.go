package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// lineTable is the trace of three processes that work one after the other on chunks: 10, 20 and 5 us each, calls of 1 us.
func lineTable(chunks int) string {
	var a, b, c strings.Builder
	first, second, third := 0, 0, 0
	for range chunks {
		first += 10
		sent := first
		fmt.Fprintf(&a, "0 %d %d Send 1 1\n", first, first+1)
		first++
		end := max(second, sent) + 1
		fmt.Fprintf(&b, "1 %d %d Recv 0 1\n", second, end)
		second = end + 20
		fmt.Fprintf(&b, "1 %d %d Send 2 1\n", second, second+1)
		sent = second
		second++
		end = max(third, sent) + 1
		fmt.Fprintf(&c, "2 %d %d Recv 1 1\n", third, end)
		third = end + 5
	}
	return fmt.Sprintf("run 0 0 %d\n%srun 1 0 %d\n%srun 2 0 %d\n%s", first+1, a.String(), second+1, b.String(), third, c.String())
}

// TestCapacityExtract makes a model of a trace and asks it.
func TestCapacityExtract(t *testing.T) {
	t.Parallel()
	run := goldenRun(t, lineTable(50), interval.Flags{})
	model := filepath.Join(t.TempDir(), "model.toml")
	code, _, errs := call("capacity", "extract", run, "-o", model)
	if code != jobs.ExitDone {
		t.Fatalf("status %d: %s", code, errs)
	}
	for _, want := range []string{"stage0  ranks 0  50 chunks of 1.1e-05 s", "stage1  ranks 1  50 chunks of 2.2e-05 s", "self-check: with 50 chunks the run took 0.001 s"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	b, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"chunks = 50", "= 0.001 }", "input = \"sha256:", "self_check_error = "} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	if out := must(t, "capacity", "solve", model); !strings.Contains(out, "self-check against trace") {
		t.Error(out)
	}
	// A run with half the chunks of the same cost: nothing of it is shared work.
	half := goldenRun(t, lineTable(25), interval.Flags{})
	code, _, errs = call("capacity", "extract", run, half, "-f", "-o", model)
	if b, err = os.ReadFile(model); err != nil || code != jobs.ExitDone || !strings.Contains(errs, "with 25 chunks") {
		t.Fatalf("status %d, %v: %s", code, err, errs)
	}
	if !strings.Contains(string(b), "overhead_per_chunk = { \"node1.cpu\" = 2.197e-05 }") {
		t.Errorf("%s", b)
	}
	other := goldenRun(t, tracetest.GoldenG2, interval.Flags{})
	if code, _, errs := call("capacity", "extract", other, "--form", "pipeline"); code != jobs.ExitInput || !strings.Contains(errs, "not a pipeline") {
		t.Errorf("status %d: %s", code, errs)
	}
	marked := goldenRun(t, tracetest.GoldenG3, interval.Flags{})
	for _, args := range [][]string{{marked, "--form", "graph"}, {marked, "--repeat", "auto", "--form", "graph"}, {marked, "--job", "2"}, {other, "--map", "0=a:1", "--map", "1-2=b"}} {
		code, out, errs := call(append([]string{"capacity", "extract"}, args...)...)
		if code != jobs.ExitDone && code != jobs.ExitFound || !strings.Contains(errs, "self-check: a job took") || !strings.Contains(out, "[[tasks]]") {
			t.Errorf("%v: status %d: %s", args, code, errs)
		}
		if strings.Contains(strings.Join(args, " "), "a:1") != strings.Contains(out, `{ name = "a.cpu", kind = "ps", servers = 1 }`) {
			t.Errorf("%v: %s", args, out[:min(len(out), 400)])
		}
	}
}

// TestCapacityExtractErrors: what extract does not take.
func TestCapacityExtractErrors(t *testing.T) {
	t.Parallel()
	run := goldenRun(t, lineTable(10), interval.Flags{})
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--repeat", "auto"}, "executed equally often"},
		{[]string{"--job", "nobody"}, "no interval and no function"},
		{[]string{"--job", "MPI_Send", "--repeat", "auto"}, "give one of them"},
		{[]string{"--repeat", "always"}, "choose auto or none"},
		{[]string{"--form", "tree"}, "choose auto, pipeline or graph"},
		{[]string{"--map", "0-1"}, "give RANKS=NODE"},
		{[]string{"--map", "7=a"}, "--map 7=a"},
		{[]string{"--map", "0=a:none"}, "not a number of cores"},
		{[]string{"--platform", run + ".toml"}, "no such file"},
	} {
		code, _, errs := call(append([]string{"capacity", "extract", run}, x.args...)...)
		if code != jobs.ExitUsage && code != jobs.ExitInput || !strings.Contains(errs, x.want) {
			t.Errorf("%v: status %d, not %q: %s", x.args, code, x.want, errs)
		}
	}
}
