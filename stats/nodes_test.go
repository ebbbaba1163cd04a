package stats

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// nodeRows writes the rows of nodes and reads them back.
func nodeRows(t *testing.T, s Spreads, tree *interval.Tree, unmatched bool) (nodes []xtf.Interval, stats []xtf.Stat) {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	var sinks [2]xtftest.MemorySink
	enc := xtf.NewEncoder()
	out := NodeOutputs{
		Intervals: xtf.NewArrayBuilder(enc, types.Lookup(xtf.TypeInterval), xtf.WholeRun, &sinks[0]),
		Stats:     xtf.NewArrayBuilder(enc, types.Lookup(xtf.TypeStat), xtf.WholeRun, &sinks[1]), Unmatched: unmatched,
	}
	s.Write(tree, []uint64{0, 17, 18}, out)
	read := func(b *xtf.ArrayBuilder, sink *xtftest.MemorySink, each func(row []byte)) {
		sum, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		c := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: sink}, 0)
		for c.Next() {
			each(c.Row())
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	read(out.Intervals, &sinks[0], func(row []byte) {
		var x xtf.Interval
		x.Load(row)
		nodes = append(nodes, x)
	})
	read(out.Stats, &sinks[1], func(row []byte) {
		var x xtf.Stat
		x.Load(row)
		stats = append(stats, x)
	})
	return nodes, stats
}

// TestNodeRows: what is not known or 0 everywhere.
func TestNodeRows(t *testing.T) {
	tree := interval.NewTree()
	a := tree.Child(0, interval.Key{ID: 5, Name: "loop", File: "f.c", Line: 3, Form: interval.FormPortable})
	b := tree.Child(a, interval.Key{Name: "f.c"})
	tree.Executed(0, 10, 90)
	tree.Executed(a, 20, 60)
	tree.Executed(b, 20, 30)
	s := make(Spreads, 3)
	s[0].add(&interval.Items{xtf.ItemTime: 80, xtf.ItemFirst: 10, xtf.ItemLast: 90, xtf.ItemExecutions: 1, xtf.ItemSendRecv: 6}, 4)
	s[1].add(&interval.Items{xtf.ItemTime: 40, xtf.ItemExecutions: 2}, 4)
	s[1].add(&interval.Items{xtf.ItemTime: 30, xtf.ItemExecutions: 1, xtf.ItemBytesIn: 1 << 62}, 6)
	s[2].add(&interval.Items{xtf.ItemExecutions: 1}, 4)
	if names := NodeNames(tree); !bytes.Equal(names, []byte("\x04loop\x03f.c")) {
		t.Errorf("names %q", names)
	}
	nodes, stats := nodeRows(t, s, tree, false)
	want := []xtf.Interval{
		{Parent: trace.Undefined, ExeMax: 1, ExeMin: 1, Participants: 1, FirstBegin: 10, LastEnd: 90, SumMax: 80},
		{
			Key: 1, Level: 1, Marker: 5, Name: 1, File: 2, Line: 3, Form: 2, ExeMax: 2, ExeMin: 1, Participants: 2, FirstBegin: 20, LastEnd: 60, SumMax: 17,
			Flags: xtf.IntervalUneven,
		},
		{Key: 2, Parent: 1, Level: 2, Name: 2, ExeMax: 1, ExeMin: 1, Participants: 1, FirstBegin: 20, LastEnd: 30, SumMax: 18},
	}
	if fmt.Sprint(nodes) != fmt.Sprint(want) {
		t.Errorf("INTERVAL\n got %+v\nwant %+v", nodes, want)
	}
	keys := map[uint64]xtf.Stat{}
	for _, x := range stats {
		keys[x.Key] = x
	}
	if len(stats) != int(xtf.ItemLast)+2+3+2 { // executions of the root; time, executions, bytes; time and executions
		t.Errorf("%d rows of STAT", len(stats))
	}
	if x := keys[xtf.NodeKey(1, uint32(xtf.ItemBytesIn))]; x.Sum0 != 1<<62 || x.Square1 != 1<<60 || x.Max != 1<<62 || x.MinP != 4 {
		t.Errorf("a large sum: %+v", x)
	}
	if x, ok := keys[xtf.NodeKey(2, uint32(xtf.ItemTime))]; !ok || x.MinP != 4 || x.MaxP != 4 {
		t.Errorf("no time: %+v", x)
	}
	if _, all := nodeRows(t, s, tree, true); len(all) != len(stats)-3 {
		t.Errorf("%d rows of STAT without partners", len(all))
	}
}

func FuzzDecodeSpreads(f *testing.F) {
	s := make(Spreads, 2)
	s[1].add(&interval.Items{xtf.ItemTime: 5, xtf.ItemCalls: 1 << 62}, 3)
	b, _ := s.encode()
	f.Add(2, b)
	f.Fuzz(func(t *testing.T, nodes int, b []byte) {
		if nodes < 0 || nodes > 100 {
			return
		}
		x, err := decodeSpreads(nodes, b)
		if err != nil {
			return
		}
		b, _ = x.encode()
		again, err := decodeSpreads(nodes, b)
		if err != nil {
			t.Fatal(err)
		}
		for n := range x {
			if nodeText(&x[n]) != nodeText(&again[n]) {
				t.Fatalf("node %d: %s, then %s", n, nodeText(&x[n]), nodeText(&again[n]))
			}
		}
		if _, err := mergeSpreads(x, again); err != nil {
			t.Fatal(err)
		}
	})
}
