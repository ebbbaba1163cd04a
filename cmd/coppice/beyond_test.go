package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestTimesBeyond64Bits analyses five locations of 2^62 ticks, which together take more than 64 bits hold. The whole run's sums
// say that they do not know it, and what reports print comes from the locations.
func TestTimesBeyond64Bits(t *testing.T) {
	text := "-- program --\nprocesses 5\n-- events --\n"
	for p := range 5 {
		text += fmt.Sprintf("%d 0 ENTER main\n%d %d LEAVE main\n", p, p, uint64(1)<<62)
	}
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, events := range []string{"all", "none"} {
		run := filepath.Join(dir, events+".xtf")
		must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", run, "-q", "--events", events)
		if code, out, errs := call("check", run); code != 0 {
			t.Errorf("events %s: check has exit code %d\n%s%s", events, code, out, errs)
		}
		for _, section := range []string{"summary", "profile"} {
			out := must(t, "report", run, section)
			if strings.Contains(out, "outside") || !strings.Contains(out, "100.0 %") {
				t.Errorf("events %s: main is not all of the time:\n%s", events, out)
			}
		}
	}
}
