package build

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// whole takes a stream of location 1 of 4 through the bytes of the file and
// back, compares every event, checks all invariants, and returns the graph.
func whole(t testing.TB, all *trace.Batch, o graph.Options) *Local {
	t.Helper()
	defs := ccgtest.Definitions(4)
	l := built(t, defs, 1, all, o, 1000)
	s := join(t, defs, []*Local{l}, o)
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = graph.OpenShared(defs, s.Encode()); err != nil {
		t.Fatal(err)
	}
	loc, err := ccg.OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	if i, ok := ccgtest.SameEvents(all, expand(t, loc)); !ok {
		t.Fatalf("event %d differs", i)
	}
	if err := ccg.Check(s, func(yield func(*ccg.Location, error) bool) { yield(loc, nil) }); err != nil {
		t.Fatal(err)
	}
	return l
}

// clock gives rising times.
type clock trace.Time

func (c *clock) tick() trace.Time {
	*c += 7
	return trace.Time(*c)
}

// exchange is a program of n iterations, each with a send and a receive request
// and their completion; the k-th iteration posts what id returns for 2k and
// 2k+1, and completes what done returns.
func exchange(n int, id, done func(k uint64) uint64) *trace.Batch {
	b := &trace.Batch{}
	var c clock
	b.Append(c.tick(), trace.Enter, 0)
	for i := range uint64(n) {
		b.Append(c.tick(), trace.Enter, 1)
		b.Append(c.tick(), trace.MpiIsend, 0, 2, 0, 9, 4096, id(2*i))
		b.Append(c.tick(), trace.MpiIrecvRequest, 0, id(2*i+1))
		b.Append(c.tick(), trace.Leave, 1)
		b.Append(c.tick(), trace.Enter, 2)
		b.Append(c.tick(), trace.MpiIsendComplete, 0, done(2*i))
		b.Append(c.tick(), trace.MpiIrecv, 0, 0, 0, 9, 4096, done(2*i+1))
		b.Append(c.tick(), trace.Leave, 2)
	}
	b.Append(c.tick(), trace.Leave, 0)
	return b
}

// TestRequestIds runs an iterative program for some and for many iterations: the
// number of nodes is the same, however its request ids go.
func TestRequestIds(t *testing.T) {
	rising := func(step, from uint64) func(uint64) uint64 {
		return func(k uint64) uint64 { return from + k*step }
	}
	mixed := func(k uint64) uint64 { return (k + 1) * 0x9E3779B97F4A7C15 }
	for _, c := range []struct {
		name     string
		id, done func(uint64) uint64
		nodes    int // records, calls, Group and Repeat of the loop, main, root; 2 more if the first iteration differs
	}{
		{"rising by one for ever", rising(1, 1), rising(1, 1), 10},
		{"rising by the largest near step", rising(15, 15), rising(15, 15), 10},
		{"rising by one more", rising(16, 16), rising(16, 16), 10},
		{"from a far start", rising(1, 1<<62), rising(1, 1<<62), 12},
		{"over the end of the numbers", rising(1, math.MaxUint64-50), rising(1, math.MaxUint64-50), 12},
		{"falling", rising(math.MaxUint64, 1<<40), rising(math.MaxUint64, 1<<40), 10},
		{"two reused ones", func(k uint64) uint64 { return k % 2 }, func(k uint64) uint64 { return k % 2 }, 12},
		{"one for all", func(uint64) uint64 { return 5 }, func(uint64) uint64 { return 5 }, 12},
		{"all over the place", mixed, mixed, 10},
		{"completed too late to be near", rising(1, 1), func(k uint64) uint64 { return k + 1 - 4095 - 2 }, 10},
		{"completed but never posted", rising(1, 1), rising(1, 1<<50), 10},
		{"posted as null", func(uint64) uint64 { return 0 }, func(uint64) uint64 { return 0 }, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			some := whole(t, exchange(50, c.id, c.done), graph.Options{})
			many := whole(t, exchange(1000, c.id, c.done), graph.Options{})
			if some.Nodes() != c.nodes || many.Nodes() != c.nodes {
				t.Errorf("%d nodes of 50 iterations, %d of 1000, want %d\n%s", some.Nodes(), many.Nodes(), c.nodes, table(&some.graph))
			}
		})
	}
}

// TestRandomDistances completes a random one of the latest postings: one node per
// distance, however long it goes on.
func TestRandomDistances(t *testing.T) {
	const window = 60
	r := rand.New(rand.NewPCG(3, 1))
	b := &trace.Batch{}
	var c clock
	for i := range uint64(20_000) {
		b.Append(c.tick(), trace.MpiIrecvRequest, 0, i)
		b.Append(c.tick(), trace.MpiRequestTest, 0, i-min(i, r.Uint64N(window)))
	}
	l := whole(t, b, graph.Options{})
	events := 0
	for id := uint32(1); int(id) <= l.Nodes(); id++ {
		if l.graph.Nodes.Kind(id) == graph.KindEvent {
			events++
		}
	}
	if events > window+2 {
		t.Errorf("%d nodes of records, %d distances", events, window)
	}
	t.Logf("%d events, %d nodes, %d of them records", l.events, l.Nodes(), events)
}

// kinds counts the nodes of each kind whose enclosing region, or whose own one if
// it is a Call, is region.
func kinds(g *graph.Graph, region uint32) (n [graph.KindRepeat + 1]int) {
	for id := uint32(1); int(id) <= g.Nodes.Len(); id++ {
		if g.ShapeOf(id).Ref == region {
			n[g.Nodes.Kind(id)]++
		}
	}
	return n
}

// TestRandomTrips plays loops whose trip counts are random. A trip count costs a
// Repeat and, if the loop fills a call, a Call; the body is there once. Their
// order in the list around is random, so that B entries cost a Group there.
func TestRandomTrips(t *testing.T) {
	const most = 40
	for _, c := range []struct {
		name string
		call bool
	}{{"in calls of their own", true}, {"side by side", false}} {
		for _, n := range []int{300, 6000} {
			if n > 300 && testing.Short() {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(n), 8))
			b := &trace.Batch{}
			var clk clock
			b.Append(clk.tick(), trace.Enter, 0)
			for range n {
				b.Append(clk.tick(), trace.Enter, 1)
				if !c.call {
					b.Append(clk.tick(), trace.Leave, 1)
				}
				for range 2 + r.IntN(most-1) {
					for region := uint32(2); region < 4; region++ {
						b.Append(clk.tick(), trace.Enter, region)
						b.Append(clk.tick(), trace.Leave, region)
					}
				}
				if c.call {
					b.Append(clk.tick(), trace.Leave, 1)
				}
			}
			b.Append(clk.tick(), trace.Leave, 0)
			l := whole(t, b, graph.Options{})
			g := &l.graph
			inner, list, entries := kinds(g, 1), kinds(g, 0), 2*n
			if c.call {
				entries = n
				if inner[graph.KindCall] > most || inner[graph.KindRepeat] > most || inner[graph.KindGroup] != 1 {
					t.Errorf("%s, %d: calls, groups, repeats %v", c.name, n, inner)
				}
			} else if inner[graph.KindCall] != 1 {
				t.Errorf("%s, %d: calls %v", c.name, n, inner)
			}
			if got := kinds(g, 2)[graph.KindCall] + kinds(g, 3)[graph.KindCall]; got != 2 {
				t.Errorf("%s, %d: the body has %d nodes", c.name, n, got)
			}
			// a coincidence of two equal stretches is folded: a Group and a Repeat for
			// four entries at least
			if most := most + entries/2 + entries/(graph.DefaultFan-1) + 4; list[graph.KindGroup]+list[graph.KindRepeat] > most {
				t.Errorf("%s, %d: %v in the list, want %d at most", c.name, n, list, most)
			}
			t.Logf("%s: %d events, %d loops of %d trip counts: %d nodes (%d Groups, %d Repeats in the list)",
				c.name, l.events, n, most-1, l.Nodes(), list[graph.KindGroup], list[graph.KindRepeat])
		}
	}
}

// TestManyLoops has more distinct loops in a location than K entries: each costs
// its body and two nodes; the list of all is folded only if K reaches that far.
func TestManyLoops(t *testing.T) {
	const loops, trips = 1500, 6
	play := func(rounds int) *trace.Batch {
		b := &trace.Batch{}
		var c clock
		b.Append(c.tick(), trace.Enter, 0)
		for range rounds {
			for i := range uint32(loops) {
				for range trips {
					for _, region := range []uint32{2*i + 1, 2*i + 2} {
						b.Append(c.tick(), trace.Enter, region)
						b.Append(c.tick(), trace.Leave, region)
					}
				}
			}
		}
		b.Append(c.tick(), trace.Leave, 0)
		return b
	}
	const own, groups = 4*loops + 2, loops/(graph.DefaultFan-1) + 4
	for _, c := range []struct {
		name   string
		rounds int
		o      graph.Options
		most   int
	}{
		{"once", 1, graph.Options{}, own + groups},
		{"four times, out of reach", 4, graph.Options{}, own + 4*groups},
		{"four times, in reach", 4, graph.Options{Fold: loops}, own + groups + 2},
		// only the innermost loop below grows: an odd round stays next to the outer one
		{"five times, in reach", 5, graph.Options{Fold: loops}, own + 2*groups + 2},
		{"once, without folding", 1, graph.Options{Fold: -1}, 2*loops + 2 + trips*2*loops/(graph.DefaultFan-1) + 4},
	} {
		if c.rounds > 1 && testing.Short() {
			continue
		}
		l := whole(t, play(c.rounds), c.o)
		t.Logf("%s: %d events, %d nodes, %d at most", c.name, l.events, l.Nodes(), c.most)
		if l.Nodes() > c.most || c.o.Fold >= 0 && l.Nodes() < own {
			t.Errorf("%s: %d nodes, want %d to %d", c.name, l.Nodes(), own, c.most)
		}
	}
}

// TestOddFirstRecord begins a stream with what needs something before it.
func TestOddFirstRecord(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(b *trace.Batch)
		kind  string
	}{
		{"leave", func(b *trace.Batch) { b.Append(3, trace.Leave, 1) }, "Leave"},
		{"leave of nothing", func(b *trace.Batch) { b.Append(3, trace.Leave, trace.Undefined) }, "Leave"},
		{"leave of a calling context", func(b *trace.Batch) { b.Append(3, trace.CallingContextLeave, 0, 2) }, "CallingContextLeave"},
		{"completion without posting", func(b *trace.Batch) { b.Append(3, trace.MpiIsendComplete, 0, 77) }, "MpiIsendComplete"},
		{"receive without request", func(b *trace.Batch) { b.Append(3, trace.MpiIrecv, 0, 2, 0, 9, 64, 0) }, "MpiIrecv"},
		{"metric", func(b *trace.Batch) {
			b.Append(3, trace.Metric, 0, 0, 2, uint64(trace.TypeUint64), 1<<63, uint64(trace.TypeDouble), 5)
		}, "Metric"},
		{"end of a collective", func(b *trace.Batch) { b.Append(3, trace.MpiCollectiveEnd, 0, 1, 0, 0, 8, 8) }, "MpiCollectiveEnd"},
		{"RMA completion", func(b *trace.Batch) { b.Append(3, trace.RmaOpCompleteBlocking, 0, 0, 4) }, "RmaOpCompleteBlocking"},
		{"unknown record", func(b *trace.Batch) { b.Append(3, trace.Kind(200), 0, 3, 0x030201) }, trace.Kind(200).String()},
	} {
		b := &trace.Batch{}
		c.first(b)
		b.Append(5, trace.Enter, 1)
		b.Append(9, trace.Leave, 1)
		l := whole(t, b, graph.Options{})
		if want := "1 event -1 " + c.kind + " []\n2 call 1 []\n3 root -1 [1 2]\n"; table(&l.graph) != want {
			t.Errorf("%s:\n%swant\n%s", c.name, table(&l.graph), want)
		}
		if l.first != 3 || l.last != 9 {
			t.Errorf("%s: from %d to %d", c.name, l.first, l.last)
		}
	}
}

// TestForeignLeaves leaves an outer region while an inner one is open, again and
// again: a record like others, folded and counted.
func TestForeignLeaves(t *testing.T) {
	const n = 1000
	b := &trace.Batch{}
	var c clock
	b.Append(c.tick(), trace.Enter, 0)
	for range n {
		for _, e := range []struct {
			kind   trace.Kind
			region uint32
		}{{trace.Enter, 1}, {trace.Enter, 2}, {trace.Leave, 1}, {trace.Leave, 2}, {trace.Leave, 1}} {
			b.Append(c.tick(), e.kind, e.region)
		}
	}
	l := whole(t, b, graph.Options{})
	want := fmt.Sprintf("1 event 2 Leave []\n2 call 2 [1]\n3 call 1 [2]\n4 repeat 0 [3]x%d\n5 call 0 cut [4]\n6 root -1 [5]\n", n)
	if got := table(&l.graph); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestGaps has gaps at the ends of the numbers: they come back, and their sums
// are exact.
func TestGaps(t *testing.T) {
	for _, gaps := range [][]uint64{
		{0, 0, 0, 0},
		{0, 1, 0, 1},
		{1 << 62, 0, 1 << 62, 1 << 62},
		{math.MaxUint64},
		{0, math.MaxUint64 - 1, 0, 1},
		{127, 128, 16383, 16384, 1<<21 - 1, 1 << 21, 1<<28 - 1, 1 << 28, 1<<56 - 1, 1 << 56},
	} {
		for _, rounds := range []int{1, 200} { // in shared columns, in columns of their own
			b := &trace.Batch{}
			at := trace.Time(0)
			var sums [2]uint64 // outside, inside of the calls
			b.Append(at, trace.Enter, 0)
			for range rounds {
				for i, gap := range gaps {
					if sums[0]+sums[1] > math.MaxUint64-gap {
						gap = 0
					}
					at += trace.Time(gap)
					sums[i%2] += gap
					b.Append(at, []trace.Kind{trace.Enter, trace.Leave}[i%2], 1)
				}
				if len(gaps)%2 == 1 {
					b.Append(at, trace.Leave, 1)
				}
			}
			b.Append(at, trace.Leave, 0)
			whole(t, b, graph.Options{})
			var p ccg.Profile
			if err := p.Add(openOne(t, b), true); err != nil {
				t.Fatal(err)
			}
			got := p.Regions()
			if len(got) != 3 || got[0].Exclusive != sums[0] || got[1].Exclusive != sums[1] || got[0].Inclusive != sums[0]+sums[1] {
				t.Errorf("gaps %d, %d times: sums %d, profile %+v", gaps, rounds, sums, got)
			}
		}
	}
}

// TestHundredMillionChildren appends 10^8 equal children to an open call: one
// entry, no memory, two nodes in the end. Then they come as events, and go
// through the file and back in count.
func TestHundredMillionChildren(t *testing.T) {
	const n = 100_000_000
	t.Run("nodes", func(t *testing.T) {
		if testing.Short() {
			t.Skip("runs without -short")
		}
		b := NewBuilder(ccgtest.Definitions(2), 0, graph.Options{})
		b.open(0, 0, trace.Enter, 0)
		id, err := b.leaf(graph.KindEvent, must(b.tuples.Intern([]uint64{graph.ClassEvent | uint64(trace.OmpJoin)<<graph.WordKind, 0})))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.appendNode(id); err != nil {
			t.Fatal(err)
		}
		before := b.memory()
		for range n - 1 {
			if err := b.appendNode(id); err != nil {
				t.Fatal(err)
			}
		}
		if b.memory() != before || len(b.list.entries) != 1 || b.Compares() != 0 {
			t.Errorf("%d bytes, then %d; %d entries, %d compares", before, b.memory(), len(b.list.entries), b.Compares())
		}
		l, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("1 event 0 OmpJoin []\n2 repeat 0 [1]x%d\n3 call 0 cut [2]\n4 root -1 [3]\n", n); table(&l.graph) != want {
			t.Errorf("got\n%swant\n%s", table(&l.graph), want)
		}
	})
	t.Run("events", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes eight seconds: runs without -short")
		}
		b := NewBuilder(ccgtest.Definitions(2), 0, graph.Options{})
		batch := &trace.Batch{}
		for i := range 2000 {
			batch.Append(trace.Time(i), trace.OmpJoin, 0)
		}
		for range n / 2000 {
			if err := b.Add(batch); err != nil {
				t.Fatal(err)
			}
			for i := range batch.Events {
				batch.Events[i].Time += 2000
			}
		}
		l, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		s := join(t, ccgtest.Definitions(2), []*Local{l}, graph.Options{})
		blob, err := NewDistributor(s).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := ccg.OpenLocation(s, blob)
		if err != nil {
			t.Fatal(err)
		}
		got := uint64(0)
		x := loc.Expand()
		for x.Next(batch) == nil {
			got += uint64(len(batch.Events))
		}
		if got != n || s.Nodes() != 3 {
			t.Errorf("%d events, %d nodes", got, s.Nodes())
		}
		t.Logf("%d bytes of columns", len(blob))
	})
}

func must(n uint32, _ bool, err error) uint32 {
	if err != nil {
		panic(err)
	}
	return n
}

// TestFullRun continues a run and a loop whose counts are full: another entry
// begins, and no event is lost.
func TestFullRun(t *testing.T) {
	b := NewBuilder(ccgtest.Definitions(2), 0, graph.Options{})
	if err := b.Add(ccgtest.Player("ab.c.b.c.")); err != nil {
		t.Fatal(err)
	}
	loop := &b.list.entries[len(b.list.entries)-1]
	if loop.size != 2 {
		t.Fatalf("no loop: %+v", b.list.entries)
	}
	loop.count = math.MaxUint32 - 1
	rest := ccgtest.Player("zb.c.b.c.b.c.d.d.")
	rest.Events = rest.Events[1:]
	for i := range rest.Events {
		rest.Events[i].Time += 1000
	}
	if err := b.Add(rest); err != nil {
		t.Fatal(err)
	}
	b.list.entries[len(b.list.entries)-1].count = math.MaxUint32
	more := ccgtest.Player("zd.")
	more.Events = more.Events[1:]
	for i := range more.Events {
		more.Events[i].Time += 2000
	}
	if err := b.Add(more); err != nil {
		t.Fatal(err)
	}
	l, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	want := "1 call 1 []\n2 call 2 []\n3 group 0 [1 2]\n4 repeat 0 [3]x4294967295\n5 repeat 0 [3]x2\n" +
		"6 call 3 []\n7 repeat 0 [6]x4294967295\n8 call 0 cut [4 5 7 6]\n9 root -1 [8]\n"
	if got := table(&l.graph); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
