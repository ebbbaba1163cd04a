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
	free   int64  // when the send of the step is complete
	ahead  uint32 // messages sent that are not received yet
	inside bool
	posted bool // the send of the step is posted
	full   bool // waits until ahead is less
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
	if do.To != network.Nobody && !c.posted {
		if c.ahead >= 1<<s.book.limLog {
			p.state, c.full = crowded, true
			return false
		}
		my.Messages++
		s.send(p, c, pairKey{own.comm, own.src, m.Process(uint32(do.To))}, do.Send)
	}
	if do.From != network.Nobody {
		key := pairKey{own.comm, m.Process(uint32(do.From)), own.src}
		x, ok := s.messages.get(key)
		if !ok {
			p.state = blocked
			return false
		}
		s.receive(p, c, key, x)
	}
	p.state = ready
	if c.posted {
		p.cpu = max(p.cpu, c.free)
		c.posted = false
	}
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

// send sends a message of a step, eagerly at any size, because the partner enters the operation too.
func (s *stepping) send(p *proc, c *collState, key pairKey, bytes uint64) {
	x := s.cost(bytes, key)
	begin := max(p.cpu, p.tx)
	c.free = begin + x.Send
	arrival := c.free + s.code.network.Latency(key.src, key.dst)
	p.cpu += x.Send
	p.tx = begin + x.Busy
	s.book.clock |= p.tx | arrival
	s.book.events += 2
	c.posted = true
	c.ahead++
	if !s.owns(key.dst) {
		s.mail.step(key, pairMessage{arrival, bytes})
		return
	}
	s.put(key, pairMessage{arrival, bytes})
}

// put delivers a message to a process of this worker.
func (s *stepping) put(key pairKey, m pairMessage) {
	if s.messages.put(key, m) {
		s.book.ready = append(s.book.ready, key.dst)
	}
}

func (s *stepping) receive(p *proc, c *collState, key pairKey, m pairMessage) {
	p.cpu, p.rx = s.cost(m.bytes, key).Receive(p.cpu, p.rx, m.arrival)
	s.book.clock |= p.rx | p.cpu
	s.book.events++
	c.Progress.Received(m.bytes)
	if !s.owns(key.src) {
		s.mail.stepCredit(key.src)
		return
	}
	s.received(key.src)
}

// received counts that a message of a process was received.
func (s *stepping) received(process uint32) {
	c := &s.states[process-s.lo]
	c.ahead--
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
	arrival int64
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
