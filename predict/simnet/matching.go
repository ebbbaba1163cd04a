package simnet

import (
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// message is the k-th send of a channel and the k-th receive, from the first of their posts until both are complete. It has the size of a
// cache line.
type message struct {
	time   int64 // arrival of the first byte; of a rendezvous first that of the request; before it is sent, the latency
	posted int64 // when the receive was posted
	free   int64 // when the send is complete
	busy   int64 // of a rendezvous: when the sender's network interface is free for the data, later: free again
	seq    uint32
	chain  uint32
	dst    uint32
	next   uint32 // in its channel
	// link is the next message in a list: with the policy Arrival of the source and later of the destination, else of what the destination
	// waits for.
	link  uint32
	cost  uint32 // index in eventRun.costs.costs
	flags messageFlags
}

// messageFlags are the progress of a message.
type messageFlags uint32

const (
	isSent       messageFlags = 1 << iota // the send is posted
	hasReceive                            // a receive is posted, or will be next
	isPosted                              // the receive is posted
	isRendezvous                          // it uses rendezvous
	isRequested                           // its request is sent, and start will answer it
	inFlight                              // sent, and not taken
	isFree                                // the send can be completed
	hasArrived                            // the receive can be completed
	sendTaken                             // a call completes the send, or waits for it
	recvTaken
	sendClosed // the send is complete
	recvClosed
	awaitsSend  // the source waits for isFree
	awaitsRecv  // the destination waits for the receive
	ofStep      // of a collective operation by steps: endStep completes the receive
	awaitsProbe // the destination waits for the message, before it posts the receive
	isNull      // the post has no partner
	isSync      // synchronous mode: rendezvous at any size
)

// chain is a channel: the list of its messages that are not complete. Two fit a cache line; what is rarely needed is in an origin.
type chain struct {
	head, tail uint32 // index of messages; 0 is none, also below
	toSend     uint32 // first message without a send
	toRecv     uint32 // first message without a receive
	openSend   uint32 // first message whose send is posted and not taken
	openRecv   uint32
	dst        uint32 // process
	class      network.LinkClass
	unwaited   bool // no call completes a send
	limited    bool // one end posts more than the other
}

// origin has other properties of a channel.
type origin struct {
	lat  int64  // latency, ps
	src  uint32 // process
	port uint32 // one of the ports that send to it
}

// matching matches sends with receives: it has the channels, and the messages that are not complete.
type matching struct {
	book       *ledger
	code       *code
	queue      *eventQueue
	flat       bool     // all channels of a class have the same latency
	sendChains []uint32 // of each port of each process
	recvChains []uint32
	chains     []chain
	stepChains map[pairKey]uint32 // channels for steps of collective operations
	origins    []origin
	tails      map[uint32]*tail // of channels that are limited
	messages   []message
	unused     []uint32
}

func (r *matching) newMessage(id uint32) uint32 {
	m := uint32(len(r.messages))
	switch n := len(r.unused); {
	case n > 0:
		m = r.unused[n-1]
		r.unused = r.unused[:n-1]
	case m == maxEventID-1:
		r.book.fail(program.Errorf("more than 2^29 messages in progress"))
		return 0
	default:
		r.messages = append(r.messages, message{})
	}
	c := &r.chains[id]
	r.messages[m] = message{chain: id, dst: c.dst, time: r.latencyOf(id), seq: r.queue.number()}
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

// latencyOf returns the latency of a channel.
func (r *matching) latencyOf(id uint32) int64 {
	if r.flat {
		return r.code.network.Links[r.chains[id].class].Latency
	}
	return r.origins[id].lat
}

// sendOn returns the message of the next send on a channel.
func (r *matching) sendOn(id uint32) uint32 {
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
		if t := r.tails[id]; t.sends.beyond(t.limit, 0) {
			x.flags |= isNull | isFree | recvTaken | recvClosed
		}
	}
	return m
}

// recvOn returns the message of the next receive on a channel.
func (r *matching) recvOn(id uint32) uint32 {
	m := r.peekRecv(id)
	c, x := &r.chains[id], &r.messages[m]
	c.toRecv = x.next
	x.flags |= hasReceive
	if c.openRecv == 0 {
		c.openRecv = m
	}
	if c.limited {
		if t := r.tails[id]; t.receives.beyond(t.limit, 0) {
			x.flags |= isNull | isPosted | hasArrived | sendTaken | sendClosed
		}
	}
	return m
}

// peekRecv returns the message that the next receive on a channel will get.
func (r *matching) peekRecv(id uint32) uint32 {
	if m := r.chains[id].toRecv; m != 0 {
		return m
	}
	return r.newMessage(id)
}

// takeSend takes the open send of an age (number of older open ones) and returns its message, 0 if there is none.
func (r *matching) takeSend(id, age uint32) uint32 {
	return r.take(&r.chains[id].openSend, age, isSent, sendTaken)
}

// takeRecv is takeSend for receives.
func (r *matching) takeRecv(id, age uint32) uint32 {
	return r.take(&r.chains[id].openRecv, age, hasReceive, recvTaken)
}

func (r *matching) take(open *uint32, age uint32, posted, taken messageFlags) uint32 {
	m := r.nextOpen(*open, age, posted, taken)
	if m != 0 {
		r.messages[m].flags |= taken
		*open = r.nextOpen(*open, 0, posted, taken)
	}
	return m
}

// nextOpen returns the message from m on that is posted and not taken, after age such messages.
func (r *matching) nextOpen(m, age uint32, posted, taken messageFlags) uint32 {
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

// close completes one end of a message, and removes complete messages from the head of its channel.
func (r *matching) close(m uint32, end messageFlags) {
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

// awaits returns the first message of a channel with one of these flags, or nil.
func (r *matching) awaits(ch uint32, what messageFlags) *message {
	for m := r.chains[ch].head; m != 0; m = r.messages[m].next {
		if x := &r.messages[m]; x.flags&what != 0 {
			return x
		}
	}
	return nil
}

// linkChains makes the channels of all processes. Ports without a partner get channel 0.
func (r *matching) linkChains(procs []eventProc, e extent) error {
	r.sendChains, r.recvChains, r.messages = make([]uint32, e.sends), make([]uint32, e.recvs), make([]message, 1)
	r.chains, r.origins, r.stepChains, r.tails = make([]chain, 1), make([]origin, 1), map[pairKey]uint32{}, map[uint32]*tail{}
	l := linker{code: r.code, hi: uint32(len(procs))}
	if err := l.collect(); err != nil {
		return err
	}
	return l.link(func(dst uint32, sends, recvs []end) error {
		ns, nr := posts(sends), posts(recvs)
		few, many := min(ns, nr), max(ns, nr)
		r.book.unmatched += many - few
		if few == 0 {
			return nil
		}
		src, k := sends[0].src, r.code.kind(sends[0].src)
		id, err := r.newChain(src, dst, k.sends[sends[0].index])
		if err != nil {
			return err
		}
		c := &r.chains[id]
		c.unwaited = true
		if few < many {
			c.limited, r.tails[id] = true, &tail{limit: few}
		}
		for _, s := range sends {
			r.sendChains[procs[src].sendBase+s.index] = id
			c.unwaited = c.unwaited && !k.out[s.index].waited
		}
		for _, x := range recvs {
			r.recvChains[procs[dst].recvBase+x.index] = id
		}
		return nil
	})
}

func (r *matching) newChain(src, dst, port uint32) (uint32, error) {
	lat, err := r.code.network.CheckedLatency(src, dst)
	if uint64(len(r.chains)) >= 1<<31 {
		err = program.Errorf("more than 2^31 channels")
	}
	r.chains = append(r.chains, chain{dst: dst, class: r.code.network.Class(src, dst)})
	r.origins = append(r.origins, origin{src: src, lat: lat, port: port})
	return uint32(len(r.chains) - 1), err
}

// stepChain returns the channel for steps of collective operations between two processes, 0 after an error.
func (r *matching) stepChain(comm, src, dst uint32) uint32 {
	key := pairKey{comm, src, dst}
	id, ok := r.stepChains[key]
	if !ok {
		var err error
		if id, err = r.newChain(src, dst, noPort); err != nil {
			r.book.fail(err)
			return 0
		}
		r.stepChains[key] = id
	}
	return id
}
