package simnet

import (
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Collective operations by closed forms: members leave when the last of those they wait for is there, and the closed form
// has passed. This is how all non-blocking operations are computed, from the times at which they were posted: steps that
// only a completing call looks at would stop MPI_Ibarrier, MPI_Recv, MPI_Wait for ever.

// meetingKey names one collective operation: the number counts those of the communicator.
type meetingKey struct{ Comm, Number uint32 }

// meeting is one collective operation as a worker knows it.
type meeting struct {
	entered uint32 // members, of those the worker counts
	left    uint32 // members of this worker
	most    int64  // latest entry
	time    int64  // longest closed form
	known   bool   // most and time are those of all members; of a kind that spreads from the root, of the root
	waiters []waiter

	// Of the worker that owns the meeting: workers that need it no more.
	released uint32
	total    uint32 // members of all workers that have entered
	rooted   bool
}

// waiter is a process that waits until a meeting is known.
type waiter struct {
	process uint32
	pending
}

// gathering is a communicator as a worker knows it.
type gathering struct {
	local  uint32 // members that are processes of this worker
	live   uint32 // meetings
	limLog uint8  // live is at most 1 << limLog
	listed bool
	full   []uint32 // processes that wait for fewer meetings
	others []int    // workers, once known
}

// pending is a collective operation that a process has posted and not completed.
type pending struct {
	number uint32
	coll   uint32 // in code.colls
	enter  int64
	null   bool // no partners
}

// assembly is the collective operations of the processes of a worker.
type assembly struct {
	code       *code
	book       *ledger
	mail       *mailbox                         // nil where all processes are those of one engine
	told       func(process uint32, time int64) // a process that waits can leave at a time
	entered    []uint64                         // of each process and communicator: operations entered
	pending    [][]pending
	gatherings []gathering // of each communicator
	meetings   map[meetingKey]*meeting
	crowded    []uint32 // communicators with too many meetings
}

// prepare makes the tables of processes [lo, lo+count), where they have collective operations. Posts beyond those of all members are counted.
func (a *assembly) prepare(colls uint64, limLog uint8, lo uint32, count int) {
	if colls == 0 {
		return
	}
	a.entered, a.pending, a.meetings = make([]uint64, colls), make([][]pending, colls), map[meetingKey]*meeting{}
	a.gatherings = make([]gathering, len(a.code.program.Comms))
	for i := range a.gatherings {
		a.gatherings[i].limLog = limLog
	}
	for i := range count {
		k := a.code.kind(lo + uint32(i))
		for j, port := range k.colls {
			comm := a.code.ports[port].comm
			a.gatherings[comm].local++
			a.book.unmatched += k.enters[j] - a.code.limits[comm]
		}
	}
}

// next counts the entry of a process into its next collective operation on communicator i; false where that has no partners.
func (a *assembly) next(i uint32, x *collOp) bool {
	if a.entered[i] >= a.code.limits[x.comm] {
		return false
	}
	a.entered[i]++
	return true
}

// enter posts a collective operation; i is where the process has the communicator. It is false where there are too many
// meetings: the process is to try again.
func (a *assembly) enter(process, i, coll uint32, cpu int64) bool {
	x := &a.code.colls[coll]
	key := meetingKey{x.comm, uint32(a.entered[i])}
	g := &a.gatherings[x.comm]
	if a.entered[i] < a.code.limits[x.comm] && a.meetings[key] == nil && g.live >= 1<<g.limLog {
		g.full = append(g.full, process)
		if !g.listed {
			g.listed = true
			a.crowded = append(a.crowded, x.comm)
		}
		return false
	}
	if !a.next(i, x) {
		a.pending[i] = append(a.pending[i], pending{null: true})
		return true
	}
	if max(x.time, x.over) > network.Longest {
		a.book.fail(program.Errorf("a collective operation on communicator %d takes longer than 13 days", x.comm))
		return false
	}
	a.book.events++
	a.pending[i] = append(a.pending[i], pending{number: key.Number, coll: coll, enter: cpu})
	m := a.meet(key)
	m.entered++
	m.rooted = x.kind.Rooted()
	root := a.isRoot(x, process)
	if !x.kind.Spreads() || root {
		m.most, m.time = max(m.most, cpu), max(m.time, x.time)
	}
	if x.kind.Spreads() && root || !x.kind.Spreads() && m.entered == g.local {
		a.conclude(key, m, x)
	}
	return true
}

// makeRoom lets communicators have more meetings where processes wait for nothing else; false if there are none.
func (a *assembly) makeRoom() (some bool) {
	for _, comm := range a.crowded {
		g := &a.gatherings[comm]
		if g.listed = false; len(g.full) > 0 {
			some = true
			g.limLog++
			a.book.ready = append(a.book.ready, g.full...)
			g.full = g.full[:0]
		}
	}
	a.crowded = a.crowded[:0]
	return some
}

func (a *assembly) isRoot(x *collOp, process uint32) bool {
	return x.kind.Rooted() && a.code.program.Comms[x.comm].Process(x.root) == process
}

// meet returns a meeting, which begins if there is none.
func (a *assembly) meet(key meetingKey) *meeting {
	m := a.meetings[key]
	if m == nil {
		m = &meeting{}
		a.meetings[key] = m
		a.gatherings[key.Comm].live++
	}
	return m
}

// settle makes a meeting known and tells who waits for it.
func (a *assembly) settle(m *meeting) {
	m.known = true
	for i := range m.waiters {
		w := &m.waiters[i]
		a.told(w.process, a.leaves(w.process, &w.pending, m))
	}
	m.waiters = nil
}

// leaves returns when a process leaves a meeting that is known, or that it need not wait for.
func (a *assembly) leaves(process uint32, q *pending, m *meeting) int64 {
	x := &a.code.colls[q.coll]
	at := q.enter + x.over
	switch x.kind.DependsOn(a.isRoot(x, process)) {
	case program.OnRoot:
		at = max(q.enter, m.most+x.time)
	case program.OnAll:
		at = m.most + m.time
	}
	a.book.clock |= at
	return at
}

// await returns when a process leaves an operation that it has posted. Where that is not known yet, a later call says so.
func (a *assembly) await(process uint32, q *pending) (at int64, ok bool) {
	x := &a.code.colls[q.coll]
	m := a.meet(meetingKey{x.comm, q.number})
	if !m.known && x.kind.DependsOn(a.isRoot(x, process)) != program.OnNobody {
		m.waiters = append(m.waiters, waiter{process, *q})
		return 0, false
	}
	return a.leaves(process, q, m), true
}

// leave completes an operation, and ends its meeting for this worker when all of its members have left.
func (a *assembly) leave(q *pending) {
	x := &a.code.colls[q.coll]
	key := meetingKey{x.comm, q.number}
	m := a.meet(key)
	if m.left++; m.left < a.gatherings[key.Comm].local {
		return
	}
	if to, away := a.owner(x); away {
		a.mail.put(to, address(key.Comm, 0, farReleased), uint64(key.Number))
		return
	}
	a.endIfDone(key)
}

// end forgets a meeting, and lets processes begin others.
func (a *assembly) end(key meetingKey) {
	delete(a.meetings, key)
	g := &a.gatherings[key.Comm]
	g.live--
	a.book.ready = append(a.book.ready, g.full...)
	g.full = g.full[:0]
}

// owner returns the number of the worker that brings a meeting together, where it is another one: that of the root, or of rank 0.
func (a *assembly) owner(x *collOp) (worker int, away bool) {
	if a.mail == nil {
		return 0, false
	}
	r := uint32(0)
	if x.kind.Rooted() {
		r = x.root
	}
	worker = a.mail.run.workerOf(a.code.program.Comms[x.comm].Process(r))
	return worker, worker != a.mail.self
}

// conclude passes on what the members of this worker know together.
func (a *assembly) conclude(key meetingKey, m *meeting, x *collOp) {
	to, away := a.owner(x)
	switch {
	case away:
		a.mail.put(to, address(key.Comm, 0, farEntered), uint64(key.Number)<<32|uint64(m.entered), uint64(m.most), uint64(m.time))
	case x.kind.Spreads():
		a.tellOthers(key, m)
		a.settle(m)
	default:
		a.takeEntered(key, m.entered, m.most, m.time)
	}
}

// takeEntered notes at the owner that all members of a worker have entered. When all members have, they may leave; of a
// rooted operation only the root waits for that.
func (a *assembly) takeEntered(key meetingKey, members uint32, most, time int64) {
	m := a.meet(key)
	m.total += members
	m.most, m.time = max(m.most, most), max(m.time, time)
	if m.total < a.code.program.Comms[key.Comm].Size {
		return
	}
	if !m.rooted {
		a.tellOthers(key, m)
	}
	a.settle(m)
}

// tellOthers sends what a meeting came to.
func (a *assembly) tellOthers(key meetingKey, m *meeting) {
	for _, to := range a.others(key.Comm) {
		a.mail.put(to, address(key.Comm, 0, farKnown), uint64(key.Number), uint64(m.most), uint64(m.time))
	}
}

// endIfDone ends a meeting for all when no worker needs it.
func (a *assembly) endIfDone(key meetingKey) {
	m, others := a.meet(key), a.others(key.Comm)
	if m.left < a.gatherings[key.Comm].local || int(m.released) < len(others) {
		return
	}
	for _, to := range others {
		a.mail.put(to, address(key.Comm, 0, farEnded), uint64(key.Number))
	}
	a.end(key)
}

// others returns the workers that have members of a communicator, but this one.
func (a *assembly) others(comm uint32) []int {
	g := &a.gatherings[comm]
	if g.others != nil || a.mail == nil {
		return g.others
	}
	g.others = []int{}
	m := &a.code.program.Comms[comm]
	for rank := range m.Size {
		n := a.mail.run.workerOf(m.Process(rank))
		if i, ok := slices.BinarySearch(g.others, n); !ok && n != a.mail.self {
			g.others = slices.Insert(g.others, i, n)
		}
	}
	return g.others
}

// takeRecord reads a record about a meeting.
func (a *assembly) takeRecord(kind uint64, comm uint32, b []uint64) {
	key := meetingKey{comm, uint32(b[0])}
	switch kind {
	case farEntered:
		a.takeEntered(meetingKey{comm, uint32(b[0] >> 32)}, uint32(b[0]), int64(b[1]), int64(b[2]))
	case farKnown:
		m := a.meet(key)
		m.most, m.time = int64(b[1]), int64(b[2])
		a.settle(m)
	case farReleased:
		a.meet(key).released++
		a.endIfDone(key)
	case farEnded:
		a.end(key)
	}
}
