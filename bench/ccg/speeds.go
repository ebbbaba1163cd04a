package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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
	{"construction, tables in cache", "ccg", "BuildStencil", "Mevents/s", 20, 0},
	{"construction, 40 % records of MPI", "ccg", "BuildMessages", "Mevents/s", 20, 0},
	{"construction, calls alone", "ccg", "BuildCalls", "Mevents/s", 20, 0},
	{"construction, nearly all nodes new", "ccg", "BuildIrregular", "Mevents/s", 8, 0},
	{"walk alone", "ccg", "WalkStencil", "ns/event", 0, 15},
	{"distributing walk with encoding of columns", "ccg", "DistributeStencil", "ns/event", 0, 0},
	{"merge, new nodes", "ccg", "Merge/new", "ns/node", 0, 500},
	{"merge, known nodes", "ccg", "Merge/known", "ns/node", 0, 500},
	{"joining a location, new nodes", "ccg", "Union/new", "ns/node", 0, 500},
	{"counting partners", "ccg", "Partners/add", "ns/node", 0, 0},
	{"column, decoding", "column", "Decode", "MB/s", 2000, 0},
	{"column, encoding of gaps", "column", "AppendBlock/gaps", "MB/s", 0, 0},
	{"column, with entropy codes", "column", "AppendBlock/gaps-entropy", "MB/s", 0, 0},
}

// speeds runs the benchmarks of the goals, a fixed number of times each.
func speeds(w io.Writer, _ config) error {
	t := newTable("what", "benchmark", "measured", "unit", "target", "bytes/op", "allocs/op")
	results := map[string]map[string]float64{}
	for _, pkg := range []string{"ccg", "column"} {
		var names []string
		for _, g := range goals {
			if name, _, _ := strings.Cut(g.benchmark, "/"); g.pkg == pkg {
				names = append(names, name)
			}
		}
		cmd := exec.Command("go", "test", "-run", "^$", "-benchmem", "-benchtime", "1s",
			"-bench", "^Benchmark("+strings.Join(names, "|")+")$", "./"+pkg)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		readBenchmarks(results, pkg, string(out))
	}
	for _, g := range goals {
		r, ok := results[g.pkg+" "+g.benchmark]
		if !ok {
			return fmt.Errorf("package %s has no benchmark %s", g.pkg, g.benchmark)
		}
		target := "-"
		switch {
		case g.atLeast > 0:
			target = ">= " + number(g.atLeast)
		case g.atMost > 0:
			target = "<= " + number(g.atMost)
		}
		t.row(g.what, g.pkg+" "+g.benchmark, r[g.unit], g.unit, target, r["B/op"], r["allocs/op"])
	}
	fmt.Fprintf(w, "## Speeds, one core\n\nTargets are for an idle machine.\n\n")
	t.print(w)
	return nil
}

// readBenchmarks reads lines such as "BenchmarkDecode-2 100 12 ns/op 300 MB/s".
func readBenchmarks(results map[string]map[string]float64, pkg, out string) {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		r := map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				r[f[i+1]] = v
			}
		}
		results[pkg+" "+name] = r
	}
}
