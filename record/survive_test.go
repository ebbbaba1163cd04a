package record

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// survivals are ways in which a recording ends early.
var survivals = []struct {
	how    string
	rounds string
	bytes  int64
	least  uint64 // sends that must be in the archive; what fits into 1 MiB depends on how far apart the calls are
	cut    string // what it says of the cut
	done   bool   // the program comes to its end
}{
	{"exit", "100", 0, 200, "the process ended without it", false},
	{"abort", "100", 0, 200, "MPI_Abort", false},
	{"kill", "100", 0, 200, "killed", false},
	{"crash", "100", 0, 200, "killed", false},
	{"budget", "60000", 1 << 20, 40_000, "the size given for a process was reached", true},
	{"disk", "110000", 0, 40_000, "no room on the disk", true},
}

// TestSurvival has programs that end badly, and recordings that find no room: what was recorded until then is in the
// archive, which says that it was cut, and the status is the one that the program has without the recorder.
func TestSurvival(t *testing.T) {
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "survive.c")
		for _, x := range survivals {
			t.Run(l.cc+"/"+x.how, func(t *testing.T) {
				command := l.launch(t, 2, program, x.how, x.rounds)
				plain := exec.Command(command[0], command[1:]...)
				_ = plain.Run() // its status is looked at
				r, out, errs := l.runRecorded(t, Options{Command: command, Bytes: x.bytes})
				if want := plain.ProcessState.ExitCode(); r.Exit != want {
					t.Errorf("status %d, without the recorder %d", r.Exit, want)
				}
				if x.done != strings.Contains(out, "done") {
					t.Errorf("it printed %q and %s", out, errs)
				}
				if x.how == "disk" && !strings.Contains(errs, "no more room for events") {
					t.Errorf("the user is not told: %s", errs)
				}
				cut := false
				for _, d := range r.Found {
					cut = cut || d.Code == trace.DiagTruncated && strings.Contains(d.Detail, x.cut)
				}
				if n := sends(t, r.Archive); !cut || n < x.least {
					t.Errorf("%d sends, %d at least; %v", n, x.least, r.Found)
				}
				res := analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf"))
				if !res.Partial {
					t.Errorf("the analysis of the archive does not know that it was cut: %v", res.Codes)
				}
			})
		}
	}
}

// sends counts the messages sent in an archive.
func sends(t *testing.T, archive string) (n uint64) {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for p := range trace.P(src.Definitions().NumLocations()) {
		s, err := src.Stream(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Chunks() {
			r, err := s.Chunk(i)
			if err != nil {
				t.Fatal(err)
			}
			var b trace.Batch
			for r.Next(&b) == nil {
				for j := range b.Events {
					if k := b.Events[j].Kind; k == trace.MpiSend || k == trace.MpiIsend {
						n++
					}
				}
			}
			r.Close()
		}
		s.Close()
	}
	return n
}

// TestFinish makes the archive of a recording whose launcher was killed, also where an attempt before it came half way.
func TestFinish(t *testing.T) {
	l := libraries(t)[0]
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(t, 2, l.compileProgram(t, "survive.c"), "kill"), Keep: true})
	want := sends(t, r.Archive)
	dir := filepath.Dir(r.Archive)
	if _, err := Finish(dir, false); !errors.Is(err, ErrExists) {
		t.Errorf("an archive that is complete was made again: %v", err)
	}
	if err := os.Remove(r.Archive); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "traces", "0.evt"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Finish(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := sends(t, again.Archive); n != want {
		t.Errorf("%d sends, before %d", n, want)
	}
	if _, err := os.Stat(filepath.Join(dir, rawFolder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording is still there: %v", err)
	}
	if _, err := Finish(dir, false); !errors.Is(err, ErrNothing) {
		t.Errorf("without a recording: %v", err)
	}
}
