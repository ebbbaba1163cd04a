package jobs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
)

// hanging is a Source of which one location never answers, until it is let go.
type hanging struct {
	trace.Source
	at trace.P
	on chan struct{}
}

func (s *hanging) Stream(p trace.P) (trace.Stream, error) {
	if p == s.at {
		<-s.on
	}
	return s.Source.Stream(p)
}

// TestWatchdog lets a location hang: the rank that has it says where it stands and ends the job, rank 0 says that it
// waits. The location goes on when all that was said: the times decide when, not whether.
func TestWatchdog(t *testing.T) {
	src := &hanging{Source: generated(t, "stencil:procs=4,events=4k"), at: 3, on: make(chan struct{})}
	want := []string{"rank 1 of 2: load, location 3: nothing has moved", "the last checkpoint", "rank 0 of 2: load: has waited for other ranks (allreduce)"}
	var mu sync.Mutex
	var texts strings.Builder
	code, done := -1, false
	said := func() {
		missing := slices.ContainsFunc(want, func(x string) bool { return !strings.Contains(texts.String(), x) })
		if !missing && code >= 0 && !done {
			done = true
			close(src.on)
		}
	}
	o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), ClampTime: true, Version: "test"}
	o.Watch = jobs.Watch{
		GiveUp: 100 * time.Millisecond,
		Warn: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			texts.WriteString(text + "\n")
			said()
		},
		Die: func(c int) {
			mu.Lock()
			defer mu.Unlock()
			if code < 0 {
				code = c
			}
			said()
		},
	}
	time.AfterFunc(time.Minute, func() {
		mu.Lock()
		defer mu.Unlock()
		if !done {
			done = true
			t.Errorf("after a minute, exit code %d and:\n%s", code, texts.String())
			close(src.on)
		}
	})
	if _, err := analyze(2, o); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if done = true; code != jobs.ExitResource {
		t.Errorf("exit code %d", code)
	}
}
