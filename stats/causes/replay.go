package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/heap"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Replay is what passes work with that go through the rows of all locations at
// once, each location as far as the others let it: Ideal and Clocks.
//
// Memory: of one slab, 4 bytes for each step, 32 with levers, and 200 for each location, and 32 for
// each value that is in progress at once; for each slab of the rank 104 bytes for
// each location and 32 for each value in progress at its borders; 24 per open execution.
type Replay struct {
	*Run

	clocks bool       // see replayScript
	lever  *leverPlan // see Levers
}

// ReplayReport says what a replay did. Counts of a rank are for logs; Deadlock is
// the same on all ranks.
type ReplayReport struct {
	Deadlock *Deadlock // nil if every location came to its end
	Slabs    uint64    // that this rank ran, some more than once
	Phases   uint64    // in which all ranks ran at once
	Steps    uint64
	Messages uint64 // sent with crossings
	Bytes    uint64 // sent, with steps and crossings
}

// begin prepares to replay all locations, whose steps have been delivered.
func (r *Replay) begin() *flow {
	f := &flow{r: r, defs: r.Defs, comms: map[uint32]uint32{}, steps: r.parcels, read: &slabSteps{}, report: &ReplayReport{Bytes: r.parcels.box.sent}}
	f.runs = make([]slabRun, f.steps.end-f.steps.own)
	return f
}

// run replays them. Collective.
func (r *Replay) run() (*flow, error) {
	f := r.begin()
	last, err := flows{f}.runSlabs(r.Defs.NumLocations())
	if err != nil {
		return nil, err
	}
	if last == nil {
		last = []*crossing{nil}
	}
	f.report.Deadlock, err = f.deadlock(last[0], r.Comm.Size()-1)
	return f, err
}

// replayKind is what an replayOp does.
type replayKind uint8

const (
	stepCall   replayKind = iota // an outermost MPI call begins at t, key is its End; with levers coll is onPath, and peer its path
	stepLeave                    // ... and leaves, for the repair of clocks
	stepSend                     // peer's row key gets the instant t; if coll is onPath, that of location root
	stepNeed                     // the call does not leave before the instant that row key gets from peer; if coll is onPath, only where nothing else says why
	stepDrop                     // the same, but nothing depends on it any more
	stepEnter                    // take part in a collective with instant t
	stepResult                   // the call does not leave before the collective is complete
	stepAttend                   // take part in a collective without an instant that others need
	stepIgnore                   // the collective is complete, which the call does not need
	stepBegin                    // an execution of node peer begins at t
	stepEnd                      // ... ends
	stepProbe                    // the call does not leave before that instant, which another one needs too
	stepResume                   // a call that began in a slab before, as stepCall has it
	stepJoin                     // take part in a collective, as stepEnter, in a call that waits for all members
	stepMeet                     // the call does not leave before all have entered
	stepAnswer                   // peer's row key, a send that waits, gets the instant t of a call that would have let it go on; if coll is onPath, the begin of the call in which location root is at t, or was last
)

// replayOp is one step of a location in the replay. Memory: 32 bytes.
type replayOp struct {
	kind replayKind
	coll collectiveKind
	peer uint32 // location, communicator, node or path
	root uint32
	t    uint64
	key  uint64 // End, row or ordinal
}

// replayScript makes the steps of one location from its rows, as they come. Memory: 32 bytes per
// open execution, per synchronous send that is open and with levers per send that is, the rows of one call, and 1 MiB.
//
// For the repair of clocks it leaves calls and executions aside: operations that
// end together are a call, with the number of the event where they end as the key
// of its stepLeave, and no send waits.
type replayScript struct {
	defs   *trace.Definitions
	clocks bool
	probes bool // see Run.Probes
	steps  stepWriter
	early  earlyWriter
	p      trace.P
	open   heap.Heap[dueOp] // executions by End
	syncs  heap.Heap[dueOp] // non-blocking sends by Done: synchronous ones, and with levers all
	begun  []dueOp          // ... of the call in hand
	p2p    queue[messageRow]
	coll   queue[collectiveRow]
	ivals  queue[execution]
	needs  []replayOp      // of the call in hand
	ended  []collectiveRow // of those that do not block, what the call in hand completes
	asked  []replayOp      // those that count where no other one says why
	said   uint64          // the last begin of a message that it receives, or of an operation that it completes
	moves  []busy          // the last calls that move messages, oldest first
}

// busy is when a call begins and ends.
type busy struct{ enter, leave uint64 }

// mostMoves is how many calls a receive may be posted earlier.
const mostMoves = 1 << 15

// dueOp is a step that becomes due at an instant.
type dueOp struct {
	due uint64
	row uint64
	who uint32 // node or location
	met uint64 // of a send that may have waited: when its receiver came, or Never if that was later
}

func (d dueOp) before(o dueOp) bool { return d.due < o.due || d.due == o.due && d.row < o.row }

// messageRow is what steps are made of.
type messageRow struct {
	t, end, post, done, call, n, mate, mateT uint64
	kind, mateP                              uint32
}

// collectiveRow is the same of a collective: what it does, if anything.
type collectiveRow struct {
	t, end, call uint64
	flags        uint32
	needs        bool // it gets something
	meets        bool // it waits for all members, whatever it gets
	ok           bool
	op           replayOp
	last, first  uint64 // of those that complete a non-blocking one together: last begin, first end; 0: it does not meet others
}

// execution is row n of IVAL.
type execution struct {
	t, end, n uint64
	node      uint32
}

// newScript makes steps for parcels that writers put.
func newScript(defs *trace.Definitions, clocks bool, writer func(kind int) parcelWriter) *replayScript {
	due := heap.Heap[dueOp]{Before: dueOp.before}
	return &replayScript{defs: defs, clocks: clocks, steps: stepWriter{parcelWriter: writer(stepParcels)}, early: earlyWriter{writer(earlyParcels)}, open: due, syncs: due}
}

// begin starts another location.
func (s *replayScript) begin(p trace.P) {
	s.p, s.moves = p, s.moves[:0]
	w := &s.steps
	w.from, w.now, w.call, w.k, w.code = uint32(p), 0, replayOp{kind: stepResume}, 0, stepCoder{}
}

// message takes the next row of the location.
func (s *replayScript) message(m *xtf.Message) {
	r := s.p2p.push()
	r.post = m.Post
	r.t, r.end, r.done, r.call, r.n, r.mate, r.kind, r.mateP, r.mateT = m.T, m.End, m.Done, m.CallN, m.N, m.MateN, m.Kind, m.MateP, m.MateT
	if o, ok := earlyMessage(&m.P2P, s.defs.NumLocations()); ok && !s.clocks {
		s.early.add(uint32(s.p), &o, m.N<<1)
	}
}

// collective does the same.
func (s *replayScript) collective(c *xtf.Collective) {
	o, ok := s.collectiveStep(&c.Coll)
	row := s.coll.push()
	*row = collectiveRow{c.T, c.End, c.CallN, c.Flags, c.Received > 0 || !hasData(&c.Coll), s.probes && meets(&c.Coll), ok, o, 0, 0}
	if o.t = c.Post; !ok || c.Flags&xtf.CollNonBlocking == 0 {
		return
	}
	if row.meets && o.coll.rooted() {
		o.kind = stepJoin
	}
	s.early.add(uint32(s.p), &o, c.N<<1|1)
	switch o.key |= atEnd; {
	case !s.probes || o.coll != maxToAll:
	case c.T > c.FirstLeave:
		s.early.add(uint32(s.p), &o, c.N<<1|1)
	default:
		row.last, row.first = c.LastEnter, c.FirstLeave
	}
}

// call adds the next outermost MPI call, row n, and what lies before it. Moves says that libraries move messages of others in it.
func (s *replayScript) call(enter, leave, n uint64, path uint32, moves bool) {
	s.rowsBefore(enter, n)
	s.add(enter, leave, n, path)
	if !moves || !s.probes {
		return
	}
	if len(s.moves) == 2*mostMoves {
		s.moves = s.moves[:copy(s.moves, s.moves[mostMoves:])]
	}
	s.moves = append(s.moves, busy{enter, leave})
}

// answer has the sender of a message that waited for its receive learn when it would have waited no longer, had that been posted early:
// a message that a library does not send at once moves while both processes are in calls, so this is the first instant after its begin
// at which the receiver was in one.
func (s *replayScript) answer(m *messageRow) {
	i, _ := slices.BinarySearchFunc(s.moves, m.mateT, func(x busy, t uint64) int { return cmp.Compare(x.leave, t) })
	if i == len(s.moves) {
		return
	}
	if t := max(s.moves[i].enter, m.mateT); t < min(m.t, m.post) {
		s.early.add(uint32(s.p), &replayOp{kind: stepAnswer, peer: m.mateP, t: t, key: m.mate}, m.n<<1)
	}
}

// end adds what lies after the last call.
func (s *replayScript) end() error {
	s.rowsBefore(xtf.Never, xtf.Never)
	s.before(xtf.Never)
	s.steps.flush()
	s.early.flush()
	return cmp.Or(s.steps.err, s.early.err)
}

// rowsBefore adds rows outside of calls, up to a call, as calls of no length.
func (s *replayScript) rowsBefore(enter, n uint64) {
	for {
		t, end, call := enter, enter, n
		if s.p2p.more() {
			if m := s.p2p.head(); sooner(m.t, m.call, t, call) {
				t, end, call = m.t, m.end, m.call
			}
		}
		if s.coll.more() {
			if m := s.coll.head(); sooner(m.t, m.call, t, call) {
				t, end, call = m.t, m.end, m.call
			}
		}
		if t == enter && call == n {
			return
		}
		s.add(t, s.outside(t, end), call, 0)
	}
}

// add adds a call on a path of the run and what takes effect before it.
func (s *replayScript) add(enter, leave, n uint64, path uint32) {
	s.before(enter)
	w := &s.steps
	leave = max(leave, enter)
	o := replayOp{kind: stepCall, t: enter, key: leave}
	if s.probes {
		o.coll, o.peer = onPath, path
	}
	w.add(&o)
	s.needs, s.ended, s.said = s.needs[:0], s.ended[:0], 0
	for ; s.p2p.more() && s.p2p.head().t == enter && s.p2p.head().call == n; s.p2p.pop() {
		s.side(s.p2p.head())
	}
	for ; s.coll.more() && s.coll.head().t == enter && s.coll.head().call == n; s.coll.pop() {
		s.member(s.coll.head())
	}
	for i := range s.ended {
		s.completed(&s.ended[i])
	}
	if s.probes && s.p2p.more() && s.p2p.head().kind&xtf.P2PProbed != 0 && s.p2p.head().post == enter {
		s.probe(s.p2p.head())
	}
	s.asked = s.asked[:0]
	for len(s.syncs.List) > 0 && s.syncs.List[0].due <= leave {
		d := s.syncs.Pop()
		o := replayOp{kind: stepNeed, peer: d.who, key: d.row}
		if d.met > 0 {
			ask := replayOp{kind: stepSend, coll: onPath, peer: uint32(s.p), root: d.who, t: d.met, key: d.row}
			if !soonAfter(enter, d.met, leave) {
				if soonAfter(enter, s.said, leave) {
					continue
				}
				ask.kind, ask.t = stepAnswer, leave
			}
			o.coll = onPath
			s.early.add(uint32(s.p), &ask, d.row<<1)
			s.asked = append(s.asked, o)
			continue
		}
		s.needs = append(s.needs, o)
	}
	for _, d := range s.begun { // not completed by the call that begins them, whatever its length
		s.syncs.Push(d)
	}
	s.begun = s.begun[:0]
	s.needs = append(s.needs, s.asked...)
	for i := range s.needs {
		w.add(&s.needs[i])
	}
	if s.clocks {
		w.add(&replayOp{kind: stepLeave, key: n})
	}
}

// outside is the end of operations without a CALL row.
func (s *replayScript) outside(t, end uint64) uint64 {
	if s.clocks {
		return end
	}
	return t
}

// sooner orders calls by their enter, then row; operations outside of calls come
// first.
func sooner(t, call, enter, n uint64) bool { return t < enter || t == enter && call+1 < n+1 }

// before adds the borders of executions up to instant t. At the end it takes what nobody waits for.
func (s *replayScript) before(t uint64) {
	w := &s.steps
	for {
		begin, end := xtf.Never, xtf.Never
		if s.ivals.more() {
			begin = s.ivals.head().t
		}
		if len(s.open.List) > 0 {
			end = s.open.List[0].due
		}
		switch {
		case s.ivals.more() && begin <= min(t, end):
			row := s.ivals.head()
			w.add(&replayOp{kind: stepBegin, peer: row.node, t: row.t})
			s.open.Push(dueOp{due: max(row.end, row.t), row: row.n, who: row.node})
			s.ivals.pop()
			continue
		case len(s.open.List) > 0 && end <= t:
			d := s.open.Pop()
			w.add(&replayOp{kind: stepEnd, peer: d.who, t: d.due})
			continue
		}
		break
	}
	for t == xtf.Never && len(s.syncs.List) > 0 {
		d := s.syncs.Pop()
		if d.met > 0 {
			continue
		}
		w.add(&replayOp{kind: stepDrop, peer: d.who, key: d.row})
	}
}

// side adds one side of a message to the call in hand. Without partner it
// depends on nothing.
func (s *replayScript) side(m *messageRow) {
	if m.mate == xtf.Never || m.kind&xtf.P2PMarker != 0 && (s.clocks || m.kind&(xtf.P2PNotice|xtf.P2PClock|xtf.P2PBestEffort) != xtf.P2PNotice) || uint64(m.mateP) >= uint64(s.defs.NumLocations()) {
		return
	}
	awaited := m.kind & (xtf.P2PAwaited | xtf.P2PAwaitedPost)
	if s.clocks {
		awaited = 0
	}
	give := replayOp{kind: stepSend, peer: m.mateP, t: m.t, key: m.mate}
	need := replayOp{kind: stepNeed, peer: m.mateP, key: m.n}
	if m.kind&xtf.P2PKindMask == xtf.P2PRecv {
		s.needs, s.said = append(s.needs, need), max(s.said, m.mateT)
		if awaited != 0 && s.probes {
			s.answer(m)
		}
		if awaited == xtf.P2PAwaited || awaited != 0 && m.kind&xtf.P2PNonBlocking == 0 {
			s.steps.add(&give)
		}
		return
	}
	s.steps.add(&give)
	switch blocks := m.kind&xtf.P2PNonBlocking == 0; {
	case awaited == 0 && s.probes && !blocks && m.mateT > m.t && m.done != xtf.Never:
		d := dueOp{due: m.done, row: m.n, who: m.mateP, met: m.mateT}
		if d.met >= d.due {
			d.met = xtf.Never
		}
		s.begun = append(s.begun, d)
	case awaited == 0:
	case blocks:
		s.needs = append(s.needs, need)
	default:
		s.begun = append(s.begun, dueOp{due: m.done, row: m.n, who: m.mateP})
	}
}

// probe has the call in hand wait for a message that it does not take.
func (s *replayScript) probe(m *messageRow) {
	if m.mate != xtf.Never && uint64(m.mateP) < uint64(s.defs.NumLocations()) {
		s.needs = append(s.needs, replayOp{kind: stepProbe, peer: m.mateP, key: m.n})
	}
}

// earlyMessage is what a receive row gives at its posting, if anything: one that is posted early releases its sender.
func earlyMessage(m *xtf.P2P, locations int) (replayOp, bool) {
	const kind = xtf.P2PRecv | xtf.P2PNonBlocking | xtf.P2PAwaitedPost
	o := replayOp{kind: stepSend, peer: m.MateP, t: m.Post, key: m.MateN}
	return o, m.Kind&(xtf.P2PKindMask|xtf.P2PNonBlocking|xtf.P2PAwaitedPost|xtf.P2PMarker) == kind &&
		m.MateN != xtf.Never && uint64(m.MateP) < uint64(locations)
}

// member adds a member of a collective to the call in hand. A non-blocking one has entered when it was started.
func (s *replayScript) member(c *collectiveRow) {
	if !c.ok {
		return
	}
	o, joins := c.op, c.meets && c.op.coll.rooted()
	if joins {
		o.kind = stepJoin
	}
	if c.flags&xtf.CollNonBlocking == 0 {
		s.steps.add(&o)
	}
	o.kind = stepResult
	if s.clocks && o.coll != maxToRoot && !c.needs {
		o.kind = stepIgnore
	}
	s.needs = append(s.needs, o)
	if joins {
		o.kind = stepMeet
		s.needs = append(s.needs, o)
	}
	if s.said = max(s.said, c.last); c.first > 0 {
		s.ended = append(s.ended, *c)
	}
}

// completed has a member meet those that complete a non-blocking operation, once all is known that its call waits for.
func (s *replayScript) completed(c *collectiveRow) {
	o := c.op
	o.kind, o.t, o.key = stepAttend, c.t, o.key|atEnd
	if soonAfter(max(c.t, s.said), c.first, c.end) {
		o.kind = stepJoin
	}
	s.steps.add(&o)
	o.kind = stepMeet
	s.needs = append(s.needs, o)
}

// meets reports whether a member of an operation leaves it, or the call that completes it, soon after the last one has entered, after a
// longer wait. By what a rooted operation computes it need not wait for that one; but many libraries pass data on in a tree, where it waits
// for members below it.
func meets(c *xtf.Coll) bool {
	return soonAfter(c.T, c.LastEnter, c.End)
}

// soonAfter reports whether a call leaves soon after another process came, after a longer wait.
func soonAfter(enter, came, leave uint64) bool {
	return came <= leave && came-min(enter, came) > leave-came
}

// hasData reports whether a collective moves data, so that members without bytes
// need nobody.
func hasData(c *xtf.Coll) bool {
	op := c.Flags & xtf.CollOpMask
	return trace.CollectiveClass(op)&trace.ClassBarrier == 0 && !trace.MayMeet(op)
}

// collectiveStep says what a collective computes. It is false for operations
// without members that wait for each other, and where some are missing or do not
// agree on the operation. For the repair of clocks members without bytes for others
// set no condition, and some operations none at all.
func (s *replayScript) collectiveStep(c *xtf.Coll) (replayOp, bool) {
	o := replayOp{kind: stepEnter, peer: c.Comm, root: c.Root, t: c.T, key: c.Ordinal}
	op := c.Flags & xtf.CollOpMask
	if (s.clocks || trace.CreatesHandle(op)) && !s.defs.SetsClock(op, c.Region, c.Flags&xtf.CollNonBlocking == 0) {
		return o, false
	}
	class := trace.CollectiveClass(op)
	switch {
	case c.Ordinal == xtf.Never || c.Flags&(xtf.CollShort|xtf.CollMixed) != 0:
		return o, false
	case class&(trace.ClassBarrier|trace.ClassNxN) != 0, trace.MayMeet(op) && (s.clocks || c.LastEnter <= c.FirstLeave):
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
	if s.probes && s.defs.IsInter(c.Comm) && (o.coll != maxToAll || c.LastEnter > c.FirstLeave) {
		return o, false
	}
	if s.clocks && o.coll != rootToAll && c.Sent == 0 && hasData(c) {
		o.kind = stepAttend
	}
	return o, true
}
