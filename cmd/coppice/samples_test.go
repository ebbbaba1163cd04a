package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// sampledProgram is a trace of a timer that interrupts every 10 ticks, in three forms.
//
// Process 0, as lo2s writes it: the thread is a recorded call, samples lie every 10 ticks from 0 to 990, of ten three in
// solve and seven in pack, both called by main, and each distance says that all frames above the thread are new. So solve
// has 30 of 100 samples and 300 of 1000 ticks, pack 70 and 700; main is open from 0 to 1000 and is never innermost.
//
// Process 1, as Score-P writes it, with a recorded barrier and distances that tell which frames are new:
//
//	main  0-90                   20: 0-10 80-90
//	  pack  10-40                10: 30-40
//	    MPI_Barrier 10-30        20, recorded; it is left at another place of the source than it was entered
//	  fact  40-80                40, of which the outermost call has 40-50
//	    fact  50-70, 70-80       60-80; the distance at 70 says that a new call is in progress
//	      fact  50-60            10
//
// Process 2: main is recorded without context, 0 to 130. The sample at 10 says nothing of it and is left out. The next one
// comes at 110, 100 ticks later, and says that main called solve: 20 ticks until main ends.
func sampledProgram(t *testing.T) trace.Source {
	t.Helper()
	var b strings.Builder
	b.WriteString(contextDefinitions([]string{"thread", "main", "solve", "pack", "fact", "MPI_Barrier", "timer"}, [][2]int{
		{0, -1}, {1, 0}, {2, 1}, {3, 1}, // 0 to 3: thread, main, solve, pack
		{1, -1}, {3, 4}, {5, 5}, {5, 5}, {4, 4}, {4, 8}, {4, 9}, // 4 to 10: main, pack, MPI_Barrier twice, fact, fact, fact
		{2, -1}, {2, 4}, // 11 and 12: solve, and called by main
	}))
	b.WriteString("INTERRUPT_GENERATOR self=0 name=6 interrupt_generator_mode=0 base=1 exponent=-9 period=10\n-- program --\nprocesses 3\n-- events --\n")
	b.WriteString("0 0 CALLING_CONTEXT_ENTER 0 2\n")
	for i := range 100 {
		context := 2
		if i%10 >= 3 {
			context = 3
		}
		fmt.Fprintf(&b, "0 %d CALLING_CONTEXT_SAMPLE %d 3 0\n", 10*i, context)
	}
	b.WriteString(`0 1000 CALLING_CONTEXT_LEAVE 0
1 0 CALLING_CONTEXT_SAMPLE 4 2 0
1 10 CALLING_CONTEXT_ENTER 6 3
1 30 CALLING_CONTEXT_LEAVE 7
1 40 CALLING_CONTEXT_SAMPLE 8 2 0
1 50 CALLING_CONTEXT_SAMPLE 10 3 0
1 60 CALLING_CONTEXT_SAMPLE 9 1 0
1 70 CALLING_CONTEXT_SAMPLE 9 2 0
1 80 CALLING_CONTEXT_SAMPLE 4 1 0
1 90 CALLING_CONTEXT_SAMPLE 4 1 0
2 0 ENTER main
2 10 CALLING_CONTEXT_SAMPLE 11 2 0
2 110 CALLING_CONTEXT_SAMPLE 12 2 0
2 130 LEAVE main
`)
	src, err := tracetest.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// contextDefinitions are strings, a region for each, and calling contexts: of a region, and its parent or -1.
func contextDefinitions(names []string, contexts [][2]int) string {
	b := "-- definitions --\n"
	for i, name := range names {
		paradigm := 1
		if strings.HasPrefix(name, "MPI_") {
			paradigm = int(trace.ParadigmMPI)
		}
		b += fmt.Sprintf("STRING self=%d string=%q\nREGION self=%d name=%d source_file=%d paradigm=%d\n", i, name, i, i, uint32(trace.Undefined), paradigm)
	}
	for i, c := range contexts {
		b += fmt.Sprintf("CALLING_CONTEXT self=%d region=%d source_code_location=%d parent=%d\n", i, c[0], uint32(trace.Undefined), uint32(c[1]))
	}
	return b
}

// sampledTime is a line of a profile or of the call paths.
type sampledTime struct {
	Name                        string
	Depth                       int
	Calls, Inclusive, Exclusive uint64
	Samples                     uint64
	Estimated                   uint64 `json:"estimated_calls"`
}

// TestSamples: calls that samples and calling contexts tell of are in profile and call paths, with samples; the report says
// that they are estimated; what was recorded is written again as it was, and nothing else.
func TestSamples(t *testing.T) {
	t.Parallel()
	src := sampledProgram(t)
	dir := t.TempDir()
	if _, err := otf2.Copy(filepath.Join(dir, "archive"), "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", run, "-q", "-j", "1")
	first, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.xtf")
	must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", other, "-q", "-j", "3")
	if b, err := os.ReadFile(other); err != nil || !bytes.Equal(b, first) {
		t.Errorf("three ranks make another file than one: %v", err)
	}
	if out := must(t, "check", run); !strings.Contains(out, "clean") {
		t.Error(out)
	}
	graph := filepath.Join(dir, "graph.xtf")
	must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", graph, "-q", "--events", "none")
	profiles := [][]sampledTime{
		{{"thread", 0, 1, 1000, 0, 0, 0}, {"main", 0, 0, 1000, 0, 0, 1}, {"solve", 0, 0, 300, 300, 30, 10}, {"pack", 0, 0, 700, 700, 70, 10}},
		{{"main", 0, 0, 90, 20, 3, 1}, {"pack", 0, 0, 30, 10, 0, 1}, {"fact", 0, 0, 40, 40, 4, 4}, {"MPI_Barrier", 0, 1, 20, 20, 0, 0}},
		{{"main", 0, 1, 130, 110, 1, 0}, {"solve", 0, 0, 20, 20, 1, 1}},
	}
	paths := [][]sampledTime{
		{{"thread", 1, 1, 1000, 0, 0, 0}, {"main", 2, 0, 1000, 0, 0, 1}, {"solve", 3, 0, 300, 300, 30, 10}, {"pack", 3, 0, 700, 700, 70, 10}},
		{
			{"main", 1, 0, 90, 20, 3, 1},
			{"pack", 2, 0, 30, 10, 0, 1},
			{"MPI_Barrier", 3, 1, 20, 20, 0, 0},
			{"fact", 2, 0, 40, 10, 1, 1},
			{"fact", 3, 0, 30, 20, 2, 2},
			{"fact", 4, 0, 10, 10, 1, 1},
		},
		{{"main", 1, 1, 130, 110, 1, 0}, {"solve", 2, 0, 20, 20, 1, 1}},
	}
	for p := range 3 {
		for _, file := range []string{run, graph} {
			doc := jsonOf[struct {
				Profile struct{ Regions []sampledTime }
				Paths   struct{ Paths []sampledTime }
			}](t, "report", file, "profile", "paths", "--ranks", fmt.Sprint(p))
			if diff := cmp.Diff(profiles[p], doc.Profile.Regions); diff != "" {
				t.Errorf("%s: profile of process %d (-want +got):\n%s", filepath.Base(file), p, diff)
			}
			if diff := cmp.Diff(paths[p], doc.Paths.Paths[1:]); diff != "" { // the first is outside all calls
				t.Errorf("%s: call paths of process %d (-want +got):\n%s", filepath.Base(file), p, diff)
			}
		}
	}
	text := must(t, "report", run)
	for _, want := range []string{"their times are estimated from 109 samples (timer every 10 ns)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "sampled call paths are not analysed") {
		t.Error("the report says that samples are not analysed")
	}
	profile := must(t, "report", run, "profile", "--ranks", "0")
	if !strings.Contains(profile, "18.3 %") || !strings.Contains(profile, "12.0 %") { // 1/sqrt(30), 1/sqrt(70)
		t.Errorf("errors of 30 and 70 samples:\n%s", profile)
	}
	diagnostics := must(t, "report", run, "diagnostics")
	for _, want := range []string{"frames-left-out", "sample-gap", "sampled"} {
		if !strings.Contains(diagnostics, want) {
			t.Errorf("no %s:\n%s", want, diagnostics)
		}
	}

	want := eventLines(t, src)
	for _, file := range []string{run, graph} {
		again := filepath.Join(dir, "again-"+filepath.Base(file))
		must(t, "export", file, "--to", "otf2", "-o", again, "-q")
		a, err := otf2.OpenPath(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, eventLines(t, a)); diff != "" {
			t.Errorf("%s: written again (-want +got):\n%s", filepath.Base(file), diff)
		}
		a.Close()
	}
	slice := filepath.Join(dir, "slice")
	must(t, "export", run, "--to", "otf2", "-o", slice, "-q", "--time", "#45..#75")
	a, err := otf2.OpenPath(slice)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	sliced := `0 45 CALLING_CONTEXT_ENTER 0 2
0 50 CALLING_CONTEXT_SAMPLE 3 3 0
0 60 CALLING_CONTEXT_SAMPLE 3 3 0
0 70 CALLING_CONTEXT_SAMPLE 3 3 0
0 75 CALLING_CONTEXT_LEAVE 0
1 50 CALLING_CONTEXT_SAMPLE 10 3 0
1 60 CALLING_CONTEXT_SAMPLE 9 1 0
1 70 CALLING_CONTEXT_SAMPLE 9 2 0
2 45 ENTER main
2 75 LEAVE main
`
	if diff := cmp.Diff(slices.Collect(strings.Lines(sliced)), eventLines(t, a)); diff != "" {
		t.Errorf("a slice (-want +got):\n%s", diff)
	}
}

// TestUnwound: a tracer unwinds the stack at recorded calls and takes no samples. The two barriers lie in f, which no record
// enters, and f in main, 0 to 30: f begins at the first one, at 5, and is still open when main ends. So f has 25 ticks, of
// which the barriers have 5 and 10.
func TestUnwound(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(contextDefinitions([]string{"main", "f", "MPI_Barrier"}, [][2]int{{0, -1}, {1, 0}, {2, 1}}) + `-- program --
processes 1
-- events --
0 0 CALLING_CONTEXT_ENTER 0 2
0 5 CALLING_CONTEXT_ENTER 2 3
0 10 CALLING_CONTEXT_LEAVE 2
0 15 CALLING_CONTEXT_ENTER 2 2
0 25 CALLING_CONTEXT_LEAVE 2
0 30 CALLING_CONTEXT_LEAVE 0
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(filepath.Join(dir, "archive"), "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", run, "-q")
	doc := jsonOf[struct {
		Profile struct{ Regions []sampledTime }
	}](t, "report", run, "profile")
	want := []sampledTime{{"main", 0, 1, 30, 5, 0, 0}, {"f", 0, 0, 25, 10, 0, 1}, {"MPI_Barrier", 0, 2, 15, 15, 0, 0}}
	if diff := cmp.Diff(want, doc.Profile.Regions); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"report", run}, {"report", run, "profile"}, {"report", run, "paths"}} {
		if text := must(t, args...); !strings.Contains(text, "estimated from the calling contexts of recorded calls") {
			t.Errorf("%v does not say that f is estimated:\n%s", args[2:], text)
		}
	}
}

// eventLines are the events of a trace as text.
func eventLines(t *testing.T, src trace.Source) (list []string) {
	d := src.Definitions()
	for p := range trace.P(d.NumLocations()) {
		jobtest.EachEvent(t, src, p, func(b *trace.Batch, e *trace.Event) {
			line := fmt.Sprintf("%d %d %s", p, e.Time, e.Kind.Info().Label)
			if e.Kind == trace.Enter || e.Kind == trace.Leave {
				line += " " + d.Text(d.Region(e.Ref).Name)
			}
			for _, w := range b.Words(e) {
				line += fmt.Sprintf(" %d", w)
			}
			list = append(list, line+"\n")
		})
	}
	return list
}
