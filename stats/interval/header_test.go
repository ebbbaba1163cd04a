package interval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
)

// programC uses the header, and prints every message that it sends.
const programC = `
#include <stdio.h>
#include <mpi.h>
int MPI_Sendrecv(const void *s, int sn, MPI_Datatype st, int dest, int stag, void *r, int rn, MPI_Datatype rt, int source, int rtag, MPI_Comm c, MPI_Status *status)
{
    printf("%d %d %d %d %d\n", dest, stag, source, rtag, sn + rn);
    return PMPI_Sendrecv(s, sn, st, dest, stag, r, rn, rt, source, rtag, c, status);
}
#include "coppice_intervals.h"
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    coppice_begin(0);
    coppice_begin(153);
    coppice_end(153);
    coppice_begin(32767);
    coppice_end(32767);
    coppice_end(0);
    MPI_Finalize();
    return 0;
}
`

const programFortran = `
program test
  use mpi
  use coppice_intervals
  implicit none
  integer :: ierror
  call MPI_Init(ierror)
  call coppice_begin(153)
  call coppice_end(153)
  call MPI_Finalize(ierror)
  print *, 'done'
end program test
`

// compileAndRun returns what a program prints that is compiled with a compiler of
// some MPI library and run as one process.
func compileAndRun(t *testing.T, compiler, file, text string, more ...string) string {
	t.Helper()
	tool, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	include, err := filepath.Abs("../../record/include")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-I", include, "-o", "program"}
	for _, m := range more {
		args = append(args, filepath.Join(include, m))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := func(name string, args ...string) string {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		out, err := c.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				out = append(out, exit.Stderr...)
			}
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	run(tool, append(args, file)...)
	return run(filepath.Join(dir, "program"))
}

// TestHeader reads the messages of a program that includes the header.
func TestHeader(t *testing.T) {
	for _, compiler := range []string{"mpicc", "mpicc.mpich"} {
		t.Run(compiler, func(t *testing.T) {
			out := compileAndRun(t, compiler, "program.c", programC)
			r := interval.NewRecognizer(interval.Default(&trace.Definitions{}))
			var got []string
			for line := range strings.Lines(out) {
				var dest, tag, source, back, bytes int
				if n, _ := fmt.Sscan(line, &dest, &tag, &source, &back, &bytes); n != 5 || dest != 0 || source != 0 || bytes != 0 || tag != back {
					t.Fatalf("the program sent %q", line)
				}
				if o := r.Send(true, 1, uint32(tag)); o&interval.Whole != 0 {
					got = append(got, fmt.Sprint(r.Mark().Key.ID, r.Mark().End))
				}
				if o := r.Receive(true, 1, uint32(back)); o != interval.Part {
					t.Fatalf("receive of tag %d: %v", back, o)
				}
			}
			if d := cmp.Diff([]string{"0 false", "153 false", "153 true", "32767 false", "32767 true", "0 true"}, got); d != "" {
				t.Errorf("markers (-want +got):\n%s", d)
			}
		})
	}
}

func TestFortranModule(t *testing.T) {
	for _, compiler := range []string{"mpifort", "mpifort.mpich"} {
		t.Run(compiler, func(t *testing.T) {
			if out := compileAndRun(t, compiler, "program.f90", programFortran, "coppice_intervals.f90"); !strings.Contains(out, "done") {
				t.Errorf("the program printed %q", out)
			}
		})
	}
}
