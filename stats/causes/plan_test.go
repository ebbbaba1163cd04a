package causes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Collective operations as rows name them, and regions of the plan's definitions.
const (
	opBarrier   = 0
	opBcast     = 1
	opReduce    = 12
	opScan      = 14
	opAlltoallv = 9
	regionSend  = 0
	regionSsend = 1
	regionColl  = 2
)

// plannedCall is an outermost MPI call of a plan.
type plannedCall struct {
	enter, leave uint64
	region       uint32
	p2p          []int // sides in plan.sides that have their row in this call
	coll         []int // members in plan.members
}

// side is one side of a planned message; the two sides of message i are 2i
// (send) and 2i+1.
type side struct {
	p, call  int    // of the row
	post     int    // call of the posting
	done     int    // call that completes the send
	kind     uint32 // flags
	sendsync bool
}

type member struct {
	p, call, start int // start: call of the initiation
	comm, op, root uint32
	ordinal        uint64
	flags          uint32
	sent, received uint64
}

// plan is a run: calls of each location in the order of time.
type plan struct {
	defs    *trace.Definitions
	calls   [][]plannedCall
	sides   []side
	members []member
	ivals   [][]xtf.Ival
	last    uint64
}

func planDefs(processes int, comms ...[]uint64) *trace.Definitions {
	d := &trace.Definitions{Strings: []trace.String{{Ref: 0, Value: "MPI_Send"}, {Ref: 1, Value: "MPI_Issend"}, {Ref: 2, Value: "MPI_Iallreduce"}}}
	d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: 0, Parent: trace.Undefined})
	for i := range uint32(3) {
		d.Regions = append(d.Regions, trace.Region{Ref: i, Name: i, Paradigm: trace.ParadigmMPI})
	}
	all := trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	for p := range processes {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(p), Type: 1, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(p), Type: 1, Group: uint32(p)})
		all.Members = append(all.Members, uint64(p))
	}
	d.Groups = append(d.Groups, all)
	for i, members := range comms {
		d.Groups = append(d.Groups, trace.Group{Ref: uint32(i + 1), Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
		d.Comms = append(d.Comms, trace.Comm{Ref: uint32(i), Group: uint32(i + 1), Parent: trace.Undefined})
	}
	d.Seal()
	return d
}

func (pl *plan) call(p int, enter, leave uint64, region uint32) int {
	pl.calls[p] = append(pl.calls[p], plannedCall{enter: enter, leave: leave, region: region})
	pl.last = max(pl.last, leave)
	return len(pl.calls[p]) - 1
}

// message joins two sides.
func (pl *plan) message(s, r side) {
	for _, x := range []side{s, r} {
		pl.calls[x.p][x.call].p2p = append(pl.calls[x.p][x.call].p2p, len(pl.sides))
		pl.sides = append(pl.sides, x)
	}
}

func (pl *plan) member(m member) {
	if m.ordinal%2 > 0 { // of every other operation some members give or get nothing
		m.sent, m.received = uint64(m.p%2), uint64((m.p+1)%3)
	} else {
		m.sent, m.received = 8, 8
	}
	pl.calls[m.p][m.call].coll = append(pl.calls[m.p][m.call].coll, len(pl.members))
	pl.members = append(pl.members, m)
}

func (pl *plan) at(p, call int) *plannedCall { return &pl.calls[p][call] }

// sync says how the send of message i waits, as the rows do.
func (pl *plan) sync(i int) uint32 {
	s, r := &pl.sides[2*i], &pl.sides[2*i+1]
	send, recv := pl.at(s.p, s.call), pl.at(r.p, r.call)
	blocked := s.kind&xtf.P2PNonBlocking == 0 && send.leave > recv.enter
	switch {
	case blocked && (recv.enter > send.enter || s.sendsync):
		return xtf.P2PAwaited
	case s.sendsync:
		return xtf.P2PAwaitedPost
	}
	return 0
}

// instance returns when the last member of an operation came to begin it, and the first one left it.
func (pl *plan) instance(m *member) (last, first uint64) {
	first = xtf.Never
	for i := range pl.members {
		if o := &pl.members[i]; o.comm == m.comm && o.ordinal == m.ordinal {
			last, first = max(last, pl.at(o.p, o.start).enter), min(first, pl.at(o.p, o.call).leave)
		}
	}
	return last, first
}

// planRows are the rows of a location.
type planRows struct {
	calls, ivals xtf.FinishedArray
	p2p          []xtf.Message
	coll         []xtf.Collective
	m, c         int // the next ones
}

func (r *planRows) NextMessage() *xtf.Message {
	if r.m++; r.m > len(r.p2p) {
		return nil
	}
	return &r.p2p[r.m-1]
}

func (r *planRows) NextCollective() *xtf.Collective {
	if r.c++; r.c > len(r.coll) {
		return nil
	}
	return &r.coll[r.c-1]
}

func (r *planRows) Err() error { return nil }

// rows makes the rows of a location. One call in three has a caller around it.
func (pl *plan) rows(t testing.TB, types *xtf.TypeTable, p int) *planRows {
	var calls []xtf.Call
	rows := &planRows{}
	rowOf := pl.rowNumbers()
	callN := uint64(0)
	for i, c := range pl.calls[p] {
		if i%3 == 0 {
			calls = append(calls, xtf.Call{T: c.enter, End: c.leave, Parent: xtf.Never, Region: 9})
			callN++
		}
		calls = append(calls, xtf.Call{T: c.enter, End: c.leave, Parent: xtf.Never, Region: c.region, Class: xtf.ClassMPI, Flags: xtf.FlagOutermostMPI})
		for _, k := range c.p2p {
			x, o := &pl.sides[k], &pl.sides[k^1]
			r := xtf.P2P{T: c.enter, End: c.leave, Post: pl.at(p, x.post).enter, Done: pl.at(p, x.done).leave, CallN: callN, MateN: rowOf[k^1], MateP: uint32(o.p), MateT: pl.at(o.p, o.call).enter}
			r.Kind = x.kind | pl.sync(k/2) | uint32(k&1)
			rows.p2p = append(rows.p2p, xtf.Message{P2P: r, N: uint64(len(rows.p2p))})
		}
		for _, k := range c.coll {
			m := &pl.members[k]
			x := xtf.Coll{T: c.enter, End: c.leave, Post: pl.at(p, m.start).enter, CallN: callN, Ordinal: m.ordinal, Comm: m.comm, Root: m.root, Flags: m.op | m.flags}
			x.LastEnter, x.FirstLeave = pl.instance(m)
			rows.coll = append(rows.coll, xtf.Collective{Coll: x, N: uint64(len(rows.coll))})
		}
		callN++
	}
	rows.calls, rows.ivals = idealArray(t, types, xtf.TypeCall, calls), idealArray(t, types, xtf.TypeIval, pl.ivals[p])
	return rows
}

// rowNumbers gives the row of each side in its location.
func (pl *plan) rowNumbers() []uint64 {
	rowOf := make([]uint64, len(pl.sides))
	for _, calls := range pl.calls {
		n := uint64(0)
		for _, c := range calls {
			for _, k := range c.p2p {
				rowOf[k] = n
				n++
			}
		}
	}
	return rowOf
}

func idealArray[T any, P interface {
	*T
	Put([]byte)
}](t testing.TB, types *xtf.TypeTable, id xtf.TypeID, rows []T,
) xtf.FinishedArray {
	t.Helper()
	sink, encoder := &xtftest.MemorySink{}, encoders.Get().(*xtf.Encoder)
	defer encoders.Put(encoder)
	b := xtf.NewArrayBuilder(encoder, types.Lookup(id), 0, sink)
	for i := range rows {
		row, _ := b.Append()
		P(&rows[i]).Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return xtf.FinishedArray{Summary: sum, Data: sink}
}

// randomPlan simulates a run in which all clocks are right. In a blocking one sends and collectives complete in the call that begins them.
func randomPlan(r *rand.Rand, processes, steps int, blocking bool) *plan {
	all, some := make([]uint64, processes), []uint64(nil)
	for i, p := range r.Perm(processes) {
		all[i] = uint64(i)
		if i <= processes/2 {
			some = append(some, uint64(p))
		}
	}
	pl := &plan{defs: planDefs(processes, all, some), calls: make([][]plannedCall, processes)}
	now := make([]uint64, processes)
	ordinals := [2]uint64{}
	work := func(p int) uint64 { now[p] += r.Uint64N(20); return now[p] }
	leave := func(p int, least uint64) uint64 { now[p] = max(now[p], least) + r.Uint64N(5); return now[p] }
	var later []func()
	for range steps {
		a, b := r.IntN(processes), r.IntN(processes-1)
		if b >= a {
			b++
		}
		switch r.IntN(6) {
		case 0: // standard send, blocking receive
			s := work(a)
			sc := pl.call(a, s, leave(a, s), regionSend)
			in := side{p: b}
			if r.IntN(3) == 0 { // after a probe
				e := work(b)
				in.post, in.kind = pl.call(b, e, leave(b, s), regionSend), xtf.P2PProbed
			}
			e := work(b)
			in.call = pl.call(b, e, leave(b, s), regionSend)
			if in.done = in.call; in.kind == 0 {
				in.post = in.call
			}
			out := side{p: a, call: sc, post: sc, done: sc}
			if !blocking && r.IntN(2) == 0 { // the call that completes it may wait for the receive
				out.kind = xtf.P2PNonBlocking
				d := work(a)
				out.done = pl.call(a, d, leave(a, max(d, e*r.Uint64N(2))), regionSend)
			}
			pl.message(out, in)
		case 1: // synchronous, or seen to have waited
			s, e := work(a), work(b)
			sc, rc := pl.call(a, s, leave(a, e), regionSend), pl.call(b, e, leave(b, s), regionSend)
			pl.message(side{p: a, call: sc, post: sc, done: sc, sendsync: r.IntN(2) == 0}, side{p: b, call: rc, post: rc, done: rc})
		case 2, 3: // early posted receive, synchronous or not, blocking or not
			e := work(b)
			post := pl.call(b, e, leave(b, e), regionSend)
			sync := r.IntN(2) == 0
			later = append(later, func() {
				s := work(a)
				x := side{p: a, sendsync: sync}
				x.call = pl.call(a, s, leave(a, max(s, e)), regionSsend)
				x.post, x.done = x.call, x.call
				if !blocking && r.IntN(2) == 0 {
					x.kind = xtf.P2PNonBlocking
					d := work(a)
					x.done = pl.call(a, d, leave(a, d), regionSend)
				}
				w := work(b)
				wait := pl.call(b, w, leave(b, s), regionSend)
				pl.message(x, side{p: b, call: wait, post: post, done: wait, kind: xtf.P2PNonBlocking})
			})
		default:
			if f := pl.randomCollective(r, blocking, &ordinals, [2][]uint64{all, some}, now, work, leave); f != nil {
				later = append(later, f)
			}
		}
		if len(later) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(later))
			later[i]()
			later = slices.Delete(later, i, i+1)
		}
	}
	for _, f := range later {
		f()
	}
	pl.ivals = make([][]xtf.Ival, processes)
	for p := range pl.ivals {
		pl.last = max(pl.last, work(p))
	}
	for p := range pl.ivals {
		pl.ivals[p] = append(pl.ivals[p], xtf.Ival{T: 0, End: pl.last})
		for at := uint64(0); at < pl.last; { // slices
			next := min(pl.last, at+1+r.Uint64N(40))
			pl.ivals[p] = append(pl.ivals[p], xtf.Ival{T: at, End: next, Node: 1 + uint32(r.IntN(3))})
			at = next
		}
	}
	return pl
}

// randomCollective adds a collective. Of a non-blocking one it returns what adds the
// calls that complete it.
func (pl *plan) randomCollective(r *rand.Rand, blocking bool, ordinals *[2]uint64, comms [2][]uint64, now []uint64, work func(int) uint64, leave func(int, uint64) uint64) func() {
	comm := r.IntN(2)
	members := comms[comm]
	m := member{comm: uint32(comm), op: []uint32{opBarrier, opBcast, opReduce, opScan, 11, 9}[r.IntN(6)], root: uint32(r.IntN(len(members))), ordinal: ordinals[comm]}
	ordinals[comm]++
	blocking = blocking || r.IntN(3) > 0
	starts := make([]int, len(members))
	latest := uint64(0)
	for i, p := range members {
		e := work(int(p))
		latest = max(latest, e)
		if !blocking {
			starts[i] = pl.call(int(p), e, leave(int(p), e), regionColl)
		}
	}
	if blocking {
		for _, p := range members {
			e := now[p]
			m.p, m.call = int(p), pl.call(int(p), e, leave(int(p), latest), regionColl)
			m.start = m.call
			pl.member(m)
		}
		return nil
	}
	return func() {
		for i, p := range members {
			e := work(int(p))
			m.p, m.call, m.start, m.flags = int(p), pl.call(int(p), e, leave(int(p), latest), regionColl), starts[i], xtf.CollNonBlocking
			pl.member(m)
		}
	}
}
