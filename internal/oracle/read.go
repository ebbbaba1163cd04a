package oracle

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// record is one event with its words.
type record struct {
	at     uint64 // ticks from the origin; a time before its predecessor counts as that
	raw    uint64 // the same in the trace's time
	kind   trace.Kind
	ref    uint32
	fields []uint64
	call   int // innermost call around it; for an enter and a leave the call itself; -1 outside of all
	visit  int // of communication: the outermost MPI call around it, or a visit of its own
}

// call is one visit of a region.
type call struct {
	region       uint32
	class        trace.CallClass
	state        trace.State
	context      uint32 // calling context, or trace.Undefined
	enter, leave uint64
	first, last  int // records of enter and leave; the number of records if it is cut off
	parent       int
	path         int
	visit        int // outermost MPI call that it is or lies in, -1
}

// visit is an outermost MPI call, or a record of communication outside of any,
// which takes no time.
type visit struct {
	enter, leave uint64
	region       uint32
	class        trace.CallClass
	path         int
	call         int // -1 for a record outside of calls
	first, last  int // records
	marker       bool
}

// location is what one stream holds.
type location struct {
	p       trace.P
	process uint32
	records []record
	calls   []call
	visits  []visit
	ops     []*message
	notices []*notice
	colls   []*member
	windows []window
	first   uint64
	last    uint64
	spans   []markerSpan
	marks   []mark
	slices  []slice    // activity over time
	does    []slice    // the same, with what hosts wait for on devices
	leaves  []jump     // where the critical path goes over for what devices do
	kernels []WaitSpan // what a host waits for devices
	execs   []execution
	whole   bool // the root has all events
}

// analysis is the state of Analyze.
type analysis struct {
	d       *trace.Definitions
	o       Options
	origin  trace.Time
	locs    []*location
	paths   pathTree
	nodes   nodeTree
	r       *Result
	replays []*replay // nil if they do not end
}

func (a *analysis) readAll(src trace.Source, p trace.P) ([]record, []trace.Time, error) {
	st, err := src.Stream(p)
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	var out []record
	var times []trace.Time
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			return nil, nil, err
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for j := range b.Events {
				e := &b.Events[j]
				fields, _, _, _ := b.Layout(e)
				at := e.Time
				if n := len(times); n > 0 && at < times[n-1] {
					a.diagnose(trace.DiagTimeBackwards)
					at = times[n-1]
				}
				times = append(times, at)
				out = append(out, record{kind: e.Kind, ref: e.Ref, fields: slices.Clone(fields)})
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if err := r.Close(); err != nil {
			return nil, nil, err
		}
	}
	return out, times, nil
}

// read loads all locations. The origin is the recorded one, or the first event
// if that is earlier or the clock is not known.
func (a *analysis) read(src trace.Source) error {
	clock := a.d.Clock()
	origin, known := trace.Time(clock.GlobalOffset), clock.TimerResolution != 0
	var all [][]trace.Time
	for p := range trace.P(a.d.NumLocations()) {
		records, times, err := a.readAll(src, p)
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
		if len(times) > 0 && (!known || times[0] < origin) {
			origin, known = times[0], true
		}
		l := &location{p: p, records: records}
		l.process, _ = a.d.Process(p)
		a.locs, all = append(a.locs, l), append(all, times)
	}
	a.origin = origin
	for i, l := range a.locs {
		for j, t := range all[i] {
			l.records[j].at, l.records[j].raw = uint64(t-origin), uint64(t)
		}
		if n := len(l.records); n > 0 {
			l.first, l.last = l.records[0].at, l.records[n-1].at
		}
		a.nest(l)
	}
	return nil
}

// nest finds the calls: a leave that does not name the innermost open call is
// ignored, calls open at the end are closed there.
func (a *analysis) nest(l *location) {
	open := -1
	for i := range l.records {
		e := &l.records[i]
		switch e.kind {
		case trace.Enter, trace.CallingContextEnter:
			c := call{region: a.regionOf(e), context: trace.Undefined, enter: e.at, leave: l.last, first: i, last: len(l.records), parent: open, visit: -1}
			if e.kind == trace.CallingContextEnter {
				c.context = uint32(e.fields[0])
			}
			a.place(l, &c)
			open = len(l.calls)
			l.calls = append(l.calls, c)
			e.call = open
		case trace.Leave, trace.CallingContextLeave:
			if a.d.Region(a.regionOf(e)) == nil {
				a.diagnose(trace.DiagBadReference)
			}
			if e.call = open; open < 0 || l.calls[open].region != a.regionOf(e) {
				a.diagnose(trace.DiagStrayLeave)
				break
			}
			c := &l.calls[open]
			c.leave, c.last = e.at, i
			open = c.parent
		default:
			e.call = open
			if e.visit = -1; communicates(e.kind) {
				e.visit = l.visitOf(i)
			} else if (synchronises(e.kind) || namesFile(e.kind)) && open >= 0 {
				e.visit = l.calls[open].visit
			}
			if e.kind == trace.Metric && !a.hasMetric(uint32(e.fields[0])) {
				a.diagnose(trace.DiagBadReference)
			}
		}
	}
	for ; open >= 0; open = l.calls[open].parent {
		a.diagnose(trace.DiagOpenCall)
	}
	for i := range l.visits {
		if v := &l.visits[i]; v.call >= 0 {
			v.leave, v.last = l.calls[v.call].leave, l.calls[v.call].last
		}
	}
}

func (a *analysis) hasMetric(ref uint32) bool {
	return slices.ContainsFunc(a.d.MetricClasses, func(x trace.MetricClass) bool { return x.Ref == ref }) ||
		slices.ContainsFunc(a.d.MetricInstances, func(x trace.MetricInstance) bool { return x.Ref == ref })
}

func communicates(k trace.Kind) bool {
	return k >= trace.MpiSend && k <= trace.MpiCollectiveEnd ||
		k == trace.NonBlockingCollectiveRequest || k == trace.NonBlockingCollectiveComplete
}

// visitOf returns the visit of record i, a new one if no MPI call is open.
func (l *location) visitOf(i int) int {
	e := &l.records[i]
	if e.call >= 0 && l.calls[e.call].visit >= 0 {
		return l.calls[e.call].visit
	}
	l.visits = append(l.visits, visit{enter: e.at, leave: e.at, region: trace.Undefined, call: -1, first: i, last: i})
	return len(l.visits) - 1
}

// place gives a new call its class, path and visit.
func (a *analysis) place(l *location, c *call) {
	if r := a.d.Region(c.region); r != nil {
		c.class, c.state = a.d.Class(r), a.d.StateOf(r)
	} else {
		a.diagnose(trace.DiagBadReference)
	}
	above := 0
	if c.parent >= 0 {
		above, c.visit = l.calls[c.parent].path, l.calls[c.parent].visit
	}
	c.path = a.paths.child(above, c.region)
	if c.class&trace.ClassMPI != 0 && c.visit < 0 {
		c.visit = len(l.visits)
		l.visits = append(l.visits, visit{enter: c.enter, region: c.region, class: c.class, path: c.path, call: len(l.calls), first: c.first})
	}
}

func (a *analysis) regionOf(e *record) uint32 {
	if e.kind == trace.Enter || e.kind == trace.Leave {
		return e.ref
	}
	r, _ := a.d.ContextRegion(uint32(e.fields[0]))
	return r
}

// regionName returns a region's name, "" for one that is not defined.
func (a *analysis) regionName(ref uint32) string {
	if r := a.d.Region(ref); r != nil {
		return a.d.Text(r.Name)
	}
	return ""
}

// Path is a call path: a region called from another path. Path 0 is outside of
// all calls.
type Path struct {
	Parent int
	Region uint32
	Level  int
}

// deepest is the level from which on calls stay on their caller's path.
const deepest = 512

type pathTree struct {
	list  []Path
	index map[[2]uint32]int
}

func (t *pathTree) child(parent int, region uint32) int {
	if t.list == nil {
		t.list, t.index = []Path{{}}, map[[2]uint32]int{}
	}
	if t.list[parent].Level >= deepest {
		return parent
	}
	k := [2]uint32{uint32(parent), region}
	i, ok := t.index[k]
	if !ok {
		i = len(t.list)
		t.list = append(t.list, Path{parent, region, t.list[parent].Level + 1})
		t.index[k] = i
	}
	return i
}
