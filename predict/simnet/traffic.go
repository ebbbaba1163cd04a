package simnet

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// traffic is messages in progress, and the processors and interfaces that they use.
type traffic struct {
	ledger
	matching
	queue   eventQueue
	network *network.Network
	costs   network.Costs
	arrival bool // the policy
	shared  bool // network interfaces are shared
	procs   []eventProc
	nics    interfaces
	current uint32 // the process whose event is at the root of the queue
}

// postRecv posts a receive. blocking: the process does nothing else until the receive is posted.
func (r *traffic) postRecv(p *eventProc, ch uint32, blocking bool) uint32 {
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
			p.opMessage = m
			p.operate(opPost, p.cpu, r.queue.number())
		} else {
			r.queue.at(p.cpu, postEvent, m)
		}
	default:
		r.posted(m)
	}
	return m
}

// awaitRecv makes a process wait for a receive.
func (r *traffic) awaitRecv(p *eventProc, m uint32) {
	x := &r.messages[m]
	if !r.arrival {
		p.recvs = append(p.recvs, m)
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
func (r *traffic) awaitSend(p *eventProc, m uint32) {
	x := &r.messages[m]
	if !r.arrival {
		p.sends = append(p.sends, m)
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
func (r *traffic) closeRecv(m uint32) {
	if r.messages[m].flags&ofStep == 0 {
		r.close(m, recvClosed)
	}
}

// awaitProbe makes a process wait for the message of the next receive of a channel.
func (r *traffic) awaitProbe(p *eventProc, ch uint32) {
	if ch == 0 {
		return
	}
	if t := r.tails[ch]; r.chains[ch].limited && t.receives.posts >= t.limit {
		return
	}
	m := r.peekRecv(ch)
	x := &r.messages[m]
	if x.flags&(hasArrived|isRequested) != 0 { // the request, if it uses rendezvous
		p.until = max(p.until, x.time)
		return
	}
	x.flags |= awaitsProbe
	p.need++
}

// satisfy counts one completion that a process waits for.
func (r *traffic) satisfy(id uint32) {
	p := &r.procs[id]
	if p.need--; p.need == 0 {
		r.ready = append(r.ready, id)
	}
}

// hasCome marks that a message has arrived, so its receive can be completed once posted.
func (r *traffic) hasCome(m uint32) {
	x := &r.messages[m]
	x.flags |= hasArrived
	if x.flags&awaitsProbe != 0 {
		x.flags &^= awaitsProbe
		r.mayLeave(x.dst, x.time)
	}
	r.received(m)
}

// received informs a process that waits for a message that has arrived and whose receive is posted.
func (r *traffic) received(m uint32) {
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

// mayLeave ends a probe or a collective operation of a process at a time.
func (r *traffic) mayLeave(process uint32, time int64) {
	r.procs[process].until = max(r.procs[process].until, time)
	r.satisfy(process)
}

// isOver marks that the send of a message can be completed.
func (r *traffic) isOver(m, src uint32) {
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

// takeMessages completes all sends and receives that a process has waited for: receives in the order of arrival, then sends.
func (r *traffic) takeMessages(p *eventProc) {
	if len(p.recvs) > 1 {
		slices.SortFunc(p.recvs, r.earlier)
	}
	for _, m := range p.recvs {
		if x := &r.messages[m]; x.flags&isNull == 0 {
			r.takeReceive(p, x)
		}
		r.close(m, recvClosed)
	}
	for _, m := range p.sends {
		if x := &r.messages[m]; x.flags&isNull == 0 {
			p.cpu = max(p.cpu, x.free)
			if x.busy != 0 {
				f := r.nicOf(r.origins[x.chain].src, r.chains[x.chain].class)
				f.tx = max(f.tx, x.busy)
			}
		}
		r.close(m, sendClosed)
	}
	p.cpu, p.until = max(p.cpu, p.until), 0
	p.recvs, p.sends = p.recvs[:0], p.sends[:0]
}

// The policies DMA and Copy: a process has one clock, as in the dataflow engine. If interfaces are shared, it waits before each post until
// the time of its clock, so that interfaces are used in the order of time.

// interfaces are the shared network interfaces of nodes, and the links between nodes.
type interfaces struct {
	of    []uint32 // interface of each process to other nodes
	nodes []nic
	links []int64 // when each link of the topology is free
	route []uint32
}

func (f *interfaces) init(p *program.Program, n *network.Network) error {
	if n.Contention == network.NoContention {
		return nil
	}
	var count int
	f.of, count = n.Interfaces(len(p.Roots))
	f.nodes = make([]nic, count)
	if n.Contention == network.NICContention || n.Topology == nil {
		return nil
	}
	f.links = make([]int64, n.Topology.Links())
	return n.CheckPlaces(len(p.Roots))
}

// nicOf returns the interface of a process for messages of a class. For messages within a node it has its own.
func (r *traffic) nicOf(process uint32, class network.LinkClass) *nic {
	if r.shared && class == network.LinkNet {
		return &r.nics.nodes[r.nics.of[process]]
	}
	return &r.procs[process].nic
}

// transmitNow sends a message at the clock of its process.
func (r *traffic) transmitNow(p *eventProc, id, m uint32) {
	x := &r.messages[m]
	k, f := &r.costs.List[x.cost], r.nicOf(id, r.chains[x.chain].class)
	s := max(p.cpu, f.tx)
	p.cpu += k.Send
	x.free = s + k.Send
	x.time += x.free
	r.clock |= x.time | p.cpu
	if x.flags&isRendezvous != 0 {
		f.tx = s + k.Busy - k.Wire
		if !r.shared {
			x.busy = max(f.tb, f.tx)
			f.tb = x.busy + k.Busy
			r.clock |= f.tb
		}
		r.requested(m)
		return
	}
	f.tx = s + k.Busy
	r.clock |= f.tx
	x.busy = 0
	r.isOver(m, id)
	switch {
	case !r.shared:
		r.hasCome(m)
	case r.overLinks(m):
		r.queue.at(x.free, enterEvent, m)
	default:
		r.queue.at(x.time, arriveEvent, m)
	}
}

// overLinks reports whether a message uses shared links of the topology.
func (r *traffic) overLinks(m uint32) bool {
	return r.nics.links != nil && r.chains[r.messages[m].chain].class == network.LinkNet
}

// enterLinks sends a message when all links of its route are free, and occupies them for its bytes.
func (r *traffic) enterLinks(m uint32) {
	x := &r.messages[m]
	n := r.network
	r.nics.route = n.Topology.Route(r.nics.route[:0], n.NodeOf(r.origins[x.chain].src), n.NodeOf(x.dst))
	start := r.queue.now
	for _, l := range r.nics.route {
		start = max(start, r.nics.links[l])
	}
	until := network.AddTime(start, n.LinkRate.Of(max(r.costs.Size(x.cost), 1)))
	if until > network.Never/2 {
		r.fail(program.Errorf("a message of %d bytes takes a link for too long", r.costs.Size(x.cost)))
		return
	}
	for _, l := range r.nics.route {
		r.nics.links[l] = until
	}
	x.time += start - r.queue.now
	r.queue.at(x.time, arriveEvent, m)
}

// arrive occupies the network interface of the destination.
func (r *traffic) arrive(m uint32) {
	x := &r.messages[m]
	f := r.nicOf(x.dst, r.chains[x.chain].class)
	x.time = max(x.time, f.rx)
	f.rx = x.time + r.costs.List[x.cost].Busy
	r.clock |= f.rx
	r.hasCome(m)
}

// answer occupies the network interface of the source for the data of a rendezvous.
func (r *traffic) answer(m uint32) {
	x := &r.messages[m]
	f := r.nicOf(r.origins[x.chain].src, r.chains[x.chain].class)
	d := max(r.queue.now, f.tb)
	f.tb = d + r.costs.List[x.cost].Busy
	r.startAt(m, d)
}

func (r *traffic) takeReceive(p *eventProc, x *message) {
	k := &r.costs.List[x.cost]
	if r.shared { // arrive has occupied the interface
		p.cpu, _ = k.Receive(p.cpu, 0, x.time)
	} else {
		p.cpu, p.rx = k.Receive(p.cpu, p.rx, x.time)
		r.clock |= p.rx
	}
	r.clock |= p.cpu
}

// earlier orders messages by arrival, then by communicator, source, tag and number.
func (r *matching) earlier(a, b uint32) int {
	x, y := &r.messages[a], &r.messages[b]
	if x.time != y.time {
		return cmp.Compare(x.time, y.time)
	}
	if x.chain == y.chain {
		return int(int32(x.seq - y.seq))
	}
	c, d := &r.origins[x.chain], &r.origins[y.chain]
	i, j := &r.code.ports[c.port], &r.code.ports[d.port]
	return cmp.Or(cmp.Compare(i.comm, j.comm), cmp.Compare(c.src, d.src), cmp.Compare(i.tag, j.tag))
}

// The policy Arrival: the processor of a process does one thing at a time. It sends when the network interface is free too, computes, and
// takes messages that have arrived, even if their receive is not posted. Of what can begin at the same time, it begins what became known
// first (as LogGOPSim does: Hoefler, Schneider, Lumsdaine 2010).

// dueKind is what happens next at a process.
type dueKind uint8

const (
	dueNothing dueKind = iota
	dueSend
	dueMessage
	dueOperation
)

// opKind is an operation of the processor.
type opKind uint8

const (
	opNothing opKind = iota
	opCompute        // the computation between two calls
	opSpend          // computation within a call
	opPost           // post of a receive, which does not wait for a free processor
)

// duty is what a processor has to do, and what it does next.
type duty struct {
	dueTime int64 // when the next thing happens
	opTime  int64 // how long the operation takes, or when it happens
	dueSeq  uint32
	opSeq   uint32
	out     messageList // to send
	arrived messageList // arrived
	flight  messageList // in progress, ordered by time

	due       dueKind
	op        opKind
	opMessage uint32
}

// messageList is a list of messages, linked by message.link; 0 is none.
type messageList struct{ head, tail uint32 }

func (r *matching) push(l *messageList, m uint32) {
	r.messages[m].link = 0
	if l.tail == 0 {
		l.head = m
	} else {
		r.messages[l.tail].link = m
	}
	l.tail = m
}

func (r *matching) pop(l *messageList) uint32 {
	m := l.head
	if l.head = r.messages[m].link; l.head == 0 {
		l.tail = 0
	}
	return m
}

// operate gives the processor an operation. The process continues after it has begun.
func (d *duty) operate(kind opKind, time int64, seq uint32) {
	d.op, d.opTime, d.opSeq = kind, time, seq
}

// nextDue returns what can happen next at a process.
func (r *traffic) nextDue(p *eventProc) dueKind {
	what := dueNothing
	p.dueTime = network.Never
	if m := p.out.head; m != 0 {
		p.dueTime, p.dueSeq, what = max(p.cpu, p.tx), r.messages[m].seq, dueSend
	}
	if p.op != opNothing {
		t := p.cpu
		if p.op == opPost {
			t = p.opTime
		}
		if t < p.dueTime || t == p.dueTime && int32(p.opSeq-p.dueSeq) < 0 {
			p.dueTime, p.dueSeq, what = t, p.opSeq, dueOperation
		}
	}
	m := p.arrived.head
	if m == 0 {
		m = p.flight.head
	}
	if m != 0 {
		x := &r.messages[m]
		if t := max(p.cpu, p.rx, x.time); t < p.dueTime || t == p.dueTime && int32(x.seq-p.dueSeq) < 0 {
			p.dueTime, p.dueSeq, what = t, x.seq, dueMessage
		}
	}
	return what
}

// poke adds an event for a process if something happens there earlier than its next event.
func (r *traffic) poke(id uint32) {
	if id == r.current {
		return // it is added anyway
	}
	p := &r.procs[id]
	what, time, seq := p.due, p.dueTime, p.dueSeq
	if p.due = r.nextDue(p); p.due == dueNothing || what != dueNothing && time == p.dueTime && seq == p.dueSeq {
		return
	}
	r.queue.push(newEvent(p.dueTime, p.dueSeq, turnEvent, id))
}

// transmit sends the first message that waits to be sent.
func (r *traffic) transmit(p *eventProc, id uint32) {
	m := r.pop(&p.out)
	x := &r.messages[m]
	k := &r.costs.List[x.cost]
	p.cpu = r.queue.now + k.Send
	x.time += p.cpu
	r.clock |= x.time
	if x.flags&isRendezvous == 0 || r.network.NoRendezvousLatency {
		p.tx = r.queue.now + k.Busy
		r.deliver(m)
		if x.flags&isRendezvous == 0 {
			r.isOver(m, id)
		}
		return
	}
	p.tx = r.queue.now + k.Busy - k.Wire
	x.busy = max(p.tb, p.tx)
	p.tb = x.busy + k.Busy
	r.clock |= p.tb
	r.requested(m)
}

// deliver adds a message to those in progress to its destination.
func (r *traffic) deliver(m uint32) {
	x := &r.messages[m]
	x.seq = r.queue.number()
	x.flags |= inFlight
	p := &r.procs[x.dst]
	switch {
	case p.flight.tail == 0:
		r.push(&p.flight, m)
		if p.arrived.head == 0 {
			r.poke(x.dst)
		}
	case r.messages[p.flight.tail].time <= x.time:
		r.push(&p.flight, m)
	default:
		r.queue.push(newEvent(x.time, x.seq, lateEvent, m))
	}
}

// late handles the arrival of a message that was sent after others which arrive later.
func (r *traffic) late(m uint32) {
	x := &r.messages[m]
	p := &r.procs[x.dst]
	for p.flight.head != 0 && r.messages[p.flight.head].time <= x.time {
		r.push(&p.arrived, r.pop(&p.flight))
	}
	r.push(&p.arrived, m)
	r.poke(x.dst)
}

func (r *traffic) drain(p *eventProc) {
	from := &p.arrived
	if from.head == 0 {
		from = &p.flight
	}
	m := r.pop(from)
	x := &r.messages[m]
	p.cpu, p.rx = r.costs.List[x.cost].Receive(r.queue.now, 0, r.queue.now)
	r.clock |= p.cpu | p.rx
	x.flags &^= inFlight
	r.hasCome(m)
	r.release(m)
}

// posted handles the post of a receive.
func (r *traffic) posted(m uint32) {
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
func (r *traffic) requested(m uint32) {
	x := &r.messages[m]
	x.flags |= isRequested
	if x.flags&awaitsProbe != 0 {
		x.flags &^= awaitsProbe
		r.mayLeave(x.dst, x.time)
	}
	if x.flags&isPosted != 0 {
		r.start(m)
	}
}

// start sends the data of a rendezvous as soon as its answer has arrived.
func (r *traffic) start(m uint32) {
	x := &r.messages[m]
	answer := max(x.posted, x.time) + r.code.network.Handshake(r.origins[x.chain].lat)
	if r.shared {
		r.queue.at(answer, answerEvent, m)
		return
	}
	r.startAt(m, max(answer, x.busy))
}

// startAt sends the data of a rendezvous.
func (r *traffic) startAt(m uint32, d int64) {
	x := &r.messages[m]
	k, from := &r.costs.List[x.cost], &r.origins[x.chain]
	src := from.src
	x.time, x.free, x.busy = d+r.code.network.Handshake(from.lat), d+k.Wire, d+k.Busy
	if r.network.NoRendezvousLatency {
		x.free = d
	}
	r.clock |= x.time | x.busy
	switch {
	case r.arrival:
		r.deliver(m)
		r.queue.at(x.free, freeEvent, m)
	case r.shared && r.overLinks(m):
		r.isOver(m, src)
		r.queue.at(d, enterEvent, m)
	case r.shared:
		r.isOver(m, src)
		r.queue.at(x.time, arriveEvent, m)
	default:
		r.isOver(m, src)
		r.hasCome(m)
	}
}

// release completes a rendezvous without an answer for its sender, when the message has arrived and its receive is posted.
func (r *traffic) release(m uint32) {
	x := &r.messages[m]
	if x.flags&(isRendezvous|isFree|isPosted|hasArrived) != isRendezvous|isPosted|hasArrived || x.flags&isRequested != 0 {
		return
	}
	src := r.origins[x.chain].src
	p := &r.procs[src]
	p.cpu, p.tx = max(p.cpu, r.queue.now), max(p.tx, r.queue.now)
	r.isOver(m, src)
}

// freed completes a rendezvous for its sender.
func (r *traffic) freed(m uint32) {
	x := &r.messages[m]
	src := r.origins[x.chain].src
	p := &r.procs[src]
	p.tx = max(p.tx, x.busy)
	if x.flags&awaitsSend != 0 {
		p.cpu = max(p.cpu, r.queue.now)
	}
	r.isOver(m, src)
	r.poke(src)
}
