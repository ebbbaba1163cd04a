package main

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// listed counts the events of a golden listing: lines that begin with a kind,
// after the heading.
func listed(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	n, heading := uint64(0), true
	for s.Scan() {
		b := s.Bytes()
		switch {
		case heading:
			heading = len(b) == 0 || b[0] != '-'
		case len(b) > 0 && b[0] != ' ':
			n++
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return n
}

// TestSharedTraces analyses every collected archive: the report's number of
// events is that of the golden listing or, without one, what the definitions
// announce (which the listing tool confirmed), and the result checks clean.
func TestSharedTraces(t *testing.T) {
	t.Parallel()
	traces := sharedTraces(t)
	dirs, err := os.ReadDir(traces)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, e := range dirs {
		path := filepath.Join(traces, e.Name())
		src, err := otf2.OpenPath(path)
		if err != nil {
			continue // no event trace
		}
		var want, bytes uint64
		for p := range trace.P(src.Definitions().NumLocations()) {
			size, err := src.Measure(p)
			if err != nil {
				t.Fatal(err)
			}
			bytes += size.Bytes
			want += src.Definitions().Location(p).Events
		}
		if bytes == 0 || testing.Short() && bytes > 500_000 || underRace && bytes > 100_000 {
			continue
		}
		if golden := filepath.Join(path, "golden-events.txt.gz"); exists(golden) {
			want = listed(t, golden)
		}
		t.Run(e.Name(), func(t *testing.T) {
			run := filepath.Join(t.TempDir(), "run.xtf")
			if code, _, errs := call("analyze", path, "-o", run, "-q", "-j", "2"); code != jobs.ExitDone {
				t.Fatalf("analyze: exit code %d: %s", code, errs)
			}
			got := jsonOf[reportJSON](t, "report", run, "summary", "profile", "comm", "ccg", "diagnostics")
			if got.Events != want || got.CCG.Events != want {
				t.Errorf("%d events, %d in the call graph; the listing has %d", got.Events, got.CCG.Events, want)
			}
			if code, c := checkOf(t, run); code != jobs.ExitDone {
				t.Errorf("check: exit code %d: %+v", code, c.Check.Problems)
			}
		})
		checked++
	}
	if checked < 8 {
		t.Errorf("only %d archives have events", checked)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
