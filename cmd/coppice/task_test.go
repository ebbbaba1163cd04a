package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestMovedTasks: a task that is suspended on one thread and goes on on another makes the result partial, what its file holds
// is consistent, and the report says what was left out. With one stack for all tasks, a would be open for all the rest of thread 0: 920 ticks instead of 9.
func TestMovedTasks(t *testing.T) {
	src, err := tracetest.Parse(`-- program --
processes 2
-- events --
0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a
0 19 THREAD_TASK_SWITCH 0 0 0
0 930 LEAVE main
1 0 ENTER main
1 20 THREAD_TASK_SWITCH 0 0 1
1 30 LEAVE a
1 30 THREAD_TASK_SWITCH 0 0 0
1 930 LEAVE main
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", run, "-q", "-j", "2"); code != jobs.ExitPartial {
		t.Fatalf("analyze: exit code %d, want %d: %s", code, jobs.ExitPartial, errs)
	}
	if code, out, errs := call("check", run); code != jobs.ExitDone && code != jobs.ExitPartial || !strings.Contains(out, "clean") {
		t.Errorf("check: exit code %d\n%s%s", code, out, errs)
	}
	if text := must(t, "report", run); !strings.Contains(text, "partial") || !strings.Contains(text, "left out from there on: 2 in 2 locations") {
		t.Errorf("the report does not say what was left out:\n%s", text)
	}
	for name, want := range map[string]uint64{"a": 9, "main": 921 + 930} { // a runs 10-19; main has the rest of 930 ticks of each thread
		doc := jsonOf[struct {
			Profile struct {
				Regions []struct {
					Name      string
					Exclusive uint64
				}
			}
		}](t, "report", run, "profile")
		found := false
		for _, r := range doc.Profile.Regions {
			if r.Name == name {
				found = true
				if r.Exclusive != want {
					t.Errorf("%s has %d ticks, want %d", name, r.Exclusive, want)
				}
			}
		}
		if !found {
			t.Errorf("no region %s", name)
		}
	}
}
