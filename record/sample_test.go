package record

import (
	"debug/elf"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestSamples compares where samples found a program with its own clock, with the lines of its source, and with what the report
// says: the function that is late. Call sites are recorded next to them. A tracer would get the traps of a counter: a timer comes in its place.
// A program that takes them for itself is not ended by them.
func TestSamples(t *testing.T) {
	const ticks = "timer of processor time"
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "sampled.c", "-g", "-O1")
		for name, command := range map[string][]string{"plain": {program}, "traced": {"strace", "-f", "-o", os.DevNull, program}, "takes": {program, "SIGTRAP"}} {
			t.Run(l.cc+"/"+name, func(t *testing.T) {
				if _, err := exec.LookPath(command[0]); err != nil {
					t.Skip("no strace: scripts/setup --test installs it")
				}
				r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, command...), Sample: time.Millisecond, Sites: 4})
				var heavy, light float64
				if _, err := fmt.Sscan(out, &heavy, &light); err != nil || r.Exit != 0 {
					t.Fatalf("%v, status %d: %q\n%s", err, r.Exit, out, errs)
				}
				src, err := otf2.OpenPath(r.Archive)
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				d := src.Definitions()
				by := d.Text(d.InterruptGenerators[0].Name)
				period, ok := d.PeriodTicks(&d.InterruptGenerators[0])
				if !ok || name == "traced" && by != ticks || by != ticks && period*1000 != d.Clock().TimerResolution {
					t.Fatalf("%s every %d ticks", by, period)
				}
				in := samplesOf(t, src)
				n := shares(t, in, [2]float64{heavy, light})
				want := (heavy + light) * float64(d.Clock().TimerResolution) / float64(period)
				t.Logf("%s: %.0f periods of %d ticks", by, want, period)
				if n > 1.1*want || n < 0.1*want { // on a shared processor periods end between two ticks, and come at a later one: how many depends on what else runs
					t.Errorf("%v samples, by the clock %.0f", n, want)
				}
				if name != "plain" {
					return
				}
				for _, function := range [...]string{"heavy", "light"} {
					declaredAt(t, d, function)
				}
				if path, err := exec.LookPath("otf2-print"); err == nil {
					if text, err := exec.Command(path, "-Werror", r.Archive).CombinedOutput(); err != nil {
						t.Errorf("otf2-print: %v %s", err, text[max(0, len(text)-500):])
					}
				}
				file := filepath.Join(t.TempDir(), "run.xtf")
				analyse(t, r.Archive, file)
				if f := readPlanted(t, file).Findings; len(f) == 0 || !slices.Contains(f[0].Where.Path, "heavy") || !strings.Contains(f[0].Text, "spin (sampled.c:") {
					t.Errorf("the first finding does not name spin below heavy: %+v", f)
				}
			})
		}
	}
}

// TestSamplesStripped samples a program without symbols: the tables for exceptions tell its functions apart, by where they begin.
func TestSamplesStripped(t *testing.T) {
	l := libraries(t)[0]
	whole := l.compileProgram(t, "sampled.c", "-O1")
	program := filepath.Join(t.TempDir(), "bare")
	if b, err := exec.Command("strip", "-s", "-o", program, whole).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	e, err := elf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, program), Sample: time.Millisecond})
	var own [2]float64
	if _, err := fmt.Sscan(out, &own[0], &own[1]); err != nil || r.Exit != 0 {
		t.Fatalf("%v, status %d: %q\n%s", err, r.Exit, out, errs)
	}
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	found, in := samplesOf(t, src), make(map[string]float64)
	for _, s := range list {
		in[s.Name] = found[fmt.Sprintf("bare+0x%x", s.Value)]
	}
	if n := in["_start"]; n > 0 {
		t.Errorf("%v samples below _start, which is no part of the program: %v", n, found)
	}
	shares(t, in, own)
	if in["spin"] < 0.9*(in["heavy"]+in["light"]) {
		t.Errorf("%v samples in spin, which heavy and light call: %v", in["spin"], found)
	}
}

// shares compares where samples found threads with their own clocks: heavy, light.
func shares(t *testing.T, found map[string]float64, own [2]float64) float64 {
	t.Helper()
	n := found["heavy"] + found["light"]
	share, want := found["heavy"]/n, own[0]/(own[0]+own[1])
	t.Logf("%v samples; heavy %.3f, by the clock %.3f", n, share, want)
	if deviation := 4 * math.Sqrt(want*(1-want)/n); math.Abs(share-want) > deviation || n < 50 {
		t.Errorf("%.3f of %v samples in heavy, by the clock %.3f", share, n, want)
	}
	return n
}

// TestSamplesUnloaded samples a library that is unloaded before the recorder's own thread next looks for new addresses: its function has
// nearly all samples of the program, many of them in the C library's sine, which belongs to the system.
func TestSamplesUnloaded(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "unloaded.c", "-g", "-O1", "-ldl")
			library := l.compileProgram(t, "unloaded.c", "-g", "-O1", "-DPLUGIN", "-shared", "-fPIC", "-lm")
			r, out, errs := l.runRecorded(t, Options{Command: l.launch(1, program, library, "150"), Sample: time.Millisecond})
			if r.Exit != 0 {
				t.Fatalf("status %d: %q\n%s", r.Exit, out, errs)
			}
			src, err := otf2.OpenPath(r.Archive)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			d, sines := src.Definitions(), 0
			for i := range d.Regions {
				switch name := d.Text(d.Regions[i].Name); {
				case d.OfSystem(&d.Regions[i]) && strings.Contains(name, "sin"):
					sines++
				case d.OfSystem(&d.Regions[i]) && (name == "unloaded" || name == "main"):
					t.Errorf("%s is no function of the program", name)
				}
			}
			if sines == 0 {
				t.Error("no sine of the system")
			}
			if in := samplesOf(t, src); in["unloaded"] < 10 || in["unloaded"] < 0.9*in["main"] {
				t.Errorf("of %v samples below main %v are in the library", in["main"], in["unloaded"])
			}
		})
	}
}

// TestPerf samples a program while perf does: of the samples of its two functions both find as many in the one, within 4 deviations.
func TestPerf(t *testing.T) {
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("no perf: scripts/setup --test installs it")
	}
	l := libraries(t)[0]
	program := l.compileProgram(t, "sampled.c", "-g", "-O1", "-fno-omit-frame-pointer")
	data := filepath.Join(t.TempDir(), "perf.data")
	front := []string{perf, "record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-g", "-o", data}
	if b, err := exec.Command(front[0], append(front[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("perf cannot count here: %v\n%s", err, b)
	}
	r, out, errs := l.runRecorded(t, Options{Command: append(front, l.launch(2, program)...), Sample: time.Millisecond})
	var own [2]float64
	if _, err := fmt.Sscan(out, &own[0], &own[1]); err != nil || r.Exit != 0 {
		t.Fatalf("%v, status %d: %q\n%s", err, r.Exit, out, errs)
	}
	text, err := exec.Command(perf, "script", "-i", data, "--comm", "sampled", "-F", "comm,ip,sym").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]float64{}
	for chain := range strings.SplitSeq(string(text), "\n\n") {
		for _, function := range [...]string{"heavy", "light"} {
			if strings.Contains(chain, " "+function+"\n") {
				theirs[function]++
			}
		}
	}
	src, err := otf2.OpenPath(r.Archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ours := samplesOf(t, src)
	n, m := ours["heavy"]+ours["light"], theirs["heavy"]+theirs["light"]
	p, q := ours["heavy"]/n, theirs["heavy"]/m
	t.Logf("%.3f of %v samples in heavy; by perf %.3f of %v; by the program's clock %.3f", p, n, q, m, own[0]/(own[0]+own[1]))
	if deviation := 4 * math.Sqrt(q*(1-q)*(1/n+1/m)); m < 100 || n < 50 || math.Abs(p-q) > deviation {
		t.Errorf("%.3f of %v samples in heavy, by perf %.3f of %v", p, n, q, m)
	}
}

// samplesOf counts the samples of all locations by the functions on their paths.
func samplesOf(t *testing.T, src trace.Source) map[string]float64 {
	t.Helper()
	d := src.Definitions()
	in := make(map[string]float64)
	for i := range d.Locations {
		eventsOf(t, src, trace.P(i), func(e *trace.Event, w []uint64) {
			if e.Kind == trace.CallingContextSample {
				for x := d.Context(uint32(w[0])); x != nil; x = d.Context(x.Parent) {
					in[d.Text(d.Regions[x.Region].Name)]++
				}
			}
		})
	}
	return in
}

// declaredAt compares the line of a function's region with the source.
func declaredAt(t *testing.T, d *trace.Definitions, function string) {
	t.Helper()
	b, err := os.ReadFile("testdata/sampled.c")
	if err != nil {
		t.Fatal(err)
	}
	want := uint32(0)
	for i, line := range strings.Split(string(b), "\n") {
		if strings.Contains(line, "/* "+function+" */") {
			want = uint32(i + 1)
		}
	}
	for i := range d.Regions {
		if x := &d.Regions[i]; d.Text(x.Name) == function {
			if x.BeginLine != want || filepath.Base(d.Text(x.SourceFile)) != "sampled.c" {
				t.Errorf("%s is at %s:%d, not sampled.c:%d", function, d.Text(x.SourceFile), x.BeginLine, want)
			}
			return
		}
	}
	t.Errorf("no region %s", function)
}

// TestStacks compares the stacks that the recorder finds by its own reading of tables with those of the compiler's unwinder, at each instruction of a program: where
// functions begin and end, stacks are aligned or take arrays of any size, and in the C library. Only where the loader looks for symbols it may leave one to that unwinder.
func TestStacks(t *testing.T) {
	t.Parallel()
	if goruntime.GOARCH != "amd64" {
		t.Skip("stacks are the compiler's unwinder's")
	}
	l := libraries(t)[0]
	for _, level := range [...]string{"-O0", "-O2"} {
		program := l.compileProgram(t, "stacks.c", "runtime/tables.c", "-Iruntime", "-mno-red-zone", level)
		for _, loads := range [...]string{"", "1"} {
			c := exec.Command(program)
			c.Env = append(os.Environ(), "LD_BIND_NOW="+loads)
			out, err := c.Output()
			var reads, all, left, differ int
			if _, scan := fmt.Sscan(string(out), &reads, &all, &left, &differ); err != nil || scan != nil {
				t.Fatalf("%v %v: %q", err, scan, out)
			}
			if reads == 0 {
				t.Skip("the C library does not find tables without a lock")
			}
			t.Logf("%s: %d instructions, %d left to the compiler's unwinder, %d differ", level, all, left, differ)
			if differ > 0 || all < 10000 || left > all/5 || loads != "" && left > all/100 {
				t.Errorf("%s: of %d instructions %d have no stack, and %d another one", level, all, left, differ)
			}
		}
	}
}
