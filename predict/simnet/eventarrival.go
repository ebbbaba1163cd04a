package simnet

// The policy Arrival: the processor of a process does one thing after the other. It sends when the network interface is free
// too, computes, and takes messages that are there, whether their receive is posted or not. Of what can begin at one time
// that comes first which became known first (Hoefler, Schneider, Lumsdaine 2010, whose LogGOPSim keeps the same order).

// dueKind is what happens next at a process.
type dueKind uint8

const (
	dueNothing dueKind = iota
	dueSend
	dueMessage
	dueOperation
)

// opKind is what the processor is to do beside messages.
type opKind uint8

const (
	opNothing opKind = iota
	opCompute        // the computation between two calls
	opSpend          // within a call
	opPost           // a receive is posted, which does not wait until the processor is free
)

// operate puts an operation before the processor; the process goes on when it has begun.
func (r *eventRun) operate(p *eventProc, kind opKind, time int64) {
	p.op, p.opTime, p.opSeq = kind, time, r.number()
}

// nextDue returns what can happen next at a process.
func (r *eventRun) nextDue(p *eventProc) dueKind {
	what := dueNothing
	p.dueTime = Never
	if m := p.sendHead; m != 0 {
		p.dueTime, p.dueSeq, what = max(p.cpu, p.tx), r.messages[m].seq, dueSend
	}
	if p.op != opNothing {
		t := p.cpu
		if p.op == opPost {
			t = p.opTime
		}
		if t < p.dueTime || t == p.dueTime && int32(p.opSeq-p.dueSeq) < 0 {
			p.dueTime, p.dueSeq, what = t, p.opSeq, dueOperation
		}
	}
	m := p.arrived
	if m == 0 {
		m = p.flight
	}
	if m != 0 {
		x := &r.messages[m]
		if t := max(p.cpu, p.rx, x.time); t < p.dueTime || t == p.dueTime && int32(x.seq-p.dueSeq) < 0 {
			p.dueTime, p.dueSeq, what = t, x.seq, dueMessage
		}
	}
	return what
}

// poke puts a process into the heap again if something comes up there earlier than what was next.
func (r *eventRun) poke(id uint32) {
	if id == r.current {
		return // which is put in again anyway
	}
	p := &r.procs[id]
	what, time, seq := p.due, p.dueTime, p.dueSeq
	if p.due = r.nextDue(p); p.due == dueNothing || what != dueNothing && time == p.dueTime && seq == p.dueSeq {
		return
	}
	r.heap.push(newEvent(p.dueTime, p.dueSeq, turnEvent, id))
}

// turn lets happen what is due at a process.
func (r *eventRun) turn(p *eventProc, id uint32) {
	switch p.due {
	case dueSend:
		r.transmit(p, id)
	case dueMessage:
		r.drain(p)
	case dueOperation:
		op := p.op
		p.op = opNothing
		switch op {
		case opPost:
			r.posted(p.opMessage)
			return
		case opCompute:
			p.cpu = r.now
			r.compute(p, id, p.opTime)
		case opSpend:
			p.cpu = r.now
			r.spend(p, p.opTime)
		}
		r.proceed(id)
	}
}

// queueSend puts a message behind those that a process is to send.
func (r *eventRun) queueSend(p *eventProc, m uint32) {
	x := &r.messages[m]
	x.seq, x.link = r.number(), 0
	if p.sendTail == 0 {
		p.sendHead = m
	} else {
		r.messages[p.sendTail].link = m
	}
	p.sendTail = m
}

// transmit sends the first of them.
func (r *eventRun) transmit(p *eventProc, id uint32) {
	m := p.sendHead
	x := &r.messages[m]
	if p.sendHead = x.link; p.sendHead == 0 {
		p.sendTail = 0
	}
	k := &r.costs[x.cost]
	p.cpu = r.now + k.send
	x.time += p.cpu
	r.clock |= x.time
	if x.flags&isRendezvous == 0 || r.code.network.NoRendezvousLatency {
		p.tx = r.now + k.busy
		r.deliver(m)
		if x.flags&isRendezvous == 0 {
			r.isOver(m, id)
		}
		return
	}
	p.tx = r.now + k.gap
	x.busy = max(p.tb, p.tx)
	p.tb = x.busy + k.busy
	r.clock |= p.tb
	r.requested(m)
}

// deliver puts a message on the way to its process.
func (r *eventRun) deliver(m uint32) {
	x := &r.messages[m]
	x.seq, x.link = r.number(), 0
	x.flags |= inFlight
	dst := x.dst
	p := &r.procs[dst]
	switch {
	case p.flightTail == 0:
		p.flight, p.flightTail = m, m
		if p.arrived == 0 {
			r.poke(dst)
		}
	case r.messages[p.flightTail].time <= x.time:
		r.messages[p.flightTail].link = m
		p.flightTail = m
	default:
		r.heap.push(newEvent(x.time, x.seq, lateEvent, m))
	}
}

// late handles a message that was sent after others which arrive later.
func (r *eventRun) late(m uint32) {
	x := &r.messages[m]
	dst := x.dst
	p := &r.procs[dst]
	for f := p.flight; f != 0 && r.messages[f].time <= x.time; f = p.flight {
		if p.flight = r.messages[f].link; p.flight == 0 {
			p.flightTail = 0
		}
		r.arriveAt(p, f)
	}
	r.arriveAt(p, m)
	r.poke(dst)
}

// arriveAt puts a message behind those that are there.
func (r *eventRun) arriveAt(p *eventProc, m uint32) {
	r.messages[m].link = 0
	if p.arrivedTail == 0 {
		p.arrived = m
	} else {
		r.messages[p.arrivedTail].link = m
	}
	p.arrivedTail = m
}

// drain takes the first message that is there.
func (r *eventRun) drain(p *eventProc) {
	m := p.arrived
	if m != 0 {
		if p.arrived = r.messages[m].link; p.arrived == 0 {
			p.arrivedTail = 0
		}
	} else {
		m = p.flight
		if p.flight = r.messages[m].link; p.flight == 0 {
			p.flightTail = 0
		}
	}
	x := &r.messages[m]
	k := &r.costs[x.cost]
	p.cpu = r.now + k.recv
	r.clock |= p.cpu
	p.cpu += k.wire
	p.rx = r.now + k.busy
	r.clock |= p.cpu | p.rx
	x.flags &^= inFlight
	r.hasCome(m)
	r.release(m)
}
