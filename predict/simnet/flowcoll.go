package simnet

// collOp is a PostColl action.
type collOp struct {
	comm       uint32
	kind       CollKind
	alg        algorithm
	root       uint32 // rank
	bytes, got uint64
	steps      bool  // by steps, else by the closed form
	time       int64 // by the closed form; Never where it does not fit
	over       int64 // of a process that waits for nobody
}

// collState is how far a process is in the collective operation that it performs by steps.
type collState struct {
	collProgress
	free   int64  // when the send of the step is complete
	ahead  uint32 // messages sent that are not received
	limLog uint8  // ahead is at most 1 << limLog
	inside bool
	posted bool // the send of the step
	full   bool // waits until ahead is less
	listed bool // in worker.crowdedColl
}

// makeRoomColl is makeRoom for collective operations.
func (w *worker) makeRoomColl() bool {
	some := false
	for _, i := range w.crowdedColl {
		s := &w.inColl[i]
		if s.listed = false; s.full {
			some, s.full = true, false
			s.limLog++
			w.ready = append(w.ready, w.lo+i)
		}
	}
	for _, comm := range w.crowdedComms {
		g := &w.gatherings[comm]
		if g.listed = false; len(g.full) > 0 {
			some = true
			g.limLog++
			w.ready = append(w.ready, g.full...)
			g.full = g.full[:0]
		}
	}
	w.crowdedColl, w.crowdedComms = w.crowdedColl[:0], w.crowdedComms[:0]
	return some
}

// compileColl prepares a collective operation.
func (c *code) compileColl(a *Action) collOp {
	m := &c.program.Comms[a.Comm]
	x := collOp{comm: a.Comm, kind: a.Coll, root: uint32(a.Peer), bytes: a.Bytes, got: a.Recv, alg: c.picks.pick(a, m.Size)}
	link := c.network.closedLink(m)
	x.time = closedForm(x.alg, m.Size, max(a.Bytes, a.Recv), &link)
	cost, ok := link.link.cost(a.Bytes)
	x.over = cost.send
	if !ok {
		x.over, x.time = 0, Never
	}
	return x
}

// collLimits returns how many collective operations on each communicator all of its members enter: those beyond have no
// partners.
func (c *code) collLimits() ([]uint64, error) {
	limits := make([]uint64, len(c.program.Comms))
	members := make([]uint32, len(c.program.Comms))
	for q, root := range c.program.Roots {
		k := &c.kinds[c.kindOf[root]]
		for i, port := range k.colls {
			comm := c.ports[port].comm
			if _, ok := c.rank(comm, uint32(q)); !ok {
				return nil, programError("process %d communicates in communicator %d, of which it is no member", q, comm)
			}
			if members[comm] == 0 || k.enters[i] < limits[comm] {
				limits[comm] = k.enters[i]
			}
			members[comm]++
		}
	}
	for i := range limits {
		if members[i] < c.program.Comms[i].Size {
			limits[i] = 0
		}
	}
	return limits, nil
}

// postColl enters a collective operation, and goes to its end where it does so by steps.
func (w *worker) postColl(p *proc, k *kind, o *op) bool {
	x := &w.code.colls[o.size]
	i := p.collBase + k.find(o.port)
	if !x.steps {
		return w.enterModel(p, o, i)
	}
	s := &w.inColl[w.me]
	if !s.inside {
		if w.entered[i] >= w.code.limits[x.comm] {
			return true
		}
		w.entered[i]++
		s.inside, s.collProgress = true, collProgress{}
	}
	m := &w.code.program.Comms[x.comm]
	rank, _ := w.code.rank(x.comm, w.lo+w.me)
	for plan := newSchedule(x.alg, m.Size, rank, x.root, x.bytes, x.got); s.Next < plan.steps; s.Next++ {
		if !w.step(p, s, plan.at(&s.collProgress), x.comm, m) {
			return false
		}
	}
	s.inside = false
	return true
}

// step performs one step: a send and a receive posted together, and then waited for.
func (w *worker) step(p *proc, s *collState, do step, comm uint32, m *Comm) bool {
	own := w.lo + w.me
	if do.To != nobody && !s.posted {
		if s.ahead >= 1<<s.limLog {
			p.state = crowded
			if s.full = true; !s.listed {
				s.listed = true
				w.crowdedColl = append(w.crowdedColl, w.me)
			}
			return false
		}
		w.stepSend(p, s, pairKey{comm, own, m.Process(uint32(do.To))}, do.Send)
	}
	if do.From != nobody {
		key := pairKey{comm, m.Process(uint32(do.From)), own}
		x, ok := w.messages.get(key)
		if !ok {
			p.state = blocked
			return false
		}
		w.stepReceive(p, s, key, x)
	}
	p.state = ready
	if s.posted {
		p.cpu = max(p.cpu, s.free)
		s.posted = false
	}
	if do.Reduce > 0 {
		t := w.code.network.Gamma.Of(do.Reduce)
		if t > largest {
			w.fail(programError("the reduction of %d bytes takes longer than 13 days", do.Reduce))
			return false
		}
		p.cpu += t
		w.clock |= p.cpu
	}
	return true
}

// stepSend sends a message of a step, eagerly at any size: the partner is there, or will be.
func (w *worker) stepSend(p *proc, s *collState, key pairKey, bytes uint64) {
	x := w.stepCost(bytes, key)
	begin := max(p.cpu, p.tx)
	s.free = begin + x.send
	arrival := s.free + w.code.network.Latency(key.src, key.dst)
	p.cpu += x.send
	p.tx = begin + x.busy
	w.clock |= p.tx | arrival
	w.events += 2
	w.my.Messages++
	s.posted = true
	s.ahead++
	if !w.owns(key.dst) {
		w.pairFar(key, pairMessage{arrival, bytes})
		return
	}
	w.putPair(key, pairMessage{arrival, bytes})
}

// putPair hands a message to a process of this worker.
func (w *worker) putPair(key pairKey, m pairMessage) {
	if w.messages.put(key, m) {
		w.ready = append(w.ready, key.dst)
	}
}

func (w *worker) stepReceive(p *proc, s *collState, key pairKey, m pairMessage) {
	x := w.stepCost(m.bytes, key)
	a := max(m.arrival, p.rx)
	p.rx = a + x.busy
	if w.code.network.Policy == DMA {
		p.cpu = max(p.cpu, a+x.wire) + x.recv
	} else {
		p.cpu = max(p.cpu, a) + x.recv
		w.clock |= p.cpu
		p.cpu += x.wire
	}
	w.clock |= p.rx | p.cpu
	w.events++
	s.received(m.bytes)
	if !w.owns(key.src) {
		w.pairCredit(key.src)
		return
	}
	w.received(key.src - w.lo)
}

// received notes that a message of a process's collective operations was received.
func (w *worker) received(i uint32) {
	s := &w.inColl[i]
	s.ahead--
	if s.full {
		s.full = false
		w.ready = append(w.ready, w.lo+i)
	}
}

// stepCost returns the cost of a message between two processes. The sizes of a schedule are few, so the last ones are kept.
func (w *worker) stepCost(bytes uint64, key pairKey) *cost {
	class := w.code.network.Class(key.src, key.dst)
	e := &w.stepCosts[(bytes*31+uint64(class)+bytes>>8)%uint64(len(w.stepCosts))]
	if e.bytes != bytes || e.class != class || !e.known {
		x, ok := w.code.network.Links[class].cost(bytes)
		if !ok {
			w.fail(programError("a message of %d bytes takes longer than 13 days", bytes))
		}
		*e = stepCost{bytes: bytes, class: class, known: true, cost: x}
	}
	return &e.cost
}

type stepCost struct {
	bytes uint64
	class LinkClass
	known bool
	cost  cost
}
