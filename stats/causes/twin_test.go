package causes

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// state is what a location does for a while.
type state struct {
	region, activity, path, node uint32
}

// twin computes causes tick by tick, straight from the package comment.
type twin struct {
	p        *program
	states   [][]state // of each location, at each tick
	waits    []*twinWait
	strict   bool
	meetings int    // waits whose sides met last in an operation of all
	reversed uint64 // waits that begin before their sides met last
}

type twinWait struct {
	xtf.Wait
	p      int
	since  uint64
	excess [xtf.NumActivities]uint64
	late   map[state]uint64 // region is 0
	own    map[state]uint64
	upon   []*twinWait
	shares []uint64
	adders int
	passed uint64
	dealt  bool
}

func (p *program) twin(union *callpath.Tree, own []*callpath.Tree, strict bool) *twin {
	x := &twin{p: p, strict: strict}
	for i := range p.locations {
		x.states = append(x.states, p.locations[i].states(p.last, union.Locate(own[i]), own[i], p.derived))
		for _, w := range p.locations[i].waits {
			if w.CauseP != trace.Undefined {
				x.waits = append(x.waits, &twinWait{Wait: w, p: i})
			}
		}
	}
	return x
}

// states says what a location does at each tick.
func (l *rows) states(last uint64, global []uint32, tree *callpath.Tree, derived []bool) []state {
	out := make([]state, last+20)
	for t := range out {
		s := state{region: trace.Undefined}
		if n := slices.IndexFunc(l.ivals, func(v xtf.Ival) bool { return v.Node == 0 }); n < 0 || uint64(t) < l.ivals[n].T || uint64(t) >= l.ivals[n].End {
			s.activity = xtf.ActivityOutside
		}
		var local []uint32
		for _, c := range l.calls {
			if c.T > uint64(t) || c.End <= uint64(t) {
				continue
			}
			parent := uint32(0)
			if len(local) > 0 {
				parent = local[len(local)-1]
			}
			local = append(local, tree.Child(parent, c.Region))
			s.path, s.region = global[local[len(local)-1]], c.Region
			if c.Flags&(xtf.FlagInCritical|xtf.FlagInThreadWait) != 0 {
				s.activity = xtf.ActivityCPU
			}
			switch {
			case c.Flags&xtf.FlagMarker != 0:
				s.activity = xtf.ActivityMarker
			case c.Flags&xtf.FlagOutermostMPI != 0:
				s.activity = xtf.ActivityMPI
			case c.Flags&xtf.FlagOutermostIO != 0:
				s.activity = xtf.ActivityIO
			case c.Flags&xtf.FlagOutermostDeviceCall != 0:
				s.activity = xtf.ActivityDeviceCall
			case c.Flags&xtf.FlagOutermostDeviceWait != 0:
				s.activity = xtf.ActivityDeviceWait
			case c.Flags&xtf.FlagOutermostLock != 0:
				s.activity = xtf.ActivityLock
			case c.Flags&xtf.FlagOutermostOverhead != 0:
				s.activity = xtf.ActivityOverhead
			}
		}
		for _, b := range l.busy {
			if above := s.activity == xtf.ActivityMPI || s.activity == xtf.ActivityMarker || s.activity == xtf.ActivityOutside; !above && b[0] <= uint64(t) && uint64(t) < b[1] {
				s.activity = xtf.ActivityOverhead
			}
		}
		for _, v := range l.ivals {
			if v.Node != 0 && v.T <= uint64(t) && uint64(t) < v.End && !derived[v.Node] {
				s.node = v.Node
			}
		}
		out[t] = s
	}
	return out
}

// spent sums what a location does in [from, to), where waits count as such when
// they are over by the instant to.
func (x *twin) spent(p int, from, to uint64, strict bool) map[state]uint64 {
	m := map[state]uint64{}
	for t := from; t < to; t++ {
		s := x.states[p][t]
		s.region = 0
		for _, w := range x.waits {
			if w.p == p && w.T <= t && t < w.End {
				s = state{activity: xtf.ActivityWait}
				if w.End > to || w.End == to && strict {
					s = x.states[p][to-1]
					s.region, s.activity = 0, xtf.ActivityMPI
				}
			}
		}
		m[s]++
	}
	return m
}

// prepare finds for each wait what it is to be blamed on.
func (x *twin) prepare() {
	for _, w := range x.waits {
		d := int(w.CauseP)
		for _, v := range x.waits {
			same := v.p == w.p && int(v.CauseP) == d || v.p == d && int(v.CauseP) == w.p
			if same && v.End < w.End {
				w.since = max(w.since, v.End)
			}
		}
		if t := x.met(w); t > w.since {
			w.since = t
			x.meetings++
		}
		if t, _, _ := x.p.endsMet(); t <= w.T { // waits come after MPI_Init
			w.since = max(w.since, t)
		}
		if w.T < w.since {
			x.reversed++
		}
		w.late, w.own = x.spent(d, w.since, w.End, x.strict), x.spent(w.p, w.since, max(w.T, w.since), false)
		var late, own [xtf.NumActivities]uint64
		for s, t := range w.late {
			late[s.activity] += t
		}
		for s, t := range w.own {
			own[s.activity] += t
		}
		for a := range late {
			w.excess[a] = late[a] - min(late[a], own[a])
		}
		for _, u := range x.waits {
			if u.p == d && u.End > w.since && (u.End < w.End || u.End == w.End && !x.strict) {
				w.upon = append(w.upon, u)
				w.shares = append(w.shares, u.End-max(u.T, w.since))
				u.adders++
			}
		}
	}
}

// met is when both sides of a wait were last in one operation that nobody leaves
// before all have entered, 0 for never.
func (x *twin) met(w *twinWait) uint64 {
	l := &x.p.locations[w.p]
	for i, c := range slices.Backward(l.colls) {
		data := c.Flags&xtf.CollOpMask == 11 && c.Sent > 0 && c.Received > 0
		with := c.Comm == 0 || int(w.CauseP) <= len(x.p.locations)/2
		if blocks := c.Flags>>8 == 0; c.End <= w.T && blocks && with && (data || c.Flags == opBarrier) && l.causes[i].LastT == c.LastEnter {
			return min(c.LastEnter, c.End)
		}
	}
	return 0
}

// delays returns the costs of all locations, false if waits go round in a circle.
func (x *twin) delays() (map[costName][costKinds]uint64, bool) {
	x.prepare()
	costs := map[costName][costKinds]uint64{}
	for left := len(x.waits); left > 0; {
		i := slices.IndexFunc(x.waits, func(w *twinWait) bool { return !w.dealt && w.adders == 0 })
		if i < 0 {
			return nil, false
		}
		w := x.waits[i]
		x.deal(w, w.End-w.T, shortTerm, costs)
		x.deal(w, w.passed, longTerm, costs)
		for _, u := range w.upon {
			u.adders--
		}
		w.dealt = true
		left--
	}
	return costs, true
}

func (x *twin) deal(w *twinWait, amount uint64, kind int, costs map[costName][costKinds]uint64) {
	for a, part := range exactSplit(amount, w.excess[:]) {
		if uint32(a) == xtf.ActivityWait {
			for i, q := range exactBack(part, w.shares) {
				w.upon[i].passed += q
			}
			continue
		}
		late, own := byPath(w.late, uint32(a)), byPath(w.own, uint32(a))
		paths := slices.Sorted(maps.Keys(late))
		var weights []uint64
		for _, y := range paths {
			weights = append(weights, late[y]-min(late[y], own[y]))
		}
		for i, q := range exactSplit(part, weights) {
			nodes := map[uint32]uint64{}
			for s, t := range w.late {
				if s.activity == uint32(a) && s.path == paths[i] {
					nodes[s.node] += t
				}
			}
			list := slices.Sorted(maps.Keys(nodes))
			var times []uint64
			for _, n := range list {
				times = append(times, nodes[n])
			}
			for k, c := range exactSplit(q, times) {
				if c == 0 {
					continue
				}
				name := costName{trace.P(w.CauseP), xtf.NodeKey(list[k], paths[i]), w.Pattern, uint32(a)}
				sum := costs[name]
				sum[kind] += c
				costs[name] = sum
			}
		}
	}
}

func byPath(m map[state]uint64, activity uint32) map[uint32]uint64 {
	out := map[uint32]uint64{}
	for s, t := range m {
		if s.activity == activity {
			out[s.path] += t
		}
	}
	return out
}

// exactBack splits by lengths that end one after the other: from the last one on each part is what floor(amount * length so
// far / all) grows by.
func exactBack(amount uint64, lengths []uint64) []uint64 {
	all, sum := new(big.Int), new(big.Int)
	for _, n := range lengths {
		all.Add(all, new(big.Int).SetUint64(n))
	}
	parts, given := make([]uint64, len(lengths)), uint64(0)
	for i := len(lengths) - 1; i >= 0 && all.Sign() > 0; i-- {
		sum.Add(sum, new(big.Int).SetUint64(lengths[i]))
		x := new(big.Int).Mul(new(big.Int).SetUint64(amount), sum)
		now := x.Div(x, all).Uint64()
		parts[i], given = now-given, now
	}
	return parts
}

// exactSplit splits by the largest remainder in rational numbers.
func exactSplit(amount uint64, weights []uint64) []uint64 {
	total := new(big.Int)
	for _, w := range weights {
		total.Add(total, new(big.Int).SetUint64(w))
	}
	parts := make([]uint64, len(weights))
	if amount == 0 || total.Sign() == 0 {
		return parts
	}
	rest := make([]*big.Rat, len(weights))
	left := amount
	for i, w := range weights {
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(amount), new(big.Int).SetUint64(w)), total)
		whole := new(big.Int).Div(exact.Num(), exact.Denom())
		parts[i] = whole.Uint64()
		rest[i] = exact.Sub(exact, new(big.Rat).SetInt(whole))
		left -= parts[i]
	}
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rest[b].Cmp(rest[a]) })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}

type twinJump struct {
	end   uint64
	cause int
}

// critical returns the pieces of the path by location, in the order of time.
func (x *twin) critical() [][]xtf.CPath {
	jumps := make([][]twinJump, len(x.p.locations))
	at := 0
	for i := range x.p.locations {
		l := &x.p.locations[i]
		for _, w := range l.waits {
			if w.CauseP != trace.Undefined && w.Pattern != xtf.WaitEarlyReduce {
				jumps[i] = append(jumps[i], twinJump{end: w.End, cause: int(w.CauseP)})
			}
		}
		for k, c := range l.causes {
			if end := min(c.LastT, l.colls[k].End); l.colls[k].Flags&xtf.CollOpMask == opReduce && c.LastT != xtf.Never && end > l.colls[k].T && int(c.LastP) != i {
				jumps[i] = append(jumps[i], twinJump{end: end, cause: int(c.LastP)})
			}
		}
		slices.SortFunc(jumps[i], func(a, b twinJump) int { return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(a.cause, b.cause)) })
		best := &x.p.locations[at]
		if l.mpi && !best.mpi || l.mpi == best.mpi && l.last > best.last {
			at = i
		}
	}
	if _, t, last := x.p.endsMet(); t > 0 && x.p.ends[at].Enter < t { // nothing is waited for after it
		jumps[at] = append([]twinJump{{t, last}}, jumps[at]...)
	}
	out := make([][]xtf.CPath, len(x.p.locations))
	seen := map[int]bool{at: true} // at this instant
	for t := x.p.last; ; {
		k := slices.IndexFunc(jumps[at], func(j twinJump) bool { return j.end < t || j.end == t && !seen[j.cause] })
		from := uint64(0)
		if k >= 0 {
			from = jumps[at][k].end
		}
		for u := t; u > from; u-- {
			s := x.states[at][u-1]
			out[at] = append(out[at], xtf.CPath{T: u - 1, End: u, Region: s.region, Activity: s.activity, Node: s.node, Path: s.path})
		}
		if k < 0 {
			break
		}
		if from < t {
			clear(seen)
			seen[at] = true
		}
		at, t = jumps[at][k].cause, from
		seen[at] = true
	}
	return out
}
