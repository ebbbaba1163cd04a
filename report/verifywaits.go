package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// waitPlace is where waits add up.
type waitPlace struct {
	key     uint64
	pattern uint32
}

func (a waitPlace) compare(b waitPlace) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.pattern, b.pattern))
}

// waitAmount is waits, and of sums over locations the location with most ticks.
type waitAmount struct {
	count, ticks, worst uint64
	worstP              uint32
}

// waitSums are waits by place.
type waitSums map[waitPlace]waitAmount

// add adds waits; of those of locations these ascend.
func (s waitSums) add(at waitPlace, y waitAmount) {
	x := s[at]
	x.count, x.ticks = x.count+y.count, x.ticks+y.ticks
	if y.worst > x.worst {
		x.worst, x.worstP = y.worst, y.worstP
	}
	s[at] = x
}

// byNode are the sums by node and pattern.
func (s waitSums) byNode() waitSums {
	all := waitSums{}
	for at, x := range s {
		all.add(waitPlace{at.key >> 32 << 32, at.pattern}, waitAmount{count: x.count, ticks: x.ticks})
	}
	return all
}

// differ calls f for the places at which s and o differ, in order.
func (s waitSums) differ(o waitSums, f func(at waitPlace, here, there waitAmount)) {
	var list []waitPlace
	for at := range s {
		list = append(list, at)
	}
	for at := range o {
		if _, ok := s[at]; !ok {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, waitPlace.compare)
	for _, at := range list {
		if s[at] != o[at] {
			f(at, s[at], o[at])
		}
	}
}

// readyAt is the instant from which a receive counts as potential synchronisation.
func (k *kept) readyAt(x *xtf.P2P) uint64 {
	if x.Kind&xtf.P2PProbed != 0 || k.has("recv-point=post") {
		return x.Post
	}
	return x.T
}

// summedWaits are the components that add up WAIT rows.
var summedWaits = slices.Concat(WaitItems, completionItems, []xtf.Item{xtf.ItemLateSenderSame, xtf.ItemLateSenderOther, xtf.ItemWaitCount})

// waits compares the WAIT rows with the messages and collectives they are of, with each other, with WAITSUM and, of every interval, with
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
	rows, sums := waitSums{}, waitSums{}
	past := uint64(0)
	var failed error
	var buf []byte
	err = c.each(xtf.TypeWait, func(n uint64, row []byte) {
		var x xtf.Wait
		x.Load(row)
		item := xtf.PatternItem(x.Pattern)
		switch {
		case failed != nil:
			return
		case item == xtf.NumItems:
			c.at("WAIT", n, "unknown pattern %#x", x.Pattern)
			return
		case x.T < past || x.End <= x.T:
			c.at("WAIT", n, "from %d to %d, the one before ends at %d", x.T, x.End, past)
			return
		}
		past = x.End
		if xtf.WaitsForMessage(x.Pattern) {
			buf, failed = c.messageWait(arrays[0], n, &x, buf)
		} else {
			buf, failed = c.collectiveWait(arrays[1], n, &x, buf)
		}
		rows.add(waitPlace{xtf.NodeKey(x.Node, x.Path), x.Pattern}, waitAmount{count: 1, ticks: x.End - x.T})
		spans.Span(x.T, x.End, item)
		switch x.Pattern & xtf.WaitOrderMask {
		case xtf.WaitOrderSame:
			spans.Span(x.T, x.End, xtf.ItemLateSenderSame)
		case xtf.WaitOrderDifferent:
			spans.Span(x.T, x.End, xtf.ItemLateSenderOther)
		}
		counts.Point(x.T, xtf.ItemWaitCount, 1)
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	err = c.each(xtf.TypeWaitSum, func(n uint64, row []byte) {
		var x xtf.WaitSum
		x.Load(row)
		at := waitPlace{x.Key, x.Pattern}
		if _, twice := sums[at]; twice {
			c.at("WAITSUM", n, "node %d, call path %d, pattern %#x: the second of this place", x.Key>>32, uint32(x.Key), x.Pattern)
		}
		sums.add(at, waitAmount{count: x.Count, ticks: x.Ticks})
	})
	rows.differ(sums, func(at waitPlace, here, there waitAmount) {
		c.add("WAITSUM", nil, "node %d, call path %d, pattern %#x: %d of %d ticks, the rows are %d of %d",
			at.key>>32, uint32(at.key), at.pattern, there.count, there.ticks, here.count, here.ticks)
	})
	if serr := errors.Join(spans.Flush(), counts.Flush()); serr != nil {
		c.add("IVAL", nil, "waits of intervals cannot be added up: %v", serr)
		return err
	}
	return errors.Join(err, c.inside(&inside, summedWaits))
}

// inside compares items of intervals in COMP with what rows of the location add up to, which it takes away.
func (c *locationCheck) inside(rows *interval.Components, items []xtf.Item) error {
	err := c.each(xtf.TypeComp, func(n uint64, row []byte) {
		node, item, got := uint32(xtf.U64(row, 0)>>32), xtf.Item(uint32(xtf.U64(row, 0))), xtf.U64(row, 8)
		if !slices.Contains(items, item) {
			return
		}
		if want := rows.Value(node, item); got != want {
			c.at("COMP", n, "%s of node %d is %d, the rows add up to %d", item, node, got, want)
		}
		if rows.Has(node) {
			rows.Node(node)[item] = 0
		}
	})
	if err == nil {
		rows.Each(func(node uint32, item xtf.Item, v uint64) {
			c.add("COMP", nil, "%s of node %d is missing, the rows add up to %d", item, node, v)
		})
	}
	return err
}

// messageWait compares a wait with its message. It returns the buffer.
func (c *locationCheck) messageWait(a *xtf.Array, n uint64, x *xtf.Wait, buf []byte) ([]byte, error) {
	if x.RecN >= a.Len() {
		c.at("WAIT", n, "names message %d of %d", x.RecN, a.Len())
		return buf, nil
	}
	buf, err := a.Row(x.RecN, buf)
	if err != nil {
		return buf, err
	}
	var m xtf.P2P
	m.Load(buf)
	// A sender waits until the receive is posted, or its receiver makes progress: both are where it completes, at the latest.
	side, begin, exact, end := xtf.P2PSend, m.T, x.End, min(m.MateT, m.Done)
	if x.Pattern&xtf.WaitPatternMask == xtf.WaitLateSender {
		side, exact, end = xtf.P2PRecv, min(m.MateT, m.End), m.End
		if m.Kind&xtf.P2PProbed != 0 {
			begin = m.Post
		}
	}
	if m.Kind&xtf.P2PKindMask != side || m.Kind&(xtf.P2PUnmatched|xtf.P2PMarker) != 0 || x.CauseP != m.MateP || x.T < begin || x.End != exact || x.End > end {
		c.at("WAIT", n, "from %d to %d for location %d, by message %d: kind %#x, from %d to %d, its mate at %d of location %d",
			x.T, x.End, x.CauseP, x.RecN, m.Kind, m.T, m.End, m.MateT, m.MateP)
	}
	return buf, nil
}

// collectiveWait compares a wait with its collective.
func (c *locationCheck) collectiveWait(a *xtf.Array, n uint64, x *xtf.Wait, buf []byte) ([]byte, error) {
	if x.RecN >= a.Len() {
		c.at("WAIT", n, "names collective %d of %d", x.RecN, a.Len())
		return buf, nil
	}
	buf, err := a.Row(x.RecN, buf)
	if err != nil {
		return buf, err
	}
	var m xtf.Coll
	m.Load(buf)
	class := trace.CollectiveClass(m.Flags & xtf.CollOpMask)
	pattern := x.Pattern & xtf.WaitPatternMask
	want := [...]trace.CallClass{
		xtf.WaitBarrier: trace.ClassBarrier, xtf.WaitBarrierCompletion: trace.ClassBarrier, xtf.WaitNxN: trace.ClassNxN,
		xtf.WaitNxNCompletion: trace.ClassNxN, xtf.WaitLateBroadcast: trace.ClassOneToN, xtf.WaitEarlyReduce: trace.ClassNToOne, xtf.WaitEarlyScan: trace.ClassPrefix,
	}[pattern]
	wrong := class&want == 0 || x.T < m.T || x.End > m.End
	switch pattern {
	case xtf.WaitBarrierCompletion, xtf.WaitNxNCompletion:
		wrong = wrong || x.T < m.FirstLeave || x.End != m.End || x.CauseP != trace.Undefined
	case xtf.WaitBarrier:
		wrong = wrong || x.End != min(m.LastEnter, m.End)
	case xtf.WaitNxN: // the last one to enter may have no data for others
		wrong = wrong || x.End > m.LastEnter || m.Received == 0
	}
	if wrong {
		c.at("WAIT", n, "pattern %d from %d to %d, by collective %d: operation %d, from %d to %d, last enter %d, first leave %d",
			pattern, x.T, x.End, x.RecN, m.Flags&xtf.CollOpMask, m.T, m.End, m.LastEnter, m.FirstLeave)
	}
	return buf, nil
}

// waitTotals compares WAITTOTAL with the sums of the locations; by node and pattern where there are so many places that call paths were cut.
func (v *Verified) waitTotals(r *Run) error {
	all, whole := waitSums{}, waitSums{}
	for p := range trace.P(r.Defs.NumLocations()) {
		err := r.rows(xtf.Proc(p), xtf.TypeWaitSum, func(row []byte) {
			var x xtf.WaitSum
			x.Load(row)
			all.add(waitPlace{x.Key, x.Pattern}, waitAmount{x.Count, x.Ticks, x.Ticks, uint32(p)})
		})
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := r.rows(xtf.WholeRun, xtf.TypeWaitTotal, func(row []byte) {
		var x xtf.WaitTotal
		x.Load(row)
		at := waitPlace{x.Key, x.Pattern}
		if _, twice := whole[at]; twice || x.Worst > x.Ticks || uint64(x.WorstP) >= uint64(r.Defs.NumLocations()) {
			v.add("WAITTOTAL", "node %d, call path %d, pattern %#x: %d ticks, of location %d alone %d, in a place of its own: %v",
				x.Key>>32, uint32(x.Key), x.Pattern, x.Ticks, x.WorstP, x.Worst, !twice)
		}
		whole.add(at, waitAmount{x.Count, x.Ticks, x.Worst, x.WorstP})
	})
	if len(all) > xtf.MostWaitTotals {
		all, whole = all.byNode(), whole.byNode()
	}
	all.differ(whole, func(at waitPlace, here, there waitAmount) {
		v.add("WAITTOTAL", "node %d, call path %d, pattern %#x: %d of %d ticks, most %d of location %d; the locations have %d of %d, most %d of location %d",
			at.key>>32, uint32(at.key), at.pattern, there.count, there.ticks, there.worst, there.worstP, here.count, here.ticks, here.worst, here.worstP)
	})
	return err
}
