//go:build cgo && !nompi && !mpich

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/levers"
)

// TestChangesMade holds what levers says of a change against the program with that change, which says itself how long it took. In the
// last one all wait in MPI_Finalize for the process that writes. Other work on the machine disturbs that: the best of three counts.
func TestChangesMade(t *testing.T) {
	if testing.Short() {
		t.Skip("programs that sleep for seconds")
	}
	if _, err := exec.LookPath("mpicc"); err != nil {
		t.Skip("no mpicc: scripts/setup installs it")
	}
	bin, dir := built(t), t.TempDir()
	program := filepath.Join(dir, "changes")
	if out, err := exec.Command("mpicc", "-O1", "-std=gnu11", "-finstrument-functions", "-rdynamic", "-o", program, "../../record/examples/changes.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seconds := func(args ...string) float64 {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		s, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	launch := []string{"mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", program}
	for name, function := range map[string]string{"function": "solve", "pipeline": "slowest", "output": "print_state"} {
		off, text := math.Inf(1), ""
		for try := 0; try < 3 && off > 0.15; try++ {
			folder, run := filepath.Join(dir, name+strconv.Itoa(try)), filepath.Join(dir, name+strconv.Itoa(try)+".xtf")
			recorded := seconds(append(append([]string{bin, "record", "-o", folder, "--"}, launch...), name)...)
			must(t, "analyze", filepath.Join(folder, "traces.otf2"), "-o", run)
			changed := seconds(append(launch[:len(launch):len(launch)], name, "1")...)
			saved := math.NaN()
			r := jsonOf[struct{ Levers levers.Report }](t, "levers", run).Levers
			for _, x := range r.Targets {
				if x.Kind == "function" && x.Name == function {
					saved = float64(*x.Half) / float64(r.Resolution)
				}
			}
			if off = math.Abs(recorded-saved-changed) / changed; math.IsNaN(off) {
				t.Fatalf("%s is not tried", function)
			}
			text = fmt.Sprintf("recorded %.3f s, saved %.3f, changed %.3f", recorded, saved, changed)
		}
		t.Log(name, text)
		if off > 0.15 {
			t.Errorf("%s: %.1f %% off: %s", name, 100*off, text)
		}
	}
}
