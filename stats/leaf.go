package stats

import (
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// A leaf is a call with only records of messages and collectives in it, all in one batch of events. Most calls are leaves. The Loader takes
// a leaf as a whole: it is never on the stack, and its row is written once, when it ends.

// mostLeaf is the most records of a leaf.
const mostLeaf = 8

// leafRecords are the kinds of records in leaves. Their handling looks only at the open MPI call.
var leafRecords = [256]bool{
	trace.MpiSend: true, trace.MpiIsend: true, trace.MpiIsendComplete: true, trace.MpiRecv: true, trace.MpiIrecv: true,
	trace.MpiIrecvRequest: true, trace.MpiCollectiveBegin: true, trace.MpiCollectiveEnd: true,
	trace.NonBlockingCollectiveRequest: true, trace.NonBlockingCollectiveComplete: true,
}

// leafEnd returns the event of the batch at which the call ends that begins with event i, and the index of its region, if the call is a
// leaf and no time bin, slice or interval known before ends in it; else 0.
func (l *Loader) leafEnd(b *trace.Batch, i int) (end, index int) {
	ref := b.Events[i].Ref
	events := b.Events[i+1 : min(len(b.Events), i+2+mostLeaf)]
	k := 0
	for k < len(events) && leafRecords[events[k].Kind] {
		k++
	}
	if k == len(events) || events[k].Kind != trace.Leave || events[k].Ref != ref || uint64(events[k].Time-l.at.t.Origin) >= l.at.wake ||
		b.Events[i].Flags&trace.Estimated != 0 || l.at.mpi.depth > 0 || len(l.teams) > 0 || l.at.alone() != trace.StateOwn {
		return 0, 0
	}
	index, ok := l.at.t.Defs.SameRegion(ref)
	if !ok || l.at.t.plan.Uses[index] != 0 || l.at.t.class[index]&trace.ClassMPI == 0 && (k > 0 || xtf.States[l.at.t.state[index]].Flag != 0) {
		return 0, 0
	}
	return i + 1 + k, index
}

// leaf takes the leaf of a region that begins with event i of the batch, the current one, and ends with event end.
func (l *Loader) leaf(b *trace.Batch, i, end, index int) {
	ref, enter, event, n, path := b.Events[i].Ref, l.at.now, l.at.totals.Events-1, xtf.Never, uint32(0)
	if l.at.rows {
		path, n = l.at.path(ref), l.at.out.Calls.Len()
	}
	l.ledger.enter(enter)
	mpi := l.at.t.class[index]&trace.ClassMPI != 0
	if mpi {
		l.openMPI(n, ref, index)
		l.at.mpi.path, l.at.mpi.depth = path, 1
	}
	l.markers.entered = len(l.at.stack)
	for k := i + 1; k <= end; k++ {
		e := &b.Events[k]
		l.at.event++
		if l.at.now = uint64(e.Time - l.at.t.Origin); l.at.now >= l.at.wake {
			l.markers.attend(e.Kind, e.Ref)
		}
		if l.at.totals.Events++; k < end {
			l.record(b, e)
		}
	}
	l.regions.leafSums(int32(index), enter, n)
	if l.at.rows {
		row, _ := l.at.out.Calls.Append()
		l.at.out.Calls.At(event)
		var c xtf.Call // field by field, as in enter
		c.T, c.End, c.Parent, c.Exclusive = enter, l.at.now, l.at.innermost(), l.at.now-enter
		c.Region, c.Depth, c.Class = ref, uint32(len(l.at.stack)), uint32(l.at.t.class[index])
		if mpi {
			c.Flags = xtf.FlagOutermostMPI | l.at.mpi.interrupts()
			if l.at.mpi.marker {
				c.Flags |= xtf.FlagMarker
			}
		}
		c.Put(row)
		if mpi && l.at.mpi.half {
			l.at.out.Calls.Hold() // markers.settleWaiting closes it
		}
	}
	if mpi {
		l.at.mpi.depth = 0
		l.closeMPI(n, 0)
	}
}

// leafSums does what beginSums and endSums do, for a leaf that ends now, and adds its time to the call around it.
func (s *regionSums) leafSums(index int32, enter, n uint64) {
	if s.at.rows {
		s.bins.began()
	}
	s.spend(enter)
	took := s.at.now - enter
	s.spent = s.at.now
	if top := len(s.at.stack) - 1; top >= 0 {
		s.at.stack[top].child += took
	}
	p := &s.profile[index]
	p.Calls++
	p.Exclusive += took
	if p.open == 0 {
		p.Inclusive += took
		s.bins.leave(index)
	}
	if s.at.rows {
		s.bins.ended(enter, took, n)
	}
}
