package counters

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// countedLocation is the location whose readings are being read.
type countedLocation struct {
	g       *counting
	p       trace.P
	metrics map[uint32]*metricRead // by reference
	walks   map[counterScope]*walk
	members map[memberRead]*memberValue
	order   []memberRead // in the order of their first readings
	in      *metricRead  // whose reading is current
	reading int          // number of the current reading
	fresh   *window      // that begins with the current reading
	cells   map[cellKey]*cell
	tallies map[int]*tally
}

// metricRead is a metric that the location reads.
type metricRead struct {
	scope  counterScope
	walk   *walk
	strict bool   // each enter and leave has its reading
	at     uint64 // of the newest reading
	same   int    // readings before it at its time
}

// memberRead is a counter and what it is about.
type memberRead struct {
	scope  counterScope
	member int
}

// memberValue is the newest value of a counter.
type memberValue struct {
	xtf.Metric
	seen    bool
	reading int     // that has it
	window  *window // since then, or since the first event
}

// window is what happens from a reading on, for the counters that were read then and not since.
type window struct {
	since   uint64
	members int
	paths   map[uint32]spent
	nodes   map[uint32]spent // of intervals
}

// read reads the readings of the location.
func (l *countedLocation) read() error {
	var failed error
	err := results.Load(l.g.r, xtf.Proc(l.p), func(m *xtf.Metric) {
		i, ok := l.g.Of(m)
		if failed != nil || !ok {
			return
		}
		x := l.metrics[m.Metric]
		if x == nil {
			if x, failed = l.open(m.Metric, m.T); failed != nil {
				return
			}
			l.metrics[m.Metric] = x
		}
		key := memberRead{x.scope, i}
		v := l.members[key]
		if v == nil {
			v = &memberValue{window: x.walk.start}
			l.members[key] = v
			l.order = append(l.order, key)
		}
		if l.in != x || x.at != m.T || v.reading == l.reading {
			l.reads(x, m.T)
		}
		l.value(x, v, i, m)
	})
	for _, key := range l.order {
		l.finish(key)
	}
	for _, key := range l.order {
		failed = cmp.Or(failed, l.walks[key.scope].calls.Err(), l.walks[key.scope].runs.Err())
	}
	return cmp.Or(err, failed)
}

// open finds what a metric is about whose first reading is at t.
func (l *countedLocation) open(ref uint32, t uint64) (*metricRead, error) {
	x := &metricRead{scope: l.g.scopes.of(l.p, ref)}
	x.scope.calls = x.scope.calls && l.g.calls
	if c := l.g.classes[ref]; c != nil {
		x.strict = c.Occurrence == 0 && x.scope.calls && x.scope.target == l.p
	}
	if x.walk = l.walks[x.scope]; x.walk == nil {
		var err error
		if x.walk, err = newWalk(l.g, x.scope, t); err != nil {
			return nil, err
		}
		l.walks[x.scope] = x.walk
	}
	return x, nil
}

func (l *countedLocation) reads(x *metricRead, t uint64) {
	if x.same++; t != x.at || l.reading == 0 {
		x.same = 0
	}
	l.in, l.reading, l.fresh = x, l.reading+1, nil
	x.at = t
	borders := x.same
	if !x.strict && borders > 0 {
		borders = math.MaxInt
	}
	x.walk.pass(t, borders)
}

// value takes a value of the current reading.
func (l *countedLocation) value(x *metricRead, before *memberValue, i int, m *xtf.Metric) {
	y := results.Made(l.tallies, i)
	y.readings++
	before.reading = l.reading
	v, kind := Value(m)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		y.odd++
		return
	}
	w := before.window
	if w != nil && len(w.paths) > 1 {
		y.shared++
	}
	u, _ := Value(&before.Metric)
	mode := uint32(l.g.defs.MetricMembers[i].Mode)
	timing := mode & counterTiming
	switch mode & counterModeMask {
	case Relative:
		switch {
		case timing == atPoint:
			l.add(x.scope, x.walk, nil, m.T, i, counted{sum: v})
		case timing == untilNext && before.seen:
			l.add(x.scope, x.walk, w, m.T, i, counted{sum: u})
		case timing != untilNext && w != nil && (before.seen || m.T > w.since): // the first reading may be about time before the trace
			l.add(x.scope, x.walk, w, m.T, i, counted{sum: v})
		}
	case Accumulated:
		if !before.seen {
			break
		}
		delta := v - u
		if kind < 2 {
			delta = float64(m.Value - before.Value)
		}
		if v != u {
			y.changes++
		}
		if v < u {
			y.falls++
			delta = 0
		}
		l.add(x.scope, x.walk, w, m.T, i, counted{delta, u, true})
	default:
		switch {
		case timing == untilNext && before.seen:
			l.add(x.scope, x.walk, w, m.T, i, counted{0, u, true})
		case timing == sinceLast && w != nil:
			l.add(x.scope, x.walk, w, m.T, i, counted{0, v, true})
		case timing != untilNext && timing != sinceLast && before.seen:
			l.add(x.scope, x.walk, w, m.T, i, counted{0, u + float64((v-u)/2), true})
		}
	}
	if l.fresh == nil {
		l.fresh = x.walk.begin(m.T)
	}
	x.walk.release(w)
	l.fresh.members++
	before.Metric, before.seen, before.window = *m, true, l.fresh
}

// finish takes a value that holds from the last reading to the end of the run.
func (l *countedLocation) finish(key memberRead) {
	m := l.members[key]
	mode := uint32(l.g.defs.MetricMembers[key.member].Mode)
	if mode&counterTiming != untilNext || !m.seen {
		return
	}
	walk := l.walks[key.scope]
	walk.pass(l.g.last, math.MaxInt)
	v, _ := Value(&m.Metric)
	if mode&counterModeMask == Relative {
		l.add(key.scope, walk, m.window, l.g.last, key.member, counted{sum: v})
	} else if mode&counterModeMask == absolute {
		l.add(key.scope, walk, m.window, l.g.last, key.member, counted{0, v, true})
	}
}

// counted is what a reading adds: a sum, or a value that holds for a time.
type counted struct {
	sum, held float64
	holds     bool
}

// add adds v to all parts that the location was in, in the window before t, or, without a window, at that instant.
func (l *countedLocation) add(scope counterScope, walk *walk, w *window, t uint64, i int, v counted) {
	took := uint64(0)
	if w != nil {
		took = t - min(w.since, t)
	}
	put := func(of byte, id uint32, share float64, at spent) {
		k := cellKey{of, id, i, 0}
		if of == 'p' {
			k.target = scope.target
		}
		results.Made(l.cells, k).add(v, share, at)
	}
	of := byte('n')
	if scope.single {
		of = 'r'
	}
	put('a', 0, 1, spent{ticks: took})
	put(of, scope.id, 1, spent{ticks: took})
	if took == 0 {
		if scope.calls {
			put('p', walk.path, 1, spent{})
			put('g', l.g.paths.list[walk.path].region, 1, spent{})
		}
		for _, x := range walk.open {
			put('i', x.Node, 1, spent{})
		}
	}
	if w == nil {
		return
	}
	share := func(s spent) float64 {
		if took == 0 {
			return 0
		}
		return float64(s.ticks) / float64(took)
	}
	for id, s := range w.nodes {
		put('i', id, share(s), s)
	}
	if !scope.calls {
		return
	}
	for id, s := range w.paths {
		put('p', id, share(s), s)
		if len(w.paths) == 1 {
			put('g', l.g.paths.list[id].region, share(s), s)
		}
	}
	if len(w.paths) > 1 {
		for _, id := range slices.Sorted(maps.Keys(w.paths)) { // paths may have one region: the order of sums decides their last digit
			put('g', l.g.paths.list[id].region, share(w.paths[id]), w.paths[id])
		}
	}
}

func (l *countedLocation) join() {
	for _, k := range sortedCells(l.cells) { // of paths there may be several targets: the order of sums decides their last digit
		c := l.cells[k]
		if l.g.put != nil {
			if k.of == 'p' {
				l.g.put(PathCount{k.target, k.member, l.g.paths.regions(k.id), c.sum})
			}
			continue
		}
		k.target = 0
		results.Made(l.g.cells, k).join(c)
	}
	for i, y := range l.tallies {
		to := results.Made(l.g.tallies, i)
		to.readings, to.shared, to.falls, to.changes, to.odd = to.readings+y.readings, to.shared+y.shared, to.falls+y.falls, to.changes+y.changes, to.odd+y.odd
	}
}
