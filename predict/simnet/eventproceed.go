package simnet

// proceed lets a process go on until it waits for something.
func (r *eventRun) proceed(id uint32) {
	p := &r.procs[id]
	for ok := true; ok && r.err == nil; {
		switch p.stage {
		case atNext:
			ok = r.next(p, id)
		case atCall:
			ok = r.enterCall(p, id)
		case atPosts:
			ok = r.posts(p, id)
		case atColl:
			ok = r.beginStep(p, id)
		case atStep:
			ok = r.endStep(p, id)
		case atWaits:
			ok = r.await(p, id)
		case atWaiting:
			ok = r.complete(p, id)
		case atLeave:
			p.left, p.begun, p.stage = p.call, true, atNext
		case atEnd:
			return
		}
	}
}

// next finds the next call of a process, and computes what lies before it.
func (r *eventRun) next(p *eventProc, id uint32) bool {
	call, ok := r.advance(p)
	p.call, p.ended, p.stage = call, !ok, atCall
	at := p.calls % eventEntries
	if at == 0 {
		if err := r.calc.Fill(id, p.calls, p.entries[:]); err != nil {
			r.fail(err)
			return false
		}
	}
	x := p.entries[at]
	r.clock |= x
	if x == 0 {
		r.leave(p, id)
		return true
	}
	r.events++
	if r.arrival {
		r.operate(p, opCompute, x)
		return false
	}
	r.compute(p, id, x)
	return true
}

// compute spends the time between two calls.
func (r *eventRun) compute(p *eventProc, id uint32, x int64) {
	r.leave(p, id)
	p.times.Compute += x
	r.spend(p, x)
	p.enter = p.cpu
}

// spend lets the processor work.
func (r *eventRun) spend(p *eventProc, x int64) {
	p.cpu += x
	r.clock |= p.cpu
}

// leave ends a call when the processor is free.
func (r *eventRun) leave(p *eventProc, id uint32) {
	t, d := &p.times, p.cpu-p.enter
	if p.begun {
		t.add(r.code.calls[p.left].cat, d)
		r.observe(p, id)
	} else {
		t.Wait += d
	}
	p.begun, p.enter = false, p.cpu
}

func (r *eventRun) enterCall(p *eventProc, id uint32) bool {
	if p.ended {
		p.stage = atEnd
		r.running--
		p.times.Finish, p.times.Calls = p.enter, p.calls
		r.flush(id)
		return false
	}
	p.calls++
	p.at, p.stage = 0, atPosts
	return true
}

// pairsHeld is how many numbers of calls a process keeps for the observer.
const pairsHeld = 32

// observe notes a call that ended.
func (r *eventRun) observe(p *eventProc, id uint32) {
	if r.observer == nil {
		return
	}
	if len(r.pairs[id]) == 0 {
		r.firstPair[id] = p.calls - 1
	}
	r.pairs[id] = append(r.pairs[id], p.enter, p.cpu)
	if len(r.pairs[id]) >= pairsHeld {
		r.flush(id)
	}
}

// flush hands the times of a process's calls to the observer.
func (r *eventRun) flush(id uint32) {
	if r.observer == nil || len(r.pairs[id]) == 0 {
		return
	}
	if err := r.observer.Calls(id, r.firstPair[id], r.pairs[id]); err != nil {
		r.fail(err)
	}
	r.pairs[id] = r.pairs[id][:0]
}

// advance moves a process to its next call; false at the end.
func (r *eventRun) advance(p *eventProc) (uint32, bool) {
	c := r.code
	if !p.started {
		p.started = true
		root := uint32(c.kinds[p.kind].root)
		switch b := &c.blocks[root]; {
		case b.count == 0:
			return b.first, true
		case b.len > 0:
			r.frames[p.stack] = frame{block: root, left: b.count}
			p.top = 1
		}
	}
	for p.top > 0 {
		f := &r.frames[p.stack+p.top-1]
		b := &c.blocks[f.block]
		if f.child == b.len {
			f.child = 0
			if f.left--; f.left == 0 {
				p.top--
				continue
			}
		}
		node := uint32(c.program.Children[b.first+f.child])
		f.child++
		switch x := &c.blocks[node]; {
		case x.count == 0:
			return x.first, true
		case x.len > 0:
			r.frames[p.stack+p.top] = frame{block: node, left: x.count}
			p.top++
		}
	}
	return 0, false
}

// posts performs the actions of a call before its completions.
func (r *eventRun) posts(p *eventProc, id uint32) bool {
	c := &r.code.calls[p.call]
	for p.at < c.posts {
		if r.yields(p, id) {
			return false
		}
		o := &r.code.ops[c.first+p.at]
		switch o.kind {
		case PostRecv:
			r.postRecv(p, r.recvChains[p.recvBase+r.code.kinds[p.kind].find(o.port)], c.posts == 1 && c.n == 2)
		case PostColl:
			if r.enterColl(p, id, o) {
				return true
			}
		case FileIO:
			p.at++
			if r.arrival {
				r.operate(p, opSpend, r.code.files[o.size])
				return false
			}
			r.spend(p, r.code.files[o.size])
			continue
		default:
			r.postSend(p, id, o)
		}
		p.at++
	}
	p.stage = atWaits
	return true
}

// yields reports whether a process has to wait until the time of its clock: others may come to the interface first.
func (r *eventRun) yields(p *eventProc, id uint32) bool {
	if !r.shared || p.cpu <= r.now {
		return false
	}
	r.at(p.cpu, turnEvent, id)
	return true
}

// postSend posts a send of the program.
func (r *eventRun) postSend(p *eventProc, id uint32, o *op) {
	ch := r.sendChains[p.sendBase+r.code.kinds[p.kind].find(o.port)]
	if ch == 0 {
		return
	}
	m := r.sendOn(ch)
	x := &r.messages[m]
	if x.flags&isNull != 0 {
		r.close(m, 0)
		return
	}
	x.cost = o.size + uint32(r.chains[ch].class)
	if o.kind == PostSync || o.kind == PostSend && !r.costs[x.cost].eager {
		x.flags |= isRendezvous
		if o.kind == PostSync {
			x.flags |= isSync
		}
	}
	r.send(p, id, m)
}

// send posts a send.
func (r *eventRun) send(p *eventProc, id, m uint32) {
	p.times.Messages++
	if r.arrival {
		r.queueSend(p, m)
	} else {
		r.transmitNow(p, id, m)
	}
}

// postRecv posts a receive; blocking tells that the process does nothing else before that.
func (r *eventRun) postRecv(p *eventProc, ch uint32, blocking bool) uint32 {
	if ch == 0 {
		return 0
	}
	m := r.recvOn(ch)
	x := &r.messages[m]
	x.posted = p.cpu
	switch {
	case x.flags&isNull != 0:
		r.close(m, 0)
	case r.arrival && x.flags&(inFlight|hasArrived) != 0 && x.time <= p.cpu:
		// The message is taken before the receive is posted, which happens when the processor comes to it.
		if blocking {
			p.op, p.opTime, p.opMessage, p.opSeq = opPost, p.cpu, m, r.number()
		} else {
			r.at(p.cpu, postEvent, m)
		}
	default:
		r.posted(m)
	}
	return m
}

// await binds the completions of a call to messages, and goes on if all are there.
func (r *eventRun) await(p *eventProc, id uint32) bool {
	c := &r.code.calls[p.call]
	k := &r.code.kinds[p.kind]
	p.stage, p.need, p.until = atWaiting, 0, 0
	for i := c.first + c.posts; i < c.first+c.n; i++ {
		o := &r.code.ops[i]
		switch o.kind {
		case WaitRecv:
			ch := r.recvChains[p.recvBase+k.find(o.port)]
			if ch == 0 {
				continue
			}
			m := r.takeRecv(ch, o.age)
			if m == 0 {
				return r.tooMany(p, id)
			}
			r.awaitRecv(p, m)
		case WaitSend:
			ch := r.sendChains[p.sendBase+k.find(o.port)]
			if ch == 0 {
				continue
			}
			m := r.takeSend(ch, o.age)
			if m == 0 {
				return r.tooMany(p, id)
			}
			r.awaitSend(p, m)
		case ProbeRecv:
			r.awaitProbe(p, r.recvChains[p.recvBase+k.find(o.port)])
		case WaitColl:
			if !r.awaitColl(p, id, o) {
				return r.tooMany(p, id)
			}
		}
	}
	return p.need == 0
}

func (r *eventRun) tooMany(p *eventProc, id uint32) bool {
	r.fail(programError("call %d of process %d completes more than was posted", p.calls-1, id))
	return false
}

// awaitRecv makes a process wait for a receive.
func (r *eventRun) awaitRecv(p *eventProc, m uint32) {
	x := &r.messages[m]
	if !r.arrival {
		if p.waitRecvEnd == 0 {
			p.waitRecvs = m
		} else {
			r.messages[p.waitRecvEnd].link = m
		}
		p.waitRecvEnd = m
	}
	switch {
	case x.flags&(hasArrived|isPosted) != hasArrived|isPosted:
		x.flags |= awaitsRecv
		p.need++
	case r.arrival:
		r.closeRecv(m)
	}
}

// awaitSend makes a process wait for a send.
func (r *eventRun) awaitSend(p *eventProc, m uint32) {
	x := &r.messages[m]
	if !r.arrival {
		if p.waitSendEnd == 0 {
			p.waitSends = m
		} else {
			r.messages[p.waitSendEnd].nextSend = m
		}
		p.waitSendEnd = m
	}
	switch {
	case x.flags&isFree == 0:
		x.flags |= awaitsSend
		p.need++
	case r.arrival:
		r.close(m, sendClosed)
	}
}

// closeRecv completes a receive with the policy Arrival.
func (r *eventRun) closeRecv(m uint32) {
	if r.messages[m].flags&ofStep == 0 {
		r.close(m, recvClosed)
	}
}

// awaitProbe makes a process wait for the message of the next receive of a channel.
func (r *eventRun) awaitProbe(p *eventProc, ch uint32) {
	if ch == 0 {
		return
	}
	if l := &r.origins[ch].limit; r.chains[ch].limited && l.recvs == l.limit {
		return
	}
	m := r.peekRecv(ch)
	x := &r.messages[m]
	if r.probed(x) {
		p.until = max(p.until, x.time)
		return
	}
	x.flags |= awaitsProbe
	p.need++
}

// probed tells whether a probe finds a message: when it has arrived, of a rendezvous its request.
func (r *eventRun) probed(x *message) bool {
	return x.flags&(hasArrived|isRequested) != 0
}

// satisfy takes one from what a process waits for.
func (r *eventRun) satisfy(id uint32) {
	p := &r.procs[id]
	if p.need--; p.need == 0 {
		r.woken = append(r.woken, id)
	}
}

// hasCome notes that the receive of a message can be completed when it is posted.
func (r *eventRun) hasCome(m uint32) {
	x := &r.messages[m]
	x.flags |= hasArrived
	if x.flags&awaitsProbe != 0 {
		x.flags &^= awaitsProbe
		r.probeFound(x.dst, x.time)
	}
	r.received(m)
}

// received goes on with who waits for a message that is there and whose receive is posted.
func (r *eventRun) received(m uint32) {
	x := &r.messages[m]
	if x.flags&(awaitsRecv|isPosted|hasArrived) != awaitsRecv|isPosted|hasArrived {
		return
	}
	x.flags &^= awaitsRecv
	r.satisfy(x.dst)
	if r.arrival {
		r.closeRecv(m)
	}
}

func (r *eventRun) probeFound(dst uint32, time int64) {
	r.procs[dst].until = max(r.procs[dst].until, time)
	r.satisfy(dst)
}

// isOver notes that the send of a message can be completed.
func (r *eventRun) isOver(m, src uint32) {
	x := &r.messages[m]
	x.flags |= isFree
	if x.flags&awaitsSend == 0 {
		return
	}
	x.flags &^= awaitsSend
	r.satisfy(src)
	if r.arrival {
		r.close(m, sendClosed)
	}
}

// complete ends the completions of a call.
func (r *eventRun) complete(p *eventProc, id uint32) bool {
	r.takeMessages(p)
	p.stage = atLeave
	if c := &r.code.calls[p.call]; r.arrival && c.events > 0 {
		r.operate(p, opSpend, 0)
		return false
	}
	return true
}

// takeMessages ends all sends and receives that a process has waited for.
func (r *eventRun) takeMessages(p *eventProc) {
	if r.arrival {
		p.cpu, p.until = max(p.cpu, p.until), 0
		return
	}
	r.receive(p)
	for m := p.waitRecvs; m != 0; {
		next := r.messages[m].link
		r.close(m, recvClosed)
		m = next
	}
	for m := p.waitSends; m != 0; {
		next := r.messages[m].nextSend
		r.close(m, sendClosed)
		m = next
	}
	p.waitRecvs, p.waitRecvEnd, p.waitSends, p.waitSendEnd = 0, 0, 0, 0
	p.until = 0
}
