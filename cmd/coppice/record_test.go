package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestRecordUsage has what record refuses before it starts anything; package record has tests with programs.
func TestRecordUsage(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "recording"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no folder", jobs.ExitUsage, []string{"record", "--", "mpirun", "true"}, "-o DIR is missing"},
		{"no command", jobs.ExitUsage, []string{"record", "-o", dir}, "no command"},
		{"unknown flag", jobs.ExitUsage, []string{"record", "-o", dir, "--frobnicate", "true"}, "--help"},
		{"bad size", jobs.ExitUsage, []string{"record", "-o", dir, "--max-bytes", "much", "true"}, "max-bytes"},
		{"no MPI", jobs.ExitUsage, []string{"record", "-o", filepath.Join(dir, "x"), "--", "true"}, "statically linked"},
		{"no compiler", jobs.ExitUsage, []string{"record", "-o", filepath.Join(dir, "x"), "--cc", filepath.Join(dir, "cc"), "--", "true"}, "does not work"},
		{"finish with a command", jobs.ExitUsage, []string{"record", "--finish", dir, "--", "true"}, "takes no command"},
		{"finish with an output", jobs.ExitUsage, []string{"record", "--finish", dir, "-o", dir}, "no -o"},
		{"finish of nothing", jobs.ExitInput, []string{"record", "--finish", filepath.Join(dir, "none")}, "no recording"},
		{"finish of no recording", jobs.ExitInput, []string{"record", "--finish", dir}, "no recording"},
	} {
		code, out, errs := call(x.args...)
		if code != x.code || !strings.Contains(errs, x.want) || out != "" {
			t.Errorf("%s: status %d, want %d; %q in %q; %q", x.name, code, x.code, x.want, errs, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a folder was made for a command that was refused")
	}
}
