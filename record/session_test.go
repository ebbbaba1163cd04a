package record

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
		if r, _, _ := l.runRecorded(t, Options{Command: l.launch(t, 2, program, "both"), Compiler: l.cc}); r.Processes != 2 || len(r.Found) > 0 {
			t.Errorf("%+v", r)
		}
	}
	if !found {
		t.Skip("no MPI library with sessions")
	}
}
