package stats

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// measurementOff is a value of the enumeration MeasurementMode.
const measurementOff = 2

// record handles every record but enter and leave.
func (l *Loader) record(b *trace.Batch, e *trace.Event) {
	w := b.Words(e)
	if e.Kind.Unread() {
		l.at.mpi.recorded = true
		l.census.countUnread(e.Kind)
	}
	switch e.Kind {
	case trace.MpiSend:
		l.ops.send(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], nil)
	case trace.MpiIsend:
		l.ops.send(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], &w[4])
	case trace.MpiRecv:
		l.ops.receive(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], nil)
	case trace.MpiIrecv:
		l.ops.receive(uint32(w[0]), uint32(w[1]), uint32(w[2]), w[3], &w[4])
	case trace.MpiIrecvRequest:
		l.ops.post(w[0], receiveRequest, 0)
	case trace.NonBlockingCollectiveRequest:
		l.ops.post(w[0], collectiveRequest, 0)
	case trace.MpiIsendComplete:
		l.ops.sendComplete(w[0])
	case trace.MpiRequestCancelled:
		l.ops.cancel(w[0])
	case trace.MpiCollectiveBegin:
		l.ops.begun = beginning{l.at.now, true}
	case trace.MpiCollectiveEnd:
		l.ops.collective(trace.RecordedOp(w[0]), w[1:], nil)
	case trace.NonBlockingCollectiveComplete:
		l.ops.collective(trace.RecordedOp(w[0]), w[1:], &w[5])
	case trace.RmaCollectiveEnd:
		if !l.ops.onWindow(w[0], uint32(w[2])) {
			l.at.mpi.recorded = true
			l.census.countUnread(e.Kind)
		}
	case trace.CallingContextEnter, trace.CallingContextLeave:
		l.context(e.Kind, uint32(w[0]))
	case trace.CallingContextSample:
		l.census.sample(uint32(w[0]), uint32(w[2]))
	case trace.OmpTaskSwitch, trace.ThreadTaskSwitch:
		l.switchTask(namedTask(e.Kind, w))
		l.note(e.Kind, w)
	case trace.OmpTaskComplete, trace.ThreadTaskComplete:
		l.completeTask(namedTask(e.Kind, w))
		l.note(e.Kind, w)
	case trace.Metric:
		l.files.metric(w)
	case trace.BufferFlush:
		if w[0] > uint64(e.Time) && w[0] != trace.Undefined64 {
			l.ledger.measured(l.ledger.off, l.at.now+(w[0]-uint64(e.Time)))
		}
	case trace.MeasurementOnOff:
		l.ledger.measured(w[0] == measurementOff, l.at.now)
	case trace.ParameterString, trace.ParameterInt, trace.ParameterUnsignedInt:
		if !l.markers.parameter(e.Kind, uint32(w[0]), w[1]) {
			l.census.countUnread(e.Kind)
		}
	default:
		if !l.note(e.Kind, w) {
			l.operation(e.Kind, w)
		}
	}
	if l.at.mpi.depth == 0 && len(l.ops.pending)-l.ops.ended+len(l.ops.done) > 0 {
		l.ops.completeOps(0)
	}
}

// note writes the note of a record of what threads do for each other. It returns false for other records.
func (l *Loader) note(k trace.Kind, w []uint64) bool {
	n, ok := trace.ThreadNoteOf(k, w)
	if ok {
		var row [trace.NoteBytes]byte
		_ = l.notes.AddRow(n.Append(row[:0], l.at.now)) // endSpans returns the error
	}
	return ok
}

// operates notes that there is an operation. Outside of calls a probe before it no longer counts.
func (o *operations) operates() {
	o.at.mpi.recorded = true
	if o.at.mpi.depth == 0 {
		o.at.mpi.probed = xtf.Never
	}
}

// post takes the posting of a nonblocking operation. row is that of a send.
func (o *operations) post(id uint64, k requestKind, row uint64) {
	o.at.mpi.recorded = true
	o.ledger.cut()
	r := request{id: id, posting: o.posting, post: o.at.instant(), stay: o.stays.n, row: row, kind: k}
	o.posting++
	if o.at.requests.add(r) {
		o.at.diag(trace.DiagOpenRequest, fmt.Sprintf("request %d posted again before it completed", id))
	}
}

// newMessage begins a message of the current call, which message then adds.
func (o *operations) newMessage(kind, comm, tag uint32, bytes uint64) *pendingOp {
	op := o.newOperation(comm, tag)
	if op.Direction = xtf.ChannelSend; kind&xtf.P2PKindMask == xtf.P2PRecv {
		op.Direction = xtf.ChannelReceive
	}
	op.Kind, op.Bytes, op.Stay, op.Row = kind, bytes, xtf.Never, o.at.p2p
	return op
}

// newOperation begins an operation of the current call, in the memory after the last one of pending. It sets field by field, as in enter.
func (o *operations) newOperation(comm, tag uint32) *pendingOp {
	n, t := len(o.pending), o.at.instant()
	o.pending = slices.Grow(o.pending, 1)
	op := &o.pending[:n+1][n]
	op.Comm, op.Tag = comm, tag
	if o.at.mpi.depth == 0 {
		o.at.diag(trace.DiagNoCall, "")
	}
	op.T, op.Own, op.Post, op.CallN, op.Flags, op.Region, op.locked = t, t, t, o.at.mpi.n, 0, o.at.mpi.region, nil
	return op
}

func (o *operations) send(rank, comm, tag uint32, bytes uint64, id *uint64) {
	op := o.newMessage(xtf.P2PSend, comm, tag, bytes)
	op.Posting = o.posting
	if id != nil {
		op.Kind |= xtf.P2PNonBlocking
		o.post(*id, sendRequest, op.Row)
	} else {
		o.posting++
	}
	o.ledger.tally(amountSends, bytes, 0)
	o.message(op, rank)
}

func (o *operations) receive(rank, comm, tag uint32, bytes uint64, id *uint64) {
	op := o.newMessage(xtf.P2PRecv, comm, tag, bytes)
	if id != nil {
		op.Kind |= xtf.P2PNonBlocking
	}
	op.Posting, op.Stay = o.posted(id, &op.Post, "receive")
	if id == nil && o.at.mpi.depth > 0 && o.at.mpi.probed != xtf.Never {
		op.Post = o.at.mpi.probed
		op.Kind |= xtf.P2PProbed
	}
	o.ledger.tally(amountReceives, bytes, 0)
	o.message(op, rank)
}

// posted returns the number of the posting that an operation completes, with the stay of the request, and sets post to its instant. An
// operation without a request, or whose request was never posted, posts itself now.
func (o *operations) posted(id *uint64, post *uint64, what string) (posting, stay uint64) {
	if id != nil {
		o.ledger.cut()
		if q, ok := o.at.requests.take(*id); ok {
			*post = q.post
			return q.posting, q.stay
		}
		o.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("%s completes request %d", what, *id))
	}
	o.posting++
	return o.posting - 1, xtf.Never
}

// message adds an operation that newMessage began.
func (o *operations) message(op *pendingOp, rank uint32) {
	o.operates()
	op.Peer = o.at.t.Defs.Peer(op.Comm, rank, o.at.process)
	if op.Peer == trace.UnknownProcess {
		o.at.diag(trace.DiagUnknownPeer, fmt.Sprintf("rank %d of communicator %d", rank, op.Comm))
	}
	if o.at.mpi.depth > 0 {
		o.regions.profile[o.at.mpi.index].Bytes += op.Bytes
	}
	if self := op.Peer == o.at.process; op.Kind&xtf.P2PNotice != 0 { // not a marker
	} else if op.Direction == xtf.ChannelSend {
		op.Kind |= o.markers.sent(self, op.Comm, op.Tag, op.Row)
	} else {
		op.Kind |= o.markers.received(self, op.Comm, op.Tag, op.Row)
	}
	if !o.at.rows {
		return
	}
	o.at.p2p++
	if op.Path = o.at.innermostPath(); op.Kind&xtf.P2PProbed != 0 {
		op.Path = o.at.mpi.probe // it waits there
	}
	o.pending = o.pending[:len(o.pending)+1]
}

// sendComplete takes the completion of a nonblocking send by the current call.
func (o *operations) sendComplete(id uint64) {
	o.operates()
	o.ledger.cut()
	r, ok := o.at.requests.take(id)
	if !ok || r.kind != sendRequest {
		o.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("send completion of request %d", id))
		return
	}
	if o.at.rows {
		o.done = append(o.done, doneSend{r.row, o.at.innermostPath()})
	}
}

// cancel ends a request without completing it. The row of a send stays, but matches nothing.
func (o *operations) cancel(id uint64) {
	o.ledger.cut()
	r, ok := o.at.requests.take(id)
	if !ok {
		o.at.diag(trace.DiagUnknownRequest, fmt.Sprintf("cancellation of request %d", id))
		return
	}
	switch detail := fmt.Sprintf("request %d", id); r.kind {
	case sendRequest:
		o.at.diag(trace.DiagCanceledSend, detail)
	case receiveRequest:
		o.at.diag(trace.DiagCanceledRecv, detail)
	}
	if r.kind != sendRequest || !o.at.rows {
		return
	}
	if o.canceled == nil {
		o.canceled = make(map[uint64]bool)
	}
	o.canceled[r.posting] = true
}

// collective adds a member of a collective operation. w is communicator, root, bytes sent and received; id a nonblocking one's request.
func (o *operations) collective(kind uint32, w []uint64, id *uint64) {
	o.operates()
	comm, root, sent, received := uint32(w[0]), uint32(w[1]), w[2], w[3]
	op := o.newOperation(comm, trace.Undefined)
	if o.at.mpi.depth == 0 && id == nil && o.begun.set {
		op.T = max(o.begun.t, o.lastColl) // rows must be in the order of T
	}
	o.begun.set, o.lastColl = false, op.T
	op.Peer, op.Direction, op.Row = trace.Undefined, xtf.ChannelColl, o.at.coll
	op.Own, op.Post, op.Bytes, op.Stay = op.T, uint64(kind)<<32|uint64(root), sent, received
	if op.Kind = 0; id != nil {
		op.Kind = xtf.CollNonBlocking
	}
	if received > 0 {
		op.Flags = match.EntryTakes
	}
	if o.at.t.Defs.CommSize(comm) == 0 {
		o.at.diag(trace.DiagBadReference, fmt.Sprintf("communicator %d", comm))
	}
	op.Posting, _ = o.posted(id, &op.T, "collective")
	if !trace.Unnumbered(kind) {
		o.ledger.tally(amountCollectives, sent, received)
	}
	if id == nil && o.at.mpi.depth > 0 && !o.at.mpi.between && o.at.t.plan.IsBetween(kind, comm) {
		o.at.mpi.between = true
		o.markers.border(endBetween, o.at.mpi.enter, o.ledger.amountsAtCall(), interval.Key{})
	}
	if o.at.mpi.depth > 0 {
		o.regions.profile[o.at.mpi.index].Bytes += sent + received
	}
	if o.at.rows {
		o.at.coll++
		op.Path = o.at.innermostPath()
		o.pending = o.pending[:len(o.pending)+1]
	}
}

// onFile makes the current call, if it is a collective operation on files, a collective of the processes that opened a file together. It
// does so for the first record of the call that names a file.
func (o *operations) onFile(handle uint32) {
	comm, shared := o.at.t.files[handle]
	if !shared || o.at.mpi.depth == 0 || o.at.mpi.onFile || o.at.t.onFile[o.at.mpi.index] == 0 {
		return
	}
	o.at.mpi.onFile = true
	o.collective(o.at.t.onFile[o.at.mpi.index], []uint64{uint64(comm), trace.Undefined, 0, 0}, nil)
}

// completeOps ends the operations of the current call now. So their rows have the begin and end of the call, as xtf.ArrayBuilder.Follow
// requires.
func (o *operations) completeOps(flags uint32) {
	for i := o.ended; i < len(o.pending); i++ {
		o.endOperation(&o.pending[i], flags)
	}
	o.ended = len(o.pending)
	enter := o.at.now
	if o.at.mpi.n != xtf.Never {
		enter = o.at.mpi.enter
	}
	for _, x := range o.done {
		o.late.Completed(x.row, o.at.now, enter, o.at.mpi.n, x.path, o.at.mpi.region)
	}
	o.done = o.done[:0]
	o.granted()
	if o.markers.recognizer.Idle() {
		o.deal()
	}
}

func (o *operations) endOperation(op *pendingOp, flags uint32) {
	op.End = o.at.now
	if o.at.out.Ends {
		op.CallN = o.at.totals.Events - 1
	}
	if op.Direction != xtf.ChannelSend {
		return
	}
	if op.Kind&xtf.P2PNonBlocking != 0 || flags&xtf.FlagCut != 0 {
		op.Kind |= xtf.P2PIncomplete
	}
	if op.Kind&xtf.P2PNotice == 0 {
		op.Flags = o.sendFlags(op.Kind)
	}
	if op.locked != nil {
		op.locked.put(&op.Operation)
	}
}

// deal adds the pending operations, which have ended, to their channels.
func (o *operations) deal() {
	for i := range o.pending {
		op := &o.pending[i]
		if err := o.entries.Add(op.Key, &op.Operation); err != nil && o.at.err == nil {
			o.at.err = fmt.Errorf("channel entries: %w", err)
		}
	}
	o.pending, o.ended = o.pending[:0], 0
}

// sendFlags returns the entry flags of a send of the current call; none outside of calls.
func (o *operations) sendFlags(kind uint32) (flags uint32) {
	if o.at.mpi.region == trace.Undefined {
		return 0
	}
	if kind&xtf.P2PNonBlocking == 0 {
		flags = match.EntryBlocking
	}
	if o.at.t.synchronous[o.at.mpi.index] {
		flags |= match.EntrySynchronous
	}
	return flags
}

// context takes the enter or leave of a calling context, which is a call.
func (l *Loader) context(k trace.Kind, ref uint32) {
	l.census.seen = l.at.now
	region, _ := l.at.t.Defs.ContextRegion(ref) // an unknown context is a call of an unknown region
	if k == trace.CallingContextEnter {
		if !l.at.underParent(ref) {
			l.at.diag(trace.DiagNoFrame, fmt.Sprintf("calling context %d", ref))
		}
		l.site = ref
		l.enter(region, 0)
		l.site = trace.Undefined
	} else {
		l.leave(region)
	}
}

// sample counts a sample. trace.Frames made calls of its frames before.
func (c *census) sample(context, generator uint32) {
	if u := &c.samples; u.count == 0 {
		u.first, u.event = c.at.now, c.at.event
	} else if gap := c.at.now - c.seen; gap > 2*c.at.t.period(generator) {
		c.at.diags.Add(trace.Diagnostic{Code: trace.DiagSampleGap, Time: trace.Time(c.seen), Event: c.at.event, Worst: gap})
	}
	c.samples.count++
	c.seen = c.at.now
	region, ok := c.at.t.Defs.ContextRegion(context)
	if top := len(c.at.stack) - 1; !ok || top < 0 || c.at.stack[top].region != region {
		c.at.diag(trace.DiagNoFrame, fmt.Sprintf("sample of calling context %d", context))
	}
}

// operation handles file operations, one-sided operations and synchronisation of windows. Other records have no rows; the call graph has
// them.
func (l *Loader) operation(k trace.Kind, w []uint64) {
	switch k {
	case trace.IoCreateHandle, trace.IoDestroyHandle, trace.IoSeek, trace.IoOperationBegin:
		l.ops.onFile(uint32(w[0]))
	}
	switch k {
	case trace.IoOperationBegin:
		l.files.fileOperation(uint32(w[0]), w[1], w[3], w[4])
	case trace.IoOperationComplete:
		l.files.closeFile(w[0], w[2], w[1])
	case trace.IoOperationCancelled:
		l.files.closeFile(w[0], w[1], 0)
	case trace.RmaPut, trace.RmaGet:
		l.files.oneSided(k, w[0], w[1], w[2], w[3])
	case trace.RmaAtomic:
		l.files.oneSided(k, w[0], w[1], w[3]+w[4], w[5])
	case trace.RmaSync:
		l.ops.synchronised(uint32(w[0]), uint32(w[1]))
	case trace.RmaGroupSync:
		const processes = 1      // of RmaSyncLevel
		if w[0]&processes != 0 { // else it is an MPI_Win_test that found the epoch not over
			l.ops.synchronisedAll(uint32(w[1]), uint32(w[2]))
		}
	case trace.RmaRequestLock:
		l.ops.requested(uint32(w[0]), uint32(w[1]), w[3] != sharedLock)
	case trace.RmaAcquireLock:
		l.ops.acquired(uint32(w[0]), uint32(w[1]), w[3] != sharedLock)
	case trace.RmaReleaseLock:
		l.ops.released(uint32(w[0]), uint32(w[1]))
	case trace.RmaOpCompleteBlocking, trace.RmaOpCompleteNonBlocking, trace.RmaOpCompleteRemote:
		l.files.complete(k, w[1])
	}
}

// unread counts the records of a kind.
type unread struct {
	count uint64
	first uint64 // time of the first one, ticks since the origin
	event uint64 // its number
}

// census counts samples, and records of kinds that no analysis reads (trace.Kind.Unread).
type census struct {
	at      *location
	unread  [256]unread // by kind of record
	samples unread
	seen    uint64 // time of the newest record of a calling context
}

func (c *census) countUnread(k trace.Kind) {
	u := &c.unread[k]
	if u.count == 0 {
		u.first, u.event = c.at.now, c.at.event
	}
	u.count++
}

// reportUnread makes one diagnostic for each kind that was counted.
func (c *census) reportUnread() {
	if u := &c.samples; u.count > 0 {
		c.at.diags.Add(trace.Diagnostic{Code: trace.DiagSampled, Time: trace.Time(u.first), Event: u.event, Count: u.count})
	}
	for k := range c.unread {
		if u := &c.unread[k]; u.count > 0 {
			c.at.diags.Add(trace.Diagnostic{Code: trace.UnreadCode(trace.Kind(k)), Time: trace.Time(u.first), Event: u.event, Count: u.count})
		}
	}
}
