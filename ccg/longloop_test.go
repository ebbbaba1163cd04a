package ccg

import (
	"bytes"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// constColumn returns a bare column of n equal values: blocks of them are heads
// alone, all of one content.
func constColumn(t *testing.T, n, value uint64) column.Column {
	t.Helper()
	var enc column.Encoder
	var w column.Writer
	w.Init(&enc, 2*column.BlockSize)
	for range 2 {
		w.Add(slices.Repeat([]uint64{value}, column.BlockSize))
	}
	two := w.AppendBare(nil)
	blocks := (n + column.BlockSize - 1) / column.BlockSize
	c, err := column.ParseBare(bytes.Repeat(two[:len(two)/2], int(blocks)), n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// longLoop returns a call with a loop of n calls of 7 ticks, 3 ticks apart.
func longLoop(t *testing.T, n uint64) *Location {
	t.Helper()
	var b trace.Batch
	b.Append(100, trace.Enter, 0)
	for i := range trace.Time(100) {
		b.Append(103+10*i, trace.Enter, 1)
		b.Append(110+10*i, trace.Leave, 1)
	}
	b.Append(1105, trace.Leave, 0)
	l := openOne(t, &b)
	s := l.view.Nodes
	for id := uint32(1); int(id) <= s.Len(); id++ {
		if s.Kind(id) == graph.KindRepeat {
			w := s.Words(id)
			w[1], w[2] = uint32(n), uint32(n>>32)
		}
	}
	v, err := graph.NewView(l.view.Graph, l.view.Defs, nil, l.view.Root, l.view.Order, l.view.Ids, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	long := *l
	long.view = v
	long.cols = make([]column.Column, len(v.Cols))
	for i, c := range v.Cols {
		switch {
		case i == v.Marks:
			long.cols[i] = constColumn(t, c.Count, 10*graph.MarkEvery/2)
		case c.Count == n:
			tick := uint64(3)
			if v.Cols[i].Region == 1 {
				tick = 7
			}
			long.cols[i] = constColumn(t, n, tick)
		default:
			long.cols[i] = l.cols[i]
		}
	}
	return &long
}

// TestLongLoop asks a loop of 10^8 iterations and counts the nodes visited.
func TestLongLoop(t *testing.T) {
	const n = 100_000_000
	l := longLoop(t, n)
	if l.Events() != 2*n+2 {
		t.Fatalf("%d events", l.Events())
	}
	x := l.Index()
	c := x.Cursor()
	for _, k := range []uint64{1, 1000, n, 2*n - 1, 123_456_789, 2*n + 1} {
		x.visits = 0
		if err := c.SeekEvent(k); err != nil {
			t.Fatal(err)
		}
		want := 100 + trace.Time((k-1)/2)*10 + trace.Time((k-1)%2)*3
		if c.Time() != want {
			t.Errorf("before event %d: time %d, want %d", k, c.Time(), want)
		}
		if x.visits > 30 {
			t.Errorf("event %d: %d nodes visited", k, x.visits)
		}
	}
	x.visits = 0
	iv, err := x.Interval(1_000_005, 900_000_005)
	if err != nil {
		t.Fatal(err)
	}
	want := []RegionInterval{
		{0, 0, 1, 899_000_000 / 10 * 3, 899_000_000},
		{1, 89_900_000, 89_900_001, 899_000_000 / 10 * 7, 899_000_000 / 10 * 7},
	}
	if len(iv.Regions) != 2 || iv.Regions[0] != want[0] || iv.Regions[1] != want[1] || x.visits > 60 {
		t.Errorf("%+v, want %v; %d nodes visited", iv, want, x.visits)
	}
	call, err := x.Call(1, 77_777_777)
	if err != nil || call.Begin != 103+777_777_770 || call.End != call.Begin+7 {
		t.Errorf("%+v (%v)", call, err)
	}
	line, err := x.Timeline(100, 100+10*n, 1000)
	if err != nil || len(line.Pixels) != 1000 {
		t.Fatal(err)
	}
	for i, p := range line.Pixels {
		if p != (Pixel{1, 700_000}) {
			t.Fatalf("pixel %d: %+v", i, p)
		}
	}
}
