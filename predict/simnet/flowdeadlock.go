package simnet

import (
	"encoding/binary"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
)

// standstill is what one process waits for when the run stops.
type standstill struct {
	Blocked
	bytes   uint64     // of a send by rendezvous of standard mode; 0 for all else
	meeting meetingKey // that For has not entered, where absent is set
	absent  bool       // For is not known yet
}

// blockedOn returns what a process that waits waits for.
func (w *worker) blockedOn(i uint32) standstill {
	p := &w.procs[i]
	k := &w.code.kinds[p.kind]
	action := w.code.calls[p.call].first + p.at
	o := &w.code.ops[action]
	s := standstill{Blocked: Blocked{Process: w.lo + i, For: w.lo + i, Call: p.calls - 1, Action: action, Node: w.nodeOf(p)}}
	switch o.kind {
	case WaitRecv, ProbeRecv:
		if id := w.recvEnd[p.recvBase+k.find(o.port)]; id != noChannel {
			s.For = w.chans[id].src
		}
	case PostColl:
		w.stepPartner(&s, i, &w.code.colls[o.size])
	case WaitColl:
		w.meetingOf(&s, &w.pending[p.collBase+k.find(o.port)][o.off])
	case WaitSend:
		w.missingReceiver(&s, p, k, o)
	}
	return s
}

// nodeOf returns the node of the call that a process is in.
func (w *worker) nodeOf(p *proc) NodeID {
	f := &w.frames[p.stack+p.top-1]
	if int64(f.block) >= int64(len(w.code.program.Nodes)) {
		return w.code.kinds[p.kind].root
	}
	return w.code.program.Children[w.code.blocks[f.block].first+f.child-1]
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
		s.bytes = w.code.sizes[uint32(mode>>costShift)/uint32(NumLinkClasses)]
	}
}

// stepPartner finds the process whose message a collective operation waits for.
func (w *worker) stepPartner(s *standstill, i uint32, x *collOp) {
	m := &w.code.program.Comms[x.comm]
	rank, _ := w.code.rank(x.comm, w.lo+i)
	plan, at := newSchedule(x.alg, m.Size, rank, x.root, x.bytes, x.got), &w.inColl[i]
	if at.Next < plan.steps {
		if from := plan.at(&at.collProgress).From; from != nobody {
			s.For = m.Process(uint32(from))
		}
	}
}

// meetingOf finds the collective operation that a process waits for.
func (w *worker) meetingOf(s *standstill, q *pending) {
	x := &w.code.colls[q.coll]
	if x.kind.spreads() {
		s.For = w.code.program.Comms[x.comm].Process(x.root)
		return
	}
	s.meeting, s.absent = meetingKey{x.comm, q.number}, true
}

// absent returns the lowest process of all ranks that has not entered a collective operation, MaxInt64 if there is none.
// Collective.
func (r *run) absent(key meetingKey) (int64, error) {
	least := []int64{math.MaxInt64}
	for _, w := range r.workers {
		for i := range w.procs {
			p := &w.procs[i]
			for j, port := range w.code.kinds[p.kind].colls {
				if w.code.ports[port].comm != key.comm || int32(uint32(w.entered[p.collBase+uint32(j)])-key.number) > 0 {
					continue
				}
				least[0] = min(least[0], int64(w.lo)+int64(i))
			}
		}
	}
	if r.comm.Size() == 1 {
		return least[0], nil
	}
	err := r.comm.AllreduceInt64(least, mpi.Min)
	return least[0], err
}

// standstillWords is the length of a standstill as numbers.
const standstillWords = 7

func (s *standstill) words() [standstillWords]uint64 {
	absent := uint64(0)
	if s.absent {
		absent = 1
	}
	return [...]uint64{
		uint64(s.Process)<<32 | uint64(s.For), s.Call, uint64(s.Node)<<32 | uint64(s.Action), s.bytes,
		uint64(s.meeting.comm), uint64(s.meeting.number), absent,
	}
}

func standstillOf(w [standstillWords]uint64) standstill {
	return standstill{
		Blocked: Blocked{
			Process: uint32(w[0] >> 32), For: uint32(w[0]), Call: w[1], Node: NodeID(w[2] >> 32), Action: uint32(w[2]),
		},
		bytes: w[3], meeting: meetingKey{uint32(w[4]), uint32(w[5])}, absent: w[6] != 0,
	}
}

// standstills returns what all processes that wait wait for, by process. Collective.
func (r *run) standstills() ([]standstill, error) {
	var list []standstill
	for _, w := range r.workers {
		for i := range w.procs {
			if w.procs[i].state != finished {
				list = append(list, w.blockedOn(uint32(i)))
			}
		}
	}
	if r.comm.Size() == 1 {
		return list, nil
	}
	var mine []byte
	for i := range list {
		for _, x := range list[i].words() {
			mine = binary.LittleEndian.AppendUint64(mine, x)
		}
	}
	all, err := r.comm.Allgather(mine)
	list = nil
	for _, b := range all {
		for ; len(b) >= 8*standstillWords; b = b[8*standstillWords:] {
			var w [standstillWords]uint64
			for i := range w {
				w[i] = binary.LittleEndian.Uint64(b[8*i:])
			}
			list = append(list, standstillOf(w))
		}
	}
	return list, err
}

// deadlock follows who waits for whom, from the lowest process that waits, and describes the cycle; where the way ends at a
// process that does not wait, the way. Collective.
func (r *run) deadlock() error {
	list, err := r.standstills()
	if err != nil {
		return err
	}
	at := make(map[uint32]int, len(list))
	for i, s := range list {
		at[s.Process] = i
	}
	var way []standstill
	seen := map[uint32]int{}
	for i, ok := 0, len(list) > 0; ok; {
		s := list[i]
		if from, again := seen[s.Process]; again {
			way = way[from:]
			break
		}
		if s.absent {
			who, err := r.absent(s.meeting)
			if err != nil {
				return err
			}
			if who != math.MaxInt64 {
				s.For = uint32(who)
			}
		}
		seen[s.Process] = len(way)
		way = append(way, s)
		i, ok = at[s.For]
	}
	return describe(way)
}

// describe makes the report of a cycle. It is broken when the smallest of its messages goes eagerly.
func describe(way []standstill) *Deadlock {
	d := &Deadlock{}
	for _, s := range way {
		d.Cycle = append(d.Cycle, s.Blocked)
		if s.bytes > 0 && (d.Eager == 0 || s.bytes < d.Eager) {
			d.Eager = s.bytes
		}
	}
	return d
}
