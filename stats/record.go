package stats

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// measurementOff is a value of the enumeration MeasurementMode.
const measurementOff = 2

// record handles every record but enter and leave.
func (l *Loader) record(b *trace.Batch, e *trace.Event) {
	w := b.Words(e)
	if e.Kind.Unread() {
		l.mpi.told = true
		l.countUnread(e.Kind)
	}
	switch e.Kind {
	case trace.MpiSend:
		l.send(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], nil)
	case trace.MpiIsend:
		l.send(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], &w[4])
	case trace.MpiRecv:
		l.receive(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], nil)
	case trace.MpiIrecv:
		l.receive(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], &w[4])
	case trace.MpiIrecvRequest:
		l.post(w[0], receiveRequest, 0)
	case trace.NonBlockingCollectiveRequest:
		l.post(w[0], collectiveRequest, 0)
	case trace.MpiIsendComplete:
		l.sendComplete(w[0])
	case trace.MpiRequestCancelled:
		l.cancel(w[0])
	case trace.MpiCollectiveBegin:
		l.begin, l.begun = l.now, true
	case trace.MpiCollectiveEnd:
		l.collective(w, nil)
	case trace.NonBlockingCollectiveComplete:
		l.collective(w, &w[5])
	case trace.CallingContextEnter, trace.CallingContextLeave:
		l.context(e.Kind, uint32(w[0]))
	case trace.CallingContextSample:
		l.sample(uint32(w[0]), uint32(w[2]))
	case trace.OmpTaskSwitch, trace.ThreadTaskSwitch:
		l.switchTask(switchedTo(e.Kind, w))
		l.note(e.Kind, w)
	case trace.Metric:
		l.metric(w)
	case trace.BufferFlush:
		if w[0] > uint64(e.Time) && w[0] != trace.Undefined64 {
			l.measured(l.ledger.off, l.now+(w[0]-uint64(e.Time)))
		}
	case trace.MeasurementOnOff:
		l.measured(w[0] == measurementOff, l.now)
	case trace.ParameterString, trace.ParameterInt, trace.ParameterUnsignedInt:
		if !l.parameter(e.Kind, uint32(w[0]), w[1]) {
			l.countUnread(e.Kind)
		}
	default:
		if !l.note(e.Kind, w) {
			l.operation(e.Kind, w)
		}
	}
	if l.mpi.depth == 0 && len(l.pending)+len(l.done) > 0 {
		l.completeOps(0)
	}
}

// note keeps what a record tells that threads do for one another; false if that is nothing.
func (l *Loader) note(k trace.Kind, w []uint64) bool {
	n, ok := trace.ThreadNoteOf(k, w)
	if ok {
		l.notes.rows = n.Append(l.notes.rows, l.now)
		l.notes.added()
	}
	return ok
}

// instant is the time from which an operation in the current call counts.
func (l *Loader) instant() uint64 {
	if l.mpi.depth > 0 {
		return l.mpi.enter
	}
	return l.now
}

// operates is called for each operation of messages and collectives: outside of calls, a probe before it is over.
func (l *Loader) operates() {
	l.mpi.told = true
	if l.mpi.depth == 0 {
		l.mpi.probed = xtf.Never
	}
}

func (l *Loader) post(id uint64, k requestKind, row uint64) {
	l.mpi.told = true
	l.cut()
	r := request{id: id, posting: l.posting, post: l.instant(), stay: l.stays.n, row: row, kind: k}
	l.posting++
	if l.requests.add(r) {
		l.diag(trace.DiagOpenRequest, fmt.Sprintf("request %d posted again before it completed", id))
	}
}

func (l *Loader) send(rank, comm, tag uint32, bytes uint64, id *uint64) {
	t := l.instant()
	var r xtf.P2P // field by field, as in enter
	r.T, r.Post, r.Done, r.Bytes, r.Comm, r.Tag, r.Kind = t, t, t, bytes, comm, tag, xtf.P2PSend
	posting := l.posting
	if id != nil {
		r.Kind |= xtf.P2PNonBlocking
		r.Done = xtf.Never
		l.post(*id, sendRequest, l.p2p.len())
	} else {
		l.posting++
	}
	l.tally(amountSends, bytes, 0)
	l.message(&r, rank, pendingOp{posting: posting})
}

func (l *Loader) receive(rank, comm, tag uint32, bytes uint64, id *uint64) {
	t := l.instant()
	var r xtf.P2P
	r.T, r.Post, r.Done, r.Bytes, r.Comm, r.Tag, r.Kind = t, t, t, bytes, comm, tag, xtf.P2PRecv
	if id != nil {
		r.Kind |= xtf.P2PNonBlocking
	}
	posting, stay := l.posted(id, &r.Post, "receive")
	if id == nil && l.mpi.depth > 0 && l.mpi.probed != xtf.Never {
		r.Post = l.mpi.probed
		r.Kind |= xtf.P2PProbed
	}
	l.tally(amountReceives, bytes, 0)
	l.message(&r, rank, pendingOp{posting: posting, stay: stay})
}

// posted returns the number of the posting that an operation completes, and sets
// post to its instant; stay is that of the request. Without a request, or with one
// never posted, the operation posts itself now.
func (l *Loader) posted(id *uint64, post *uint64, what string) (posting, stay uint64) {
	if id != nil {
		l.cut()
		if q, ok := l.requests.take(*id); ok {
			*post = q.post
			return q.posting, q.stay
		}
		l.diag(trace.DiagUnknownRequest, fmt.Sprintf("%s completes request %d", what, *id))
	}
	l.posting++
	return l.posting - 1, xtf.Never
}

// message stages the row of an operation in the current call.
func (l *Loader) message(r *xtf.P2P, rank uint32, op pendingOp) {
	l.operates()
	r.End, r.CallN, r.MateN, r.Seq, r.MateT = xtf.Never, l.mpi.n, xtf.Never, xtf.Never, xtf.Never
	r.Region = l.mpi.region
	r.Peer = l.t.Defs.Peer(r.Comm, rank, l.process)
	if r.Peer == trace.UnknownProcess {
		l.diag(trace.DiagUnknownPeer, fmt.Sprintf("rank %d of communicator %d", rank, r.Comm))
	}
	if l.mpi.depth > 0 {
		l.profile[l.mpi.index].Bytes += r.Bytes
	}
	if self := r.Peer == l.process; r.Kind&xtf.P2PNotice != 0 { // no marker
	} else if r.Kind&xtf.P2PKindMask == xtf.P2PSend {
		r.Kind |= l.sent(self, r.Comm, r.Tag, l.p2p.len())
	} else {
		r.Kind |= l.received(self, r.Comm, r.Tag, l.p2p.len())
	}
	if !l.rows {
		l.skip(&l.p2p)
		return
	}
	row, n := l.p2p.add()
	r.MateP = l.innermostPath() // until its match
	if r.Kind&xtf.P2PProbed != 0 {
		r.MateP = l.mpi.probe // where it waits
	}
	r.Put(row)
	op.row = n
	l.pending = append(l.pending, op)
}

func (l *Loader) sendComplete(id uint64) {
	l.operates()
	l.cut()
	r, ok := l.requests.take(id)
	if !ok || r.kind != sendRequest {
		l.diag(trace.DiagUnknownRequest, fmt.Sprintf("send completion of request %d", id))
		return
	}
	if l.rows {
		l.done = append(l.done, doneSend{r.row, l.innermostPath()})
	}
}

// cancel ends a request without completing it. The row of a send stays and is
// marked; it matches nothing.
func (l *Loader) cancel(id uint64) {
	l.cut()
	r, ok := l.requests.take(id)
	if !ok {
		l.diag(trace.DiagUnknownRequest, fmt.Sprintf("cancellation of request %d", id))
		return
	}
	if r.kind != sendRequest || !l.numbers {
		return
	}
	if l.canceled == nil {
		l.canceled = make(map[uint64]bool)
	}
	if l.canceled[r.posting] = true; !l.rows {
		return
	}
	if row := l.p2p.row(r.row); row != nil {
		xtf.SetU32(row, xtf.P2PKind, xtf.U32(row, xtf.P2PKind)|xtf.P2PIncomplete)
	} else {
		l.late.add(r.row, xtf.Never, xtf.Never, xtf.Never, 0, 0)
	}
}

func (l *Loader) collective(w []uint64, id *uint64) {
	l.operates()
	t := l.instant()
	if l.mpi.depth == 0 && id == nil && l.begun {
		t = max(l.begin, l.lastColl) // rows are in the order of T, whatever the records claim
	}
	l.begun, l.lastColl = false, t
	r := xtf.Coll{
		T: t, Post: t, Sent: w[3], Received: w[4], CallN: l.mpi.n, Region: l.mpi.region,
		Comm: uint32(w[1]), Root: uint32(w[2]), Flags: uint32(w[0]) & xtf.CollOpMask,
	}
	if id != nil {
		r.Flags |= xtf.CollNonBlocking
	}
	if l.t.Defs.CommSize(r.Comm) == 0 {
		l.diag(trace.DiagBadReference, fmt.Sprintf("communicator %d", r.Comm))
	}
	posting, _ := l.posted(id, &r.Post, "collective")
	r.End, r.LastEnter, r.FirstLeave, r.LastLeave = xtf.Never, xtf.Never, xtf.Never, xtf.Never
	l.tally(amountCollectives, r.Sent, r.Received)
	if id == nil && l.mpi.depth > 0 && !l.mpi.between && l.t.plan.IsBetween(uint32(w[0]), r.Comm) {
		l.mpi.between = true
		l.border(endBetween, l.mpi.enter, l.amountsAtCall(), interval.Key{})
	}
	if l.mpi.depth > 0 {
		l.profile[l.mpi.index].Bytes += r.Sent + r.Received
	}
	if !l.rows {
		l.skip(&l.coll)
		return
	}
	row, n := l.coll.add()
	r.Ordinal = uint64(l.innermostPath()) // until its match
	r.Put(row)
	l.pending = append(l.pending, pendingOp{posting: posting, row: n, coll: true})
}

// completeOps ends the operations of the current call now: their rows get End,
// their channel entries are written. So rows with a call have its begin and end, which xtf.ArrayBuilder.Follow relies on.
func (l *Loader) completeOps(flags uint32) {
	for i := range l.pending {
		if op := &l.pending[i]; op.coll {
			l.completeColl(op)
		} else {
			l.completeP2P(op, flags)
		}
	}
	enter := l.now
	if l.mpi.n != xtf.Never {
		enter = l.mpi.enter
	}
	for _, x := range l.done {
		l.late.add(x.row, l.now, enter, l.mpi.n, uint64(x.path), uint64(l.mpi.region))
	}
	l.pending, l.done = l.pending[:0], l.done[:0]
	if l.markers.recognizer.Idle() {
		l.p2p.settle()
		l.coll.settle()
	}
}

func (l *Loader) completeP2P(op *pendingOp, flags uint32) {
	row := l.p2p.row(op.row)
	kind := xtf.U32(row, xtf.P2PKind)
	xtf.SetU64(row, xtf.P2PEnd, l.now)
	receive := kind&xtf.P2PKindMask == xtf.P2PRecv
	if flags&xtf.FlagCut != 0 && !receive {
		xtf.SetU64(row, xtf.P2PDone, xtf.Never)
	} else if receive || kind&xtf.P2PNonBlocking == 0 {
		xtf.SetU64(row, xtf.P2PDone, l.now)
	}
	if l.out.Ends {
		xtf.SetU64(row, xtf.P2PCallN, l.totals.Events-1)
	}
	k := channelKey{peer: xtf.U32(row, xtf.P2PPeer), comm: xtf.U32(row, xtf.P2PComm), tag: xtf.U32(row, xtf.P2PTag)}
	var o operation // field by field, as in enter
	o.posting, o.row, o.t, o.end = op.posting, op.row, xtf.U64(row, xtf.P2PT), l.now
	o.bytes, o.post, o.stay = xtf.U64(row, xtf.P2PBytes), xtf.U64(row, xtf.P2PPost), op.stay
	if receive {
		k.direction = xtf.ChannelReceive
	} else if kind&xtf.P2PNotice == 0 {
		o.flags = l.sendFlags(kind)
	}
	if kind&xtf.P2PProbed != 0 {
		o.post = o.t // a probe posts nothing
	}
	if op.locked != nil {
		op.locked.put(&o)
	}
	l.addEntry(k, &o)
}

// sendFlags tells what a send of the current call waits for. Outside of calls
// nobody waits.
func (l *Loader) sendFlags(kind uint32) (flags uint32) {
	if l.mpi.region == trace.Undefined {
		return 0
	}
	if kind&xtf.P2PNonBlocking == 0 {
		flags = entryBlocking
	}
	if l.t.synchronous[l.mpi.index] {
		flags |= entrySynchronous
	}
	return flags
}

func (l *Loader) completeColl(op *pendingOp) {
	row := l.coll.row(op.row)
	xtf.SetU64(row, xtf.CollEnd, l.now)
	if l.out.Ends {
		xtf.SetU64(row, xtf.CollCallN, l.totals.Events-1)
	}
	o := operation{
		posting: op.posting, row: op.row, t: xtf.U64(row, xtf.CollPost), end: l.now,
		bytes: xtf.U64(row, xtf.CollSent), post: uint64(xtf.U32(row, xtf.CollFlags)&xtf.CollOpMask)<<32 | uint64(xtf.U32(row, xtf.CollRoot)),
	}
	if xtf.U64(row, xtf.CollReceived) > 0 {
		o.flags = entryTakes
	}
	l.addEntry(channelKey{trace.Undefined, xtf.U32(row, xtf.CollComm), trace.Undefined, xtf.ChannelColl}, &o)
}

func (l *Loader) addEntry(k channelKey, o *operation) {
	if err := l.entries.add(k, o); err != nil && l.err == nil {
		l.err = fmt.Errorf("channel entries: %w", err)
	}
}

func (l *Loader) context(k trace.Kind, ref uint32) {
	l.seen = l.now
	region, _ := l.t.Defs.ContextRegion(ref) // an unknown context is a call of an unknown region, counted as such
	if k == trace.CallingContextEnter {
		if !l.underParent(ref) {
			l.diag(trace.DiagNoFrame, fmt.Sprintf("calling context %d", ref))
		}
		l.site = ref
		l.enter(region, 0)
		l.site = trace.Undefined
	} else {
		l.leave(region)
	}
}

// underParent reports whether the parent of a calling context is the innermost open call, or there is none.
func (l *Loader) underParent(ref uint32) bool {
	c := l.t.Defs.Context(ref)
	if c == nil {
		return true
	}
	parent, ok := l.t.Defs.ContextRegion(c.Parent)
	return !ok || len(l.stack) > 0 && l.stack[len(l.stack)-1].region == parent
}

// sample counts a sample; trace.Frames has made calls of its frames.
func (l *Loader) sample(context, generator uint32) {
	if u := &l.samples; u.count == 0 {
		u.first, u.event = l.now, l.event
	} else if gap := l.now - l.seen; gap > 2*l.t.period(generator) {
		l.diags.Add(trace.Diagnostic{Code: trace.DiagSampleGap, Time: trace.Time(l.seen), Event: l.event, Worst: gap})
	}
	l.samples.count++
	l.seen = l.now
	region, ok := l.t.Defs.ContextRegion(context)
	if top := len(l.stack) - 1; !ok || top < 0 || l.stack[top].region != region {
		l.diag(trace.DiagNoFrame, fmt.Sprintf("sample of calling context %d", context))
	}
}

func (l *Loader) metric(w []uint64) {
	if !l.rows {
		l.counted.metrics += w[1]
		return
	}
	for i := 0; i < int(w[1]); i++ {
		row, _ := l.out.Metrics.Append()
		m := xtf.Metric{T: l.now, Value: w[3+2*i], Metric: uint32(w[0]), Flags: uint32(i)<<8 | uint32(w[2+2*i])&0xFF}
		m.Put(row)
	}
}

// operation handles file and one-sided operations; all other records carry no
// row and stay in the call graph.
func (l *Loader) operation(k trace.Kind, w []uint64) {
	switch k {
	case trace.IoOperationBegin:
		l.fileOperation(uint32(w[0]), w[1], w[3], w[4])
	case trace.IoOperationComplete:
		l.closeRow(&l.io, l.out.IO, w[2], xtf.IODone, w[1])
	case trace.IoOperationCancelled:
		l.closeRow(&l.io, l.out.IO, w[1], -1, 0)
	case trace.RmaPut, trace.RmaGet:
		l.oneSided(k, w[0], w[1], w[2], w[3])
	case trace.RmaAtomic:
		l.oneSided(k, w[0], w[1], w[3]+w[4], w[5])
	case trace.RmaSync:
		l.synchronised(uint32(w[0]), uint32(w[1]))
	case trace.RmaGroupSync:
		l.synchronisedAll(uint32(w[1]), uint32(w[2]))
	case trace.RmaAcquireLock:
		l.acquired(uint32(w[0]), uint32(w[1]), w[3] != sharedLock)
	case trace.RmaReleaseLock:
		l.released(uint32(w[0]), uint32(w[1]))
	case trace.RmaOpCompleteBlocking, trace.RmaOpCompleteNonBlocking, trace.RmaOpCompleteRemote:
		l.closeRow(&l.rma, l.out.RMA, w[1], -1, 0)
	}
}

func (l *Loader) fileOperation(handle uint32, mode, bytes, id uint64) {
	op := xtf.IOOther
	switch mode {
	case 0:
		op = xtf.IORead
	case 1:
		op = xtf.IOWrite
	}
	row, n := l.openRowOf(l.out.IO, &l.counted.io)
	if l.rows {
		r := xtf.IO{T: l.now, End: xtf.Never, CallN: l.innermost(), Asked: bytes, Handle: handle, Op: op}
		r.Put(row)
	}
	l.openRow(&l.io, l.out.IO, id, n)
}

func (l *Loader) oneSided(k trace.Kind, win, remote, bytes, id uint64) {
	row, n := l.openRowOf(l.out.RMA, &l.counted.rma)
	if l.rows {
		r := xtf.RMA{T: l.now, End: xtf.Never, CallN: l.innermost(), Bytes: bytes, Window: uint32(win), Target: uint32(remote), Op: uint32(k)}
		r.Put(row)
	}
	l.openRow(&l.rma, l.out.RMA, id, n)
}

func (l *Loader) innermost() uint64 {
	if len(l.stack) == 0 {
		return xtf.Never
	}
	return l.stack[len(l.stack)-1].n
}

func (l *Loader) openRow(q *requests, a *xtf.ArrayBuilder, id, n uint64) {
	l.mpi.told = true
	if old, ok := q.take(id); ok {
		if l.rows {
			a.Close(old.row)
		}
		l.diag(trace.DiagOpenRequest, fmt.Sprintf("operation %d begun again before it completed", id))
	}
	q.add(request{id: id, row: n})
}

// closeRow ends an operation; completions of unknown ones are left alone: an
// RMA operation may complete locally and remotely.
func (l *Loader) closeRow(q *requests, a *xtf.ArrayBuilder, id uint64, column int, v uint64) {
	r, ok := q.take(id)
	if !ok || !l.rows {
		return
	}
	row := a.Row(r.row)
	xtf.SetU64(row, xtf.IOEnd, l.now) // End has the same place in IO and RMA rows
	if column >= 0 {
		xtf.SetU64(row, column, v)
	}
	a.Close(r.row)
}
