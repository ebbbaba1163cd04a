package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestManual: every verb has a page with all its flags, which groff formats without a warning.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "manual", dir)
	overview, err := os.ReadFile(filepath.Join(dir, "coppice.1"))
	if err != nil {
		t.Fatal(err)
	}
	all := everyVerb(commands(streams{}))
	goType := regexp.MustCompile(`(?m)^\.B .*\\-\\-\S+ [a-z0-9]+$`) // where a value needs a name that tells what to write
	if len(all) < 27 {
		t.Fatalf("%d verbs and parts", len(all))
	}
	for _, c := range all {
		page, err := os.ReadFile(filepath.Join(dir, pageName(c)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		if verb, _, _ := strings.Cut(nameOf(c), " "); !strings.Contains(string(overview), ".B "+verb) || c.Example == "" {
			t.Errorf("%s: not in the overview, or without examples", nameOf(c))
		}
		if bare := goType.Find(page); bare != nil {
			t.Errorf("%s: %s", nameOf(c), bare)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(page), roff("--"+f.Name)) {
				t.Errorf("%s: no --%s", nameOf(c), f.Name)
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
