//go:build cgo && !nompi && !mpich

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

// mpirun runs the built command on n ranks and returns its exit code and what
// it wrote.
func mpirun(t *testing.T, n int, bin string, args ...string) (code int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all := append([]string{"--oversubscribe", "--bind-to", "none", "-n", fmt.Sprint(n), bin}, args...)
	cmd := exec.CommandContext(ctx, "mpirun", all...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("mpirun -n %d %v hangs:\n%s", n, args, out)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// buildFolder is where the command is built, once for all tests.
var buildFolder string

var builtOnce = sync.OnceValues(func() (string, error) {
	var err error
	if buildFolder, err = os.MkdirTemp("", "coppice-test-"); err != nil {
		return "", err
	}
	bin := filepath.Join(buildFolder, "coppice")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if buildFolder != "" {
		os.RemoveAll(buildFolder)
	}
	os.Exit(code)
}

// built returns the command as the user's binary; without mpirun, or where the
// tests themselves have no MPI, it skips.
func built(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("no mpirun on this machine: install openmpi-bin")
	}
	bin, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpirun", "--version").Output(); err != nil || !strings.Contains(string(out), "Open MPI") {
		t.Skip("mpirun is not Open MPI's")
	}
	return bin
}

// TestRanksOfMPI compares files made by MPI ranks with the one made in process,
// and checks that errors reach every rank as one exit code and one message.
func TestRanksOfMPI(t *testing.T) {
	t.Parallel()
	bin := built(t)
	dir := t.TempDir()
	if code := run([]string{"demo", "-o", dir, "--spec", "irregular:procs=6,threads=2,events=20k,seed=2", "-f"}, &bytes.Buffer{}, os.Stderr); code != 0 {
		t.Fatalf("demo: exit code %d", code)
	}
	in := filepath.Join(dir, "traces.otf2")
	want := filepath.Join(dir, "want.xtf")
	if out, err := exec.Command(bin, "analyze", in, "-o", want, "-q", "-j", "2").CombinedOutput(); err != nil {
		t.Fatalf("without a launcher: %v\n%s", err, out)
	}
	whole, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 5} {
		out := filepath.Join(dir, fmt.Sprintf("run%d.xtf", n))
		if code, text := mpirun(t, n, bin, "analyze", in, "-o", out, "-q", "--store", fmt.Sprint(n*10000)); code != 0 {
			t.Fatalf("%d ranks: exit code %d\n%s", n, code, text)
		}
		if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, whole) {
			t.Errorf("%d MPI ranks make another file: %v", n, err)
		}
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"analyze", in, "-o", want}, jobs.ExitUsage, "exists"},
		{[]string{"analyze", filepath.Join(dir, "none.otf2"), "-o", filepath.Join(dir, "x.xtf")}, jobs.ExitInput, "none.otf2"},
		{[]string{"analyze", in, "-o", filepath.Join(dir, "no", "x.xtf")}, jobs.ExitUsage, "cannot be written"},
		{[]string{"analyze", in}, jobs.ExitUsage, "-o RUN.xtf"},
	} {
		code, text := mpirun(t, 3, bin, tc.args...)
		if code != tc.code || strings.Count(text, tc.says) < 1 {
			t.Errorf("%v: exit code %d, want %d and %q in:\n%s", tc.args, code, tc.code, tc.says, text)
		}
		if n := strings.Count(text, "coppice: "); n > 3 {
			t.Errorf("%v: %d lines of errors for one cause:\n%s", tc.args, n, text)
		}
	}
}

// TestHangupOfMPI: where the terminal goes away the program ends, and what it recorded is an archive.
func TestHangupOfMPI(t *testing.T) {
	t.Parallel()
	bin, dir := built(t), t.TempDir()
	source, program, folder := filepath.Join(dir, "p.c"), filepath.Join(dir, "p"), filepath.Join(dir, "run")
	const text = "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { MPI_Init(&c, &v); puts(\"ready\"); fflush(stdout); alarm(60); pause(); return 0; }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v %s", err, out)
	}
	cmd := exec.Command(bin, "record", "-o", folder, "--", "mpirun", "--oversubscribe", "-n", "1", program)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(lines)
	if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "traces.otf2")); err != nil {
		t.Error(err)
	}
}
