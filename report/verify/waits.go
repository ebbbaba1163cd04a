package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// summedWaits are the components that add up WAIT rows.
var summedWaits = slices.Concat(results.WaitItems, results.CompletionItems, []xtf.Item{xtf.ItemLateKernel, xtf.ItemLateSenderSame, xtf.ItemLateSenderOther, xtf.ItemWaitCount})

// waits compares the WAIT rows with their messages and collectives, with each other, with WAITSUM and, for every interval, with
// COMP.
func (c *locationCheck) waits() error {
	var arrays [2]*xtf.Array
	for i, id := range []xtf.TypeID{xtf.TypeP2P, xtf.TypeColl} {
		var err error
		if arrays[i], err = c.r.File.Array(xtf.Proc(c.p), id); err != nil {
			return err
		}
	}
	executions, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeIval)
	if err != nil {
		return err
	}
	var inside interval.Components
	spans := interval.NewSums(executions.Rows(0, executions.Len()), &inside, summedWaits...)
	counts := interval.NewSums(executions.Rows(0, executions.Len()), &inside, xtf.ItemWaitCount)
	rows, sums := results.PlaceSums{}, results.PlaceSums{}
	past := uint64(0)
	err = xtf.Each(c.r.File, xtf.Proc(c.p), func(n uint64, x *xtf.Wait) error {
		item := xtf.PatternItem(x.Pattern)
		switch {
		case item == xtf.NumItems:
			c.at("WAIT", n, "unknown pattern %#x", x.Pattern)
			return nil
		case x.T < past || x.End <= x.T:
			c.at("WAIT", n, "from %d to %d, the one before ends at %d", x.T, x.End, past)
			return nil
		}
		past = x.End
		rows.Add(results.CauseKey{Key: xtf.NodeKey(x.Node, x.Path), Pattern: x.Pattern, Activity: 0}, results.CauseSum{Count: 1, Ticks: x.End - x.T})
		spans.Span(x.T, x.End, item)
		switch x.Pattern & xtf.WaitOrderMask {
		case xtf.WaitOrderSame:
			spans.Span(x.T, x.End, xtf.ItemLateSenderSame)
		case xtf.WaitOrderDifferent:
			spans.Span(x.T, x.End, xtf.ItemLateSenderOther)
		}
		counts.Point(x.T, xtf.ItemWaitCount, 1)
		switch {
		case xtf.WaitsForMessage(x.Pattern):
			return c.messageWait(arrays[0], n, x)
		case item == xtf.ItemLateKernel:
			return c.hostWait(n, x)
		}
		return c.collectiveWait(arrays[1], n, x)
	})
	if err != nil {
		return err
	}
	err = results.WaitSums(c.r, xtf.Proc(c.p), func(at results.CauseKey, x results.CauseSum) {
		if _, twice := sums[at]; twice {
			c.add("WAITSUM", nil, "%s: the second row of this place", at)
		}
		sums.Add(at, results.CauseSum{Count: x.Count, Ticks: x.Ticks})
	})
	eachDifferent(rows, sums, results.CauseKey.Compare, func(at results.CauseKey, here, there results.CauseSum) {
		c.add("WAITSUM", nil, "%s: %d of %d ticks, the rows are %d of %d", at, there.Count, there.Ticks, here.Count, here.Ticks)
	})
	if serr := errors.Join(spans.Flush(), counts.Flush()); serr != nil {
		c.add("IVAL", nil, "waits of intervals cannot be added up: %v", serr)
		return err
	}
	return errors.Join(err, c.inside(&inside, summedWaits))
}

// inside compares items of intervals in COMP with sums of the location's rows, and removes these from rows.
func (c *locationCheck) inside(rows *interval.Components, items []xtf.Item) error {
	err := xtf.Each(c.r.File, xtf.Proc(c.p), func(n uint64, x *xtf.Comp) error {
		node, item := uint32(x.Key>>32), xtf.Item(uint32(x.Key))
		if !slices.Contains(items, item) {
			return nil
		}
		if want := rows.Value(node, item); x.Value != want {
			c.at("COMP", n, "%s of node %d is %d, the rows add up to %d", item, node, x.Value, want)
		}
		if rows.Has(node) {
			rows.Node(node)[item] = 0
		}
		return nil
	})
	if err == nil {
		rows.Each(func(node uint32, item xtf.Item, v uint64) {
			c.add("COMP", nil, "%s of node %d is missing, the rows add up to %d", item, node, v)
		})
	}
	return err
}

// messageWait compares a wait with its message.
func (c *locationCheck) messageWait(a *xtf.Array, n uint64, x *xtf.Wait) error {
	if x.RecN >= a.Len() {
		c.at("WAIT", n, "names message %d of %d", x.RecN, a.Len())
		return nil
	}
	m, err := rowOf[xtf.P2P](a, x.RecN, &c.buf)
	if err != nil {
		return err
	}
	// A sender waits until the receive is posted, or its receiver makes progress: both are where it completes, at the latest.
	side, begin, exact, end := xtf.P2PSend, m.T, x.End, min(m.MateT, m.Done)
	notice := uint32(0)
	switch pattern := x.Pattern & xtf.WaitPatternMask; {
	case pattern >= xtf.WaitLatePost:
		if notice = xtf.P2PMarker | xtf.P2PNotice; xtf.NoticePatterns[xtf.NoticeKind(m.Tag)] != pattern {
			notice = xtf.P2PUnmatched // no row has this and a mate
		}
		fallthrough
	case pattern == xtf.WaitLateSender:
		side, exact, end = xtf.P2PRecv, min(m.MateT, m.End), m.End
		if m.Kind&xtf.P2PProbed != 0 {
			begin = m.Post
		}
	}
	if m.Kind&xtf.P2PKindMask != side || m.Kind&(xtf.P2PUnmatched|xtf.P2PMarker|xtf.P2PNotice) != notice || x.CauseP != m.MateP || x.T < begin || x.End != exact || x.End > end {
		c.at("WAIT", n, "from %d to %d for location %d, by message %d: kind %#x, from %d to %d, its mate at %d of location %d",
			x.T, x.End, x.CauseP, x.RecN, m.Kind, m.T, m.End, m.MateT, m.MateP)
	}
	return nil
}

// hostWait compares a wait with the kernel or transfer that it is for.
func (c *locationCheck) hostWait(n uint64, x *xtf.Wait) error {
	of, _ := c.r.Defs.Process(c.p)
	stream := uint64(x.CauseP) < uint64(c.r.Defs.NumLocations()) && c.r.Defs.Location(trace.P(x.CauseP)).Type == trace.AcceleratorStream
	if stream {
		process, _ := c.r.Defs.Process(trace.P(x.CauseP))
		stream = process == of
	}
	if !stream {
		c.at("WAIT", n, "for location %d, which is not a stream of the process", x.CauseP)
	}
	if !stream || x.RecN == xtf.Never {
		return nil
	}
	a, err := c.r.File.Array(xtf.Proc(x.CauseP), xtf.TypeCall)
	if err != nil {
		return err
	}
	if x.RecN >= a.Len() {
		c.at("WAIT", n, "names call %d of %d", x.RecN, a.Len())
		return nil
	}
	if k, err := rowOf[xtf.Call](a, x.RecN, &c.buf); err != nil || k.End != x.End {
		c.at("WAIT", n, "until %d, for call %d of location %d: until %d", x.End, x.RecN, x.CauseP, k.End)
		return err
	}
	return nil
}

// collectiveWait compares a wait with its collective.
func (c *locationCheck) collectiveWait(a *xtf.Array, n uint64, x *xtf.Wait) error {
	if x.RecN >= a.Len() {
		c.at("WAIT", n, "names collective %d of %d", x.RecN, a.Len())
		return nil
	}
	m, err := rowOf[xtf.Coll](a, x.RecN, &c.buf)
	if err != nil {
		return err
	}
	op := m.Flags & xtf.CollOpMask
	class := trace.CollectiveClass(op)
	pattern := x.Pattern & xtf.WaitPatternMask
	want := [...]trace.CallClass{
		xtf.WaitBarrier: trace.ClassBarrier, xtf.WaitBarrierCompletion: trace.ClassBarrier, xtf.WaitNxN: trace.ClassNxN,
		xtf.WaitNxNCompletion: trace.ClassNxN, xtf.WaitLateBroadcast: trace.ClassOneToN, xtf.WaitEarlyReduce: trace.ClassNToOne, xtf.WaitEarlyScan: trace.ClassPrefix,
	}[pattern]
	meets := pattern == xtf.WaitBarrier && trace.MayMeet(op) && m.LastEnter <= m.FirstLeave
	wrong := class&want == 0 && !meets || x.T < m.T || x.End > m.End
	switch pattern {
	case xtf.WaitBarrierCompletion, xtf.WaitNxNCompletion:
		wrong = wrong || x.T < m.FirstLeave || x.End != m.End || x.CauseP != trace.Undefined
	case xtf.WaitBarrier:
		wrong = wrong || x.End != min(m.LastEnter, m.End)
	case xtf.WaitNxN: // others may not need the data of the last one that enters
		wrong = wrong || x.End > m.LastEnter || m.Received == 0
	}
	if wrong {
		c.at("WAIT", n, "pattern %d from %d to %d, by collective %d: operation %d, from %d to %d, last enter %d, first leave %d",
			pattern, x.T, x.End, x.RecN, op, m.T, m.End, m.LastEnter, m.FirstLeave)
	}
	return nil
}

func byNode(s results.PlaceSums) results.PlaceSums {
	all := results.PlaceSums{}
	for at, x := range s {
		all.Add(results.CauseKey{Key: at.Key >> 32 << 32, Pattern: at.Pattern, Activity: at.Activity}, results.CauseSum{Count: x.Count, Ticks: x.Ticks, Long: x.Long})
	}
	return all
}

// eachDifferent calls f for the keys at which two maps differ, in order.
func eachDifferent[M ~map[K]V, K, V comparable](a, b M, order func(x, y K) int, f func(at K, a, b V)) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, at := range slices.SortedFunc(maps.Keys(all), order) {
		if a[at] != b[at] {
			f(at, a[at], b[at])
		}
	}
}

// placeTotal compares an array of totals with the sums of the locations. If there are so many places that call paths were cut, it
// compares by node and pattern. Memory: 80 bytes for each place, twice.
func (v *Verified) placeTotal(r *results.Run, t *results.PlaceArray) error {
	all, whole := results.PlaceSums{}, results.PlaceSums{}
	for p := range xtf.Proc(r.File.Procs()) {
		if err := t.Parts(r, p, func(at results.CauseKey, x results.CauseSum) { all.Add(at, x) }); err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := t.Whole(r, xtf.WholeRun, func(at results.CauseKey, x results.CauseSum) {
		if _, twice := whole[at]; twice || x.Worst > x.Ticks+x.Long || uint64(x.WorstP) >= uint64(r.Defs.NumLocations()) {
			v.add(t.Name, "%s: %s; in a place of its own: %v", at, x, !twice)
		}
		whole.Add(at, x)
	})
	if len(all) > xtf.MostWaitTotals {
		all, whole = byNode(all), byNode(whole)
	}
	eachDifferent(all, whole, results.CauseKey.Compare, func(at results.CauseKey, here, there results.CauseSum) {
		v.add(t.Name, "%s: %s; the locations have %s", at, there, here)
	})
	return err
}

// criticalItems are the components that add up CPATH rows.
var criticalItems = []xtf.Item{xtf.ItemCriticalCPU, xtf.ItemCriticalMPI, xtf.ItemCriticalIO, xtf.ItemCriticalMarker}

// path compares the pieces of the critical path, of every interval, with COMP.
func (c *locationCheck) path() error {
	executions, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeIval)
	if err != nil {
		return err
	}
	var inside interval.Components
	s := interval.NewSums(executions.Rows(0, executions.Len()), &inside, criticalItems...)
	end := uint64(0)
	err = results.Load(c.r, xtf.Proc(c.p), func(x *xtf.CPath) {
		item := xtf.CriticalOf(x.Activity)
		if item == xtf.NumItems || x.T < end || x.End <= x.T { // outside of the events; other differences are found with PATHTOTAL
			return
		}
		end = x.End
		s.Span(x.T, x.End, item)
	})
	if serr := s.Flush(); serr != nil {
		c.add("IVAL", nil, "the critical path of intervals cannot be added up: %v", serr)
		return err
	}
	return errors.Join(err, c.inside(&inside, criticalItems))
}

// blamed is a location that others wait for, and the pattern of these waits.
type blamed struct{ p, pattern uint32 }

// delayCosts checks that the costs of delays add up to the waits that have a cause. The direct cost of a location for a pattern
// is the time that others wait for it in that pattern, less what it passes on to the locations that it waits for itself.
func (v *Verified) delayCosts(r *results.Run) error {
	waits, costs := numbers.Sum(0), numbers.Sum(0)
	caused, direct, passes := map[blamed]numbers.Sum{}, map[blamed]numbers.Sum{}, map[uint32]bool{}
	for p := range xtf.Proc(r.File.Procs()) {
		err := results.Load(r, p, func(x *xtf.Wait) {
			if x.CauseP != trace.Undefined && x.CauseP != uint32(p) && !results.IsApart(x.Pattern) {
				took := numbers.Integer(x.End - min(x.T, x.End))
				waits = numbers.Add(waits, took)
				at := blamed{x.CauseP, x.Pattern & xtf.WaitPatternMask}
				caused[at], passes[uint32(p)] = numbers.Add(caused[at], took), true
			}
		})
		if err == nil {
			err = results.Load(r, p, func(x *xtf.Delay) {
				costs = numbers.Add(costs, numbers.Integer(x.Short), numbers.Integer(x.Long))
				at := blamed{uint32(p), x.Pattern}
				direct[at] = numbers.Add(direct[at], numbers.Integer(x.Short))
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	eachDifferent(direct, caused, func(a, b blamed) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.pattern, b.pattern)) }, func(at blamed, cost, wait numbers.Sum) {
		if cost > wait || !passes[at.p] {
			v.add("DELAY", "location %d costs others %d ticks directly by pattern %d, they wait %d for it", at.p, cost, at.pattern, wait)
		}
	})
	if waits != costs {
		v.add("DELAY", "costs of %d ticks, the waits have %d", costs, waits)
	}
	return nil
}

// pathLength checks that the critical path has the length of the run.
func (v *Verified) pathLength(r *results.Run) error {
	var length, last uint64
	first := xtf.Never
	for p := range xtf.Proc(r.File.Procs()) {
		end := uint64(0)
		err := results.Load(r, p, func(x *xtf.CPath) {
			if x.T < end || x.End <= x.T {
				v.add("CPATH", "location %d: a piece from %d to %d after one that ends at %d", p, x.T, x.End, end)
			}
			end = x.End
			length += x.End - x.T
		})
		if err == nil {
			err = results.Load(r, p, func(x *xtf.Ival) {
				if x.Node == 0 { // the whole program
					first, last = min(first, x.T), max(last, x.End)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	if run := last - min(first, last); length != run {
		v.add("CPATH", "the critical path takes %d ticks, the run %d", length, run)
	}
	return nil
}
