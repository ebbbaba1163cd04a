package ccg

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// toldCall is a call as the events tell it.
type toldCall struct {
	OpenCall
	end   trace.Time
	last  uint64 // number of its leave; of the event after the last one if it was never left
	depth int
	cut   bool
}

// calls returns all calls by enter.
func (o *told) calls() []toldCall {
	var calls []toldCall
	var stack []int
	for i, s := range o.steps {
		switch s.Move {
		case Enters:
			stack = append(stack, len(calls))
			calls = append(calls, toldCall{OpenCall: OpenCall{Region: s.Region, Ref: s.Ref, Event: uint64(i), Begin: s.Time}, depth: s.Depth})
		case Leaves:
			c := &calls[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			c.end, c.last = s.Time, uint64(i)
		}
	}
	for _, i := range stack {
		calls[i].end, calls[i].last, calls[i].cut = o.steps[len(o.steps)-1].Time, uint64(len(o.steps)), true
	}
	return calls
}

func clip(x, y, b, e trace.Time) uint64 {
	lo, hi := max(x, b), min(y, e)
	if hi <= lo {
		return 0
	}
	return uint64(hi - lo)
}

// slowInterval looks at every event and call.
func (o *told) interval(all *trace.Batch, b, e trace.Time) Interval {
	iv := Interval{Begin: b, End: e}
	rows := map[uint32]*RegionInterval{}
	row := func(r uint32) *RegionInterval {
		if rows[r] == nil {
			rows[r] = &RegionInterval{Region: r}
		}
		return rows[r]
	}
	for i, s := range o.steps {
		if i > 0 {
			region := uint32(trace.Undefined)
			if n := len(o.open[i]); n > 0 {
				region = o.open[i][n-1].Region
			}
			row(region).Exclusive += clip(o.steps[i-1].Time, s.Time, b, e)
			open := map[uint32]bool{}
			for _, c := range o.open[i] {
				if !open[c.Region] {
					row(c.Region).Inclusive += clip(o.steps[i-1].Time, s.Time, b, e)
				}
				open[c.Region] = true
			}
		}
		if s.Time < b || s.Time >= e {
			continue
		}
		iv.Events++
		if s.Move == Enters {
			row(s.Region).Calls++
		}
		switch s.Kind {
		case trace.MpiSend, trace.MpiIsend:
			iv.Sent++
			iv.SentBytes += all.Words(&all.Events[i])[3]
		case trace.MpiRecv, trace.MpiIrecv:
			iv.Received++
			iv.ReceivedBytes += all.Words(&all.Events[i])[3]
		}
	}
	for _, c := range o.calls() {
		if c.Begin >= b && c.Begin < e || c.Begin < b && c.end > b {
			row(c.Region).Touching++
		}
	}
	for _, r := range slices.Sorted(maps.Keys(rows)) {
		if *rows[r] != (RegionInterval{Region: r}) {
			iv.Regions = append(iv.Regions, *rows[r])
		}
	}
	return iv
}

func sameInterval(a, b Interval) bool {
	same := slices.Equal(a.Regions, b.Regions)
	a.Regions, b.Regions = nil, nil
	return same && cmpInterval(a) == cmpInterval(b)
}

// cmpInterval is the comparable part of an interval.
func cmpInterval(a Interval) [8]uint64 {
	return [8]uint64{uint64(a.Begin), uint64(a.End), a.Events, a.Sent, a.SentBytes, a.Received, a.ReceivedBytes, a.Bound}
}

// borders are times to ask for: of events, next to them and between them.
func (o *told) borders(r *rand.Rand, n int) []trace.Time {
	last := len(o.steps) - 1
	list := []trace.Time{0, o.steps[0].Time, o.steps[last].Time, o.steps[last].Time + 1, 1<<64 - 1}
	for range n {
		i := r.IntN(last + 1)
		t := o.steps[i].Time
		list = append(list, t, t+1, t-1, t+trace.Time(r.IntN(100)))
	}
	return list
}

func TestIntervalEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			r := rand.New(rand.NewPCG(uint64(p), 4))
			list := o.borders(r, 10)
			x := l.Index()
			for i := range rounds(min(60, 2+40000/len(o.steps))) {
				b, e := list[r.IntN(len(list))], list[r.IntN(len(list))]
				if b > e {
					b, e = e, b
				}
				got, err := x.Interval(b, e)
				if err != nil {
					t.Fatal(err)
				}
				got.Bound = 0
				if want := o.interval(m.streams[p], b, e); !sameInterval(got, want) {
					t.Fatalf("location %d, [%d, %d):\n%+v, want\n%+v", p, b, e, got, want)
				}
				if i%3 == 2 {
					x = l.Index()
				}
			}
		}
	})
}

// TestIntervalsAddUp compares sums over locations and over adjacent intervals.
func TestIntervalsAddUp(t *testing.T) {
	m := &made{defs: ccgtest.Definitions(4)}
	for p := range uint32(4) {
		m.streams = append(m.streams, boundLengths(ccgtest.NewScript(9, p, 4, true).Stream(2000)))
	}
	m.finish(t, graph.Options{})
	end := trace.Time(0)
	for _, all := range m.streams {
		end = max(end, all.Events[len(all.Events)-1].Time+1)
	}
	var sum Interval
	var flat Profile
	for _, l := range slices.Backward(m.locs) {
		iv, err := l.Index().Interval(0, end)
		if err != nil {
			t.Fatal(err)
		}
		if sum.End == 0 {
			sum.End = end
		}
		if err := sum.Add(&iv); err != nil {
			t.Fatal(err)
		}
		if err := flat.Add(l, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range sum.Regions {
		want := RegionInterval{Region: r.Region}
		for _, w := range flat.Regions() {
			if w.Region == r.Region {
				want = RegionInterval{w.Region, w.Calls, w.Calls, w.Exclusive, w.Inclusive}
			}
		}
		if r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if !slices.IsSortedFunc(sum.Regions, func(a, b RegionInterval) int { return cmp.Compare(a.Region, b.Region) }) {
		t.Error("regions not ascending")
	}
	if err := sum.Add(&Interval{Begin: 1, End: end}); err == nil {
		t.Error("different intervals were added")
	}
	if _, err := m.locs[0].Index().Interval(2, 1); err == nil {
		t.Error("an interval that ends before it begins")
	}
}
