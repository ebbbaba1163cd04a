package record

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cannotTell fails where the report of an archive does not say that something is missing.
func cannotTell(t *testing.T, archive, what string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.xtf")
	analyse(t, archive, file)
	missing := readPlanted(t, file).CannotTell.Missing
	for _, x := range missing {
		if x.What == what {
			return
		}
	}
	t.Errorf("%v, without %s", missing, what)
}

// TestSession records programs with MPI sessions: with MPI_Init next to them as ever, else the user is told why not.
func TestSession(t *testing.T) {
	found := false
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "session.c")
		command := l.launch(t, 1, program)
		if b, err := exec.Command(command[0], command[1:]...).Output(); err != nil || !strings.Contains(string(b), "sessions") {
			continue // a library of MPI 3
		}
		found = true
		var out strings.Builder
		r, err := Run(t.Context(), Options{
			Output: filepath.Join(t.TempDir(), "run"), Command: command, Compiler: l.cc, Cache: cacheFolder, Out: &out, Err: &out,
		})
		if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "MPI_Session_init alone") || r.Exit != 0 {
			t.Errorf("%v, %+v\n%s", err, r, out.String())
		}
		r, _, _ = l.runRecorded(t, Options{Command: l.launch(t, 2, program, "both"), Compiler: l.cc})
		if r.Processes != 2 || len(r.Found) > 0 {
			t.Errorf("%+v", r)
		}
		cannotTell(t, r.Archive, "sessions")
	}
	if !found {
		t.Skip("no MPI library with sessions")
	}
}
