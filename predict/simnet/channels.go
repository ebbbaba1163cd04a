package simnet

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// channel is a stream of messages: (communicator, source, destination, tag). Its k-th send matches its k-th receive, so it has no queues,
// but a ring of time stamps indexed by k. Numbers wrap around. A channel between two workers has a half at each: a half gets the stamps of
// the other end as records.
type channel struct {
	lat    int64    // latency, ps
	slot   [2]int64 // the ring of a narrow channel until it grows
	ring   uint32   // first word of the ring in channels.words, 0: none; of an alias the index of its channel
	sent   uint32   // sends posted
	posted uint32   // receives posted
	doneS  uint32   // oldest send that is not complete
	doneR  uint32   // oldest receive that is not complete; in the sender's half as far as known
	src    uint32
	dst    uint32
	cost   uint32 // index of the cost of all messages of a narrow channel
	far    uint32 // of a half: index of the port at the other end
	flags  chanFlags
	capLog uint8 // log2 of the slots of the ring
}

// chanFlags are properties of a channel, and which processes wait for it.
type chanFlags uint16

const (
	classBits  chanFlags = 3         // LinkClass
	wide       chanFlags = 4 << iota // slots of wideSlot words: messages differ in size, or use rendezvous
	rendezvous                       // messages may use rendezvous, so receives leave stamps
	alias                            // another port of the process has the same channel
	null                             // no process receives: sends do nothing
	tailed                           // one end posts more than the other
	toFar                            // this is the sender's half
	fromFar                          // this is the receiver's half
	unwaited                         // no call completes a send
	sendWaits                        // the source waits for the destination
	recvWaits                        // the destination waits for the source
	sendHoles                        // some sends after doneS are complete
	recvHoles                        // some receives after doneR are complete
)

// unusualSend and unusualRecv are what the fast paths of posts do not handle.
const (
	unusualSend = wide | alias | null | tailed | toFar
	unusualRecv = rendezvous | tailed
)

// Words of a slot of a wide channel.
const (
	slotArrival = iota // first byte arrives; of a rendezvous its request
	slotData           // of a rendezvous: when the network interface is free for the data
	slotCost           // cost and protocol: costShift, byRendezvous, bySync
	slotPosted         // when the receive was posted
	wideSlot
)

// A cost word also has the protocol of the message.
const (
	byRendezvous = 1
	bySync       = 2 // synchronous mode: rendezvous at any size
	costShift    = 2
)

// channels are the channels that begin or end at a worker's processes.
type channels struct {
	book    *ledger
	chans   []channel
	recvEnd []uint32 // index of the channel of each port that receives
	words   []int64  // rings; word 0 is unused
	free    [32][]uint32
	tails   map[uint32]*tail
	holes   map[holeKey][]uint32
}

// first returns the oldest message that is still needed.
func (c *channel) first() uint32 {
	switch {
	case c.flags&toFar != 0:
		return c.doneS
	case c.flags&fromFar != 0 || int32(c.doneS-c.doneR) > 0:
		return c.doneR
	}
	return c.doneS
}

func (t *channels) narrow(c *channel, k uint32) *int64 {
	if c.capLog == 1 {
		return &c.slot[k&1]
	}
	return &t.words[c.ring+k&(1<<c.capLog-1)]
}

func (t *channels) wide(c *channel, k uint32) []int64 {
	at := c.ring + k&(1<<c.capLog-1)*wideSlot
	return t.words[at : at+wideSlot : at+wideSlot]
}

// room grows the ring until slot k is in it.
func (t *channels) room(c *channel, k uint32) {
	first := c.first()
	for c.ring == 0 && c.flags&wide != 0 || k-first >= 1<<c.capLog {
		t.grow(c, first)
	}
}

// grow doubles the ring of a channel.
func (t *channels) grow(c *channel, first uint32) {
	if c.flags&wide != 0 && c.ring == 0 {
		c.ring = t.take(wideSlot << c.capLog)
		return
	}
	old := *c
	size := uint32(1) << old.capLog
	c.capLog++
	if old.flags&wide == 0 {
		c.ring = t.take(2 * size)
		for k := first; k != first+size; k++ {
			*t.narrow(c, k) = *t.narrow(&old, k)
		}
	} else {
		c.ring = t.take(2 * size * wideSlot)
		for k := first; k != first+size; k++ {
			copy(t.wide(c, k), t.wide(&old, k))
		}
		size *= wideSlot
	}
	if old.ring != 0 {
		at := old.ring
		free := &t.free[bits.TrailingZeros32(size)]
		*free = append(*free, at)
	}
}

// take returns the index of n free words; n is a power of two.
func (t *channels) take(n uint32) uint32 {
	free := &t.free[bits.TrailingZeros32(n)]
	if list := *free; len(list) > 0 {
		*free = list[:len(list)-1]
		return list[len(list)-1]
	}
	at := len(t.words)
	if uint64(at)+uint64(n) > 1<<32-1 {
		t.book.fail(program.Errorf("more than 2^32 words of messages in progress"))
		return 0
	}
	t.words = slices.Grow(t.words, int(n))[:at+int(n)]
	return uint32(at)
}

// tail counts the posts of a channel one end of which posts more than the other. Posts beyond limit do not have a partner.
type tail struct {
	limit           uint64
	sends, receives tailEnd
}

type tailEnd struct {
	posts uint64
	end   uint32 // number of the first post beyond the limit, if over
	over  bool
}

// beyond counts post k and reports whether it has no partner.
func (e *tailEnd) beyond(limit uint64, k uint32) bool {
	e.posts++
	if e.posts > limit && !e.over {
		e.over, e.end = true, k
	}
	return e.over
}

// has reports whether post k is beyond the limit.
func (e *tailEnd) has(k uint32) bool { return e.over && int32(k-e.end) >= 0 }

func (t *channels) wakeSender(c *channel) {
	if c.flags&sendWaits != 0 {
		c.flags &^= sendWaits
		t.book.ready = append(t.book.ready, c.src)
	}
}

func (t *channels) wakeReceiver(c *channel) {
	if c.flags&recvWaits != 0 {
		c.flags &^= recvWaits
		t.book.ready = append(t.book.ready, c.dst)
	}
}

// put stores the stamps of a message that was sent.
func (t *channels) put(c *channel, arrival, data, cost int64) {
	t.room(c, c.sent)
	if c.flags&wide == 0 {
		*t.narrow(c, c.sent) = arrival
	} else {
		slot := t.wide(c, c.sent)
		slot[slotArrival], slot[slotData], slot[slotCost] = arrival, data, cost
	}
}

// Operations of a channel that are not completed in the order of their posts leave holes: complete ones after the oldest open one. They are
// rare, so they are not stored in channels.

// holeKey identifies one end of a channel.
type holeKey struct {
	id  uint32
	end chanFlags // sendHoles or recvHoles
}

// openPosts says which operations of one end are complete: those before first, and those in closed (ascending).
type openPosts struct {
	first  uint32
	closed []uint32
}

// done completes operation x of one end of a channel.
func (t *channels) done(x *item, end chanFlags) {
	c := &t.chans[x.id]
	oldest := &c.doneS
	if end == recvHoles {
		oldest = &c.doneR
	}
	if x.n == *oldest && c.flags&end == 0 {
		*oldest++
		return
	}
	key := holeKey{x.id, end}
	first, closed := closeAt(*oldest, t.holes[key], x.n)
	*oldest = first
	if closed == nil {
		delete(t.holes, key)
		c.flags &^= end
	} else {
		t.holes[key] = closed
		c.flags |= end
	}
}

// makeChannels makes the channels of the worker's processes.
func (w *worker) makeChannels() error {
	l := linker{code: w.code, lo: w.lo, hi: w.hi}
	if err := l.collect(); err != nil {
		return err
	}
	own := uint64(0)
	for i := range w.procs {
		own += uint64(len(w.code.kinds[w.procs[i].kind].sends))
	}
	if own+l.far >= noChannel {
		return program.Errorf("more than 2^32 channels")
	}
	w.chans = make([]channel, own, own+l.far)
	for i := range w.chans {
		w.chans[i].flags = null
	}
	return l.link(func(dst uint32, sends, recvs []end) error {
		ns, nr := posts(sends), posts(recvs)
		if w.owns(dst) {
			w.unmatched += max(ns, nr) - min(ns, nr)
		}
		if len(sends) == 0 || len(recvs) == 0 && !w.owns(sends[0].src) {
			return nil
		}
		ch, err := w.code.newChannel(sends, dst)
		if err != nil {
			return err
		}
		w.join(ch, sends, recvs)
		return nil
	})
}

// newChannel makes the channel of ports that send.
func (c *code) newChannel(sends []end, dst uint32) (channel, error) {
	src, k := sends[0].src, c.kind(sends[0].src)
	class := uint32(c.network.Class(src, dst))
	lat, err := c.network.CheckedLatency(src, dst)
	ch := channel{src: src, dst: dst, lat: lat, cost: k.out[sends[0].index].size + class, flags: chanFlags(class) | unwaited}
	if network.IsFree(ch.cost) {
		ch.lat = 0
	}
	for _, s := range sends {
		use := &k.out[s.index]
		switch {
		case use.sync, use.usesStandard && !c.costs.List[use.standard+class].Eager:
			ch.flags |= rendezvous | wide
		case use.mixed, use.size+class != ch.cost:
			ch.flags |= wide
		}
		if use.waited {
			ch.flags &^= unwaited
		}
	}
	if ch.flags&wide == 0 {
		ch.capLog = 1
	}
	return ch, err
}

// join stores a channel for its ports. The first port that sends has the channel, others are aliases; there may be no port that receives.
func (w *worker) join(ch channel, sends, recvs []end) {
	id := uint32(len(w.chans))
	if w.owns(ch.src) {
		p := &w.procs[ch.src-w.lo]
		id = p.sendBase + sends[0].index
		p.aliases = p.aliases || len(sends) > 1
		for _, s := range sends[1:] {
			w.chans[p.sendBase+s.index] = channel{flags: alias, ring: id}
		}
		if !w.owns(ch.dst) {
			ch.flags |= toFar
		}
	} else {
		ch.flags |= fromFar
		ch.far = sends[0].index
		w.chans = append(w.chans, channel{})
	}
	if len(recvs) == 0 {
		ch.flags |= null
	} else if ns, nr := posts(sends), posts(recvs); ns != nr {
		ch.flags |= tailed
		w.tails[id] = &tail{limit: min(ns, nr)}
	}
	if ch.flags&toFar != 0 && len(recvs) > 0 {
		ch.far = recvs[0].index
	}
	w.chans[id] = ch
	if w.owns(ch.dst) {
		p := &w.procs[ch.dst-w.lo]
		p.aliases = p.aliases || len(recvs) > 1
		for _, r := range recvs {
			w.recvEnd[p.recvBase+r.index] = id
		}
	}
}
