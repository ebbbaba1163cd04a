package synthetic

import "github.com/coppice-hpc/coppice/trace"

// irregular is a program without a pattern: in every step three phases, each a
// random call tree followed by an exchange between random partners, a
// collective on a random communicator, the start of a non-blocking collective,
// or nothing. All members of a communicator draw the same phases from the
// step's hash; partners, sizes, times and call trees are drawn per process.
//
//	slot | phase 0 | phase 1 | phase 2 | Waits | write | slack
//
// Besides the world there are two families of communicators: blocks of
// neighbouring processes, ranked backwards, and strides.
type irregular struct {
	base
	edge      uint32 // processes of a block, and number of strides
	numBlocks uint32
	phase     uint64 // length of a phase
}

const (
	phases       = 3
	treeVariants = 64
	maxLevel     = 8
)

func (v *irregular) slotLength() (slot, tail uint64) {
	return phases*v.phase + v.o.Work/4 + (phases+1)*callTime + ioTime + 2*gap + slack, 0
}

// Families of communicators.
const (
	familyWorld uint32 = iota
	familyBlock
	familyStride
	families
)

func (v *irregular) comms() []Comm {
	var out []Comm
	for b := range v.numBlocks {
		c := Comm{Name: "block"}
		for p := min((b+1)*v.edge, v.n); p > b*v.edge; p-- {
			c.Members = append(c.Members, p-1)
		}
		out = append(out, c)
	}
	for s := range min(v.edge, v.n) {
		c := Comm{Name: "stride"}
		for p := s; p < v.n; p += v.edge {
			c.Members = append(c.Members, p)
		}
		out = append(out, c)
	}
	return out
}

// view is a communicator as process p sees it.
type view struct {
	family, comm uint32
	rank, size   uint32
	first        uint32 // block: one beyond its last process; stride: its first process
}

func (v *irregular) see(family, p uint32) view {
	switch family {
	case familyBlock:
		b := p / v.edge
		end := min((b+1)*v.edge, v.n)
		return view{family, commOwn + b, end - 1 - p, end - b*v.edge, end}
	case familyStride:
		s := p % v.edge
		return view{family, commOwn + v.numBlocks + s, p / v.edge, (v.n - s + v.edge - 1) / v.edge, s}
	}
	return view{familyWorld, commWorld, p, v.n, 0}
}

func (v *irregular) process(c view, rank uint32) uint32 {
	switch c.family {
	case familyBlock:
		return c.first - 1 - rank
	case familyStride:
		return c.first + rank*v.edge
	}
	return rank
}

// Kinds of phases.
const (
	kindNothing = iota
	kindSendRecv
	kindPair // lower rank sends first
	kindShift
	kindShiftWait
	kindCollective
	kindStart // of a non-blocking collective
	kinds
)

// act is what all members of a communicator do in a phase.
type act struct {
	kind   uint64
	family uint32
	draw   uint64 // more random bits
}

func (v *irregular) act(i uint64, phase int) act {
	h := mix(v.o.Seed, i, uint64(phase), saltRound)
	return act{h % kinds, uint32(h>>8) % families, h >> 16}
}

// partner returns whom p sends to and receives from in an exchange, by rank.
func (v *irregular) partner(a act, c view, i uint64) (to, from uint32, ok bool) {
	if c.size < 2 {
		return 0, 0, false
	}
	switch a.kind {
	case kindSendRecv, kindPair:
		to = uint32((a.draw + uint64(c.size) - uint64(c.rank)) % uint64(c.size))
		low, high := min(to, c.rank), max(to, c.rank)
		skip := mix(v.o.Seed, uint64(low)<<32|uint64(high), i, saltPair+uint64(c.comm)<<8)%4 == 0
		return to, to, to != c.rank && !skip
	case kindShift, kindShiftWait:
		s := 1 + uint32(a.draw%uint64(c.size-1))
		return (c.rank + s) % c.size, (c.rank + c.size - s) % c.size, true
	}
	return 0, 0, false
}

// bytes is the size of what a process sends in a phase.
func (v *irregular) bytes(p uint32, i uint64, phase int) uint64 {
	return mix(v.o.Seed, uint64(p), i, saltArrive+uint64(phase)<<8) % (v.o.Bytes + 1)
}

func (v *irregular) phaseStart(i uint64, phase int) trace.Time {
	return v.slotStart(i) + trace.Time(uint64(phase)*v.phase)
}

// ready is when p has computed in a phase.
func (v *irregular) ready(p uint32, i uint64, phase int) trace.Time {
	w := v.workMax/2 + mix(v.o.Seed, uint64(p), i, saltEnter+uint64(phase)<<8)%(v.workMax-v.workMax/2+1)
	return v.phaseStart(i, phase) + trace.Time(gap+w)
}

func (v *irregular) step(w *pen, i uint64) {
	w.enter(v.slotStart(i), rStep)
	for k := range phases {
		a, b := v.phaseStart(i, k)+gap, v.ready(w.proc, i, k)
		if k == 0 {
			if v.o.Threads > 1 {
				mid := a + (b-a)/2
				v.parallel(w, i, a, mid)
				a = mid
			}
			if w.thread > 0 {
				return
			}
			if v.o.Parameters {
				w.record(a, trace.ParameterUnsignedInt, parameterStep, i)
			}
		}
		v.tree(w, mix(v.o.Seed, uint64(w.proc), i, saltTree+uint64(k)<<8)%treeVariants, 0, a, b)
		v.communicate(w, i, k, b)
	}
	t := v.phaseStart(i, phases) + trace.Time(v.perturb(v.o.Work/4+1, w.proc, i, saltLeave))
	for k := range phases {
		if a := v.act(i, k); a.kind == kindStart {
			v.wait(w, a, i, k, t)
			t += callTime
		}
	}
	v.endStep(w, i, t)
}

func (v *irregular) communicate(w *pen, i uint64, phase int, t trace.Time) {
	a := v.act(i, phase)
	c := v.see(a.family, w.proc)
	switch a.kind {
	case kindNothing:
	case kindCollective:
		v.collective(w, a, c, i, phase, t)
	case kindStart:
		w.enter(t, v.started(a).region)
		w.record(t+20, trace.NonBlockingCollectiveRequest, v.request(i, phase))
		w.leave(t+overhead, v.started(a).region)
	default:
		if to, from, ok := v.partner(a, c, i); ok {
			v.exchange(w, a, c, i, phase, t, to, from)
		}
	}
}

// request returns the first of two request ids of a phase.
func (v *irregular) request(i uint64, phase int) uint64 { return i*2*phases + 2*uint64(phase) + 1 }

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
