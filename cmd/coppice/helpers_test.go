package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// call runs the command line and returns the exit code and both streams.
func call(args ...string) (code int, out, errs string) {
	var a, b bytes.Buffer
	code = run(args, &a, &b)
	return code, a.String(), b.String()
}

// must runs a command line that has to succeed.
func must(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := call(args...)
	if code != jobs.ExitDone {
		t.Fatalf("coppice %s: exit code %d\n%s%s", strings.Join(args, " "), code, errs, out)
	}
	return out
}

// analysed makes the archive of a generated program and its result run.xtf; it
// returns their folder.
func analysed(t testing.TB, spec string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", spec)
	code, _, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", filepath.Join(dir, "run.xtf"), "-q", "-j", "2")
	if code != jobs.ExitDone {
		t.Fatalf("analyze: exit code %d: %s", code, errs)
	}
	return dir
}

// jsonOf decodes the one document that a command prints.
func jsonOf[T any](t testing.TB, args ...string) T {
	t.Helper()
	var v T
	decode(t, must(t, append(args, "--format", "json")...), &v)
	return v
}

func decode(t testing.TB, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	if d.More() {
		t.Fatalf("more than one document:\n%s", text)
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", path, diff)
	}
}

// sharedTraces finds the folder of collected archives next to the repository.
func sharedTraces(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		traces := filepath.Join(dir, "..", "shared", "traces", "otf2")
		if st, err := os.Stat(traces); err == nil && st.IsDir() {
			return traces
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no folder shared/traces next to the repository")
		}
		dir = up
	}
}

// slowUnderRace leaves out a test of one goroutine that takes long with the race detector, and does what tests of the packages
// below do under it.
func slowUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("slow with the race detector, which has nothing to find here")
	}
}
