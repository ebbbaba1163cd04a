package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// sliced is a generated program analysed with intervals of equal length.
func sliced(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", programs[0])
	file := filepath.Join(dir, "run.xtf")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", file, "-q", "-j", "2", "--slice-count", "3")
	return file
}

// intervalsJSON is what tests read of the section.
type intervalsJSON struct {
	Intervals struct {
		Options map[string]string `json:"options"`
		Nodes   []struct {
			Path       []int          `json:"path"`
			Name       string         `json:"name"`
			ID         uint64         `json:"id"`
			Efficiency *float64       `json:"efficiency"`
			Ticks      map[string]any `json:"ticks"`
			Waits      map[string]any `json:"waits"`
			Stats      map[string]struct {
				Sum uint64 `json:"sum"`
			} `json:"stats"`
			Each []struct {
				K         uint64 `json:"k"`
				Execution uint64 `json:"execution"`
				CPU       uint64 `json:"cpu"`
			} `json:"executions"`
		} `json:"nodes"`
	} `json:"intervals"`
}

// TestIntervals reports intervals in every form and compares the forms.
func TestIntervals(t *testing.T) {
	t.Parallel()
	file := sliced(t)
	x := jsonOf[intervalsJSON](t, "report", file, "intervals", "--per-execution").Intervals
	if len(x.Nodes) != 4 || x.Options["mpi_productive"] != "mean" || x.Options["marker_cost"] != "overhead" {
		t.Fatalf("%+v", x)
	}
	for _, item := range []string{"time", "cpu", "mpi", "late_sender", "wait_nxn"} {
		sum := uint64(0)
		for _, n := range x.Nodes[1:] {
			sum += n.Stats[item].Sum
		}
		if root := x.Nodes[0].Stats[item].Sum; sum != root {
			t.Errorf("%s of all slices is %d, of the whole program %d", item, sum, root)
		}
	}
	for _, n := range x.Nodes[1:] {
		if len(n.Each) != 1 || n.Each[0].CPU != n.Stats["cpu"].Sum || float64(n.Each[0].Execution) != n.Ticks["execution"] {
			t.Errorf("execution %+v of %+v", n.Each, n.Ticks)
		}
	}
	text := must(t, "report", file, "intervals", "--details", "--limit", "3", "--ordered", "cpu")
	for _, want := range []string{"Level=1 EXE_Count=1 Id=2 Name=slice", " ---Wait States---\n", " ---cpu by rank---\n@"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	table := filepath.Join(t.TempDir(), "i.csv")
	must(t, "report", file, "intervals", "-o", table)
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil || len(rows) != 1+4*6 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if screen := must(t, "report", file); !strings.Contains(screen, "└ slice 2") || !strings.Contains(screen, "waits --time interval:#") {
		t.Errorf("first screen:\n%s", screen)
	}
	one := must(t, "report", file, "intervals", "--time", "interval:#2[0]")
	if want := fmt.Sprintf("Execution Time               %s", secondsOf(x.Nodes[2].Ticks["execution"])); !strings.Contains(one, want) {
		t.Errorf("no %q in\n%s", want, one)
	}
}

// secondsOf prints ticks of a nanosecond as the layout does, where they round down.
func secondsOf(ticks any) string { return fmt.Sprintf("%.6f", ticks.(float64)/1e9) }

// TestSectionsOfPart runs waits and pop for parts of a run, in every form.
func TestSectionsOfPart(t *testing.T) {
	t.Parallel()
	file := sliced(t)
	for _, section := range []string{"waits", "pop", "intervals"} {
		for _, part := range [][]string{nil, {"--ranks", "1-3"}, {"--time", "20%..80%"}, {"--time", "interval:#1"}, {"--time", "interval:#1[0]", "--ranks", "2"}} {
			for _, format := range []string{"text", "json", "csv"} {
				args := append([]string{"report", file, section, "--format", format}, part...)
				if out := must(t, args...); len(out) < 100 {
					t.Errorf("%v: %q", args, out)
				}
			}
		}
	}
}

func TestFailIf(t *testing.T) {
	t.Parallel()
	file := sliced(t)
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--fail-if", "efficiency<0.01"}, jobs.ExitDone, ""},
		{[]string{"--fail-if", "efficiency<0.01", "--fail-if", "calls>0"}, jobs.ExitFound, "calls>0: calls of whole program is "},
		{[]string{"--fail-if", "interval:#1.processors!=6"}, jobs.ExitDone, ""},
		{[]string{"--fail-if", "interval:#1.processors==6"}, jobs.ExitFound, "processors of slice 0 is 6"},
		{[]string{"--fail-if", "interval:slice.lost>0"}, jobs.ExitUsage, "3 have this name, choose one of #1, #2, #3"},
		{[]string{"--fail-if", "interval:solve.lost>0"}, jobs.ExitUsage, `"solve": not an interval of the run: it has root, slice`},
		{[]string{"--fail-if", "lots>0"}, jobs.ExitUsage, "character 1"},
		{[]string{"--mpi-productive", "best"}, jobs.ExitUsage, "choose mean, min, max, rank0 or none"},
		{[]string{"--processors", "some"}, jobs.ExitUsage, "choose participants or all"},
		{[]string{"--format", "csv"}, jobs.ExitUsage, "choose one section"},
		{[]string{"--time", "1s..2s"}, jobs.ExitUsage, "add one"},
		{[]string{"--details"}, jobs.ExitUsage, "intervals --details"},
		{[]string{"intervals", "--time", "2s"}, jobs.ExitUsage, "give a span A..B"},
		{[]string{"intervals", "--time", "interval:#1[7]"}, jobs.ExitUsage, "it has executions 0 to 0"},
		{[]string{"intervals", "--ordered", "speed"}, jobs.ExitUsage, "no component"},
		{[]string{"intervals", "--lang", "fr"}, jobs.ExitUsage, "choose en or ru"},
	} {
		code, _, errs := call(append([]string{"report", file}, x.args...)...)
		if code != x.code || !strings.Contains(errs, x.says) {
			t.Errorf("%v: exit code %d, %s", x.args, code, errs)
		}
	}
}

// TestAnalyzeFailIf checks the exit status of an analysis with conditions: its
// file is there.
func TestAnalyzeFailIf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", programs[1])
	file := filepath.Join(dir, "run.xtf")
	for _, x := range []struct {
		condition string
		code      int
	}{{"calls>0", jobs.ExitFound}, {"calls==0", jobs.ExitDone}, {"call==0", jobs.ExitUsage}, {"interval:x.calls>0", jobs.ExitUsage}} {
		code, _, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", file, "-f", "-q", "-j", "3", "--fail-if", x.condition)
		if code != x.code {
			t.Errorf("%s: exit code %d, %s", x.condition, code, errs)
		}
	}
	must(t, "report", file)
}

// TestScalingOfArchives compares real runs of one program.
func TestScalingOfArchives(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	traces := sharedTraces(t)
	dir := t.TempDir()
	var files []string
	for _, n := range []int{2, 4, 8} {
		file := filepath.Join(dir, fmt.Sprintf("lu-%d.xtf", n))
		code, _, errs := call("analyze", filepath.Join(traces, fmt.Sprintf("npb-lu.S-%d", n)), "-o", file, "-q")
		if code != jobs.ExitDone {
			t.Fatal(errs)
		}
		files = append(files, file)
	}
	x := jsonOf[struct {
		Schema  string
		Mode    string
		Runs    []struct{ Processes int }
		Regions []struct {
			Name   string
			Growth *struct{ Points int }
		}
		Intervals []struct {
			Points []struct {
				Parallel, Global, Computation float64
				Load                          float64 `json:"load_balance"`
				Communication                 float64
				Serialisation, Transfer       float64
			}
		}
	}](t, append([]string{"report", "scaling", "--mode", "strong", "--at", "1024"}, files...)...)
	if x.Schema != "coppice.scaling/1" || x.Mode != "strong" || len(x.Runs) != 3 || x.Runs[2].Processes != 8 || len(x.Regions) < 5 || x.Regions[0].Growth == nil {
		t.Fatalf("%+v", x)
	}
	for _, p := range x.Intervals[0].Points {
		for name, d := range map[string]float64{
			"parallel": p.Parallel - p.Load*p.Communication, "communication": p.Communication - p.Serialisation*p.Transfer, "global": p.Global - p.Parallel*p.Computation,
		} {
			if d > 1e-12 || d < -1e-12 {
				t.Errorf("%s is not the product of its factors: %+v", name, p)
			}
		}
	}
	if code, _, errs := call("report", "scaling", files[0]); code != jobs.ExitUsage {
		t.Errorf("one run: %d %s", code, errs)
	}
	if code, _, errs := call("report", "scaling", files[0], files[0]); code != jobs.ExitUsage || !strings.Contains(errs, "different numbers") {
		t.Errorf("the same run twice: %d %s", code, errs)
	}
}

// TestModeOfArchives compares runs of NPB, class S, which are strong scaling on fewer processors than processes: what they compute grows
// on more processes, so nothing tells; never are they called weak. As strong scaling with MPI_Init, the speed-up of LU on 16 processes is
// the runtime on 2 over that on 16: 263149270 ns / 1102591277 ns = 0.2387, the lengths that the clock properties of the archives have.
func TestModeOfArchives(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	traces := sharedTraces(t)
	dir := t.TempDir()
	type scaling struct {
		Mode      string
		Intervals []struct {
			Points []struct{ Speedup float64 }
		}
		Weak []json.RawMessage `json:"intervals_weak"`
	}
	for _, x := range []struct {
		program string
		sizes   []int
	}{{"mg", []int{4, 8}}, {"lu", []int{2, 4, 8, 16}}, {"cg", []int{4, 8, 16}}, {"is", []int{4, 8, 16}}, {"mg", []int{4, 8, 16}}} {
		if testing.Short() && len(x.sizes) == 3 {
			continue
		}
		args := []string{"report", "scaling"}
		for _, n := range x.sizes {
			file := filepath.Join(dir, fmt.Sprintf("%s-%d.xtf", x.program, n))
			if code, _, errs := call("analyze", filepath.Join(traces, fmt.Sprintf("npb-%s.S-%d", x.program, n)), "-o", file, "-q", "-f", "--init", "include"); code != jobs.ExitDone {
				t.Fatal(errs)
			}
			args = append(args, file)
		}
		if s := jsonOf[scaling](t, args...); s.Mode != "undecided" || len(s.Weak) != len(s.Intervals) {
			t.Errorf("%s on %d processes: %s", x.program, x.sizes, s.Mode)
		}
		if x.program == "lu" {
			s := jsonOf[scaling](t, append(args, "--mode", "strong", "--init", "include")...)
			if v := s.Intervals[0].Points[3].Speedup; s.Mode != "strong" || len(s.Weak) > 0 || math.Abs(v-0.2387) > 0.00005 {
				t.Errorf("LU is %s scaling with a speed-up of %v, want 0.2387", s.Mode, v)
			}
		}
	}
}

// TestHelpTopics checks that every topic is found, and what is printed where there is no such topic.
func TestHelpTopics(t *testing.T) {
	t.Parallel()
	files, err := topicFiles.ReadDir("topics")
	if err != nil || len(files) != len(topicNames) {
		t.Errorf("%d files for %d topics (%v)", len(files), len(topicNames), err)
	}
	for _, name := range topicNames {
		if out := must(t, "help", name); topicText(name) == "" || !strings.HasPrefix(out, topicText(name)) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := must(t, "help", "report"); !strings.Contains(out, "--fail-if") {
		t.Error(out)
	}
	if code, _, errs := call("help", "wait"); code != jobs.ExitUsage || !strings.Contains(errs, "intervals, waits, pop, conditions, formats, slurm, config, exit-codes") {
		t.Errorf("%d %s", code, errs)
	}
}
