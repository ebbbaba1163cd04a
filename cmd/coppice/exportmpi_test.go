//go:build cgo && !nompi && !mpich

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestExportOfMPI compares archives written by MPI ranks with the one of
// in-process ranks, and kills a rank: no anchor is under the final name,
// and the next job takes the place over.
func TestExportOfMPI(t *testing.T) {
	bin := built(t)
	dir := analysed(t, "irregular:procs=6,threads=2,events=20k,seed=2")
	run, want := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "want")
	must(t, "export", run, "--to", "otf2", "-o", want, "-q", "-j", "2")
	for _, n := range []int{1, 3} {
		out := filepath.Join(dir, fmt.Sprint("mpi", n))
		if code, text := mpirun(t, n, bin, "export", run, "--to", "otf2", "-o", out, "-q"); code != jobs.ExitDone {
			t.Fatalf("%d ranks: exit code %d\n%s", n, code, text)
		}
		files, err := filepath.Glob(filepath.Join(want, "*", "*"))
		if err != nil || len(files) != 24 {
			t.Fatal(files, err)
		}
		for _, f := range append(files, filepath.Join(want, "traces.def"), filepath.Join(want, "traces.otf2")) {
			rel, _ := filepath.Rel(want, f)
			a, err := os.ReadFile(f)
			b, err2 := os.ReadFile(filepath.Join(out, rel))
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%d ranks: %s differs: %v, %v", n, rel, err, err2)
			}
		}
	}
	code, text := mpirun(t, 3, bin, "export", run, "--to", "otf2", "-o", want, "-q")
	if code != jobs.ExitUsage || strings.Count(text, "coppice: ") > 3 || !strings.Contains(text, "exists") {
		t.Errorf("output exists: exit code %d\n%s", code, text)
	}
	t.Run("killed", func(t *testing.T) { killExport(t, bin, run, filepath.Join(dir, "killed")) })
}

// killExport kills rank 1 as soon as the folder of the job is there. That the job then ends is what mpirun waits for.
func killExport(t *testing.T, bin, run, out string) {
	script := `if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
	"$@" & child=$!
	while kill -0 $child && [ ! -d "$OUT/traces.otf2.work" ]; do :; done
	kill -9 $child; wait $child
else exec "$@"; fi`
	t.Setenv("OUT", out)
	code, text := mpirun(t, 3, "sh", "-c", script, "sh", bin, "export", run, "--to", "otf2", "-o", out, "-q")
	_, err := os.Stat(filepath.Join(out, "traces.otf2"))
	if (code == 0) != (err == nil) {
		t.Errorf("exit code %d, anchor: %v\n%s", code, err, text)
	}
	if code, _, errs := call("export", run, "--to", "otf2", "-o", out, "-f", "-q"); code != jobs.ExitDone {
		t.Errorf("the next job: exit code %d\n%s", code, errs)
	}
	if left, err := filepath.Glob(filepath.Join(out, "*.otf2.*")); err != nil || len(left) > 0 {
		t.Error("left behind:", left, err)
	}
}
