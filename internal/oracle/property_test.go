package oracle_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// Items that are not sums of ticks.
var (
	countItems = []oracle.Item{
		oracle.Events, oracle.Calls, oracle.Sends, oracle.Receives, oracle.BytesOut, oracle.BytesIn, oracle.Collectives, oracle.CollOut, oracle.CollIn,
		oracle.Executions, oracle.WaitCount,
	}
	instantItems = []oracle.Item{oracle.FirstEvent, oracle.LastEvent, oracle.IdealFirst, oracle.IdealLast}
)

// eachProgram calls f for random programs.
func eachProgram(t *testing.T, f func(seed uint64, s *tracetest.Script, text string)) {
	t.Helper()
	for seed := range seeds() / 10 {
		s := tracetest.RandomScript(seed)
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		if f(seed, s, text); t.Failed() {
			t.Fatalf("program %d", seed)
		}
	}
}

func analyzeText(t *testing.T, text string, o oracle.Options) *oracle.Result {
	t.Helper()
	src, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return analyze(t, src, o)
}

// timed changes the times of all events.
func timed(text string, f func(uint64) uint64) string {
	head, events, _ := strings.Cut(text, "-- events --\n")
	var b strings.Builder
	b.WriteString(head + "-- events --\n")
	for line := range strings.Lines(events) {
		w := strings.SplitN(line, " ", 3)
		at, _ := strconv.ParseUint(w[1], 10, 64)
		fmt.Fprintf(&b, "%s %d %s", w[0], f(at), w[2])
	}
	return b.String()
}

// sameItems compares every component, after f changed those of a.
func sameItems(t *testing.T, a, b *oracle.Result, f func(item oracle.Item, v uint64) uint64) {
	t.Helper()
	if len(a.Nodes) != len(b.Nodes) {
		t.Fatalf("%d and %d nodes", len(a.Nodes), len(b.Nodes))
	}
	for p := range a.Locations {
		for n, c := range a.Locations[p].Components {
			for item, v := range c {
				if got := b.Locations[p].Components[n][item]; got != f(item, v) {
					t.Errorf("location %d, node %d: %s is %d, want %d", p, n, item, got, f(item, v))
				}
			}
			if len(c) != len(b.Locations[p].Components[n]) {
				t.Errorf("location %d, node %d: %d and %d items", p, n, len(c), len(b.Locations[p].Components[n]))
			}
		}
	}
}

func TestShift(t *testing.T) {
	const by = 1000
	eachProgram(t, func(_ uint64, _ *tracetest.Script, text string) {
		text = timed(text, func(at uint64) uint64 { return at + 1 })
		a, b := analyzeText(t, text, oracle.Options{}), analyzeText(t, timed(text, func(at uint64) uint64 { return at + by }), oracle.Options{})
		sameItems(t, a, b, func(item oracle.Item, v uint64) uint64 {
			if slices.Contains(instantItems, item) {
				return v + by
			}
			return v
		})
		for k, c := range a.Delays {
			if d := b.Delays[k]; d == nil || *c != *d {
				t.Errorf("delay %+v: %+v and %+v", k, c, d)
			}
		}
	})
}

func TestScale(t *testing.T) {
	const by = 7
	eachProgram(t, func(_ uint64, _ *tracetest.Script, text string) {
		a, b := analyzeText(t, text, oracle.Options{}), analyzeText(t, timed(text, func(at uint64) uint64 { return at * by }), oracle.Options{})
		sameItems(t, a, b, func(item oracle.Item, v uint64) uint64 {
			if slices.Contains(countItems, item) {
				return v
			}
			return v * by
		})
		for n := range a.Nodes {
			x, y := a.Characteristics(n, oracle.Rules{}), b.Characteristics(n, oracle.Rules{})
			if x.Efficiency.Cmp(y.Efficiency) != 0 || scalars(x)["SerE"] != scalars(y)["SerE"] {
				t.Errorf("node %d: ratios change", n)
			}
		}
	})
}

// additive are the items of which parts sum up to the whole.
func additive(item oracle.Item) bool {
	return !slices.Contains(instantItems, item) && item != oracle.Executions && item != oracle.Events && item != oracle.Ideal
}

// TestParts cuts runs into slices, which sum up to the whole run, and joins two of them.
func TestParts(t *testing.T) {
	eachProgram(t, func(seed uint64, _ *tracetest.Script, text string) {
		width := 1 + seed%97
		var o oracle.Options
		for k := range uint64(1200) {
			o.Slices = append(o.Slices, oracle.Slice{Key: oracle.Key{ID: k}, Begin: k * width, End: (k + 1) * width})
		}
		both := oracle.Options{Slices: []oracle.Slice{{Key: oracle.Key{ID: 1}, Begin: 3 * width, End: 5 * width}}}
		a, b := analyzeText(t, text, o), analyzeText(t, text, both)
		for p := range a.Locations {
			sums, pair := oracle.Components{}, oracle.Components{}
			for n, node := range a.Nodes {
				for item, v := range a.Locations[p].Components[n] {
					if node.Derived {
						sums[item] += v
					}
					if node.Derived && (node.Key.ID == 3 || node.Key.ID == 4) {
						pair[item] += v
					}
				}
			}
			for n, node := range b.Nodes {
				for item, v := range b.Locations[p].Components[n] {
					if node.Derived && additive(item) && pair[item] != v {
						t.Errorf("location %d: two slices have %d and %d of %s", p, pair[item], v, item)
					}
				}
			}
			for item, v := range a.Locations[p].Components[0] {
				// what is complete at the first instant, or begins at the last one, is in no slice
				if counts := slices.Contains(countItems, item); additive(item) && (sums[item] > v || sums[item] < v && !counts && item != oracle.SendRecv && item != oracle.PotentialSync && item != oracle.Variation) {
					t.Errorf("location %d: slices have %d of %s, the whole run %d", p, sums[item], item, v)
				}
			}
		}
	})
}

// TestPermute numbers the processes of a program in another way.
func TestPermute(t *testing.T) {
	eachProgram(t, func(seed uint64, s *tracetest.Script, text string) {
		n := len(s.Steps)
		to := func(p int) int { return (p + 1 + int(seed)%(n-1)) % n }
		m := &tracetest.Script{Latency: s.Latency, Regions: s.Regions, Steps: make([][]tracetest.Step, n), Start: make([]uint64, n), Comms: slices.Clone(s.Comms)}
		own := map[string]string{}
		for p := range n {
			own[tracetest.OwnComm(p)] = tracetest.OwnComm(to(p))
		}
		odd := slices.Clone(s.Comms[n].Members)
		for i, p := range odd {
			odd[i] = to(p)
		}
		m.Comms[n].Members = odd
		for p, list := range s.Steps {
			m.Start[to(p)] = s.Start[p]
			for _, st := range list {
				if st.Comm == "" && strings.HasSuffix(strings.ToLower(st.Call+st.As), "scan") {
					return // its order is that of the processes
				}
				st.Peer, st.Source = to(st.Peer), to(st.Source)
				st.Group, st.Starts = slices.Clone(st.Group), slices.Clone(st.Starts)
				for i, q := range st.Group {
					st.Group[i] = to(q)
				}
				for i := range st.Starts {
					st.Starts[i].Peer = to(st.Starts[i].Peer)
				}
				if st.Comm == "" && st.Call != "" {
					st.Root = to(st.Root)
				}
				if c, ok := own[st.Comm]; ok {
					st.Comm = c
				}
				m.Steps[to(p)] = append(m.Steps[to(p)], st)
			}
		}
		other, err := m.Text()
		if err != nil {
			t.Fatal(err)
		}
		a, b := analyzeText(t, text, oracle.Options{}), analyzeText(t, other, oracle.Options{})
		for p := range n {
			for item, v := range a.Locations[p].Components[0] {
				got := b.Locations[to(p)].Components[0][item]
				if got != v && !strings.HasPrefix(string(item), "critical") { // that chooses by number where two are equal
					t.Errorf("process %d, now %d: %s is %d, want %d", p, to(p), item, got, v)
				}
			}
		}
	})
}
