package simnet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// standstill is what one process waits for when the run stops. It goes to other ranks as it is.
type standstill struct {
	Blocked
	Bytes   uint64     // of a send by rendezvous of standard mode; 0 for all else
	Meeting meetingKey // that For has not entered, where Absent is set
	Absent  bool       // For is not known yet
}

// standstillOf begins the description of a process that waits, in an action of its call.
func (c *cursors) standstillOf(process uint32, p *place, action uint32) standstill {
	return standstill{Blocked: Blocked{Process: process, For: process, Call: p.calls - 1, Action: action, Node: c.node(p)}}
}

// awaited is the collective operation by its closed form that a process waits for: of several the first by communicator and number.
type awaited struct {
	meetingKey
	coll uint32
}

// waiting returns what the processes that wait in collective operations wait for.
func (a *assembly) waiting() map[uint32]awaited {
	list := map[uint32]awaited{}
	for key, m := range a.meetings {
		for _, w := range m.waiters {
			if old, ok := list[w.process]; !ok || key.Comm < old.Comm || key.Comm == old.Comm && key.Number < old.Number {
				list[w.process] = awaited{key, w.coll}
			}
		}
	}
	return list
}

// keeps notes who keeps a process in a collective operation: the root, or somebody who is not there.
func (s *standstill) keeps(c *code, w awaited) {
	if x := &c.colls[w.coll]; x.kind.Spreads() {
		s.For = c.program.Comms[x.comm].Process(x.root)
		return
	}
	s.Meeting, s.Absent = w.meetingKey, true
}

// misses tells whether a process has not entered a collective operation.
func (a *assembly) misses(p *place, key meetingKey) bool {
	for j, port := range a.code.kinds[p.kind].colls {
		if a.code.ports[port].comm == key.Comm && int32(uint32(a.entered[p.collBase+uint32(j)])-key.Number) <= 0 {
			return true
		}
	}
	return false
}

// deadlock describes processes that wait for ever, listed by process, from the lowest on: it goes from a process to the one it waits for,
// and reports the cycle, or the way where it ends at a process that does not wait. A cycle is broken when the smallest of its messages
// goes eagerly. absent finds the lowest process that has not entered a collective operation, MaxInt64 if there is none.
func deadlock(list []standstill, absent func(key meetingKey) (int64, error)) error {
	at := make(map[uint32]int, len(list))
	for i := range list {
		at[list[i].Process] = i
	}
	var way []standstill
	seen := map[uint32]int{}
	for i, waits := 0, true; waits; {
		s := list[i]
		if from, again := seen[s.Process]; again {
			way = way[from:]
			break
		}
		if s.Absent {
			who, err := absent(s.Meeting)
			if err != nil {
				return err
			}
			if who != math.MaxInt64 {
				s.For = uint32(who)
			}
		}
		seen[s.Process] = len(way)
		way = append(way, s)
		i, waits = at[s.For]
	}
	d := &Deadlock{}
	for _, s := range way {
		d.Cycle = append(d.Cycle, s.Blocked)
		if s.Bytes > 0 && (d.Eager == 0 || s.Bytes < d.Eager) {
			d.Eager = s.Bytes
		}
	}
	return d
}

// blockedOn returns what a process that waits waits for.
func (w *worker) blockedOn(i uint32, waiting map[uint32]awaited) standstill {
	p := &w.procs[i]
	k := &w.code.kinds[p.kind]
	action := w.code.calls[p.call].first + p.at
	o := &w.code.ops[action]
	s := w.standstillOf(w.lo+i, &p.place, action)
	switch o.kind {
	case program.WaitRecv, program.ProbeRecv:
		if id := w.recvEnd[p.recvBase+k.find(o.port)]; id != noChannel {
			s.For = w.chans[id].src
		}
	case program.PostColl:
		w.stepPartner(&s, i, &w.code.colls[o.size])
	case program.WaitColl:
		s.keeps(w.code, waiting[w.lo+i])
	case program.WaitSend:
		w.missingReceiver(&s, p, k, o)
	}
	return s
}

// missingReceiver finds who has not posted the receive of a send, and the bytes that would have to go eagerly.
func (w *worker) missingReceiver(s *standstill, p *proc, k *kind, o *op) {
	id := p.sendBase + k.find(o.port)
	if c := &w.chans[id]; c.flags&alias != 0 {
		id = c.ring
	}
	c := &w.chans[id]
	s.For = c.dst
	n := c.doneS + o.off
	if list := w.holes[holeKey{id, sendHoles}]; len(list) > 0 {
		n = openAt(c.doneS, list, o.age)
	}
	if c.flags&wide == 0 || int32(n-c.sent) >= 0 {
		return
	}
	if mode := w.wide(c, n)[slotCost]; mode&bySync == 0 {
		s.Bytes = w.code.costs.Size(uint32(mode >> costShift))
	}
}

// stepPartner finds the process whose message a collective operation waits for.
func (w *worker) stepPartner(s *standstill, i uint32, x *collOp) {
	at := &w.steps.states[i]
	plan, m := w.code.plan(x, w.lo+i)
	if at.Next < plan.Steps {
		if from := plan.At(&at.Progress).From; from != network.Nobody {
			s.For = m.Process(uint32(from))
		}
	}
}

// absent returns the lowest process of all ranks that has not entered a collective operation, MaxInt64 if there is none.
// Collective.
func (r *run) absent(key meetingKey) (int64, error) {
	least := []int64{math.MaxInt64}
	for _, w := range r.workers {
		for i := range w.procs {
			if w.coll.misses(&w.procs[i].place, key) {
				least[0] = min(least[0], int64(w.lo)+int64(i))
				break
			}
		}
	}
	err := r.comm.AllreduceInt64(least, mpi.Min)
	return least[0], err
}

// standstills returns what all processes that wait wait for, by process. Collective.
func (r *run) standstills() ([]standstill, error) {
	var list []standstill
	for _, w := range r.workers {
		waiting := w.coll.waiting()
		for i := range w.procs {
			if w.procs[i].state != finished {
				list = append(list, w.blockedOn(uint32(i), waiting))
			}
		}
	}
	mine, err := binary.Append(nil, binary.LittleEndian, list)
	if err != nil {
		return nil, err
	}
	all, err := r.comm.Allgather(mine)
	list = list[:0]
	for _, b := range all {
		part := make([]standstill, len(b)/binary.Size(standstill{}))
		if _, e := binary.Decode(b, binary.LittleEndian, part); e != nil && err == nil {
			err = errRecord
		}
		list = append(list, part...)
	}
	return list, err
}

// deadlock describes a run that stands still for ever. Collective.
func (r *run) deadlock() error {
	list, err := r.standstills()
	if err != nil {
		return err
	}
	return deadlock(list, r.absent)
}

// deadlock describes the standstill of a run.
func (r *eventRun) deadlock() error {
	waiting := r.coll.waiting()
	var list []standstill
	for i := range r.procs {
		if p := &r.procs[i]; p.stage != atEnd {
			list = append(list, r.blockedOn(p, uint32(i), waiting))
		}
	}
	return deadlock(list, func(key meetingKey) (int64, error) {
		return int64(slices.IndexFunc(r.procs, func(p eventProc) bool { return r.coll.misses(&p.place, key) })), nil
	})
}

// blockedOn returns what a process waits for: the first completion of its call that is not there.
func (r *eventRun) blockedOn(p *eventProc, id uint32, waiting map[uint32]awaited) standstill {
	c := &r.code.calls[p.call]
	s := r.standstillOf(id, &p.place, c.first+p.at)
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
		case program.WaitRecv, program.ProbeRecv:
			what := awaitsRecv
			if o.kind == program.ProbeRecv {
				what = awaitsProbe
			}
			if ch := r.recvChain(p, o); r.awaits(ch, what) != nil {
				s.For = r.origins[ch].src
				return s
			}
		case program.WaitSend:
			if x := r.awaits(r.sendChain(p, o), awaitsSend); x != nil {
				s.For = x.dst
				if x.flags&(isRendezvous|isSync) == isRendezvous {
					s.Bytes = r.costs.Size(x.cost)
				}
				return s
			}
		case program.WaitColl:
			if w, ok := waiting[id]; ok {
				s.keeps(r.code, w)
				return s
			}
		}
	}
	return s
}
