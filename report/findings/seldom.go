package findings

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Waits in few of many calls, for one process.

const (
	seldomCalls = 24 // at least
	seldomPart  = 8  // in no more than such a part of the calls
)

// seldom tells a process that is late now and then from one that is late in each step. It looks at the waits of the process that waits
// longest, on the call path with most of them: where three quarters are in an eighth of the calls or less, for the same process, that one
// does in these steps what it does not do in others, or is interrupted. Only the kernel knows which: that it was ready to run and had
// no processor for half of these waits or more, and all others half as long at most.
func (f *finder) seldom(x *Finding, item xtf.Item, p trace.P) error {
	c := x.Cause
	if c == nil || c.Activity != "cpu" || x.Kind != kindBarrier && x.Kind != kindNxN {
		return nil
	}
	region, calls := f.causes.Paths.Region(x.facts.path), uint64(0)
	if err := results.Load(f.r, xtf.Proc(p), func(m *xtf.Coll) {
		if m.Region == region {
			calls++
		}
	}); err != nil {
		return beyond(err)
	}
	type lengths struct{ waits, ticks, own uint64 } // own are ticks for the process that is blamed
	var by [65]lengths                              // by the bits of their length
	var all, most, at uint64                        // at is when the longest one ends
	err := results.Load(f.r, xtf.Proc(p), func(w *xtf.Wait) {
		ticks := w.End - w.T
		if w.Path != x.facts.path || xtf.PatternItem(w.Pattern) != item || !xtf.Add(&all, ticks) {
			return
		}
		if ticks > most {
			most, at = ticks, w.End
		}
		b := &by[bits.Len64(ticks)]
		b.waits++
		b.ticks += ticks
		if uint64(w.CauseP) < uint64(f.r.Defs.NumLocations()) {
			if rank, _ := f.r.Defs.Process(trace.P(w.CauseP)); rank == c.Process {
				b.own += ticks
			}
		}
	})
	if err != nil {
		return beyond(err)
	}
	var long lengths
	k := len(by)
	for k > 0 && !mostlyOf(long.ticks, all) {
		k--
		long.waits, long.ticks, long.own = long.waits+by[k].waits, long.ticks+by[k].ticks, long.own+by[k].own
	}
	if calls < seldomCalls || long.waits > calls/seldomPart || !mostlyOf(long.own, long.ticks) {
		return nil
	}
	x.facts.seldom = true
	often := "now and then"
	if long.waits == 1 {
		often = "once"
	}
	x.Evidence += fmt.Sprintf("; rank %d is late %s: %s of what rank %d waits there are in %s of %s calls, the longest until %s %s", c.Process, often, numbers.NewRatio(long.ticks, all).Percent(), x.Where.Processes[0], numbers.Count(long.waits), numbers.Count(calls), f.u.Ticks(at), f.u.Name())
	if lost, others := f.withoutProcessor(c.Process); lost >= x.Ticks/2 && others <= lost/2 {
		x.facts.interrupted = true
		x.Evidence += fmt.Sprintf("; it was ready to run and had no processor for %s %s between its MPI calls, others for no more than %s", f.u.Ticks(lost), f.u.Name(), f.u.Ticks(others))
		return nil
	}
	x.Evidence += ", by work of its own then, or an interruption: the trace does not tell which"
	return nil
}

// withoutProcessor is how long a process was ready to run and had no processor, and the largest of that of the others; 0 where that is
// not known, or where processes of the run share its processors.
func (f *finder) withoutProcessor(rank uint32) (own, others uint64) {
	for i := range f.usages {
		switch u := &f.usages[i]; {
		case u.delay == math.MaxUint64 || f.crowdOf[uint32(i)] != nil:
			return 0, 0
		case uint32(i) == rank:
			own = f.ticksOf(u.delay)
		default:
			others = max(others, f.ticksOf(u.delay))
		}
	}
	return own, others
}
