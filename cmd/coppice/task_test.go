package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestMovedTasks: a task that is suspended on one thread and goes on on another makes the result partial, what its file holds
// is consistent, and the report says what was left out. With one stack for all tasks, a would be open for all the rest of
// thread 0: 920 ticks instead of 9.
func TestMovedTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, said string
		code             int
		want             map[string]uint64 // exclusive ticks
	}{
		{
			"switches", `-- program --
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
`, "left out from there on: 2 in 2 locations", jobs.ExitPartial,
			map[string]uint64{"a": 9, "main": 921 + 930}, // a runs 10-19; main has the rest of 930 ticks of each thread
		},
		{
			// Task 1 is suspended for 10 ticks, in which task 2 runs: two calls of a, 10-20 and 30-40, in the rows, one in the graph.
			"switches of one thread", `-- program --
processes 1
-- events --
0 0 ENTER main
0 10 THREAD_TASK_SWITCH 0 0 1
0 10 ENTER a
0 20 THREAD_TASK_SWITCH 0 0 2
0 20 ENTER b
0 30 LEAVE b
0 30 THREAD_TASK_SWITCH 0 0 1
0 40 LEAVE a
0 40 THREAD_TASK_SWITCH 0 0 0
0 50 LEAVE main
`, "each part is a call", jobs.ExitDone, map[string]uint64{"main": 20, "a": 20, "b": 10},
		},
		{
			// Task 1 calls a for 9 ticks, 10-19, from one thread to the other, task 2 calls b in one. Nobody knows when a left the
			// first thread: its time is the caller's.
			"an attribute", `-- definitions --
STRING self=0 string="GUID"
ATTRIBUTE self=5 name=0 type=4
-- program --
processes 2
-- events --
0 0 ENTER main
0 10 ENTER a @5:4:1
0 20 ENTER b @5:4:2
0 27 LEAVE b @5:4:2
0 930 LEAVE main
1 0 ENTER main
1 19 LEAVE a @5:4:1
1 930 LEAVE main
`, "do not begin and end on one thread, left out: 2 in 2 locations", jobs.ExitPartial,
			map[string]uint64{"main": 923 + 930, "b": 7},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := tracetest.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
				t.Fatal(err)
			}
			run := filepath.Join(dir, "run.xtf")
			if code, _, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", run, "-q", "-j", "2"); code != c.code {
				t.Fatalf("analyze: exit code %d, want %d: %s", code, c.code, errs)
			}
			one := filepath.Join(dir, "one.xtf")
			call("analyze", filepath.Join(dir, "traces.otf2"), "-o", one, "-q", "-j", "1")
			two, err := os.ReadFile(run)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(one); err != nil || !bytes.Equal(b, two) {
				t.Errorf("one rank makes another file than two: %v", err)
			}
			if code, out, errs := call("check", run); code != jobs.ExitDone && code != jobs.ExitPartial || !strings.Contains(out, "clean") {
				t.Errorf("check: exit code %d\n%s%s", code, out, errs)
			}
			if text := must(t, "report", run); strings.Contains(text, "partial") != (c.code == jobs.ExitPartial) || !strings.Contains(text, c.said) {
				t.Errorf("the report does not say what was left out:\n%s", text)
			}
			doc := jsonOf[struct {
				Profile struct {
					Regions []struct {
						Name      string
						Exclusive uint64
					}
				}
			}](t, "report", run, "profile")
			got := map[string]uint64{}
			for _, r := range doc.Profile.Regions {
				if r.Exclusive > 0 {
					got[r.Name] = r.Exclusive
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("exclusive ticks (-want +got):\n%s", diff)
			}
		})
	}
}
