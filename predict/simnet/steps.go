package simnet

import (
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// stepping is the collective operations that a worker's processes perform by steps.
type stepping struct {
	code     *code
	book     *ledger
	mail     *mailbox
	lo       uint32
	states   []collState // of each process
	messages pairs
	costs    network.Costs
}

// collState is the progress of a process in a collective operation by steps.
type collState struct {
	network.Progress
	enter   int64         // when the step began, so that its receive was posted
	free    int64         // when the send of the step is complete
	busy    int64         // until when the network interface is busy then
	cost    *network.Cost // of the send of the step
	got     uint64        // bytes of the message of the step
	ahead   uint32        // messages sent that are not received yet
	inside  bool
	begun   bool // the step
	posted  bool // the send of the step is posted
	taken   bool // the message of the step is received
	waits   bool // for the answer of a rendezvous
	stopped bool // for that alone
	full    bool // waits until ahead is less
}

// owns returns whether a process is one of the worker's.
func (s *stepping) owns(process uint32) bool { return process-s.lo < uint32(len(s.states)) }

// postColl enters a collective operation. It performs all of it if it goes by steps.
func (w *worker) postColl(p *proc, k *kind, o *op) bool {
	x := &w.code.colls[o.size]
	i := p.collBase + k.find(o.port)
	if !x.steps {
		if p.state = crowded; w.coll.enter(w.lo+w.me, i, o.size, p.cpu) {
			p.state = ready
		}
		return p.state == ready
	}
	s := &w.steps.states[w.me]
	if !s.inside {
		if !w.coll.next(i, x) {
			return true
		}
		s.inside, s.Progress = true, network.Progress{}
	}
	for plan, m := w.code.plan(x, w.lo+w.me); s.Next < plan.Steps; s.Next++ {
		if !w.steps.step(p, w.my, s, plan.At(&s.Progress), pairKey{x.comm, w.lo + w.me, 0}, m) {
			return false
		}
	}
	s.inside = false
	return true
}

// step performs one step: it posts a send and a receive together, and waits for both. own has the communicator and this process.
func (s *stepping) step(p *proc, my *ProcessTimes, c *collState, do network.Step, own pairKey, m *program.Comm) bool {
	if !c.begun {
		c.begun, c.enter, c.free, c.busy = true, p.cpu, 0, 0
	}
	if do.To != network.Nobody && !c.posted {
		if c.ahead >= 1<<s.book.limLog {
			p.state, c.full = crowded, true
			return false
		}
		my.Messages++
		s.send(p, c, pairKey{own.comm, own.src, m.Process(uint32(do.To))}, do.Send)
	}
	if do.From != network.Nobody && !c.taken {
		key := pairKey{own.comm, m.Process(uint32(do.From)), own.src}
		x, ok := s.messages.get(key)
		if !ok {
			p.state = blocked
			return false
		}
		s.receive(p, c, key, x)
		c.taken = true
	}
	if c.waits {
		p.state, c.stopped = blocked, true
		return false
	}
	p.state = ready
	p.cpu, p.tx = max(p.cpu, c.free), max(p.tx, c.busy)
	if c.taken {
		c.Progress.Received(c.got)
	}
	c.begun, c.posted, c.taken = false, false, false
	if do.Reduce > 0 {
		t, err := s.code.network.Reduction(do.Reduce)
		if err != nil {
			s.book.fail(err)
			return false
		}
		p.cpu += t
		s.book.clock |= p.cpu
	}
	return true
}

// send sends a message of a step. Above the eager limit it is a request, and the step waits for its answer.
func (s *stepping) send(p *proc, c *collState, key pairKey, bytes uint64) {
	x := s.cost(bytes, key)
	begin := max(p.cpu, p.tx)
	m := pairMessage{arrival: begin + x.Send + s.code.network.Latency(key.src, key.dst), bytes: bytes}
	p.cpu += x.Send
	if c.cost, c.waits = x, !x.Eager; c.waits {
		p.tx = begin + x.Busy - x.Wire
		m.data = max(p.tb, p.tx)
		p.tb = m.data + x.Busy
	} else {
		p.tx, c.free = begin+x.Busy, begin+x.Send
	}
	s.book.clock |= p.tx | p.tb | m.arrival
	s.book.events += 2
	c.posted = true
	c.ahead++
	if !s.owns(key.dst) {
		s.mail.step(key, m)
		return
	}
	s.put(key, m)
}

// put delivers a message to a process of this worker.
func (s *stepping) put(key pairKey, m pairMessage) {
	if s.messages.put(key, m) {
		s.book.ready = append(s.book.ready, key.dst)
	}
}

func (s *stepping) receive(p *proc, c *collState, key pairKey, m pairMessage) {
	x, start := s.cost(m.bytes, key), int64(noStart)
	if !x.Eager {
		way := s.code.network.Handshake(s.code.network.Latency(key.src, key.dst))
		start = max(max(c.enter, m.arrival)+way, m.data)
		m.arrival = start + way
	}
	p.cpu, p.rx = x.Receive(p.cpu, p.rx, m.arrival)
	s.book.clock |= p.rx | p.cpu | m.arrival
	s.book.events++
	c.got = m.bytes
	if !s.owns(key.src) {
		s.mail.stepCredit(key.src, start)
		return
	}
	s.received(key.src, start)
}

// noStart is in place of the start of the data of a message that was sent eagerly.
const noStart = -1

// received counts that a message of a process was received. Start is when the data of a rendezvous leave, for which the process waits.
func (s *stepping) received(process uint32, start int64) {
	c := &s.states[process-s.lo]
	c.ahead--
	if start != noStart {
		c.waits, c.free, c.busy = false, start+c.cost.Wire, start+c.cost.Busy
		if s.code.network.NoRendezvousLatency {
			c.free = start
		}
		s.book.clock |= c.free | c.busy
		if c.stopped {
			c.stopped = false
			s.book.ready = append(s.book.ready, process)
		}
	}
	if c.full {
		c.full = false
		s.book.ready = append(s.book.ready, process)
	}
}

// cost returns the cost of a message between two processes.
func (s *stepping) cost(bytes uint64, key pairKey) *network.Cost {
	first, err := s.costs.At(bytes)
	if err != nil {
		s.book.fail(err)
		return &network.Cost{}
	}
	return &s.costs.List[first+uint32(s.code.network.Class(key.src, key.dst))]
}

// pairs has the messages of collective operations in progress, by communicator, source and destination, in the order sent. Memory: 60 to
// 180 bytes for each message.
type pairs struct {
	first map[pairKey]pairEntry
	more  map[pairKey][]pairMessage // after the first message
}

type pairKey struct{ comm, src, dst uint32 }

type pairMessage struct {
	arrival int64 // of the first byte, or of the request of a rendezvous
	data    int64 // of a rendezvous: from when the network interface is free
	bytes   uint64
}

// pairEntry is the oldest message of a pair, or marks that the destination waits for one.
type pairEntry struct {
	pairMessage
	awaited, more bool
}

// put adds a message and reports whether its destination waits for it.
func (t *pairs) put(k pairKey, m pairMessage) bool {
	e, ok := t.first[k]
	if !ok || e.awaited {
		t.first[k] = pairEntry{pairMessage: m}
		return e.awaited
	}
	if t.more[k] = append(t.more[k], m); !e.more {
		e.more = true
		t.first[k] = e
	}
	return false
}

// get removes the oldest message of a pair. If there is none, it marks that the destination waits.
func (t *pairs) get(k pairKey) (pairMessage, bool) {
	e, ok := t.first[k]
	switch {
	case !ok || e.awaited:
		t.first[k] = pairEntry{awaited: true}
		return pairMessage{}, false
	case !e.more:
		delete(t.first, k)
		return e.pairMessage, true
	}
	rest := t.more[k]
	t.first[k] = pairEntry{pairMessage: rest[0], more: len(rest) > 1}
	if t.more[k] = rest[1:]; len(rest) == 1 {
		delete(t.more, k)
	}
	return e.pairMessage, true
}
