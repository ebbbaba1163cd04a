package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestQuietPartial has a trace that is cut: without closing lines the status 4 still has its reason, in one line.
func TestQuietPartial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=2,events=2k")
	events := filepath.Join(dir, "traces", "1.evt")
	st, err := os.Stat(events)
	if err == nil {
		err = os.Truncate(events, st.Size()-100)
	}
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", filepath.Join(dir, "run.xtf"), "-q", "-j", "1")
	if code != jobs.ExitPartial || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "the input is damaged or incomplete (") || !strings.Contains(errs, "1 location)") {
		t.Errorf("analyze: exit code %d:\n%s%s", code, out, errs)
	}
	damaged, platform := predictable(t, "stencil:procs=4,events=4k,broken=unmatched-send", platformOf4)
	code, _, errs = call("predict", damaged, "--platform", platform, "-q")
	if code != jobs.ExitPartial || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "without the other end") {
		t.Errorf("predict: exit code %d:\n%s", code, errs)
	}
}

// TestUnknownSuffix names outputs after formats that there are not.
func TestUnknownSuffix(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=200")
	run := filepath.Join(dir, "run.xtf")
	for _, x := range []struct {
		line string
		code int
		says string
	}{
		{"report RUN -o DIR/x.pdf", jobs.ExitUsage, "choose text, json, csv, parquet, md or html"},
		{"diff RUN RUN -o DIR/x.xlsx", jobs.ExitUsage, "choose text, json"},
		{"query RUN rows -o DIR/x.csv", jobs.ExitUsage, "choose text or json"},
		{"report RUN --format text -o DIR/x.pdf", jobs.ExitDone, ""},
		{"report RUN -o DIR/x.txt", jobs.ExitDone, ""},
		{"report RUN -o DIR/x.TXT", jobs.ExitDone, ""},
		{"report RUN -o DIR/run-0.7", jobs.ExitDone, ""},
		{"report RUN -o DIR/plain", jobs.ExitDone, ""},
		{"report RUN -o DIR/x.json", jobs.ExitDone, ""},
	} {
		code, _, errs := call(strings.Fields(strings.NewReplacer("RUN", run, "DIR", dir).Replace(x.line))...)
		if code != x.code || !strings.Contains(errs, x.says) {
			t.Errorf("%s: exit code %d: %s", x.line, code, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x.xlsx")); err == nil {
		t.Error("a file was written")
	}
}

// TestWindowBesideRun asks for spans of time in which the run is not.
func TestWindowBesideRun(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=200")
	run := filepath.Join(dir, "run.xtf")
	for _, verb := range []string{
		"query RUN interval", "query RUN window", "query RUN visible", "query RUN timeline", "query RUN stats", "query RUN bins",
		"report RUN intervals", "export RUN --to csv --table calls -q -o DIR/c.csv", "export RUN --to perfetto -q -o DIR/p", "export RUN --to otf2 -q -o DIR/o",
	} {
		args := strings.Fields(strings.NewReplacer("RUN", run, "DIR", dir).Replace(verb))
		for _, span := range []string{"100s..200s", "150%..200%", "100s.."} {
			if code, _, errs := call(append(args, "--time", span)...); code != jobs.ExitUsage || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s --time %s: exit code %d: %s", verb, span, code, errs)
			}
		}
		if code, _, errs := call(append(args, "--time", "50%..200%")...); code != jobs.ExitDone {
			t.Errorf("%s over the end: exit code %d: %s", verb, code, errs)
		}
	}
}
