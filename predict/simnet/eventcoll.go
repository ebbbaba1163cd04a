package simnet

import "slices"

// stepState is how far a process is in the collective operation that it performs by steps.
type stepState struct {
	collProgress
	coll uint32 // in code.colls
	recv uint32 // the message that the step receives
}

// eventMeeting is one collective operation by its closed form.
type eventMeeting struct {
	entered, left uint32 // members
	most, time    int64
	known         bool
	waiters       []waiter
}

type waiter struct {
	process, coll uint32
	enter         int64
}

// enterColl posts a collective operation; true where the process performs it now, by steps.
func (r *eventRun) enterColl(p *eventProc, id uint32, o *op) bool {
	x := &r.code.colls[o.size]
	i := p.collBase + r.code.kinds[p.kind].find(o.port)
	null := r.entered[i] >= r.code.limits[x.comm]
	switch {
	case x.steps && null:
	case x.steps:
		r.entered[i]++
		r.steps[id] = stepState{coll: o.size}
		p.stage = atColl
		return true
	case null:
		r.pending[i] = append(r.pending[i], pending{null: true})
	default:
		r.enterMeeting(p, id, i, o.size)
	}
	return false
}

// beginStep posts what the next step of a collective operation sends and receives.
func (r *eventRun) beginStep(p *eventProc, id uint32) bool {
	if r.yields(p, id) {
		return false
	}
	s := &r.steps[id]
	x := &r.code.colls[s.coll]
	m := &r.code.program.Comms[x.comm]
	rank, _ := r.code.rank(x.comm, id)
	plan := newSchedule(x.alg, m.Size, rank, x.root, x.bytes, x.got)
	if s.Next == plan.steps {
		p.stage = atPosts
		p.at++
		return true
	}
	do := plan.at(&s.collProgress)
	p.stage, p.need, s.recv = atStep, 0, 0
	if do.From != nobody {
		ch, ok := r.stepChain(x.comm, m.Process(uint32(do.From)), id)
		if !ok {
			return false
		}
		s.recv = r.postRecv(p, ch, false)
		r.messages[s.recv].flags |= ofStep
		r.takeRecv(ch, 0)
		r.awaitRecv(p, s.recv)
	}
	if do.To != nobody {
		ch, ok := r.stepChain(x.comm, id, m.Process(uint32(do.To)))
		if !ok {
			return false
		}
		n := r.sendOn(ch)
		y := &r.messages[n]
		y.cost = r.costOf(do.Send) + uint32(r.chains[ch].class)
		r.takeSend(ch, 0)
		r.send(p, id, n)
		r.awaitSend(p, n)
		r.events += 2
	}
	return p.need == 0
}

// endStep takes what a step has waited for, and combines.
func (r *eventRun) endStep(p *eventProc, id uint32) bool {
	s := &r.steps[id]
	x := &r.code.colls[s.coll]
	reduce := uint64(0)
	if s.recv != 0 {
		m := &r.code.program.Comms[x.comm]
		rank, _ := r.code.rank(x.comm, id)
		plan := newSchedule(x.alg, m.Size, rank, x.root, x.bytes, x.got)
		reduce = plan.at(&s.collProgress).Reduce
		s.received(r.bytesOf(&r.messages[s.recv]))
		r.events++
		if r.arrival {
			r.close(s.recv, recvClosed)
		}
	}
	r.takeMessages(p)
	s.Next++
	p.stage = atColl
	if reduce == 0 {
		return true
	}
	t := r.code.network.Gamma.Of(reduce)
	if t > largest {
		r.fail(programError("the reduction of %d bytes takes longer than 13 days", reduce))
		return false
	}
	if r.arrival {
		r.operate(p, opSpend, t)
		return false
	}
	r.spend(p, t)
	return true
}

// stepChain returns the channel of the steps from one process to another.
func (r *eventRun) stepChain(comm, src, dst uint32) (uint32, bool) {
	id, err := r.chainOf(chainName{comm | collectiveName, src, dst, 0}, noPort)
	if err != nil {
		r.fail(err)
		return 0, false
	}
	r.chains[id].unwaited = false
	return id, true
}

// costOf returns where the costs of a size of a step are.
func (r *eventRun) costOf(bytes uint64) uint32 {
	at, ok := r.sizes[bytes]
	if ok {
		return at
	}
	at = uint32(len(r.costs))
	r.sizes[bytes] = at
	r.bytes = append(r.bytes, bytes)
	for i := range r.code.network.Links {
		x, ok := r.code.network.Links[i].cost(bytes)
		if !ok {
			r.fail(programError("a message of %d bytes takes longer than 13 days", bytes))
		}
		r.costs = append(r.costs, x)
	}
	return at
}

// enterMeeting enters a collective operation by its closed form.
func (r *eventRun) enterMeeting(p *eventProc, id, i, coll uint32) {
	x := &r.code.colls[coll]
	if max(x.time, x.over) > largest {
		r.fail(programError("a collective operation on communicator %d takes longer than 13 days", x.comm))
		return
	}
	key := meetingKey{x.comm, uint32(r.entered[i])}
	r.entered[i]++
	r.events++
	r.pending[i] = append(r.pending[i], pending{number: key.number, coll: coll, enter: p.cpu})
	m := r.meet(key)
	m.entered++
	root := r.isRoot(x, id)
	if !x.kind.spreads() || root {
		m.most, m.time = max(m.most, p.cpu), max(m.time, x.time)
	}
	if x.kind.spreads() && root || !x.kind.spreads() && m.entered == r.code.program.Comms[x.comm].Size {
		m.known = true
		for _, w := range m.waiters {
			r.leaveAt(m, w)
			r.satisfy(w.process)
		}
		m.waiters = nil
	}
}

func (r *eventRun) isRoot(x *collOp, process uint32) bool {
	return x.kind.Rooted() && r.code.program.Comms[x.comm].Process(x.root) == process
}

func (r *eventRun) meet(key meetingKey) *eventMeeting {
	m := r.meetings[key]
	if m == nil {
		m = &eventMeeting{}
		r.meetings[key] = m
	}
	return m
}

// leaveAt notes when a process leaves a collective operation that is known.
func (r *eventRun) leaveAt(m *eventMeeting, w waiter) {
	x := &r.code.colls[w.coll]
	at := w.enter + x.over
	switch x.kind.dependsOn(r.isRoot(x, w.process)) {
	case onRoot:
		at = max(w.enter, m.most+x.time)
	case onAll:
		at = m.most + m.time
	}
	r.clock |= at
	p := &r.procs[w.process]
	p.until = max(p.until, at)
}

// awaitColl makes a process wait for a collective operation posted by an earlier call, or by this one.
func (r *eventRun) awaitColl(p *eventProc, id uint32, o *op) bool {
	i := p.collBase + r.code.kinds[p.kind].find(o.port)
	if int64(o.age) >= int64(len(r.pending[i])) {
		return false
	}
	q := r.pending[i][o.age]
	r.pending[i] = slices.Delete(r.pending[i], int(o.age), int(o.age)+1)
	if q.null {
		return true
	}
	x := &r.code.colls[q.coll]
	key := meetingKey{x.comm, q.number}
	m := r.meet(key)
	m.left++
	w := waiter{id, q.coll, q.enter}
	if m.known || x.kind.dependsOn(r.isRoot(x, id)) == onNobody {
		r.leaveAt(m, w)
	} else {
		m.waiters = append(m.waiters, w)
		p.need++
	}
	if size := r.code.program.Comms[x.comm].Size; m.left == size && m.entered == size {
		delete(r.meetings, key)
	}
	return true
}
