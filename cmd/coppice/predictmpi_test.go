//go:build cgo && !nompi && !mpich

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPredictRanksOfMPI compares report and predicted run of MPI ranks with those of one rank.
func TestPredictRanksOfMPI(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: in-process ranks are compared by package jobs")
	}
	bin := built(t)
	run, p := predictable(t, "irregular:procs=6,threads=2,events=8k,seed=2", platformOf4)
	dir := t.TempDir()
	args := func(out string) []string {
		return []string{"predict", run, "--platform", p, "--substitute", "copy", "--host-platform", p, "--classes", "50%", "--sweep", "latency=1,2", "-q", "--format", "json", "-o", filepath.Join(dir, out)}
	}
	want := must(t, append(args("one.xtf"), "-j", "1")...)
	file, err := os.ReadFile(filepath.Join(dir, "one.xtf"))
	if err != nil {
		t.Fatal(err)
	}
	code, text := mpirun(t, 3, bin, args("three.xtf")...)
	if code != 0 || text != want {
		t.Errorf("3 MPI ranks: exit code %d\n%s\nwant\n%s", code, text, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "three.xtf")); err != nil || !bytes.Equal(b, file) {
		t.Errorf("3 MPI ranks write another predicted run: %v", err)
	}
	if code, text := mpirun(t, 2, bin, "predict", run, "--platform", filepath.Join(dir, "none.toml"), "-q"); code != 3 {
		t.Errorf("no platform: exit code %d\n%s", code, text)
	}
}
