package simnet

import (
	"context"
	"fmt"
)

// Events runs a program with the event engine and returns the times of all processes. It knows what the dataflow engine
// does not: the policy [Arrival], and messages that share network interfaces and links. Without those the times are the
// same. A program that stops for ever gives a *Deadlock.
//
// What happens is taken in the order of time and, at one time, of a number that it got when it became known, so a result
// depends on the program and the network alone. A process and a message wait in queues of their own for what is busy, and
// only the next of each is in the heap.
//
// Memory: about 400 bytes for each process, 110 for each channel and 64 for each message under way.
func Events(ctx context.Context, p *Program, calc Calc, n *Network, o Options) (*Result, error) {
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
	ctx      context.Context
	code     *code
	calc     Calc
	observer Observer
	arrival  bool // the policy
	shared   bool // network interfaces are shared
	flat     bool // all channels of a class have one latency

	heap    eventHeap
	seq     uint32
	now     int64
	current uint32   // the process whose event is at the root of the heap
	woken   []uint32 // processes that can go on
	running int
	err     error
	clock   int64 // all times ored together: negative after an overflow

	procs      []eventProc
	frames     []frame
	sendChains []uint32
	recvChains []uint32
	chains     []chain
	names      chainNames
	origins    []origin
	messages   []message
	unused     []uint32
	costs      []cost
	sizes      map[uint64]uint32 // of messages of collective operations
	bytes      []uint64          // of each of them
	steps      []stepState
	entered    []uint64 // collective operations of each process on each of its communicators
	pending    [][]pending
	meetings   map[meetingKey]*eventMeeting
	events     uint64
	unmatched  uint64
	nics       interfaces
	pairs      [][]int64 // times of calls that the observer does not know, of each process
	firstPair  []uint64
	order      []uint32 // scratch
}

// eventProc is a process: clocks, a place in the program, and what it waits for. What every event needs comes first.
type eventProc struct {
	cpu, tx, rx int64 // from when the processor and the network interface are free
	dueTime     int64 // of the policy Arrival: the next thing to happen here
	opTime      int64 // how long the operation of the processor takes, or when it comes
	dueSeq      uint32
	opSeq       uint32
	sendHead    uint32 // messages to send
	arrived     uint32 // messages that are there
	flight      uint32 // messages under way, by time
	flightTail  uint32

	due         dueKind
	op          opKind // what the processor is to do
	stage       stage
	started     bool // at the first call
	ended       bool // behind the last call
	begun       bool // a call is to be left
	sendTail    uint32
	arrivedTail uint32
	opMessage   uint32
	kind        uint32
	call        uint32
	left        uint32 // the call before
	at          uint32 // action of the call
	need        uint32 // completions missing
	stack, top  uint32
	sendBase    uint32
	recvBase    uint32
	collBase    uint32
	calls       uint64
	enter       int64

	tb                     int64
	until                  int64  // a probe or a collective operation ends
	waitSends, waitSendEnd uint32 // messages whose sends the call completes
	waitRecvs, waitRecvEnd uint32

	entries [eventEntries]int64 // of the computation vector
	times   ProcessTimes
}

// eventEntries is how many entries of its computation vector a process holds; a power of two.
const eventEntries = 8

// stage is what a process does next.
type stage uint8

const (
	atNext    stage = iota // find the next call, and compute
	atCall                 // enter it
	atPosts                // post
	atColl                 // the next step of a collective operation
	atStep                 // the end of a step
	atWaits                // begin to wait
	atWaiting              // all that it waits for is there
	atLeave
	atEnd
)

func newEventRun(ctx context.Context, p *Program, calc Calc, n *Network, o Options) (*eventRun, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if n.Policy == Arrival && n.Contention != NoContention {
		return nil, fmt.Errorf("simnet: the policy %q knows no contention", "arrival")
	}
	c, err := compile(p, n)
	if err != nil {
		return nil, err
	}
	count := len(p.Roots)
	r := &eventRun{
		ctx: ctx, code: c, calc: calc, observer: o.Observer, arrival: n.Policy == Arrival, shared: n.Contention != NoContention,
		flat:     n.Topology == nil || n.Links[LinkNet].Hop == 0,
		procs:    make([]eventProc, count),
		messages: make([]message, 1), costs: c.costs[:len(c.costs):len(c.costs)], sizes: map[uint64]uint32{}, running: count,
		current: noChannel, heap: newEventHeap(count),
	}
	if count >= maxEventID {
		return nil, programError("more than 2^29 processes")
	}
	if err := r.place(); err != nil {
		return nil, err
	}
	if err := r.linkChains(); err != nil {
		return nil, err
	}
	if r.observer != nil {
		r.pairs, r.firstPair = make([][]int64, count), make([]uint64, count)
	}
	return r, r.nics.init(p, n)
}

// place gives each process its part of the tables.
func (r *eventRun) place() error {
	c := r.code
	var sends, recvs, colls, depth uint64
	for i := range r.procs {
		p := &r.procs[i]
		p.kind = c.kindOf[c.program.Roots[i]]
		k := &c.kinds[p.kind]
		p.sendBase, p.recvBase, p.collBase, p.stack = uint32(sends), uint32(recvs), uint32(colls), uint32(depth)
		sends, recvs = sends+uint64(len(k.sends)), recvs+uint64(len(k.recvs))
		colls, depth = colls+uint64(len(k.colls)), depth+uint64(k.depth)
		r.events += k.events
	}
	if max(sends, recvs, colls, depth) >= noChannel {
		return programError("more than 2^32 partners or open loops of all processes together")
	}
	r.frames = make([]frame, depth)
	r.sendChains, r.recvChains = make([]uint32, sends), make([]uint32, recvs)
	if colls > 0 {
		r.steps, r.meetings = make([]stepState, len(r.procs)), map[meetingKey]*eventMeeting{}
		r.entered, r.pending = make([]uint64, colls), make([][]pending, colls)
	}
	return nil
}

func (r *eventRun) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// run handles events until there are none.
func (r *eventRun) run() error {
	for i := range r.procs {
		r.woken = append(r.woken, uint32(i))
	}
	r.wake()
	for turns := 0; !r.heap.empty() && r.err == nil; turns++ {
		if turns%checkEvery == 0 {
			if err := context.Cause(r.ctx); err != nil {
				return err
			}
			if r.clock < 0 {
				break
			}
		}
		r.handle()
	}
	switch {
	case r.err != nil:
		return r.err
	case r.clock < 0:
		return programError("a process is busy for more than 106 days, the range of a clock, or computes for a negative time")
	case r.running > 0:
		return r.deadlock()
	}
	return nil
}

// handle takes the first event.
func (r *eventRun) handle() {
	x := r.heap.first()
	r.now = x.time
	id := x.id()
	if x.kind() == turnEvent && r.arrival {
		p := &r.procs[id]
		if p.due == dueNothing || p.dueTime != x.time || p.dueSeq != x.seq() {
			r.heap.pop() // something earlier came up for the process, and this one was put in again
			return
		}
		r.current = id
		r.turn(p, id)
		r.wake()
		r.current = noChannel
		if p.due = r.nextDue(p); p.due == dueNothing {
			r.heap.pop()
		} else {
			r.heap.replace(newEvent(p.dueTime, p.dueSeq, turnEvent, id))
		}
		return
	}
	r.heap.pop()
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

// wake lets the processes go on that can, in their order.
func (r *eventRun) wake() {
	for i := 0; i < len(r.woken); i++ {
		if i == 0 && len(r.woken) == 2 && r.woken[0] > r.woken[1] {
			r.woken[0], r.woken[1] = r.woken[1], r.woken[0]
		}
		id := r.woken[i]
		r.proceed(id)
		if r.arrival {
			r.poke(id)
		}
	}
	r.woken = r.woken[:0]
}

// number returns the next number of an event.
func (r *eventRun) number() uint32 {
	r.seq++
	return r.seq
}

// at puts an event in the heap.
func (r *eventRun) at(time int64, kind eventKind, id uint32) {
	r.clock |= time
	r.heap.push(newEvent(time, r.number(), kind, id))
}

func (r *eventRun) result() *Result {
	res := &Result{Times: make([]ProcessTimes, len(r.procs)), Events: r.events, Unmatched: r.unmatched}
	for i := range r.procs {
		res.Times[i] = r.procs[i].times
		res.Makespan = max(res.Makespan, res.Times[i].Finish)
	}
	return res
}
