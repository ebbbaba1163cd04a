//go:build cgo && !nompi && !mpich

package main

import (
	"path/filepath"
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
