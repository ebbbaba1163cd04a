package record

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
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

// TestSession records programs with MPI sessions: with MPI_Init next to them as ever, else the archive has no events, and says why.
func TestSession(t *testing.T) {
	t.Parallel()
	found := false
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "session.c")
		command := l.launch(1, program)
		if b, err := exec.Command(command[0], command[1:]...).Output(); err != nil || !strings.Contains(string(b), "sessions") {
			continue // a library of MPI 3
		}
		found = true
		r, _, _ := l.runRecorded(t, Options{Command: l.launch(2, program), Compiler: l.cc})
		if r.Exit != 0 || r.Processes != 2 || !strings.Contains(r.Cut[0], "MPI_Session_init alone") || r.Cut[1] != r.Cut[0] || len(r.Found) > 0 {
			t.Errorf("sessions alone: %+v", r)
		}
		res := analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf"))
		if !res.Partial || !slices.ContainsFunc(res.Codes, func(c stats.CodeTotal) bool { return c.Code == trace.DiagTruncated && c.Count == 2 }) {
			t.Errorf("the analysis of an archive that has no events for that reason: %+v", res.Codes)
		}
		cannotTell(t, r.Archive, "sessions")
		r, _, _ = l.runRecorded(t, Options{Command: l.launch(2, program, "both"), Compiler: l.cc})
		if r.Processes != 2 || len(r.Found) > 0 {
			t.Errorf("%+v", r)
		}
		cannotTell(t, r.Archive, "sessions")
	}
	if !found {
		t.Skip("no MPI library with sessions")
	}
}
