package ccg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// told is what a Cursor must tell of each event, from the events themselves.
type told struct {
	steps []Step
	open  [][]OpenCall // before each event, and at the end
}

// tell plays the events of a stream with a stack. A call that was never left
// closes after the last event. Node and tuple are left out.
func tell(defs *trace.Definitions, all *trace.Batch) *told {
	var o told
	var stack []OpenCall
	var kinds []trace.Kind
	for i := range all.Events {
		e := &all.Events[i]
		o.open = append(o.open, slices.Clone(stack))
		s := Step{Event: uint64(i), Time: e.Time, Kind: e.Kind, Move: Records, Region: trace.Undefined, Depth: len(stack)}
		ref, begin := e.Ref, trace.Enter
		if e.Kind == trace.CallingContextEnter || e.Kind == trace.CallingContextLeave {
			ref, begin = uint32(all.Words(e)[0]), trace.CallingContextEnter
		}
		switch e.Kind {
		case trace.Enter, trace.CallingContextEnter:
			s.Move, s.Ref, s.Region = Enters, ref, ref
			if e.Kind == trace.CallingContextEnter {
				s.Region, _ = defs.ContextRegion(ref)
			}
			stack = append(stack, OpenCall{Region: s.Region, Ref: ref, Event: uint64(i), Begin: e.Time})
			kinds = append(kinds, e.Kind)
		case trace.Leave, trace.CallingContextLeave:
			if n := len(stack); n > 0 && stack[n-1].Ref == ref && kinds[n-1] == begin {
				s.Move, s.Ref, s.Region, s.Depth = Leaves, ref, stack[n-1].Region, n-1
				stack, kinds = stack[:n-1], kinds[:n-1]
			}
		}
		if s.Move == Records {
			if n := len(stack); n > 0 {
				s.Region = stack[n-1].Region
			}
			s.Ref = s.Region
		}
		o.steps = append(o.steps, s)
	}
	o.open = append(o.open, nil)
	return &o
}

func (s Step) bare() Step {
	s.Node, s.Tuple = 0, 0
	return s
}

// at compares all that a cursor says about where it is.
func (o *told) at(t *testing.T, c *Cursor, k uint64) {
	t.Helper()
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	open, err := c.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range open {
		open[i].Node = 0
	}
	if c.Event() != k || !slices.Equal(open, o.open[k]) || len(c.calls) != len(open) {
		t.Fatalf("before event %d: event %d, open %v, depth %d; want open %v", k, c.Event(), open, len(c.calls), o.open[k])
	}
	if k > 0 && c.Time() != o.steps[k-1].Time {
		t.Fatalf("before event %d: time %d, want %d", k, c.Time(), o.steps[k-1].Time)
	}
}

func (o *told) next(t *testing.T, c *Cursor) {
	t.Helper()
	k := c.Event()
	s, ok := c.Next()
	if ok != (k < uint64(len(o.steps))) || ok && s.bare() != o.steps[k] {
		t.Fatalf("event %d: %+v %v, want %+v", k, s, ok, o.steps[min(k, uint64(len(o.steps)-1))])
	}
}

func (o *told) prev(t *testing.T, c *Cursor) {
	t.Helper()
	k := c.Event()
	s, ok := c.Prev()
	if ok != (k > 0) || ok && s.bare() != o.steps[k-1] {
		t.Fatalf("back from event %d: %+v %v, want %+v", k, s, ok, o.steps[max(k, 1)-1])
	}
}

// rounds is a number of repetitions, a tenth of n with -short.
func rounds(n int) int {
	if testing.Short() {
		return 1 + n/10
	}
	return n
}

// madeCases keeps the graphs of eachCase, which nothing changes.
var madeCases = map[string]*made{}

// eachCase calls f for locations with records of every kind, with and without
// folding.
func eachCase(t *testing.T, f func(t *testing.T, m *made)) {
	t.Helper()
	for _, c := range []struct {
		name string
		n    int
		odd  bool
		o    graph.Options
	}{
		{"one", 1, false, graph.Options{}},
		{"small", 150, true, graph.Options{}},
		{"small groups", 300, true, graph.Options{Fan: 2}},
		{"unfolded", 900, true, graph.Options{Fold: -1, Fan: 3}},
		{"large", 12000, true, graph.Options{}},
		{"few classes", 12000, true, graph.Options{Deviation: graph.Deviation{Abs: 64}}},
		{"small classes", 3000, true, graph.Options{Fan: 3, Deviation: graph.Deviation{Abs: 200}}},
		{"one class", 3000, true, graph.Options{Deviation: graph.Deviation{Abs: 1 << 41}}},
	} {
		if testing.Short() && c.n != 150 && c.name != "small classes" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			m := madeCases[c.name]
			if m == nil {
				m = &made{defs: ccgtest.Definitions(3)}
				for p := range uint32(3) {
					m.streams = append(m.streams, boundLengths(ccgtest.NewScript(uint64(c.n), p, 3, c.odd).Stream(c.n)))
				}
				m.finish(t, c.o)
				madeCases[c.name] = m
			}
			f(t, m)
		})
	}
}

func TestCursorEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			n := uint64(len(o.steps))
			c := l.Cursor()
			for range n + 1 {
				o.next(t, c)
			}
			o.at(t, c, n)
			for range n + 1 {
				o.prev(t, c)
			}
			o.at(t, c, 0)
			r := rand.New(rand.NewPCG(n, 1))
			for range rounds(200) { // to and fro
				back := r.IntN(2) == 0
				for range r.IntN(60) {
					if back {
						o.prev(t, c)
					} else {
						o.next(t, c)
					}
				}
				o.at(t, c, c.Event())
			}
		}
	})
}

func TestSeekEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			n := uint64(len(o.steps))
			r := rand.New(rand.NewPCG(n, 2))
			walked, placed := l.Cursor(), l.Cursor()
			many := n >= uint64(rounds(500))
			for i := range min(n+1, uint64(rounds(500))) {
				k := i
				if many {
					k = r.Uint64N(n + 1)
				}
				if many && i == uint64(rounds(100)) {
					break
				}
				if placed.enterAt(k); k > 0 {
					placed.time = o.steps[k-1].Time
				} else {
					placed.time = l.First()
				}
				if err := walked.SeekEvent(k); err != nil {
					t.Fatal(err)
				}
				for _, c := range []*Cursor{walked, placed} {
					o.at(t, c, k)
					o.next(t, c)
					o.prev(t, c)
					o.prev(t, c)
				}
			}
			if err := walked.SeekEvent(n + 1); err == nil {
				t.Error("an event after the last one was found")
			}
		}
	})
}

func TestSeekTimeEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			r := rand.New(rand.NewPCG(uint64(p), 3))
			n := uint64(len(o.steps))
			c := l.Cursor()
			times := []trace.Time{0, l.First(), l.First() + 1, o.steps[n-1].Time, o.steps[n-1].Time + 1, 1<<64 - 1}
			for range rounds(100) {
				at := o.steps[r.Uint64N(n)].Time
				times = append(times, at, at+trace.Time(r.IntN(200))-100)
			}
			for _, at := range times {
				want := uint64(slices.IndexFunc(o.steps, func(s Step) bool { return s.Time >= at }))
				if want > n {
					want = n
				}
				if err := c.SeekTime(at); err != nil {
					t.Fatal(err)
				}
				o.at(t, c, want)
				o.next(t, c)
			}
		}
	})
}
