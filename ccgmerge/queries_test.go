package ccgmerge

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// replay is a location's event stream with what a query may ask of it.
type replay struct {
	events []trace.Event
	bytes  []uint64 // by event: payload of a message
	inner  []uint32 // by event: region of the gap before it
	path   []int    // by event: path of the gap before it
	paths  []ccg.PathTotal
	calls  []replayed
	called map[uint32][]replayed // by region
}

type replayed struct {
	region      uint32
	begin, end  trace.Time
	event, last uint64
	outermost   bool
	path        int
}

// play reads a location from start to end.
func play(t *testing.T, defs *trace.Definitions, l *ccg.Location) *replay {
	t.Helper()
	r := &replay{paths: []ccg.PathTotal{{Parent: -1, Region: trace.Undefined}}, called: map[uint32][]replayed{}}
	known := map[[2]int]int{}
	var stack []int // places in calls
	x := l.Expand()
	var b trace.Batch
	for {
		err := x.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Events {
			r.event(defs, &b, &b.Events[i], &stack, known)
		}
	}
	n := len(r.events)
	for _, i := range stack { // never left
		r.calls[i].end, r.calls[i].last = r.events[n-1].Time, uint64(n-1)
	}
	for _, c := range r.calls {
		r.called[c.region] = append(r.called[c.region], c)
	}
	return r
}

func (r *replay) event(defs *trace.Definitions, b *trace.Batch, e *trace.Event, stack *[]int, known map[[2]int]int) {
	n, path, inner := uint64(len(r.events)), 0, uint32(trace.Undefined)
	if k := len(*stack); k > 0 {
		c := &r.calls[(*stack)[k-1]]
		path, inner = c.path, c.region
	}
	gap := uint64(0)
	if n > 0 {
		gap = uint64(e.Time - r.events[n-1].Time)
	}
	r.paths[path].Exclusive += gap
	region, bytes := e.Ref, uint64(0)
	switch e.Kind {
	case trace.CallingContextEnter, trace.CallingContextLeave:
		region, _ = defs.ContextRegion(uint32(b.Words(e)[0]))
	case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv:
		bytes = b.Words(e)[3]
	}
	r.events, r.bytes = append(r.events, *e), append(r.bytes, bytes)
	r.inner, r.path = append(r.inner, inner), append(r.path, path)
	switch e.Kind {
	case trace.Enter, trace.CallingContextEnter:
		key := [2]int{path, int(region)}
		p, ok := known[key]
		if !ok {
			p = len(r.paths)
			known[key] = p
			r.paths = append(r.paths, ccg.PathTotal{Parent: path, Region: region, Depth: r.paths[path].Depth + 1})
		}
		r.paths[p].Calls++
		outermost := !slices.ContainsFunc(*stack, func(i int) bool { return r.calls[i].region == region })
		*stack = append(*stack, len(r.calls))
		r.calls = append(r.calls, replayed{region: region, begin: e.Time, event: n, outermost: outermost, path: p})
	case trace.Leave, trace.CallingContextLeave:
		if k := len(*stack); k > 0 && r.calls[(*stack)[k-1]].region == region {
			c := &r.calls[(*stack)[k-1]]
			c.end, c.last = e.Time, n
			*stack = (*stack)[:k-1]
		}
	}
}

func overlap(x, y, b, e trace.Time) uint64 {
	if lo, hi := max(x, b), min(y, e); hi > lo {
		return uint64(hi - lo)
	}
	return 0
}

func (r *replay) interval(b, e trace.Time) ccg.Interval {
	iv := ccg.Interval{Begin: b, End: e}
	rows := map[uint32]ccg.RegionInterval{}
	for i := range r.events {
		at := r.events[i].Time
		if i > 0 {
			q := rows[r.inner[i]]
			q.Exclusive += overlap(r.events[i-1].Time, at, b, e)
			rows[r.inner[i]] = q
		}
		if at < b || at >= e {
			continue
		}
		iv.Events++
		switch r.events[i].Kind {
		case trace.MpiSend, trace.MpiIsend:
			iv.Sent++
			iv.SentBytes += r.bytes[i]
		case trace.MpiRecv, trace.MpiIrecv:
			iv.Received++
			iv.ReceivedBytes += r.bytes[i]
		}
	}
	for _, c := range r.calls {
		q := rows[c.region]
		if c.begin >= b && c.begin < e {
			q.Calls++
			q.Touching++
		} else if c.begin < b && c.end > b {
			q.Touching++
		}
		if c.outermost {
			q.Inclusive += overlap(c.begin, c.end, b, e)
		}
		rows[c.region] = q
	}
	for _, region := range slices.Sorted(maps.Keys(rows)) {
		if q := rows[region]; q != (ccg.RegionInterval{}) {
			q.Region = region
			iv.Regions = append(iv.Regions, q)
		}
	}
	return iv
}

// timeline paints pixels whose width is whole.
func (r *replay) timeline(b trace.Time, width trace.Time, w int) []ccg.Pixel {
	ticks := make([]map[uint32]uint64, w)
	for i := 1; i < len(r.events); i++ {
		from, to := max(r.events[i-1].Time, b), r.events[i].Time
		for from < to {
			p := int((from - b) / width)
			if p >= w {
				break
			}
			end := min(to, b+trace.Time(p+1)*width)
			if ticks[p] == nil {
				ticks[p] = map[uint32]uint64{}
			}
			ticks[p][r.inner[i]] += uint64(end - from)
			from = end
		}
	}
	row := make([]ccg.Pixel, w)
	for i := range row {
		row[i].Region = trace.Undefined
		for region, n := range ticks[i] {
			if n > row[i].Ticks || n == row[i].Ticks && region < row[i].Region {
				row[i] = ccg.Pixel{Region: region, Ticks: n}
			}
		}
	}
	return row
}

// checkCursor walks a location to its end and back, and goes to random events.
func (r *replay) checkCursor(l *ccg.Location, random *rand.Rand) error {
	c := l.Cursor()
	for i := range r.events {
		if s, ok := c.Next(); !ok || s.Event != uint64(i) || s.Time != r.events[i].Time || s.Kind != r.events[i].Kind {
			return fmt.Errorf("event %d forwards: %+v, want %+v (%v)", i, s, r.events[i], c.Err())
		}
	}
	for i := len(r.events) - 1; i >= 0; i-- {
		if s, ok := c.Prev(); !ok || s.Event != uint64(i) || s.Time != r.events[i].Time || s.Kind != r.events[i].Kind {
			return fmt.Errorf("event %d backwards: %+v, want %+v (%v)", i, s, r.events[i], c.Err())
		}
	}
	for range 20 {
		k := random.IntN(len(r.events))
		if err := c.SeekEvent(uint64(k)); err != nil {
			return err
		}
		if s, ok := c.Next(); !ok || s.Time != r.events[k].Time || s.Kind != r.events[k].Kind {
			return fmt.Errorf("event %d by seeking: %+v, want %+v (%v)", k, s, r.events[k], c.Err())
		}
		at := r.events[k].Time
		if err := c.SeekTime(at); err != nil {
			return err
		}
		if want, _ := slices.BinarySearchFunc(r.events, at, func(e trace.Event, t trace.Time) int { return int(int64(e.Time - t)) }); c.Event() != uint64(want) {
			return fmt.Errorf("time %d is at event %d, want %d", at, c.Event(), want)
		}
	}
	return nil
}

// checkSums compares everything that adds up.
func (r *replay) checkSums(l *ccg.Location, random *rand.Rand) error {
	x := l.Index()
	first, last := r.events[0].Time, r.events[len(r.events)-1].Time
	for i := range 6 {
		b := first + trace.Time(random.Uint64N(uint64(last-first)+1))
		e := first + trace.Time(random.Uint64N(uint64(last-first)+1))
		if i == 0 {
			b, e = r.events[len(r.events)/3].Time, r.events[len(r.events)/2].Time
		}
		b, e = min(b, e), max(b, e)
		got, err := x.Interval(b, e)
		if err != nil {
			return err
		}
		want := r.interval(b, e)
		want.Bound = got.Bound
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("interval\n%+v, want\n%+v", got, want)
		}
		if width := (e - b) / 50; width > 0 {
			line, err := x.Timeline(b, b+50*width, 50)
			if err != nil {
				return err
			}
			if want := r.timeline(b, width, 50); !slices.Equal(line.Pixels, want) {
				return fmt.Errorf("timeline from %d\n%v, want\n%v", b, line.Pixels, want)
			}
		}
	}
	return r.checkCalls(x, random)
}

// checkCalls compares histograms and single calls.
func (r *replay) checkCalls(x *ccg.Index, random *rand.Rand) error {
	for _, region := range slices.Sorted(maps.Keys(r.called)) {
		calls := r.called[region]
		d, err := x.CallDurations(region)
		if err != nil {
			return err
		}
		sum, bins := uint64(0), [ccg.DurationBins]uint64{}
		for _, c := range calls {
			sum += uint64(c.end - c.begin)
			bins[ccg.DurationBin(uint64(c.end-c.begin))]++
		}
		if d.Count != uint64(len(calls)) || d.Sum != sum || d.Bins != bins {
			return fmt.Errorf("region %d: %d calls of %d ticks, want %d of %d", region, d.Count, d.Sum, len(calls), sum)
		}
		k := random.IntN(len(calls))
		got, err := x.Call(region, uint64(k))
		if err != nil {
			return err
		}
		if c := calls[k]; got.Begin != c.begin || got.End != c.end || got.Event != c.event || got.Last != c.last {
			return fmt.Errorf("call %d of region %d: %+v, want %+v", k, region, got, c)
		}
	}
	return nil
}

// checkPaths compares the call-path profile of a location.
func (r *replay) checkPaths(l *ccg.Location) error {
	var p ccg.PathProfile
	if err := p.Add(l); err != nil {
		return err
	}
	list, err := p.Paths()
	if err != nil {
		return err
	}
	if len(list) != len(r.paths) {
		return fmt.Errorf("%d paths, want %d", len(list), len(r.paths))
	}
	place := make([]int, len(list)) // in r.paths
	for i := 1; i < len(list); i++ {
		got := list[i]
		j := slices.IndexFunc(r.paths, func(w ccg.PathTotal) bool { return w.Parent == place[got.Parent] && w.Region == got.Region })
		if j < 0 {
			return fmt.Errorf("path %d does not occur", i)
		}
		place[i] = j
		if w := r.paths[j]; got.Calls != w.Calls || got.Exclusive != w.Exclusive || got.Depth != w.Depth {
			return fmt.Errorf("path %d: %+v, want %+v", i, got, w)
		}
	}
	return nil
}

// checkQueries compares all queries on a graph with its expanded events.
func checkQueries(t *testing.T, g *graphOf) {
	t.Helper()
	shared, err := graph.OpenShared(g.defs, g.section)
	if err != nil {
		t.Fatal(err)
	}
	for p, blob := range g.blobs {
		l, err := ccg.OpenLocation(shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		if l.Events() == 0 || testing.Short() && p > 2 {
			continue
		}
		r := play(t, g.defs, l)
		random := rand.New(rand.NewPCG(uint64(p), 1))
		if err := cmp.Or(r.checkCursor(l, random), r.checkSums(l, random), r.checkPaths(l)); err != nil {
			t.Fatalf("location %d: %v", p, err)
		}
	}
}

func TestQueriesOfPrograms(t *testing.T) {
	for _, spec := range []string{
		"stencil:procs=4,events=12k,jitter=5", "ring:procs=3,events=9k", "wavefront:procs=4,events=9k,jitter=10",
		"masterworker:procs=4,events=9k,jitter=20", "irregular:procs=3,events=9k",
	} {
		for _, o := range []graph.Options{{}, lossyOptions} {
			if testing.Short() && o == (graph.Options{}) {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", spec, o.Deviation), func(t *testing.T) {
				d, locals := locate(t, spec, o)
				g, err := reduceOn(2, d, locals, o, Config{})
				if err != nil {
					t.Fatal(err)
				}
				checkQueries(t, g)
			})
		}
	}
}

func TestQueriesOfArchives(t *testing.T) {
	root := traces(t)
	for _, name := range []string{"npb-lu.S-func-4", "npb-mg.S-func-4", "lulesh-8", "npb-cg.S-4"} {
		for _, o := range []graph.Options{{}, lossyOptions} {
			t.Run(fmt.Sprintf("%s %v", name, o.Deviation), func(t *testing.T) {
				if testing.Short() && name != "npb-cg.S-4" {
					t.Skip("runs without -short")
				}
				src, err := otf2.OpenPath(filepath.Join(root, name, "traces.otf2"))
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				locals, err := buildAll(src, o)
				if err != nil {
					t.Fatal(err)
				}
				g, err := reduceOn(2, src.Definitions(), locals, o, Config{})
				if err != nil {
					t.Fatal(err)
				}
				checkQueries(t, g)
			})
		}
	}
}

// openAll opens the locations of a graph.
func openAll(t *testing.T, g *graphOf) []*ccg.Location {
	t.Helper()
	shared, err := graph.OpenShared(g.defs, g.section)
	if err != nil {
		t.Fatal(err)
	}
	var list []*ccg.Location
	for _, blob := range g.blobs {
		l, err := ccg.OpenLocation(shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// TestAnswersWithinBounds compares lossy answers with the true ones.
func TestAnswersWithinBounds(t *testing.T) {
	for _, spec := range []string{"stencil:procs=3,events=9k,jitter=5", "irregular:procs=2,events=6k"} {
		for _, text := range []string{"10%", "10%,1us", "50%,1us", "1us,timestamps"} {
			if testing.Short() && text[0] == '1' && text != "10%,1us" {
				continue
			}
			t.Run(spec+" "+text, func(t *testing.T) {
				d, exact := locate(t, spec, graph.Options{})
				truth, err := reduceOn(1, d, exact, graph.Options{}, Config{})
				if err != nil {
					t.Fatal(err)
				}
				o := graph.Options{Deviation: deviation(t, text)}
				_, locals := locate(t, spec, o)
				lossy, err := reduceOn(1, d, locals, o, Config{})
				if err != nil {
					t.Fatal(err)
				}
				stored := openAll(t, lossy)
				for p, l := range openAll(t, truth) {
					if l.Events() > 0 {
						withinBoundsOf(t, play(t, d, l), stored[p])
					}
				}
			})
		}
	}
}

// withinBoundsOf compares intervals and calls of a lossy location with the truth.
func withinBoundsOf(t *testing.T, r *replay, l *ccg.Location) {
	t.Helper()
	x := l.Index()
	random := rand.New(rand.NewPCG(uint64(l.P()), 2))
	for range 10 {
		b, e := r.events[random.IntN(len(r.events))].Time, r.events[random.IntN(len(r.events))].Time
		b, e = min(b, e), max(b, e)
		got, err := x.Interval(b, e)
		if err != nil {
			t.Fatal(err)
		}
		rows := map[uint32]ccg.RegionInterval{}
		for _, q := range got.Regions {
			rows[q.Region] = q
		}
		for _, want := range r.interval(b, e).Regions {
			q := rows[want.Region]
			if far := max(apart(q.Exclusive, want.Exclusive), apart(q.Inclusive, want.Inclusive)); far > got.Bound {
				t.Errorf("[%d, %d): %+v, want %+v, %d apart, bound %d", b, e, q, want, far, got.Bound)
			}
		}
	}
	for _, region := range slices.Sorted(maps.Keys(r.called)) {
		calls := r.called[region]
		d, err := x.CallDurations(region)
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, c := range calls {
			sum += uint64(c.end - c.begin)
		}
		if apart(d.Sum, sum) > d.SumBound {
			t.Errorf("region %d: calls take %d, want %d, bound %d", region, d.Sum, sum, d.SumBound)
		}
		k := random.IntN(len(calls))
		call, err := x.Call(region, uint64(k))
		if err != nil {
			t.Fatal(err)
		}
		if far := apart(uint64(call.End-call.Begin), uint64(calls[k].end-calls[k].begin)); far > min(d.Bound, call.Bound) {
			t.Errorf("region %d, call %d: %d ticks off, bounds %d and %d", region, k, far, d.Bound, call.Bound)
		}
	}
}
