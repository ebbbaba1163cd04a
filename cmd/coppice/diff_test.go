package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
)

// TestDiffOfCallSites compares two builds of a program, whose lines differ: calls of a function are compared whatever their lines.
func TestDiffOfCallSites(t *testing.T) {
	t.Parallel()
	build := func(line int) string {
		return foundTrace(t, fmt.Sprintf(`
-- definitions --
STRING self=0 string="MPI_Barrier"
STRING self=1 string="called from main (a.c:%d)"
STRING self=2 string="called from main (a.c:%d)"
REGION self=0 name=0 description=1 paradigm=4
REGION self=1 name=0 description=2 paradigm=4
-- program --
processes 1
-- events --
0 0 ENTER main
0 100 ENTER 0
0 200 LEAVE 0
0 300 ENTER 1
0 400 LEAVE 1
0 1000 LEAVE main
`, line, line+5))
	}
	a, b := build(10), build(11)
	must(t, "check", a)
	profile := must(t, "report", a, "profile")
	sum := regexp.MustCompile(`(?m)^MPI_Barrier +2 +.*\n  MPI_Barrier \(a\.c:1[05]\) +1 +.*\n  MPI_Barrier \(a\.c:1[05]\) +1 `)
	if !sum.MatchString(profile) {
		t.Errorf("no sum of the calls from two lines in\n%s", profile)
	}
	if text := must(t, "report", a, "profile", "--format", "csv"); strings.Count(text, "\nMPI_Barrier (") != 2 || strings.Contains(text, "\nMPI_Barrier,") {
		t.Errorf("not a line of each place in CSV, whose rows add up:\n%s", text)
	}
	var doc struct {
		Profile struct {
			Functions []struct {
				Name  string
				Calls int
				Sites []int
				Max   []int `json:"max_exclusive"`
			}
		}
	}
	if err := json.Unmarshal([]byte(must(t, "report", a, "profile", "--format", "json")), &doc); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(doc.Profile.Functions); got != "[{MPI_Barrier 2 [0 1] [200 0]}]" {
		t.Errorf("sums of functions: %s", got)
	}
	text := must(t, "diff", a, b, "--format", "csv")
	if strings.Contains(text, "a.c:") || !strings.Contains(text, "MPI_Barrier") {
		t.Error(text)
	}
}

// TestDiff compares two runs of generated programs through the command line: forms, verdicts and exit codes.
func TestDiff(t *testing.T) {
	t.Parallel()
	a := filepath.Join(analysed(t, "stencil:procs=4,events=4k,seed=1"), "run.xtf")
	slow := filepath.Join(analysed(t, "stencil:procs=4,events=4k,seed=1,work=400000"), "run.xtf")
	more := filepath.Join(analysed(t, "stencil:procs=6,events=6k,seed=1"), "run.xtf")
	page := filepath.Join(t.TempDir(), "d.html")
	for _, x := range []struct {
		name string
		args []string
		code int
		want string // in either stream
	}{
		{"identical", []string{a, a, "--max-slowdown", "0%"}, jobs.ExitDone, "the files are identical"},
		{"text", []string{a, slow}, jobs.ExitDone, "> worse: whole program"},
		{"slower", []string{a, slow, "--max-slowdown", "5%"}, jobs.ExitFound, "--max-slowdown 5%: "},
		{"faster", []string{slow, a, "--max-slowdown", "5%"}, jobs.ExitDone, "> better: whole program"},
		{"condition", []string{a, slow, "--fail-if", "execution.ratio>1.01"}, jobs.ExitFound, "execution.ratio of whole program is"},
		{"condition does not hold", []string{a, slow, "--fail-if", "bytes_out.change!=0"}, jobs.ExitDone, "made differently"},
		{"other numbers of processes", []string{a, more}, jobs.ExitDone, "times do not compare"},
		{"json", []string{a, slow, "--format", "json"}, jobs.ExitDone, `"schema": "coppice.diff/1"`},
		{"csv", []string{a, slow, "--format", "csv"}, jobs.ExitDone, "interval,whole program,execution,"},
		{"page", []string{a, slow, "-o", page}, jobs.ExitDone, ""},
		{"page is there", []string{a, slow, "-o", page}, jobs.ExitUsage, "d.html"},
		{"both thresholds", []string{a, slow, "--threshold", "1%", "--max-slowdown", "5%"}, jobs.ExitUsage, "choose one"},
		{"no share", []string{a, slow, "--threshold", "fast"}, jobs.ExitUsage, "give a share"},
		{"no condition", []string{a, slow, "--fail-if", "speed>1"}, jobs.ExitUsage, `no metric "speed"`},
		{"no interval", []string{a, slow, "--fail-if", "interval:none.lost>1"}, jobs.ExitUsage, "interval"},
		{"one file", []string{a}, jobs.ExitUsage, "1 operand given"},
		{"no file", []string{a, a + "x"}, jobs.ExitInput, "run.xtfx"},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := call(append([]string{"diff"}, x.args...)...)
			if code != x.code || !strings.Contains(out+errs, x.want) {
				t.Errorf("exit code %d, want %d\n%s%s", code, x.code, out, errs)
			}
		})
	}
	b, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") || !strings.Contains(string(b), "Two runs compared") {
		t.Errorf("%v: %.200s", err, b)
	}
	// The bars of the page are as wide as the numbers of the document.
	doc := must(t, "diff", a, slow, "--format", "json")
	value := func(name string) (v [2]float64) {
		m := regexp.MustCompile(`"name": "` + name + `",\s*"a": ([\d.]+),\s*"b": ([\d.]+)`).FindStringSubmatch(doc)
		if m == nil {
			t.Fatalf("no %s in\n%s", name, doc)
		}
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[1+i], 64)
		}
		return v
	}
	bars := regexp.MustCompile(`(?s)>([^<]+)</text>\s*<rect class="k-mgmt"[^>]* width="(\d+)"[^>]*/>\s*<rect class="k-coll"[^>]* width="(\d+)"`).FindAllStringSubmatch(string(b), -1)
	drawn := map[string][2]float64{}
	for _, m := range bars {
		x, _ := strconv.ParseFloat(m[2], 64)
		y, _ := strconv.ParseFloat(m[3], 64)
		drawn[m[1]] = [2]float64{x, y}
	}
	for _, name := range []string{"parallel_efficiency", "load_balance", "transfer_efficiency"} {
		got, want := drawn[strings.ReplaceAll(name, "_", " ")], value(name)
		for i := range got {
			if math.Abs(got[i]/560-want[i]) > 0.003 {
				t.Errorf("%s of run %d is a bar of %g of 560, want %g", name, i, got[i], want[i])
			}
		}
	}
	if x := drawn["compute"]; x[1] != 560 || x[0] >= x[1] {
		t.Errorf("the region that became slower has bars %v, of %v", x, drawn)
	}
}

// TestReportPage writes the page of runs of several kinds, of real traces too where they are.
func TestReportPage(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=4,events=4k,seed=1")
	graph := filepath.Join(dir, "graph.xtf")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", graph, "-q", "--events", "none", "-j", "1")
	one := filepath.Join(analysed(t, "ring:procs=1,events=1k"), "run.xtf")
	for _, x := range []struct {
		path      string
		want, not []string
	}{
		{filepath.Join(dir, "run.xtf"), []string{`id="waits"`, `id="ranks"`, `id="comm"`, `id="timeline"`, "of 4 processes together"}, nil},
		{graph, []string{`id="ranks"`, `id="timeline"`, "--events none"}, []string{`id="waits"`}},
		{one, []string{`id="ranks"`, `id="timeline"`, "Nothing but set-up and end above 1 % of the run"}, []string{`id="classes"`}},
	} {
		page := must(t, "report", x.path, "--format", "html")
		d := jsonOf[struct{ Summary struct{ Efficiency float64 } }](t, "report", x.path)
		if want := fmt.Sprintf("%.1f %% of ", 100-100*d.Summary.Efficiency); !strings.Contains(page, want) {
			t.Errorf("%s: lost time is not %sthe time that the efficiency is of", x.path, want)
		}
		if again := must(t, "report", x.path, "--format", "html"); again != page {
			t.Errorf("%s: two pages differ", x.path)
		}
		for _, w := range x.want {
			if !strings.Contains(page, w) {
				t.Errorf("%s: no %s", x.path, w)
			}
		}
		for _, w := range append(x.not, "http:", "https:", "%!", "<no value>", "NaN") {
			if strings.Contains(page, w) {
				t.Errorf("%s: it has %s", x.path, w)
			}
		}
	}
	for _, x := range []struct {
		args      []string
		want, not string
	}{
		{[]string{"pop", "paths"}, "Call paths by inclusive time", `id="summary"`},
		{[]string{"--lang", "ru"}, "Основные характеристики", "Main Characteristics"},
		{[]string{"--source", "graph"}, "From the call graph, exact", `id="waits"`},
		{[]string{"intervals", "--ranks", "0"}, "1 execution", `id="pop"`},
	} {
		page := must(t, append([]string{"report", graph, "--format", "html"}, x.args...)...)
		if !strings.Contains(page, x.want) || strings.Contains(page, x.not) {
			t.Errorf("%v: no %s, or %s", x.args, x.want, x.not)
		}
	}
}

// TestSetupOfRuns: how long set-up takes says nothing about a program that computes as it did. Two processes compute 200 and later 300, of 720
// both times because MPI_Init takes 100 less: the time from 500 to 710 and from 400 to 710 is compared, 210 and 310. And where MPI_Init
// TestScalingWithoutProcessor: of three runs, each of whose processes computes 800 ticks, the processes of one had no processor for 300 and 20 of them:
// 20 % of 1600. A run whose recorder tells of none, and one of no recorder, have no note.
func TestScalingWithoutProcessor(t *testing.T) {
	t.Parallel()
	run := func(processes int, delays ...uint64) string {
		text := fmt.Sprintf("-- program --\nprocesses %d\nresolution 1000\n-- events --\n", processes)
		for p := range processes {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 800 LEAVE main\n", p)
		}
		return foundTrace(t, text, func(o *analyze.Options) {
			d := o.Source.Definitions()
			name := uint32(len(d.Strings))
			d.Strings = append(d.Strings, trace.String{Ref: name, Value: trace.PropertyDelay})
			for p, ticks := range delays {
				d.LocationProperties = append(d.LocationProperties, trace.LocationProperty{Location: uint64(p), Name: name, Value: trace.Value{Type: trace.TypeUint64, Bits: ticks * 1e6}})
			}
			d.Seal()
		})
	}
	text := must(t, "report", "scaling", run(1, 8), run(2, 300, 20), run(4))
	if want := "run.xtf, 2 processes: for 20.0 % of what they compute they were ready to run and had no processor: computation and growth tell of that too"; !strings.Contains(text, want) || strings.Count(text, "no processor") != 1 {
		t.Error(text)
	}
}

// grows with the processes it is what a job of 64 mostly does, but not what its runtime without set-up grows by.
func TestSetupOfRuns(t *testing.T) {
	t.Parallel()
	run := func(processes, setup, compute int) string {
		text := fmt.Sprintf("-- definitions --\nSTRING self=0 string=\"computes %d\"\n-- program --\nprocesses %d\nresolution 1000\n-- events --\n", compute, processes) // the string makes files differ in identity
		for p := range processes {
			text += fmt.Sprintf("%[1]d 0 ENTER main\n%[1]d 0 ENTER MPI_Init\n%[1]d %[2]d LEAVE MPI_Init\n", p, setup) + meeting(p, setup+compute, setup+compute+10) +
				fmt.Sprintf("%[1]d %[2]d ENTER MPI_Finalize\n%[1]d %[3]d LEAVE MPI_Finalize\n%[1]d %[3]d LEAVE main\n", p, setup+compute+10, setup+compute+20)
		}
		return foundTrace(t, text)
	}
	a, b := run(2, 500, 200), run(2, 400, 300)
	worse := "worse: whole program: 0.310 s, was 0.210 (+47.6 %)\n    a process spends 0.100 s more in computing on average"
	if text := must(t, "diff", a, b); !strings.Contains(text, worse) || !strings.Contains(text, "a process spends 0.100 s less in them on average") {
		t.Error(text)
	}
	if text := must(t, "diff", a, b, "--init", "include"); !strings.Contains(text, "no interval got worse or better") {
		t.Error(text)
	}
	args := []string{"report", "scaling", run(2, 100, 800), run(4, 400, 400), run(8, 1600, 200), "--at", "64"}
	if text := must(t, args...); strings.Contains(text, "MPI_Init dominates") || !strings.Contains(text, "times are without MPI_Init and MPI_Finalize") {
		t.Error(text)
	}
	if text := must(t, append(args, "--init", "include")...); !strings.Contains(text, "with 64 processes MPI_Init dominates") {
		t.Error(text)
	}
}

// TestDiffOfLibraries: solve takes 200 more in the second run, and the system's sin, which it calls, 300 more: that is no function of the program.
func TestDiffOfLibraries(t *testing.T) {
	t.Parallel()
	run := func(solve, sin int) string {
		return foundTrace(t, fmt.Sprintf(`
-- definitions --
STRING self=0 string="sin"
STRING self=1 string="function of libm.so.6"
REGION self=0 name=0 description=1 paradigm=2
-- program --
processes 1
resolution 1000
-- events --
0 0 ENTER main
0 100 ENTER solve
0 %[1]d ENTER 0
0 %[2]d LEAVE 0
0 %[2]d LEAVE solve
0 %[3]d LEAVE main
`, 100+solve, 100+solve+sin, 200+solve+sin))
	}
	a, b := run(400, 100), run(600, 400)
	for second, want := range map[string]string{
		b:             "of the program's functions solve changed most: a process spends 0.200 s more there on average\n    of libraries' functions sin changed most: a process spends 0.300 s more there on average\n",
		run(500, 150): "of the program's functions solve changed most: a process spends 0.100 s more there on average\n>",
	} {
		if text := must(t, "diff", a, second); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
