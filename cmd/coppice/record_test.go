package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestRecordUsage has what record refuses before it starts anything; package record has tests with programs.
func TestRecordUsage(t *testing.T) {
	t.Parallel()
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

// TestLogRanks names processes by a list, or by the file of an earlier run, whose representatives they are.
func TestLogRanks(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=6,iterations=4")
	run := analysedAs(t, dir, "classes.xtf", "--classes", "0%")
	var want []int
	doc := jsonOf[struct {
		Classes struct {
			Groups []struct {
				Classes []struct{ Representative int }
			}
		}
	}](t, "report", run, "classes")
	for _, g := range doc.Classes.Groups {
		for _, c := range g.Classes {
			want = append(want, c.Representative)
		}
	}
	if len(want) == 0 {
		t.Fatal("no representatives")
	}
	for _, x := range []struct {
		text  string
		want  []int
		wrong string
	}{
		{"", nil, ""},
		{"0,3", []int{0, 3}, ""},
		{" 7", []int{7}, ""},
		{"5,0-2, 1", []int{0, 1, 2, 5}, ""},
		{"2-1", nil, "neither a list of ranks"},
		{"0-2147483647", nil, "more than 65536"},
		{run, want, ""},
		{filepath.Join(dir, "run.xtf"), nil, "--classes"},
		{"1;2", nil, "neither a list of ranks"},
		{"-1", nil, "neither a list of ranks"},
		{filepath.Join(dir, "traces.otf2"), nil, "--log-ranks"},
	} {
		got, err := logRanks(x.text)
		if !slices.Equal(got, x.want) || (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%s: %v, %v", x.text, got, err)
		}
	}
}

// TestRecordHangup: where the terminal goes away the program ends, and what it recorded is an archive.
func TestRecordHangup(t *testing.T) {
	t.Parallel()
	bin, dir := built(t), t.TempDir()
	source, program, folder := filepath.Join(dir, "p.c"), filepath.Join(dir, "p"), filepath.Join(dir, "run")
	const text = "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { MPI_Init(&c, &v); puts(\"ready\"); fflush(stdout); alarm(60); pause(); return 0; }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("no mpicc: %v %s", err, out)
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
