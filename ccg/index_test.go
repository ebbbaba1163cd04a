package ccg

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// TestFewSamples compares inclusive times from ledgers with all samples and with
// very few.
func TestFewSamples(t *testing.T) {
	m := &made{defs: ccgtest.Definitions(1)}
	m.streams = append(m.streams, boundLengths(ccgtest.NewScript(3, 0, 1, true).Stream(20_000)))
	m.finish(t, graph.Options{})
	all, few := m.locs[0].Index(), m.locs[0].Index()
	few.sampleWords = 250
	if err := few.openBorders(); err != nil {
		t.Fatal(err)
	}
	if few.open.pure || few.open.every < 4 {
		t.Fatalf("every %d marks a sample", few.open.every)
	}
	r := rand.New(rand.NewPCG(1, 8))
	events := m.streams[0].Events
	for range rounds(20) {
		b, e := events[r.IntN(len(events))].Time, events[r.IntN(len(events))].Time
		x, err := all.Interval(min(b, e), max(b, e))
		if err != nil {
			t.Fatal(err)
		}
		y, err := few.Interval(min(b, e), max(b, e))
		if err != nil || !sameInterval(x, y) {
			t.Fatalf("%+v, want %+v (%v)", y, x, err)
		}
	}
}

// TestEmptyLocation asks a location that has no events.
func TestEmptyLocation(t *testing.T) {
	l := openOne(t, &trace.Batch{})
	x := l.Index()
	c := x.Cursor()
	if _, ok := c.Next(); ok || c.Err() != nil {
		t.Error("an event")
	}
	if _, ok := c.Prev(); ok || c.SeekEvent(0) != nil || c.SeekTime(7) != nil || c.SeekEvent(1) == nil {
		t.Errorf("not where it was: %v", c.Err())
	}
	if iv, err := x.Interval(0, 10); err != nil || iv.Events != 0 || iv.Regions != nil {
		t.Errorf("%+v (%v)", iv, err)
	}
	line, err := x.Timeline(0, 10, 2)
	if err != nil || len(line.Pixels) != 2 || line.Pixels[0] != (Pixel{Region: trace.Undefined}) {
		t.Errorf("%+v (%v)", line, err)
	}
	if n := x.Calls(0); n != 0 {
		t.Errorf("%d calls", n)
	}
	if d, err := x.CallDurations(0); err != nil || d.Count != 0 {
		t.Errorf("%+v (%v)", d, err)
	}
	var p PathProfile
	if err := p.Add(l); err != nil {
		t.Error(err)
	}
	if list, err := p.Paths(); err != nil || len(list) != 1 || list[0].Calls != 0 {
		t.Errorf("%+v (%v)", list, err)
	}
}

// TestDeepQueries asks 10^5 calls inside each other; nothing may take time by the
// square of the depth.
func TestDeepQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short")
	}
	const n = 100_000
	var b trace.Batch
	for i := range uint32(n) {
		b.Append(trace.Time(2*i), trace.Enter, i%7)
	}
	for i := range uint32(n) {
		b.Append(trace.Time(2*n+3*i), trace.Leave, (n-1-i)%7)
	}
	x := openOne(t, &b).Index()
	c := x.Cursor()
	if err := c.SeekEvent(n); err != nil {
		t.Fatal(err)
	}
	open, err := c.Open(nil)
	if err != nil || len(open) != n || open[n-1].Begin != 2*n-2 || open[5].Begin != 10 {
		t.Errorf("%d open calls (%v)", len(open), err)
	}
	iv, err := x.Interval(n, 3*n)
	if err != nil || len(iv.Regions) != 7 || iv.Regions[0].Inclusive != 2*n {
		t.Errorf("%+v (%v)", iv, err)
	}
	if call, err := x.Call(1, 0); err != nil || call.Depth != 1 || call.End != 2*n+3*(n-2) {
		t.Errorf("%+v (%v)", call, err)
	}
	if d, err := x.CallDurations(3); err != nil || d.Count != x.Calls(3) {
		t.Errorf("%+v (%v)", d, err)
	}
	var p PathProfile
	if err := p.Add(x.loc); err != nil {
		t.Fatal(err)
	}
	if list, err := p.Paths(); err != nil || len(list) != n+1 || list[n].Depth != n {
		t.Errorf("%d paths (%v)", len(list), err)
	}
}

// TestTicksLimit asks a location for more times than an index may hold.
func TestTicksLimit(t *testing.T) {
	m := lossyGraph(t, 300, 64)
	x := m.locs[0].Index()
	if _, err := x.Interval(0, 1000); err != nil {
		t.Fatal(err)
	}
	x = m.locs[0].Index()
	x.tickWords = 1
	if _, err := x.Interval(0, 1000); !errors.Is(err, graph.ErrLimit) {
		t.Errorf("interval: %v", err)
	}
	if _, err := x.CallDurations(1); !errors.Is(err, graph.ErrLimit) {
		t.Errorf("durations: %v", err)
	}
}
