package results

import (
	"cmp"
	"math"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// countedLocation is the location in hand, which has the readings.
type countedLocation struct {
	g       *counting
	p       trace.P
	windows map[uint32]*window // by the reference of their metric
	cells   map[cellKey]*cell
	tallies map[int]*tally
}

// window is what happens from one reading of a metric to the next.
type window struct {
	scope     counterScope
	walk      *walk
	strict    bool                 // each enter and leave has its reading
	since, at uint64               // begin, and the newest reading
	same      int                  // readings before it at its time
	readings  int                  // with the newest one
	before    map[uint32]valueRead // by place in the metric
}

// valueRead is the newest value of a counter, and the reading that has it.
type valueRead struct {
	xtf.Metric
	reading int
}

// close begins the next window with the reading in hand.
func (w *window) close() {
	w.since = w.at
	w.walk.forget()
}

// read passes over the readings of the location.
func (l *countedLocation) read() error {
	var failed error
	var in *window // whose reading is in hand
	err := Load(l.g.r, xtf.Proc(l.p), func(m *xtf.Metric) {
		i, ok := l.g.Of(m)
		if failed != nil || !ok {
			return
		}
		w := l.windows[m.Metric]
		if w == nil {
			if w, failed = l.open(m.Metric, m.T); failed != nil {
				return
			}
			l.windows[m.Metric] = w
		}
		if x, again := w.before[m.Flags>>8]; in != w || w.at != m.T || again && x.reading == w.readings {
			if in != nil {
				in.close()
			}
			in = w
			w.reads(m.T)
		}
		l.value(w, i, m)
	})
	if in != nil {
		in.close()
	}
	for _, ref := range sortedKeys(l.windows) {
		w := l.windows[ref]
		l.finish(w)
		failed = cmp.Or(failed, w.walk.calls.Err(), w.walk.runs.Err())
	}
	return cmp.Or(err, failed)
}

// open finds what a metric tells of that is read at t first. Before that it may tell of the time from the first event on.
func (l *countedLocation) open(ref uint32, t uint64) (*window, error) {
	w := &window{scope: l.g.scopes.of(l.p, ref), before: map[uint32]valueRead{}}
	if c := l.g.classes[ref]; c != nil {
		w.strict = c.Occurrence == 0 && w.scope.calls && w.scope.target == l.p
	}
	var err error
	if w.walk, err = newWalk(l.g, w.scope.target); err != nil {
		return nil, err
	}
	w.walk.pass(min(w.walk.first, t), 0)
	w.walk.forget()
	w.since = w.walk.now
	return w, nil
}

// reads passes to a reading at t.
func (w *window) reads(t uint64) {
	if w.same++; t != w.at || w.readings == 0 {
		w.same = 0
	}
	w.readings++
	w.at = max(t, w.at)
	borders := w.same
	if !w.strict && borders > 0 {
		borders = math.MaxInt
	}
	w.walk.pass(t, borders)
}

// value takes a value of the reading in hand.
func (l *countedLocation) value(w *window, i int, m *xtf.Metric) {
	y := l.tallies[i]
	if y == nil {
		y = &tally{}
		l.tallies[i] = y
	}
	y.readings++
	v, kind := CounterValue(m)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		y.odd++
		return
	}
	if len(w.walk.paths) > 1 {
		y.shared++
	}
	k := m.Flags >> 8
	before, seen := w.before[k]
	w.before[k] = valueRead{*m, w.readings}
	u, _ := CounterValue(&before.Metric)
	mode := uint32(l.g.defs.MetricMembers[i].Mode)
	timing := mode & counterTiming
	switch mode & counterModeMask {
	case Relative:
		switch {
		case timing == atPoint:
			w.close()
			l.add(w, i, v, 0, false)
		case timing == untilNext && seen:
			l.add(w, i, u, 0, false)
		case timing != untilNext && (seen || w.at > w.since): // what the first one tells of may lie before the trace
			l.add(w, i, v, 0, false)
		}
	case Accumulated:
		if !seen {
			return
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
		l.add(w, i, delta, u, true)
	default:
		switch {
		case timing == untilNext && seen:
			v = u
		case timing == untilNext:
			return
		case timing != sinceLast && seen:
			v = u + float64((v-u)/2)
		case timing != sinceLast:
			return
		}
		l.add(w, i, 0, v, true)
	}
}

// finish takes values that hold after the last reading, until the end of the run.
func (l *countedLocation) finish(w *window) {
	w.walk.pass(l.g.last, math.MaxInt)
	w.at = max(w.at, l.g.last)
	for _, k := range sortedKeys(w.before) {
		m := w.before[k]
		i, _ := l.g.Of(&m.Metric)
		v, _ := CounterValue(&m.Metric)
		switch mode := uint32(l.g.defs.MetricMembers[i].Mode); {
		case mode&counterTiming != untilNext:
		case mode&counterModeMask == Relative:
			l.add(w, i, v, 0, false)
		case mode&counterModeMask == absolute:
			l.add(w, i, 0, v, true)
		}
	}
}

// add adds a value to all that the window was in.
func (l *countedLocation) add(w *window, i int, sum, held float64, holds bool) {
	took := w.at - min(w.since, w.at)
	whole := spent{ticks: took}
	of := byte('n')
	if w.scope.single {
		of = 'r'
	}
	put := func(of byte, id uint32, share float64, at spent) {
		k := cellKey{of, id, i}
		c := l.cells[k]
		if c == nil {
			c = &cell{}
			l.cells[k] = c
		}
		c.add(sum, held, share, holds, at)
	}
	put('a', 0, 1, whole)
	put(of, w.scope.id, 1, whole)
	if took == 0 { // at an instant
		if w.scope.calls {
			put('p', w.walk.path, 1, spent{})
			put('g', l.g.paths.list[w.walk.path].region, 1, spent{})
		}
		for _, x := range w.walk.open {
			put('i', x.Node, 1, spent{})
		}
	}
	part := func(of byte, spends map[uint32]spent) {
		for _, id := range sortedKeys(spends) { // paths may have one region: the order of sums decides their last digit
			s, share := spends[id], 0.0
			if took > 0 {
				share = float64(s.ticks) / float64(took)
			}
			put(of, id, share, s)
			if of == 'p' {
				put('g', l.g.paths.list[id].region, share, s)
			}
		}
	}
	if w.scope.calls {
		part('p', w.walk.paths)
	}
	part('i', w.walk.nodes)
}

// join adds the location to all.
func (l *countedLocation) join() {
	for k, c := range l.cells {
		if l.g.cells[k] == nil {
			l.g.cells[k] = &cell{}
		}
		l.g.cells[k].join(c)
	}
	for i, y := range l.tallies {
		if l.g.tallies[i] == nil {
			l.g.tallies[i] = &tally{}
		}
		to := l.g.tallies[i]
		to.readings, to.shared, to.falls, to.changes, to.odd = to.readings+y.readings, to.shared+y.shared, to.falls+y.falls, to.changes+y.changes, to.odd+y.odd
	}
}
