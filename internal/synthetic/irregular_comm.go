package synthetic

import "github.com/coppice-hpc/coppice/trace"

// exchange writes a point-to-point exchange that starts at t.
func (v *irregular) exchange(w *pen, a act, c view, i uint64, phase int, t trace.Time, to, from uint32) {
	q := v.process(c, from)
	sent, arrives := v.ready(q, i, phase), v.bytes(q, i, phase)
	own := v.bytes(w.proc, i, phase)
	tag := uint64(100 + phase)
	switch a.kind {
	case kindSendRecv:
		end := max(t, sent+trace.Time(Flight(arrives))) + overhead
		w.enter(t, rSendrecv)
		w.record(t+20, trace.MpiSend, uint64(to), uint64(c.comm), tag, own)
		w.record(end-20, trace.MpiRecv, uint64(from), uint64(c.comm), tag, arrives)
		w.leave(end, rSendrecv)
	case kindPair:
		v.pair(w, c, t, sent, from, tag, own, arrives)
	case kindShift:
		w.send(t, t+overhead, rSend, to, c.comm, tag, own)
		t += callTime
		end := max(t, sent+trace.Time(Flight(arrives))) + overhead
		w.recv(t, end, from, c.comm, tag, arrives)
	case kindShiftWait:
		id := v.request(i, phase)
		w.irecv(t, id)
		w.isend(t+callTime, to, c.comm, tag, own, id+1)
		t += 2 * callTime
		end := max(t, sent+callTime+trace.Time(Flight(arrives))) + overhead
		w.enter(t, rWaitall)
		w.record(end-40, trace.MpiIrecv, uint64(from), uint64(c.comm), tag, arrives, id)
		w.record(end-20, trace.MpiIsendComplete, id+1)
		w.leave(end, rWaitall)
	}
}

// pair writes an exchange in which the lower rank sends first and the higher
// one answers; both are ready at their own time.
func (v *irregular) pair(w *pen, c view, t, other trace.Time, peer uint32, tag, own, arrives uint64) {
	if c.rank > peer {
		end := max(t, other+trace.Time(Flight(arrives))) + overhead
		w.recv(t, end, peer, c.comm, tag, arrives)
		w.send(end+gap, end+gap+overhead, rSend, peer, c.comm, tag, own)
		return
	}
	w.send(t, t+overhead, rSend, peer, c.comm, tag, own)
	answer := max(other, t+trace.Time(Flight(own))) + overhead + gap
	t += callTime
	end := max(t, answer+trace.Time(Flight(arrives))) + overhead
	w.recv(t, end, peer, c.comm, tag, arrives)
}

// operation is a collective operation.
type operation struct {
	region, op uint32
	rooted     bool
	data       bool
}

// operations lists those that a phase may draw.
var operations = [...]operation{
	{rBarrier, opBarrier, false, false},
	{rBcast, opBcast, true, true},
	{rScatter, opScatter, true, true},
	{rReduce, opReduce, true, true},
	{rGather, opGather, true, true},
	{rAllreduce, opAllreduce, false, true},
	{rAllgather, opAllgather, false, true},
	{rAlltoall, opAlltoall, false, true},
	{rScan, opScan, false, true},
}

// nonBlocking lists the operations with a non-blocking form.
var nonBlocking = [...]operation{
	{rIbarrier, opBarrier, false, false},
	{rIbcast, opBcast, true, true},
	{rIallreduce, opAllreduce, false, true},
}

func (v *irregular) started(a act) operation {
	return nonBlocking[a.draw%uint64(len(nonBlocking))]
}

// root returns the root of an operation on a communicator, noRoot where it has none.
func (o operation) root(a act, c view) uint32 {
	if !o.rooted {
		return noRoot
	}
	return uint32((a.draw >> 8) % uint64(c.size))
}

// sizes returns the bytes that a member sends and receives: to or from every
// member for what goes between all.
func (o operation) sizes(c view, root uint32, bytes uint64) (sent, received uint64) {
	if !o.data {
		return 0, 0
	}
	n := uint64(c.size)
	switch o.op {
	case opBcast, opScatter:
		if c.rank == root {
			sent = bytes * n
		}
		return sent, bytes
	case opReduce, opGather:
		if c.rank == root {
			received = bytes * n
		}
		return bytes, received
	case opAllgather, opAlltoall:
		return bytes * n, bytes * n
	}
	return bytes, bytes
}

// collective writes a blocking collective that p enters at t.
func (v *irregular) collective(w *pen, a act, c view, i uint64, phase int, t trace.Time) {
	o := operations[a.draw%uint64(len(operations))]
	root := o.root(a, c)
	end := v.phaseStart(i, phase) + trace.Time(gap+v.workMax+collectiveTime(v.n)+v.perturb(200, w.proc, i, saltLeave))
	switch o.op {
	case opBcast, opScatter: // others wait for the root alone
		end = t + 2*overhead
		if c.rank != root {
			end = max(t, v.ready(v.process(c, root), i, phase)) + trace.Time(Flight(v.o.Bytes))
		}
	case opReduce, opGather: // the root alone waits
		if c.rank != root {
			end = t + 2*overhead
		}
	}
	sent, received := o.sizes(c, root, v.o.Bytes)
	w.collective(t, end, o.region, o.op, c.comm, root, sent, received)
}

// wait completes a non-blocking collective, long after all have started it.
func (v *irregular) wait(w *pen, a act, i uint64, phase int, t trace.Time) {
	o, c := v.started(a), v.see(a.family, w.proc)
	root := o.root(a, c)
	sent, received := o.sizes(c, root, v.o.Bytes)
	w.enter(t, rWait)
	w.record(t+overhead-20, trace.NonBlockingCollectiveComplete, uint64(o.op), uint64(c.comm), uint64(root), sent, received, v.request(i, phase))
	w.leave(t+overhead, rWait)
}

// children returns how many calls a node of a tree makes.
func (v *irregular) children(key uint64, level int) uint64 {
	if level+1 >= min(v.o.Depth, maxLevel) {
		return 0
	}
	return mix(v.o.Seed, key, uint64(level), saltTree) % 4
}

// tree writes the call tree with the given key in [a, b). Functions are drawn
// from all levels, so that they call themselves at times.
func (v *irregular) tree(w *pen, key uint64, level int, a, b trace.Time) {
	region := rUser + uint32(mix(v.o.Seed, key, uint64(level), saltThread)%uint64(v.o.Depth))
	w.enter(a, region)
	n := v.children(key, level)
	part := (b - a) / trace.Time(2*n+1)
	for j := range n {
		start := a + part*trace.Time(2*j+1)
		v.tree(w, key*5+j+64, level+1, start, start+part)
	}
	w.leave(b, region)
}
