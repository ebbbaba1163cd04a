package match

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Rows makes the P2P and COLL rows of one location from the results, and diagnoses them.
//
// Memory: a block of resultBlock messages and one of collectives, 192 and 144 bytes a row.
type Rows struct {
	defs    *trace.Definitions
	p       trace.P
	out     RowOutputs
	diags   trace.Diagnostics
	results *rowResults // nil without rows
	p2p     joined[message, *message]
	coll    joined[collective, *collective]
}

// RowOutputs is where Rows writes P2P and COLL rows; nil for nowhere. The caller finishes the arrays.
type RowOutputs struct {
	P2P, Coll *xtf.ArrayBuilder
	Bound     func(from, to trace.P, slack int64) // from did something slack ticks before to ended to wait for it, by their clocks; may be nil
}

// message is a P2P row in progress.
type message struct {
	xtf.Message
	mate struct {
		end, bytes uint64
		flags      uint32 // entry flags of both sides
		found      bool   // by matchLocks
	}
	known    bool // resultMate came
	done     bool // resultDone came
	canceled bool
}

// collective is a COLL row in progress.
type collective struct {
	xtf.Collective
	known   bool // resultColl came
	settled bool // resultCause came
	lowest  bool // this location reports the diagnostics of the instance
}

// Rows returns the rows of a location. found is the location's diagnostics so far. done, which may be nil, is Rows of a location that
// is finished: its memory is reused. A nil Results has no rows.
func (r *Results) Rows(defs *trace.Definitions, p trace.P, found trace.Diagnostics, out RowOutputs, done *Rows) *Rows {
	f := &Rows{defs: defs, p: p, out: out, diags: found}
	if r == nil {
		return f
	}
	if done == nil {
		done = &Rows{}
	}
	x := r.of(p)
	f.results = x
	f.p2p = joined[message, *message]{rows: x.p2pRows, sink: x.sink, lists: x.p2p, block: done.p2p.block[:0]}
	f.coll = joined[collective, *collective]{rows: x.collRows, sink: x.sink, lists: x.coll, block: done.coll.block[:0]}
	return f
}

// NextMessage writes the next message and returns it; nil after the last one and after an error. It is valid until the next call.
func (f *Rows) NextMessage() *xtf.Message {
	m := f.p2p.next()
	if m == nil {
		return nil
	}
	f.endMessage(m)
	return &m.Message
}

// NextCollective does the same for collectives.
func (f *Rows) NextCollective() *xtf.Collective {
	c := f.coll.next()
	if c == nil {
		return nil
	}
	f.endColl(c)
	return &c.Collective
}

// Err returns the error that ended the rows early.
func (f *Rows) Err() error {
	if err := cmp.Or(f.p2p.err, f.coll.err); err != nil {
		return fmt.Errorf("messages and collectives of location %d: %w", f.p, err)
	}
	return nil
}

// Finish writes the rows that are left, and returns the diagnostics of the location.
func (f *Rows) Finish() (*trace.Diagnostics, error) {
	for f.NextMessage() != nil {
	}
	for f.NextCollective() != nil {
	}
	if f.results != nil {
		f.results.sink.Drop()
	}
	return &f.diags, f.Err()
}

// joined joins the results of a type of rows, one block of rows at a time.
type joined[R any, P interface {
	*R
	begin(n uint64)
	join(*result)
	whole() bool
}] struct {
	rows  uint64
	sink  xtf.Sink
	lists []resultList // of the blocks that are left
	block []R
	at    int    // next in block
	first uint64 // number of the first row after block
	err   error
}

func (j *joined[R, P]) next() P {
	if j.at == len(j.block) {
		if j.err != nil || len(j.lists) == 0 {
			return nil
		}
		if j.err = j.read(); j.err != nil {
			j.block, j.at = nil, 0
			return nil
		}
	}
	j.at++
	return &j.block[j.at-1]
}

func (j *joined[R, P]) read() error {
	n := int(min(j.rows-j.first, resultBlock))
	j.block, j.at = slices.Grow(j.block[:0], n)[:n], 0
	for k := range j.block {
		P(&j.block[k]).begin(j.first + uint64(k))
	}
	err := j.lists[0].each(j.sink, func(r *result) error {
		if r.row >= uint64(n) {
			return errResults
		}
		P(&j.block[r.row]).join(r)
		return nil
	})
	for k := range j.block {
		if err == nil && !P(&j.block[k]).whole() {
			err = errResults
		}
	}
	j.lists[0].piece = nil
	j.lists, j.first = j.lists[1:], j.first+uint64(n)
	return err
}

func (m *message) whole() bool    { return m.known }
func (c *collective) whole() bool { return c.known }

func (m *message) begin(n uint64) {
	*m = message{}
	m.N, m.Done, m.MateN, m.Seq, m.MateT, m.MateP = n, xtf.Never, xtf.Never, xtf.Never, xtf.Never, trace.Undefined
	m.Call.Post, m.Call.Ready, m.mate.end = xtf.Never, xtf.Never, xtf.Never
}

// take sets what the load of the location knew.
func (m *message) take(e *entry) {
	m.T, m.End, m.Post, m.Bytes, m.CallN = e.T, e.End, e.Post, e.Bytes, e.CallN
	m.Region, m.Peer, m.Comm, m.Tag, m.Kind, m.Path = e.Region, e.Peer, e.Comm, e.Tag, e.Kind&^xtf.P2PIncomplete, e.Path
	m.known, m.canceled = true, e.Flags&entryCanceled != 0
	if m.Kind&(xtf.P2PNotice|xtf.P2PKindMask) == xtf.P2PNotice|xtf.P2PSend && isLock(e.Tag) {
		m.End, m.Post = e.Own, e.T
	}
	if m.done {
		return
	}
	if e.Kind&xtf.P2PIncomplete == 0 {
		m.Done = m.End
	}
	c := &m.Call // field by field, as in enter
	c.CallN, c.Enter, c.Region, c.Path = m.CallN, m.T, m.Region, m.Path
}

func (m *message) join(r *result) {
	switch r.kind {
	case resultDone:
		m.Done, m.done = r.t, true
		m.Call.Enter, m.Call.CallN, m.Call.Path, m.Call.Region = r.a, r.mateN, r.mateP, r.flags
	case resultHolder:
		m.MateN, m.MateP, m.MateT, m.mate.flags, m.mate.found = r.mateN, r.mateP, r.t, r.flags, true
	case resultMate:
		m.take(r.of)
		if m.Seq = r.a; m.mate.found {
			return
		}
		m.MateN, m.MateP, m.MateT = r.mateN, r.mateP, r.t
		m.mate.flags = r.flags
		if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
			m.mate.end, m.mate.bytes = r.b, r.c
		} else {
			m.Call.Post, m.Call.Ready = r.b, r.c
			if r.flags&entryPosted != 0 {
				m.Call.Post, m.Call.Out = m.T, r.b
			}
		}
		if r.flags&entryShared != 0 {
			m.Kind |= xtf.P2PBestEffort
		}
	}
}

func (c *collective) begin(n uint64) {
	*c = collective{}
	c.N, c.Cause = n, xtf.NoCollCause()
}

func (c *collective) join(r *result) {
	if r.kind == resultCause {
		c.Cause, c.settled = xtf.CollCause{CauseT: r.t, LastT: r.a, CauseP: r.mateP, LastP: uint32(r.b)}, true
		return
	}
	e := r.of
	c.T, c.Post, c.End, c.CallN, c.Sent, c.Received, c.known = e.Own, e.T, e.End, e.CallN, e.Bytes, e.Stay, true
	c.Region, c.Comm, c.Root, c.Path = e.Region, e.Comm, uint32(e.Post), e.Path
	c.Ordinal, c.LastEnter, c.FirstLeave, c.LastLeave = r.a, r.t, r.b, r.c
	c.Flags = e.Kind | uint32(e.Post>>32) | r.flags&^resultLowest
	c.lowest = r.flags&resultLowest != 0
	if !c.settled {
		c.Cause = xtf.CollCause{CauseT: r.mateN, LastT: r.mateN, CauseP: r.mateP, LastP: r.mateP}
	}
}

// endMessage writes the row of a message.
func (f *Rows) endMessage(m *message) {
	receive := m.Kind&xtf.P2PKindMask == xtf.P2PRecv
	if m.Done == xtf.Never || m.canceled {
		m.Kind |= xtf.P2PIncomplete
	}
	switch {
	case m.Kind&xtf.P2PNotice != 0:
		m.endNotice(receive)
	case m.MateN == xtf.Never:
		m.Kind |= xtf.P2PUnmatched
		code := trace.DiagUnmatchedSend
		if receive {
			code = trace.DiagUnmatchedRecv
		}
		if m.Peer != trace.Undefined && !m.canceled {
			f.diags.Add(f.found(code, m.T, 0, "process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
		}
	case receive:
		posted := m.Post
		if m.Kind&xtf.P2PProbed != 0 {
			posted = m.T
		}
		m.Kind |= awaited(m.mate.flags, m.MateT, m.mate.end, posted, m.T)
		f.endReceive(m, posted)
	default:
		m.Kind |= awaited(m.mate.flags, m.T, m.End, m.Call.Post, m.MateT)
		if m.mate.flags&entryClock != 0 {
			m.Kind |= xtf.P2PClock
		}
		ends := m.Done != xtf.Never || m.Kind&xtf.P2PNonBlocking == 0
		m.Late = ends && max(m.Call.Post, m.Call.Ready) > m.Call.Enter
	}
	if m.Kind&(xtf.P2PBestEffort|xtf.P2PNotice) == xtf.P2PBestEffort {
		f.diags.Add(f.found(trace.DiagSharedChannel, m.T, 0, "process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	if f.out.P2P != nil {
		row, _ := f.out.P2P.Append()
		m.Put(row)
	}
}

// endNotice flags the row of a notice. A call that leaves before the notice is sent may just not wait for it, so clocks may be right:
// there is a flag, and no diagnostic.
func (m *message) endNotice(receive bool) {
	switch {
	case m.MateN == xtf.Never:
		m.Kind |= xtf.P2PUnmatched
	case receive && m.End < m.MateT, !receive && m.mate.flags&entryClock != 0:
		m.Kind |= xtf.P2PClock
	}
	if m.mate.flags&entryShared != 0 {
		m.Kind |= xtf.P2PBestEffort
	}
}

// awaited returns whether the send of a message waits for its receive, the same for both sides. The send begins at sent and leaves at
// left; the receive is posted at posted and completes in a call entered at received. The send waits if it is synchronous, or blocks
// until the receiver enters that call (P2PAwaited) or posts (P2PAwaitedPost).
func awaited(flags uint32, sent, left, posted, received uint64) uint32 {
	blocked, synchronous := flags&EntryBlocking != 0, flags&EntrySynchronous != 0
	switch {
	case blocked && left > received && (received > sent || synchronous):
		return xtf.P2PAwaited
	case synchronous, blocked && left > posted && posted > sent:
		return xtf.P2PAwaitedPost
	}
	return 0
}

// endReceive diagnoses a matched receive, which was posted at an instant.
func (f *Rows) endReceive(m *message, posted uint64) {
	sent := m.MateT
	if f.out.Bound != nil {
		f.out.Bound(trace.P(m.MateP), f.p, int64(m.End)-int64(sent))
		if m.mate.flags&(EntryBlocking|EntrySynchronous) == EntryBlocking|EntrySynchronous {
			f.out.Bound(f.p, trace.P(m.MateP), int64(m.mate.end)-int64(posted))
		}
	}
	if m.End < sent {
		m.Kind |= xtf.P2PClock
		f.diags.Add(f.found(trace.DiagClockViolation, m.T, sent-m.End, "from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
	if m.mate.bytes != m.Bytes {
		f.diags.Add(f.found(trace.DiagBytesDiffer, m.T, max(m.Bytes, m.mate.bytes)-min(m.Bytes, m.mate.bytes),
			"from process %d, communicator %d, tag %d", m.Peer, m.Comm, m.Tag))
	}
}

// endColl writes the row of a collective.
func (f *Rows) endColl(c *collective) {
	if c.lowest && c.Flags&xtf.CollShort != 0 {
		f.diags.Add(f.found(trace.DiagShortCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	if c.lowest && c.Flags&xtf.CollMixed != 0 {
		f.diags.Add(f.found(trace.DiagMixedCollective, c.T, 0, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), c.Flags&xtf.CollOpMask))
	}
	f.collectiveClock(c)
	if f.out.Coll != nil {
		row, _ := f.out.Coll.Append()
		c.Put(row)
	}
}

// collectiveClock diagnoses a member that left before a member that it needed had entered. It skips instances with missing members,
// or members that disagree, and inter-communicators: there it is not known whom a member needed.
func (f *Rows) collectiveClock(c *collective) {
	op, need := c.Flags&xtf.CollOpMask, c.Cause.LastT
	if need == xtf.Never || need <= c.End && f.out.Bound == nil || c.Flags&(xtf.CollShort|xtf.CollMixed) != 0 || f.defs.IsInter(c.Comm) || !f.defs.SetsClock(op, c.Region, c.Flags&xtf.CollNonBlocking == 0) {
		return
	}
	if f.out.Bound != nil {
		f.out.Bound(trace.P(c.Cause.LastP), f.p, int64(c.End)-int64(need))
	}
	if need > c.End {
		f.diags.Add(f.found(trace.DiagClockCollective, c.T, need-c.End, "communicator %d, collective %d, operation %d", c.Comm, uint32(c.Ordinal), op))
	}
}

func (f *Rows) found(code trace.Code, t, worst uint64, format string, a, b, c uint32) trace.Diagnostic {
	d := trace.Diagnostic{Code: code, Time: trace.Time(t), Event: xtf.Never, Worst: worst}
	if f.diags.Count(code) < diagKept {
		d.Detail = fmt.Sprintf(format, a, b, c)
	}
	return d
}

// diagKept is the number of diagnostics of one code that get a text.
const diagKept = 16
