//go:build cgo && !nompi && !mpich

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestMeasureOfMPI measures badly and quickly: what is written is a platform, whatever the times were.
func TestMeasureOfMPI(t *testing.T) {
	bin := built(t)
	path := filepath.Join(t.TempDir(), "p.toml")
	code, text := mpirun(t, 2, bin, "platform", "measure", "-o", path, "--repetitions", "3", "--patience", "20ms", "--name", "here")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if out := must(t, "platform", "show", path, "--processes", "5"); !strings.Contains(out, "name = \"here\"") || !strings.Contains(out, "[links.node]") {
		t.Errorf("%s", out)
	}
	for _, k := range []struct {
		n    int
		args []string
		code int
		says string
	}{
		{1, []string{"-f"}, jobs.ExitUsage, "start two or more"},
		{2, nil, jobs.ExitUsage, "exist"},
	} {
		if code, text := mpirun(t, k.n, bin, append([]string{"platform", "measure", "-o", path}, k.args...)...); code != k.code || strings.Count(text, k.says) != 1 {
			t.Errorf("%d ranks %v: exit code %d\n%s", k.n, k.args, code, text)
		}
	}
}

// TestMeasureBound binds each rank to a processor of its own: they share none, and nothing says that they do.
func TestMeasureBound(t *testing.T) {
	bin := built(t)
	if runtime.NumCPU() < 2 {
		t.Skip("two ranks share the one processor here")
	}
	for _, x := range []struct {
		args []string
		warn bool
	}{{[]string{"--bind-to", "core"}, false}, {[]string{"--bind-to", "none"}, false}, {[]string{"--bind-to", "none", "taskset", "-c", "0"}, true}} {
		path := filepath.Join(t.TempDir(), "p.toml")
		bound := func(command ...string) ([]byte, error) {
			cmd := exec.Command("mpirun", slices.Concat([]string{"-n", "2"}, x.args, command)...)
			cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			return cmd.CombinedOutput()
		}
		if out, err := bound("true"); err != nil {
			t.Skipf("ranks cannot be bound with %v here: %v: %s", x.args, err, out)
		}
		out, err := bound(bin, "platform", "measure", "-o", path, "--repetitions", "3", "--patience", "20ms")
		if err != nil {
			t.Fatalf("%v: %v: %s", x.args, err, out)
		}
		if got := strings.Contains(string(out), "share processors"); got != x.warn {
			t.Errorf("%v: warned %v:\n%s", x.args, got, out)
		}
	}
}

// TestNothingThere names a trace and a program that are not there, on several ranks: one line says so.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	bin := built(t)
	dir := t.TempDir()
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"analyze", filepath.Join(dir, "nothere"), "-o", filepath.Join(dir, "run.xtf")}, jobs.ExitInput, "nothere: no such file"},
		{[]string{"record", "-o", filepath.Join(dir, "rec"), "--", "./nothere"}, jobs.ExitUsage, "write coppice record -o DIR -- mpirun -n 2 ./nothere"},
	} {
		code, text := mpirun(t, 2, bin, x.args...)
		if code != x.code || strings.Count(text, x.says) != 1 || strings.Count(text, "coppice: ") != 1 {
			t.Errorf("%v: exit code %d\n%s", x.args, code, text)
		}
	}
	code, _, errs := call("record", "-o", filepath.Join(dir, "rec"), "--", "mpirun", "-n", "2", "./nothere")
	if code != jobs.ExitUsage || !strings.Contains(errs, "./nothere: file does not exist") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
