package simnet

import "math/bits"

// eventItem is an event. word has, from the highest bit, the number that orders events of one time, the kind, and the process or message.
type eventItem struct {
	time int64 // ps
	word uint64
}

// eventKind is what an event does.
type eventKind uint8

const (
	turnEvent   eventKind = iota // a process continues
	lateEvent                    // a message arrives that was sent after others which arrive later
	postEvent                    // a receive is posted
	enterEvent                   // a message enters the links
	arriveEvent                  // a message reaches the network interface of its destination
	answerEvent                  // the answer of a rendezvous arrives at the sender
	freeEvent                    // a rendezvous is complete for its sender
)

// maxEventID is the limit on the number of processes and of messages.
const maxEventID = 1 << 29

func newEvent(time int64, seq uint32, kind eventKind, id uint32) eventItem {
	return eventItem{time, uint64(seq)<<32 | uint64(kind)<<29 | uint64(id)}
}

func (x *eventItem) seq() uint32     { return uint32(x.word >> 32) }
func (x *eventItem) kind() eventKind { return eventKind(x.word >> 29 & 7) }
func (x *eventItem) id() uint32      { return uint32(x.word & (maxEventID - 1)) }

// before returns 1 if x is before y, else 0, without a branch, which could not be predicted.
func (x *eventItem) before(y *eventItem) int {
	_, less := bits.Sub64(x.word, y.word, 0)
	_, less = bits.Sub64(uint64(x.time), uint64(y.time), less)
	return int(less)
}

// eventHeap is a heap with four children for each node. It is half as deep as a binary heap, and the four children share a cache line
// (LaMarca, Ladner 1996). Items before the root are unused.
type eventHeap struct{ items []eventItem }

// heapRoot is the index of the root. The children of i are at 4(i-2) and after, so four of them begin at a multiple of 64 bytes.
const heapRoot = 3

// eventQueue has the events to come.
type eventQueue struct {
	eventHeap
	seq   uint32
	now   int64
	clock *int64 // see ledger
}

// number returns the next number for an event.
func (q *eventQueue) number() uint32 {
	q.seq++
	return q.seq
}

// at adds an event.
func (q *eventQueue) at(time int64, kind eventKind, id uint32) {
	*q.clock |= time
	q.push(newEvent(time, q.number(), kind, id))
}

func (h *eventHeap) push(x eventItem) {
	s := append(h.items, x)
	h.items = s
	i := len(s) - 1
	for i > heapRoot {
		up := i/4 + 2
		if x.before(&s[up]) == 0 {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = x
}

// pop removes the first item.
func (h *eventHeap) pop() {
	n := len(h.items) - 1
	x := h.items[n]
	h.items = h.items[:n]
	if n > heapRoot {
		h.replace(x)
	}
}

// replace replaces the first item.
func (h *eventHeap) replace(x eventItem) {
	s := h.items
	i := heapRoot
	for {
		c := 4 * (i - 2)
		if c+4 > len(s) {
			break
		}
		a := c + s[c+1].before(&s[c])
		b := c + 2 + s[c+3].before(&s[c+2])
		least := a + (b-a)*s[b].before(&s[a])
		if s[least].before(&x) == 0 {
			s[i] = x
			return
		}
		s[i] = s[least]
		i = least
	}
	if c := 4 * (i - 2); c < len(s) {
		least := c
		for c++; c < len(s); c++ {
			least += (c - least) * s[c].before(&s[least])
		}
		if s[least].before(&x) != 0 {
			s[i] = s[least]
			i = least
		}
	}
	s[i] = x
}
