package simnet

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// item is a message that a call completes.
type item struct {
	time int64 // first byte arrives; of a send: the buffer is free
	busy int64 // of a send by rendezvous: the network interface is busy until then
	id   uint32
	n    uint32 // number of the message in its channel
	cost uint32
	port uint32
	end  chanFlags // of a post without a partner: sendHoles or recvHoles
}

// ending is the call that is being completed: it finds all that the call completes before it changes anything.
type ending struct {
	w *worker
	// Fast path: channels, and arrivals of the messages.
	ins, outs []uint32
	arrivals  []int64
	// Other calls.
	recvs, sends []item
	nulls        []item    // posts without a partner
	leaving      []leaving // collective operations
	slow         bool      // posts are found among the open ones, except for those that this call completes
	closing      map[holeKey]openPosts
}

// leaving is a pending collective operation that the call completes.
type leaving struct{ at, off uint32 }

// verdict is the result of looking for a completion.
type verdict uint8

const (
	there verdict = iota
	missing
	holes   // the fast numbering of posts does not apply
	unusual // the fast path does not apply
)

// unusualEnd is what the fast path of completions does not handle.
const unusualEnd = wide | alias | null | tailed | fromFar | sendHoles | recvHoles

// completeNarrow is the fast path: it completes receives and sends of ordinary channels if all messages received have the same cost. It
// returns the first completion, from from on, that is not possible yet, and changes nothing then.
func (w *worker) completeNarrow(p *proc, k *kind, ops []op, from uint32) (uint32, verdict) {
	recvs, sends := 0, 0
	cost, late := uint32(noChannel), int64(0)
	for i := from; ; i++ {
		if i == uint32(len(ops)) {
			if from == 0 {
				break
			}
			recvs, sends, i, from = 0, 0, 0, 0
		}
		o := &ops[i]
		if o.kind == program.WaitSend {
			id := p.sendBase + k.at(o)
			c := &w.chans[id]
			n := c.doneS + o.off
			if c.flags&unusualEnd != 0 || o.age != 0 || int32(n-c.sent) >= 0 {
				return 0, unusual
			}
			late = max(late, *w.narrow(c, n)-c.lat)
			w.ending.outs[sends] = id
			sends++
			continue
		}
		id := w.recvEnd[p.recvBase+k.at(o)]
		if id == noChannel {
			return 0, unusual
		}
		c := &w.chans[id]
		n := c.doneR + o.off
		if c.flags&unusualEnd != 0 || o.age != 0 || int32(n-c.posted) >= 0 || c.cost != cost && recvs > 0 {
			return 0, unusual
		}
		if int32(n-c.sent) >= 0 {
			c.flags |= recvWaits
			return i, missing
		}
		cost = c.cost
		w.ending.arrivals[recvs], w.ending.ins[recvs] = *w.narrow(c, n), id
		recvs++
	}
	if recvs > 0 {
		w.receiveEqual(p, recvs, &w.code.costs.List[cost])
	}
	for _, id := range w.ending.outs[:sends] {
		w.chans[id].doneS++
	}
	p.cpu = max(p.cpu, late)
	w.clock |= p.cpu
	return uint32(len(ops)), there
}

// receiveEqual takes the first n messages of w.ins in the order of arrival. All have the same cost.
func (w *worker) receiveEqual(p *proc, n int, x *network.Cost) {
	list := w.ending.arrivals[:n]
	if n > insertionLimit {
		slices.Sort(list)
	} else {
		for i := 1; i < n; i++ {
			t, j := list[i], i
			for ; j > 0 && list[j-1] > t; j-- {
				list[j] = list[j-1]
			}
			list[j] = t
		}
	}
	cpu, rx, clock := p.cpu, p.rx, int64(0)
	for _, t := range list {
		cpu, rx = x.Receive(cpu, rx, t)
		clock |= rx | cpu
	}
	p.cpu, p.rx = cpu, rx
	w.clock |= clock
	for _, id := range w.ending.ins[:n] {
		c := &w.chans[id]
		c.doneR++
		w.wakeSender(c)
	}
}

// insertionLimit is the most messages that are sorted by insertion.
const insertionLimit = 16

// complete completes a call if all its completions are possible.
func (w *worker) complete(p *proc, k *kind, c *call, ops []op) bool {
	if c.ordinary && !p.aliases {
		if n, v := w.completeNarrow(p, k, ops, p.at-c.posts); v != unusual {
			p.at = c.posts + n
			if v == missing {
				p.state = blocked
			}
			return v == there
		}
	}
	return w.ending.complete(p, k, c, ops)
}

func (e *ending) complete(p *proc, k *kind, c *call, ops []op) bool {
	from := p.at - c.posts
	e.slow = p.aliases
	n, v := e.gather(p, k, ops, from)
	if v == there && from > 0 && !e.slow {
		n, v = e.gather(p, k, ops, 0)
	}
	if v == holes {
		e.slow = true
		n, v = e.gather(p, k, ops, 0)
	}
	if v != there {
		p.state, p.at = blocked, c.posts+n
		return false
	}
	p.state = ready
	for i := range e.nulls {
		e.w.done(&e.nulls[i], e.nulls[i].end)
	}
	e.leave()
	e.receive(p)
	for i := range e.sends {
		s := &e.sends[i]
		p.cpu = max(p.cpu, s.time)
		p.tx = max(p.tx, s.busy)
		if s.id != noChannel {
			e.w.done(s, sendHoles)
		}
	}
	e.w.clock |= p.cpu
	return true
}

// leave completes the collective operations that were gathered, the latest post first.
func (e *ending) leave() {
	for _, l := range e.leaving {
		if q := &e.w.coll.pending[l.at][l.off]; !q.null {
			e.w.coll.leave(q)
		}
	}
	slices.SortFunc(e.leaving, func(a, b leaving) int { return int(int64(b.off) - int64(a.off)) })
	for _, l := range e.leaving {
		list := &e.w.coll.pending[l.at]
		*list = slices.Delete(*list, int(l.off), int(l.off)+1)
	}
}

// gather collects the messages of the completions from from on in e.recvs and e.sends, until one is missing. It changes only the marks of
// who waits.
func (e *ending) gather(p *proc, k *kind, ops []op, from uint32) (uint32, verdict) {
	e.recvs, e.sends, e.nulls, e.leaving = e.recvs[:0], e.sends[:0], e.nulls[:0], e.leaving[:0]
	if e.slow {
		from = 0
		clear(e.closing)
	}
	for i := from; i < uint32(len(ops)); i++ {
		o := &ops[i]
		v := there
		switch o.kind {
		case program.WaitRecv:
			v = e.gatherRecv(p, k, o)
		case program.WaitSend:
			v = e.gatherSend(p, k, o)
		case program.ProbeRecv:
			v = e.gatherProbe(p, k, o)
		case program.WaitColl:
			v = e.gatherColl(p, k, o)
		}
		if v != there {
			return i, v
		}
	}
	return uint32(len(ops)), there
}

func (e *ending) gatherRecv(p *proc, k *kind, o *op) verdict {
	id := e.w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return there
	}
	c := &e.w.chans[id]
	n := c.doneR + o.off
	if e.slow {
		n = e.number(c.doneR, id, o, recvHoles)
	} else if c.flags&recvHoles != 0 {
		return holes
	}
	if int32(n-c.posted) >= 0 {
		return e.tooMany(p)
	}
	if c.flags&tailed != 0 && e.w.tails[id].receives.has(n) {
		return e.nothing(id, n, o, recvHoles)
	}
	if int32(n-c.sent) >= 0 {
		c.flags |= recvWaits
		return missing
	}
	x := item{id: id, n: n, cost: c.cost, port: o.port}
	if c.flags&wide == 0 {
		x.time = *e.w.narrow(c, n)
	} else {
		slot := e.w.wide(c, n)
		x.time, x.cost = slot[slotArrival], uint32(slot[slotCost]>>costShift)
		if slot[slotCost]&byRendezvous != 0 {
			x.time = e.start(c, slot) + e.w.code.network.Handshake(c.lat)
			e.w.clock |= x.time
		}
	}
	e.recvs = append(e.recvs, x)
	return there
}

func (e *ending) gatherSend(p *proc, k *kind, o *op) verdict {
	id := p.sendBase + k.at(o)
	c := &e.w.chans[id]
	if c.flags&alias != 0 {
		id = c.ring
		c = &e.w.chans[id]
	}
	if c.flags&null != 0 {
		return there
	}
	n := c.doneS + o.off
	if e.slow {
		n = e.number(c.doneS, id, o, sendHoles)
	} else if c.flags&sendHoles != 0 {
		return holes
	}
	if int32(n-c.sent) >= 0 {
		return e.tooMany(p)
	}
	if c.flags&tailed != 0 && e.w.tails[id].sends.has(n) {
		return e.nothing(id, n, o, sendHoles)
	}
	x := item{id: id, n: n}
	if c.flags&wide == 0 {
		x.time = *e.w.narrow(c, n) - c.lat
		e.sends = append(e.sends, x)
		return there
	}
	slot := e.w.wide(c, n)
	x.time = slot[slotArrival] - c.lat
	if slot[slotCost]&byRendezvous != 0 {
		if int32(n-c.posted) >= 0 {
			c.flags |= sendWaits
			return missing
		}
		cost := &e.w.code.costs.List[slot[slotCost]>>costShift]
		d := e.start(c, slot)
		x.time, x.busy = d+cost.Wire, d+cost.Busy
		if e.w.code.network.NoRendezvousLatency {
			x.time = d
		}
		e.w.clock |= x.busy
	}
	e.sends = append(e.sends, x)
	return there
}

// start returns when the data of a rendezvous start: after the request, the post of the receive, and the answer.
func (e *ending) start(c *channel, slot []int64) int64 {
	d := max(max(slot[slotPosted], slot[slotArrival])+e.w.code.network.Handshake(c.lat), slot[slotData])
	e.w.clock |= d
	return d
}

// gatherProbe waits for the message of the next receive on a channel.
func (e *ending) gatherProbe(p *proc, k *kind, o *op) verdict {
	id := e.w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return there
	}
	c := &e.w.chans[id]
	if c.flags&tailed != 0 {
		if t := e.w.tails[id]; t.receives.posts >= t.limit {
			return there
		}
	}
	if int32(c.posted-c.sent) >= 0 {
		c.flags |= recvWaits
		return missing
	}
	x := item{id: noChannel}
	if c.flags&wide == 0 {
		x.time = *e.w.narrow(c, c.posted)
	} else {
		x.time = e.w.wide(c, c.posted)[slotArrival]
	}
	e.sends = append(e.sends, x)
	return there
}

// receive takes the gathered messages in the order of arrival.
func (e *ending) receive(p *proc) {
	if len(e.recvs) > 1 {
		slices.SortFunc(e.recvs, e.earlier)
	}
	for i := range e.recvs {
		x := &e.recvs[i]
		p.cpu, p.rx = e.w.code.costs.List[x.cost].Receive(p.cpu, p.rx, x.time)
		e.w.clock |= p.rx | p.cpu
		e.w.done(x, recvHoles)
		if c := &e.w.chans[x.id]; c.flags&fromFar != 0 {
			e.w.mail.credit(c, e.w.limLog)
		} else {
			e.w.wakeSender(c)
		}
	}
}

// earlier orders messages by arrival, then by communicator, source, tag and number.
func (e *ending) earlier(a, b item) int {
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	if a.id == b.id {
		return int(int32(a.n - b.n))
	}
	x, y := &e.w.code.ports[a.port], &e.w.code.ports[b.port]
	return cmp.Or(cmp.Compare(x.comm, y.comm), cmp.Compare(e.w.chans[a.id].src, e.w.chans[b.id].src), cmp.Compare(x.tag, y.tag))
}

// tooMany fails the run: a call completes what was not posted.
func (e *ending) tooMany(p *proc) verdict {
	e.w.fail(program.Errorf("call %d of process %d completes more than was posted", p.calls-1, e.w.lo+e.w.me))
	return missing
}

// gatherColl waits for a collective operation that was posted by an earlier call or by this one.
func (e *ending) gatherColl(p *proc, k *kind, o *op) verdict {
	i := p.collBase + k.find(o.port)
	if o.off >= uint32(len(e.w.coll.pending[i])) {
		return e.tooMany(p)
	}
	q := &e.w.coll.pending[i][o.off]
	e.leaving = append(e.leaving, leaving{i, o.off})
	if q.null {
		return there
	}
	at, ok := e.w.coll.await(e.w.lo+e.w.me, q)
	if !ok {
		return missing
	}
	e.sends = append(e.sends, item{time: at, id: noChannel})
	return there
}

// number returns which post a completion means, given the holes and the completions gathered before.
func (e *ending) number(done, id uint32, o *op, end chanFlags) uint32 {
	key := holeKey{id, end}
	s, ok := e.closing[key]
	if !ok {
		s = openPosts{done, slices.Clone(e.w.holes[key])}
	}
	n := openAt(s.first, s.closed, o.age)
	s.first, s.closed = closeAt(s.first, s.closed, n)
	e.closing[key] = s
	return n
}

// nothing completes post n, which has no partner.
func (e *ending) nothing(id, n uint32, o *op, end chanFlags) verdict {
	e.nulls = append(e.nulls, item{id: id, n: n, port: o.port, end: end})
	return there
}
