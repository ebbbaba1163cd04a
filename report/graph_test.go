package report

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/google/go-cmp/cmp"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		resolution, ticks uint64
		want              string
	}{
		{1_000_000_000, 0, "0 ns"},
		{1_000_000_000, 999, "999 ns"},
		{1_000_000_000, 1000, "1 µs"},
		{1_000_000_000, 12_346, "12.35 µs"},
		{1_000_000_000, 9_999_999, "10 ms"},
		{1_000_000_000, 90_000_000_000, "90 s"},
		{1_000_000_000, 9_999_400_000_000, "9999 s"},
		{1_000_000_000, 12_345_678_000_000, "12 346 s"},
		{1, 86_400, "86 400 s"},
		{3_000_000_000, 1, "0.3333 ns"},
		{0, 1, "1 tick"},
		{0, 1234, "1 234 ticks"},
	} {
		if got := (numbers.Units{Resolution: x.resolution}).Span(x.ticks); got != x.want {
			t.Errorf("%d ticks of 1/%d s: %q, want %q", x.ticks, x.resolution, got, x.want)
		}
	}
}

func TestBoundText(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ spec, want string }{
		{"10%", "every gap within 10 %"},
		{"1us", "every gap within 1 µs"},
		{"10%,1us", "every gap within 10 % or 1 µs"},
		{"1/3", "every gap within 1/3 of it"},
		{"2.5%,500ticks,timestamps", "every gap within 2.5 % or 500 ns, no time stamp late or early by 500 ns or more"},
	} {
		d, err := graph.ParseDeviation(x.spec, 1e9)
		if err != nil {
			t.Fatal(err)
		}
		if got := results.BoundText(d, numbers.Units{Resolution: 1e9}); got != x.want {
			t.Errorf("%s: %q, want %q", x.spec, got, x.want)
		}
	}
}

func TestFinding(t *testing.T) {
	t.Parallel()
	r := func(v float64) numbers.Ratio { return numbers.Ratio{Value: v, Defined: true} }
	bound := &results.Bound{}
	for _, x := range []struct {
		name string
		g    Graph
		want string
	}{
		{"empty", Graph{}, "no events"},
		{"irregular", Graph{Events: 9, MemoryRatio: r(1.9), SingleShare: r(0.6), NodeRatio: r(3)}, "irregular: 60.0 % of the nodes occur once, and a node stands for 3.0 calls"},
		{"few single nodes", Graph{Events: 9, MemoryRatio: r(1.9), SingleShare: r(0.1), NodeRatio: r(3)}, "in between"},
		{"times take the space", Graph{Events: 9, MemoryRatio: r(50), NodeRatio: r(500), ColumnBytes: 95, Bytes: 100}, "95.0 % of the bytes are times"},
		{"lossy", Graph{Events: 9, MemoryRatio: r(50), NodeRatio: r(500), ColumnBytes: 95, Bytes: 100, Bound: bound}, "regular: every node stands for 500 calls and records"},
	} {
		if got := x.g.finding(); !strings.HasPrefix(got, x.want) && !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestQuantile compares with a sorted list.
func TestQuantile(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 300 {
		var d ccg.Durations
		list := make([]uint64, n)
		for i := range list {
			v := rng.Uint64() >> rng.IntN(60)
			list[i] = v
			if d.Count == 0 || v < d.Min {
				d.Min = v
			}
			d.Max = max(d.Max, v)
			d.Count++
			d.Bins[ccg.DurationBin(v)]++
		}
		slices.Sort(list)
		var h Histogram
		h.fill(&d)
		for _, q := range []struct {
			percent int
			got     Between
		}{{50, h.Median}, {90, h.P90}, {99, h.P99}} {
			if n == 0 {
				continue
			}
			v := list[(n*q.percent+99)/100-1]
			if v < q.got.Lower || v > q.got.Upper {
				t.Errorf("%d values, %d %%: %d is not in %+v", n, q.percent, v, q.got)
			}
		}
	}
}

// TestLargestPaths cuts a tree of paths at every size.
func TestLargestPaths(t *testing.T) {
	t.Parallel()
	p := Paths{Paths: []Path{
		{Parent: -1, Inclusive: 100},
		{Parent: 0, Inclusive: 30},
		{Parent: 1, Inclusive: 30},
		{Parent: 2, Inclusive: 5},
		{Parent: 0, Inclusive: 60},
		{Parent: 4, Inclusive: 10},
		{Parent: 4, Inclusive: 40},
	}}
	for n, want := range [][]int{{0}, {0}, {0, 4}, {0, 4, 6}, {0, 4, 6, 1}, {0, 4, 6, 1, 2}, {0, 4, 6, 5, 1, 2}, {0, 4, 6, 5, 1, 2, 3}} {
		if d := cmp.Diff(want, p.largest(n)); d != "" {
			t.Errorf("%d: (-want +got):\n%s", n, d)
		}
	}
	if got := (&Paths{}).largest(5); len(got) != 0 {
		t.Errorf("no paths: %v", got)
	}
}

// TestNoGraph asks a file for what it does not have.
func TestNoGraph(t *testing.T) {
	t.Parallel()
	r := build(t, []items{{}, {}})
	for name, ask := range map[string]func() error{
		"ccg":     func() error { _, _, err := NewGraph(r); return err },
		"profile": func() error { _, _, err := results.NewProfile(r, results.Ranks{}, results.SourceGraph); return err },
		"comm": func() error {
			s, _ := r.Summary(results.Rules{})
			_, _, err := NewComm(r, s, results.SourceGraph)
			return err
		},
		"paths":     func() error { _, _, err := NewPaths(r, results.Ranks{}); return err },
		"histogram": func() error { _, _, err := NewHistogram(r, results.Ranks{}, 0, false); return err },
		"window":    func() error { _, err := lookup.NewWindow(r, results.Ranks{}, 0, 1); return err },
		"reader":    func() error { _, err := lookup.NewReader(r, 0); return err },
	} {
		if err := ask(); !errors.Is(err, results.ErrNoResult) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := lookup.NewPicture(r, results.Ranks{}, 5, 1, 10); !errors.Is(err, lookup.ErrSpan) {
		t.Errorf("a span that ends before it begins: %v", err)
	}
}

// TestPictureText draws more regions than there are letters.
func TestPictureText(t *testing.T) {
	t.Parallel()
	p := lookup.Picture{End: 60, Width: 60, Rows: []lookup.PictureRow{{Pixels: make([]int, 60)}}}
	for i := range 60 {
		p.Regions = append(p.Regions, lookup.PictureRegion{Region: uint32(i), Name: fmt.Sprint("r", i), Pixels: 1, Time: 1})
		p.Rows[0].Pixels[i] = i
	}
	p.Rows[0].Pixels[3] = -1
	var b bytes.Buffer
	if err := p.WriteText(&b, numbers.UnitsOf(0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.0  ABC.EFG", "xyz########", "# stands for 8 regions more"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
