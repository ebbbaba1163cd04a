package simnet

import (
	"math/bits"
	"slices"
)

// channel is a stream of messages: (communicator, source, destination, tag). The k-th send is what the k-th receive gets, so
// it holds no queue but a ring of time stamps by k. Numbers wrap around. One whose ends belong to two workers has a half at
// both: each takes the stamps that the other end sends.
type channel struct {
	lat    int64    // latency, ps
	slot   [2]int64 // the ring of a narrow channel, until it grows
	ring   uint32   // the first word of the ring in worker.words, 0 before there is one; of an alias, the channel meant
	sent   uint32   // sends posted
	posted uint32   // receives posted
	doneS  uint32   // the oldest send that is not complete
	doneR  uint32   // the oldest receive that is not complete; at the sender's half, as far as known
	src    uint32
	dst    uint32
	cost   uint32 // of all messages of a narrow channel
	far    uint32 // index of the port at the other end, of a half
	flags  chanFlags
	capLog uint8 // the ring has 1<<capLog slots
	limLog uint8 // the sender may be 1<<limLog messages ahead of the receiver
}

// chanFlags say what a channel is, and who waits for it.
type chanFlags uint16

const (
	classBits  chanFlags = 3         // LinkClass
	wide       chanFlags = 4 << iota // slots of wideSlot words: messages of several sizes, or rendezvous
	rendezvous                       // some messages may go by rendezvous: receives leave stamps
	alias                            // another port of the process leads to the same channel
	null                             // no process receives: sends do nothing
	tailed                           // one end posts more than the other
	toFar                            // this is the sender's half
	fromFar                          // this is the receiver's half
	unwaited                         // no send is completed by a call
	sendWaits                        // the source waits for the other end
	recvWaits                        // the destination waits for the other end
	sendHoles                        // sends behind doneS are complete
	recvHoles                        // receives behind doneR are complete
	listed                           // in worker.crowded
)

// unusualSend and unusualRecv are what the short ways of posts do not know.
const (
	unusualSend = wide | alias | null | tailed | toFar
	unusualRecv = rendezvous | tailed
)

// Words of a slot of a wide channel.
const (
	slotArrival = iota // first byte; of a rendezvous, the request
	slotData           // of a rendezvous: the network interface is free for the data
	slotCost           // cost of the message and how it goes: costShift, byRendezvous, bySync
	slotPosted         // of the receive
	wideSlot
)

// The word of a cost says how the message goes.
const (
	byRendezvous = 1
	bySync       = 2 // at any size
	costShift    = 2
)

func (c *channel) class() uint32 { return uint32(c.flags & classBits) }

// first returns the oldest message that is still of interest.
func (c *channel) first() uint32 {
	switch {
	case c.flags&toFar != 0:
		return c.doneS
	case c.flags&fromFar != 0 || int32(c.doneS-c.doneR) > 0:
		return c.doneR
	}
	return c.doneS
}

// narrow returns slot k of a narrow channel.
func (w *worker) narrow(c *channel, k uint32) *int64 {
	if c.capLog == 1 {
		return &c.slot[k&1]
	}
	return &w.words[c.ring+k&(1<<c.capLog-1)]
}

// wide returns slot k of a wide channel.
func (w *worker) wide(c *channel, k uint32) []int64 {
	at := c.ring + k&(1<<c.capLog-1)*wideSlot
	return w.words[at : at+wideSlot : at+wideSlot]
}

// room makes sure that slot k is in the ring.
func (w *worker) room(c *channel, k uint32) {
	first := c.first()
	for c.ring == 0 && c.flags&wide != 0 || k-first >= 1<<c.capLog {
		w.grow(c, first)
	}
}

// grow gives a channel a ring of twice the size.
func (w *worker) grow(c *channel, first uint32) {
	if c.flags&wide != 0 && c.ring == 0 {
		c.ring = w.take(wideSlot << c.capLog)
		return
	}
	old := *c
	size := uint32(1) << old.capLog
	c.capLog++
	if old.flags&wide == 0 {
		c.ring = w.take(2 * size)
		for k := first; k != first+size; k++ {
			*w.narrow(c, k) = *w.narrow(&old, k)
		}
	} else {
		c.ring = w.take(2 * size * wideSlot)
		for k := first; k != first+size; k++ {
			copy(w.wide(c, k), w.wide(&old, k))
		}
		size *= wideSlot
	}
	if old.ring != 0 {
		w.give(old.ring, size)
	}
}

// take returns the place of free words; their number is a power of two.
func (w *worker) take(n uint32) uint32 {
	free := &w.free[bits.TrailingZeros32(n)]
	if list := *free; len(list) > 0 {
		*free = list[:len(list)-1]
		return list[len(list)-1]
	}
	at := len(w.words)
	if uint64(at)+uint64(n) > 1<<32-1 {
		w.fail(programError("more than 2^32 words of messages under way"))
		return 0
	}
	w.words = slices.Grow(w.words, int(n))[:at+int(n)]
	return uint32(at)
}

func (w *worker) give(at, n uint32) {
	free := &w.free[bits.TrailingZeros32(n)]
	*free = append(*free, at)
}

// tail counts posts on a channel one end of which posts more than the other: those beyond limit have no partner.
type tail struct {
	limit           uint64
	sends, receives tailEnd
}

type tailEnd struct {
	posts uint64
	end   uint32 // number of the first post beyond the limit
	over  bool
}

// beyond notes post k, and reports whether it has no partner.
func (e *tailEnd) beyond(limit uint64, k uint32) bool {
	e.posts++
	if e.posts > limit && !e.over {
		e.over, e.end = true, k
	}
	return e.over
}

// has reports whether post k is beyond the limit.
func (e *tailEnd) has(k uint32) bool { return e.over && int32(k-e.end) >= 0 }
