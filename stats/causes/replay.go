package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/heap"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Replay executes the steps of all locations, each location until it needs a value of another one. It is the common part of Ideal,
// Clocks and Levers.
//
// Memory: of one slab, 4 bytes for each step, 32 with levers, 200 for each location, and 32 for each value in progress; for each slab
// of the rank 104 bytes for each location and 32 for each value in progress at its end; 24 per open execution.
type Replay struct {
	*Run

	clocks bool       // see replayScript
	lever  *leverPlan // see Levers
}

// ReplayReport counts what a replay did. Counts are of one rank, for logs; Deadlock is the same on all ranks.
type ReplayReport struct {
	Deadlock *Deadlock // nil if every location came to its end
	Slabs    uint64    // runs of slabs, of some more than one
	Phases   uint64    // in which all ranks ran at once
	Steps    uint64
	Messages uint64 // sent with crossings
	Bytes    uint64 // sent, of steps and crossings
}

// begin prepares the replay of all locations, after Deal.
func (r *Replay) begin() *flow {
	f := &flow{r: r, defs: r.Defs, comms: map[uint32]uint32{}, steps: r.parcels, read: &slabSteps{}, report: &ReplayReport{Bytes: r.parcels.box.sent}}
	f.runs = make([]slabRun, f.steps.end-f.steps.own)
	return f
}

// run replays all locations. Collective.
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

// replayKind is what a step does. A step gives a value, an instant, to a message row of another location, or has its call wait for one.
type replayKind uint8

const (
	stepCall   replayKind = iota // an outermost MPI call begins at t, key is its End; with levers coll is onPath, and peer its path
	stepLeave                    // the call leaves; only for the repair of clocks
	stepSend                     // peer's row key gets the instant t; if coll is onPath, that of location root
	stepNeed                     // the call waits for the value of row key, from peer; if coll is onPath, if nothing else explains its length
	stepDrop                     // takes that value after the last call, for which nobody waits
	stepEnter                    // the location takes part in a collective with instant t
	stepResult                   // the call waits for the result of the collective
	stepAttend                   // the location takes part in a collective without an instant that others need
	stepIgnore                   // takes the result of the collective, for which the call does not wait
	stepBegin                    // an execution of node peer begins at t
	stepEnd                      // an execution of node peer ends at t
	stepProbe                    // as stepNeed, but the value stays for the receive
	stepResume                   // a call that began in a slab before, as stepCall
	stepJoin                     // as stepEnter, in a call that waits for all members
	stepMeet                     // the call waits until all members have entered
	stepAnswer                   // peer's row key, a send that waits, gets t, when a call could let it go on; if coll is onPath, the last call's begin
)

// replayOp is a step of a location in the replay. Memory: 32 bytes.
type replayOp struct {
	kind replayKind
	coll collectiveKind
	peer uint32 // location, communicator, node or path
	root uint32
	t    uint64
	key  uint64 // End, row or ordinal
}

// replayScript makes the steps of a location from its rows. Memory: 32 bytes for each open execution and open synchronous send, with
// levers each open send, the rows of one call, and 1 MiB.
//
// For the repair of clocks there are no CALL rows and executions: operations that end together are a call, the key of its stepLeave is
// the number of the event where they end, and no send waits.
type replayScript struct {
	defs   *trace.Definitions
	clocks bool
	probes bool // see Run.Probes
	steps  stepWriter
	early  earlyWriter
	p      trace.P
	open   heap.Heap[dueOp] // executions by End
	syncs  heap.Heap[dueOp] // nonblocking sends by Done: synchronous ones, with levers all
	begun  []dueOp          // those of the current call
	p2p    queue[messageRow]
	coll   queue[collectiveRow]
	ivals  queue[execution]
	needs  []replayOp      // of the current call
	ended  []collectiveRow // nonblocking collectives that the current call completes
	// Of the current call, with levers: needs that count only if nothing else explains its length, and the latest instant that explains
	// it, the begin of a message that it receives or of an operation that it completes.
	conditional []replayOp
	explained   uint64
	moves       []busy // the last calls that move messages, oldest first
}

// busy is the enter and leave of a call.
type busy struct{ enter, leave uint64 }

// mostMoves is the number of newest calls that moves keeps at least.
const mostMoves = 1 << 15

// dueOp is a step that becomes due at an instant.
type dueOp struct {
	due uint64
	row uint64
	who uint32 // node or location
	met uint64 // of a nonblocking send, with levers: when its receiver came, Never if not before Done; 0: a synchronous send
}

func (d dueOp) before(o dueOp) bool { return d.due < o.due || d.due == o.due && d.row < o.row }

// messageRow is what the script needs of a P2P row.
type messageRow struct {
	t, end, post, done, call, n, mate, mateT uint64
	kind, mateP                              uint32
}

// collectiveRow is what the script needs of a COLL row.
type collectiveRow struct {
	t, end, call uint64
	flags        uint32
	needs        bool // the member gets data, or the operation has none
	meets        bool // the member waits for all others, whatever it gets
	ok           bool // the member does op
	op           replayOp
	last, first  uint64 // last enter and first leave of all members, to complete a nonblocking operation together; 0: they do not
}

// execution is row n of IVAL.
type execution struct {
	t, end, n uint64
	node      uint32
}

// newScript prepares a script that writes steps with writers of their kinds.
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

// message takes the next P2P row of the location.
func (s *replayScript) message(m *xtf.Message) {
	r := s.p2p.push()
	r.post = m.Post
	r.t, r.end, r.done, r.call, r.n, r.mate, r.kind, r.mateP, r.mateT = m.T, m.End, m.Done, m.CallN, m.N, m.MateN, m.Kind, m.MateP, m.MateT
	if o, ok := earlyMessage(&m.P2P, s.defs.NumLocations()); ok && !s.clocks {
		s.early.add(uint32(s.p), &o, m.N<<1)
	}
}

// collective takes the next COLL row of the location.
func (s *replayScript) collective(c *xtf.Collective) {
	o, ok := s.collectiveStep(&c.Coll)
	row := s.coll.push()
	*row = collectiveRow{c.T, c.End, c.CallN, c.Flags, c.Received > 0 || !hasData(&c.Coll), s.probes && meets(&c.Coll), ok, o, 0, 0}
	if o.t = c.Post; !ok || c.Flags&xtf.CollNonBlocking == 0 {
		return
	}
	if row.meets && o.coll != maxToAll {
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

// call adds the next outermost MPI call, CALL row n, and what is before it. moves says that MPI libraries move messages of other calls
// in it.
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

// answer tells the sender of a message that waited for its receive until when it would have waited, had the receive been posted early. A
// message that is not sent at once moves while both processes are in MPI calls, so that is the first instant after its begin at which the
// receiver was in one.
func (s *replayScript) answer(m *messageRow) {
	i, _ := slices.BinarySearchFunc(s.moves, m.mateT, func(x busy, t uint64) int { return cmp.Compare(x.leave, t) })
	if i == len(s.moves) {
		return
	}
	if t := max(s.moves[i].enter, m.mateT); t < min(m.t, m.post) {
		s.early.add(uint32(s.p), &replayOp{kind: stepAnswer, peer: m.mateP, t: t, key: m.mate}, m.n<<1)
	}
}

// end adds what is after the last call.
func (s *replayScript) end() error {
	s.rowsBefore(xtf.Never, xtf.Never)
	s.before(xtf.Never)
	s.steps.flush()
	s.early.flush()
	return cmp.Or(s.steps.err, s.early.err)
}

// rowsBefore adds rows outside of MPI calls, up to call n, as calls without length.
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

// add adds a call on a path of the run, and the borders of executions before it.
func (s *replayScript) add(enter, leave, n uint64, path uint32) {
	s.before(enter)
	w := &s.steps
	leave = max(leave, enter)
	o := replayOp{kind: stepCall, t: enter, key: leave}
	if s.probes {
		o.coll, o.peer = onPath, path
	}
	w.add(&o)
	s.needs, s.ended, s.explained = s.needs[:0], s.ended[:0], 0
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
	s.conditional = s.conditional[:0]
	for len(s.syncs.List) > 0 && s.syncs.List[0].due <= leave {
		d := s.syncs.Pop()
		o := replayOp{kind: stepNeed, peer: d.who, key: d.row}
		if d.met > 0 {
			ask := replayOp{kind: stepSend, coll: onPath, peer: uint32(s.p), root: d.who, t: d.met, key: d.row}
			if !soonAfter(enter, d.met, leave) {
				if soonAfter(enter, s.explained, leave) {
					continue
				}
				ask.kind, ask.t = stepAnswer, leave
			}
			o.coll = onPath
			s.early.add(uint32(s.p), &ask, d.row<<1)
			s.conditional = append(s.conditional, o)
			continue
		}
		s.needs = append(s.needs, o)
	}
	for _, d := range s.begun { // only now: the call that begins a send does not complete it
		s.syncs.Push(d)
	}
	s.begun = s.begun[:0]
	s.needs = append(s.needs, s.conditional...)
	for i := range s.needs {
		w.add(&s.needs[i])
	}
	if s.clocks {
		w.add(&replayOp{kind: stepLeave, key: n})
	}
}

// outside returns the end of operations without a CALL row.
func (s *replayScript) outside(t, end uint64) uint64 {
	if s.clocks {
		return end
	}
	return t
}

// sooner orders calls by enter, then by row. Operations outside of calls come first: their row is Never.
func sooner(t, call, enter, n uint64) bool { return t < enter || t == enter && call+1 < n+1 }

// before adds the borders of executions up to instant t. At Never it also drops the values of sends that no call completed.
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

// side adds one side of a message to the current call. A message without partner depends on nothing.
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
		s.needs, s.explained = append(s.needs, need), max(s.explained, m.mateT)
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

// probe makes the current call wait for a message that a later call receives.
func (s *replayScript) probe(m *messageRow) {
	if m.mate != xtf.Never && uint64(m.mateP) < uint64(s.defs.NumLocations()) {
		s.needs = append(s.needs, replayOp{kind: stepProbe, peer: m.mateP, key: m.n})
	}
}

// earlyMessage returns the step of a receive at its posting, which lets the sender go on. ok is false if the sender does not wait for that.
func earlyMessage(m *xtf.P2P, locations int) (replayOp, bool) {
	const kind = xtf.P2PRecv | xtf.P2PNonBlocking | xtf.P2PAwaitedPost
	o := replayOp{kind: stepSend, peer: m.MateP, t: m.Post, key: m.MateN}
	return o, m.Kind&(xtf.P2PKindMask|xtf.P2PNonBlocking|xtf.P2PAwaitedPost|xtf.P2PMarker) == kind &&
		m.MateN != xtf.Never && uint64(m.MateP) < uint64(locations)
}

// member adds a member of a collective to the current call. A nonblocking collective was entered by an earlier step.
func (s *replayScript) member(c *collectiveRow) {
	if !c.ok {
		return
	}
	o, joins := c.op, c.meets && c.op.coll != maxToAll
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
	if s.explained = max(s.explained, c.last); c.first > 0 {
		s.ended = append(s.ended, *c)
	}
}

// completed makes a member wait for the others that complete a nonblocking operation, if nothing else explains the length of its call.
func (s *replayScript) completed(c *collectiveRow) {
	o := c.op
	o.kind, o.t, o.key = stepAttend, c.t, o.key|atEnd
	if soonAfter(max(c.t, s.explained), c.first, c.end) {
		o.kind = stepJoin
	}
	s.steps.add(&o)
	o.kind = stepMeet
	s.needs = append(s.needs, o)
}

// meets reports whether a member left an operation, or the call that completes it, soon after the last member entered, so that it seems
// to have waited for that one. The result of a rooted operation, or of a scan, does not need that; but many libraries pass data on in a tree, in which a
// member waits for those below it, or let the members of a scan exchange data.
func meets(c *xtf.Coll) bool {
	return soonAfter(c.T, c.LastEnter, c.End)
}

// soonAfter reports whether a call that began at enter waited longer for another process, which came at came, than it lasted after that.
func soonAfter(enter, came, leave uint64) bool {
	return came <= leave && came-min(enter, came) > leave-came
}

// hasData reports whether a collective moves data. In one that does, members without bytes wait for nobody.
func hasData(c *xtf.Coll) bool {
	op := c.Flags & xtf.CollOpMask
	return trace.CollectiveClass(op)&trace.ClassBarrier == 0 && !trace.MayMeet(op)
}

// collectiveStep returns the step with which a member enters a collective. It returns false for operations in which nobody waits, and if
// members are missing or disagree. For the repair of clocks, members without bytes for others set no condition, and some operations
// set none at all.
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
