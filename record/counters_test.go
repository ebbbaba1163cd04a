package record

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

func TestCountersText(t *testing.T) {
	for _, x := range []struct {
		names, want, wrong string
	}{
		{"", "", ""},
		{"cycles,task-clock", "cycles=0:0,task-clock=1:1", ""},
		{"r01c2,instructions", "r01c2=4:1c2,instructions=0:1", ""},
		{"ref-cycles", "ref-cycles=0:9", ""},
		{"instructins", "", `"instructins"; there are`},
		{"rxyz", "", `"rxyz"`},
		{"cycles,cycles", "", "twice"},
		{"r1,r2,r3,r4,r5,r6,r7,r8,r9", "", "at most 8"},
	} {
		got, err := countersText(strings.FieldsFunc(x.names, func(r rune) bool { return r == ',' }))
		if got != x.want || (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%s: %q, %v", x.names, got, err)
		}
	}
}

// TestCounters records counters of the kernel, which it has without hardware too: they are before every enter and leave, grow,
// and other tools read them.
func TestCounters(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	names := []string{"task-clock", "page-faults"}
	r, _, errs := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "regions.c")), Counters: names})
	if why, ok := r.Uncounted[0]; ok {
		t.Skipf("the kernel does not count: %s", why)
	}
	if len(r.Uncounted) > 0 || strings.Contains(errs, "not counted") {
		t.Errorf("%v, %s", r.Uncounted, errs)
	}
	if res := analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf")); res.Partial || len(res.Codes) > 0 {
		t.Errorf("partial %v, %v", res.Partial, res.Codes)
	}
	if tool, err := exec.LookPath("otf2-print"); err == nil {
		if b, err := exec.Command(tool, "-Werror", "--silent", r.Archive).CombinedOutput(); err != nil {
			t.Errorf("otf2-print: %v\n%.2000s", err, b)
		}
	}
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := src.Definitions()
	var have []string
	for i := range d.MetricMembers {
		have = append(have, d.Text(d.MetricMembers[i].Name))
	}
	for i, name := range have { // where the kernel leaves itself out
		have[i] = strings.TrimSuffix(name, ":u")
	}
	if !slices.Equal(have, names) || len(d.MetricClasses) != 1 || !slices.Equal(d.MetricClasses[0].Members, []uint32{0, 1}) {
		t.Fatalf("counters %v, classes %v", have, d.MetricClasses)
	}
	for p := range trace.P(d.NumLocations()) {
		metered(t, src, p)
	}
}

// metered fails unless the counters of a location are before every enter and leave, and do not shrink.
func metered(t *testing.T, src trace.Source, p trace.P) {
	t.Helper()
	s, err := src.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last [2]uint64
	var before trace.Event
	edges := 0
	for i := range s.Chunks() {
		r, err := s.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		var b trace.Batch
		for r.Next(&b) == nil {
			for j := range b.Events {
				e := b.Events[j]
				switch e.Kind {
				case trace.Metric:
					w := b.Words(&e) // class, how many, and type and value of each
					if len(w) != 6 || w[0] != 0 || w[1] != 2 || w[3] < last[0] || w[5] < last[1] {
						t.Fatalf("location %d: %v after %v", p, w, last)
					}
					last = [2]uint64{w[3], w[5]}
				case trace.Enter, trace.Leave:
					edges++
					if before.Kind != trace.Metric || before.Time != e.Time {
						t.Fatalf("location %d: %v at %d without counters", p, e.Kind, e.Time)
					}
				}
				before = e
			}
		}
		r.Close()
	}
	if edges < 20 || last[0] == 0 || last[1] == 0 {
		t.Errorf("location %d: %d enters and leaves, at the end %v", p, edges, last)
	}
}

// TestCountersRefused asks for a counter of the processor. Where it cannot be had the program runs, and the user hears of it.
func TestCountersRefused(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	r, _, errs := l.runRecorded(t, Options{Command: l.launch(2, l.compileProgram(t, "regions.c")), Counters: []string{"rffffff"}})
	if r.Exit != 0 || len(r.Found) > 0 {
		t.Errorf("status %d, %v", r.Exit, r.Found)
	}
	if len(r.Uncounted) > 0 && (!strings.HasPrefix(r.Uncounted[1], "rffffff: ") || strings.Count(errs, "not counted") != 1) {
		t.Errorf("%v, %s", r.Uncounted, errs)
	}
}
