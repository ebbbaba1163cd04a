package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

func open(t *testing.T, spec string, noise int64) trace.Source {
	t.Helper()
	src, err := generated(spec, spec, noise).open()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func graphOf(t *testing.T, src trace.Source, deviation string) figure {
	t.Helper()
	f, err := measureAt(src, deviation)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRatios holds the ratios of the thesis on programs that repeat themselves:
// 15 without deviation, with bounds above the jitter 600.
func TestRatios(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short")
	}
	for _, tc := range []struct {
		spec      string
		noise     int64
		deviation string
		ratio     float64
	}{
		{"stencil:procs=16,events=500k,jitter=2,seed=1", 0, lossless, 15},
		{"stencil:procs=16,events=500k,jitter=10,seed=1", 0, lossless, 15},
		{"stencil:procs=16,events=500k,seed=1", 2, lossless, 15},
		{"stencil:procs=16,events=500k,seed=1", 10, lossless, 15},
		{"stencil:procs=16,events=2M,jitter=2,seed=1", 0, moderate, 600},
		{"stencil:procs=16,events=2M,seed=1", 2, moderate, 600},
	} {
		name := fmt.Sprintf("%s, noise %d, deviation %s", tc.spec, tc.noise, tc.deviation)
		t.Run(name, func(t *testing.T) {
			f := graphOf(t, open(t, tc.spec, tc.noise), tc.deviation)
			t.Logf("R_m %.1f, R_n %.0f, %.3f B/event", f.memoryRatio(), f.nodeRatio(), f.bytesPerEvent())
			if f.memoryRatio() < tc.ratio {
				t.Errorf("memory ratio %.1f, want at least %.0f", f.memoryRatio(), tc.ratio)
			}
		})
	}
}

// TestLossless holds the size of exact graphs of iterative programs: at most
// 1.2 bytes an event, no time changed.
func TestLossless(t *testing.T) {
	events := "200k"
	if testing.Short() {
		events = "40k"
	}
	for _, p := range programs(events) {
		if p.name == "irregular" {
			continue // it does not repeat itself
		}
		t.Run(p.name, func(t *testing.T) {
			src, err := p.open()
			if err != nil {
				t.Fatal(err)
			}
			f := graphOf(t, src, lossless)
			if f.bytesPerEvent() > 1.2 {
				t.Errorf("%.2f bytes per event, want at most 1.2", f.bytesPerEvent())
			}
			if f.largest != 0 {
				t.Errorf("a time is off by %d ticks", f.largest)
			}
		})
	}
}

// TestScaling holds that structure does not grow with the iterations, and with
// the processes only until every role of the grid is there. Of timings there
// are a few more, as rare ones appear.
func TestScaling(t *testing.T) {
	const fewIterations, roles = 100, 9 // inside, four edges, four corners
	for _, deviation := range []string{lossless, moderate} {
		t.Run(deviation, func(t *testing.T) {
			of := func(procs, iterations int) figure {
				return graphOf(t, open(t, fmt.Sprintf("stencil:jitter=2,seed=1,procs=%d,iterations=%d", procs, iterations), 0), deviation)
			}
			few := of(16, fewIterations)
			if few.roots != roles {
				t.Errorf("%d structures of locations, want %d", few.roots, roles)
			}
			same := func(what string, f figure) {
				t.Helper()
				if f.Nodes != few.Nodes || f.Tuples != few.Tuples || f.roots != few.roots {
					t.Errorf("%s: %d nodes, %d tuples, %d roots; want %d, %d, %d", what, f.Nodes, f.Tuples, f.roots, few.Nodes, few.Tuples, few.roots)
				}
				if f.Rows > 3*few.Rows {
					t.Errorf("%s: %d class rows, and %d before", what, f.Rows, few.Rows)
				}
			}
			same("64 processes", of(64, fewIterations))
			if !testing.Short() {
				same("10 times the iterations", of(16, 10*fewIterations))
				same("256 processes", of(256, fewIterations))
				same("30 times the iterations", of(16, 30*fewIterations))
			} else {
				same("3 times the iterations", of(16, 3*fewIterations))
			}
		})
	}
}

// TestErrors compares the errors of times that the blobs state with those of the
// expanded events.
func TestErrors(t *testing.T) {
	for _, deviation := range deviations {
		f := graphOf(t, open(t, "stencil:procs=9,events=50k,seed=2", 10), deviation)
		if f.Errors.Largest != f.largest || f.Errors.Mean() != uint64(math.Round(f.mean)) {
			t.Errorf("deviation %s: at most %d ticks off, mean %d, by the file; by the events %d, %.1f",
				deviation, f.Errors.Largest, f.Errors.Mean(), f.largest, f.mean)
		}
	}
}

// TestSections prints small tables and looks for their rows.
func TestSections(t *testing.T) {
	var out strings.Builder
	if err := run(&out, []string{"-events", "5k", "-traces", t.TempDir(), "figures"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs("5k") {
		if n := strings.Count(out.String(), "| "+p.name+" "); n != 5 {
			t.Errorf("%s is in %d tables, want 5", p.name, n)
		}
	}
	if err := run(&out, []string{"nonsense"}); err == nil {
		t.Error("an unknown section is not an error")
	}
}

// TestNumbers checks the cells of tables.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234.5: "1234", 99.96: "100.0", 12.34: "12.3", 1.234: "1.23", 0.01234: "0.0123", 0.00001234: "0.000012"} {
		if got := number(v); got != want {
			t.Errorf("%v is printed as %s, want %s", v, got, want)
		}
	}
}
