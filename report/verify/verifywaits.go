package verify

import (
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// readyAt is the instant from which a receive counts as potential synchronisation.
func readyAt(k *results.Kept, x *xtf.P2P) uint64 {
	if x.Kind&xtf.P2PProbed != 0 || k.Has("recv-point=post") {
		return x.Post
	}
	return x.T
}

// summedWaits are the components that add up WAIT rows.
var summedWaits = slices.Concat(results.WaitItems, results.CompletionItems, []xtf.Item{xtf.ItemLateSenderSame, xtf.ItemLateSenderOther, xtf.ItemWaitCount})

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
		if xtf.WaitsForMessage(x.Pattern) {
			return c.messageWait(arrays[0], n, x)
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

// inside compares items of intervals in COMP with what rows of the location add up to, which it takes away.
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
	return nil
}
