package record

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpawn records a program that starts others: these run and end as without the recorder, and the archive is that of their parents.
func TestSpawn(t *testing.T) {
	t.Parallel()
	found := false
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "spawn.c")
		command := l.launch(2, program)
		if exec.Command(command[0], command[1:]...).Run() != nil {
			t.Logf("%s: its launcher cannot start more processes", l.cc)
			continue
		}
		found = true
		dir := filepath.Join(t.TempDir(), "run")
		r, out, _ := l.runRecorded(t, Options{Output: dir, Command: command, Log: LogOptions{Ranks: []int{0, 1}}, CPUTime: true})
		if r.Exit != 0 || r.Processes != 2 || len(r.Found) > 0 || len(r.Cut) > 0 || len(r.Logs) != 2 {
			t.Errorf("%s: %+v", l.cc, r)
		}
		cannotTell(t, r.Archive, "processes")
		if !strings.Contains(out, "got 40") || !strings.Contains(out, "got 41") {
			t.Errorf("%s: the program printed %q", l.cc, out)
		}
	}
	if !found {
		t.Skip("no launcher that can start more processes")
	}
}

// TestTwoRuns records a script that starts two MPI programs after each other: the recording is that of the first.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "survive.c")
		text := strings.Join(l.launch(3, program, "run", "200"), " ") + "\n" + strings.Join(l.launch(2, program, "run", "500"), " ") + "\n"
		r, out, errs := l.runRecorded(t, Options{Command: []string{script(t, t.TempDir(), "job", text)}, Compiler: l.cc})
		if r.Exit != 0 || r.Processes != 3 || len(r.Found) > 0 || len(r.Cut) > 0 || strings.Count(out, "done") != 2 {
			t.Errorf("%s: %+v, %q", l.cc, r, out)
		}
		if n := sends(t, r.Archive); n != 600 || strings.Count(errs, "record each by itself") != 1 {
			t.Errorf("%s: %d sends; %q", l.cc, n, errs)
		}
	}
}

// TestTwoPrograms records a run of two programs: all processes are recorded, and each with the name of its own.
func TestTwoPrograms(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "hooks.c")
		other := filepath.Join(t.TempDir(), "other")
		if b, err := exec.Command("cp", program, other).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		raw := l.record(t, 2, "", nil, program, ":", "-n", "2", other)
		all := calls(t, raw)
		for rank, want := range [...]string{"hooks", "hooks", "other", "other"} {
			if len(all) != 4 || all[rank][want] != 1 || all[rank]["MPI_Finalize"] != 1 {
				t.Errorf("%s: process %d of %d does not run %s: %v", l.cc, rank, len(all), want, all[rank])
			}
		}
	}
}
