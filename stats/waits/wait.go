package waits

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// wait is a wait state of the current location. Without a wait to <= from.
type wait struct {
	from, to uint64 // ticks
	row      uint64 // in P2P or COLL
	pattern  uint32 // with its order
	cause    uint32 // location, trace.Undefined for none
}

func (w *wait) length() uint64 { return w.to - min(w.from, w.to) }

// received reports whether a message row is a receive with a partner, and not of a marker.
func received(kind uint32) bool {
	return kind&(xtf.P2PKindMask|xtf.P2PUnmatched|xtf.P2PMarker) == xtf.P2PRecv
}

// noticed reports whether a message row is a notice that a call may wait for.
func noticed(m *xtf.Message) bool {
	return m.Kind&(xtf.P2PKindMask|xtf.P2PUnmatched|xtf.P2PNotice) == xtf.P2PRecv|xtf.P2PNotice && m.MateT <= m.End
}

// sent reports whether a message row is a send with a partner, and not of a marker.
func sent(kind uint32) bool {
	return kind&(xtf.P2PKindMask|xtf.P2PUnmatched|xtf.P2PMarker) == xtf.P2PSend
}

// readyAt returns the enter of the call in which the receiver of a message can block, ρ.
func readyAt(m *xtf.Message) uint64 {
	if m.Kind&xtf.P2PProbed != 0 {
		return m.Post
	}
	return m.T
}

// messageWaits are the waits of one call for messages: for the message sent last, and for the last receivers.
type messageWaits struct {
	any      bool   // a message was received
	sent     uint64 // σ of the message sent last
	left     uint64 // leave of the call; set with progress
	late     wait   // for the sender
	receiver wait
	progress wait
}

func (m *messageWaits) waits() bool {
	return m.late.from < m.late.to || m.receiver.to|m.progress.to != 0
}

// clear prepares for the next call.
func (m *messageWaits) clear() {
	m.any = false
	m.late.to, m.receiver.to, m.progress.to = 0, 0, 0
}

// received takes a message of the call, a receive with a partner.
func (m *messageWaits) received(row *xtf.Message) {
	r := Receive{Ready: readyAt(row), Leave: row.End, Sent: row.MateT}
	if !m.any || r.Sent > m.sent {
		m.any, m.sent = true, r.Sent
		from, to := r.LateSender()
		m.late = wait{from, to, row.N, xtf.WaitLateSender, row.MateP}
	}
}

// noticed takes a notice that the call may wait for.
func (m *messageWaits) noticed(row *xtf.Message) {
	if !m.any || row.MateT > m.sent {
		m.any, m.sent = true, row.MateT
		m.late = wait{row.T, row.MateT, row.N, xtf.NoticePatterns[xtf.NoticeKind(row.Tag)], row.MateP}
	}
}

// completed takes a send that the call completes.
func (m *messageWaits) completed(x *sentMessage) {
	if from, to := x.LateReceiver(); to > max(from, m.receiver.to) {
		m.receiver = wait{from, to, x.row, xtf.WaitLateReceiver, x.mate}
	}
	if from, to := x.LateProgress(); to > max(from, m.progress.to) {
		m.progress, m.left = wait{from, to, x.row, xtf.WaitLateProgress, x.mate}, x.Leave
	}
}

// append appends the waits of the call that count (package comment).
func (m *messageWaits) append(list []wait) []wait {
	progress := m.progress
	if m.late.length() > 0 {
		list = append(list, m.late)
		if progress.from = max(progress.from, m.late.to); progress.length() > m.left-progress.to {
			list = append(list, progress)
		}
		return list
	}
	progress.from = max(progress.from, m.receiver.to)
	for _, w := range [...]wait{m.receiver, progress} {
		if w.length() > 0 {
			list = append(list, w)
		}
	}
	return list
}

// collWaits appends the waits of a member of a collective operation. A member without a cause needs nobody: it is the root that sends, or
// gets no data.
func collWaits(list []wait, c *xtf.Collective) []wait {
	if c.Ordinal == xtf.Never || c.Cause.CauseT == xtf.Never {
		return list
	}
	entry := func(pattern uint32) wait {
		return wait{c.T, min(c.Cause.CauseT, c.End), c.N, pattern, c.Cause.CauseP}
	}
	op := c.Flags & xtf.CollOpMask
	class := trace.CollectiveClass(op)
	if trace.MayMeet(op) {
		if c.LastEnter <= c.FirstLeave && c.Flags&(xtf.CollNonBlocking|xtf.CollShort|xtf.CollMixed) == 0 {
			list = append(list, entry(xtf.WaitBarrier))
		}
		return list
	}
	if class&(trace.ClassBarrier|trace.ClassNxN) != 0 {
		first, done := xtf.WaitBarrier, xtf.WaitBarrierCompletion
		if class&trace.ClassNxN != 0 {
			first, done = xtf.WaitNxN, xtf.WaitNxNCompletion
		}
		return append(list, entry(first), wait{max(c.T, c.FirstLeave), c.End, c.N, done, trace.Undefined})
	}
	switch {
	case class&trace.ClassOneToN != 0:
		return append(list, entry(xtf.WaitLateBroadcast))
	case class&trace.ClassNToOne != 0:
		return append(list, entry(xtf.WaitEarlyReduce))
	case class&trace.ClassPrefix != 0:
		return append(list, entry(xtf.WaitEarlyScan))
	}
	return list
}

// apart sorts waits and cuts them so that they do not overlap and begin at past or later. It returns those that are left.
func apart(list []wait, past uint64) []wait {
	slices.SortFunc(list, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.row, b.row), cmp.Compare(a.pattern, b.pattern))
	})
	kept := list[:0]
	for _, w := range list {
		if w.from = max(w.from, past); w.from < w.to {
			kept = append(kept, w)
			past = w.to
		}
	}
	return kept
}

// sentMessage is a send whose receiver came after the begin of the call that completes the send. Memory: 80 bytes for each in progress.
type sentMessage struct {
	Send
	row    uint64
	callN  uint64
	path   uint32 // local
	region uint32
	mate   uint32 // location of the receiver
}

// newSent makes a sentMessage of a row.
func newSent(m *xtf.Message) sentMessage {
	c, leave := &m.Call, m.End
	if m.Kind&xtf.P2PNonBlocking != 0 {
		leave = m.Done
	}
	return sentMessage{Send{Enter: c.Enter, Leave: leave, Post: c.Post, Out: c.Out, Ready: c.Ready}, m.N, c.CallN, c.Path, c.Region, m.MateP}
}

// before orders sends by the call that completes them, then by row.
func (x sentMessage) before(o sentMessage) bool {
	return cmp.Or(cmp.Compare(x.Enter, o.Enter), cmp.Compare(x.callN, o.callN), cmp.Compare(x.row, o.row)) < 0
}
