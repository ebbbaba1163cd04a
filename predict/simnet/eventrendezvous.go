package simnet

// posted handles the post of a receive.
func (r *eventRun) posted(m uint32) {
	x := &r.messages[m]
	x.flags |= isPosted
	if x.flags&isRequested != 0 {
		r.start(m)
	} else if r.arrival {
		r.release(m)
	}
	r.received(m)
}

// requested handles the request of a rendezvous, which takes no time of the receiver.
func (r *eventRun) requested(m uint32) {
	x := &r.messages[m]
	x.flags |= isRequested
	if x.flags&awaitsProbe != 0 {
		x.flags &^= awaitsProbe
		r.probeFound(x.dst, x.time)
	}
	if x.flags&isPosted != 0 {
		r.start(m)
	}
}

// handshake returns the latency of the answer of a rendezvous.
func (r *eventRun) handshake(x *message) int64 {
	if r.code.network.NoRendezvousLatency {
		return 0
	}
	return r.origins[x.chain].lat
}

// start lets the data of a rendezvous go, as soon as its answer is back.
func (r *eventRun) start(m uint32) {
	x := &r.messages[m]
	answer := max(x.posted, x.time) + r.handshake(x)
	if r.shared {
		r.at(answer, answerEvent, m)
		return
	}
	r.startAt(m, max(answer, x.busy))
}

// startAt lets the data of a rendezvous go.
func (r *eventRun) startAt(m uint32, d int64) {
	x := &r.messages[m]
	k, src := &r.costs[x.cost], r.origins[x.chain].src
	x.time, x.free, x.busy = d+r.handshake(x), d+k.wire, d+k.busy
	if r.code.network.NoRendezvousLatency {
		x.free = d
	}
	r.clock |= x.time | x.busy
	switch {
	case r.arrival:
		r.deliver(m)
		r.at(x.free, freeEvent, m)
	case r.shared && r.overLinks(m):
		r.isOver(m, src)
		r.at(d, enterEvent, m)
	case r.shared:
		r.isOver(m, src)
		r.at(x.time, arriveEvent, m)
	default:
		r.isOver(m, src)
		r.hasCome(m)
	}
}

// release ends a rendezvous without an answer for its sender, once the message is taken and the receive posted.
func (r *eventRun) release(m uint32) {
	x := &r.messages[m]
	if x.flags&(isRendezvous|isFree|isPosted|hasArrived) != isRendezvous|isPosted|hasArrived || x.flags&isRequested != 0 {
		return
	}
	src := r.origins[x.chain].src
	p := &r.procs[src]
	p.cpu, p.tx = max(p.cpu, r.now), max(p.tx, r.now)
	r.isOver(m, src)
}

// freed ends a rendezvous for its sender.
func (r *eventRun) freed(m uint32) {
	x := &r.messages[m]
	src := r.origins[x.chain].src
	p := &r.procs[src]
	p.tx = max(p.tx, x.busy)
	if x.flags&awaitsSend != 0 {
		p.cpu = max(p.cpu, r.now)
	}
	r.isOver(m, src)
	r.poke(src)
}
