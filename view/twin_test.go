package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// everyFile calls f with a server of each test run.
func everyFile(t *testing.T, f func(t *testing.T, s *Server, rng *rand.Rand)) {
	t.Helper()
	for i, spec := range generatedSpecs {
		t.Run(spec[:7], func(t *testing.T) {
			f(t, serving(t, generated(t, spec)), rand.New(rand.NewPCG(uint64(i), 5)))
		})
	}
	t.Run("real", func(t *testing.T) {
		f(t, serving(t, realTrace(t, "npb-is.S-4")), rand.New(rand.NewPCG(9, 5)))
	})
}

// window chooses a span of a run, now and then all of it.
func window(x *run, rng *rand.Rand) (begin, end uint64) {
	if rng.IntN(5) == 0 {
		return x.first, x.end()
	}
	a, b := x.first+rng.Uint64N(x.last-x.first+2), x.first+rng.Uint64N(x.last-x.first+2)
	return min(a, b), max(a, b)
}

// limitsJSON is a number or bounds.
type limitsJSON struct{ lower, about, upper uint64 }

func (l *limitsJSON) UnmarshalJSON(b []byte) error {
	var v struct{ Lower, About, Upper uint64 }
	if b[0] != '{' {
		n, err := strconv.ParseUint(string(b), 10, 64)
		if err != nil {
			return err
		}
		l.lower, l.about, l.upper = n, n, n
		return nil
	}
	err := json.Unmarshal(b, &v)
	l.lower, l.about, l.upper = v.Lower, v.About, v.Upper
	return err
}

type statsJSON struct {
	Processes uint64
	Exact     bool
	Items     []struct {
		Item     string
		Sum      limitsJSON
		Min, Max *Extreme
	}
	Functions []struct {
		Region                             int
		Calls, Inclusive, Exclusive, Bytes limitsJSON
	}
	Lost []table.Lost
}

// TestStats: exact statistics are those of the report, and approximate ones enclose them.
func TestStats(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		windows := 8
		if testing.Short() {
			windows = 3
		}
		for i := range windows {
			begin, end := window(x, rng)
			set := "all"
			if i%2 == 1 {
				set = fmt.Sprintf("%d-%d", rng.IntN(2), x.meta.Processes-1)
			}
			ranks, err := results.ParseRanks(set, x.Defs)
			if set == "all" {
				ranks, err = results.Ranks{}, nil
			}
			if err != nil {
				t.Fatal(err)
			}
			want, err := lookup.NewStatistics(x.Run, ranks, begin, end, true)
			if err != nil {
				t.Fatal(err)
			}
			path := fmt.Sprintf("stats?t=%d..%d&ranks=%s&exact=", begin, end, set)
			exact, about := answer[statsJSON](t, s, path+"1"), answer[statsJSON](t, s, path+"0")
			compareItems(t, path, &exact, want)
			compareFunctions(t, path, x, &exact, want)
			compareApproximate(t, path, &exact, &about)
		}
	})
}

func compareItems(t *testing.T, path string, got *statsJSON, want *lookup.Statistics) {
	t.Helper()
	n := 0
	for i := range want.Items {
		w := &want.Items[i]
		if w.Item == xtf.ItemFirst || w.Item == xtf.ItemLast {
			continue
		}
		k := slices.IndexFunc(got.Items, func(g struct {
			Item     string
			Sum      limitsJSON
			Min, Max *Extreme
		},
		) bool {
			return g.Item == w.Item.String()
		})
		if k < 0 {
			t.Fatalf("%s: no %s, want %v", path, w.Item, w.Sum)
		}
		g := &got.Items[k]
		if g.Sum.lower != uint64(w.Sum) || g.Sum.upper != uint64(w.Sum) {
			t.Fatalf("%s: %s is %v to %v, want %v", path, w.Item, g.Sum.lower, g.Sum.upper, w.Sum)
		}
		if got.Processes == want.Processes && (g.Min.Value != w.Min || g.Max.Value != w.Max || g.Max.Rank != w.MaxP || g.Min.Rank != w.MinP) {
			t.Fatalf("%s: %s is between %v and %v, want %d@%d and %d@%d", path, w.Item, g.Min, g.Max, w.Min, w.MinP, w.Max, w.MaxP)
		}
		n++
	}
	if n != len(got.Items) || !got.Exact {
		t.Fatalf("%s: %d items, want %d", path, len(got.Items), n)
	}
}

func compareFunctions(t *testing.T, path string, x *run, got *statsJSON, want *lookup.Statistics) {
	t.Helper()
	if len(got.Functions) != len(want.Functions) {
		t.Fatalf("%s: %d functions, want %d", path, len(got.Functions), len(want.Functions))
	}
	for i := range want.Functions {
		g, w := &got.Functions[i], &want.Functions[i]
		if g.Region != x.region(w.Region) || g.Exclusive.lower != w.Exclusive.Lower || g.Calls.upper != w.Calls.Upper || g.Inclusive.upper != w.Inclusive.Upper {
			t.Fatalf("%s: function %d is %+v, want %+v", path, i, g, w)
		}
	}
}

// compareApproximate looks whether bounds enclose the exact numbers.
func compareApproximate(t *testing.T, path string, exact, about *statsJSON) {
	t.Helper()
	within := func(what string, e, a *limitsJSON) {
		if a.lower > e.lower || a.upper < e.upper || a.about < a.lower || a.about > a.upper {
			t.Fatalf("%s: %s between %v and %v, about %v; it is %v", path, what, a.lower, a.upper, a.about, e.lower)
		}
	}
	for i := range exact.Items {
		e := &exact.Items[i]
		for k := range about.Items {
			if about.Items[k].Item == e.Item {
				within(e.Item, &e.Sum, &about.Items[k].Sum)
			}
		}
	}
	for i := range exact.Functions {
		e, found := &exact.Functions[i], false
		for k := range about.Functions {
			if a := &about.Functions[k]; a.Region == e.Region {
				found = true
				within("calls", &e.Calls, &a.Calls)
				within("exclusive time", &e.Exclusive, &a.Exclusive)
				within("inclusive time", &e.Inclusive, &a.Inclusive)
			}
		}
		if !found {
			t.Fatalf("%s: region %d is missing", path, e.Region)
		}
	}
}

// TestAt compares stacks, messages and waits at a point with all rows.
func TestAt(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		for range 40 {
			p := trace.P(rng.IntN(x.meta.Locations))
			calls := callsOf(t, x, p)
			if len(calls) == 0 {
				continue
			}
			at := x.first + rng.Uint64N(x.last-x.first+1)
			path := fmt.Sprintf("at?loc=%d&t=%d", p, at)
			byCall := rng.IntN(2) == 0
			n := rng.IntN(len(calls))
			if byCall {
				at, path = calls[n].T, fmt.Sprintf("at?loc=%d&n=%d", p, n)
			}
			v := answer[At](t, s, path)
			var want []int
			if byCall {
				for k := n; ; k = int(calls[k].Parent) {
					if want = append(want, k); calls[k].Parent == xtf.Never {
						break
					}
				}
			} else {
				for k := len(calls) - 1; k >= 0; k-- {
					if calls[k].T <= at && calls[k].End > at {
						want = append(want, k)
					}
				}
			}
			if v.T != at || len(v.Stack) != len(want) {
				t.Fatalf("%s: %d open calls at %d, want %d", path, len(v.Stack), v.T, len(want))
			}
			for i, k := range want {
				if g := v.Stack[i]; g.N != uint64(k) || g.Begin != calls[k].T || g.End != calls[k].End || g.Region != x.region(calls[k].Region) {
					t.Fatalf("%s: call %d of the stack is %+v, want call %d", path, i, g, k)
				}
			}
			checkAbout(t, x, p, path, &v)
		}
	})
}

// checkAbout compares what a point tells next to the stack.
func checkAbout(t *testing.T, x *run, p trace.P, path string, v *At) {
	t.Helper()
	if len(v.Stack) == 0 || v.Stack[0].Class == xtf.ShareOwn {
		return
	}
	n := 0
	for k, m := range rowsOf(t, x, p, xtf.TypeP2P, func(b []byte) (m xtf.P2P) { m.Load(b); return m }) {
		if m.CallN != v.Stack[0].N || n == mostAbout {
			continue
		}
		if n >= len(v.Message) || v.Message[n].N != uint64(k) || v.Message[n].Bytes != m.Bytes || (v.Message[n].Mate != nil) != (m.MateN != xtf.Never) {
			t.Fatalf("%s: message %d is not row %d", path, n, k)
		}
		if mate := v.Message[n].Mate; mate != nil && mate.Location != int(m.MateP) {
			t.Fatalf("%s: mate of row %d is on %d, not %d", path, k, mate.Location, m.MateP)
		}
		n++
	}
	if n != len(v.Message) {
		t.Fatalf("%s: %d messages, want %d", path, len(v.Message), n)
	}
	begin, end := min(v.T, v.Stack[0].Begin), max(v.T+1, v.Stack[0].End)
	var waits []uint64
	for k, w := range rowsOf(t, x, p, xtf.TypeWait, func(b []byte) (w xtf.Wait) { w.Load(b); return w }) {
		if w.T < end && w.End > begin {
			waits = append(waits, uint64(k))
		}
	}
	if len(waits) != len(v.Waits) {
		t.Fatalf("%s: %d waits, want %d", path, len(v.Waits), len(waits))
	}
	for i, w := range v.Waits {
		if w.N != waits[i] || !hasEnd(&w) || w.Ticks != w.End-w.Begin {
			t.Fatalf("%s: wait %+v, want row %d with its cause", path, w, waits[i])
		}
	}
}

// hasEnd reports whether a wait leads to who was waited for; spans at the end of collectives wait for nobody.
func hasEnd(w *Wait) bool {
	return (w.Ended != nil) != (w.Pattern == results.PatternName(xtf.WaitBarrierCompletion) || w.Pattern == results.PatternName(xtf.WaitNxNCompletion))
}

// TestNext compares steps with a look at all calls.
func TestNext(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		for range 60 {
			p := trace.P(rng.IntN(x.meta.Locations))
			calls := callsOf(t, x, p)
			if len(calls) == 0 {
				continue
			}
			kind := []string{"call", "region"}[rng.IntN(2)]
			n, step := rng.IntN(len(calls)), 1-2*rng.IntN(2)
			region := x.region(calls[rng.IntN(len(calls))].Region)
			path := fmt.Sprintf("next?loc=%d&n=%d&kind=%s&step=%d&region=%d", p, n, kind, step, region)
			v := answer[NextEvent](t, s, path)
			want := n + step
			for ; want >= 0 && want < len(calls); want += step {
				c := &calls[want]
				if kind == "call" || x.region(c.Region) == region {
					break
				}
			}
			found := want >= 0 && want < len(calls)
			if v.Found != found || found && (v.N != uint64(want) || v.T != calls[want].T || v.End != calls[want].End) {
				t.Fatalf("%s: %+v, want row %d", path, v, want)
			}
			if !found && v.Side != map[int]string{1: "after", -1: "before"}[step] {
				t.Fatalf("%s: ends %s", path, v.Side)
			}
		}
		checkNextByTime(t, s, rng)
	})
}

func checkNextByTime(t *testing.T, s *Server, rng *rand.Rand) {
	t.Helper()
	x := s.runs[0]
	for range 5 {
		p := trace.P(rng.IntN(x.meta.Locations))
		times := rowsOf(t, x, p, xtf.TypeCall, func(b []byte) uint64 { return xtf.U64(b, 0) })
		at := x.first + rng.Uint64N(x.last-x.first+1)
		after := answer[NextEvent](t, s, fmt.Sprintf("next?loc=%d&t=%d", p, at))
		before := answer[NextEvent](t, s, fmt.Sprintf("next?loc=%d&t=%d&step=-1", p, at))
		i := slices.IndexFunc(times, func(v uint64) bool { return v > at })
		if after.Found != (i >= 0) || i >= 0 && after.N != uint64(i) {
			t.Fatalf("after %d on %d: %+v, want row %d", at, p, after, i)
		}
		k := len(times) - 1
		for k >= 0 && times[k] >= at {
			k--
		}
		if before.Found != (k >= 0) || k >= 0 && before.N != uint64(k) {
			t.Fatalf("before %d on %d: %+v, want row %d", at, p, before, k)
		}
	}
}

// TestMessages compares arrows, and densities, with all rows.
func TestMessages(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		var all [][]xtf.P2P
		for p := range trace.P(x.meta.Locations) {
			all = append(all, rowsOf(t, x, p, xtf.TypeP2P, func(b []byte) (m xtf.P2P) { m.Load(b); return m }))
		}
		for i := range 12 {
			begin, end := window(x, rng)
			if i%3 > 0 {
				end = begin + (end-begin)/40
			}
			path := fmt.Sprintf("messages?t=%d..%d&ranks=0-%d", begin, end, rng.IntN(x.meta.Processes))
			ranks, err := results.ParseRanks(path[len(fmt.Sprintf("messages?t=%d..%d&ranks=", begin, end)):], x.Defs)
			if err != nil {
				t.Fatal(err)
			}
			checkMessages(t, x, path, all, ranks, begin, end, answer[Messages](t, s, path))
		}
	})
}

func checkMessages(t *testing.T, x *run, path string, all [][]xtf.P2P, ranks results.Ranks, begin, end uint64, v Messages) {
	t.Helper()
	type key struct{ p, n uint64 }
	want, total, bytes := map[key]bool{}, uint64(0), uint64(0)
	of := ranks.Locations(x.Defs)
	for p := range all {
		for n := range all[p] {
			m := &all[p][n]
			if !of(trace.P(p)) || m.T < begin || m.T >= end {
				continue
			}
			total, bytes = total+1, bytes+m.Bytes
			switch {
			case m.MateN == xtf.Never:
			case m.Kind&xtf.P2PKindMask == xtf.P2PSend:
				want[key{uint64(p), uint64(n)}] = true
			default:
				want[key{uint64(m.MateP), m.MateN}] = true
			}
		}
	}
	if v.Truncated != (len(want) > mostMessages || total > 2*mostMessages) {
		t.Fatalf("%s: truncated %t, %d messages", path, v.Truncated, len(want))
	}
	if v.Truncated {
		sum := uint64(0)
		for _, n := range v.Density.Count {
			sum += n
		}
		if len(v.List.From) > 0 || sum == 0 || v.Density.Exact {
			t.Fatalf("%s: %d arrows, density of %d for %d", path, len(v.List.From), sum, total)
		}
		return
	}
	if v.Total != total || len(v.List.From) != len(want) {
		t.Fatalf("%s: %d of %d sides, want %d of %d", path, len(v.List.From), v.Total, len(want), total)
	}
	for i := range v.List.From {
		k := key{uint64(v.List.From[i]), v.List.SendN[i]}
		m := &all[k.p][k.n]
		r := &all[v.List.To[i]][v.List.RecvN[i]]
		if !want[k] || m.MateN != v.List.RecvN[i] || int(m.MateP) != v.List.To[i] || v.List.SendT[i] != m.T || v.List.RecvT[i] != r.End || v.List.RecvCall[i] != r.CallN {
			t.Fatalf("%s: arrow %d from row %v", path, i, k)
		}
		delete(want, k)
	}
}

// TestWaits compares the longest waits with all of them.
func TestWaits(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		for i := range 6 {
			begin, end := window(x, rng)
			pattern := append([]string{"all", "all"}, patternNames()...)[rng.IntN(11)]
			if i == 0 {
				pattern = "all"
			}
			path := fmt.Sprintf("waits?t=%d..%d&max=30&pattern=%s", begin, end, pattern)
			v := answer[Waits](t, s, path)
			var want []waitRow
			for p := range trace.P(x.meta.Locations) {
				for n, w := range rowsOf(t, x, p, xtf.TypeWait, func(b []byte) (w xtf.Wait) { w.Load(b); return w }) {
					from, to := max(w.T, begin), min(w.End, end)
					if from < to && (pattern == "all" && !results.IsCompletion(w.Pattern) || results.PatternName(w.Pattern) == pattern) {
						want = append(want, waitRow{p, uint64(n), to - from, w})
					}
				}
			}
			slices.SortFunc(want, compareWaits)
			if !v.Complete || len(v.List) != min(30, len(want)) {
				t.Fatalf("%s: %d waits, want %d", path, len(v.List), len(want))
			}
			for i, g := range v.List {
				if w := want[i]; g.Location != int(w.p) || g.N != w.n || g.Begin != w.w.T || g.Node != w.w.Node || !hasEnd(&g) {
					t.Fatalf("%s: wait %d is %+v, want row %d of %d", path, i, g, w.n, w.p)
				}
			}
		}
	})
}

// TestCritical compares the pieces of the critical path with all rows; they cover the run without gap or overlap.
func TestCritical(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		for range 5 {
			begin, end := window(x, rng)
			v := answer[Critical](t, s, fmt.Sprintf("critical?t=%d..%d&max=10000", begin, end))
			var want []Piece
			for p := range trace.P(x.meta.Locations) {
				for _, c := range rowsOf(t, x, p, xtf.TypeCPath, func(b []byte) (c xtf.CPath) { c.Load(b); return c }) {
					if c.T < end && c.End > begin {
						want = append(want, x.pieceOf(p, &c))
					}
				}
			}
			slices.SortFunc(want, func(a, b Piece) int {
				return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Location, b.Location))
			})
			if v.Total != uint64(len(want)) || v.Truncated != (len(want) > 10000) || !v.Complete || !v.Truncated && !slices.Equal(v.Pieces, want) {
				t.Fatalf("[%d, %d): %d pieces, want %d", begin, end, v.Total, len(want))
			}
		}
		few := answer[Critical](t, s, "critical?max=3")
		if len(few.Pieces) > 3 || few.Truncated != (few.Total > 3) {
			t.Fatalf("%d of %d pieces", len(few.Pieces), few.Total)
		}
	})
}
