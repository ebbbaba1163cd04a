package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestFit plants functions and finds them again.
func TestFit(t *testing.T) {
	five := []uint64{2, 4, 8, 16, 32, 64}
	for _, x := range []struct {
		name  string
		f     func(p float64) float64
		power Power
		logs  int
	}{
		{"constant", func(float64) float64 { return 3 }, 0, 0},
		{"linear", func(p float64) float64 { return 1 + 0.5*p }, 6, 0},
		{"perfect strong scaling", func(p float64) float64 { return 0.1 + 40/p }, -6, 0},
		{"logarithm", func(p float64) float64 { return 2 + 0.3*math.Log2(p) }, 0, 1},
		{"square root", func(p float64) float64 { return 2 + 0.3*math.Sqrt(p) }, 3, 0},
		{"p log p", func(p float64) float64 { return 5 + 0.01*p*math.Log2(p) }, 6, 1},
		{"square", func(p float64) float64 { return 1 + 0.01*p*p }, 12, 0},
		{"cube root, squared logarithm", func(p float64) float64 { return 1 + 0.01*math.Cbrt(p)*math.Pow(math.Log2(p), 2) }, 2, 2},
	} {
		var points []point
		for _, p := range five {
			points = append(points, point{p, x.f(float64(p))})
		}
		g, ok := fit(points)
		if !ok || g.Power != x.power || g.Logs != x.logs || g.Few {
			t.Errorf("%s: %+v", x.name, g)
			continue
		}
		if want := x.f(1024); math.Abs(g.At(1024)-want) > 1e-6*want {
			t.Errorf("%s: %v at 1024, want %v", x.name, g.At(1024), want)
		}
		if x.name != "constant" && math.Abs(g.R2.Value-1) > 1e-9 || g.SMAPE.Value > 1e-9 {
			t.Errorf("%s: %+v", x.name, g)
		}
	}
	if _, ok := fit([]point{{2, 1}, {4, 2}}); ok {
		t.Error("two points were fitted")
	}
	if g, ok := fit([]point{{2, 4}, {4, 16}, {8, 64}, {16, 256}}); !ok || !g.Few || g.Power > 6 {
		t.Errorf("few points: %+v", g)
	}
}

// TestBasis compares roots and logarithms with the library's.
func TestBasis(t *testing.T) {
	for _, p := range []uint64{1, 2, 3, 7, 16, 1000, 1 << 20, 1<<40 + 1} {
		for _, power := range powers {
			for logs := range 3 {
				want := math.Pow(float64(p), float64(power)/6) * math.Pow(math.Log2(float64(p)), float64(logs))
				if got := basis(p, power, logs); math.Abs(got-want) > 1e-9*math.Abs(want) {
					t.Errorf("p %d, power %d/6, logs %d: %v, want %v", p, power, logs, got, want)
				}
			}
		}
	}
}

func TestJoinPoints(t *testing.T) {
	got := joinPoints([]point{{4, 3}, {2, 10}, {4, 1}, {2, 20}, {4, 2}})
	if fmt.Sprint(got) != "[{2 15} {4 2}]" {
		t.Error(got)
	}
}

// scaled is a run of n processes whose useful time of a process is cpu.
func scaled(t *testing.T, n int, cpu, total uint64) *Run {
	var list []items
	for range n {
		x := process(total, cpu, total-cpu, 0)
		x[xtf.ItemEvents], x[xtf.ItemIdeal], x[xtf.ItemIdealLast] = 2, cpu, cpu
		list = append(list, x)
	}
	solve := writtenNode{Interval: xtf.Interval{Marker: 1, Level: 1, ExeMax: 2, ExeMin: 2, SumMax: total / 2}, name: "solve", processes: map[uint32]items{}}
	for p, x := range list {
		solve.processes[uint32(p)] = items{xtf.ItemTime: x[xtf.ItemTime] / 2, xtf.ItemCPU: x[xtf.ItemCPU] / 2, xtf.ItemMPI: x[xtf.ItemMPI] / 2, xtf.ItemExecutions: 2, xtf.ItemIdeal: cpu / 2}
	}
	nodes := []writtenNode{rootNode(list...), solve}
	if n == 4 {
		nodes = append(nodes, writtenNode{Interval: xtf.Interval{Marker: 9, Level: 1}, name: "only here", processes: map[uint32]items{}})
	}
	return (&written{nodes: nodes}).write(t, n)
}

func TestScaling(t *testing.T) {
	strong := []*Run{scaled(t, 8, 1000, 2000), scaled(t, 2, 4000, 5000), scaled(t, 4, 2000, 3000)}
	x, err := NewScaling(strong, ScalingOptions{At: 64})
	if err != nil {
		t.Fatal(err)
	}
	if x.Mode != ModeStrong || !x.Guessed || len(x.Intervals) != 2 || fmt.Sprint(x.Missing) != "[only here]" {
		t.Errorf("%+v", x)
	}
	for i, want := range []struct{ speedup, parallel, computation, transfer, global float64 }{
		{1, 0.8, 1, 0.8, 0.8}, {5.0 / 3, 2.0 / 3, 1, 2.0 / 3, 2.0 / 3}, {2.5, 0.5, 1, 0.5, 0.5},
	} {
		f := x.Intervals[0].Points[i]
		for name, y := range map[string][2]float64{
			"speedup": {f.Speedup.Value, want.speedup}, "parallel": {f.Parallel.Value, want.parallel}, "computation": {f.Computation.Value, want.computation},
			"transfer": {f.Transfer.Value, want.transfer}, "serialisation": {f.Serialisation.Value, 1}, "global": {f.Global.Value, want.global},
		} {
			if math.Abs(y[0]-y[1]) > 1e-12 {
				t.Errorf("%d processes: %s is %v, want %v", f.Processes, name, y[0], y[1])
			}
		}
	}
	// runtime 1000 + 8000/p microseconds
	if g := x.Intervals[0].Growth; g == nil || g.Power != -6 || g.Logs != 0 || math.Abs(x.Intervals[0].At.Value-0.001125) > 1e-12 {
		t.Errorf("%+v, %v", g, x.Intervals[0].At)
	}
	weak, err := NewScaling([]*Run{scaled(t, 2, 1000, 1500), scaled(t, 4, 1000, 2000)}, ScalingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if f := weak.Intervals[0].Points[1]; weak.Mode != ModeWeak || f.Computation.Value != 1 || f.Global.Value != 0.5 || f.Speedup.Value != 1.5 || weak.Intervals[0].Growth != nil {
		t.Errorf("%+v", weak.Intervals[0])
	}
	var text, js, table bytes.Buffer
	if err := errors.Join(x.WriteText(&text, Style{}), x.WriteJSON(&js), x.WriteCSV(&table)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"strong scaling over 3 runs of 2, 4, 8 processes", "take fitted growth as a guess", "0.001 + 0.008 p^-1", "not in all runs: only here"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !json.Valid(js.Bytes()) || strings.Count(table.String(), "\n") != 1+2*3+3 {
		t.Errorf("%s\n%s", js.String(), table.String())
	}
}

func TestNoScaling(t *testing.T) {
	one := scaled(t, 2, 10, 20)
	for _, runs := range [][]*Run{{one}, {one, one}, {one, (&written{nodes: []writtenNode{{Interval: xtf.Interval{}, processes: map[uint32]items{}}}}).write(t, 1)}} {
		if _, err := NewScaling(runs, ScalingOptions{}); !errors.Is(err, ErrScaling) {
			t.Errorf("%d runs: %v", len(runs), err)
		}
	}
}
