package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// goal is a speed that a Go benchmark has to show on an idle core.
type goal struct {
	what, pkg, benchmark string
	unit                 string // as the benchmark prints it
	atLeast, atMost      float64
}

var goals = []goal{
	{"construction, tables in cache", "ccg/build", "BuildStencil", "Mevents/s", 20, 0},
	{"construction, 40 % records of MPI", "ccg/build", "BuildMessages", "Mevents/s", 20, 0},
	{"construction, calls alone", "ccg/build", "BuildCalls", "Mevents/s", 20, 0},
	{"construction, nearly all nodes new", "ccg/build", "BuildIrregular", "Mevents/s", 8, 0},
	{"walk alone", "ccg", "WalkStencil", "ns/event", 0, 15},
	{"distributing walk with encoding of columns", "ccg/build", "DistributeStencil", "ns/event", 0, 0},
	{"merge, new nodes", "ccg/build", "Merge/new", "ns/node", 0, 500},
	{"merge, known nodes", "ccg/build", "Merge/known", "ns/node", 0, 500},
	{"joining a location, new nodes", "ccg/build", "Union/new", "ns/node", 0, 500},
	{"counting partners", "ccg/build", "Partners/add", "ns/node", 0, 0},
	{"counting gaps for a codebook", "ccg/build", "GapHistogram/stencil", "ns/event", 0, 40},
	{"replacing gaps by those of the codebook", "ccg/build", "Quantise/codebook", "ns/event", 0, 0},
	{"flat profile of a million nodes", "ccg", "ProfileNodes/flat", "ns/op", 0, 50e6},
	{"interval query, warm", "ccg", "Interval/warm", "ns/op", 0, 100e3},
	{"interval query, cold", "ccg", "Interval/cold", "ns/op", 0, 0},
	{"cursor to a time", "ccg", "SeekTime", "ns/op", 0, 0},
	{"expansion of all events", "ccg", "ExpandStencil", "ns/event", 0, 0},
	{"column, decoding", "internal/column", "Decode", "MB/s", 2000, 0},
	{"column, encoding of gaps", "internal/column", "AppendBlock/gaps", "MB/s", 0, 0},
	{"column, with entropy codes", "internal/column", "AppendBlock/gaps-entropy", "MB/s", 0, 0},
}

// speeds runs the benchmarks of the goals on one core, three times each, and
// shows the best: whatever else the machine does only adds time.
func speeds(w io.Writer, _ config) error {
	t := newTable("what", "benchmark", "measured", "unit", "target", "bytes/op", "allocs/op")
	best := map[string]float64{}
	for _, pkg := range []string{"ccg/build", "ccg", "internal/column"} {
		var names []string
		for _, g := range goals {
			if name, _, _ := strings.Cut(g.benchmark, "/"); g.pkg == pkg && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		cmd := exec.Command("go", "test", "-run", "^$", "-benchmem", "-benchtime", "500ms", "-count", "3", "-cpu", "1",
			"-bench", "^Benchmark("+strings.Join(names, "|")+")$", "./"+pkg)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		readBenchmarks(best, pkg, string(out))
	}
	for _, g := range goals {
		at := g.pkg + " " + g.benchmark
		measured, ok := best[at+" "+g.unit]
		if !ok {
			return fmt.Errorf("package %s has no benchmark %s with %s", g.pkg, g.benchmark, g.unit)
		}
		target := "-"
		switch {
		case g.atLeast > 0:
			target = ">= " + number(g.atLeast)
		case g.atMost > 0:
			target = "<= " + number(g.atMost)
		}
		t.row(g.what, at, measured, g.unit, target, uint64(best[at+" B/op"]), uint64(best[at+" allocs/op"]))
	}
	load := "unknown"
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
	}
	fmt.Fprintf(w, "## Speeds, one core\n\nBest of three; the targets are for an idle machine. Load of this one at the end: %s on %d cores.\n\n", load, runtime.NumCPU())
	t.print(w)
	return nil
}

// readBenchmarks keeps the best of each figure in lines such as
// "BenchmarkDecode 100 12 ns/op 300 MB/s".
func readBenchmarks(best map[string]float64, pkg, out string) {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				continue
			}
			unit := f[i+1]
			at := pkg + " " + strings.TrimPrefix(f[0], "Benchmark") + " " + unit
			old, ok := best[at]
			switch rate := strings.HasSuffix(unit, "/s"); {
			case !ok || rate && v > old || !rate && v < old:
				best[at] = v
			}
		}
	}
}
