package ccg

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestFewSamples compares inclusive times from ledgers with all samples and with
// very few.
func TestFewSamples(t *testing.T) {
	m := &made{defs: testDefs(1)}
	m.streams = append(m.streams, boundLengths(newScript(3, 0, 1, true).stream(20_000)))
	m.finish(t, Options{}, 1)
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
	if calls, err := x.CallsAt(3); err != nil || len(calls) != 0 || x.Calls(0) != 0 || x.CallsBefore(0, 5) != 0 {
		t.Errorf("%v (%v)", calls, err)
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
