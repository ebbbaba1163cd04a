package simnet

import (
	"cmp"
	"math/bits"
	"slices"
)

// channel is a stream of messages: (communicator, source, destination, tag). The k-th send is what the k-th receive gets, so
// it holds no queue but a ring of time stamps by k. Numbers wrap around. One whose ends belong to two workers has a half at
// both: each takes the stamps that the other end sends.
type channel struct {
	lat    int64    // latency, ps
	slot   [2]int64 // the ring of a narrow channel, until it grows
	ring   uint32   // the first word of the ring in channels.words, 0 before there is one; of an alias, the channel meant
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
	listed                           // in channels.crowded
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

// channels are all channels that begin or end at a worker's processes.
type channels struct {
	book    *ledger
	chans   []channel
	recvEnd []uint32 // channel of each port to receive
	words   []int64  // rings; word 0 is not used
	free    [32][]uint32
	tails   map[uint32]*tail
	holes   map[holeKey][]uint32
	crowded []uint32 // channels whose source may wait for room
}

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
func (w *channels) narrow(c *channel, k uint32) *int64 {
	if c.capLog == 1 {
		return &c.slot[k&1]
	}
	return &w.words[c.ring+k&(1<<c.capLog-1)]
}

// wide returns slot k of a wide channel.
func (w *channels) wide(c *channel, k uint32) []int64 {
	at := c.ring + k&(1<<c.capLog-1)*wideSlot
	return w.words[at : at+wideSlot : at+wideSlot]
}

// room makes sure that slot k is in the ring.
func (w *channels) room(c *channel, k uint32) {
	first := c.first()
	for c.ring == 0 && c.flags&wide != 0 || k-first >= 1<<c.capLog {
		w.grow(c, first)
	}
}

// grow gives a channel a ring of twice the size.
func (w *channels) grow(c *channel, first uint32) {
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
func (w *channels) take(n uint32) uint32 {
	free := &w.free[bits.TrailingZeros32(n)]
	if list := *free; len(list) > 0 {
		*free = list[:len(list)-1]
		return list[len(list)-1]
	}
	at := len(w.words)
	if uint64(at)+uint64(n) > 1<<32-1 {
		w.book.fail(programError("more than 2^32 words of messages under way"))
		return 0
	}
	w.words = slices.Grow(w.words, int(n))[:at+int(n)]
	return uint32(at)
}

func (w *channels) give(at, n uint32) {
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

// crowd notes that the source of a channel waits for room.
func (w *channels) crowd(id uint32) {
	c := &w.chans[id]
	if c.flags&listed == 0 {
		w.crowded = append(w.crowded, id)
	}
	c.flags |= sendWaits | listed
}

// makeRoom lets all senders go further ahead that wait for nothing else; false if there are none.
func (w *channels) makeRoom() (some bool) {
	for _, id := range w.crowded {
		c := &w.chans[id]
		if c.flags&sendWaits != 0 && c.sent-c.doneR >= 1<<c.limLog {
			some = true
			c.limLog++
			w.wakeSender(c)
		}
	}
	for _, id := range w.crowded {
		w.chans[id].flags &^= listed
	}
	w.crowded = w.crowded[:0]
	return some
}

func (w *channels) wakeSender(c *channel) {
	if c.flags&sendWaits != 0 {
		c.flags &^= sendWaits
		w.book.ready = append(w.book.ready, c.src)
	}
}

func (w *channels) wakeReceiver(c *channel) {
	if c.flags&recvWaits != 0 {
		c.flags &^= recvWaits
		w.book.ready = append(w.book.ready, c.dst)
	}
}

// put notes a message that was sent.
func (w *channels) put(c *channel, arrival, data, cost int64) {
	w.room(c, c.sent)
	if c.flags&wide == 0 {
		*w.narrow(c, c.sent) = arrival
	} else {
		slot := w.wide(c, c.sent)
		slot[slotArrival], slot[slotData], slot[slotCost] = arrival, data, cost
	}
}

// Operations of a channel that are completed in another order than posted leave holes: numbers behind the oldest open one
// that are done. They are rare, so they are kept beside the channels.

// holeKey names one end of a channel.
type holeKey struct {
	id  uint32
	end chanFlags // sendHoles or recvHoles
}

// openPosts is which operations of one end are complete: those before first, and those in the ascending list closed.
type openPosts struct {
	first  uint32
	closed []uint32
}

// done completes operation x of one end of a channel.
func (w *channels) done(x *item, end chanFlags) {
	c := &w.chans[x.id]
	oldest := &c.doneS
	if end == recvHoles {
		oldest = &c.doneR
	}
	if x.n == *oldest && c.flags&end == 0 {
		*oldest++
		return
	}
	key := holeKey{x.id, end}
	first, closed := closeAt(*oldest, w.holes[key], x.n)
	*oldest = first
	if closed == nil {
		delete(w.holes, key)
		c.flags &^= end
	} else {
		w.holes[key] = closed
		c.flags |= end
	}
}

// noChannel is where a port to receive leads from which nobody sends.
const noChannel = 1<<32 - 1

// link finds the channels of the processes of a worker: every port to send of theirs, and of all processes every one that
// leads to them, is joined with the port that receives. Each worker does so for itself, from the program alone. It costs
// O(ports of all processes), and sorting those of a process.
func (l *linker) link() error {
	w, all := l.w, len(l.w.code.program.Roots)
	l.start = make([]uint32, all+1)
	total := uint64(0)
	for p := range w.procs {
		total += uint64(len(w.code.kinds[w.procs[p].kind].sends))
	}
	if err := l.eachSend(func(_, _, _, dst uint32, own bool) {
		l.start[dst]++
		if !own {
			total++
		}
	}); err != nil {
		return err
	}
	if total >= noChannel {
		return programError("more than 2^32 channels")
	}
	w.chans = make([]channel, 0, total)
	for p := range w.procs {
		n := len(w.chans) + len(w.code.kinds[w.procs[p].kind].sends)
		for i := len(w.chans); i < n; i++ {
			w.chans = append(w.chans, channel{flags: null})
		}
	}
	sum := uint32(0)
	for i, n := range l.start {
		l.start[i] = sum
		sum += n
	}
	l.ids = make([]uint32, sum)
	if err := l.collect(); err != nil {
		return err
	}
	from := uint32(0)
	for dst := range all {
		to := l.start[dst] // which now is the end
		if err := l.match(uint32(dst), l.ids[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// eachSend calls f for each port to send of a process of the worker, and each other that leads to one.
func (l *linker) eachSend(f func(src, index, port, dst uint32, own bool)) error {
	w, c := l.w, l.w.code
	for q, root := range c.program.Roots {
		src := uint32(q)
		own := w.owns(src)
		for i, port := range c.kinds[c.kindOf[root]].sends {
			dst, ok, err := c.partner(&c.ports[port], src)
			if err != nil {
				return err
			}
			if ok && (own || w.owns(dst)) {
				f(src, uint32(i), port, dst, own)
			}
		}
	}
	return nil
}

// linker holds the channels by destination while they are joined.
type linker struct {
	w            *worker
	limLog       uint8    // of all channels
	start        []uint32 // of each process: where the channels that lead to it begin in ids
	ids          []uint32
	sends, recvs []end
}

// end is one port of a process.
type end struct {
	comm, src, tag uint32
	id             uint32 // channel; of a port to receive, its index
	posts          uint64
}

func (a *end) compare(b *end) int {
	return cmp.Or(cmp.Compare(a.comm, b.comm), cmp.Compare(a.src, b.src), cmp.Compare(a.tag, b.tag))
}

// collect makes the channels and lists them by destination. Until they are joined, ring is the port.
func (l *linker) collect() error {
	w, c := l.w, l.w.code
	var failed error
	err := l.eachSend(func(src, index, port, dst uint32, own bool) {
		id := uint32(len(w.chans))
		if own {
			id = w.procs[src-w.lo].sendBase + index
		} else {
			w.chans = append(w.chans, channel{})
		}
		l.ids[l.start[dst]] = id
		l.start[dst]++
		class := uint32(c.network.Class(src, dst))
		use := &c.kinds[c.kindOf[c.program.Roots[src]]].out[index]
		ch := channel{
			ring: port, src: src, dst: dst, cost: use.size + class, far: index, flags: chanFlags(class),
			lat: c.network.Latency(src, dst), limLog: l.limLog,
		}
		if ch.lat < 0 || ch.lat > largest {
			failed = programError("the latency from process %d to %d is longer than 13 days", src, dst)
		}
		switch {
		case use.sync, use.usesStandard && !c.costs.costs[use.standard+class].eager:
			ch.flags |= rendezvous | wide
		case use.mixed:
			ch.flags |= wide
		}
		if !use.waited {
			ch.flags |= unwaited
		}
		if !own {
			ch.flags |= fromFar
		} else if !w.owns(dst) {
			ch.flags |= toFar
		}
		w.chans[id] = ch
	})
	return cmp.Or(err, failed)
}

// match joins the channels that lead to dst with its ports to receive. The first of those with equal names stands for all.
func (l *linker) match(dst uint32, ids []uint32) error {
	w, c := l.w, l.w.code
	own := w.owns(dst)
	if !own && len(ids) == 0 {
		return nil
	}
	l.sends, l.recvs = l.sends[:0], l.recvs[:0]
	for _, id := range ids {
		ch := &w.chans[id]
		at := &c.ports[ch.ring]
		use := &c.kinds[c.kindOf[c.program.Roots[ch.src]]].out[ch.far]
		l.sends = append(l.sends, end{at.comm, ch.src, at.tag, id, use.posts})
	}
	k := &c.kinds[c.kindOf[c.program.Roots[dst]]]
	for i, port := range k.recvs {
		at := &c.ports[port]
		src, ok, err := c.partner(at, dst)
		if err != nil {
			return err
		}
		if ok {
			l.recvs = append(l.recvs, end{at.comm, src, at.tag, uint32(i), k.in[i]})
		}
	}
	slices.SortStableFunc(l.sends, func(a, b end) int { return a.compare(&b) })
	slices.SortStableFunc(l.recvs, func(a, b end) int { return a.compare(&b) })
	r := l.recvs
	for s := l.sends; len(s) > 0; {
		for len(r) > 0 && r[0].compare(&s[0]) < 0 {
			n := same(r)
			l.unmatched(own, r[:n])
			r = r[n:]
		}
		n, m := same(s), 0
		if len(r) > 0 && r[0].compare(&s[0]) == 0 {
			m = same(r)
		}
		l.join(dst, s[:n], r[:m])
		s, r = s[n:], r[m:]
	}
	l.unmatched(own, r)
	return nil
}

// same returns how many ends have the name of the first.
func same(list []end) int {
	n := 1
	for n < len(list) && list[n].compare(&list[0]) == 0 {
		n++
	}
	return n
}

func posts(list []end) (n uint64) {
	for i := range list {
		n += list[i].posts
	}
	return n
}

func (l *linker) unmatched(own bool, list []end) {
	if own {
		l.w.unmatched += posts(list)
	}
}

// join makes one channel of ends with one name; there may be none that receives.
func (l *linker) join(dst uint32, sends, recvs []end) {
	w := l.w
	id := sends[0].id
	ch := &w.chans[id]
	for _, s := range sends[1:] {
		other := &w.chans[s.id]
		if other.cost != ch.cost {
			ch.flags |= wide
		}
		ch.flags |= other.flags & (wide | rendezvous)
		ch.flags &= other.flags | ^unwaited
		other.flags, other.ring = alias, id
		if w.owns(ch.src) {
			w.procs[ch.src-w.lo].aliases = true
		}
	}
	ch.ring = 0
	if ch.flags&wide == 0 {
		ch.capLog = 1
	}
	if len(recvs) == 0 {
		ch.flags |= null
		l.unmatched(w.owns(dst), sends)
		return
	}
	if ns, nr := posts(sends), posts(recvs); ns != nr {
		ch.flags |= tailed
		w.tails[id] = &tail{limit: min(ns, nr)}
		if w.owns(dst) {
			w.unmatched += max(ns, nr) - min(ns, nr)
		}
	}
	if ch.flags&toFar != 0 {
		ch.far = recvs[0].id
	}
	if w.owns(dst) {
		p := &w.procs[dst-w.lo]
		p.aliases = p.aliases || len(recvs) > 1
		for _, r := range recvs {
			w.recvEnd[p.recvBase+r.id] = id
		}
	}
}

// log2 returns the least k with 1<<k >= n.
func log2(n int) uint8 { return uint8(bits.Len(uint(max(n, 1) - 1))) }
