package causes

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// replayKind is what an replayOp does.
type replayKind uint8

const (
	stepCall   replayKind = iota // an outermost MPI call begins at t, key is its End
	stepLeave                    // ... and leaves, for the repair of clocks
	stepSend                     // peer's row key gets the instant t
	stepNeed                     // the call does not leave before the instant that row key gets from peer
	stepDrop                     // the same, but nothing depends on it any more
	stepEnter                    // take part in a collective with instant t
	stepResult                   // the call does not leave before the collective is complete
	stepAttend                   // take part in a collective without an instant that others need
	stepIgnore                   // the collective is complete, which the call does not need
	stepBegin                    // an execution of node peer begins at t
	stepEnd                      // ... ends
	stepResume                   // a call that began in a slab before, as stepCall has it
)

// replayOp is one step of a location in the replay. Memory: 32 bytes.
type replayOp struct {
	kind replayKind
	coll collectiveKind
	peer uint32 // location, communicator or node
	root uint32
	t    uint64
	key  uint64 // End, row or ordinal
}

// earlyBytes is the size of an operation that takes effect at an instant before
// its row: an early posted receive that releases its sender, or the initiation of
// a collective.
//
//	at u64 | order u64                     big-endian, the key
//	peer u32 | root u32 | kind u8, collective kind u8, zero u16 | zero u32 | key u64     little-endian
const (
	earlyBytes = 40
	earlyKey   = 16
)

func (o *replayOp) putEarly(b []byte, order uint64) {
	_ = b[earlyBytes-1]
	binary.BigEndian.PutUint64(b, o.t)
	binary.BigEndian.PutUint64(b[8:], order)
	binary.LittleEndian.PutUint32(b[16:], o.peer)
	binary.LittleEndian.PutUint32(b[20:], o.root)
	binary.LittleEndian.PutUint64(b[24:], uint64(o.kind)|uint64(o.coll)<<8)
	binary.LittleEndian.PutUint64(b[32:], o.key)
}

func (o *replayOp) loadEarly(b []byte) {
	_ = b[earlyBytes-1]
	*o = replayOp{
		t: binary.BigEndian.Uint64(b), peer: binary.LittleEndian.Uint32(b[16:]), root: binary.LittleEndian.Uint32(b[20:]),
		kind: replayKind(b[24]), coll: collectiveKind(b[25]), key: binary.LittleEndian.Uint64(b[32:]),
	}
}

// replayScript makes the steps of one location from its rows. Memory: 24 bytes per
// open execution and per synchronous send that is open.
//
// For the repair of clocks it leaves calls and executions aside: operations that
// end together are a call, with the number of the event where they end as the key
// of its stepLeave, and no send waits.
type replayScript struct {
	r     *Replay
	p     trace.P
	early Rows // operations that take effect before their row, by instant; nil: none
	next  replayOp
	more  bool    // next is one of them
	open  []dueOp // executions by End
	syncs []dueOp // non-blocking synchronous sends by Done
	begun []dueOp // ... of the call in hand
	p2p   xtf.Rows[xtf.P2P]
	coll  xtf.Rows[xtf.Coll]
	ivals xtf.Rows[xtf.Ival]
	needs []replayOp // of the call in hand
}

// dueOp is a step that becomes due at an instant.
type dueOp struct {
	due uint64
	row uint64
	who uint32 // node or location
}

var replayArrays = [3]xtf.TypeID{xtf.TypeP2P, xtf.TypeColl, xtf.TypeIval}

// replayColumns are the columns of each of them that are read, the end first.
var replayColumns = [3][]int{
	{xtf.P2PEnd, xtf.P2PDone, xtf.P2PCallN, xtf.P2PMateN, xtf.P2PKind, xtf.P2PMateP},
	{xtf.CollEnd, xtf.CollCallN, xtf.CollSent, xtf.CollReceived, xtf.CollOrdinal, xtf.CollRegion, xtf.CollComm, xtf.CollRoot, xtf.CollFlags},
	{xtf.IvalEnd, xtf.IvalNode},
}

// earlyColumns are those that earlyOf reads of P2P and COLL.
var earlyColumns = [2][]int{
	{xtf.P2PPost, xtf.P2PMateN, xtf.P2PKind, xtf.P2PMateP},
	{xtf.CollPost, xtf.CollSent, xtf.CollReceived, xtf.CollOrdinal, xtf.CollRegion, xtf.CollComm, xtf.CollRoot, xtf.CollFlags},
}

// openRows begins to read the rows.
func (s *replayScript) openRows() error {
	var cursors [len(replayArrays)]*xtf.Cursor
	for i, t := range replayArrays {
		if s.r.clocks && t == xtf.TypeIval {
			continue
		}
		a, ok, err := s.r.Array(s.p, t)
		if err != nil {
			return err
		}
		columns := replayColumns[i]
		if !s.r.clocks && t != xtf.TypeIval {
			columns = columns[1:] // ends are those of the calls
		}
		if ok {
			cursors[i] = xtf.ScanArray(s.r.Types, a, 0).Only(columns...)
		}
	}
	s.p2p, s.coll, s.ivals = xtf.RowsOf[xtf.P2P](cursors[0]), xtf.RowsOf[xtf.Coll](cursors[1]), xtf.RowsOf[xtf.Ival](cursors[2])
	s.p2p.Next()
	s.coll.Next()
	s.ivals.Next()
	return nil
}

// call adds the next outermost MPI call, row n, and what lies before it.
func (s *replayScript) call(enter, leave, n uint64) {
	s.rowsBefore(enter, n)
	s.add(enter, leave, n)
}

// end adds what lies behind the last call.
func (s *replayScript) end() error {
	s.rowsBefore(xtf.Never, xtf.Never)
	s.before(xtf.Never)
	err := cmp.Or(s.p2p.Err(), s.coll.Err(), s.ivals.Err())
	if s.early != nil {
		err = cmp.Or(err, s.early.Err())
		s.early.Close()
	}
	if err != nil {
		return fmt.Errorf("location %d: %w", s.p, err)
	}
	return nil
}

// rowsBefore adds rows outside of calls, up to a call, as calls of no length.
func (s *replayScript) rowsBefore(enter, n uint64) {
	for {
		t, end, call := enter, enter, n
		if m := &s.p2p.Row; s.p2p.More && sooner(m.T, m.CallN, t, call) {
			t, end, call = m.T, m.End, m.CallN
		}
		if m := &s.coll.Row; s.coll.More && sooner(m.T, m.CallN, t, call) {
			t, end, call = m.T, m.End, m.CallN
		}
		if t == enter && call == n {
			return
		}
		s.add(t, s.outside(t, end), call)
	}
}

// add adds a call and what takes effect before it.
func (s *replayScript) add(enter, leave, n uint64) {
	s.before(enter)
	w := &s.r.steps
	leave = max(leave, enter)
	w.add(&replayOp{kind: stepCall, t: enter, key: leave})
	s.needs = s.needs[:0]
	for s.p2p.More && s.p2p.Row.T == enter && s.p2p.Row.CallN == n {
		s.message(&s.p2p.Row, s.p2p.Cursor.N())
		s.p2p.Next()
	}
	for s.coll.More && s.coll.Row.T == enter && s.coll.Row.CallN == n {
		s.collective(&s.coll.Row)
		s.coll.Next()
	}
	for len(s.syncs) > 0 && s.syncs[0].due <= leave {
		d := popDue(&s.syncs)
		s.needs = append(s.needs, replayOp{kind: stepNeed, peer: d.who, key: d.row})
	}
	for _, d := range s.begun { // not completed by the call that begins them, whatever its length
		pushDue(&s.syncs, d)
	}
	s.begun = s.begun[:0]
	for i := range s.needs {
		w.add(&s.needs[i])
	}
	if s.r.clocks {
		w.add(&replayOp{kind: stepLeave, key: n})
	}
}

// outside is the end of operations without a CALL row.
func (s *replayScript) outside(t, end uint64) uint64 {
	if s.r.clocks {
		return end
	}
	return t
}

// sooner orders calls by their enter, then row; operations outside of calls come
// first.
func sooner(t, call, enter, n uint64) bool { return t < enter || t == enter && call+1 < n+1 }

// before adds what takes effect up to instant t: borders of executions, and
// operations that have their row later. At the end it takes what nobody waits
// for.
func (s *replayScript) before(t uint64) {
	w := &s.r.steps
	for {
		begin, end := xtf.Never, xtf.Never
		if s.ivals.More {
			begin = s.ivals.Row.T
		}
		if len(s.open) > 0 {
			end = s.open[0].due
		}
		switch {
		case s.ivals.More && begin <= min(t, end):
			row := &s.ivals.Row
			w.add(&replayOp{kind: stepBegin, peer: row.Node, t: row.T})
			pushDue(&s.open, dueOp{due: max(row.End, row.T), row: s.ivals.Cursor.N(), who: row.Node})
			s.ivals.Next()
			continue
		case len(s.open) > 0 && end <= t:
			d := popDue(&s.open)
			w.add(&replayOp{kind: stepEnd, peer: d.who, t: d.due})
			continue
		}
		break
	}
	for ; s.more && s.next.t <= t; s.nextEarly() {
		w.add(&s.next)
	}
	for t == xtf.Never && len(s.syncs) > 0 {
		d := popDue(&s.syncs)
		w.add(&replayOp{kind: stepDrop, peer: d.who, key: d.row})
	}
}

// nextEarly takes the next early operation.
func (s *replayScript) nextEarly() {
	if s.more = s.early.Next(); s.more {
		s.next.loadEarly(s.early.Row())
	}
}

// message adds one side of a message to the call in hand. Without partner it
// depends on nothing.
func (s *replayScript) message(m *xtf.P2P, n uint64) {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PMarker != 0 || uint64(m.MateP) >= uint64(s.r.Defs.NumLocations()) {
		return
	}
	awaited := m.Kind & (xtf.P2PAwaited | xtf.P2PAwaitedPost)
	if s.r.clocks {
		awaited = 0
	}
	give := replayOp{kind: stepSend, peer: m.MateP, t: m.T, key: m.MateN}
	need := replayOp{kind: stepNeed, peer: m.MateP, key: n}
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		s.needs = append(s.needs, need)
		if awaited == xtf.P2PAwaited || awaited != 0 && m.Kind&xtf.P2PNonBlocking == 0 {
			s.r.steps.add(&give)
		}
		return
	}
	s.r.steps.add(&give)
	switch {
	case awaited == 0:
	case m.Kind&xtf.P2PNonBlocking == 0:
		s.needs = append(s.needs, need)
	default:
		s.begun = append(s.begun, dueOp{due: m.Done, row: n, who: m.MateP})
	}
}

// earlyMessage is what a receive row gives at its posting, if anything.
func earlyMessage(m *xtf.P2P, locations int) (replayOp, bool) {
	const kind = xtf.P2PRecv | xtf.P2PNonBlocking | xtf.P2PAwaitedPost
	o := replayOp{kind: stepSend, peer: m.MateP, t: m.Post, key: m.MateN}
	return o, m.Kind&(xtf.P2PKindMask|xtf.P2PNonBlocking|xtf.P2PAwaitedPost|xtf.P2PMarker) == kind &&
		m.MateN != xtf.Never && uint64(m.MateP) < uint64(locations)
}

// collective adds a member of a collective to the call in hand.
func (s *replayScript) collective(c *xtf.Coll) {
	o, ok := s.r.collectiveStep(c)
	if !ok {
		return
	}
	if c.Flags&xtf.CollNonBlocking == 0 {
		s.r.steps.add(&o)
	}
	o.kind = stepResult
	if s.r.clocks && o.coll != maxToRoot && c.Received == 0 && hasData(c) {
		o.kind = stepIgnore
	}
	s.needs = append(s.needs, o)
}

// hasData reports whether a collective moves data, so that members without bytes
// need nobody.
func hasData(c *xtf.Coll) bool {
	op := c.Flags & xtf.CollOpMask
	return trace.CollectiveClass(op)&trace.ClassBarrier == 0 && !trace.CreatesHandle(op)
}

// collectiveStep says what a collective computes. It is false for operations
// without members that wait for each other, and where some are missing or do not
// agree on the operation. For the repair of clocks members without bytes for others
// set no condition, and some operations none at all.
func (r *Replay) collectiveStep(c *xtf.Coll) (replayOp, bool) {
	o := replayOp{kind: stepEnter, peer: c.Comm, root: c.Root, t: c.T, key: c.Ordinal}
	op := c.Flags & xtf.CollOpMask
	if r.clocks && !r.Defs.SetsClock(op, c.Region, c.Flags&xtf.CollNonBlocking == 0) {
		return o, false
	}
	class := trace.CollectiveClass(op)
	switch {
	case c.Ordinal == xtf.Never || c.Flags&(xtf.CollShort|xtf.CollMixed) != 0:
		return o, false
	case class&(trace.ClassBarrier|trace.ClassNxN) != 0, r.clocks && trace.CreatesHandle(op):
		o.coll = maxToAll
	case class&trace.ClassOneToN != 0:
		o.coll = rootToAll
	case class&trace.ClassNToOne != 0:
		o.coll = maxToRoot
	case class&trace.ClassPrefix != 0:
		o.coll = prefixMax
	default:
		return o, false
	}
	if r.clocks && o.coll != rootToAll && c.Sent == 0 && hasData(c) {
		o.kind = stepAttend
	}
	return o, true
}

// pushDue adds to a heap by due, then row.
func pushDue(h *[]dueOp, d dueOp) {
	*h = append(*h, d)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].before(&list[up]) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

func (d *dueOp) before(o *dueOp) bool { return d.due < o.due || d.due == o.due && d.row < o.row }

func popDue(h *[]dueOp) dueOp {
	list := *h
	top, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && list[k+1].before(&list[k]) {
			k++
		}
		if !list[k].before(&list[i]) {
			break
		}
		list[i], list[k] = list[k], list[i]
		i = k
	}
	*h = list
	return top
}
