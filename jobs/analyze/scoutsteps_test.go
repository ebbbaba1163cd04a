package analyze_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// costRules are the rules of delay costs of coppice that SCOUT has otherwise. With none of them two processes are compared since the
// instant at which they met by the rule of coppice, all else is SCOUT's.
type costRules struct {
	activities bool // activities are compared, then the call paths of each; else call paths alone
	longer     bool // a late process passes on what it waited longer than the other one; else all of its waits
	all        bool // all of a wait is dealt out; else no more than the excess
	own        bool // long-term costs have the pattern of the wait that passes them on; else of the one in which the chain ends
}

// costWait is a wait with what the late process and the waiting one did since they last met.
type costWait struct {
	process, cause int // -1: nobody is to blame
	from, to       uint64
	pattern        string
	group          bool // the late process came last in a collective operation
	late, other    costAccount
	upon           []*costWait // of the late process since then
	lengths        []float64
	adders         int
	costs          map[string]float64
}

// costAccount is the time in each activity on each call path, and in waits.
type costAccount struct {
	times map[costPlace]float64
	waits float64
}

type costPlace struct{ activity, path uint32 }

// costMeeting is a collective operation that none of its members leaves before all have entered it.
type costMeeting struct {
	leave, at uint64
	members   map[int]bool
}

// costSteps are delay costs by SCOUT's rules in which those of coppice take their place one after the other, to all of them.
func (x *scoutRules) costSteps(t *testing.T, f *xtf.File) []costStep {
	t.Helper()
	ours, theirs := x.costWaits(t, f), x.scoutWaits()
	x.weigh(t, f, theirs)
	x.weigh(t, f, ours)
	steps := []costStep{{"since when two processes are compared", dealAll(theirs, costRules{})}}
	steps = append(steps, costStep{"what is compared", dealAll(theirs, costRules{activities: true})})
	steps = append(steps, costStep{"waits of the late process", dealAll(theirs, costRules{activities: true, longer: true})})
	steps = append(steps, costStep{"parts of a wait, and of what a collective passes on", dealAll(theirs, costRules{activities: true, longer: true, all: true})})
	steps = append(steps, costStep{"pattern of long costs", dealAll(theirs, costRules{true, true, true, true})})
	return append(steps, costStep{"early reduce, early scan, Alltoallv, Alltoallw, late progress, calls that make communicators", dealAll(ours, costRules{true, true, true, true})})
}

// costStep is what the costs are with one more rule of coppice.
type costStep struct {
	rule  string
	found map[scoutTime]float64
}

// scoutWaits are the waits that SCOUT knows, those in MPI_Init and of members of a reduction without a cause.
func (x *scoutRules) scoutWaits() (list []*costWait) {
	for _, s := range x.processes {
		for _, p := range s.points {
			if p.wait <= 0 {
				continue
			}
			w := &costWait{process: p.process, cause: -1, from: max(p.from, x.call(p).T), pattern: p.pattern}
			if w.to = w.from + uint64(p.wait); p.cause != nil {
				w.cause, w.group = p.cause.process, p.cause.group != nil
			}
			list = append(list, w)
		}
	}
	return list
}

// costWaits are those of coppice.
func (x *scoutRules) costWaits(t *testing.T, f *xtf.File) (list []*costWait) {
	t.Helper()
	for i := range x.processes {
		rowsOf(t, f, xtf.Proc(i), xtf.TypeWait, func(_ uint64, row []byte) {
			var r xtf.Wait
			if r.Load(row); r.CauseP == trace.Undefined {
				return
			}
			pattern := cmp.Or(delayNames[r.Pattern&xtf.WaitPatternMask], "other")
			list = append(list, &costWait{process: i, cause: int(r.CauseP), from: r.T, to: r.End, pattern: pattern})
		})
	}
	return list
}

// initialized is when the last process comes to MPI_Init, if none leaves it before; else 0.
func (x *scoutRules) initialized() (came uint64) {
	left := xtf.Never
	for p := range x.processes {
		init := x.call(x.processes[p].points[0])
		came, left = max(came, init.T), min(left, init.End)
	}
	if left < came {
		return 0
	}
	return came
}

// weigh finds since when the processes of each wait are compared, and what they did since then.
func (x *scoutRules) weigh(t *testing.T, f *xtf.File, list []*costWait) {
	t.Helper()
	ends, waits := map[[2]int][]uint64{}, make([][]*costWait, len(x.processes))
	for _, w := range x.costWaits(t, f) {
		pair := [2]int{min(w.process, w.cause), max(w.process, w.cause)}
		ends[pair] = append(ends[pair], w.to)
	}
	for _, all := range ends {
		slices.Sort(all)
	}
	for _, w := range list {
		waits[w.process] = append(waits[w.process], w)
	}
	for _, own := range waits {
		slices.SortFunc(own, func(a, b *costWait) int { return cmp.Compare(a.from, b.from) })
	}
	for _, w := range list {
		if w.cause < 0 {
			continue
		}
		since := x.initialized()
		if since > w.from {
			since = 0
		}
		met := ends[[2]int{min(w.process, w.cause), max(w.process, w.cause)}]
		if n, _ := slices.BinarySearch(met, w.to); n > 0 {
			since = met[n-1]
		}
		for _, m := range slices.Backward(x.processes[w.process].meetings) {
			if m.leave <= w.from && m.members[w.cause] {
				since = max(since, m.at)
				break
			}
		}
		w.other, _ = x.account(w.process, since, w.from, waits[w.process], xtf.Never)
		var upon []*costWait
		w.late, upon = x.account(w.cause, since, w.to, waits[w.cause], w.to)
		for _, u := range upon {
			w.upon = append(w.upon, u)
			w.lengths = append(w.lengths, float64(min(u.to, w.to)-max(u.from, since)))
		}
	}
}

// account is what a process did from one instant to another one, and its waits there; one that ends after over is time in MPI.
func (x *scoutRules) account(process int, begin, end uint64, waits []*costWait, over uint64) (a costAccount, list []*costWait) {
	s := x.processes[process]
	a.times = map[costPlace]float64{}
	n, _ := slices.BinarySearch(s.at, begin+1)
	for at := begin; at < end; n++ {
		until, place := end, costPlace{xtf.ActivityCPU, 0}
		if n < len(s.at) {
			until = min(end, s.at[n])
		}
		switch {
		case at < s.first:
			until, place.activity = min(until, s.first), xtf.ActivityOutside
			n-- // there may be time in no call after the first event
		case n > 0:
			place = costPlace{s.does[n-1], s.inside[n-1]}
		}
		a.times[place] += float64(until - at)
		at = until
	}
	i, _ := slices.BinarySearchFunc(waits, begin, func(w *costWait, t uint64) int { return cmp.Compare(w.to, t+1) })
	for ; i < len(waits) && waits[i].from < end; i++ {
		w := waits[i]
		from, to := max(w.from, begin), min(w.to, end)
		if w.to > over || to <= from {
			continue
		}
		n, _ := slices.BinarySearch(s.at, w.from+1)
		a.times[costPlace{s.does[n-1], s.inside[n-1]}] -= float64(to - from)
		a.waits += float64(to - from)
		list = append(list, w)
	}
	return a, list
}

// dealAll deals out all waits, each after those that pass costs on to it.
func dealAll(list []*costWait, rules costRules) map[scoutTime]float64 {
	found := map[scoutTime]float64{}
	for _, w := range list {
		w.costs = map[string]float64{}
		for _, u := range w.upon {
			u.adders++
		}
	}
	var ready []*costWait
	for _, w := range list {
		if w.adders == 0 {
			ready = append(ready, w)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		w := ready[0]
		if w.cause >= 0 {
			w.deal(found, rules)
		}
		for _, u := range w.upon {
			if u.adders--; u.adders == 0 {
				ready = append(ready, u)
			}
		}
	}
	return found
}

// deal deals out a wait and what it got to pass on.
func (w *costWait) deal(found map[scoutTime]float64, rules costRules) {
	excess, parts, total := map[costPlace]float64{}, map[uint32]float64{}, 0.0 // by activity and path; of an activity: its part, and of all paths
	late, other := grouped(w.late.times, rules), grouped(w.other.times, rules)
	paths, did := map[uint32]float64{}, map[uint32]float64{}
	for place, ticks := range late {
		did[place.activity] += ticks
		if more := ticks - other[place]; more > 0 {
			excess[place] = more
			paths[place.activity] += more
		}
	}
	for place, ticks := range other {
		did[place.activity] -= ticks
	}
	for activity, more := range paths {
		if rules.activities {
			more = max(did[activity], 0)
		}
		parts[activity] = more
		total += more
	}
	waited := w.late.waits
	if rules.longer {
		waited = max(waited-w.other.waits, 0)
	}
	if total += waited; total <= 0 {
		return
	}
	w.costs[""] = float64(w.to - w.from)
	for carried, ticks := range w.costs {
		scale, pattern, kind := ticks/total, w.pattern, ""
		if carried != "" {
			kind = "_longterm"
			if !rules.own {
				pattern = carried
			}
		}
		if !rules.all && (kind == "" || w.group) {
			scale = min(scale, 1)
		}
		for place, more := range excess {
			found[scoutTime{pattern + kind, place.path, w.cause}] += scale * parts[place.activity] * more / paths[place.activity]
		}
		for i, u := range w.upon {
			u.costs[pattern] += scale * waited * w.lengths[i] / w.late.waits
		}
	}
}

// grouped puts all activities together where call paths alone are compared.
func grouped(times map[costPlace]float64, rules costRules) map[costPlace]float64 {
	if rules.activities {
		return times
	}
	sum := map[costPlace]float64{}
	for place, ticks := range times {
		sum[costPlace{0, place.path}] += ticks
	}
	return sum
}

// costReasons says of each value that is not SCOUT's which rule moves it most on the way to ours, and how many values each rule moves. What all
// rules leave different has no reason.
func costReasons(t *testing.T, different []scoutKey, steps []map[scoutKey]float64, names []string, ours map[scoutKey]float64, deals map[uint32]int) (most, moved map[string]int) {
	t.Helper()
	most, moved = map[string]int{}, map[string]int{}
	for _, at := range different {
		best, by := 0.0, ""
		for k := 1; k < len(steps); k++ {
			move := math.Abs(steps[k][at] - steps[k-1][at])
			if move > 2 {
				moved[names[k]]++
			}
			if move > best {
				best, by = move, names[k]
			}
		}
		most[by]++
		// Ours deals out whole ticks: of each wait that the process causes a part may be one tick off.
		if last := steps[len(steps)-1][at]; math.Abs(last-ours[at]) > max(16, min(float64(deals[at.process]), 1e-2*ours[at])) {
			t.Errorf("%s, process %d, %s: %.0f ticks, by all rules %.1f", at.pattern, at.process, at.path, ours[at], last)
		}
	}
	return most, moved
}

// addMeetings notes operations that none leaves before all have entered, in the order in which each member leaves them.
func (x *scoutRules) addMeetings(d *trace.Definitions, members []*scoutMember) {
	first := members[0]
	op := first.Flags & xtf.CollOpMask
	class := trace.CollectiveClass(op)
	if first.Flags&(xtf.CollNonBlocking|xtf.CollShort|xtf.CollMixed) != 0 || d.IsInter(first.Comm) || !d.SetsClock(op, first.Region, true) {
		return
	}
	data := class&trace.ClassBarrier == 0 && !trace.CreatesHandle(op)
	if data && (class&trace.ClassNxN == 0 || latest(members, false) == nil || latest(members, false).T < latest(members, true).T) {
		return
	}
	with := map[int]bool{}
	for _, m := range members {
		with[m.process] = true
	}
	for _, m := range members {
		if !data || m.Sent > 0 && m.Received > 0 {
			s := x.processes[m.process]
			s.meetings = append(s.meetings, costMeeting{m.End, min(latest(members, true).T, m.End), with})
		}
	}
}

// orderMeetings puts meetings in the order of their leaves.
func (x *scoutRules) orderMeetings() {
	for _, s := range x.processes {
		slices.SortStableFunc(s.meetings, func(a, b costMeeting) int { return cmp.Compare(a.leave, b.leave) })
	}
}
