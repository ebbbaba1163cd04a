package ccg

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// table prints the nodes of a graph, one a line.
func table(g *graph) string {
	var b strings.Builder
	names := [...]string{"", "call", "event", "root", "group", "repeat"}
	for id := uint32(1); int(id) <= g.nodes.len(); id++ {
		h := g.shapeOf(id)
		fmt.Fprintf(&b, "%d %s %d", id, names[g.nodes.kind(id)], int32(h.ref))
		if h.class == classEvent {
			fmt.Fprintf(&b, " %s", h.kind)
		}
		if h.cut {
			b.WriteString(" cut")
		}
		fmt.Fprintf(&b, " %v", g.nodes.children(id))
		if g.nodes.kind(id) == kindRepeat {
			fmt.Fprintf(&b, "x%d", g.nodes.count(id))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// player plays a string: letters are enters, '.' the leave of the innermost
// call, '!' a record, '?' a stray leave.
func player(s string) *trace.Batch {
	b := &trace.Batch{}
	var open []uint32
	for i, c := range s {
		t := trace.Time(10 * i)
		switch c {
		case '.':
			b.Append(t, trace.Leave, open[len(open)-1])
			open = open[:len(open)-1]
		case '!':
			b.Append(t, trace.MeasurementOnOff, 0, 1)
		case '?':
			b.Append(t, trace.Leave, 99)
		default:
			open = append(open, uint32(c-'a'))
			b.Append(t, trace.Enter, uint32(c-'a'))
		}
	}
	return b
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
		l := build(t, testDefs(2), 0, player(c.program), Options{}, 3)
		if got := table(&l.graph); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestFanOut builds lists that do not repeat, of many lengths.
func TestFanOut(t *testing.T) {
	defs := testDefs(2)
	r := rand.New(rand.NewPCG(1, 9))
	for _, o := range []Options{{Fan: 2}, {Fan: 3, Fold: 2}, {}, {Fold: -1}} {
		for _, n := range []int{1, 15, 16, 17, 255, 256, 257, 4000, 20000} {
			if testing.Short() && n > 4000 {
				continue
			}
			b := &trace.Batch{}
			b.Append(0, trace.Enter, 0)
			for i := range n {
				b.Append(trace.Time(i), trace.ParameterString, 0, 1, uint64(r.IntN(1000)))
			}
			l := build(t, defs, 0, b, o, 100)
			for id := uint32(1); int(id) <= l.Nodes(); id++ {
				if k := len(l.graph.nodes.children(id)); k > l.opt.Fan {
					t.Fatalf("%+v, %d entries: node %d has %d children", o, n, id, k)
				}
			}
			s := join(t, defs, []*Local{l}, o)
			blob, err := NewDistributor(s).Distribute(l)
			if err != nil {
				t.Fatal(err)
			}
			loc, err := OpenLocation(s, blob)
			if err != nil {
				t.Fatal(err)
			}
			if i, ok := sameEvents(b, expand(t, loc)); !ok {
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
	if i, ok := sameEvents(b, expand(t, loc)); !ok {
		t.Fatalf("event %d differs", i)
	}
	var p Profile
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
	b := NewBuilder(testDefs(2), 0, Options{})
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
	defs := testDefs(4)
	shared := NewBuilder(defs, 0, Options{})
	for p := range uint32(4) {
		all := newScript(5, p, 4, true).stream(3000)
		fresh, err := build(t, defs, trace.P(p), all, Options{}, 1).AppendBinary(nil)
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
	defs := testDefs(2)
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
		b := NewBuilder(defs, 1, Options{})
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
		builder := NewBuilder(testDefs(2), 1, Options{})
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

// TestPlaces checks that the encodings of a rank are bijections.
func TestPlaces(t *testing.T) {
	for _, size := range []uint32{0, 1, 2, 7, 64, 1 << 31} {
		for _, own := range []uint32{0, 1, size / 2, size - 1} {
			if own >= size && size > 0 {
				continue
			}
			pl := place{own, size}
			for e := range numEncodings {
				seen := map[uint64]uint64{}
				for _, p := range []uint64{0, 1, 2, 6, uint64(size) / 2, uint64(size) - 1, uint64(size), uint64(size) + 1, trace.Undefined, trace.Undefined - 1} {
					if p > trace.Undefined {
						continue
					}
					w := pl.encode(e, p)
					got, ok := pl.decode(e, w)
					if !ok || got != p {
						t.Errorf("%+v, encoding %d: %d gives %d, %v", pl, e, p, got, ok)
					}
					if other, dup := seen[w]; dup && other != p {
						t.Errorf("%+v, encoding %d: %d and %d have one code", pl, e, p, other)
					}
					seen[w] = p
				}
			}
		}
	}
}

// TestPostings compares distances with a list of all postings.
func TestPostings(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var build, read postings
	var all []uint64
	n := 60000
	if testing.Short() {
		n = 12000
	}
	for i := range n {
		id := uint64(i) + r.Uint64N(3)
		switch r.IntN(10) {
		case 0:
			id = r.Uint64N(300) * 4096 // crowded hashes, reused
		case 1:
			id = r.Uint64()
		}
		if r.IntN(2) == 0 || len(all) == 0 {
			last := uint64(0)
			if len(all) > 0 {
				last = all[len(all)-1]
			}
			word, far := build.post(id)
			if far != (id-last > nearPost) || !far && read.posted(word) != id {
				t.Fatalf("posting %d after %d: %d, far %v", id, last, word, far)
			}
			read.record(id)
			all = append(all, id)
			continue
		}
		if r.IntN(3) > 0 {
			id = all[max(0, len(all)-1-r.IntN(5000))]
		}
		distance := -1
		for d := range min(len(all), nearUse+1) {
			if all[len(all)-1-d] == id {
				distance = d
				break
			}
		}
		word, far := build.use(id)
		if far != (distance < 0) {
			t.Fatalf("use of %d: far %v, distance %d", id, far, distance)
		}
		if !far {
			if got, ok := read.used(word); !ok || got != id || int(word>>1) != distance {
				t.Fatalf("use of %d: distance %d, want %d", id, word>>1, distance)
			}
		}
	}
}
