package build

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// table prints the nodes of a graph, one a line.
func table(g *graph.Graph) string {
	var b strings.Builder
	names := [...]string{"", "call", "event", "root", "group", "repeat"}
	for id := uint32(1); int(id) <= g.Nodes.Len(); id++ {
		h := g.ShapeOf(id)
		fmt.Fprintf(&b, "%d %s %d", id, names[g.Nodes.Kind(id)], int32(h.Ref))
		if h.Class == graph.ClassEvent {
			fmt.Fprintf(&b, " %s", h.Kind)
		}
		if h.Cut {
			b.WriteString(" cut")
		}
		fmt.Fprintf(&b, " %v", g.Nodes.Children(id))
		if g.Nodes.Kind(id) == graph.KindRepeat {
			fmt.Fprintf(&b, "x%d", g.Nodes.Count(id))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestNodeTables compares small programs with tables made by hand.
func TestNodeTables(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"empty", "", "1 root -1 []\n"},
		{"run", "ab.b.b..", "1 call 1 []\n2 repeat 0 [1]x3\n3 call 0 [2]\n4 root -1 [3]\n"},
		{"two runs share the body", "ab.b.!b.b..", "1 call 1 []\n2 repeat 0 [1]x2\n3 event 0 MeasurementOnOff []\n4 call 0 [2 3 2]\n5 root -1 [4]\n"},
		{"loop of two", "ab.c.b.c.b.c..", "1 call 1 []\n2 call 2 []\n3 group 0 [1 2]\n4 repeat 0 [3]x3\n5 call 0 [4]\n6 root -1 [5]\n"},
		{
			"nested loops", "ab.b.c.b.b.c..",
			"1 call 1 []\n2 repeat 0 [1]x2\n3 call 2 []\n4 group 0 [2 3]\n5 repeat 0 [4]x2\n6 call 0 [5]\n7 root -1 [6]\n",
		},
		{"stray and cut", "ab?", "1 event 1 Leave []\n2 call 1 cut [1]\n3 call 0 cut [2]\n4 root -1 [3]\n"},
		{
			"cut around loops", "ab.b.cd.d.",
			"1 call 1 []\n2 repeat 0 [1]x2\n3 call 3 []\n4 repeat 2 [3]x2\n5 call 2 cut [4]\n6 call 0 cut [2 5]\n7 root -1 [6]\n",
		},
		{
			"one child too many", "ab.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r..",
			"1 call 1 []\n2 call 2 []\n3 call 3 []\n4 call 4 []\n5 call 5 []\n6 call 6 []\n7 call 7 []\n8 call 8 []\n" +
				"9 call 9 []\n10 call 10 []\n11 call 11 []\n12 call 12 []\n13 call 13 []\n14 call 14 []\n15 call 15 []\n16 call 16 []\n" +
				"17 group 0 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]\n18 call 17 []\n19 call 0 [17 18]\n20 root -1 [19]\n",
		},
		{"recursion", "aaa...", "1 call 0 []\n2 call 0 [1]\n3 call 0 [2]\n4 root -1 [3]\n"},
	} {
		l := built(t, ccgtest.Definitions(2), 0, ccgtest.Player(c.program), graph.Options{}, 3)
		if got := table(&l.graph); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestFanOut builds lists that do not repeat, of many lengths.
func TestFanOut(t *testing.T) {
	defs := ccgtest.Definitions(2)
	r := rand.New(rand.NewPCG(1, 9))
	for _, o := range []graph.Options{{Fan: 2}, {Fan: 3, Fold: 2}, {}, {Fold: -1}} {
		for _, n := range []int{1, 15, 16, 17, 255, 256, 257, 4000, 20000} {
			if testing.Short() && n > 4000 {
				continue
			}
			b := &trace.Batch{}
			b.Append(0, trace.Enter, 0)
			for i := range n {
				b.Append(trace.Time(i), trace.ParameterString, 0, 1, uint64(r.IntN(1000)))
			}
			l := built(t, defs, 0, b, o, 100)
			for id := uint32(1); int(id) <= l.Nodes(); id++ {
				if k := len(l.graph.Nodes.Children(id)); k > l.opt.Fan {
					t.Fatalf("%+v, %d entries: node %d has %d children", o, n, id, k)
				}
			}
			s := join(t, defs, []*Local{l}, o)
			blob, err := NewDistributor(s).Distribute(l)
			if err != nil {
				t.Fatal(err)
			}
			loc, err := ccg.OpenLocation(s, blob)
			if err != nil {
				t.Fatal(err)
			}
			if i, ok := ccgtest.SameEvents(b, expand(t, loc)); !ok {
				t.Fatalf("%+v, %d entries: event %d differs", o, n, i)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	const depth = 100_000
	b := &trace.Batch{}
	for i := range depth {
		b.Append(trace.Time(i), trace.Enter, uint32(i%7))
	}
	for i := range depth - 1000 { // the outermost stay open
		b.Append(trace.Time(depth+i), trace.Leave, uint32((depth-1-i)%7))
	}
	loc := openOne(t, b)
	if i, ok := ccgtest.SameEvents(b, expand(t, loc)); !ok {
		t.Fatalf("event %d differs", i)
	}
	var p ccg.Profile
	if err := p.Add(loc, true); err != nil {
		t.Fatal(err)
	}
}

// TestLongList appends equal children and loops for a long time: the structure
// and the memory next to the streams stay constant.
func TestLongList(t *testing.T) {
	n := 2_000_000
	if testing.Short() {
		n = 200_000
	}
	b := NewBuilder(ccgtest.Definitions(2), 0, graph.Options{})
	var batch trace.Batch
	batch.Append(0, trace.Enter, 0)
	size := uint64(0)
	for i := 0; i < n; i += 1000 {
		for j := range 1000 {
			batch.Append(trace.Time(i+j), trace.Kind(11), 0, uint64(i/(n/2)))
		}
		if err := b.Add(&batch); err != nil {
			t.Fatal(err)
		}
		batch.Reset()
		if i == 10000 {
			size = b.memory() - uint64(cap(b.gaps))
		}
	}
	if got := b.memory() - uint64(cap(b.gaps)); got > size+1000 {
		t.Errorf("%d bytes after 10 000 events, %d after %d", size, got, n)
	}
	l, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if l.Nodes() != 6 {
		t.Errorf("nodes:\n%s", table(&l.graph))
	}
}

// TestReusedBuilder builds each location with a fresh builder and with one that
// made others before.
func TestReusedBuilder(t *testing.T) {
	defs := ccgtest.Definitions(4)
	shared := NewBuilder(defs, 0, graph.Options{})
	for p := range uint32(4) {
		all := ccgtest.NewScript(5, p, 4, true).Stream(3000)
		fresh, err := built(t, defs, trace.P(p), all, graph.Options{}, 1).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		shared.Reset(trace.P(p))
		if err := shared.Add(all); err != nil {
			t.Fatal(err)
		}
		l, err := shared.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := l.AppendBinary(nil); !bytes.Equal(fresh, again) {
			t.Errorf("location %d differs", p)
		}
	}
}

func TestRefusedInput(t *testing.T) {
	defs := ccgtest.Definitions(2)
	for _, c := range []struct {
		name string
		make func(b *trace.Batch)
		want error
	}{
		{"time backwards", func(b *trace.Batch) { b.Append(10, trace.Enter, 1); b.Append(9, trace.Leave, 1) }, ErrTime},
		{"words missing", func(b *trace.Batch) { b.Append(1, trace.MpiSend, 0, 1, 0) }, ErrBatch},
		{"words left over", func(b *trace.Batch) { b.Append(1, trace.OmpJoin, 0, 1) }, ErrBatch},
		{"words outside", func(b *trace.Batch) { b.Append(1, trace.OmpFork, 0, 1); b.Args = nil }, ErrBatch},
		{"list cut", func(b *trace.Batch) { b.Append(1, trace.Metric, 0, 1, 3, 4, 5) }, ErrBatch},
		{"list count", func(b *trace.Batch) { b.Append(1, trace.Metric, 0, 1, 1<<63) }, ErrBatch},
		{"bytes cut", func(b *trace.Batch) { b.Append(1, trace.Kind(200), 0, 20, 1) }, ErrBatch},
		{"attributes cut", func(b *trace.Batch) { b.Append(1, trace.Enter, 0, 5, 1); b.Events[0].Flags = trace.HasAttributes }, ErrBatch},
		{"no attributes", func(b *trace.Batch) { b.Append(1, trace.Enter, 0); b.Events[0].Flags = trace.HasAttributes }, ErrBatch},
		{"surplus cut", func(b *trace.Batch) { b.Append(1, trace.OmpJoin, 0, 9, 1); b.Events[0].Flags = trace.HasSurplus }, ErrBatch},
		{"unknown flag", func(b *trace.Batch) { b.Append(1, trace.OmpJoin, 0); b.Events[0].Flags = 4 }, ErrBatch},
		{"context cut", func(b *trace.Batch) { b.Append(1, trace.CallingContextEnter, 0, 4) }, ErrBatch},
		{"wide rank", func(b *trace.Batch) { b.Append(1, trace.MpiSend, 0, 1<<40, 0, 0, 0) }, ErrBatch},
	} {
		var batch trace.Batch
		c.make(&batch)
		b := NewBuilder(defs, 1, graph.Options{})
		err := b.Add(&batch)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, again := b.Finish(); !errors.Is(again, c.want) {
			t.Errorf("%s: Finish: %v", c.name, again)
		}
	}
}

// TestTimeBackwards finds the event that is too early in whatever batch it is.
func TestTimeBackwards(t *testing.T) {
	for _, at := range []int{1, 99, 100, 137} { // batches of 100
		b := &trace.Batch{}
		for i := range 200 {
			b.Append(trace.Time(1000+i), trace.OmpJoin, 0)
		}
		b.Events[at].Time = 5
		builder := NewBuilder(ccgtest.Definitions(2), 1, graph.Options{})
		err := builder.Add(&trace.Batch{Events: b.Events[:100]})
		if at >= 100 {
			if err != nil {
				t.Fatal(err)
			}
			err = builder.Add(&trace.Batch{Events: b.Events[100:]})
		}
		if want := fmt.Sprintf("call graph: location 1, event %d: 5 after %d", at, 999+at); !errors.Is(err, ErrTime) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		n, more int
		want    bool
	}{{0, 0, true}, {0, math.MaxInt32, true}, {1, math.MaxInt32, false}, {math.MaxInt32, 0, true}, {math.MaxInt32 - 5, 6, false}, {1, math.MaxInt, false}} {
		if fits(c.n, c.more) != c.want {
			t.Errorf("%d and %d more", c.n, c.more)
		}
	}
}
