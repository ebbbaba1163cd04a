package simnet

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Dataflow runs a program with the dataflow engine and returns the times of this rank's processes, [lo, hi). The ranks of c have contiguous
// ranges, in the order of ranks, that cover all processes. Results and errors do not depend on the number of ranks and workers. A program
// that stops forever gives a *Deadlock on all ranks.
//
// Memory: about 200 bytes for each process, 64 for each channel, and 8 to 32 for each message in progress beyond the first two of a
// channel. It does not grow with the length of the program. To describe a deadlock, rank 0 also needs the memory of [Events]. Collective.
func Dataflow(ctx context.Context, c mpi.Comm, lo, hi uint32, p *program.Program, calc Calc, n *network.Network, o Options) (*Result, error) {
	if n.Contention != network.NoContention || n.Policy == network.Arrival {
		return nil, errors.New("simnet: contention and the policy arrival need the event engine")
	}
	r, err := newRun(ctx, c, lo, hi, p, calc, n, o)
	if err != nil {
		return nil, err
	}
	return r.simulate()
}

// checkEvery is after how many turns of processes a worker checks whether to stop.
const checkEvery = 256

// defaultRing is how many messages a sender may be ahead of its receiver.
const defaultRing = 64

// worker runs a contiguous range of processes in one goroutine. It communicates with others through its mailbox.
type worker struct {
	lo, hi  uint32
	procs   []proc
	times   []ProcessTimes
	running int // processes that have not ended
	ledger
	cursors
	channels
	windows  windows
	mail     mailbox
	coll     assembly
	steps    stepping
	ending   ending
	observer Observer
	report   report // of the current process
	// The current process.
	me uint32 // relative to lo
	my *ProcessTimes
}

// windows are the parts of the processes' computation vectors that are in memory.
type windows struct {
	calc    Calc
	entries []int64 // 1<<log for each process
	log     uint8
	mine    []int64 // of the current process
}

// fill reads the entries of the current process, from the next call on.
func (v *windows) fill(book *ledger, process uint32, p *proc) bool {
	book.fail(v.calc.Fill(process, p.calls, v.mine))
	return book.err == nil
}

// proc is a process: clocks, and its place in the program.
type proc struct {
	cpu int64 // ps, like all clocks
	nic
	place
	state   procState
	aliases bool // several ports have the same channel
}

// procState says why a process does not run.
type procState uint8

const (
	fresh procState = iota // has not begun
	ready                  // in a call
	blocked
	crowded // too far ahead of others: a limit of the simulator, not of the program
	finished
)

func (w *worker) owns(process uint32) bool { return process-w.lo < w.hi-w.lo }

// entriesOf returns log2 of the number of entries of its vector that a process has in memory: fewer if there are many processes.
func entriesOf(processes int) uint8 {
	const budget = 1 << 21
	return min(max(log2(budget/max(processes, 1)), 2), 5)
}

func newWorker(r *run, number int, calc Calc, o Options) (*worker, error) {
	c, lo, hi := r.code, r.begins[number], r.end(number)
	count := int(hi - lo)
	w := &worker{
		lo: lo, hi: hi, procs: make([]proc, count), times: make([]ProcessTimes, count), running: count, observer: o.Observer,
		cursors: cursors{code: c}, windows: windows{calc: calc, log: entriesOf(len(c.program.Roots))},
	}
	w.mail = mailbox{run: r, self: number, writing: make([][]uint64, len(r.begins)), sent: make([][]uint64, len(r.begins))}
	w.coll = assembly{code: c, book: &w.ledger, mail: &w.mail, told: func(process uint32, _ int64) { w.ready = append(w.ready, process) }}
	w.ending = ending{w: w, ins: make([]uint32, c.most), outs: make([]uint32, c.most), arrivals: make([]int64, c.most), closing: map[holeKey]openPosts{}}
	w.limLog = log2(cmp.Or(o.Ring, defaultRing))
	if o.Observer != nil {
		w.report.times = make([]int64, 0, pairsHeld)
	}
	e, err := w.place(&w.ledger, lo, count, func(i int) *place { return &w.procs[i].place })
	if err != nil {
		return nil, err
	}
	w.coll.prepare(e.colls, lo, count)
	if e.colls > 0 {
		w.steps = stepping{
			code: c, book: &w.ledger, mail: &w.mail, lo: lo, states: make([]collState, count),
			costs: network.NewCosts(c.network), messages: pairs{map[pairKey]pairEntry{}, map[pairKey][]pairMessage{}},
		}
	}
	w.windows.entries = make([]int64, count<<w.windows.log)
	w.channels = channels{
		book: &w.ledger, words: make([]int64, 1), recvEnd: slices.Repeat([]uint32{noChannel}, int(e.recvs)), tails: map[uint32]*tail{}, holes: map[holeKey][]uint32{},
	}
	if err := w.makeChannels(); err != nil {
		return nil, err
	}
	w.ready = make([]uint32, count)
	for i := range w.ready {
		w.ready[i] = hi - 1 - uint32(i)
	}
	return w, nil
}

// work runs processes until none is ready.
func (w *worker) work() {
	for turns := 0; len(w.ready) > 0 && w.err == nil; turns++ {
		if turns%checkEvery == 0 {
			if err := context.Cause(w.mail.run.ctx); err != nil {
				w.fail(err)
				return
			}
		}
		id := w.ready[len(w.ready)-1]
		w.ready = w.ready[:len(w.ready)-1]
		w.turn(id)
	}
}

// makeRoom wakes the processes that wait only for room in a ring. It returns false if there are none.
func (w *worker) makeRoom() (some bool) {
	for i := range w.procs {
		if w.procs[i].state == crowded {
			some = true
			w.ready = append(w.ready, w.lo+uint32(i))
		}
	}
	if !some {
		return false
	}
	for i := range w.chans {
		if c := &w.chans[i]; w.owns(c.src) && w.procs[c.src-w.lo].state == crowded {
			c.flags &^= sendWaits
		}
	}
	for i := range w.steps.states {
		w.steps.states[i].full = false
	}
	for i := range w.coll.gatherings {
		w.coll.gatherings[i].full = nil
	}
	return true
}

// turn runs a process until it waits or ends.
func (w *worker) turn(id uint32) {
	i := id - w.lo
	p := &w.procs[i]
	v := &w.windows
	w.me, w.my, v.mine = i, &w.times[i], v.entries[int(i)<<v.log:(int(i)+1)<<v.log]
	k := &w.code.kinds[p.kind]
	if p.state == fresh {
		p.state = ready
		w.begin(&p.place)
	} else if !w.act(p, k, &w.code.calls[p.call]) {
		return
	} else {
		w.leave(p)
	}
	for w.err == nil && w.next(p, k) {
		if !w.act(p, k, &w.code.calls[p.call]) {
			break
		}
		w.leave(p)
	}
	if w.observer != nil {
		w.fail(w.report.flush(w.observer, id))
	}
	if w.clock < 0 {
		w.fail(program.Errorf("process %d is "+busyTooLong, id))
	}
}

// next moves to the next call that may take time or wait, and performs those before it. It returns false at the end.
func (w *worker) next(p *proc, k *kind) bool {
	calls, kids := w.code.calls, w.code.kids
	mask := uint64(1)<<w.windows.log - 1
	for p.top > 0 {
		f := &w.frames[p.stack+p.top-1]
		b := &w.code.blocks[f.block]
		for f.child < b.len {
			kid := kids[b.first+f.child]
			f.child++
			if kid&isCall == 0 {
				w.open(&p.place, kid)
				break
			}
			if p.calls&mask == 0 && !w.windows.fill(&w.ledger, w.lo+w.me, p) {
				return false
			}
			x := w.windows.mine[p.calls&mask]
			p.calls++
			if x != 0 {
				w.compute(p, x)
			}
			c := &calls[kid&^isCall]
			if c.form != anyCall && w.observer == nil && w.quick(p, k, c) {
				continue
			}
			p.call, p.at, p.enter = kid&^isCall, 0, p.cpu
			return true
		}
		if f.child == b.len && &w.frames[p.stack+p.top-1] == f {
			w.repeat(&p.place, f)
		}
	}
	return w.finish(p)
}

func (w *worker) compute(p *proc, x int64) {
	p.cpu += x
	w.clock |= x | p.cpu
	w.my.Compute += x
	w.events++
}

// finish spends the time after the last call. It returns false.
func (w *worker) finish(p *proc) bool {
	mask := uint64(1)<<w.windows.log - 1
	if p.calls&mask == 0 && !w.windows.fill(&w.ledger, w.lo+w.me, p) {
		return false
	}
	if x := w.windows.mine[p.calls&mask]; x != 0 {
		w.compute(p, x)
	}
	w.my.Finish, w.my.Calls = p.cpu, p.calls
	p.state = finished
	w.running--
	return false
}

// pairsHeld is how many times of calls a worker collects for the observer.
const pairsHeld = 512

func (w *worker) leave(p *proc) {
	w.my.add(w.code.calls[p.call].cat, p.cpu-p.enter)
	if w.observer == nil {
		return
	}
	w.fail(w.report.add(w.observer, w.lo+w.me, p.calls-1, p.enter, p.cpu, pairsHeld))
}

// act posts and completes the current call. It returns false if the process must wait.
func (w *worker) act(p *proc, k *kind, c *call) bool {
	ops := w.code.ops[c.first : c.first+c.n]
	for p.at < c.posts {
		if !w.post(p, k, &ops[p.at]) {
			return false
		}
		p.at++
	}
	return c.posts == c.n || w.complete(p, k, c, ops[c.posts:])
}

// quick performs a call with one message on an ordinary channel. It returns false if the call must wait or is not that simple.
func (w *worker) quick(p *proc, k *kind, c *call) bool {
	o := &w.code.ops[c.first]
	if c.form == onlySend || c.form == sendNow {
		ch := &w.chans[p.sendBase+k.at(o)]
		if ch.flags&unusualSend != 0 || ch.sent-ch.doneR >= 1<<w.limLog {
			return false
		}
		cpu := p.cpu
		if c.form == sendNow {
			if ch.sent != ch.doneS {
				return false
			}
			p.cpu = max(p.cpu, p.tx)
			ch.doneS++
		}
		w.sendNarrow(p, ch)
		w.my.Send += p.cpu - cpu
		return true
	}
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return true
	}
	ch := &w.chans[id]
	if c.form == onlyRecv {
		if ch.flags&unusualRecv != 0 {
			return false
		}
		ch.posted++
		return true
	}
	return ch.flags&unusualEnd == 0 && ch.posted == ch.doneR && ch.sent != ch.posted && w.recvOne(p, ch)
}

// recvOne receives a message that has arrived. It returns true.
func (w *worker) recvOne(p *proc, c *channel) bool {
	cpu := p.cpu
	p.cpu, p.rx = w.code.costs.List[c.cost].Receive(p.cpu, p.rx, *w.narrow(c, c.doneR))
	w.clock |= p.rx | p.cpu
	c.posted++
	c.doneR++
	w.wakeSender(c)
	w.my.Receive += p.cpu - cpu
	return true
}

// post performs a post of a call. It returns false if the process must wait.
func (w *worker) post(p *proc, k *kind, o *op) bool {
	switch o.kind {
	case program.PostRecv:
		w.postRecv(p, k, o)
	case program.FileIO:
		p.cpu += w.code.files[o.size]
		w.clock |= p.cpu
	case program.PostColl:
		return w.postColl(p, k, o)
	default:
		return w.postSend(p, k, o)
	}
	return true
}

func (w *worker) postSend(p *proc, k *kind, o *op) bool {
	id := p.sendBase + k.at(o)
	c := &w.chans[id]
	if c.flags&unusualSend != 0 {
		return w.postUnusual(p, o, id)
	}
	if c.sent-c.doneR >= 1<<w.limLog {
		p.state = crowded
		c.flags |= sendWaits
		return false
	}
	w.sendNarrow(p, c)
	return true
}

func (w *worker) sendNarrow(p *proc, c *channel) {
	x := &w.code.costs.List[c.cost]
	s := max(p.cpu, p.tx)
	arrival := s + x.Send + c.lat
	p.cpu += x.Send
	p.tx = s + x.Busy
	w.clock |= p.tx | arrival
	n := c.sent
	if n-c.first() >= 1<<c.capLog {
		w.room(c, n)
	}
	if c.capLog == 1 {
		c.slot[n&1] = arrival
	} else {
		*w.narrow(c, n) = arrival
	}
	w.sent(c)
}

// sent completes the post of a send.
func (w *worker) sent(c *channel) {
	c.sent++
	if !network.IsFree(c.cost) {
		w.my.Messages++
	}
	if c.flags&unwaited != 0 {
		c.doneS = c.sent
	}
	w.wakeReceiver(c)
}

// postUnusual is postSend without the fast path.
func (w *worker) postUnusual(p *proc, o *op, id uint32) bool {
	c := &w.chans[id]
	if c.flags&alias != 0 {
		id = c.ring
		c = &w.chans[id]
	}
	if c.flags&null != 0 {
		return true
	}
	if c.sent-c.doneR >= 1<<w.limLog && !(c.flags&tailed != 0 && w.tails[id].sends.over) {
		p.state = crowded
		c.flags |= sendWaits
		return false
	}
	if c.flags&tailed != 0 {
		if t := w.tails[id]; t.sends.beyond(t.limit, c.sent) {
			c.sent++
			return true
		}
	}
	n := o.size + uint32(c.flags&classBits)
	x := &w.code.costs.List[n]
	s := max(p.cpu, p.tx)
	request := o.kind == program.PostSync || o.kind == program.PostSend && !x.Eager
	arrival, data, mode := s+x.Send+c.lat, int64(0), int64(n)<<costShift
	p.cpu += x.Send
	if request {
		mode |= byRendezvous
		if o.kind == program.PostSync {
			mode |= bySync
		}
		p.tx = s + x.Busy - x.Wire
		data = max(p.tb, p.tx)
		p.tb = data + x.Busy
	} else {
		p.tx = s + x.Busy
	}
	w.clock |= p.tx | arrival | p.tb
	w.put(c, arrival, data, mode)
	if c.flags&toFar != 0 {
		w.mail.stamps(c, arrival, data, mode)
	}
	w.sent(c)
	return true
}

func (w *worker) postRecv(p *proc, k *kind, o *op) {
	id := w.recvEnd[p.recvBase+k.at(o)]
	if id == noChannel {
		return
	}
	c := &w.chans[id]
	if c.flags&unusualRecv != 0 && !w.leaveStamp(p, c, id) {
		return
	}
	c.posted++
}

// leaveStamp stores when a receive was posted, if the message may use rendezvous. It returns false for a receive without a partner, which
// it counts.
func (w *worker) leaveStamp(p *proc, c *channel, id uint32) bool {
	if c.flags&tailed != 0 {
		if t := w.tails[id]; t.receives.beyond(t.limit, c.posted) {
			c.posted++
			return false
		}
	}
	if c.flags&rendezvous == 0 {
		return true
	}
	w.room(c, c.posted)
	w.wide(c, c.posted)[slotPosted] = p.cpu
	if c.flags&fromFar != 0 {
		w.mail.answer(c, p.cpu)
	} else {
		w.wakeSender(c)
	}
	return true
}
