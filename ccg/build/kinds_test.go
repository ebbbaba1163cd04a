package build

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// TestEveryKind takes each kind of record, known or not, through the file and
// back: by itself, in loops, with attributes and surplus.
func TestEveryKind(t *testing.T) {
	records := 90
	if testing.Short() {
		records = 30
	}
	for k := range 256 {
		k := trace.Kind(k)
		switch k {
		case trace.Enter, trace.Leave, trace.CallingContextEnter, trace.CallingContextLeave:
			continue
		}
		for _, odd := range []bool{true, false} {
			if !odd && testing.Short() {
				continue
			}
			s := ccgtest.NewScript(uint64(k), 1, 4, odd)
			s.Record(k, 0) // outside of any call
			for i := range records {
				if i%10 == 0 {
					s.Event(trace.Enter, uint32(i/30))
				}
				s.Record(k, i%3)
				if i%7 == 0 {
					s.Record(k, i%2)
					s.Attributes(s.R)
					s.Surplus()
				}
				if i%10 == 9 {
					s.Event(trace.Leave, uint32(i/30))
				}
			}
			o := []graph.Options{{}, {Fold: -1, Fan: 2}}[k%2]
			l := whole(t, &s.B, o)
			if t.Failed() {
				t.Fatalf("%s, %d nodes", k, l.Nodes())
			}
		}
	}
}

// TestAnyOptions is the round trip for random B and K: no node has more than B
// children, no loop body more than K entries.
func TestAnyOptions(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 8
	}
	r := rand.New(rand.NewPCG(12, 12))
	for i := range n {
		o := graph.Options{Fold: 1 + r.IntN(1<<r.IntN(10)), Fan: 2 + r.IntN(1<<r.IntN(8))}
		if r.IntN(5) == 0 {
			o.Fold = -1
		}
		t.Run(fmt.Sprintf("%d/K%d/B%d", i, o.Fold, o.Fan), func(t *testing.T) {
			l := whole(t, ccgtest.NewScript(uint64(i), 1, 4, i%2 == 0).Stream(200+r.IntN(3000)), o)
			for id := uint32(1); int(id) <= l.Nodes(); id++ {
				if k := len(l.graph.Nodes.Children(id)); k > o.Normal().Fan {
					t.Fatalf("node %d has %d children", id, k)
				}
			}
		})
	}
}

// TestOptionLimits has options outside of their range: they are what their
// comments say.
func TestOptionLimits(t *testing.T) {
	for _, c := range []struct{ o, want graph.Options }{
		{graph.Options{}, graph.Options{Fold: graph.DefaultFold, Fan: graph.DefaultFan}},
		{graph.Options{Fold: -7, Fan: -7}, graph.Options{Fold: -1, Fan: 2}},
		{graph.Options{Fold: 1 << 30, Fan: 1 << 30}, graph.Options{Fold: 1 << 16, Fan: 128}},
		{graph.Options{Fold: 3, Fan: 1}, graph.Options{Fold: 3, Fan: 2}},
	} {
		if got := c.o.Normal(); got != c.want {
			t.Errorf("%+v is %+v, want %+v", c.o, got, c.want)
		} else if again := got.Normal(); again != got {
			t.Errorf("%+v is %+v, and that again %+v", c.o, got, again)
		}
		r := graph.Read(c.want.Append(nil))
		if got := r.Options(false); got != c.want || r.Failed() {
			t.Errorf("%+v came back as %+v", c.want, got)
		}
	}
}

// TestTupleTables compares records and calls that differ in one thing with the
// number of nodes that this makes: hard fields count, values do not.
func TestTupleTables(t *testing.T) {
	const u32, str = trace.TypeUint32, trace.TypeString
	call := func(b *trace.Batch, enter, leave []trace.EventAttribute) {
		b.Append(0, trace.Enter, 1)
		b.AppendAttributes(enter...)
		b.Append(0, trace.Leave, 1)
		b.AppendAttributes(leave...)
	}
	attr := func(ref uint32, t trace.ValueType, v uint64) []trace.EventAttribute {
		return []trace.EventAttribute{{Ref: ref, Type: t, Value: v}}
	}
	context := func(b *trace.Batch, ref, unwind uint64) {
		b.Append(0, trace.CallingContextEnter, 0, ref, unwind)
		b.Append(0, trace.CallingContextLeave, 0, ref)
	}
	for _, c := range []struct {
		name string
		make func(b *trace.Batch)
		want string
	}{
		{"calls differ by attribute", func(b *trace.Batch) {
			call(b, attr(1, u32, 1), nil)
			call(b, attr(2, u32, 1), nil)
		}, "1 call 1 []\n2 call 1 []\n3 root -1 [1 2]\n"},
		{"not by its value", func(b *trace.Batch) {
			call(b, attr(1, u32, 1), nil)
			call(b, attr(1, u32, 2), nil)
		}, "1 call 1 []\n2 repeat -1 [1]x2\n3 root -1 [2]\n"},
		{"but by its value if that is a reference", func(b *trace.Batch) {
			call(b, attr(1, str, 1), nil)
			call(b, attr(1, str, 2), nil)
		}, "1 call 1 []\n2 call 1 []\n3 root -1 [1 2]\n"},
		{"enter and leave have lists of their own", func(b *trace.Batch) {
			call(b, attr(1, u32, 1), nil)
			call(b, nil, attr(1, u32, 1))
		}, "1 call 1 []\n2 call 1 []\n3 root -1 [1 2]\n"},
		{"contexts differ by unwind distance", func(b *trace.Batch) {
			context(b, 3, 1)
			context(b, 3, 2)
			context(b, 3, 1)
		}, "1 call 3 []\n2 call 3 []\n3 root -1 [1 2 1]\n"},
		{"a context is not a region", func(b *trace.Batch) {
			context(b, 1, 1)
			call(b, nil, nil)
		}, "1 call 1 []\n2 call 1 []\n3 root -1 [1 2]\n"},
		{"messages differ by tag, not by length", func(b *trace.Batch) {
			b.Append(0, trace.MpiSend, 0, 2, 0, 7, 100)
			b.Append(0, trace.MpiSend, 0, 2, 0, 7, 200)
			b.Append(0, trace.MpiSend, 0, 2, 0, 8, 100)
		}, "1 event -1 MpiSend []\n2 repeat -1 [1]x2\n3 event -1 MpiSend []\n4 root -1 [2 3]\n"},
		{"metrics differ by type, not by value", func(b *trace.Batch) {
			b.Append(0, trace.Metric, 0, 0, 1, uint64(trace.TypeUint64), 1)
			b.Append(0, trace.Metric, 0, 0, 1, uint64(trace.TypeUint64), 2)
			b.Append(0, trace.Metric, 0, 0, 1, uint64(trace.TypeInt64), 2)
		}, "1 event -1 Metric []\n2 repeat -1 [1]x2\n3 event -1 Metric []\n4 root -1 [2 3]\n"},
		{"records differ by the call they are in", func(b *trace.Batch) {
			b.Append(0, trace.OmpJoin, 0)
			b.Append(0, trace.Enter, 1)
			b.Append(0, trace.OmpJoin, 0)
			b.Append(0, trace.Leave, 1)
		}, "1 event -1 OmpJoin []\n2 event 1 OmpJoin []\n3 call 1 [2]\n4 root -1 [1 3]\n"},
	} {
		b := &trace.Batch{}
		c.make(b)
		l := whole(t, b, graph.Options{})
		if got := table(&l.graph); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}
