package simnet

// eventItem is something that happens at a time. Items of one time happen in the order of their numbers.
type eventItem struct {
	time int64 // ps
	seq  uint64
	id   uint32 // process or message
	kind eventKind
}

// eventKind is what happens.
type eventKind uint8

const (
	turnEvent   eventKind = iota // a process goes on
	lateEvent                    // a message arrives that others overtook
	postEvent                    // a receive is posted
	enterEvent                   // a message enters the links
	arriveEvent                  // a message reaches the network interface of its destination
	answerEvent                  // the answer to the request of a rendezvous is back at the sender
	freeEvent                    // a rendezvous is over for its sender
)

func (a *eventItem) before(b *eventItem) bool {
	return a.time < b.time || a.time == b.time && a.seq < b.seq
}

// eventHeap is a heap of four children a node: half as deep as one of two, and the children are one or two cache lines
// (LaMarca, Ladner 1996).
type eventHeap []eventItem

func (h *eventHeap) push(x eventItem) {
	s := append(*h, x)
	*h = s
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = x
}

// pop removes the first item.
func (h *eventHeap) pop() {
	s := *h
	n := len(s) - 1
	x := s[n]
	*h = s[:n]
	if n > 0 {
		h.replace(x)
	}
}

// replace puts an item in the place of the first one.
func (h *eventHeap) replace(x eventItem) {
	s := *h
	i := 0
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s)); c++ {
			if s[c].before(&s[least]) {
				least = c
			}
		}
		if !s[least].before(&x) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = x
}
