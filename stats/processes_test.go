package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// randomItems makes the components of a location.
func randomItems(r *rand.Rand, nodes int) *interval.Components {
	c := &interval.Components{}
	if r.IntN(4) == 0 {
		return c
	}
	for n := range uint32(nodes) {
		if n > 0 && r.IntN(2) == 0 {
			continue
		}
		x := c.Node(n)
		for i := range x {
			if r.IntN(3) == 0 {
				x[i] = r.Uint64N(50)
			}
		}
		x[xtf.ItemExecutions] = 1 + r.Uint64N(3)
		if n == 0 {
			x[xtf.ItemExecutions], x[xtf.ItemEvents] = 1, 2
			x[xtf.ItemFirst] = r.Uint64N(20)
			x[xtf.ItemLast] = x[xtf.ItemFirst] + 1000 + r.Uint64N(20)
			x[xtf.ItemTime] = x[xtf.ItemLast] - x[xtf.ItemFirst]
			x.Derive()
		}
	}
	return c
}

// slowProcess joins the locations of a process by the definition.
func slowProcess(tables *Tables, all []*interval.Components, first, count, node int) interval.Items {
	var x interval.Items
	begun, chosen := false, false
	for p := first; p < first+count; p++ {
		c := all[p]
		metric := tables.Defs.Location(trace.P(p)).Type == trace.MetricLocation
		for i := range xtf.NumItems {
			v := c.Value(uint32(node), i)
			switch {
			case metric && (node > 0 || i != xtf.ItemEvents):
			case i.Adds():
				x[i] += v
			case node == 0 && p == first || node > 0 && !chosen && c.Value(uint32(node), xtf.ItemExecutions) > 0:
				x[i] = v
			}
		}
		chosen = chosen || !metric && c.Value(uint32(node), xtf.ItemExecutions) > 0
		if node == 0 && !metric && c.Value(0, xtf.ItemEvents) > 0 {
			f, l := c.Value(0, xtf.ItemFirst), c.Value(0, xtf.ItemLast)
			if begun {
				f, l = min(f, x[xtf.ItemFirst]), max(l, x[xtf.ItemLast])
			}
			begun = true
			x[xtf.ItemExecutions], x[xtf.ItemFirst], x[xtf.ItemLast], x[xtf.ItemTime] = 1, f, l, l-f
			x.Derive()
		}
	}
	return x
}

// slowSpread describes a distribution of an item by the definition.
func slowSpread(values []uint64, processes []uint32) string {
	var sum, squares uint64
	low, high := 0, 0
	for i, v := range values {
		sum += v
		squares += v * v
		if v < values[low] {
			low = i
		}
		if v > values[high] {
			high = i
		}
	}
	return fmt.Sprintf("%d %d 0 %d@%d %d@%d", sum, squares, values[low], processes[low], values[high], processes[high])
}

func spreadText(s Spread) string {
	return fmt.Sprintf("%d %d %d %d@%d %d@%d", s.Sum, s.Squares[0], s.Squares[1], s.Min, s.MinP, s.Max, s.MaxP)
}

// TestReducer compares the distributions over processes with their definition, for
// locations dealt out to ranks in several ways.
func TestReducer(t *testing.T) {
	const locations, nodes = 18, 5
	src := generated(t, "ring:procs=6,threads=3,events=4k")
	defs := src.Definitions()
	for _, p := range []trace.P{3, 10} { // the first of a process, and one between
		defs.Location(p).Type = trace.MetricLocation
	}
	tables := NewTables(defs, 0)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 6))
		all := make([]*interval.Components, locations)
		for p := range all {
			all[p] = randomItems(r, nodes)
		}
		want, claimed := slowNodes(tables, all, nodes)
		for _, ends := range [][]trace.P{{18}, {1, 2, 3, 18}, {4, 4, 5, 18}, {2, 7, 8, 9, 10, 11, 12, 18}, {0, 17, 18}} {
			got := spreadsOf(t, tables, ends, nodes, all, claimed)
			for n := range got {
				if text := nodeText(&got[n]); text != want[n] {
					t.Fatalf("seed %d, ranges up to %v, node %d:\n got %s\nwant %s", seed, ends, n, text, want[n])
				}
			}
		}
	}
}

func nodeText(n *NodeSpread) string {
	s := fmt.Sprintf("%d processes", n.Processes)
	for i := range xtf.NumItems {
		if x, present := n.Item(i); present {
			s += fmt.Sprintf("; %v %s", i, spreadText(x))
		}
	}
	return s
}

// slowNodes describes the distributions of all nodes. claimed[p] says which nodes
// locations of the same process before p have executed.
func slowNodes(tables *Tables, all []*interval.Components, nodes int) (text []string, claimed [][]bool) {
	claimed = make([][]bool, len(all))
	for n := range nodes {
		var values [xtf.NumItems][]uint64
		var processes []uint32
		for number, pr := range tables.Defs.Processes() {
			before := false
			for p := int(pr.First); p < int(pr.First)+int(pr.Count); p++ {
				claimed[p] = append(claimed[p], before)
				metric := tables.Defs.Location(trace.P(p)).Type == trace.MetricLocation
				before = before || !metric && all[p].Value(uint32(n), xtf.ItemExecutions) > 0
			}
			x := slowProcess(tables, all, int(pr.First), int(pr.Count), n)
			if n == 0 && x[xtf.ItemEvents] == 0 || n > 0 && x[xtf.ItemExecutions] == 0 {
				continue
			}
			processes = append(processes, uint32(number))
			for i := range x {
				values[i] = append(values[i], x[i])
			}
		}
		s := fmt.Sprintf("%d processes", len(processes))
		for i := range xtf.NumItems {
			if slices.ContainsFunc(values[i], func(v uint64) bool { return v != 0 }) {
				s += fmt.Sprintf("; %v %s", i, slowSpread(values[i], processes))
			}
		}
		text = append(text, s)
	}
	return text, claimed
}

// spreadsOf reduces on as many ranks as there are ranges.
func spreadsOf(t *testing.T, tables *Tables, ends []trace.P, nodes int, all []*interval.Components, claimed [][]bool) (got Spreads) {
	t.Helper()
	ranges := upTo(ends)
	var mu sync.Mutex
	err := mpi.RunInProcess(len(ranges), func(c mpi.Comm) error {
		own := ranges[c.Rank()]
		r := NewReducer(tables, ranges, c.Rank(), nodes)
		for p := own.First; p < own.End; p++ {
			copied, err := interval.ParseComponents(all[p].AppendBinary(nil))
			if err != nil {
				return err
			}
			r.Add(p, copied)
		}
		s, err := r.Reduce(c, nil)
		if err != nil {
			return err
		}
		if x := r.Claimed(); x != nil && !slices.Equal(x[1:], claimed[own.First][1:]) {
			return fmt.Errorf("rank %d: %v was executed below, not %v", c.Rank(), claimed[own.First], x)
		}
		mu.Lock()
		defer mu.Unlock()
		if c.Rank() == 0 {
			got = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSumOfLongest compares with the definition, in pieces of any length.
func TestSumOfLongest(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		const ranks = 3
		counts := []uint64{1, 0, 5, 1, 7, 2, 0}
		longest := make([][]uint64, len(counts))
		want := make([]uint64, len(counts))
		for n, k := range counts {
			longest[n] = make([]uint64, k)
		}
		var rows [ranks][]xtf.Ival
		for rank := range rows {
			for n, k := range counts {
				for e := range k {
					length := r.Uint64() >> r.UintN(64) >> 3
					if n == 4 && seed%4 == 0 {
						length = 1 << 63
					}
					rows[rank] = append(rows[rank], xtf.Ival{T: 5, End: 5 + length, Node: uint32(n), Execution: e})
					longest[n][e] = max(longest[n][e], length)
				}
			}
			r.Shuffle(len(rows[rank]), func(i, k int) { rows[rank][i], rows[rank][k] = rows[rank][k], rows[rank][i] })
		}
		for n, list := range longest {
			for _, v := range list {
				if n > 0 && len(list) > 1 {
					want[n] += v
				}
			}
		}
		piece := 1 + r.Uint64N(20)
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			got, err := sumOfLongest(c, counts, piece, func(visit func(*xtf.Ival)) error {
				for i := range rows[c.Rank()] {
					visit(&rows[c.Rank()][i])
				}
				return nil
			})
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("pieces of %d: %v, want %v", piece, got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
