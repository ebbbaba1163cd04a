package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestExportViewer writes viewer files of several sizes. What a browser makes of one is tested in bench/browser.
func TestExportViewer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := filepath.Join(dir, "run.xtf")
	if code, _, errs := call("demo", "-o", filepath.Join(dir, "demo"), "--spec", "stencil:procs=4,events=20k"); code != jobs.ExitDone {
		t.Fatal(errs)
	}
	if code, _, errs := call("analyze", filepath.Join(dir, "demo"), "-o", run, "-q"); code != jobs.ExitDone {
		t.Fatal(errs)
	}
	out := filepath.Join(dir, "run.html")
	size := func(args ...string) int64 {
		t.Helper()
		code, _, errs := call(append([]string{"export", run, "--to", "viewer", "-o", out, "-f"}, args...)...)
		if code != jobs.ExitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<!doctype html>", "Content-Security-Policy", `id="embedded">{"name":"run.xtf"`, "</html>"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%v: the file lacks %s", args, want)
			}
		}
		for _, never := range []string{`src="`, "assets/", "import {"} {
			if strings.Contains(string(b), never) {
				t.Errorf("%v: the file has %s", args, never)
			}
		}
		return int64(len(b))
	}
	one, three := size("--levels", "1"), size("--levels", "3")
	if one >= three {
		t.Errorf("1 level takes %d bytes, 3 take %d", one, three)
	}
	if n := size("--levels", "12", "--max-size", "600K"); n > 600<<10 {
		t.Errorf("--max-size 600K made %d bytes", n)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--max-size", "10K"}, "page and sums take"}, {[]string{"--levels", "0"}, "at least 1"}, {[]string{"--ranks", "0"}, "not for --to viewer"},
	} {
		code, _, errs := call(append([]string{"export", run, "--to", "viewer", "-o", out, "-f"}, x.args...)...)
		if code != jobs.ExitUsage || !strings.Contains(errs, x.want) {
			t.Errorf("%v: exit code %d: %s", x.args, code, errs)
		}
	}
}

// TestExportDamaged turns bytes of a file all over: no form of export takes that for a fault of its own.
func TestExportDamaged(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=3,events=1k")
	whole, err := os.ReadFile(filepath.Join(dir, "run.xtf"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "damaged.xtf")
	others := []string{"chrome", "perfetto", "csv", "arrow"}
	files := 24
	if testing.Short() {
		files = 8
	}
	for i := range files {
		b := slices.Clone(whole)
		b[len(b)*i/files] ^= 0x10
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"viewer", others[i%len(others)]} {
			if code, _, errs := call("export", path, "--to", form, "-q", "-o", "-"); code > jobs.ExitResource {
				t.Errorf("byte %d, %s: exit code %d: %s", len(b)*i/files, form, code, errs)
			}
		}
	}
}
