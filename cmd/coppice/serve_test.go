package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestServeUsage: what cannot be served is said before anything listens.
func TestServeUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.xtf")
	if err := os.WriteFile(file, []byte("no run"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want int
		text string
	}{
		{"no file", nil, jobs.ExitUsage, "operands"},
		{"too many files", []string{file, file, file}, jobs.ExitUsage, "operands"},
		{"little memory", []string{file, "--mem", "1M"}, jobs.ExitUsage, "--mem"},
		{"no run", []string{file}, jobs.ExitInput, "run.xtf"},
		{"absent", []string{file + "x"}, jobs.ExitInput, "run.xtfx"},
	} {
		code, out, errs := call(append([]string{"serve"}, c.args...)...)
		if code != c.want || !strings.Contains(errs, c.text) || out != "" {
			t.Errorf("%s: exit code %d, want %d: %s%s", c.name, code, c.want, out, errs)
		}
	}
}
