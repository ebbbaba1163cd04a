package oracle

import (
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// replay is a location in the replay on the ideal network.
type replay struct {
	enter, leave []uint64 // of visits, as far as known
	entered      int      // visits whose enter is known
	left         int      // visits whose leave is known
}

// dependency is an enter that a visit waits for on the ideal network.
type dependency struct {
	at    *location
	visit int
}

// replayAll replays all locations on a network without latency and with
// infinite bandwidth (intervals 5.4). It returns nil if some wait for each other
// forever.
func (a *analysis) replayAll() []*replay {
	needs := a.dependencies()
	runs := make([]*replay, len(a.locs))
	for i, l := range a.locs {
		runs[i] = &replay{enter: make([]uint64, len(l.visits)), leave: make([]uint64, len(l.visits))}
	}
	for moved := true; moved; {
		moved = false
		for i, l := range a.locs {
			for runs[i].step(l, needs[i], runs) {
				moved = true
			}
		}
	}
	for i, l := range a.locs {
		if runs[i].left < len(l.visits) {
			return nil
		}
	}
	return runs
}

// step enters the next visit or leaves the one entered; it returns false if that
// has to wait, or if there is nothing left.
func (r *replay) step(l *location, needs [][]dependency, runs []*replay) bool {
	v := r.left
	if v == len(l.visits) {
		return false
	}
	if r.entered == v {
		before, left := l.first, l.first
		if v > 0 {
			before, left = l.visits[v-1].leave, r.leave[v-1]
		}
		r.enter[v] = left + l.visits[v].enter - before
		r.entered++
	}
	t := r.enter[v]
	if l.visits[v].marker {
		t += l.visits[v].leave - l.visits[v].enter
	}
	for _, n := range needs[v] {
		o := runs[n.at.p]
		if o.entered <= n.visit {
			return false
		}
		t = max(t, o.enter[n.visit])
	}
	r.leave[v] = t
	r.left++
	return true
}

// dependencies lists what each visit of each location waits for.
func (a *analysis) dependencies() [][][]dependency {
	needs := make([][][]dependency, len(a.locs))
	for i, l := range a.locs {
		needs[i] = make([][]dependency, len(l.visits))
		need := func(v int, d dependency) {
			if !l.visits[v].marker {
				needs[i][v] = append(needs[i][v], d)
			}
		}
		for _, m := range l.ops {
			switch {
			case m.mate == nil || m.marker:
			case !m.send:
				need(m.visit, dependency{m.mate.at, m.mate.visit})
			case m.done >= 0:
				if d, ok := a.release(m); ok {
					need(m.done, d)
				}
			}
		}
		for _, n := range l.notices {
			if n.mate != nil && n.mate.enter() <= l.visits[n.visit].leave && n.firstAfter(a) {
				need(n.visit, dependency{n.mate.at, n.mate.visit})
			}
		}
		for _, m := range l.colls {
			for _, q := range m.needed(a) {
				need(m.visit, dependency{q.at, q.start})
			}
		}
	}
	return needs
}

// release tells what a send waits for. A blocking one that was seen to end after the
// receiver came waits for the call that receives, one that was seen to end after the
// receive was posted, and any other synchronous one, for the posting.
func (a *analysis) release(m *message) (dependency, bool) {
	l := m.at
	came, left := m.mate.enter(), m.leave()
	name := strings.TrimSuffix(strings.ToLower(a.regionName(l.visits[m.visit].region)), "_c")
	synchronous := name == "mpi_ssend" || name == "mpi_issend"
	blocked := !m.nonBlocking && left > came
	switch {
	case blocked && (synchronous || came > m.enter()):
		return dependency{m.mate.at, m.mate.visit}, true
	case synchronous, !m.nonBlocking && m.enter() < m.mate.postedAt() && m.mate.postedAt() < left:
		return dependency{m.mate.at, m.mate.post}, true
	}
	return dependency{}, false
}

// needed returns the members that m waits for: of an operation that all take part
// in and call alike. A call that makes a handle waits for all where nobody left
// it before the last one came, but for MPI_Init.
func (m *member) needed(a *analysis) []*member {
	if !m.alike(a) {
		return nil
	}
	if trace.CreatesHandle(m.op) && m.start == m.visit && m.at.visits[m.visit].class&trace.ClassInit == 0 && m.metAll() {
		return m.all
	}
	return m.sources(a)
}

// ideal returns when location l reaches instant t in the replay, before calls of
// no length at t. Inside a call it goes on until the call ends there.
func (r *replay) ideal(l *location, t uint64) uint64 {
	before, left := l.first, l.first
	for i, v := range l.visits {
		if v.enter >= t {
			break
		}
		if t < v.leave {
			return min(r.enter[i]+t-v.enter, r.leave[i])
		}
		before, left = v.leave, r.leave[i]
	}
	return left + t - min(before, t)
}

// idealComponents adds the executions of each node in the replay.
func (a *analysis) idealComponents(l *location, list []Components) {
	if a.replays == nil {
		return
	}
	seen := make([]bool, len(list))
	for _, e := range l.execs {
		from, to := a.replays[l.p].ideal(l, e.from), a.replays[l.p].ideal(l, e.to)
		c := list[e.node]
		if !seen[e.node] {
			seen[e.node] = true
			c[IdealFirst] = from
		}
		c[Ideal] += to - from
		c[IdealFirst], c[IdealLast] = min(c[IdealFirst], from), max(c[IdealLast], to)
	}
}
