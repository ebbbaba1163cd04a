package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestManual: every verb has a page with all its flags, which groff formats without a warning.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	must(t, "manual", dir)
	overview, err := os.ReadFile(filepath.Join(dir, "coppice.1"))
	if err != nil {
		t.Fatal(err)
	}
	all := describe()
	if len(all) < len(verbs()) {
		t.Fatalf("%d verbs", len(all))
	}
	for _, d := range all {
		page, err := os.ReadFile(filepath.Join(dir, "coppice-"+strings.ReplaceAll(d.name, " ", "-")+".1"))
		if err != nil {
			t.Fatal(err)
		}
		if verb, _, part := strings.Cut(d.name, " "); !strings.Contains(string(overview), ".B "+verb) || part && len(d.examples) == 0 {
			t.Errorf("%s: not in the overview, or without examples", d.name)
		}
		if d.flags == nil {
			continue
		}
		d.flags.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(page), roff("--"+f.Name)) {
				t.Errorf("%s: no --%s", d.name, f.Name)
			}
		})
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("no groff to format the pages")
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, p := range pages {
		if out, err := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z", p).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", p, err, out)
		}
	}
}

// TestCompletion asks a shell to complete.
func TestCompletion(t *testing.T) {
	script := filepath.Join(t.TempDir(), "coppice")
	if err := os.WriteFile(script, []byte(must(t, "completion", "bash")), 0o666); err != nil {
		t.Fatal(err)
	}
	ask := `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _coppice; echo "${COMPREPLY[*]}"`
	for words, want := range map[string]string{
		"coppice ana":                "analyze",
		"coppice analyze --dendro":   "--dendrogram",
		"coppice capacity ext":       "extract",
		"coppice capacity solve --p": "--plot",
		"coppice help exit":          "exit-codes",
		"coppice completion f":       "fish",
		"coppice report --no-such":   "",
	} {
		cmd := exec.Command("bash", append([]string{"-c", ask, script}, strings.Fields(words)...)...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", words, got, want, err)
		}
	}
	for _, shell := range shells {
		if text := must(t, "completion", shell); !strings.Contains(text, "clock-repair") {
			t.Errorf("%s: no flags in %s", shell, text)
		}
	}
	if code, _, errs := call("completion", "tcsh"); code != 2 || !strings.Contains(errs, "bash, zsh, fish") {
		t.Errorf("status %d: %s", code, errs)
	}
}
