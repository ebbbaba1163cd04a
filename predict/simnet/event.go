package simnet

import (
	"context"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Events runs a program with the event engine and returns the times of all processes. It simulates what the dataflow engine does not: the
// policy [Arrival], and messages that share network interfaces and links. Otherwise both return the same times. A program that stops
// forever gives a *Deadlock.
//
// Events are handled in the order of time; events of one time in the order of a number that they got when they became known. So a result
// depends only on the program and the network. Processes and messages that wait for something busy are in queues of their own; the heap has
// only the next of each.
//
// Memory: about 400 bytes for each process, 50 for each channel, 90 for each process if collectives are simulated by steps, and 64 for each
// message in progress.
func Events(ctx context.Context, p *program.Program, calc Calc, n *network.Network, o Options) (*Result, error) {
	r, err := newEventRun(ctx, p, calc, n, o)
	if err != nil {
		return nil, err
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// eventRun is one simulation.
type eventRun struct {
	traffic
	cursors
	ctx      context.Context
	calc     Calc
	observer Observer
	reports  []report // of each process
	coll     assembly
	steps    []stepState
	running  int
}

// eventProc is a process: clocks, its place in the program, and what it waits for. What every event needs comes first.
type eventProc struct {
	cpu int64 // when the processor is free
	nic
	duty
	stage stage
	ended bool // the last call has ended
	begun bool // a call has begun and not ended
	place
	left         uint32   // the previous call
	need         uint32   // completions that are missing
	until        int64    // when a probe or a collective operation ends
	sends, recvs []uint32 // messages that the call completes

	entries [eventEntries]int64 // of the computation vector
	times   ProcessTimes
}

// eventEntries is how many entries of its computation vector a process caches; a power of two.
const eventEntries = 8

// stage is what a process does next.
type stage uint8

const (
	atNext    stage = iota // go to the next call, and compute
	atCall                 // enter it
	atPosts                // post
	atColl                 // the next step of a collective operation
	atStep                 // the end of a step
	atWaits                // begin to wait
	atWaiting              // all that it waits for has happened
	atLeave
	atEnd
)

// stepState is the progress of a process in a collective operation by steps.
type stepState struct {
	network.Progress
	coll   uint32 // index in code.colls
	recv   uint32 // message that the step receives
	send   uint32 // message that it sends
	reduce uint64 // bytes to combine
}

func newEventRun(ctx context.Context, p *program.Program, calc Calc, n *network.Network, o Options) (*eventRun, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if n.Policy == network.Arrival && n.Contention != network.NoContention {
		return nil, fmt.Errorf("simnet: the policy %q knows no contention", "arrival")
	}
	c, err := compile(p, n)
	if err != nil {
		return nil, err
	}
	count := len(p.Roots)
	if count >= maxEventID {
		return nil, program.Errorf("more than 2^29 processes")
	}
	r := &eventRun{
		ctx: ctx, calc: calc, observer: o.Observer, running: count, cursors: cursors{code: c},
		traffic: traffic{
			network: n, arrival: n.Policy == network.Arrival, shared: n.Contention != network.NoContention, procs: make([]eventProc, count), current: noChannel,
			queue: eventQueue{eventHeap: eventHeap{make([]eventItem, heapRoot, heapRoot+count)}}, costs: c.costs.Grown(),
		},
	}
	r.queue.clock = &r.clock
	r.matching = matching{code: c, book: &r.ledger, queue: &r.queue, flat: n.Topology == nil || n.Links[network.LinkNet].Hop == 0}
	e, err := r.place(&r.ledger, 0, count, func(i int) *place { return &r.procs[i].place })
	if err != nil {
		return nil, err
	}
	r.coll = assembly{code: c, book: &r.ledger, told: r.mayLeave}
	r.limLog = 31 // no limit: there are no more meetings than operations of processes
	r.coll.prepare(e.colls, 0, count)
	if e.colls > 0 {
		r.steps = make([]stepState, count)
	}
	if err := r.linkChains(r.procs, e); err != nil {
		return nil, err
	}
	if r.observer != nil {
		r.reports = make([]report, count)
	}
	return r, r.nics.init(p, n)
}

// run handles events until there are none.
func (r *eventRun) run() error {
	for i := range r.procs {
		r.begin(&r.procs[i].place)
		r.ready = append(r.ready, uint32(i))
	}
	r.wake()
	for turns := 0; len(r.queue.items) > heapRoot && r.err == nil && r.clock >= 0; turns++ {
		if turns%checkEvery == 0 {
			if err := context.Cause(r.ctx); err != nil {
				return err
			}
		}
		r.handle()
	}
	switch {
	case r.err != nil:
		return r.err
	case r.clock < 0:
		return program.Errorf("a process is " + busyTooLong)
	case r.running > 0:
		return r.deadlock()
	}
	return nil
}

func (r *eventRun) handle() {
	x := r.queue.items[heapRoot]
	r.queue.now = x.time
	id := x.id()
	if x.kind() == turnEvent && r.arrival {
		p := &r.procs[id]
		if p.due == dueNothing || p.dueTime != x.time || p.dueSeq != x.seq() {
			r.queue.pop() // the process has an earlier event now; this one was put in again
			return
		}
		r.current = id
		r.turn(p, id)
		r.wake()
		r.current = noChannel
		if p.due = r.nextDue(p); p.due == dueNothing {
			r.queue.pop()
		} else {
			r.queue.replace(newEvent(p.dueTime, p.dueSeq, turnEvent, id))
		}
		return
	}
	r.queue.pop()
	switch x.kind() {
	case turnEvent:
		r.proceed(id)
	case lateEvent:
		r.late(id)
	case postEvent:
		r.posted(id)
	case enterEvent:
		r.enterLinks(id)
	case arriveEvent:
		r.arrive(id)
	case answerEvent:
		r.answer(id)
	case freeEvent:
		r.freed(id)
	}
	r.wake()
}

// turn performs what is due at a process with the policy Arrival.
func (r *eventRun) turn(p *eventProc, id uint32) {
	switch p.due {
	case dueSend:
		r.transmit(p, id)
	case dueMessage:
		r.drain(p)
	case dueOperation:
		op := p.op
		p.op = opNothing
		switch op {
		case opPost:
			r.posted(p.opMessage)
			return
		case opCompute:
			p.cpu = r.queue.now
			r.compute(p, id, p.opTime)
		case opSpend:
			p.cpu = r.queue.now
			r.spend(p, p.opTime)
		}
		r.proceed(id)
	}
}

// wake lets processes that can continue do so, in their order.
func (r *eventRun) wake() {
	for i := 0; i < len(r.ready); i++ {
		if i == 0 && len(r.ready) == 2 && r.ready[0] > r.ready[1] {
			r.ready[0], r.ready[1] = r.ready[1], r.ready[0]
		}
		id := r.ready[i]
		r.proceed(id)
		if r.arrival {
			r.poke(id)
		}
	}
	r.ready = r.ready[:0]
}

func (r *eventRun) result() *Result {
	res := &Result{Events: r.events, Unmatched: r.unmatched}
	for i := range r.procs {
		res.add(r.procs[i].times)
	}
	return res
}

// proceed runs a process until it waits for something.
func (r *eventRun) proceed(id uint32) {
	p := &r.procs[id]
	for ok := true; ok && r.err == nil; {
		switch p.stage {
		case atNext:
			ok = r.next(p, id)
		case atCall:
			ok = r.enterCall(p, id)
		case atPosts:
			ok = r.posts(p, id)
		case atColl:
			ok = r.beginStep(p, id)
		case atStep:
			ok = r.endStep(p, id)
		case atWaits:
			ok = r.await(p, id)
		case atWaiting:
			r.takeMessages(p)
			p.stage = atLeave
			if r.arrival && r.code.calls[p.call].events > 0 {
				r.works(p, 0)
				return
			}
		case atLeave:
			p.left, p.begun, p.stage = p.call, true, atNext
		case atEnd:
			return
		}
	}
}

// next moves a process to its next call, and spends the computation before it.
func (r *eventRun) next(p *eventProc, id uint32) bool {
	p.ended, p.stage = !r.cursors.next(&p.place), atCall
	at := p.calls % eventEntries
	if at == 0 {
		r.fail(r.calc.Fill(id, p.calls, p.entries[:]))
	}
	x := p.entries[at]
	r.clock |= x
	if x == 0 {
		r.leave(p, id)
		return true
	}
	r.events++
	if r.arrival {
		p.operate(opCompute, x, r.queue.number())
		return false
	}
	r.compute(p, id, x)
	return true
}

func (r *eventRun) compute(p *eventProc, id uint32, x int64) {
	r.leave(p, id)
	p.times.Compute += x
	r.spend(p, x)
	p.enter = p.cpu
}

// spend adds time of the processor.
func (r *eventRun) spend(p *eventProc, x int64) {
	p.cpu += x
	r.clock |= p.cpu
}

// eventPairs is how many times of calls a process collects for the observer.
const eventPairs = 32

// leave ends a call at the time at which the processor is free.
func (r *eventRun) leave(p *eventProc, id uint32) {
	t, d := &p.times, p.cpu-p.enter
	if p.begun {
		t.add(r.code.calls[p.left].cat, d)
		if r.observer != nil {
			r.fail(r.reports[id].add(r.observer, id, p.calls-1, p.enter, p.cpu, eventPairs))
		}
	} else {
		t.Wait += d
	}
	p.begun, p.enter = false, p.cpu
}

func (r *eventRun) enterCall(p *eventProc, id uint32) bool {
	if !p.ended {
		p.calls++
		p.at, p.stage = 0, atPosts
		return true
	}
	p.stage = atEnd
	r.running--
	p.times.Finish, p.times.Calls = p.enter, p.calls
	if r.observer != nil {
		r.fail(r.reports[id].flush(r.observer, id))
	}
	return false
}

// posts performs the posts of a call.
func (r *eventRun) posts(p *eventProc, id uint32) bool {
	c := &r.code.calls[p.call]
	for p.at < c.posts {
		if r.yields(p, id) {
			return false
		}
		o := &r.code.ops[c.first+p.at]
		switch o.kind {
		case program.PostRecv:
			r.postRecv(p, r.recvChain(p, o), c.posts == 1 && c.n == 2)
		case program.PostColl:
			if r.enterColl(p, id, o) {
				return true
			}
		case program.FileIO:
			if p.at++; r.works(p, r.code.files[o.size]) {
				continue
			}
			return false
		default:
			r.postSend(p, id, o)
		}
		p.at++
	}
	p.stage = atWaits
	return true
}

// yields reports whether a process must wait until the time of its clock, because others may use the interface earlier.
func (r *eventRun) yields(p *eventProc, id uint32) bool {
	if !r.shared || p.cpu <= r.queue.now {
		return false
	}
	r.queue.at(p.cpu, turnEvent, id)
	return true
}

// sendChain and recvChain return the channel of an action, 0 if it has no partner.
func (r *eventRun) sendChain(p *eventProc, o *op) uint32 {
	return r.sendChains[p.sendBase+r.code.kinds[p.kind].find(o.port)]
}

func (r *eventRun) recvChain(p *eventProc, o *op) uint32 {
	return r.recvChains[p.recvBase+r.code.kinds[p.kind].find(o.port)]
}

func (r *eventRun) postSend(p *eventProc, id uint32, o *op) {
	ch := r.sendChain(p, o)
	if ch == 0 {
		return
	}
	m := r.sendOn(ch)
	x := &r.messages[m]
	if x.flags&isNull != 0 {
		r.close(m, 0)
		return
	}
	x.cost = o.size + uint32(r.chains[ch].class)
	if o.kind == program.PostSync || o.kind == program.PostSend && !r.costs.List[x.cost].Eager {
		x.flags |= isRendezvous
		if o.kind == program.PostSync {
			x.flags |= isSync
		}
	}
	r.send(p, id, m)
}

func (r *eventRun) send(p *eventProc, id, m uint32) {
	if x := &r.messages[m]; network.IsFree(x.cost) {
		x.time = 0
	} else {
		p.times.Messages++
	}
	if r.arrival {
		r.messages[m].seq = r.queue.number()
		r.push(&p.out, m)
	} else {
		r.transmitNow(p, id, m)
	}
}

// await matches the completions of a call with messages, and continues if all are complete.
func (r *eventRun) await(p *eventProc, id uint32) bool {
	c := &r.code.calls[p.call]
	p.stage, p.need, p.until = atWaiting, 0, 0
	for i := c.first + c.posts; i < c.first+c.n; i++ {
		o, ok := &r.code.ops[i], true
		switch o.kind {
		case program.WaitRecv:
			if ch := r.recvChain(p, o); ch != 0 {
				m := r.takeRecv(ch, o.age)
				if ok = m != 0; ok {
					r.awaitRecv(p, m)
				}
			}
		case program.WaitSend:
			if ch := r.sendChain(p, o); ch != 0 {
				m := r.takeSend(ch, o.age)
				if ok = m != 0; ok {
					r.awaitSend(p, m)
				}
			}
		case program.ProbeRecv:
			r.awaitProbe(p, r.recvChain(p, o))
		case program.WaitColl:
			ok = r.awaitColl(p, id, o)
		}
		if !ok {
			r.fail(program.Errorf("call %d of process %d completes more than was posted", p.calls-1, id))
			return false
		}
	}
	return p.need == 0
}

// enterColl posts a collective operation. It returns true if the process performs it now, by steps.
func (r *eventRun) enterColl(p *eventProc, id uint32, o *op) bool {
	x := &r.code.colls[o.size]
	i := p.collBase + r.code.kinds[p.kind].find(o.port)
	if !x.steps {
		r.coll.enter(id, i, o.size, p.cpu)
		return false
	}
	if !r.coll.next(i, x) {
		return false
	}
	r.steps[id] = stepState{coll: o.size}
	p.stage = atColl
	return true
}

// awaitColl makes a process wait for a collective operation that was posted by an earlier call or by this one.
func (r *eventRun) awaitColl(p *eventProc, id uint32, o *op) bool {
	list := &r.coll.pending[p.collBase+r.code.kinds[p.kind].find(o.port)]
	if int64(o.age) >= int64(len(*list)) {
		return false
	}
	q := (*list)[o.age]
	*list = slices.Delete(*list, int(o.age), int(o.age)+1)
	if q.null {
		return true
	}
	if at, ok := r.coll.await(id, &q); ok {
		p.until = max(p.until, at)
	} else {
		p.need++
	}
	r.coll.leave(&q)
	return true
}

// beginStep posts the send and the receive of the next step of a collective operation.
func (r *eventRun) beginStep(p *eventProc, id uint32) bool {
	if r.yields(p, id) {
		return false
	}
	s := &r.steps[id]
	x := &r.code.colls[s.coll]
	plan, m := r.code.plan(x, id)
	if s.Next == plan.Steps {
		p.stage = atPosts
		p.at++
		return true
	}
	do := plan.At(&s.Progress)
	p.stage, p.need, s.recv, s.send, s.reduce = atStep, 0, 0, 0, do.Reduce
	if do.From != network.Nobody {
		ch := r.stepChain(x.comm, m.Process(uint32(do.From)), id)
		if ch == 0 {
			return false
		}
		s.recv = r.postRecv(p, ch, false)
		r.messages[s.recv].flags |= ofStep
		r.takeRecv(ch, 0)
		r.awaitRecv(p, s.recv)
	}
	if do.To != network.Nobody {
		ch := r.stepChain(x.comm, id, m.Process(uint32(do.To)))
		if ch == 0 {
			return false
		}
		first, err := r.costs.At(do.Send)
		if err != nil {
			r.fail(err)
			return false
		}
		n := r.sendOn(ch)
		y := &r.messages[n]
		if y.cost = first + uint32(r.chains[ch].class); !r.costs.List[y.cost].Eager {
			y.flags |= isRendezvous
		}
		s.send = n
		r.takeSend(ch, 0)
		r.send(p, id, n)
		r.awaitSend(p, n)
		r.events += 2
	}
	return p.need == 0
}

// endStep takes the message of a step, and combines.
func (r *eventRun) endStep(p *eventProc, id uint32) bool {
	s := &r.steps[id]
	if s.recv != 0 {
		s.Received(r.costs.Size(r.messages[s.recv].cost))
		r.events++
		if r.arrival {
			r.close(s.recv, recvClosed)
		}
	}
	r.takeMessages(p)
	s.Next++
	p.stage = atColl
	if s.reduce == 0 {
		return true
	}
	t, err := r.code.network.Reduction(s.reduce)
	if err != nil {
		r.fail(err)
		return false
	}
	return r.works(p, t)
}

// works spends time of the processor within a call. It returns false if the process must wait for its turn.
func (r *eventRun) works(p *eventProc, t int64) bool {
	if r.arrival {
		p.operate(opSpend, t, r.queue.number())
		return false
	}
	r.spend(p, t)
	return true
}
