package oracle

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// DelayKey says who delayed others, doing what.
type DelayKey struct {
	P        trace.P // of the delaying location
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
	since   uint64 // the previous synchronisation point of the pair
	weights [activities]uint64
	paths   [activities]map[int]uint64
	upon    []*wait // waits of the delaying location since then
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
	slices.SortStableFunc(list, func(x, y *wait) int {
		return cmp.Or(cmp.Compare(x.span.instant, y.span.instant), cmp.Compare(x.p, y.p), cmp.Compare(x.span.Row, y.span.Row))
	})
	return list
}

// delays computes the delay costs (intervals 6.1).
func (a *analysis) delays() map[DelayKey]*Cost {
	list := a.causes()
	byLocation := map[trace.P][]*wait{}
	for _, w := range list {
		byLocation[w.p] = append(byLocation[w.p], w)
	}
	busy := a.busy(byLocation)
	last := map[[2]trace.P]uint64{}
	for _, w := range list {
		pair := [2]trace.P{min(w.p, w.span.Cause), max(w.p, w.span.Cause)}
		w.since = last[pair]
		w.weigh(busy)
		for _, u := range byLocation[w.span.Cause] {
			if length := clip(u.span.From, u.span.To, w.since, w.span.instant); length > 0 && u != w {
				w.upon, w.lengths = append(w.upon, u), append(w.lengths, length)
			}
		}
		last[pair] = max(w.span.instant, w.since)
	}
	return passOn(list)
}

// busy gives each location its activities with the waits among them; time
// before its first event is the program's.
func (a *analysis) busy(waits map[trace.P][]*wait) [][]slice {
	out := make([][]slice, len(a.locs))
	for i, l := range a.locs {
		var spans []markerSpan
		for _, w := range waits[l.p] {
			spans = append(spans, markerSpan{w.span.From, w.span.To})
		}
		out[i] = overlay(append([]slice{{0, l.first, CPU, 0}}, l.slices...), spans, Wait)
	}
	return out
}

// weigh finds what the delaying location did more than the waiting one since
// their last synchronisation point, by activity and within it by path.
func (w *wait) weigh(busy [][]slice) {
	own, ownPaths := spent(busy[w.p], w.since, w.span.enter)
	other, otherPaths := spent(busy[w.span.Cause], w.since, w.span.instant)
	for x := range activities {
		w.weights[x] = other[x] - min(other[x], own[x])
		w.paths[x] = map[int]uint64{}
		for y, t := range otherPaths[x] {
			if more := t - min(t, ownPaths[x][y]); more > 0 {
				w.paths[x][y] = more
			}
		}
	}
}

func spent(list []slice, from, to uint64) (sums [activities]uint64, paths [activities]map[int]uint64) {
	for x := range paths {
		paths[x] = map[int]uint64{}
	}
	i, _ := slices.BinarySearchFunc(list, from, func(s slice, t uint64) int { return cmp.Compare(s.to, t) })
	for ; i < len(list) && list[i].from < to; i++ {
		s := list[i]
		t := clip(s.from, s.to, from, max(from, to))
		sums[s.what] += t
		paths[s.what][s.path] += t
	}
	return sums, paths
}

// passOn distributes all waits, each after those that pass costs on to it.
func passOn(list []*wait) map[DelayKey]*Cost {
	costs := map[DelayKey]*Cost{}
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
		for _, u := range w.upon {
			if u.waiting--; u.waiting == 0 {
				ready = append(ready, u)
			}
		}
	}
	return costs
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
			for i, t := range largestRemainder(part, w.lengths) {
				w.upon[i].long += t
			}
			continue
		}
		paths := slices.Sorted(maps.Keys(w.paths[x]))
		weights := make([]uint64, len(paths))
		for i, y := range paths {
			weights[i] = w.paths[x][y]
		}
		for i, t := range largestRemainder(part, weights) {
			k := DelayKey{w.span.Cause, paths[i], w.span.Pattern, Activity(x)}
			if costs[k] == nil {
				costs[k] = &Cost{}
			}
			add(costs[k], t)
		}
	}
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
