package simnet

import (
	"encoding/binary"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
)

// blockedOn returns what a process that waits waits for.
func (w *worker) blockedOn(i uint32, waiting map[uint32]awaited) standstill {
	p := &w.procs[i]
	k := &w.code.kinds[p.kind]
	action := w.code.calls[p.call].first + p.at
	o := &w.code.ops[action]
	s := w.standstillOf(w.lo+i, &p.place, action)
	switch o.kind {
	case WaitRecv, ProbeRecv:
		if id := w.recvEnd[p.recvBase+k.find(o.port)]; id != noChannel {
			s.For = w.chans[id].src
		}
	case PostColl:
		w.stepPartner(&s, i, &w.code.colls[o.size])
	case WaitColl:
		s.keeps(w.code, waiting[w.lo+i])
	case WaitSend:
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
		s.Bytes = w.code.costs.size(uint32(mode >> costShift))
	}
}

// stepPartner finds the process whose message a collective operation waits for.
func (w *worker) stepPartner(s *standstill, i uint32, x *collOp) {
	at := &w.steps.states[i]
	plan, m := w.code.plan(x, w.lo+i)
	if at.Next < plan.steps {
		if from := plan.at(&at.collProgress).From; from != nobody {
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
			err = errBatch
		}
		list = append(list, part...)
	}
	return list, err
}

// deadlock describes a run that stands still for ever, from the lowest process that waits on. Collective.
func (r *run) deadlock() error {
	list, err := r.standstills()
	if err != nil {
		return err
	}
	at := make(map[uint32]int, len(list))
	for i, s := range list {
		at[s.Process] = i
	}
	return follow(list[0].Process, func(process uint32) (standstill, bool, error) {
		i, ok := at[process]
		if !ok {
			return standstill{}, false, nil
		}
		if !list[i].Absent {
			return list[i], true, nil
		}
		who, err := r.absent(list[i].Meeting)
		if who != math.MaxInt64 {
			list[i].For = uint32(who)
		}
		return list[i], true, err
	})
}
