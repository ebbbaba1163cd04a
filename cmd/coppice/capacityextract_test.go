package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/jobs"
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
	if code, _, errs := call("capacity", "extract", other); code != jobs.ExitInput || !strings.Contains(errs, "not a pipeline") {
		t.Errorf("status %d: %s", code, errs)
	}
}
