package simnet

// quick performs a call with one message on an ordinary channel, if it need not wait; false if it is not that simple.
func (w *worker) quick(p *proc, k *kind, c *call) bool {
	o := &w.code.ops[c.first]
	if c.form == onlySend || c.form == sendNow {
		ch := &w.chans[p.sendBase+k.at(o)]
		if ch.flags&unusualSend != 0 || ch.sent-ch.doneR >= 1<<ch.limLog {
			return false
		}
		cpu := p.cpu
		if c.form == sendNow {
			if ch.sent != ch.doneS {
				return false
			}
			p.cpu = max(p.cpu, p.tx)
			ch.doneS++
		}
		w.sendNarrow(p, ch)
		w.my.Send += p.cpu - cpu
		return true
	}
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return true
	}
	ch := &w.chans[id]
	if c.form == onlyRecv {
		if ch.flags&unusualRecv != 0 {
			return false
		}
		ch.posted++
		return true
	}
	return ch.flags&unusualEnd == 0 && ch.posted == ch.doneR && ch.sent != ch.posted && w.recvOne(p, ch)
}

// recvOne receives a message that is there. It returns true.
func (w *worker) recvOne(p *proc, c *channel) bool {
	x := &w.code.costs[c.cost]
	cpu := p.cpu
	a := max(*w.narrow(c, c.doneR), p.rx)
	p.rx = a + x.busy
	if w.dma {
		p.cpu = max(p.cpu, a+x.wire) + x.recv
	} else {
		p.cpu = max(p.cpu, a) + x.recv
		w.clock |= p.cpu
		p.cpu += x.wire
	}
	w.clock |= p.rx | p.cpu
	c.posted++
	c.doneR++
	w.wakeSender(c)
	w.my.Receive += p.cpu - cpu
	return true
}

// post performs an action before the completions of a call; false if the process has to wait.
func (w *worker) post(p *proc, k *kind, o *op) bool {
	switch o.kind {
	case PostRecv:
		w.postRecv(p, k, o)
	case FileIO:
		p.cpu += w.code.files[o.size]
		w.clock |= p.cpu
	case PostColl:
		return w.postColl(p, k, o)
	default:
		return w.postSend(p, k, o)
	}
	return true
}

func (w *worker) postSend(p *proc, k *kind, o *op) bool {
	id := p.sendBase + k.at(o)
	c := &w.chans[id]
	if c.flags&unusualSend != 0 {
		return w.postUnusual(p, o, id)
	}
	if c.sent-c.doneR >= 1<<c.limLog {
		w.crowd(p, id)
		return false
	}
	w.sendNarrow(p, c)
	return true
}

// sendNarrow sends an eager message on an ordinary channel.
func (w *worker) sendNarrow(p *proc, c *channel) {
	x := &w.code.costs[c.cost]
	s := max(p.cpu, p.tx)
	arrival := s + x.send + c.lat
	p.cpu += x.send
	p.tx = s + x.busy
	w.clock |= p.tx | arrival
	n := c.sent
	if n-c.first() >= 1<<c.capLog {
		w.room(c, n)
	}
	if c.capLog == 1 {
		c.slot[n&1] = arrival
	} else {
		*w.narrow(c, n) = arrival
	}
	w.sent(c)
}

// sent ends the post of a send.
func (w *worker) sent(c *channel) {
	c.sent++
	w.my.Messages++
	if c.flags&unwaited != 0 {
		c.doneS = c.sent
	}
	w.wakeReceiver(c)
}

// crowd stops a process until there is room in the ring of a channel.
func (w *worker) crowd(p *proc, id uint32) {
	c := &w.chans[id]
	p.state = crowded
	if c.flags&listed == 0 {
		w.crowded = append(w.crowded, id)
	}
	c.flags |= sendWaits | listed
}

// postUnusual is postSend for all channels.
func (w *worker) postUnusual(p *proc, o *op, id uint32) bool {
	c := &w.chans[id]
	if c.flags&alias != 0 {
		id = c.ring
		c = &w.chans[id]
	}
	if c.flags&null != 0 {
		return true
	}
	if c.sent-c.doneR >= 1<<c.limLog && !(c.flags&tailed != 0 && w.tails[id].sends.over) {
		w.crowd(p, id)
		return false
	}
	if c.flags&tailed != 0 {
		if t := w.tails[id]; t.sends.beyond(t.limit, c.sent) {
			c.sent++
			return true
		}
	}
	n := o.size + c.class()
	x := &w.code.costs[n]
	s := max(p.cpu, p.tx)
	request := o.kind == PostSync || o.kind == PostSend && !x.eager
	arrival, data, mode := s+x.send+c.lat, int64(0), int64(n)<<costShift
	p.cpu += x.send
	if request {
		mode |= byRendezvous
		if o.kind == PostSync {
			mode |= bySync
		}
		p.tx = s + x.gap
		data = max(p.tb, p.tx)
		p.tb = data + x.busy
	} else {
		p.tx = s + x.busy
	}
	w.clock |= p.tx | arrival | p.tb
	w.room(c, c.sent)
	if c.flags&wide == 0 {
		*w.narrow(c, c.sent) = arrival
	} else {
		slot := w.wide(c, c.sent)
		slot[slotArrival], slot[slotData], slot[slotCost] = arrival, data, mode
	}
	if c.flags&toFar != 0 {
		w.sendFar(c, arrival, data, mode)
	}
	w.sent(c)
	return true
}

func (w *worker) postRecv(p *proc, k *kind, o *op) {
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return
	}
	c := &w.chans[id]
	if c.flags&unusualRecv != 0 && !w.leaveStamp(p, c, id) {
		return
	}
	c.posted++
}

// leaveStamp tells the sender when a receive was posted, where there may be a rendezvous; false for a receive without a
// partner, which is counted.
func (w *worker) leaveStamp(p *proc, c *channel, id uint32) bool {
	if c.flags&tailed != 0 {
		if t := w.tails[id]; t.receives.beyond(t.limit, c.posted) {
			c.posted++
			return false
		}
	}
	if c.flags&rendezvous == 0 {
		return true
	}
	w.room(c, c.posted)
	w.wide(c, c.posted)[slotPosted] = p.cpu
	if c.flags&fromFar != 0 {
		w.answerFar(c, p.cpu)
	} else {
		w.wakeSender(c)
	}
	return true
}
