package simnet

import "slices"

// deadlock describes the standstill of a run: it follows who waits for whom, from the lowest process that waits.
func (r *eventRun) deadlock() error {
	var way []standstill
	seen := map[uint32]int{}
	id := uint32(0)
	for r.procs[id].stage == atEnd {
		id++
	}
	for r.procs[id].stage != atEnd {
		if from, again := seen[id]; again {
			way = way[from:]
			break
		}
		seen[id] = len(way)
		s := r.blockedOn(&r.procs[id], id)
		way = append(way, s)
		id = s.For
	}
	return describe(way)
}

// blockedOn returns what a process waits for: the first completion of its call that is not there.
func (r *eventRun) blockedOn(p *eventProc, id uint32) standstill {
	c, k := &r.code.calls[p.call], &r.code.kinds[p.kind]
	s := standstill{Blocked: Blocked{Process: id, Call: p.calls - 1, Action: c.first + p.at, Node: r.nodeOf(p), For: id}}
	if p.stage == atStep {
		if m := r.steps[id].recv; m != 0 {
			s.For = r.origins[r.messages[m].chain].src
		}
		return s
	}
	for i := c.first + c.posts; i < c.first+c.n; i++ {
		o := &r.code.ops[i]
		s.Action = i
		switch o.kind {
		case WaitRecv:
			ch := r.recvChains[p.recvBase+k.find(o.port)]
			if r.awaits(ch, awaitsRecv) != nil {
				s.For = r.origins[ch].src
				return s
			}
		case WaitSend:
			ch := r.sendChains[p.sendBase+k.find(o.port)]
			if x := r.awaits(ch, awaitsSend); x != nil {
				s.For = x.dst
				if x.flags&(isRendezvous|isSync) == isRendezvous {
					s.bytes = r.bytesOf(x)
				}
				return s
			}
		case ProbeRecv:
			ch := r.recvChains[p.recvBase+k.find(o.port)]
			if r.awaits(ch, awaitsProbe) != nil {
				s.For = r.origins[ch].src
				return s
			}
		case WaitColl:
			if r.notMet(&s, id) {
				return s
			}
		}
	}
	return s
}

// awaits returns the first message of a channel for which a process waits, nil where there is none.
func (r *eventRun) awaits(ch uint32, what messageFlags) *message {
	for m := r.chains[ch].head; m != 0; m = r.messages[m].next {
		if x := &r.messages[m]; x.flags&what != 0 {
			return x
		}
	}
	return nil
}

// nodeOf returns the node of the call that a process is in.
func (r *eventRun) nodeOf(p *eventProc) NodeID {
	if p.top == 0 {
		return r.code.kinds[p.kind].root
	}
	f := &r.frames[p.stack+p.top-1]
	return r.code.program.Children[r.code.blocks[f.block].first+f.child-1]
}

// notMet finds who keeps a process in a collective operation by its closed form: the root, or the lowest process that is not
// there. Of several operations it is the first by communicator and number.
func (r *eventRun) notMet(s *standstill, id uint32) bool {
	var first *waiter
	var at meetingKey
	for key, m := range r.meetings {
		i := slices.IndexFunc(m.waiters, func(w waiter) bool { return w.process == id })
		if i >= 0 && (first == nil || key.comm < at.comm || key.comm == at.comm && key.number < at.number) {
			first, at = &m.waiters[i], key
		}
	}
	if first == nil {
		return false
	}
	if x := &r.code.colls[first.coll]; x.kind.spreads() {
		s.For = r.code.program.Comms[x.comm].Process(x.root)
		return true
	}
	for q := range r.procs {
		p := &r.procs[q]
		for j, port := range r.code.kinds[p.kind].colls {
			if r.code.ports[port].comm == at.comm && r.entered[p.collBase+uint32(j)] <= uint64(at.number) {
				s.For = uint32(q)
				return true
			}
		}
	}
	return true
}
