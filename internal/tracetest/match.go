package tracetest

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// request is an open non-blocking operation.
type request struct {
	post  uint64
	at    trace.Time
	enter trace.Time // of the call
	send  bool
	chn   Channel
	index int // of a send in its channel
}

type collKey struct{ comm, process uint32 }

// coll is one process's part in a collective operation.
type coll struct {
	post     uint64
	op, root uint64
	started  trace.Time // enter of the call that starts it
	enter    trace.Time // enter and leave of the call that can block
	leave    trace.Time
	sent     uint64 // bytes
	received uint64
}

// communication collects the messages and collectives of a location.
func (a *analysis) communication(p trace.P, process uint32, events []record, calls []call, inside []int) {
	w := &walk{a: a, p: p, process: process, events: events, calls: calls, inside: inside, open: map[uint64]request{}}
	for i := range events {
		w.event(uint64(i), &events[i])
	}
	a.r.Problems[trace.DiagOpenRequest] += uint64(len(w.open))
	if len(w.open) == 0 && a.r.Problems[trace.DiagOpenRequest] == 0 {
		delete(a.r.Problems, trace.DiagOpenRequest)
	}
}

// walk is the state of one location.
type walk struct {
	a       *analysis
	p       trace.P
	process uint32
	events  []record
	calls   []call
	inside  []int
	open    map[uint64]request
	begins  []uint64 // begun blocking collectives
}

// around returns the outermost MPI call around event i, or the event itself.
func (w *walk) around(i uint64) call {
	at := w.events[i].time
	c := call{enter: at, leave: at, event: i}
	for up := w.inside[i]; up >= 0; up = w.calls[up].parent {
		if w.calls[up].class&trace.ClassMPI != 0 {
			c = w.calls[up]
		}
	}
	return c
}

func (w *walk) op(i uint64, bytes uint64) Op {
	c := w.around(i)
	return Op{P: w.p, Event: i, Post: i, At: w.events[i].time, Enter: c.enter, Leave: c.leave, Bytes: bytes, call: c.event}
}

func (w *walk) event(i uint64, e *record) {
	f := e.fields
	switch e.kind {
	case trace.MpiSend:
		w.send(i, f)
	case trace.MpiIsend:
		if c, ok := w.send(i, f); ok {
			w.open[f[4]] = request{post: i, at: e.time, send: true, chn: c, index: len(w.a.sends[c]) - 1}
		} else {
			w.open[f[4]] = request{post: i, at: e.time}
		}
	case trace.MpiRecv:
		op := w.op(i, f[3])
		op.Post, op.At = op.call, op.Enter
		w.recv(f, op)
	case trace.MpiIrecvRequest, trace.NonBlockingCollectiveRequest:
		w.open[f[0]] = request{post: i, at: e.time, enter: w.around(i).enter}
	case trace.MpiIrecv:
		op := w.op(i, f[3])
		if r, ok := w.complete(f[4]); ok {
			op.Post, op.At = r.post, r.at
		}
		w.recv(f, op)
	case trace.MpiIsendComplete:
		w.complete(f[0])
	case trace.MpiRequestCancelled:
		if r, ok := w.complete(f[0]); ok && r.send && r.chn != (Channel{}) {
			w.a.sends[r.chn][r.index].Event = cancelled
		}
	case trace.MpiCollectiveBegin:
		w.begins = append(w.begins, i)
	case trace.MpiCollectiveEnd:
		post, c := i, w.around(i)
		if n := len(w.begins); n > 0 {
			post, w.begins = w.begins[n-1], w.begins[:n-1]
		}
		w.collective(f, coll{post: post, started: c.enter, enter: c.enter, leave: c.leave})
	case trace.NonBlockingCollectiveComplete:
		c := w.around(i)
		x := coll{post: i, started: c.enter, enter: c.enter, leave: c.leave}
		if r, ok := w.complete(f[5]); ok {
			x.post, x.started = r.post, r.enter
		}
		w.collective(f, x)
	}
}

const cancelled = trace.Undefined64

// complete ends an open request.
func (w *walk) complete(id uint64) (request, bool) {
	r, ok := w.open[id]
	if !ok {
		w.a.problem(trace.DiagUnknownRequest)
	}
	delete(w.open, id)
	return r, ok
}

func (w *walk) send(i uint64, f []uint64) (Channel, bool) {
	to := w.a.d.Peer(uint32(f[1]), uint32(f[0]), w.process)
	if to == trace.UnknownProcess {
		w.a.problem(trace.DiagUnknownPeer)
		return Channel{}, false
	}
	c := Channel{uint32(f[1]), w.process, to, uint32(f[2])}
	w.a.sends[c] = append(w.a.sends[c], w.op(i, f[3]))
	return c, true
}

func (w *walk) recv(f []uint64, op Op) {
	from := w.a.d.Peer(uint32(f[1]), uint32(f[0]), w.process)
	if from == trace.UnknownProcess {
		w.a.problem(trace.DiagUnknownPeer)
		return
	}
	c := Channel{uint32(f[1]), from, w.process, uint32(f[2])}
	w.a.recvs[c] = append(w.a.recvs[c], op)
}

func (w *walk) collective(f []uint64, x coll) {
	k := collKey{uint32(f[1]), w.process}
	x.op, x.root, x.sent, x.received = f[0], f[2], f[3], f[4]
	w.a.colls[k] = append(w.a.colls[k], x)
}

// match pairs the k-th send of every channel with its k-th receive.
func (a *analysis) match() {
	messages := traffic{}
	byPost := func(x, y Op) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.P, y.P), cmp.Compare(x.Post, y.Post), cmp.Compare(x.Event, y.Event))
	}
	for c, sends := range a.sends {
		sends = slices.DeleteFunc(sends, func(o Op) bool { return o.Event == cancelled })
		recvs := a.recvs[c]
		slices.SortFunc(sends, byPost)
		slices.SortFunc(recvs, byPost)
		n := min(len(sends), len(recvs))
		a.unmatched(len(sends)-n, len(recvs)-n)
		for k := range n {
			a.r.Matches = append(a.r.Matches, Match{sends[k], recvs[k]})
		}
		for _, o := range sends {
			messages.send(c.From, c.To, 1, o.Bytes)
		}
	}
	for c, recvs := range a.recvs {
		for _, o := range recvs {
			messages.receive(c.From, c.To, 1, o.Bytes)
		}
		if _, ok := a.sends[c]; !ok {
			a.unmatched(0, len(recvs))
		}
	}
	slices.SortFunc(a.r.Matches, func(x, y Match) int {
		return cmp.Or(cmp.Compare(x.Send.P, y.Send.P), cmp.Compare(x.Send.Event, y.Send.Event))
	})
	a.r.Messages = messages.list()
	a.lateSenders()
}

func (a *analysis) unmatched(sends, recvs int) {
	for range sends {
		a.problem(trace.DiagUnmatchedSend)
	}
	for range recvs {
		a.problem(trace.DiagUnmatchedRecv)
	}
}

// lateSenders sums up waits; of the messages that one call completes only the
// one sent last counts as wait.
func (a *analysis) lateSenders() {
	type place struct {
		p    trace.P
		call uint64
	}
	waits := map[place]trace.Time{}
	for _, m := range a.r.Matches {
		sent, ready, end := m.Send.Enter, m.Recv.Enter, m.Recv.Leave
		if m.Send.Bytes != m.Recv.Bytes {
			a.problem(trace.DiagBytesDiffer)
		}
		receiver, _ := a.d.Process(m.Recv.P)
		c := &a.r.Processes[receiver]
		if end >= sent {
			c.SendRecv += uint64(end - sent)
		} else {
			a.problem(trace.DiagClockViolation)
			a.r.WorstReverse = max(a.r.WorstReverse, uint64(sent-end))
		}
		if sent > ready {
			a.r.Late.Count++
			a.r.Late.Potential += uint64(sent - ready)
			c.PotentialSync += uint64(sent - ready)
			k := place{m.Recv.P, m.Recv.call}
			waits[k] = max(waits[k], min(sent, end)-ready)
		}
	}
	for _, w := range waits {
		a.r.Late.Wait += uint64(w)
	}
}

// collectives counts operations and those whose members disagree.
func (a *analysis) collectives() {
	byComm := map[uint32][][]coll{} // communicator -> the lists of its processes
	owner := map[uint32][]uint32{}  // communicator -> those processes
	for k, list := range a.colls {
		slices.SortFunc(list, func(x, y coll) int { return cmp.Compare(x.post, y.post) })
		byComm[k.comm] = append(byComm[k.comm], list)
		owner[k.comm] = append(owner[k.comm], k.process)
	}
	counts := map[uint32]uint64{}
	for c, lists := range byComm {
		if a.d.IsSelf(c) {
			for _, l := range lists {
				counts[c] += uint64(len(l))
			}
			continue
		}
		for n := 0; a.instance(c, n, lists, owner[c]); n++ {
			counts[c]++
		}
	}
	a.r.Collectives = instancesOf(counts)
}

// instance looks at the n-th operation of a communicator; it returns false if
// no member has one.
func (a *analysis) instance(comm uint32, n int, lists [][]coll, owner []uint32) bool {
	var all []coll
	var who []uint32
	for i, l := range lists {
		if n < len(l) {
			all, who = append(all, l[n]), append(who, owner[i])
		}
	}
	if len(all) == 0 {
		return false
	}
	if len(all) < a.d.CommSize(comm) {
		a.problem(trace.DiagShortCollective)
	}
	if slices.ContainsFunc(all, func(x coll) bool { return x.op != all[0].op || x.root != all[0].root }) {
		a.problem(trace.DiagMixedCollective)
	}
	if len(all) == a.d.CommSize(comm) && !a.d.IsInter(comm) {
		a.tooEarly(comm, all, who)
	}
	var started, left trace.Time
	for _, x := range all {
		started, left = max(started, x.started), max(left, x.leave)
	}
	for i, x := range all {
		c := &a.r.Processes[who[i]]
		c.PotentialSync += uint64(started - min(started, x.enter))
		c.Variation += uint64(left - x.leave)
	}
	return true
}

// tooEarly counts the members that leave before one that they need has entered.
func (a *analysis) tooEarly(comm uint32, all []coll, who []uint32) {
	const alltoallv, alltoallw = 9, 10
	op := all[0].op
	if op == alltoallv || op == alltoallw || slices.ContainsFunc(all, func(x coll) bool { return x.op != op || x.root != all[0].root }) {
		return
	}
	class := trace.CollectiveClass(uint32(op))
	for i, x := range all {
		need := trace.Time(0)
		for k, o := range all {
			root, their := a.d.IsRoot(comm, uint32(x.root), who[i]), a.d.IsRoot(comm, uint32(x.root), who[k])
			own, _ := a.d.RankIn(comm, who[i])
			rank, _ := a.d.RankIn(comm, who[k])
			needed := class&trace.ClassBarrier != 0 || op == opCreateHandle ||
				class&trace.ClassNxN != 0 && x.received > 0 && o.sent > 0 ||
				class&trace.ClassOneToN != 0 && !root && their && x.received > 0 ||
				class&trace.ClassNToOne != 0 && root && !their && o.sent > 0 ||
				class&trace.ClassPrefix != 0 && rank < own && x.received > 0 && o.sent > 0
			if needed {
				need = max(need, o.started)
			}
		}
		if need > x.leave {
			a.problem(trace.DiagClockCollective)
		}
	}
}
