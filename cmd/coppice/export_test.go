package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/google/go-cmp/cmp"
)

// exportDoc is what tests read of an export.
type exportDoc struct {
	Events uint64 `json:"events"`
	Export struct {
		Output     string `json:"output"`
		Exact      bool   `json:"exact"`
		Deviation  string `json:"deviation"`
		Events     uint64 `json:"events"`
		LeftOut    int    `json:"locations_left_out"`
		Differs    []struct{ Code string }
		Unreadable []struct{ Location uint64 }
	} `json:"export"`
}

// TestExport writes an analysed archive back and analyses that: the results
// have the same rows.
func TestExport(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=4,events=4k")
	run, again := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "again")
	code, out, errs := call("export", run, "--to", "otf2", "-o", again, "-j", "2", "--progress", "json")
	if code != jobs.ExitDone || out != "" || !strings.Contains(errs, `"stage":"write"`) || !strings.Contains(errs, "of 4 locations") || !strings.Contains(errs, "times exact") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	must(t, "analyze", again, "-o", filepath.Join(dir, "again.xtf"), "-q", "-j", "2")
	type rows struct{ Summary, Profile, Comm, CCG any }
	args := []string{"profile", "comm"}
	a := jsonOf[rows](t, append([]string{"report", run}, args...)...)
	b := jsonOf[rows](t, append([]string{"report", filepath.Join(dir, "again.xtf")}, args...)...)
	if diff := cmp.Diff(a.Profile, b.Profile) + cmp.Diff(a.Comm, b.Comm); diff != "" {
		t.Error(diff)
	}
	doc := jsonOf[exportDoc](t, "export", run, "--to", "otf2", "-o", filepath.Join(again, "traces.otf2"), "-f", "-q")
	if x := doc.Export; !x.Exact || x.Deviation != "0" || x.Events != doc.Events || x.Output != filepath.Join(again, "traces.otf2") || len(x.Differs)+len(x.Unreadable)+x.LeftOut != 0 {
		t.Errorf("%+v", doc)
	}
	doc = jsonOf[exportDoc](t, "export", run, "--to", "otf2", "-o", filepath.Join(dir, "first"), "--ranks", "0,2-3", "-q")
	if x := doc.Export; x.Exact || x.LeftOut != 1 || x.Events == 0 || x.Events >= doc.Events {
		t.Errorf("%+v", doc)
	}
}

// TestExportUsage gives wrong flags and inputs.
func TestExportUsage(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=200")
	run, out := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{run, "-o", out}, jobs.ExitUsage, "--to is missing"},
		{[]string{run, "--to", "xls", "-o", out}, jobs.ExitUsage, "--to xls"},
		{[]string{run, "--to", "otf2"}, jobs.ExitUsage, "-o is missing"},
		{[]string{run, "--to", "otf2", "-o", out, "-j", "0"}, jobs.ExitUsage, "--jobs 0"},
		{[]string{run, "--to", "otf2", "-o", out, "--format", "html"}, jobs.ExitUsage, "--format html"},
		{[]string{run, "--to", "otf2", "-o", out, "--progress", "loud"}, jobs.ExitUsage, "--progress loud"},
		{[]string{run, "--to", "otf2", "-o", out, "--ranks", "7"}, jobs.ExitUsage, "processes 0 to 1"},
		{[]string{run, "--to", "otf2", "-o", dir}, jobs.ExitUsage, "Give -f to replace it"},
		{[]string{"--to", "otf2", "-o", out}, jobs.ExitUsage, "0 operands"},
		{[]string{filepath.Join(dir, "traces.otf2"), "--to", "otf2", "-o", out}, jobs.ExitInput, "not an XTF file"},
		{[]string{filepath.Join(dir, "none.xtf"), "--to", "otf2", "-o", out}, jobs.ExitInput, "none.xtf"},
	} {
		code, _, errs := call(append([]string{"export", "-q"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("export %v: exit code %d, want %d and %q in:\n%s", c.args, code, c.code, c.says, errs)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Fatalf("export %v left something", c.args)
		}
	}
	if got := must(t, "export", "--help"); strings.Count(got, "coppice export run.xtf") < 8 {
		t.Errorf("help without its examples:\n%s", got)
	}
}

// backwards sets the time of a location's second event before that of the first.
func backwards(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const first = 18                           // after the header of the chunk: 05, time; then 0C, count of bytes, region
	second := first + 9 + 2 + int(b[first+10]) // 05, time
	if b[first] != 5 || b[first+9] != 12 || b[second] != 5 {
		t.Fatalf("not two calls: % x", b[:second+9])
	}
	copy(b[second+1:second+9], b[first+1:])
	if b[second+2] == 0 {
		t.Fatal("the second byte of the time is 0")
	}
	b[second+2]-- // 256 ticks before
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestExportPartial exports the run of a trace whose times run backwards.
func TestExportPartial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=3,events=3k")
	backwards(t, filepath.Join(dir, "traces", "1.evt"))
	anchor, run, out := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf"), filepath.Join(dir, "out")
	if code, _, errs := call("analyze", anchor, "-o", run, "-f", "-q"); code != jobs.ExitPartial {
		t.Fatalf("analyze: exit code %d: %s", code, errs)
	}
	code, _, errs := call("export", run, "--to", "otf2", "-o", out, "-f", "--progress", "none")
	if code != jobs.ExitDone || !strings.Contains(errs, "not as in the analysed trace: time stamps before their predecessor: ") || !strings.Contains(errs, "raised to them") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	a, err := otf2.OpenPath(out)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, p := range a.Anchor().Properties {
		text += p.Name + "=" + p.Value + " "
	}
	if !strings.Contains(text, "COPPICE::EXACT=false") || !strings.Contains(text, "COPPICE::DIFFERS=time-backwards=1") {
		t.Errorf("properties %s", text)
	}
	if code, _, errs := call("export", run, "--to", "otf2", "-o", filepath.Join(dir, "strict"), "-q", "--strict"); code != jobs.ExitPartial {
		t.Errorf("strict: exit code %d\n%s", code, errs)
	}
}

// TestExportDamagedRun flips bytes of a run until the graph of a location is hit.
func TestExportDamagedRun(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=2k")
	b, err := os.ReadFile(filepath.Join(dir, "run.xtf"))
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.xtf")
	for at := 5000; at < len(b); at += 200 {
		b[at] ^= 1
		if err := os.WriteFile(bad, b, 0o666); err != nil {
			t.Fatal(err)
		}
		b[at] ^= 1
		code, out, errs := call("export", bad, "--to", "otf2", "-o", filepath.Join(dir, "out"), "-f", "-q", "--format", "json")
		if code != jobs.ExitPartial {
			continue
		}
		var doc exportDoc
		decode(t, out, &doc)
		if n := len(doc.Export.Unreadable); n != 1 || doc.Export.Exact || !strings.Contains(errs, "1 location not whole") {
			t.Errorf("%d locations unreadable\n%s%s", n, errs, out)
		}
		return
	}
	t.Error("no flip hit the graph of a location alone")
}
