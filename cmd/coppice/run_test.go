//go:build cgo && !nompi && !mpich

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// endsWith is a program whose processes meet once and then end with the status that it is given.
const endsWith = `#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return atoi(argv[1]);
}
`

// TestRun records, analyses and reports a program by one command, twice in one folder: the second run does not touch the first.
// What the program ends with is the status.
func TestRun(t *testing.T) {
	bin, dir := built(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(endsWith), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc", "-g", "-o", filepath.Join(dir, "p"), filepath.Join(dir, "p.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, x := range []struct {
		status, folder string
		code           int
	}{{"0", "coppice-run", jobs.ExitDone}, {"7", "coppice-run-2", 7}} {
		cmd := exec.Command(bin, "run", "--", "mpirun", "-n", "2", "--oversubscribe", "./p", x.status)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != x.code {
			t.Errorf("a program that ends with %s: status %d\n%s", x.status, code, errs.String())
		}
		for _, want := range []string{"2 processes", "whole program", "MPI_Init"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the report does not say %q:\n%s", want, out.String())
			}
		}
		result := filepath.Join(x.folder, "run.xtf")
		if !strings.Contains(errs.String(), "Next: coppice serve "+result) || strings.Contains(errs.String(), "Next: coppice analyze") {
			t.Errorf("%s", errs.String())
		}
		if text := must(t, "check", filepath.Join(dir, result)); !strings.Contains(text, "sound") {
			t.Errorf("%s", text)
		}
	}
}

// TestRunUsage has what run refuses: nothing of an earlier run is analysed in place of what could not be recorded.
func TestRunUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "traces.otf2"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "-o", dir}, "run: no command"},
		{[]string{"run", "--finish", dir}, "coppice record"},
		{[]string{"run", "-o", dir, "--", "true"}, "statically linked"},
	} {
		if code, out, errs := call(x.args...); code != jobs.ExitUsage || !strings.Contains(errs, x.want) || out != "" {
			t.Errorf("%v: status %d, %q; %q", x.args, code, errs, out)
		}
	}
}
