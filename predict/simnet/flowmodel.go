package simnet

import "slices"

// Collective operations by closed forms: members leave when the last of those they wait for is there, and the closed form
// has passed. This is how all non-blocking operations are computed, from the times at which they were posted: steps that
// only a completing call looks at would stop MPI_Ibarrier, MPI_Recv, MPI_Wait for ever.

// meetingKey names one collective operation: the number counts those of the communicator.
type meetingKey struct{ comm, number uint32 }

// meeting is one collective operation as a worker knows it.
type meeting struct {
	entered uint32 // members, of those the worker counts
	left    uint32 // members of this worker
	most    int64  // latest entry
	time    int64  // longest closed form
	known   bool   // most and time are those of all members; of a kind that spreads from the root, of the root
	waiters []uint32

	// Of the worker that owns the meeting: workers that need it no more.
	released uint32
	total    uint32 // members of all workers that have entered
	rooted   bool
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

// spreads tells whether a kind goes from the root to the others.
func (k CollKind) spreads() bool { return k == Bcast || k == Scatter }

// enterModel posts a collective operation; i is where the process has the communicator.
func (w *worker) enterModel(p *proc, o *op, i uint32) bool {
	x := &w.code.colls[o.size]
	if w.entered[i] >= w.code.limits[x.comm] {
		w.pending[i] = append(w.pending[i], pending{null: true})
		return true
	}
	key := meetingKey{x.comm, uint32(w.entered[i])}
	g := &w.gatherings[x.comm]
	m := w.meetings[key]
	if m == nil && g.live >= 1<<g.limLog {
		p.state = crowded
		g.full = append(g.full, w.lo+w.me)
		if !g.listed {
			g.listed = true
			w.crowdedComms = append(w.crowdedComms, x.comm)
		}
		return false
	}
	if max(x.time, x.over) > largest {
		w.fail(programError("a collective operation on communicator %d takes longer than 13 days", x.comm))
		return false
	}
	p.state = ready
	w.entered[i]++
	w.events++
	w.pending[i] = append(w.pending[i], pending{number: key.number, coll: o.size, enter: p.cpu})
	m = w.meet(key)
	m.entered++
	m.rooted = x.kind.Rooted()
	root := w.isRoot(x)
	if !x.kind.spreads() || root {
		m.most, m.time = max(m.most, p.cpu), max(m.time, x.time)
	}
	if x.kind.spreads() && root || !x.kind.spreads() && m.entered == g.local {
		w.conclude(key, m, x)
	}
	return true
}

// isRoot tells whether the process that runs is the root.
func (w *worker) isRoot(x *collOp) bool {
	return x.kind.Rooted() && w.code.program.Comms[x.comm].Process(x.root) == w.lo+w.me
}

// meet returns a meeting, which begins if there is none.
func (w *worker) meet(key meetingKey) *meeting {
	m := w.meetings[key]
	if m == nil {
		m = &meeting{}
		w.meetings[key] = m
		w.gatherings[key.comm].live++
	}
	return m
}

// settle makes a meeting known and wakes who waits for it.
func (w *worker) settle(m *meeting) {
	m.known = true
	w.ready = append(w.ready, m.waiters...)
	m.waiters = nil
}

// gatherColl waits for a collective operation posted by an earlier call, or by this one.
func (w *worker) gatherColl(p *proc, k *kind, o *op) verdict {
	i := p.collBase + k.find(o.port)
	if o.off >= uint32(len(w.pending[i])) {
		return w.tooMany(p)
	}
	q := &w.pending[i][o.off]
	w.leaving = append(w.leaving, leaving{i, o.off})
	if q.null {
		return there
	}
	x := &w.code.colls[q.coll]
	at := q.enter + x.over
	if on := x.kind.dependsOn(w.isRoot(x)); on != onNobody {
		m := w.meet(meetingKey{x.comm, q.number})
		if !m.known {
			m.waiters = append(m.waiters, w.lo+w.me)
			return missing
		}
		at = m.most + m.time
		if on == onRoot {
			at = max(q.enter, m.most+x.time)
		}
	}
	w.clock |= at
	w.sends = append(w.sends, item{time: at, id: noChannel})
	return there
}

// leaving is a pending operation that the current call completes.
type leaving struct{ at, off uint32 }

// leaveColls completes the collective operations that were gathered.
func (w *worker) leaveColls() {
	for _, l := range w.leaving {
		q := &w.pending[l.at][l.off]
		if q.null {
			continue
		}
		key := meetingKey{w.code.colls[q.coll].comm, q.number}
		m := w.meet(key)
		m.left++
		w.release(key, m, &w.code.colls[q.coll])
	}
	slices.SortFunc(w.leaving, func(a, b leaving) int { return int(int64(b.off) - int64(a.off)) })
	for _, l := range w.leaving {
		w.pending[l.at] = slices.Delete(w.pending[l.at], int(l.off), int(l.off)+1)
	}
}

// end forgets a meeting, and lets processes begin others.
func (w *worker) end(key meetingKey) {
	delete(w.meetings, key)
	g := &w.gatherings[key.comm]
	g.live--
	w.ready = append(w.ready, g.full...)
	g.full = g.full[:0]
}

// owner returns the number of the worker that brings a meeting together: that of the root, or of rank 0.
func (w *worker) owner(x *collOp) int {
	r := uint32(0)
	if x.kind.Rooted() {
		r = x.root
	}
	return w.run.workerOf(w.code.program.Comms[x.comm].Process(r))
}

// conclude passes on what the members of this worker know together.
func (w *worker) conclude(key meetingKey, m *meeting, x *collOp) {
	switch to := w.owner(x); {
	case to != w.self:
		w.far(to, address(key.comm, 0, farEntered), uint64(key.number)<<32|uint64(m.entered), uint64(m.most), uint64(m.time))
	case x.kind.spreads():
		w.tellOthers(key, m)
		w.settle(m)
	default:
		w.takeEntered(key, m.entered, m.most, m.time)
	}
}

// takeEntered notes at the owner that all members of a worker have entered. When all members have, they may leave; of a
// rooted operation only the root waits for that.
func (w *worker) takeEntered(key meetingKey, members uint32, most, time int64) {
	m := w.meet(key)
	m.total += members
	m.most, m.time = max(m.most, most), max(m.time, time)
	if m.total < w.code.program.Comms[key.comm].Size {
		return
	}
	if !m.rooted {
		w.tellOthers(key, m)
	}
	w.settle(m)
}

// tellOthers sends what a meeting came to.
func (w *worker) tellOthers(key meetingKey, m *meeting) {
	for _, to := range w.others(key.comm) {
		w.far(to, address(key.comm, 0, farKnown), uint64(key.number), uint64(m.most), uint64(m.time))
	}
}

// release ends a meeting for this worker when all of its members have left.
func (w *worker) release(key meetingKey, m *meeting, x *collOp) {
	if m.left < w.gatherings[key.comm].local {
		return
	}
	if to := w.owner(x); to != w.self {
		w.far(to, address(key.comm, 0, farReleased), uint64(key.number))
		return
	}
	w.endIfDone(key)
}

// endIfDone ends a meeting for all when no worker needs it.
func (w *worker) endIfDone(key meetingKey) {
	m, others := w.meet(key), w.others(key.comm)
	if m.left < w.gatherings[key.comm].local || int(m.released) < len(others) {
		return
	}
	for _, to := range others {
		w.far(to, address(key.comm, 0, farEnded), uint64(key.number))
	}
	w.end(key)
}

// others returns the workers that have members of a communicator, but this one.
func (w *worker) others(comm uint32) []int {
	g := &w.gatherings[comm]
	if g.others != nil {
		return g.others
	}
	g.others = []int{}
	m := &w.code.program.Comms[comm]
	for rank := range m.Size {
		n := w.run.workerOf(m.Process(rank))
		if i, ok := slices.BinarySearch(g.others, n); !ok && n != w.self {
			g.others = slices.Insert(g.others, i, n)
		}
	}
	return g.others
}
