package counters

import (
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// walk passes over the calls of a location and the executions of its process.
type walk struct {
	g       *counting
	calls   xtf.Rows[xtf.Call]
	runs    xtf.Rows[xtf.Ival]
	n       uint64 // number of the call that comes next
	stack   []openCall
	open    []xtf.Ival
	now     uint64
	passed  int // borders of calls passed at this time
	path    uint32
	start   *window   // since the first event; nil where no counter tells of the time before its first reading
	windows []*window // that still have counters
	spare   *window
}

type openCall struct {
	n, end uint64
	path   uint32
}

// newWalk begins at the first event of the location that a metric is about, or at t if that is earlier.
func newWalk(g *counting, scope counterScope, t uint64) (*walk, error) {
	p := scope.target
	rank, _ := g.defs.Process(p)
	first := p
	if uint64(rank) < uint64(len(g.defs.Processes())) {
		first = g.defs.Processes()[rank].First
	}
	runs, err := xtf.ArrayOf[xtf.Ival](g.r.File, xtf.Proc(first))
	if err != nil {
		return nil, err
	}
	w := &walk{g: g, runs: xtf.RowsOf[xtf.Ival](runs.Rows(0, runs.Len()))}
	if scope.calls {
		calls, err := xtf.ArrayOf[xtf.Call](g.r.File, xtf.Proc(p))
		if err != nil {
			return nil, err
		}
		w.calls = xtf.RowsOf[xtf.Call](calls.Rows(0, calls.Len()))
	}
	v, err := g.r.Components(p)
	w.calls.Next()
	w.runs.Next()
	w.pass(min(v[xtf.ItemFirst], t), 0)
	if g.early {
		w.start = w.begin(w.now)
		w.start.members = 1
	}
	return w, err
}

// pass goes on to t, and passes up to borders borders of calls at t.
func (w *walk) pass(t uint64, borders int) {
	for {
		call, enters := w.border()
		run, begins := w.edge()
		next, passed := max(min(call, run), w.now), 0
		if w.now == t {
			passed = w.passed
		}
		switch {
		case next > t || call == xtf.Never && run == xtf.Never:
			w.spend(t)
			return
		case run <= call:
			w.spend(next)
			w.turn(begins)
			continue
		case next == t && passed >= borders:
			w.spend(t)
			return
		}
		w.spend(next)
		w.passed++
		w.move(enters)
	}
}

// spend adds the time until t to the parts that the location is in.
func (w *walk) spend(t uint64) {
	if t <= w.now {
		return
	}
	took := t - w.now
	w.now, w.passed = t, 0
	for _, x := range w.windows {
		x.paths[w.path] = x.paths[w.path].plus(took, 0)
		for i := range w.open {
			x.nodes[w.open[i].Node] = x.nodes[w.open[i].Node].plus(took, 0)
		}
	}
}

func (w *walk) begin(t uint64) *window {
	x := w.spare
	if w.spare = nil; x == nil {
		x = &window{paths: map[uint32]spent{}, nodes: map[uint32]spent{}}
	}
	x.since, x.members = t, 0
	w.windows = append(w.windows, x)
	return x
}

// release takes a counter out of its window. Without counters the window ends.
func (w *walk) release(x *window) {
	if x == nil || x == w.start {
		return
	}
	if x.members--; x.members == 0 {
		w.windows = slices.DeleteFunc(w.windows, func(y *window) bool { return x == y })
		clear(x.paths)
		clear(x.nodes)
		w.spare = x
	}
}

// border returns when the next call begins or the innermost one ends.
func (w *walk) border() (t uint64, enters bool) {
	top := len(w.stack) - 1
	switch {
	case top >= 0 && !w.calls.More:
		return w.stack[top].end, false
	case top >= 0 && w.calls.Row.Parent != w.stack[top].n:
		return min(w.stack[top].end, w.calls.Row.T), false
	case w.calls.More:
		return w.calls.Row.T, true
	}
	return xtf.Never, false
}

func (w *walk) move(enters bool) {
	if !enters {
		w.stack = w.stack[:len(w.stack)-1]
		w.path = 0
		if top := len(w.stack) - 1; top >= 0 {
			w.path = w.stack[top].path
		}
		return
	}
	w.path = w.g.paths.enter(w.path, w.calls.Row.Region, w.calls.Row.Flags&xtf.FlagOutermostMPI != 0)
	w.stack = append(w.stack, openCall{w.n, w.calls.Row.End, w.path})
	for _, x := range w.windows {
		x.paths[w.path] = x.paths[w.path].plus(0, 1)
	}
	w.n++
	w.calls.Next()
}

// edge returns when the next execution of an interval begins or ends.
func (w *walk) edge() (t uint64, begins bool) {
	t = xtf.Never
	for i := range w.open {
		t = min(t, w.open[i].End)
	}
	if w.runs.More && w.runs.Row.T <= t {
		return w.runs.Row.T, true
	}
	return t, false
}

func (w *walk) turn(begins bool) {
	if begins {
		w.open = append(w.open, w.runs.Row)
		w.runs.Next()
		return
	}
	t, _ := w.edge()
	i := slices.IndexFunc(w.open, func(x xtf.Ival) bool { return x.End == t })
	w.open = slices.Delete(w.open, i, i+1)
}
