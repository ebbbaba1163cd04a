package simnet

import (
	"bytes"
	"encoding/gob"
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// idle is a Calc without computation.
type idle struct{}

func (idle) Fill(_ uint32, _ uint64, dst []int64) error {
	clear(dst)
	return nil
}

// deadlock returns the error of a run that can never continue. Where a program stops depends on the program and the eager limits, not on
// times. So rank 0 runs it without computation in the event engine, which stops at the same point, and describes that. Collective.
func (r *run) deadlock() error {
	var text bytes.Buffer
	var err error
	if r.comm.Rank() == 0 {
		_, err = Events(r.ctx, r.code.program, idle{}, r.code.network, Options{})
		if d, ok := errors.AsType[*Deadlock](err); ok {
			err = gob.NewEncoder(&text).Encode(d)
		} else if err == nil {
			err = errors.New("simnet: the dataflow engine found a deadlock, the event engine did not")
		}
	}
	b, err := mpi.FromRank(r.agreeing(), 0, text.Bytes(), err)
	if err != nil {
		return err
	}
	d := &Deadlock{}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(d); err != nil {
		return err
	}
	return d
}

// deadlock describes why a run cannot continue. It starts at the lowest process that waits and follows whom each process waits for. It
// returns the cycle, or the path if that ends at a process that does not wait. A cycle disappears if the smallest of its rendezvous
// messages becomes eager.
func (r *eventRun) deadlock() error {
	var way []Blocked
	var sizes []uint64 // bytes of standard-mode sends by rendezvous, else 0
	waiting, seen := r.coll.waiting(), map[uint32]int{}
	id := uint32(slices.IndexFunc(r.procs, func(p eventProc) bool { return p.stage != atEnd }))
	for r.procs[id].stage != atEnd {
		if from, again := seen[id]; again {
			way, sizes = way[from:], sizes[from:]
			break
		}
		x, size := r.blockedOn(&r.procs[id], id, waiting)
		seen[id] = len(way)
		way, sizes = append(way, x), append(sizes, size)
		id = x.For
	}
	d := &Deadlock{Cycle: way}
	for _, n := range sizes {
		if n > 0 && (d.Eager == 0 || n < d.Eager) {
			d.Eager = n
		}
	}
	return d
}

// awaited is the collective operation (closed form) that a process waits for: of several the first by communicator and number.
type awaited struct {
	meetingKey
	coll uint32
}

// waiting returns the collective operations that processes wait for.
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

// misses reports whether a process has not entered a collective operation.
func (a *assembly) misses(p *place, key meetingKey) bool {
	for j, port := range a.code.kinds[p.kind].colls {
		if a.code.ports[port].comm == key.Comm && int32(uint32(a.entered[p.collBase+uint32(j)])-key.Number) <= 0 {
			return true
		}
	}
	return false
}

// keeps returns the process that delays another one in a collective operation: the root, or the lowest one that has not entered.
func (r *eventRun) keeps(w awaited, process uint32) uint32 {
	if x := &r.code.colls[w.coll]; x.kind.Spreads() {
		return r.code.program.Comms[x.comm].Process(x.root)
	}
	if i := slices.IndexFunc(r.procs, func(p eventProc) bool { return r.coll.misses(&p.place, w.meetingKey) }); i >= 0 {
		return uint32(i)
	}
	return process
}

// blockedOn describes what a process waits for: the first completion of its call that is missing. bytes is the size that would have to be
// eager.
func (r *eventRun) blockedOn(p *eventProc, id uint32, waiting map[uint32]awaited) (s Blocked, bytes uint64) {
	c := &r.code.calls[p.call]
	s = Blocked{Process: id, For: id, Call: p.calls - 1, Node: r.node(&p.place)}
	if p.stage == atStep {
		if x := &r.messages[r.steps[id].recv]; x.flags&awaitsRecv != 0 {
			s.For = r.origins[x.chain].src
		} else if x := &r.messages[r.steps[id].send]; x.flags&awaitsSend != 0 {
			s.For, bytes = x.dst, r.costs.Size(x.cost)
		}
		return s, bytes
	}
	for i := c.first + c.posts; i < c.first+c.n; i++ {
		o := &r.code.ops[i]
		switch o.kind {
		case program.WaitRecv, program.ProbeRecv:
			what := awaitsRecv
			if o.kind == program.ProbeRecv {
				what = awaitsProbe
			}
			if ch := r.recvChain(p, o); r.awaits(ch, what) != nil {
				s.For = r.origins[ch].src
				return s, 0
			}
		case program.WaitSend:
			if x := r.awaits(r.sendChain(p, o), awaitsSend); x != nil {
				s.For = x.dst
				if x.flags&(isRendezvous|isSync) == isRendezvous {
					bytes = r.costs.Size(x.cost)
				}
				return s, bytes
			}
		case program.WaitColl:
			if w, ok := waiting[id]; ok {
				s.For = r.keeps(w, id)
				return s, 0
			}
		}
	}
	return s, 0
}
