package view

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestMeta compares what a client learns first with the definitions.
func TestMeta(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		x, m := s.runs[0], answer[Meta](t, s, "meta")
		r := &m.Runs[0]
		if len(m.Runs) != 1 || r.Locations != x.Defs.NumLocations() || len(r.Regions) != len(x.Defs.Regions) || !r.Rows || !r.Waits || !r.Critical || len(m.Classes) != numClasses {
			t.Fatalf("%+v", r)
		}
		if 512<<r.Scale <= r.Last || r.Scale > 0 && 256<<r.Scale > r.Last {
			t.Errorf("scale %d for a run up to %d", r.Scale, r.Last)
		}
		list := answer[Locations](t, s, "locations?from=1").List
		if len(list) != r.Locations-1 || list[0].Location != 1 {
			t.Errorf("%d locations from %d", len(list), list[0].Location)
		}
		for _, l := range list {
			if process, thread := x.Defs.Process(trace.P(l.Location)); l.Process != process || l.Thread != thread || l.Name == "" {
				t.Errorf("location %+v", l)
			}
		}
	})
}

// TestMatrix compares the matrix with all messages sent.
func TestMatrix(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		x := s.runs[0]
		for _, cells := range []int{256, 3, 1} {
			v := answer[Matrix](t, s, fmt.Sprintf("matrix?cells=%d", cells))
			if v.Cells > cells || v.Merged*v.Cells < v.Processes || !v.Complete {
				t.Fatalf("%d cells of %d for %d processes", v.Cells, v.Merged, v.Processes)
			}
			want := map[[2]int][2]uint64{}
			for p := range trace.P(x.meta.Locations) {
				from, _ := x.Defs.Process(p)
				for _, m := range rowsOf(t, x, p, xtf.TypeP2P, func(b []byte) (m xtf.P2P) { m.Load(b); return m }) {
					if m.Kind&xtf.P2PKindMask == xtf.P2PSend && m.Kind&xtf.P2PIncomplete == 0 {
						k := [2]int{int(from) / v.Merged, int(m.Peer) / v.Merged}
						want[k] = [2]uint64{want[k][0] + 1, want[k][1] + m.Bytes}
					}
				}
			}
			if len(want) != len(v.From) {
				t.Fatalf("%d cells with messages, want %d", len(v.From), len(want))
			}
			for i := range v.From {
				if w := want[[2]int{v.From[i], v.To[i]}]; w != [2]uint64{v.Messages[i], v.Bytes[i]} {
					t.Fatalf("cell %d, %d: %d messages, %d bytes; want %v", v.From[i], v.To[i], v.Messages[i], v.Bytes[i], w)
				}
			}
		}
	})
}

// TestProfile: the columns of all ranks add up to the time, and to the statistics of the whole run.
func TestProfile(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		for _, columns := range []int{1000, 3} {
			v := answer[Profile](t, s, fmt.Sprintf("profile?columns=%d", columns))
			all := answer[statsJSON](t, s, "stats?exact=1")
			if !v.Exact || len(v.First) > columns || len(v.Series) != len(xtf.Parts) {
				t.Fatalf("%d columns, %d series, exact %t", len(v.First), len(v.Series), v.Exact)
			}
			total, members := uint64(0), 0
			for c := range v.First {
				sum := uint64(0)
				for _, l := range v.Series {
					sum += l.Values[c]
				}
				if want := v.Time[c]; sum != want {
					t.Errorf("column %d: parts of %d ticks of %d", c, sum, want)
				}
				total += v.Time[c]
				members += v.Count[c]
			}
			if i := slices.IndexFunc(xtf.Parts, func(i xtf.Item) bool { return i == xtf.ItemCPU }); members != s.runs[0].meta.Processes ||
				all.Items[0].Item != "time" || all.Items[0].Sum.lower != total || v.Series[i].Values[0] == 0 {
				t.Errorf("%d ticks in %d ranks, want %v", total, members, all.Items[0].Sum.lower)
			}
		}
	})
}

// TestProfileBounds: few processes are exact without being asked for, and bounds of a window enclose what is exact.
func TestProfileBounds(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		for range 6 {
			begin, end := window(s.runs[0], rng)
			path := fmt.Sprintf("profile?t=%d..%d", begin, end)
			exact, about := answer[Profile](t, s, path), answer[Profile](t, s, path+"&exact=0")
			if !exact.Exact {
				t.Fatalf("%s of %d processes has bounds", path, s.runs[0].meta.Processes)
			}
			encloses := func(what string, e, a Bounds, values []uint64) {
				t.Helper()
				sum := uint64(0)
				for _, v := range values {
					sum += v
				}
				if v := e.About; v != sum || v < a.Lower || v > a.Upper || a.About < a.Lower || a.About > a.Upper {
					t.Errorf("%s: %s is %d and between %+v; the columns have %d", path, what, v, a, sum)
				}
			}
			for k := range exact.Series {
				encloses(exact.Series[k].Item, exact.Series[k].Sum, about.Series[k].Sum, exact.Series[k].Values)
			}
			encloses("waiting", exact.Waits, about.Waits, exact.Wait)
		}
	})
}

// TestCounter compares bins of metrics with all readings.
func TestCounter(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	x := s.runs[0]
	if len(x.meta.Counters) == 0 {
		t.Fatal("the program has no metrics")
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 6 {
		begin, end := window(x, rng)
		end = max(end, begin+1)
		metric, p, bins := i%len(x.meta.Counters), trace.P(rng.IntN(x.meta.Locations)), 1+rng.IntN(40)
		v := answer[CounterBins](t, s, fmt.Sprintf("counter?metric=%d&loc=%d&t=%d..%d&bins=%d", metric, p, begin, end, bins))
		of := counters.NewMembers(x.Defs)
		counts, sums, seen := make([]int, bins), make([]float64, bins), 0
		var before *float64
		for _, m := range rowsOf(t, x, p, xtf.TypeMetric, func(b []byte) (m xtf.Metric) { m.Load(b); return m }) {
			if i, ok := of.Of(&m); !ok || i != metric {
				continue
			}
			value := float64(m.Value)
			if trace.ValueType(m.Flags&0xff) == trace.TypeDouble {
				value = math.Float64frombits(m.Value)
			}
			switch {
			case m.T < begin:
				before = &value
			case m.T < end:
				b := int(float64(m.T-begin) * float64(bins) / float64(end-begin))
				counts[b]++
				sums[b] += value
				seen++
			}
		}
		if v.Sampled || (v.Before == nil) != (before == nil) || before != nil && *v.Before != *before {
			t.Fatalf("before the window %v, want %v", v.Before, before)
		}
		for b := range bins {
			if (v.Mean[b] == nil) != (counts[b] == 0) {
				t.Fatalf("bin %d of %d: mean %v of %d readings", b, bins, v.Mean[b], counts[b])
			}
			if counts[b] > 0 && (math.Abs(*v.Mean[b]-sums[b]/float64(counts[b])) > 1e-9*math.Abs(sums[b]) || *v.Min[b] > *v.Mean[b]*1.0000001 || *v.Max[b] < *v.Mean[b]*0.9999999) {
				t.Fatalf("bin %d: mean %v between %v and %v, want %v", b, *v.Mean[b], *v.Min[b], *v.Max[b], sums[b]/float64(counts[b]))
			}
		}
	}
}

// TestIntervals compares tree and executions with the rows.
func TestIntervals(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		tree := answer[Intervals](t, s, "intervals")
		if len(tree.Nodes) != x.meta.Intervals || tree.Nodes[0].Label != "whole program" {
			t.Fatalf("%d intervals of %d", len(tree.Nodes), x.meta.Intervals)
		}
		for i, n := range tree.Nodes {
			if int(n.Node) != i || i > 0 && (int(n.Parent) >= i || n.Level != tree.Nodes[n.Parent].Level+1) {
				t.Fatalf("node %d is %+v", i, n)
			}
		}
		for range 8 {
			begin, end := window(x, rng)
			p, node := trace.P(rng.IntN(x.meta.Locations)), uint32(rng.IntN(len(tree.Nodes)))
			path := fmt.Sprintf("executions?loc=%d&t=%d..%d&max=4096", p, begin, end)
			one := rng.IntN(2) == 0
			if one {
				path += fmt.Sprintf("&node=%d", node)
			}
			v := answer[Executions](t, s, path)
			var want []Execution
			for n, r := range rowsOf(t, x, p, xtf.TypeIval, func(b []byte) (r xtf.Ival) { r.Load(b); return r }) {
				if r.T < end && r.End > begin && (!one || r.Node == node) {
					want = append(want, Execution{uint64(n), r.Node, tree.Nodes[r.Node].Label, r.Execution, r.T, r.End})
				}
			}
			if v.More != (len(want) > 4096) || !slices.Equal(v.List, want[:min(len(want), 4096)]) {
				t.Fatalf("%s: %d executions, want %d", path, len(v.List), len(want))
			}
		}
		one := answer[Interval](t, s, "interval/0")
		var root struct {
			Path  []int
			Ticks struct{ Execution uint64 }
		}
		if err := json.Unmarshal(one.Interval, &root); err != nil || len(root.Path) != 1 || root.Ticks.Execution != tree.Nodes[0].Execution {
			t.Errorf("characteristics %s: %v", one.Interval[:min(200, len(one.Interval))], err)
		}
	})
}

// TestClasses: every process is in one class.
func TestClasses(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		v := answer[Classes](t, s, "classes")
		members := uint32(0)
		for _, g := range v.Groups {
			for _, c := range g.Classes {
				members += c.Processes
			}
		}
		if int(members) != s.runs[0].meta.Processes {
			t.Errorf("%d processes in classes, want %d", members, s.runs[0].meta.Processes)
		}
		if l := answer[Locations](t, s, "locations?max=1").List[0]; l.Class < 0 {
			t.Errorf("location without a class: %+v", l)
		}
	})
}

// TestSearch finds functions, ranks, times and the longest calls.
func TestSearch(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		x := s.runs[0]
		for i := range x.meta.Regions {
			name := x.meta.Regions[i].Name
			v := answer[Search](t, s, "search?max=1000&q="+strings.ReplaceAll(strings.ToUpper(name), " ", "+"))
			if !slices.ContainsFunc(v.Hits, func(h Hit) bool { return h.Kind == "region" && *h.Region == i }) {
				t.Errorf("%q is not found", name)
			}
		}
		if v := answer[Search](t, s, "search?q=rank+1"); len(v.Hits) == 0 || *v.Hits[0].Location != int(x.Defs.Processes()[1].First) {
			t.Errorf("rank 1: %+v", v)
		}
		if v := answer[Search](t, s, fmt.Sprintf("search?q=%%23%d", x.first+1)); len(v.Hits) == 0 || *v.Hits[0].Begin != x.first+1 {
			t.Errorf("a tick: %+v", v)
		}
		longest := uint64(0)
		for p := range trace.P(x.meta.Locations) {
			for _, c := range callsOf(t, x, p) {
				longest = max(longest, c.End-c.T)
			}
		}
		if v := answer[Search](t, s, "search?q=longest"); len(v.Hits) == 0 || *v.Hits[0].End-*v.Hits[0].Begin != longest {
			t.Errorf("longest call of %d ticks: %+v", longest, v.Hits)
		}
	})
}

// TestCompare puts a run next to itself.
func TestCompare(t *testing.T) {
	t.Parallel()
	file := generated(t, generatedSpecs[0])
	s := serving(t, file, file)
	v := answer[Compare](t, s, "compare")
	if len(v.Runs) != 2 || *v.Runs[0].Seconds != *v.Runs[1].Seconds || len(v.Runs[0].Items) == 0 || len(v.First) != s.runs[0].meta.Processes {
		t.Fatalf("%+v", v.Runs)
	}
	for _, l := range v.Series {
		if !slices.Equal(l.First, l.Second) || len(l.First) != len(v.First) {
			t.Errorf("%s: %v and %v", l.Item, l.First, l.Second)
		}
	}
	for _, path := range []string{"meta", "stats?run=1", "tile/0/0/0-0?run=1", "intervals?run=1"} {
		if w := ask(s, path); w.Code != 200 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if w := ask(serving(t, file), "compare"); w.Code != 422 {
		t.Errorf("without a second run: status %d", w.Code)
	}
}

// TestWords: the page has no words of states of its own, it gets those of the table.
func TestWords(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, _ *rand.Rand) {
		m := answer[Meta](t, s, "meta")
		if want := results.ClassWords(s.runs[0].Run, numClasses, stateClass); !slices.Equal(m.Classes, want) {
			t.Errorf("classes %q, want %q", m.Classes, want)
		}
		for i, x := range xtf.States {
			if x.Item != xtf.NumItems && x.Item != xtf.ItemCPU && xtf.StatesOf(x.Item)[0] == trace.State(i) && m.Words[x.Item.String()] != trace.States[i].Text {
				t.Errorf("%s is called %q", x.Item, m.Words[x.Item.String()])
			}
		}
	})
	files, err := filepath.Glob("assets/*.js")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range trace.States {
			if strings.Contains(string(text), "'"+x.Text+"'") || strings.Contains(string(text), x.Name+":") {
				t.Errorf("%s has %q or %q of its own", name, x.Text, x.Name)
			}
		}
	}
}

// TestCallTree compares the call paths of whole runs with those that the call graph has, which knows nothing of rows, and waits with their
// sum; of a part of the time it compares the sums of functions with those of the statistics.
func TestCallTree(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		want, _, err := report.NewPaths(x.Run, results.Ranks{})
		if err != nil {
			t.Fatal(err)
		}
		v := answer[CallTree](t, s, "calltree?max=5000")
		name := func(parent int, of func(i int) (string, int)) string {
			path := ""
			for i := parent; i >= 0; {
				n, up := of(i)
				path, i = n+" > "+path, up
			}
			return path
		}
		paths := map[string]report.Path{}
		for i, p := range want.Paths[1:] {
			if p.Inclusive > 0 {
				paths[name(i+1, func(i int) (string, int) {
					if p := &want.Paths[i]; p.Parent > 0 {
						return p.Name, p.Parent
					}
					return want.Paths[i].Name, -1
				})] = p
			}
		}
		wait := uint64(0)
		for i, n := range v.Nodes {
			at := name(i, func(i int) (string, int) { return v.Nodes[i].Name, v.Nodes[i].Parent })
			p, ok := paths[at]
			sum := uint64(0)
			for _, b := range n.By {
				sum += b
			}
			if wait += n.Wait; n.Inclusive > 0 && (!ok || p.Inclusive != n.Inclusive || p.Exclusive != n.Exclusive || p.Calls != n.Calls || sum != n.Inclusive) {
				t.Errorf("%s: %+v, the graph has %+v", at, n, p)
			}
			delete(paths, at)
		}
		if all := answer[Stats](t, s, "stats?exact=1").Time; v.Time != want.Time || all != want.Time {
			t.Errorf("shares of calls are of %d ticks, of functions of %d, of the report's paths of %d", v.Time, all, want.Time)
		}
		if len(paths) > 0 || v.More > 0 || v.Folded > 0 {
			t.Errorf("%d paths of the graph are missing", len(paths))
		}
		all := uint64(0)
		for _, p := range answer[Profile](t, s, "profile?exact=1").Wait {
			all += p
		}
		if wait != all {
			t.Errorf("paths wait %d ticks, processes %d", wait, all)
		}
		begin, end := window(x, rng)
		part := answer[CallTree](t, s, fmt.Sprintf("calltree?max=5000&t=%d..%d", begin, end))
		own := map[string]uint64{}
		for _, n := range part.Nodes {
			own[n.Name] += n.Exclusive
		}
		for _, f := range answer[Stats](t, s, fmt.Sprintf("stats?max=1000&exact=1&t=%d..%d", begin, end)).Functions {
			if got, want := own[f.Name], f.Exclusive.Lower; got != want {
				t.Errorf("[%d, %d): %s has %d ticks in itself, statistics have %d", begin, end, f.Name, got, want)
			}
		}
	})
}

// TestRecorders: a row of a recorder of metrics tells which counter it reads, and that has all its readings.
func TestRecorders(t *testing.T) {
	t.Parallel()
	s := serving(t, realTrace(t, "hip-mi300-scorep9"))
	x, recorders := s.runs[0], 0
	for _, l := range answer[Locations](t, s, "locations").List {
		rows := rowsOf(t, x, trace.P(l.Location), xtf.TypeMetric, func(b []byte) (m xtf.Metric) { m.Load(b); return m })
		if l.Type != "metric" || len(rows) == 0 {
			if l.Counter != -1 {
				t.Errorf("row %d of type %s has counter %d", l.Location, l.Type, l.Counter)
			}
			continue
		}
		recorders++
		v := answer[CounterBins](t, s, fmt.Sprintf("counter?bins=1&metric=%d&loc=%d", l.Counter, l.Location))
		if v.Rows != uint64(len(rows)) || v.Mean[0] == nil {
			t.Errorf("row %d reads %s: %d of %d rows, mean %v", l.Location, x.meta.Counters[l.Counter].Name, v.Rows, len(rows), v.Mean[0])
		}
	}
	if recorders != 29 { // HIP memory, and those of two plugins, by otf2-print
		t.Errorf("%d rows are recorders of metrics", recorders)
	}
}

// UnmarshalJSON reads a number, or an object with the bounds.
func (b *Bounds) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '{' {
		var n uint64
		err := json.Unmarshal(text, &n)
		*b = Bounds{n, n, n}
		return err
	}
	type plain Bounds
	return json.Unmarshal(text, (*plain)(b))
}
