package oracle

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// DelayKey says who delayed others, doing what.
type DelayKey struct {
	P        trace.P // of the delaying location
	Node     int
	Path     int
	Pattern  Item // of the wait that it causes
	Activity Activity
}

// Cost is what a delay costs others: waits for the delaying location itself,
// and waits of those that wait for the ones that wait.
type Cost struct{ Short, Long uint64 }

// wait is a wait with a cause, in the graph of delays.
type wait struct {
	span    *WaitSpan
	p       trace.P
	since   uint64 // when the pair met last before, or 0
	weights [activities]uint64
	paths   [activities]map[int]uint64    // the surplus by path
	nodes   [activities]map[[2]int]uint64 // time of the delaying location by path and node
	upon    []*wait                       // waits of the delaying location since then
	lengths []uint64
	waiting int    // waits that may still pass costs on to this one
	long    uint64 // received from those
}

// causes lists the waits with a cause, by end.
func (a *analysis) causes() []*wait {
	var list []*wait
	for _, l := range a.locs {
		waits := a.r.Locations[l.p].Waits
		for i := range waits {
			if waits[i].Cause != NoCause {
				list = append(list, &wait{span: &waits[i], p: l.p})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *wait) int { return cmp.Or(cmp.Compare(x.span.To, y.span.To), cmp.Compare(x.p, y.p)) })
	init := a.initialized()
	last, now := map[[2]trace.P]uint64{}, map[[2]trace.P]uint64{}
	for i, w := range list {
		if i > 0 && list[i-1].span.To < w.span.To {
			maps.Copy(last, now)
			clear(now)
		}
		pair := [2]trace.P{min(w.p, w.span.Cause), max(w.p, w.span.Cause)}
		w.since, now[pair] = max(last[pair], a.met(w)), w.span.To
		if init <= w.span.From {
			w.since = max(w.since, init)
		}
	}
	return list
}

// initialized is when the last process comes to MPI_Init, if that is the first MPI call of each and nobody has left it before; else 0.
func (a *analysis) initialized() uint64 {
	came, went, n := uint64(0), uint64(noTime), 0
	for _, l := range a.locs {
		i := slices.IndexFunc(l.visits, func(v visit) bool { return v.call >= 0 })
		if i < 0 {
			continue
		}
		v := l.visits[i]
		switch strings.TrimPrefix(strings.ToLower(a.regionName(v.region)), "p") {
		case "mpi_init", "mpi_init_thread":
			n++
			came, went = max(came, v.enter), min(went, v.leave)
		}
	}
	if n != len(a.d.Processes()) || went < came {
		return 0
	}
	return came
}

// met is when both sides of a wait were last in one collective operation that
// nobody leaves before all have entered it, and which was over before the wait; 0
// for never.
func (a *analysis) met(w *wait) uint64 {
	other := a.locs[w.span.Cause].process
	for _, m := range slices.Backward(a.locs[w.p].colls) {
		with := slices.ContainsFunc(m.all, func(q *member) bool { return q.at.process == other })
		if m.leave() <= w.span.From && with && m.together(a) {
			return min(last(m.all).started(), m.leave())
		}
	}
	return 0
}

// together reports whether a member leaves an operation only when all have entered
// it: a barrier, creation of a handle but in Init, an operation on a file that nobody
// was seen to leave before, or an operation of all with all
// of which the member gives and gets data, and after whose givers nobody comes. Of
// alltoallv and alltoallw a pair may exchange nothing.
func (m *member) together(a *analysis) bool {
	const alltoallv, alltoallw, create, createAndAllocate = 9, 10, 17, 21
	if m.start != m.visit || !m.alike(a) || a.d.IsInter(m.comm) {
		return false
	}
	switch class := trace.CollectiveClass(m.op); {
	case m.file != "":
		return m.metAll()
	case class&trace.ClassBarrier != 0:
		return true
	case m.op == create || m.op == createAndAllocate:
		return m.at.visits[m.visit].class&trace.ClassInit == 0
	case class&trace.ClassNxN == 0 || m.op == alltoallv || m.op == alltoallw || m.sent == 0 || m.received == 0:
		return false
	}
	return last(giving(m.all)).started() == last(m.all).started()
}

// delays computes the delay costs (intervals 6.1). Waits that end at one instant
// and depend on each other in a circle occur where clocks are wrong; waits that
// end when the delay does are then ordinary time in MPI.
func (a *analysis) delays() map[DelayKey]*Cost {
	for _, strict := range []bool{false, true} {
		list := a.causes()
		byLocation := map[trace.P][]*wait{}
		for _, w := range list {
			byLocation[w.p] = append(byLocation[w.p], w)
		}
		busy := a.busy(byLocation)
		for _, w := range list {
			w.weigh(busy, byLocation[w.span.Cause], strict)
		}
		if costs, done := passOn(list); done {
			return costs
		}
	}
	return nil
}

// busy gives each location its activities with the waits among them; time before
// its first and after its last event is neither.
func (a *analysis) busy(waits map[trace.P][]*wait) [][]slice {
	out := make([][]slice, len(a.locs))
	for i, l := range a.locs {
		var spans []markerSpan // in order: the waits of a location do not overlap
		for _, w := range waits[l.p] {
			spans = append(spans, markerSpan{w.span.From, w.span.To})
		}
		all := append([]slice{{to: l.first, what: Outside}}, l.does...)
		all = append(all, slice{from: l.last, to: noTime, what: Outside})
		out[i] = overlay(all, spans, func(s *slice, w markerSpan) { s.what, s.over = Wait, w.to })
	}
	return out
}

// weigh finds what the delaying location did more than the waiting one since
// their last synchronisation point, by activity and within it by path. A wait of
// the delaying location that is not over at the end is time in MPI.
func (w *wait) weigh(busy [][]slice, theirs []*wait, strict bool) {
	s := w.span.To
	own, other := spent(busy[w.p], w.since, w.span.From, noTime), spent(busy[w.span.Cause], w.since, s, s)
	if strict {
		other = spent(busy[w.span.Cause], w.since, s, s-1)
	}
	for x := range activities {
		w.weights[x] = other.sums[x] - min(other.sums[x], own.sums[x])
		w.paths[x], w.nodes[x] = map[int]uint64{}, other.nodes[x]
		for y, t := range other.paths[x] {
			if more := t - min(t, own.paths[x][y]); more > 0 {
				w.paths[x][y] = more
			}
		}
	}
	i, _ := slices.BinarySearchFunc(theirs, w.since, func(u *wait, t uint64) int { return cmp.Compare(u.span.To, t) })
	for ; i < len(theirs) && (theirs[i].span.To < s || theirs[i].span.To == s && !strict); i++ {
		u := theirs[i]
		if length := clip(u.span.From, u.span.To, w.since, s); length > 0 {
			w.upon, w.lengths = append(w.upon, u), append(w.lengths, length)
		}
	}
}

// account is what a location did in a stretch of time.
type account struct {
	sums  [activities]uint64
	paths [activities]map[int]uint64
	nodes [activities]map[[2]int]uint64 // by path and node
}

// spent sums up a location's time in [from, to). Waits that end after the given
// instant are time in MPI.
func spent(list []slice, from, to, over uint64) account {
	var a account
	for x := range activities {
		a.paths[x], a.nodes[x] = map[int]uint64{}, map[[2]int]uint64{}
	}
	i, _ := slices.BinarySearchFunc(list, from, func(s slice, t uint64) int { return cmp.Compare(s.to, t) })
	for ; i < len(list) && list[i].from < to; i++ {
		s := list[i]
		if t := clip(s.from, s.to, from, max(from, to)); t > 0 {
			if s.what == Wait && s.over > over {
				s.what = MPI
			}
			a.sums[s.what] += t
			a.paths[s.what][s.path] += t
			a.nodes[s.what][[2]int{s.path, s.node}] += t
		}
	}
	return a
}

// passOn distributes all waits, each after those that pass costs on to it.
func passOn(list []*wait) (costs map[DelayKey]*Cost, done bool) {
	costs = map[DelayKey]*Cost{}
	left := len(list)
	for _, w := range list {
		for _, u := range w.upon {
			u.waiting++
		}
	}
	var ready []*wait
	for _, w := range list {
		if w.waiting == 0 {
			ready = append(ready, w)
		}
	}
	for len(ready) > 0 {
		w := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		w.distribute(costs)
		left--
		for _, u := range w.upon {
			if u.waiting--; u.waiting == 0 {
				ready = append(ready, u)
			}
		}
	}
	return costs, left == 0
}

// distribute splits a wait's own time and what it received for others.
func (w *wait) distribute(costs map[DelayKey]*Cost) {
	w.split(w.span.To-w.span.From, func(c *Cost, t uint64) { c.Short += t }, costs)
	w.split(w.long, func(c *Cost, t uint64) { c.Long += t }, costs)
}

func (w *wait) split(amount uint64, add func(*Cost, uint64), costs map[DelayKey]*Cost) {
	for x, part := range largestRemainder(amount, w.weights[:]) {
		if part == 0 {
			continue
		}
		if Activity(x) == Wait {
			for i, t := range backwards(part, w.lengths) {
				w.upon[i].long += t
			}
			continue
		}
		for y, t := range shares(part, w.paths[x]) {
			nodes := map[int]uint64{}
			for k, v := range w.nodes[x] {
				if k[0] == y {
					nodes[k[1]] = v
				}
			}
			for node, t := range shares(t, nodes) {
				k := DelayKey{w.span.Cause, node, y, w.span.Pattern, Activity(x)}
				if costs[k] == nil {
					costs[k] = &Cost{}
				}
				add(costs[k], t)
			}
		}
	}
}

// shares splits amount by the weights of numbered things, which are in order.
func shares(amount uint64, weights map[int]uint64) map[int]uint64 {
	keys := slices.Sorted(maps.Keys(weights))
	list := make([]uint64, len(keys))
	for i, k := range keys {
		list[i] = weights[k]
	}
	out := map[int]uint64{}
	for i, t := range largestRemainder(amount, list) {
		if t > 0 {
			out[keys[i]] = t
		}
	}
	return out
}

// backwards splits amount by lengths, from the last one on: each part is what the
// whole ticks of all so far grow by.
func backwards(amount uint64, lengths []uint64) []uint64 {
	var sum, far, given uint64
	for _, n := range lengths {
		sum += n
	}
	parts := make([]uint64, len(lengths))
	for i := len(lengths) - 1; i >= 0 && sum > 0; i-- {
		far += lengths[i]
		hi, lo := bits.Mul64(amount, far)
		now, _ := bits.Div64(hi, lo, sum)
		parts[i], given = now-given, now
	}
	return parts
}

// largestRemainder splits amount by weights into whole ticks: the floor of each
// share, then one tick each to the largest remainders, the first on ties.
func largestRemainder(amount uint64, weights []uint64) []uint64 {
	var sum uint64
	for _, w := range weights {
		sum += w
	}
	parts := make([]uint64, len(weights))
	if sum == 0 {
		return parts
	}
	rest := make([]uint64, len(weights))
	order := make([]int, len(weights))
	left := amount
	for i, w := range weights {
		hi, lo := bits.Mul64(amount, w)
		parts[i], rest[i] = bits.Div64(hi, lo, sum)
		order[i] = i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rest[y], rest[x]) })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}
