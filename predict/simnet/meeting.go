package simnet

import (
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Collective operations by closed forms: a member leaves after the last process that it waits for has entered and the closed form has
// passed. All non-blocking operations use closed forms, from the time of their posts: if steps were only performed in the completing call,
// the sequence MPI_Ibarrier, MPI_Recv, MPI_Wait could stop forever.

// meetingKey identifies a collective operation: Number counts those on the communicator.
type meetingKey struct{ Comm, Number uint32 }

// meeting is one collective operation as one worker knows it.
type meeting struct {
	entered uint32 // members that have entered, of this worker
	left    uint32 // members of this worker that have left
	most    int64  // latest entry
	time    int64  // longest closed form
	known   bool   // most and time are final: those of all members, or of the root if the operation goes from the root to others
	waiters []waiter

	// In the worker that owns the meeting: how many workers do not need it any more.
	released uint32
	total    uint32 // members of all workers that have entered
	rooted   bool
}

// waiter is a process that waits until a meeting is known.
type waiter struct {
	process uint32
	pending
}

// gathering is a communicator as one worker knows it.
type gathering struct {
	local  uint32   // members that are processes of this worker
	live   uint32   // meetings in progress
	full   []uint32 // processes that wait until there are fewer meetings
	others []int    // workers with members; nil until known
}

// pending is a collective operation that a process has posted and not completed.
type pending struct {
	number uint32
	coll   uint32 // index in code.colls
	enter  int64
	null   bool // no partners
}

// assembly is the collective operations of a worker's processes.
type assembly struct {
	code       *code
	book       *ledger
	mail       *mailbox                         // nil in the event engine
	told       func(process uint32, time int64) // a process that waits can leave at a time
	entered    []uint64                         // of each process and communicator: number of operations entered
	pending    [][]pending
	gatherings []gathering // of each communicator
	meetings   map[meetingKey]*meeting
}

// prepare makes the tables of processes [lo, lo+count), if they have collective operations. It counts posts beyond those that all members
// have.
func (a *assembly) prepare(colls uint64, lo uint32, count int) {
	if colls == 0 {
		return
	}
	a.entered, a.pending, a.meetings = make([]uint64, colls), make([][]pending, colls), map[meetingKey]*meeting{}
	a.gatherings = make([]gathering, len(a.code.program.Comms))
	for i := range count {
		k := a.code.kind(lo + uint32(i))
		for j, port := range k.colls {
			comm := a.code.ports[port].comm
			a.gatherings[comm].local++
			a.book.unmatched += k.enters[j] - a.code.limits[comm]
		}
	}
}

// next counts an operation that a process enters on communicator i. It returns false if the operation has no partners.
func (a *assembly) next(i uint32, x *collOp) bool {
	if a.entered[i] >= a.code.limits[x.comm] {
		return false
	}
	a.entered[i]++
	return true
}

// enter posts a collective operation; i is the index of process and communicator. It returns false if there are too many meetings: the
// process must try again.
func (a *assembly) enter(process, i, coll uint32, cpu int64) bool {
	x := &a.code.colls[coll]
	key := meetingKey{x.comm, uint32(a.entered[i])}
	g := &a.gatherings[x.comm]
	if a.entered[i] < a.code.limits[x.comm] && a.meetings[key] == nil && g.live >= 1<<a.book.limLog {
		g.full = append(g.full, process)
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
	switch {
	case x.kind.Spreads() && root:
		a.tellAll(farKnown, key, uint64(m.most), uint64(m.time))
	case !x.kind.Spreads() && m.entered == g.local:
		a.tell(a.owner(x), farEntered, key, uint64(m.entered), uint64(m.most), uint64(m.time))
	}
	return true
}

func (a *assembly) isRoot(x *collOp, process uint32) bool {
	return x.kind.Rooted() && a.code.program.Comms[x.comm].Process(x.root) == process
}

// meet returns a meeting, which it makes if there is none.
func (a *assembly) meet(key meetingKey) *meeting {
	m := a.meetings[key]
	if m == nil {
		m = &meeting{}
		a.meetings[key] = m
		a.gatherings[key.Comm].live++
	}
	return m
}

// settle marks a meeting as known and informs those that wait for it.
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

// await returns when a process leaves an operation that it has posted. If that is not known yet, told will be called later.
func (a *assembly) await(process uint32, q *pending) (at int64, ok bool) {
	x := &a.code.colls[q.coll]
	m := a.meet(meetingKey{x.comm, q.number})
	if !m.known && x.kind.DependsOn(a.isRoot(x, process)) != program.OnNobody {
		m.waiters = append(m.waiters, waiter{process, *q})
		return 0, false
	}
	return a.leaves(process, q, m), true
}

// leave completes an operation. After all members of this worker have left, it does not need the meeting any more.
func (a *assembly) leave(q *pending) {
	x := &a.code.colls[q.coll]
	key := meetingKey{x.comm, q.number}
	m := a.meet(key)
	if m.left++; m.left == a.gatherings[key.Comm].local {
		a.tell(a.owner(x), farReleased, key)
	}
}

// end removes a meeting, and lets processes begin others.
func (a *assembly) end(key meetingKey) {
	delete(a.meetings, key)
	g := &a.gatherings[key.Comm]
	g.live--
	a.book.ready = append(a.book.ready, g.full...)
	g.full = g.full[:0]
}

// owner returns the number of the worker that coordinates a meeting: that of the root, or of rank 0.
func (a *assembly) owner(x *collOp) int {
	if a.mail == nil {
		return 0
	}
	r := uint32(0)
	if x.kind.Rooted() {
		r = x.root
	}
	return a.mail.run.workerOf(a.code.program.Comms[x.comm].Process(r))
}

// tell sends a record about a meeting to a worker, which may be this one.
func (a *assembly) tell(to int, kind uint64, key meetingKey, words ...uint64) {
	record := append([]uint64{address(key.Comm, 0, kind), uint64(key.Number)}, words...)
	if a.mail == nil || to == a.mail.self {
		a.takeRecord(kind, key.Comm, record[1:])
		return
	}
	a.mail.put(to, record...)
}

// tellAll sends a record to all workers that have members of a communicator, to this one last.
func (a *assembly) tellAll(kind uint64, key meetingKey, words ...uint64) {
	for _, to := range a.others(key.Comm) {
		a.tell(to, kind, key, words...)
	}
	a.takeRecord(kind, key.Comm, append([]uint64{uint64(key.Number)}, words...))
}

// others returns the other workers that have members of a communicator.
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

// takeRecord processes a record about a meeting. When all members have entered they may leave; in a rooted operation only the root waits
// for all. If no worker needs the meeting any more, it ends.
func (a *assembly) takeRecord(kind uint64, comm uint32, b []uint64) {
	key := meetingKey{comm, uint32(b[0])}
	m := a.meet(key)
	switch kind {
	case farEntered:
		m.total += uint32(b[1])
		m.most, m.time = max(m.most, int64(b[2])), max(m.time, int64(b[3]))
		if m.total < a.code.program.Comms[comm].Size {
			return
		}
		if m.rooted {
			a.settle(m)
		} else {
			a.tellAll(farKnown, key, uint64(m.most), uint64(m.time))
		}
	case farKnown:
		m.most, m.time = int64(b[1]), int64(b[2])
		a.settle(m)
	case farReleased:
		if m.released++; int(m.released) > len(a.others(comm)) {
			a.tellAll(farEnded, key)
		}
	case farEnded:
		a.end(key)
	}
}
