package simnet

import (
	"cmp"
	"slices"
)

// item is a message that a call completes.
type item struct {
	time int64 // arrival of the first byte; of a send, when the buffer is free
	busy int64 // of a send by rendezvous: until when the network interface is busy
	id   uint32
	n    uint32 // number of the message in its channel
	cost uint32
	port uint32
	end  chanFlags // of one without a partner: sendHoles or recvHoles
}

// verdict is what a completion found.
type verdict uint8

const (
	there verdict = iota
	missing
	holes   // the short way of numbering does not do
	unusual // the short way does not do
)

// unusualEnd is what the short way of completions does not know.
const unusualEnd = wide | alias | null | tailed | fromFar | sendHoles | recvHoles

// completeNarrow completes receives and sends of ordinary channels, of which all messages received cost the same, as far as
// they are possible from one on. It changes nothing unless all are.
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
		if o.kind == WaitSend {
			id := p.sendBase + k.at(o)
			c := &w.chans[id]
			n := c.doneS + o.off
			if c.flags&unusualEnd != 0 || o.age != 0 || int32(n-c.sent) >= 0 {
				return 0, unusual
			}
			late = max(late, *w.narrow(c, n)-c.lat)
			w.outs[sends] = id
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
		w.arrivals[recvs], w.ins[recvs] = *w.narrow(c, n), id
		recvs++
	}
	if recvs > 0 {
		w.receiveEqual(p, recvs, &w.code.costs[cost])
	}
	for _, id := range w.outs[:sends] {
		w.chans[id].doneS++
	}
	p.cpu = max(p.cpu, late)
	w.clock |= p.cpu
	return uint32(len(ops)), there
}

// receiveEqual takes the first n messages of w.ins, which all cost the same, in the order in which they arrive.
func (w *worker) receiveEqual(p *proc, n int, x *cost) {
	list := w.arrivals[:n]
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
	if w.dma {
		for _, t := range list {
			a := max(t, rx)
			rx = a + x.busy
			cpu = max(cpu, a+x.wire) + x.recv
			clock |= rx | cpu
		}
	} else {
		for _, t := range list {
			a := max(t, rx)
			rx = a + x.busy
			cpu = max(cpu, a) + x.recv
			clock |= rx | cpu
			cpu += x.wire
			clock |= cpu
		}
	}
	p.cpu, p.rx = cpu, rx
	w.clock |= clock
	for _, id := range w.ins[:n] {
		c := &w.chans[id]
		c.doneR++
		w.wakeSender(c)
	}
}

// insertionLimit is up to how many messages are sorted by insertion.
const insertionLimit = 16

// complete ends the completions of a call if all are possible.
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
	from := p.at - c.posts
	w.slow = p.aliases
	n, v := w.gather(p, k, ops, from)
	if v == there && from > 0 && !w.slow {
		n, v = w.gather(p, k, ops, 0)
	}
	if v == holes {
		w.slow = true
		n, v = w.gather(p, k, ops, 0)
	}
	if v != there {
		p.state, p.at = blocked, c.posts+n
		return false
	}
	p.state = ready
	for i := range w.nulls {
		w.doneNull(&w.nulls[i])
	}
	if len(w.leaving) > 0 {
		w.leaveColls()
	}
	w.receive(p)
	for i := range w.sends {
		s := &w.sends[i]
		p.cpu = max(p.cpu, s.time)
		p.tx = max(p.tx, s.busy)
		if s.id != noChannel {
			w.doneSend(s)
		}
	}
	w.clock |= p.cpu
	return true
}

// gather lists the messages of the completions from one on in w.recvs and w.sends, until one is not there. Nothing changes
// but the marks of who waits.
func (w *worker) gather(p *proc, k *kind, ops []op, from uint32) (uint32, verdict) {
	w.recvs, w.sends, w.nulls, w.leaving = w.recvs[:0], w.sends[:0], w.nulls[:0], w.leaving[:0]
	if w.slow {
		from = 0
		clear(w.closing)
	}
	for i := from; i < uint32(len(ops)); i++ {
		o := &ops[i]
		v := there
		switch o.kind {
		case WaitRecv:
			v = w.gatherRecv(p, k, o)
		case WaitSend:
			v = w.gatherSend(p, k, o)
		case ProbeRecv:
			v = w.gatherProbe(p, k, o)
		case WaitColl:
			v = w.gatherColl(p, k, o)
		}
		if v != there {
			return i, v
		}
	}
	return uint32(len(ops)), there
}

func (w *worker) gatherRecv(p *proc, k *kind, o *op) verdict {
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return there
	}
	c := &w.chans[id]
	n := c.doneR + o.off
	if w.slow {
		n = w.number(c.doneR, id, o, recvHoles)
	} else if c.flags&recvHoles != 0 {
		return holes
	}
	if int32(n-c.posted) >= 0 {
		return w.tooMany(p)
	}
	if c.flags&tailed != 0 && w.tails[id].receives.has(n) {
		return w.nothing(id, n, o, recvHoles)
	}
	if int32(n-c.sent) >= 0 {
		c.flags |= recvWaits
		return missing
	}
	x := item{id: id, n: n, cost: c.cost, port: o.port}
	if c.flags&wide == 0 {
		x.time = *w.narrow(c, n)
	} else {
		slot := w.wide(c, n)
		x.time, x.cost = slot[slotArrival], uint32(slot[slotCost]>>costShift)
		if slot[slotCost]&byRendezvous != 0 {
			x.time = w.start(c, slot) + w.handshake(c)
			w.clock |= x.time
		}
	}
	w.recvs = append(w.recvs, x)
	return there
}

func (w *worker) gatherSend(p *proc, k *kind, o *op) verdict {
	id := p.sendBase + k.at(o)
	c := &w.chans[id]
	if c.flags&alias != 0 {
		id = c.ring
		c = &w.chans[id]
	}
	if c.flags&null != 0 {
		return there
	}
	n := c.doneS + o.off
	if w.slow {
		n = w.number(c.doneS, id, o, sendHoles)
	} else if c.flags&sendHoles != 0 {
		return holes
	}
	if int32(n-c.sent) >= 0 {
		return w.tooMany(p)
	}
	if c.flags&tailed != 0 && w.tails[id].sends.has(n) {
		return w.nothing(id, n, o, sendHoles)
	}
	x := item{id: id, n: n}
	if c.flags&wide == 0 {
		x.time = *w.narrow(c, n) - c.lat
		w.sends = append(w.sends, x)
		return there
	}
	slot := w.wide(c, n)
	x.time = slot[slotArrival] - c.lat
	if slot[slotCost]&byRendezvous != 0 {
		if int32(n-c.posted) >= 0 {
			c.flags |= sendWaits
			return missing
		}
		cost := &w.code.costs[slot[slotCost]>>costShift]
		d := w.start(c, slot)
		x.time, x.busy = d+cost.wire, d+cost.busy
		if w.code.network.NoRendezvousLatency {
			x.time = d
		}
		w.clock |= x.busy
	}
	w.sends = append(w.sends, x)
	return there
}

// start returns when the data of a rendezvous start: after the request and the receive, and the way back.
func (w *worker) start(c *channel, slot []int64) int64 {
	d := max(max(slot[slotPosted], slot[slotArrival])+w.handshake(c), slot[slotData])
	w.clock |= d
	return d
}

// handshake returns the latency within a rendezvous.
func (w *worker) handshake(c *channel) int64 {
	if w.code.network.NoRendezvousLatency {
		return 0
	}
	return c.lat
}

// gatherProbe waits for the message of the next receive on a channel.
func (w *worker) gatherProbe(p *proc, k *kind, o *op) verdict {
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return there
	}
	c := &w.chans[id]
	if c.flags&tailed != 0 {
		if t := w.tails[id]; t.receives.posts >= t.limit {
			return there
		}
	}
	if int32(c.posted-c.sent) >= 0 {
		c.flags |= recvWaits
		return missing
	}
	x := item{id: noChannel}
	if c.flags&wide == 0 {
		x.time = *w.narrow(c, c.posted)
	} else {
		x.time = w.wide(c, c.posted)[slotArrival]
	}
	w.sends = append(w.sends, x)
	return there
}

// receive takes the messages that were gathered, in the order in which they arrive.
func (w *worker) receive(p *proc) {
	if len(w.recvs) > 1 {
		slices.SortFunc(w.recvs, w.earlier)
	}
	for i := range w.recvs {
		x := &w.recvs[i]
		cost := &w.code.costs[x.cost]
		a := max(x.time, p.rx)
		p.rx = a + cost.busy
		if w.dma {
			p.cpu = max(p.cpu, a+cost.wire) + cost.recv
		} else {
			p.cpu = max(p.cpu, a) + cost.recv
			w.clock |= p.cpu
			p.cpu += cost.wire
		}
		w.clock |= p.rx | p.cpu
		w.doneRecv(x)
	}
}

// earlier orders messages by arrival, and then by communicator, source, tag and number.
func (w *worker) earlier(a, b item) int {
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	if a.id == b.id {
		return int(int32(a.n - b.n))
	}
	x, y := &w.code.ports[a.port], &w.code.ports[b.port]
	return cmp.Or(cmp.Compare(x.comm, y.comm), cmp.Compare(w.chans[a.id].src, w.chans[b.id].src), cmp.Compare(x.tag, y.tag))
}

func (w *worker) doneRecv(x *item) {
	c := &w.chans[x.id]
	if x.n == c.doneR && c.flags&recvHoles == 0 {
		c.doneR++
	} else {
		c.doneR = w.closeHole(c, c.doneR, x, recvHoles)
	}
	if c.flags&fromFar != 0 {
		w.creditFar(c)
	} else {
		w.wakeSender(c)
	}
}

func (w *worker) doneSend(x *item) {
	c := &w.chans[x.id]
	if x.n == c.doneS && c.flags&sendHoles == 0 {
		c.doneS++
	} else {
		c.doneS = w.closeHole(c, c.doneS, x, sendHoles)
	}
}

// doneNull completes a post without a partner.
func (w *worker) doneNull(x *item) {
	c := &w.chans[x.id]
	if x.end == sendHoles {
		c.doneS = w.closeHole(c, c.doneS, x, sendHoles)
	} else {
		c.doneR = w.closeHole(c, c.doneR, x, recvHoles)
	}
}

// tooMany stops the run: a call completes what was not posted.
func (w *worker) tooMany(p *proc) verdict {
	w.fail(programError("call %d of process %d completes more than was posted", p.calls-1, w.lo+w.me))
	return missing
}
