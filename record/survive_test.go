package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/stats"
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
	kind   string // of the first finding
	text   string // how that begins, a regular expression
}{
	// the launcher may kill one of them before it ends itself
	{"exit", "100", 0, 200, "exit with status 7", false, "abort", "ended without MPI_Finalize: (ranks 0-1|rank [01]) by exit with status 7"},
	{"leave", "100", 0, 200, "exit with status 3", false, "abort", "ended without MPI_Finalize: rank 1 by exit with status 3; calls that never returned: rank 0 in MPI_Barrier since "},
	{"abort", "100", 0, 200, "MPI_Abort", false, "abort", "ended by MPI_Abort with code 9: "},
	{"kill", "100", 0, 200, "SIGKILL", false, "hang", `hang, or ended from outside, or by _exit \(SIGKILL cannot be seen\): `},
	{"_exit", "100", 0, 200, "by _exit", false, "hang", `hang, or ended from outside, or by _exit \(SIGKILL cannot be seen\): `},
	{"budget", "60000", 4 << 20, 40_000, "its share of the size given was used up", true, "", ""},
	{"disk", "110000", 0, 40_000, "no room on the disk", true, "", ""},
	{"memory", "110000", 0, 40_000, "no memory", true, "", ""},
}

// TestSurvival has programs that end badly, and recordings that find no room: what was recorded until then is in the
// archive, which says that it was cut, and the status is the launcher's.
func TestSurvival(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "survive.c")
		for _, x := range survivals {
			t.Run(l.cc+"/"+x.how, func(t *testing.T) {
				command, status := noting(t, l.launch(2, program, x.how, x.rounds))
				r, out, errs := l.runRecorded(t, Options{Command: command, Bytes: x.bytes})
				if want := status(); r.Exit != want {
					t.Errorf("status %d, the launcher's is %d", r.Exit, want)
				}
				if x.done != strings.Contains(out, "done") {
					t.Errorf("it printed %q and %s", out, errs)
				}
				if x.how == "disk" && !strings.Contains(errs, "no more room for events") {
					t.Errorf("the user is not told: %s", errs)
				}
				cut := false
				for _, why := range r.Cut {
					cut = cut || strings.Contains(why, x.cut)
				}
				if n := sends(t, r.Archive); !cut || n < x.least || len(r.Found) > 0 {
					t.Errorf("%d sends, %d at least; %v, %v", n, x.least, r.Cut, r.Found)
				}
				file := filepath.Join(t.TempDir(), "run.xtf")
				res := analyse(t, r.Archive, file)
				want := trace.DiagUnfinished
				if x.done {
					want = trace.DiagTruncated
				}
				if known := slices.ContainsFunc(res.Codes, func(c stats.CodeTotal) bool { return c.Code == want && c.Count == uint64(len(r.Cut)) }); !known || !res.Partial {
					t.Errorf("the analysis of the archive does not know how it ended: %v", res.Codes)
				}
				if x.kind != "" {
					first := readPlanted(t, file).Findings[0]
					if first.Kind != x.kind || !regexp.MustCompile("^"+x.text).MatchString(first.Text) {
						t.Errorf("the first finding is %s: %s", first.Kind, first.Text)
					}
				}
				for _, c := range res.Codes {
					if x.how == "abort" && c.Code == trace.DiagShortCollective { // the other process may be in the barrier before it
						continue
					}
					if c.Code != want && c.Code.Severity() > trace.Note && !x.done && x.how != "kill" {
						t.Errorf("%v: %+v", c.Code, c)
					}
				}
			})
		}
	}
}

// noting puts a script in the place of the launcher that notes the launcher's status. Two runs of one program may have two statuses: that of
// the process that ended itself, or of another that the launcher killed for it.
func noting(t *testing.T, command []string) (noted []string, status func() int) {
	t.Helper()
	launcher, err := exec.LookPath(command[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script, note := filepath.Join(dir, filepath.Base(command[0])), filepath.Join(dir, "status")
	const body = "#!/bin/sh\n%q \"$@\"\nstatus=$?\n[ \"$1\" = --version ] || echo $status > %q\nexit $status\n"
	if err := os.WriteFile(script, fmt.Appendf(nil, body, launcher, note), 0o700); err != nil {
		t.Fatal(err)
	}
	return append([]string{script}, command[1:]...), func() int {
		b, err := os.ReadFile(note)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// sends counts the messages sent in an archive.
func sends(t *testing.T, archive string) (n uint64) {
	t.Helper()
	eachEvent(t, archive, func(_ trace.P, e *trace.Event) {
		if e.Kind == trace.MpiSend || e.Kind == trace.MpiIsend {
			n++
		}
	})
	return n
}

// eachEvent goes through the events of an archive, location by location.
func eachEvent(t *testing.T, archive string, f func(p trace.P, e *trace.Event)) {
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
					f(p, &b.Events[j])
				}
			}
			r.Close()
		}
		s.Close()
	}
}

// TestFinish makes the archive of a recording whose launcher was killed, also where an attempt before it came half way.
func TestFinish(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "survive.c"), "kill"), Keep: true})
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

// TestClosed records a program that closes the recorder's files and opens others, which get their numbers: nothing is lost, and nothing
// is written into the program's.
func TestClosed(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		command := l.launch(2, l.compileProgram(t, "survive.c"), "close", "60000")
		r, out, errs := l.runRecorded(t, Options{Command: command, Log: LogOptions{Ranks: []int{0}}, CPUTime: true})
		if r.Exit != 0 || len(r.Cut) > 0 || len(r.Found) > 0 || len(r.Logs) != 1 {
			t.Errorf("%s: %+v", l.cc, r)
		}
		if strings.TrimSpace(out) != "done" || strings.Contains(errs, "coppice record") {
			t.Errorf("%s: it printed %q and %q", l.cc, out, errs)
		}
		if n := sends(t, r.Archive); n != 120_000 {
			t.Errorf("%s: %d sends", l.cc, n)
		}
	}
}
