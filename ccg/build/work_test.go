package build

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// lists are the children of one call, by number: what an append may cost.
var lists = []struct {
	name  string
	child func(r *rand.Rand, i int) uint32
	most  float64 // compares per append
}{
	{"equal", func(*rand.Rand, int) uint32 { return 1 }, 0},
	{"all different", func(_ *rand.Rand, i int) uint32 { return uint32(i) }, 0},
	{"a loop of seven", func(_ *rand.Rand, i int) uint32 { return uint32(i % 7) }, 1.1},
	{"a loop as long as K", func(_ *rand.Rand, i int) uint32 { return uint32(i % graph.DefaultFold) }, 1.1},
	{"a loop longer than K", func(_ *rand.Rand, i int) uint32 { return uint32(i % (graph.DefaultFold + 1)) }, 0},
	{"random among two", func(r *rand.Rand, _ int) uint32 { return r.Uint32N(2) }, 3},
	{"random among forty", func(r *rand.Rand, _ int) uint32 { return r.Uint32N(40) }, 2.1},
	{"random among many", func(r *rand.Rand, _ int) uint32 { return r.Uint32N(1 << 20) }, 1.1},
	// each append compares all that it has in common with the period before: the
	// worst there is, half of K
	{"nearly a loop", func(_ *rand.Rand, i int) uint32 {
		if i%graph.DefaultFold == 0 {
			return uint32(1<<20 + i)
		}
		return uint32(i % graph.DefaultFold)
	}, graph.DefaultFold / 2},
}

// TestAppendCost counts compared entries for short and long lists: what an append
// costs depends on what the list is like and on K, not on its length; and so does
// what waits in memory.
func TestAppendCost(t *testing.T) {
	few, many := 20_000, 160_000
	if testing.Short() {
		few, many = 6_000, 24_000
	}
	run := func(child func(r *rand.Rand, i int) uint32, n int) (*Builder, float64) {
		b := NewBuilder(ccgtest.Definitions(2), 0, graph.Options{})
		b.open(0, 0, trace.Enter, 0)
		r := rand.New(rand.NewPCG(6, 6))
		for i := range n {
			tuple := must(b.tuples.Intern([]uint64{graph.ClassEvent | uint64(trace.ParameterString)<<graph.WordKind, 0, 1, uint64(child(r, i))}))
			id, err := b.leaf(graph.KindEvent, tuple)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.appendNode(id); err != nil {
				t.Fatal(err)
			}
		}
		return b, float64(b.Compares()) / float64(n)
	}
	for _, c := range lists {
		short, x := run(c.child, few)
		long, y := run(c.child, many)
		t.Logf("%s: %.3f compares per append of %d, %.3f of %d; room for %d entries", c.name, x, few, y, many, cap(long.list.entries))
		if x > c.most || y > c.most || y > 1.1*x+0.01 {
			t.Errorf("%s: more than %g, or rising", c.name, c.most)
		}
		if most := 2*graph.DefaultFold + graph.DefaultFan + compactFrom; len(long.list.entries) > most || cap(long.list.entries) > 2*most {
			t.Errorf("%s: %d entries with room for %d wait, of %d", c.name, len(long.list.entries), cap(long.list.entries), len(short.list.entries))
		}
	}
}

// TestAccessCost finds how many Groups lie between a list and its children: the
// logarithm to base B of its length, and of the 2K+B entries that are not carried
// while the call is open. A list B times as long has one level more.
func TestAccessCost(t *testing.T) {
	for _, c := range []struct{ n, fan, levels int }{
		{16, 16, 0}, {17, 16, 1}, {400, 16, 2}, {4000, 16, 4}, {64_000, 16, 5}, {30_000, 2, 23}, {60_000, 2, 24}, {60_000, 128, 3},
	} {
		if c.n > 5000 && testing.Short() {
			continue
		}
		b := &trace.Batch{}
		for i := range c.n {
			b.Append(0, trace.ParameterString, 0, 1, uint64(i))
		}
		l := built(t, ccgtest.Definitions(2), 0, b, graph.Options{Fan: c.fan}, 5000)
		s := l.graph.Nodes
		levels := make([]int, s.Len()+1)
		for id := uint32(1); int(id) <= s.Len(); id++ {
			for _, child := range s.Children(id) {
				if s.Kind(child) == graph.KindGroup {
					levels[id] = max(levels[id], levels[child]+1)
				}
			}
		}
		if got := levels[s.Len()]; got > c.levels {
			t.Errorf("%d children, B %d: %d levels of Groups, want %d at most", c.n, c.fan, got, c.levels)
		}
	}
}
