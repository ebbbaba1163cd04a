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
	leastApart  = 3  // calls: of random distances a third are multiples of it
	mostRegular = 1 << 12
)

// seldom tells a process that is late now and then from one that is late in each step. It looks at the waits of the process that waits
// longest, on the call path with most of them: where three quarters are in an eighth of the calls or less, who is late then does in these
// steps what it does not do in others, or is interrupted. Of one process that is late so only the kernel knows which: that it was ready to
// run and had no processor for half of these waits or more, and all others half as long at most, and that it does not compute longer else:
// then it is interrupted.
func (f *finder) seldom(x *Finding, item xtf.Item, p trace.P) (interrupted bool, err error) {
	c := x.Cause
	if c == nil || c.Activity != "cpu" || x.Kind != kindBarrier && x.Kind != kindNxN && x.Kind != KindLateSender {
		return false, nil
	}
	calls := uint64(0)
	err = f.operations(x, p, func(uint64) { calls++ })
	if err != nil || calls < seldomCalls {
		return false, beyond(err)
	}
	each := func(use func(w *xtf.Wait, ticks uint64)) error {
		return results.Load(f.r, xtf.Proc(p), func(w *xtf.Wait) {
			if w.Path == x.facts.path && xtf.PatternItem(w.Pattern) == item {
				use(w, w.End-w.T)
			}
		})
	}
	var by [65]struct{ waits, ticks uint64 } // by the bits of their length
	var all, most, at uint64                 // at is when the longest one ends
	err = each(func(w *xtf.Wait, ticks uint64) {
		if !xtf.Add(&all, ticks) {
			return
		}
		if ticks > most {
			most, at = ticks, w.End
		}
		b := &by[bits.Len64(ticks)]
		b.waits++
		b.ticks += ticks
	})
	if err != nil {
		return false, beyond(err)
	}
	waits, long, k := uint64(0), uint64(0), len(by)
	for k > 0 && !mostlyOf(long, all) {
		k--
		waits, long = waits+by[k].waits, long+by[k].ticks
	}
	if waits > calls/seldomPart {
		return false, nil
	}
	late := map[uint32]uint64{}
	rows := map[uint64]bool{} // of the long ones
	err = each(func(w *xtf.Wait, ticks uint64) {
		if bits.Len64(ticks) >= k && uint64(w.CauseP) < uint64(f.r.Defs.NumLocations()) {
			rank, _ := f.r.Defs.Process(trace.P(w.CauseP))
			late[rank] += ticks
			if len(rows) < mostRegular {
				rows[w.RecN] = true
			}
		}
	})
	rank, ticks := worst(late)
	if err != nil || ticks == 0 {
		return false, beyond(err)
	}
	x.facts.seldom = true
	who, often := fmt.Sprintf("rank %d is", rank), "now and then"
	single := mostlyOf(ticks, long)
	if !single {
		who = fmt.Sprintf("%s, mostly rank %d, are", numbers.Plural(len(late), "process"), rank)
	}
	apart := uint64(0)
	if single {
		if apart, err = f.regular(x, p, rows); err != nil {
			return false, beyond(err)
		}
	}
	switch {
	case waits == 1:
		often = "once"
	case apart > 0:
		often = fmt.Sprintf("regularly, %d such calls apart or a multiple of that", apart)
	}
	x.Evidence += fmt.Sprintf("; %s late %s: %s of what rank %d waits there are in %s of %s calls, the longest until %s %s", who, often, numbers.NewRatio(long, all).Percent(), x.Where.Processes[0], numbers.Count(waits), numbers.Count(calls), f.u.Ticks(at), f.u.Name())
	switch {
	case !single:
		return false, nil
	case rank != c.Process && c.Share.Value*c.OfRow.Value >= 0.75: // and these are three quarters: most of them are both
		x.Evidence += fmt.Sprintf("; most of these waits come from rank %d", c.Process)
		return false, nil
	case rank != c.Process:
		return false, nil
	}
	if lost, others, longer := f.withoutProcessor(rank); lost >= x.Ticks/2 && others <= lost/2 && longer < x.Ticks/4 {
		x.Evidence += fmt.Sprintf("; it was ready to run and had no processor for %s %s between its MPI calls, others for no more than %s", f.u.Ticks(lost), f.u.Name(), f.u.Ticks(others))
		return true, nil
	}
	x.facts.regular = apart > 0
	if f.starved(rank) == "" && apart == 0 {
		x.Evidence += ", by work of its own then, or an interruption: the trace does not tell which"
	}
	return false, nil
}

// operations passes the rows of the operations at the place where a process waits.
func (f *finder) operations(x *Finding, p trace.P, use func(row uint64)) error {
	region := f.causes.Paths.Region(x.facts.path)
	if x.Kind == KindLateSender {
		return xtf.Each(f.r.File, xtf.Proc(p), func(n uint64, m *xtf.P2P) error {
			if m.Region == region && m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
				use(n)
			}
			return nil
		})
	}
	return xtf.Each(f.r.File, xtf.Proc(p), func(n uint64, m *xtf.Coll) error {
		if m.Region == region {
			use(n)
		}
		return nil
	})
}

// regular returns how many operations at this place lie from one of some to the next one, where that, or a multiple of it, is so for three
// quarters of them; else 0. A program that calls MPI in one place several times in each step is late at one of them so, and no other program is.
func (f *finder) regular(x *Finding, p trace.P, rows map[uint64]bool) (uint64, error) {
	at, last, first := uint64(0), uint64(0), true
	distances := map[uint64]uint64{}
	err := f.operations(x, p, func(row uint64) {
		at++
		if rows[row] {
			if !first {
				distances[at-last]++
			}
			last, first = at, false
		}
	})
	apart, all, multiples := uint64(0), uint64(0), uint64(0)
	for d, n := range distances {
		all += n
		if n > distances[apart] || n == distances[apart] && d < apart {
			apart = d
		}
	}
	if apart < leastApart || all < seldomPart-1 {
		return 0, err
	}
	for d, n := range distances {
		if d%apart == 0 {
			multiples += n
		}
	}
	if !mostlyOf(multiples, all) {
		return 0, err
	}
	return apart, err
}

// withoutProcessor is how long a process was ready to run and had no processor, the largest of that of the others, and how much longer it
// computes but for that than the one of them that does so longest; 0 where that is not known, or where processes of the run share its processors.
func (f *finder) withoutProcessor(rank uint32) (own, others, longer uint64) {
	most := uint64(0)
	for i := range f.usages {
		u := &f.usages[i]
		if u.delay == math.MaxUint64 || f.crowdOf[uint32(i)].Processors > 0 {
			return 0, 0, 0
		}
		delay := f.ticksOf(u.delay)
		computes := f.times[i].cpu - min(delay, f.times[i].cpu)
		if uint32(i) == rank {
			own, longer = delay, computes
			continue
		}
		others, most = max(others, delay), max(most, computes)
	}
	return own, others, longer - min(most, longer)
}
