package analyze_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
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

// TestWatchdog lets a location hang: the rank that has it says where it is and ends the job, rank 0 says that it
// waits. The location goes on when all that was said. On a busy machine another stage may be silent for as long: then the
// watchdog gets more patience.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	for giveUp := 100 * time.Millisecond; ; giveUp *= 5 {
		code, text := hang(t, giveUp)
		if code == jobs.ExitResource && saidAll(text) {
			return
		}
		if giveUp > 10*time.Second {
			t.Fatalf("exit code %d and:\n%s", code, text)
		}
	}
}

// saidAll says whether both ranks said what they have to.
func saidAll(text string) bool {
	for _, x := range []string{"rank 1 of 2: load, location 3: nothing has moved", "the last checkpoint", "rank 0 of 2: load: has waited for other ranks (allreduce)"} {
		if !strings.Contains(text, x) {
			return false
		}
	}
	return true
}

// hang runs a job of which a location hangs until the watchdog has said all, or for some time. It returns what it said.
func hang(t *testing.T, giveUp time.Duration) (code int, text string) {
	t.Helper()
	src := &hanging{Source: jobtest.Generated(t, "stencil:procs=4,events=4k"), at: 3, on: make(chan struct{})}
	var mu sync.Mutex
	var texts strings.Builder
	var once sync.Once
	code = -1
	note := func(text string, c int) {
		mu.Lock()
		defer mu.Unlock()
		texts.WriteString(text)
		if code < 0 {
			code = c
		}
		if code >= 0 && saidAll(texts.String()) {
			once.Do(func() { close(src.on) })
		}
	}
	o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test"}
	o.Watch = jobs.Watch{GiveUp: giveUp, Warn: func(text string) { note(text+"\n", -1) }, Die: func(c int) { note("", c) }}
	timer := time.AfterFunc(20*giveUp, func() { once.Do(func() { close(src.on) }) })
	defer timer.Stop()
	if _, err := jobtest.Analyze(2, o); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return code, texts.String()
}
