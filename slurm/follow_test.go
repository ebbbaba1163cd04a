package slurm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestFollowStatus follows a job that is written by this test: each look shows what is new, once.
func TestFollowStatus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.status")
	var out strings.Builder
	f := &follower{w: &out, path: path}
	states := []jobs.Status{
		{Stage: "load", State: jobs.Running, Share: 0.25, Done: 1e9, Total: 4e9, Rate: 1e8, Ranks: 8, Slowest: 3, Slow: 0.1, Left: 30},
		{Stage: "load", State: jobs.Running, Share: 0.25, Done: 1e9, Total: 4e9, Rate: 1e8, Ranks: 8, Slowest: 3, Slow: 0.1, Left: 30},
		{Stage: "match", State: jobs.Running, Share: 0.5},
		{State: "done", Share: 1},
	}
	now := time.Now()
	if err := f.look(now); err != nil { // the file is not there yet
		t.Fatal(err)
	}
	for _, st := range states {
		st.Schema, st.Time = jobs.StatusSchema, "2026-11-20T23:41:07Z"
		b, err := json.Marshal(st)
		if err == nil {
			err = os.WriteFile(path, b, 0o666)
		}
		if err == nil {
			err = f.look(now)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range []time.Duration{59 * time.Second, 70 * time.Second, 80 * time.Second} { // nothing new, until then
			if err := f.look(now.Add(after)); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(2 * time.Minute)
	}
	want := `2026-11-20T23:41:07Z load 25 %, 1 GB of 4 GB, 100 MB/s, 8 ranks, slowest 3 at 10 %, about 30 s left in this stage
no news for 1m0s: the job was killed, or its ranks or its file system do not get on; look whether it still runs
2026-11-20T23:41:07Z match 50 %
no news for 1m0s: the job was killed, or its ranks or its file system do not get on; look whether it still runs
2026-11-20T23:41:07Z done
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for _, text := range []string{"", "{}", "no JSON", `{"schema":"coppice.status/2"}`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := FollowStatus(t.Context(), path, &out); jobs.ExitCode(err) != jobs.ExitInput || !strings.Contains(err.Error(), "not a status file") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
