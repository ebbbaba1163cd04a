package simnet

// message is the k-th send of a channel and the k-th receive of it, from the first of their posts until both are complete.
// It has the size of a cache line.
type message struct {
	time   int64 // when the first byte arrives; of a rendezvous at first its request; before it is sent, the latency
	posted int64 // when the receive was posted
	free   int64 // when the send is complete
	busy   int64 // of a rendezvous: until when the network interface of the sender is busy; at first, from when it is free
	seq    uint32
	chain  uint32
	dst    uint32
	next   uint32 // in its chain
	// link is the next in a queue of the source and then of the destination, with the policy Arrival; else in the list of
	// what the destination waits for.
	link     uint32
	nextSend uint32 // in the list of what the source waits for
	cost     uint32 // index in eventRun.costs
	flags    messageFlags
}

// messageFlags are how far a message is.
type messageFlags uint32

const (
	isSent       messageFlags = 1 << iota // the send is posted
	hasReceive                            // a receive is posted, or about to be
	isPosted                              // the receive is posted
	isRendezvous                          // it goes by rendezvous
	isRequested                           // its request is under way
	inFlight                              // it is on its way, or there and not taken
	isFree                                // the send can be completed
	hasArrived                            // the receive can be completed
	sendTaken                             // a call completes the send, or waits to
	recvTaken
	sendClosed // the send is complete
	recvClosed
	awaitsSend  // the source waits until the send can be completed
	awaitsRecv  // the destination waits until the receive can be completed
	ofStep      // of a collective operation: endStep completes the receive
	awaitsProbe // the destination waits for the message, before it posts the receive
	isNull      // the post is one without a partner
	isSync      // a rendezvous at any eager limit
)

// chain is a channel: the list of its messages that are not complete. Two are a cache line; what is needed seldom is in an
// origin.
type chain struct {
	head, tail uint32 // messages; 0 is none, here and below
	toSend     uint32 // the first message without a send
	toRecv     uint32 // the first without a receive
	openSend   uint32 // the first whose send is posted and not taken
	openRecv   uint32
	dst        uint32 // process
	class      LinkClass
	unwaited   bool // no call completes a send
	limited    bool // one end posts more than the other
}

// origin is what else is known of a channel.
type origin struct {
	lat   int64  // latency, ps
	src   uint32 // process
	port  uint32 // one of those that lead here
	limit chainLimit
}

// chainLimit is the number of messages of a channel where one end posts more than the other. Posts beyond do nothing.
type chainLimit struct{ limit, sends, recvs uint64 }

// newMessage appends a message to a chain.
func (r *eventRun) newMessage(id uint32) uint32 {
	m := uint32(len(r.messages))
	switch n := len(r.unused); {
	case n > 0:
		m = r.unused[n-1]
		r.unused = r.unused[:n-1]
	case m == maxEventID-1:
		r.fail(programError("more than 2^29 messages under way"))
		return 0
	default:
		r.messages = append(r.messages, message{})
	}
	c := &r.chains[id]
	r.messages[m] = message{chain: id, dst: c.dst, time: r.latencyOf(id), seq: r.number()}
	if c.tail != 0 {
		r.messages[c.tail].next = m
	} else {
		c.head = m
	}
	c.tail = m
	if c.toSend == 0 {
		c.toSend = m
	}
	if c.toRecv == 0 {
		c.toRecv = m
	}
	return m
}

// latencyOf returns the latency of a channel; that of its class where all have the same.
func (r *eventRun) latencyOf(id uint32) int64 {
	if r.flat {
		return r.code.network.Links[r.chains[id].class].Latency
	}
	return r.origins[id].lat
}

// sendOn returns the message that the next send on a chain is.
func (r *eventRun) sendOn(id uint32) uint32 {
	m := r.chains[id].toSend
	if m == 0 {
		m = r.newMessage(id)
	}
	c, x := &r.chains[id], &r.messages[m]
	c.toSend = x.next
	x.flags |= isSent
	if c.unwaited {
		x.flags |= sendTaken | sendClosed
	} else if c.openSend == 0 {
		c.openSend = m
	}
	if c.limited {
		if l := &r.origins[id].limit; l.sends == l.limit {
			x.flags |= isNull | isFree | recvTaken | recvClosed
		} else {
			l.sends++
		}
	}
	return m
}

// recvOn returns the message that the next receive on a chain gets.
func (r *eventRun) recvOn(id uint32) uint32 {
	m := r.peekRecv(id)
	c, x := &r.chains[id], &r.messages[m]
	c.toRecv = x.next
	x.flags |= hasReceive
	if c.openRecv == 0 {
		c.openRecv = m
	}
	if c.limited {
		if l := &r.origins[id].limit; l.recvs == l.limit {
			x.flags |= isNull | isPosted | hasArrived | sendTaken | sendClosed
		} else {
			l.recvs++
		}
	}
	return m
}

// peekRecv returns the message that the next receive on a chain will get.
func (r *eventRun) peekRecv(id uint32) uint32 {
	if m := r.chains[id].toRecv; m != 0 {
		return m
	}
	return r.newMessage(id)
}

// takeSend returns the message of the open send with that many older ones, 0 where there is none. It is open no more.
func (r *eventRun) takeSend(id, age uint32) uint32 {
	c := &r.chains[id]
	m := r.nextOpen(c.openSend, age, isSent, sendTaken)
	if m == 0 {
		return 0
	}
	r.messages[m].flags |= sendTaken
	c.openSend = r.nextOpen(c.openSend, 0, isSent, sendTaken)
	return m
}

// takeRecv is takeSend for receives.
func (r *eventRun) takeRecv(id, age uint32) uint32 {
	c := &r.chains[id]
	m := r.nextOpen(c.openRecv, age, hasReceive, recvTaken)
	if m == 0 {
		return 0
	}
	r.messages[m].flags |= recvTaken
	c.openRecv = r.nextOpen(c.openRecv, 0, hasReceive, recvTaken)
	return m
}

// nextOpen returns the message from m on that is posted and not taken, with that many such before it.
func (r *eventRun) nextOpen(m, age uint32, posted, taken messageFlags) uint32 {
	for m != 0 {
		x := &r.messages[m]
		switch {
		case x.flags&posted == 0:
			return 0
		case x.flags&taken != 0:
		case age == 0:
			return m
		default:
			age--
		}
		m = x.next
	}
	return 0
}

// close notes that an end of a message is complete, and takes what is over from the head of its chain.
func (r *eventRun) close(m uint32, end messageFlags) {
	x := &r.messages[m]
	x.flags |= end
	const over = sendClosed | recvClosed
	if x.flags&over != over {
		return
	}
	c := &r.chains[x.chain]
	for c.head != 0 && r.messages[c.head].flags&over == over {
		r.unused = append(r.unused, c.head)
		c.head = r.messages[c.head].next
	}
	if c.head == 0 {
		c.tail = 0
	}
}
