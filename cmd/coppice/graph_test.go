package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// analysedAs makes another result of the archive in dir.
func analysedAs(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	args = append([]string{"analyze", filepath.Join(dir, "traces.otf2"), "-o", out, "-q"}, args...)
	if code, _, errs := call(args...); code != jobs.ExitDone && code != jobs.ExitPartial {
		t.Fatalf("analyze: exit code %d: %s", code, errs)
	}
	return out
}

// section returns one section of a report, as a tree without its source.
func section(t testing.TB, run, name string, args ...string) map[string]any {
	t.Helper()
	doc := jsonOf[map[string]any](t, append([]string{"report", run, name}, args...)...)
	s := doc[name].(map[string]any)
	delete(s, "source")
	return s
}

// TestEventsNone compares the reports of rows, of the graph next to them and of a
// file that has the graph alone.
func TestEventsNone(t *testing.T) {
	t.Parallel()
	slowUnderRace(t)
	for _, spec := range []string{
		"stencil:procs=4,events=4k,jitter=20,seed=1",
		"masterworker:procs=4,events=3k,seed=2",
		"irregular:procs=3,threads=2,events=4k,io,metrics,parameters,seed=4",
		"ring:procs=4,events=2k,broken=stray-leave+open-call+unmatched-send",
	} {
		dir := t.TempDir()
		must(t, "demo", "-o", dir, "--spec", spec)
		all := analysedAs(t, dir, "all.xtf", "-j", "2")
		none := analysedAs(t, dir, "none.xtf", "-j", "3", "--events", "none")
		for _, args := range [][]string{{"profile"}, {"profile", "--ranks", "1-2"}, {"comm"}} {
			want := section(t, all, args[0], args[1:]...)
			if d := cmp.Diff(want, section(t, all, args[0], append(args[1:], "--source", "graph")...)); d != "" {
				t.Errorf("%s: %v of rows and graph differ (-rows +graph):\n%s", spec, args, d)
			}
			if d := cmp.Diff(want, section(t, none, args[0], args[1:]...)); d != "" {
				t.Errorf("%s: %v with and without rows differ (-with +without):\n%s", spec, args, d)
			}
		}
		if code, got := checkOf(t, none); code != jobs.ExitDone || got.Check.Compared.Graphs == 0 {
			t.Errorf("%s: check: exit code %d: %+v", spec, code, got.Check)
		}
	}
}

// TestSourcesOfRandomPrograms compares what rows and graph say of programs with everything that MPI has.
func TestSourcesOfRandomPrograms(t *testing.T) {
	t.Parallel()
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		text, err := tracetest.RandomScript(seed).Text()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "MPI_REQUEST_CANCELLED") {
			continue // graphs count cancelled sends
		}
		run := foundTrace(t, text)
		if code, got := checkOf(t, run); code != jobs.ExitDone || got.Check.Compared.Graphs == 0 {
			t.Fatalf("program %d: check: exit code %d: %+v\n%s", seed, code, got.Check, text)
		}
		for _, name := range []string{"profile", "comm"} {
			if d := cmp.Diff(section(t, run, name, "--source", "rows"), section(t, run, name, "--source", "graph")); d != "" {
				t.Fatalf("program %d: %s of rows and graph differ (-rows +graph):\n%s\n%s", seed, name, d, text)
			}
		}
	}
}

// TestEventsNoneText holds what people are told of such a file.
func TestEventsNoneText(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=2,events=2k,seed=1")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"info", none}, "call graph alone (--events none), exact"},
		{[]string{"report", none}, "messages and collectives were not matched"},
		{[]string{"report", none, "profile"}, "from the call graph, exact"},
		{[]string{"check", none}, "has no rows of them"},
	} {
		if out := must(t, x.args...); !strings.Contains(out, x.want) {
			t.Errorf("%v does not say %q:\n%s", x.args, x.want, out)
		}
	}
	var doc struct {
		Summary struct {
			Rows     bool
			Ticks    map[string]any
			Messages map[string]any
			Stats    map[string]any
		}
	}
	decode(t, must(t, "report", none, "--format", "json"), &doc)
	s := doc.Summary
	if s.Rows || s.Ticks["potent_sync"] != nil || s.Messages["unmatched_sends"] != nil || s.Stats["send_recv"] != nil || s.Stats["mpi"] == nil {
		t.Errorf("what was not computed is not null: %+v", s)
	}
	for _, args := range [][]string{{"query", none, "search"}, {"report", none, "profile", "--source", "rows"}} {
		if code, _, errs := call(args...); code != jobs.ExitInput || !strings.Contains(errs, "--events none") || !strings.Contains(errs, "Analyze the trace again") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// callRow is a call as its row tells.
type callRow struct{ T, End, Region, Depth uint64 }

func callRows(t *testing.T, path string, p xtf.Proc) []callRow {
	t.Helper()
	f, err := callview.OpenFile(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := f.Array(p, xtf.TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	var list []callRow
	rows := a.Rows(0, a.Len())
	for rows.Next() {
		var c xtf.Call
		c.Load(rows.Row())
		list = append(list, callRow{c.T, c.End, uint64(c.Region), uint64(c.Depth)})
	}
	return list
}

// graphQuery runs a query on the call graph.
func graphQuery[T any](t *testing.T, run string, args ...string) T {
	t.Helper()
	var doc struct {
		Query struct {
			Primitive string
			Answer    json.RawMessage
		}
	}
	decode(t, must(t, append([]string{"query", run, "--format", "json"}, args...)...), &doc)
	if doc.Query.Primitive != args[0] {
		t.Fatalf("%v: an answer to %q", args, doc.Query.Primitive)
	}
	var v T
	decode(t, string(doc.Query.Answer), &v)
	return v
}

type stackJSON struct {
	Source string
	Events uint64
	Calls  []struct{ Depth, Region, Begin, Event uint64 }
}

// TestGraphStack compares open calls with the rows.
func TestGraphStack(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "irregular:procs=2,events=6k,seed=3")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	rows := callRows(t, filepath.Join(dir, "run.xtf"), 1)
	last := rows[0].End
	for k := range uint64(12) {
		at := last * k / 11
		var want []callRow
		for _, r := range rows {
			if r.T <= at && r.End > at {
				want = append(want, r)
			}
		}
		got := graphQuery[stackJSON](t, none, "stack", "--rank", "1", "--time", fmt.Sprintf("#%d", at))
		if len(got.Calls) != len(want) {
			t.Errorf("tick %d: %d calls are open, the rows have %d", at, len(got.Calls), len(want))
			continue
		}
		for i, c := range got.Calls {
			if w := want[i]; c.Depth != w.Depth || c.Region != w.Region || c.Begin != w.T {
				t.Errorf("tick %d: %+v, want %+v", at, c, w)
			}
		}
	}
}

// TestGraphInstance compares calls of each region with the rows.
func TestGraphInstance(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "irregular:procs=2,events=6k,seed=3")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	byRegion := map[uint64][]callRow{}
	for _, r := range callRows(t, filepath.Join(dir, "run.xtf"), 0) {
		byRegion[r.Region] = append(byRegion[r.Region], r)
	}
	type instance struct {
		Found                            bool
		Calls, Begin, End, Depth, Region uint64
	}
	for region, rows := range byRegion {
		for _, k := range []int{0, len(rows) / 2, len(rows) - 1} {
			got := graphQuery[instance](t, none, "instance", "--region", fmt.Sprint(region), "-n", fmt.Sprint(k))
			if w := rows[k]; got != (instance{true, uint64(len(rows)), w.T, w.End, w.Depth, region}) {
				t.Errorf("region %d, call %d: %+v, want %+v of %d", region, k, got, w, len(rows))
			}
		}
		if got := graphQuery[instance](t, none, "instance", "--region", fmt.Sprint(region), "-n", fmt.Sprint(len(rows))); got.Found {
			t.Errorf("region %d: call %d of %d is found", region, len(rows), len(rows))
		}
	}
	if code, _, errs := call("query", none, "instance", "--region", "no such"); code != jobs.ExitUsage || !strings.Contains(errs, "profile lists them") {
		t.Errorf("an unknown region: exit code %d: %s", code, errs)
	}
}

type windowJSON struct {
	Events  uint64
	Regions []struct{ Region, Calls, Exclusive, Inclusive uint64 }
}

// TestGraphInterval compares calls and their parts inside with the rows, and a
// picture of one pixel with the interval.
func TestGraphInterval(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=3,events=6k,jitter=20,seed=5")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	rows := append(callRows(t, filepath.Join(dir, "run.xtf"), 0), callRows(t, filepath.Join(dir, "run.xtf"), 2)...)
	last := rows[0].End
	for _, w := range [][2]uint64{{0, last + 1}, {last / 3, last / 2}, {last / 2, last/2 + 1}, {last, last + 1000}} {
		span := fmt.Sprintf("#%d..#%d", w[0], w[1])
		got := graphQuery[windowJSON](t, none, "interval", "--ranks", "0,2", "--time", span)
		calls, inside := map[uint64]uint64{}, map[uint64]uint64{}
		for _, r := range rows { // no recursion there
			if r.T >= w[0] && r.T < w[1] {
				calls[r.Region]++
			}
			if a, b := max(r.T, w[0]), min(r.End, w[1]); a < b {
				inside[r.Region] += b - a
			}
		}
		for _, r := range got.Regions {
			if r.Calls != calls[r.Region] || r.Inclusive != inside[r.Region] {
				t.Errorf("%s: region %d: %d calls, %d ticks, the rows have %d, %d", span, r.Region, r.Calls, r.Inclusive, calls[r.Region], inside[r.Region])
			}
			delete(inside, r.Region)
		}
		if len(inside) > 0 {
			t.Errorf("%s: regions %v are missing", span, inside)
		}
	}
	type picture struct {
		Regions []struct{ Region uint64 }
		Rows    []struct{ Pixels []int }
	}
	p := graphQuery[picture](t, none, "timeline", "--ranks", "1", "--time", "20%..80%", "--width", "1")
	w := graphQuery[windowJSON](t, none, "interval", "--ranks", "1", "--time", "20%", "--to", "80%")
	if len(p.Rows) != 1 || len(p.Rows[0].Pixels) != 1 || p.Regions[0].Region != w.Regions[0].Region {
		t.Errorf("a picture of one pixel: %+v, the interval has mostly %d", p, w.Regions[0].Region)
	}
	if text := must(t, "query", none, "timeline", "--width", "40"); strings.Count(text, "\n") < 5 || !strings.Contains(text, "A  ") {
		t.Errorf("timeline:\n%s", text)
	}
}

type walkJSON struct {
	Events []struct {
		Event, Time uint64
		Kind        string
	}
}

// TestGraphWalk goes over all events in both directions.
func TestGraphWalk(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=3k,seed=1")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	there := graphQuery[walkJSON](t, none, "walk", "--rank", "1", "--limit", "100000").Events
	back := graphQuery[walkJSON](t, none, "walk", "--rank", "1", "--limit", "100000", "--backwards").Events
	n := len(there)
	if n < 1000 || len(back) != n {
		t.Fatalf("%d events, %d backwards", n, len(back))
	}
	for i, e := range there {
		if back[n-1-i] != e || e.Event != uint64(i) {
			t.Fatalf("event %d: %+v, backwards %+v", i, e, back[n-1-i])
		}
	}
	k := n / 2
	for _, x := range []struct {
		args []string
		want int
	}{
		{[]string{"-n", fmt.Sprint(k)}, k},
		{[]string{"-n", fmt.Sprint(k), "--backwards"}, k - 1},
		{[]string{"--time", fmt.Sprintf("#%d", there[n-1].Time)}, n - 1},
	} {
		got := graphQuery[walkJSON](t, none, append([]string{"walk", "--rank", "1", "--limit", "1"}, x.args...)...).Events
		if len(got) != 1 || got[0].Time != there[x.want].Time {
			t.Errorf("%v: %+v, want %+v", x.args, got, there[x.want])
		}
	}
}

// TestDeviation compares a lossy graph with the exact one: counts and bytes are
// equal, times differ by no more than the report says.
func TestDeviation(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=4,events=40k,jitter=5,seed=1")
	exact := filepath.Join(dir, "run.xtf")
	lossy := analysedAs(t, dir, "lossy.xtf", "--deviation", "10%,1us")
	none := analysedAs(t, dir, "none.xtf", "--deviation", "10%,1us", "--events", "none", "-j", "3")
	if d := cmp.Diff(section(t, exact, "profile"), section(t, lossy, "profile")); d != "" {
		t.Errorf("rows next to a lossy graph (-exact +lossy):\n%s", d)
	}
	if d := cmp.Diff(section(t, exact, "comm"), section(t, none, "comm")); d != "" {
		t.Errorf("messages of a lossy graph (-exact +lossy):\n%s", d)
	}
	type profile struct {
		Profile struct {
			Bound   *struct{ Text string }
			Regions []struct {
				Name                        string
				Calls, Exclusive, Inclusive int64
				ExclusiveOff                *big.Int `json:"exclusive_deviation"`
				InclusiveOff                *big.Int `json:"inclusive_deviation"`
			}
		}
	}
	want, got := jsonOf[profile](t, "report", exact, "profile").Profile, jsonOf[profile](t, "report", none, "profile").Profile
	if got.Bound == nil || got.Bound.Text != "every gap within 10 % or 1 µs" || len(got.Regions) != len(want.Regions) {
		t.Fatalf("%+v", got)
	}
	for i, g := range got.Regions {
		w := want.Regions[i]
		far := func(a, b int64, off *big.Int) bool { return new(big.Int).Abs(big.NewInt(a-b)).Cmp(off) > 0 }
		if g.Name != w.Name || g.Calls != w.Calls || far(g.Exclusive, w.Exclusive, g.ExclusiveOff) || far(g.Inclusive, w.Inclusive, g.InclusiveOff) {
			t.Errorf("%+v, exactly %+v", g, w)
		}
	}
	for _, run := range []string{lossy, none} {
		if code, c := checkOf(t, run); code != jobs.ExitDone {
			t.Errorf("check %s: %+v", run, c.Check.Problems)
		}
		if out := must(t, "info", run); !strings.Contains(out, "every gap within 10 % or 1 µs") {
			t.Errorf("info does not tell the bound:\n%s", out)
		}
	}
	type graph struct {
		CCG struct {
			MemoryRatio float64 `json:"r_m"`
			TimeError   *struct{ Largest uint64 }
			ClassRows   uint64 `json:"class_rows"`
		}
	}
	a, b := jsonOf[graph](t, "report", exact, "ccg").CCG, jsonOf[graph](t, "report", none, "ccg").CCG
	if a.ClassRows != 0 || b.ClassRows == 0 || b.MemoryRatio < 1.5*a.MemoryRatio {
		t.Errorf("lossless %+v, lossy %+v", a, b)
	}
}

// TestDeviationWithoutSetUp: of 1000 ticks MPI_Init takes 600, which the run leaves out and the lossy graph has. It is not more than all time.
func TestDeviationWithoutSetUp(t *testing.T) {
	t.Parallel()
	text := "-- program --\nprocesses 1\nresolution 1000\n-- events --\n0 0 ENTER MPI_Init\n0 600 LEAVE MPI_Init\n0 600 ENTER work\n0 1000 LEAVE work\n"
	file := foundTrace(t, text, func(o *analyze.Options) {
		o.GraphOnly, o.Deviation, o.Intervals.Init = true, "1ticks", "exclude"
	})
	x := jsonOf[struct {
		Profile struct{ Time, Exclusive int64 }
	}](t, "report", file, "profile").Profile
	if x.Time != x.Exclusive || x.Time < 999 || x.Time > 1001 {
		t.Errorf("%+v", x)
	}
}

// TestDeviationOfQueries compares answers of a lossy graph with exact ones.
func TestDeviationOfQueries(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=3,events=10k,jitter=10,seed=1")
	exact := filepath.Join(dir, "run.xtf")
	for _, spec := range []string{"10%,1us", "1%", "10%,1us,timestamps"} {
		lossy := analysedAs(t, dir, "lossy.xtf", "-f", "--deviation", spec, "--events", "none")
		far := func(a, b, off uint64) bool { return max(a, b)-min(a, b) > off }
		type instance struct {
			Event, Duration uint64
			Deviation       uint64
		}
		for _, k := range []string{"0", "17", "99"} {
			args := []string{"instance", "--rank", "1", "--region", "compute", "-n", k}
			want, got := graphQuery[instance](t, exact, args...), graphQuery[instance](t, lossy, args...)
			if got.Event != want.Event || far(got.Duration, want.Duration, got.Deviation) {
				t.Errorf("%s: call %s: %+v, exactly %+v", spec, k, got, want)
			}
		}
		type walk struct {
			Events []struct {
				Event, Time, Deviation uint64
				Kind                   string
			}
		}
		args := []string{"walk", "--rank", "2", "--limit", "100000"}
		want, got := graphQuery[walk](t, exact, args...).Events, graphQuery[walk](t, lossy, args...).Events
		if len(got) != len(want) {
			t.Fatalf("%s: %d events, exactly %d", spec, len(got), len(want))
		}
		for i, w := range want {
			if g := got[i]; g.Kind != w.Kind || far(g.Time, w.Time, g.Deviation) {
				t.Errorf("%s: event %d: %+v, exactly %+v", spec, i, g, w)
			}
		}
	}
}

// TestPaths compares sums over call paths with the profile.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "irregular:procs=3,events=6k,seed=3")
	exact := filepath.Join(dir, "run.xtf")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	if d := cmp.Diff(section(t, exact, "paths"), section(t, none, "paths")); d != "" {
		t.Errorf("paths with and without rows:\n%s", d)
	}
	type total struct{ Calls, Exclusive uint64 }
	type region struct {
		Region uint32
		Parent int
		total
		Inclusive uint64
	}
	var doc struct {
		Paths   struct{ Paths []region }
		Profile struct{ Regions []region }
	}
	decode(t, must(t, "report", none, "profile", "paths", "--format", "json"), &doc)
	sums := map[uint32]total{}
	inside := make([]uint64, len(doc.Paths.Paths))
	for i := len(inside) - 1; i >= 0; i-- {
		p := doc.Paths.Paths[i]
		if inside[i] += p.Exclusive; inside[i] != p.Inclusive {
			t.Errorf("path %d: inclusive %d, with all below %d", i, p.Inclusive, inside[i])
		}
		if p.Parent >= 0 {
			inside[p.Parent] += inside[i]
			s := sums[p.Region]
			sums[p.Region] = total{s.Calls + p.Calls, s.Exclusive + p.Exclusive}
		}
	}
	for _, r := range doc.Profile.Regions {
		if sums[r.Region] != r.total {
			t.Errorf("region %d: %+v over paths, %+v in the profile", r.Region, sums[r.Region], r.total)
		}
	}
}

// TestHistogram compares durations of calls with rows.
func TestHistogram(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "irregular:procs=3,events=6k,seed=3")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	rows := callRows(t, filepath.Join(dir, "run.xtf"), 1)
	regions := map[uint64]bool{}
	for _, r := range rows {
		regions[r.Region] = true
	}
	for region := range regions {
		type histogram struct {
			Count, Min, Max, Sum uint64
			Bins                 []struct{ Least, Most, Count uint64 }
		}
		var want histogram
		for _, c := range rows {
			if d := c.End - c.T; c.Region == region {
				if want.Count == 0 || d < want.Min {
					want.Min = d
				}
				want.Count, want.Max, want.Sum = want.Count+1, max(want.Max, d), want.Sum+d
			}
		}
		var got struct{ Histogram histogram }
		decode(t, must(t, "report", none, "histogram", "--region", fmt.Sprint(region), "--ranks", "1", "--format", "json"), &got)
		n := uint64(0)
		for _, b := range got.Histogram.Bins {
			n += b.Count
		}
		got.Histogram.Bins = nil
		if d := cmp.Diff(want, got.Histogram); d != "" || n != want.Count {
			t.Errorf("region %d, %d in bins (-want +got):\n%s", region, n, d)
		}
	}
	if code, _, errs := call("report", none, "histogram"); code != jobs.ExitUsage || !strings.Contains(errs, "--region NAME") {
		t.Errorf("no region: exit code %d: %s", code, errs)
	}
}

// TestCancelledSends: what a table of messages leaves out and other sections count is said next to it.
func TestCancelledSends(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, program(2, "0 100 ENTER MPI_Isend\n0 100 MPI_ISEND 1 MPI_COMM_WORLD 7 8 8\n0 101 LEAVE MPI_Isend\n0 110 ENTER MPI_Wait\n0 400 MPI_REQUEST_CANCELLED 8\n0 400 LEAVE MPI_Wait\n"))
	const left = "without 1 cancelled send, which other sections count"
	if text := must(t, "report", run, "comm", "--source", "rows"); !strings.Contains(text, "messages: 0 of 0 B") || !strings.Contains(text, left) {
		t.Error(text)
	}
	if text := must(t, "report", run, "comm", "--source", "graph"); !strings.Contains(text, "messages: 1 of 8 B") || strings.Contains(text, left) {
		t.Error(text)
	}
}
