package findings

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Waits in few of many calls, for one process.

const (
	seldomCalls = 24      // at least
	seldomPart  = 8       // in at most one of so many calls
	spanPart    = 2       // the same for calls that follow one another
	leastApart  = 3       // calls: a third of random distances are multiples of it
	mostLong    = 1 << 20 // waits whose calls are looked up
)

// lateness says in which of many calls a process is late.
type lateness uint8

const (
	lateInEach    lateness = iota // or not known
	lateSeldom                    // in few
	lateRegularly                 // in few, at equal distances, and the kernel says that the process had a processor
)

// lengths are how long some pieces of time are.
type lengths struct {
	by               [65]struct{ n, ticks uint64 } // by the bits of their length
	n                uint64
	all, most, until uint64 // until is the end of the longest one, the first of equals
}

func (l *lengths) add(ticks, end uint64) {
	if !xtf.Add(&l.all, ticks) {
		return
	}
	if ticks > l.most {
		l.most, l.until = ticks, end
	}
	b := &l.by[bits.Len64(ticks)]
	b.n, b.ticks, l.n = b.n+1, b.ticks+ticks, l.n+1
}

// long counts the longest pieces that are three quarters of the time or more; they have k bits or more.
func (l *lengths) long() (n, ticks uint64, k int) {
	for k = len(l.by); k > 0 && !mostlyOf(ticks, l.all); {
		k--
		n, ticks = n+l.by[k].n, ticks+l.by[k].ticks
	}
	return n, ticks, k
}

// inFewCalls says in how few calls a process spends three quarters of its time in the MPI calls of a class, some waits aside: in an eighth of those
// of the function with most of that time, or fewer; else "". What each call costs is even. What the longest one moves may explain it.
func inFewCalls(f *finder, rank, class uint32, aside ...xtf.Item) (string, error) {
	p := xtf.Proc(f.r.Defs.Processes()[rank].First)
	var failed error
	wait, stop := iter.Pull2(results.Overlapping[xtf.Wait](f.r, trace.P(p), 0, xtf.Never, &failed))
	defer stop()
	_, w, more := wait()
	of := map[uint32]*lengths{}
	err := results.Load(f.r, p, func(c *xtf.Call) {
		if c.Flags&xtf.FlagOutermostMPI == 0 || c.Class&class == 0 || c.End == xtf.Never {
			return
		}
		left := c.End - c.T
		for ; more && w.T < c.End; _, w, more = wait() {
			if w.T >= c.T && slices.Contains(aside, xtf.PatternItem(w.Pattern)) {
				left -= min(w.End-w.T, left)
			}
		}
		if of[c.Region] == nil {
			of[c.Region] = &lengths{}
		}
		of[c.Region].add(left, c.End)
	})
	if err = cmp.Or(beyond(err), beyond(failed)); err != nil || len(of) == 0 {
		return "", err
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(of)), func(a, b uint32) int { return cmp.Compare(of[a].all, of[b].all) })
	l := of[most]
	calls, long, _ := l.long()
	if l.n < seldomCalls || calls > l.n/seldomPart {
		return "", nil
	}
	text := fmt.Sprintf("; %s of what rank %d spends in %s is in %s of %s calls, the longest %s %s until %s %[7]s", numbers.NewRatio(long, l.all).Percent(), rank,
		at(numbers.Clean(results.CallName(f.r, most), 60), results.CallPlace(f.r, most)), numbers.Count(calls), numbers.Count(l.n), f.u.Ticks(l.most), f.u.Name(), f.u.Instant(l.until))
	if class&xtf.ClassP2P == 0 {
		return text + ": what it waits for there is not known", nil
	}
	moved := uint64(0)
	err = results.Load(f.r, p, func(m *xtf.P2P) {
		end := m.End
		if m.Kind&(xtf.P2PKindMask|xtf.P2PNonBlocking) == xtf.P2PSend|xtf.P2PNonBlocking {
			end = m.Done
		}
		if end == l.until {
			xtf.Add(&moved, m.Bytes)
		}
	})
	if text += ", with " + numbers.Bytes(moved); moved < longMessage {
		text += ": what it waits for there is not known"
	}
	return text, beyond(err)
}

// seldom tells a process that is late now and then from one that is late in each step. It looks at the waits of the process that waits
// longest, on the call path with most of them: where three quarters are in an eighth of the calls or less, or in a half that follows one
// another, who is late then does in these steps what it does not do in others, or is interrupted. Of one process that is late so only the kernel knows which: that it was ready to
// run and had no processor for half of these waits or more, and all others half as long at most, and that it does not compute longer else:
// then it is interrupted.
func (f *finder) seldom(x *Finding, item xtf.Item, p trace.P) (interrupted bool, err error) {
	c := x.Cause
	if c == nil || c.Activity != "cpu" || x.Kind != kindBarrier && x.Kind != kindNxN && x.Kind != KindLateSender {
		return false, nil
	}
	each := func(use func(w *xtf.Wait, ticks uint64)) error {
		return results.Load(f.r, xtf.Proc(p), func(w *xtf.Wait) {
			if w.Path == x.facts.path && xtf.PatternItem(w.Pattern) == item {
				use(w, w.End-w.T)
			}
		})
	}
	var of lengths
	if err = each(func(w *xtf.Wait, ticks uint64) { of.add(ticks, w.End) }); err != nil {
		return false, beyond(err)
	}
	waits, long, k := of.long()
	if waits > mostLong {
		return false, nil
	}
	late := map[uint32]uint64{}
	var rows []uint64 // of the long ones
	err = each(func(w *xtf.Wait, ticks uint64) {
		if bits.Len64(ticks) >= k && uint64(w.CauseP) < uint64(f.r.Defs.NumLocations()) {
			rank, _ := f.r.Defs.Process(trace.P(w.CauseP))
			late[rank] += ticks
			rows = append(rows, w.RecN)
		}
	})
	rank, ticks := worst(late)
	if err != nil || ticks == 0 {
		return false, beyond(err)
	}
	calls, few, apart, span, err := callsOf(f, x, p, rows)
	part := uint64(seldomPart)
	if span.calls > 0 {
		part = spanPart
	}
	if err != nil || calls < seldomCalls || few > calls/part {
		return false, beyond(err)
	}
	x.facts.seldom = lateSeldom
	who, often := fmt.Sprintf("rank %d is", rank), "now and then"
	single := mostlyOf(ticks, long)
	if !single {
		who = fmt.Sprintf("%s, mostly rank %d, are", numbers.Plural(len(late), "process"), rank)
	}
	lost, others, longer, known := f.withoutProcessor(rank)
	switch {
	case few == 1:
		often = "once"
	case span.calls > 0:
		often = fmt.Sprintf("for a time, mostly in calls %s to %s", numbers.Count(span.first), numbers.Count(span.first+span.calls-1))
	case apart > 0 && single && (!known || lost < x.Ticks/2):
		if known {
			x.facts.seldom = lateRegularly
		}
		often = fmt.Sprintf("regularly, %d such calls apart or a multiple of that", apart)
	}
	x.Evidence += fmt.Sprintf("; %s late %s: %s of what rank %d waits there are in %s of %s calls, the longest until %s %s", who, often, numbers.NewRatio(long, of.all).Percent(), x.Where.Processes[0], numbers.Count(few), numbers.Count(calls), f.u.Instant(of.until), f.u.Name())
	switch {
	case !single:
		return false, nil
	case rank != c.Process && c.Share.Value*c.OfRow.Value >= 0.75: // and these are three quarters: both hold for most of them
		x.Evidence += fmt.Sprintf("; most of these waits come from rank %d", c.Process)
		return false, nil
	case rank != c.Process:
		return false, nil
	}
	if known && lost >= x.Ticks/2 && others <= lost/2 && longer < x.Ticks/4 {
		x.Evidence += fmt.Sprintf("; it was ready to run and had no processor for %s %s between its MPI calls, others for no more than %s", f.u.Ticks(lost), f.u.Name(), f.u.Ticks(others))
		return true, nil
	}
	if f.starved(rank) == "" && x.facts.seldom == lateSeldom {
		x.Evidence += ", by work of its own then, or an interruption: the trace does not tell which"
	}
	return false, nil
}

// callSpan are calls that follow one another.
type callSpan struct {
	first uint64 // its number, from 1
	calls uint64
}

// callsOf counts the MPI calls at the place where a process waits (a call may have several messages), and those that the given
// rows of operations belong to, few. apart is the distance in calls from one of the few to the next, if that or a multiple of it
// holds for three quarters of them; else 0. A program that calls MPI several times per step at one place is late in one of these
// calls. longest is the longest sequence of consecutive few calls if it has three quarters of them, as during a warm-up; else it
// is empty.
func callsOf(f *finder, x *Finding, p trace.P, rows []uint64) (calls, few, apart uint64, longest callSpan, err error) {
	slices.Sort(rows)
	region, last, before := f.causes.Paths.Region(x.facts.path), uint64(math.MaxUint64), uint64(0) // before: number of the latest of the few
	distances := map[uint64]uint64{}
	var span callSpan
	pass := func(row, call uint64) {
		if call != last {
			calls, last = calls+1, call
		}
		if _, ok := slices.BinarySearch(rows, row); ok && before != calls {
			if few++; before > 0 {
				distances[calls-before]++
			}
			if span.calls == 0 || before+1 != calls {
				span = callSpan{first: calls}
			}
			if span.calls++; span.calls > longest.calls {
				longest = span
			}
			before = calls
		}
	}
	if x.Kind == KindLateSender {
		err = xtf.Each(f.r.File, xtf.Proc(p), func(n uint64, m *xtf.P2P) error {
			if m.Region == region && m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
				pass(n, m.CallN)
			}
			return nil
		})
	} else {
		err = xtf.Each(f.r.File, xtf.Proc(p), func(n uint64, m *xtf.Coll) error {
			if m.Region == region {
				pass(n, m.CallN)
			}
			return nil
		})
	}
	multiples := uint64(0)
	for d, n := range distances { // the order does not matter
		if n > distances[apart] || n == distances[apart] && d < apart {
			apart = d
		}
	}
	for d, n := range distances {
		if d%max(apart, 1) == 0 {
			multiples += n
		}
	}
	if apart < leastApart || few < seldomPart || !mostlyOf(multiples, few-1) {
		apart = 0
	}
	if !mostlyOf(longest.calls, few) {
		longest = callSpan{}
	}
	return calls, few, apart, longest, err
}

// withoutProcessor returns how long a process was ready to run and had no processor, the largest such time of the others, and how
// much longer it otherwise computes than the longest of the others. known is false if the trace does not have these times, or if
// processes of the run share the process's processors.
func (f *finder) withoutProcessor(rank uint32) (own, others, longer uint64, known bool) {
	most := uint64(0)
	for i := range f.usages {
		u := &f.usages[i]
		if u.delay == math.MaxUint64 || f.crowdOf[uint32(i)].Processors > 0 {
			return 0, 0, 0, false
		}
		delay := f.ticksOf(u.delay)
		computes := f.times[i].cpu - min(delay, f.times[i].cpu)
		if uint32(i) == rank {
			own, longer = delay, computes
			continue
		}
		others, most = max(others, delay), max(most, computes)
	}
	return own, others, longer - min(most, longer), len(f.usages) > 0
}
