package simnet

// proc is a process: clocks, a place in the program, and where its ends of channels begin in the worker's tables.
type proc struct {
	cpu      int64 // ps, like all clocks
	tx       int64 // network interface: small messages and requests
	tb       int64 // data of rendezvous
	rx       int64 // receipt
	enter    int64 // when the current call began
	calls    uint64
	sendBase uint32 // first channel to send on
	recvBase uint32 // in worker.recvEnd
	collBase uint32
	stack    uint32 // in worker.frames
	top      uint32 // open blocks
	kind     uint32
	call     uint32 // the current one
	at       uint32 // its next action
	loops    uint32 // outermost loops begun
	outer    uint16 // open blocks when the outermost loop began, itself included; 0 outside
	state    procState
	aliases  bool // several ports lead to one channel
}

// procState is why a process does not run.
type procState uint8

const (
	fresh procState = iota // has not begun
	ready                  // in a call
	blocked
	crowded // the ring of a channel is full: the simulator's limit, not the program's
	stopped // at the end of an iteration, see skipper
	finished
)

// frame is an open block: the next child, and iterations left with the current one.
type frame struct {
	block, child uint32
	left         uint64
}

// turn runs a process until it waits or ends.
func (w *worker) turn(id uint32) {
	i := id - w.lo
	p := &w.procs[i]
	w.me, w.my = i, &w.times[i]
	w.mine = w.entries[int(i)<<w.calcLog : (int(i)+1)<<w.calcLog]
	k := &w.code.kinds[p.kind]
	if p.state == fresh {
		p.state = ready
		w.open(p, k.entry)
	} else if p.state == stopped {
		p.state = ready
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
	w.observe()
	if w.clock < 0 {
		w.fail(programError("process %d is busy for more than 106 days, the range of a clock, or computes for a negative time", id))
	}
}

// open begins a block.
func (w *worker) open(p *proc, node uint32) {
	if b := &w.code.blocks[node]; b.len > 0 {
		w.frames[p.stack+p.top] = frame{block: node, left: b.count}
		p.top++
		if b.count >= leastLoop && p.outer == 0 {
			p.outer = uint16(p.top)
			p.loops++
		}
	}
}

// repeat goes on to the next iteration of the innermost block, or ends it; false if the process is to stop there.
func (w *worker) repeat(p *proc, f *frame) bool {
	f.left--
	outer := uint32(p.outer) == p.top
	if f.left == 0 {
		p.top--
		if outer {
			p.outer = 0
		}
		return true
	}
	f.child = 0
	if outer && p.loops == w.stopLoop && f.left == w.stopLeft {
		p.state = stopped
		w.stopped++
		return false
	}
	return true
}

// next goes on to the next call that may take time or wait, and performs the others on the way; false at the end.
func (w *worker) next(p *proc, k *kind) bool {
	calls, kids := w.code.calls, w.code.kids
	mask := uint64(1)<<w.calcLog - 1
	for p.top > 0 {
		f := &w.frames[p.stack+p.top-1]
		b := &w.code.blocks[f.block]
		for f.child < b.len {
			kid := kids[b.first+f.child]
			f.child++
			if kid&isCall == 0 {
				w.open(p, kid)
				break
			}
			if p.calls&mask == 0 && !w.fill(p) {
				return false
			}
			x := w.mine[p.calls&mask]
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
			if !w.repeat(p, f) {
				return false
			}
		}
	}
	return w.finish(p)
}

// fill fetches the entries of the vector from the next call on.
func (w *worker) fill(p *proc) bool {
	if err := w.calc.Fill(w.lo+w.me, p.calls, w.mine); err != nil {
		w.fail(err)
		return false
	}
	return true
}

// compute spends time between calls.
func (w *worker) compute(p *proc, x int64) {
	p.cpu += x
	w.clock |= x | p.cpu
	w.my.Compute += x
	w.events++
}

// finish spends the time behind the last call. It returns false.
func (w *worker) finish(p *proc) bool {
	if p.calls&(1<<w.calcLog-1) == 0 && !w.fill(p) {
		return false
	}
	if x := w.mine[p.calls&(1<<w.calcLog-1)]; x != 0 {
		w.compute(p, x)
	}
	w.my.Finish, w.my.Calls = p.cpu, p.calls
	p.state = finished
	w.running--
	return false
}

// leave ends a call.
func (w *worker) leave(p *proc) {
	w.my.add(w.code.calls[p.call].cat, p.cpu-p.enter)
	if w.observer == nil {
		return
	}
	if len(w.pairs) == 0 {
		w.firstPair = p.calls - 1
	}
	if w.pairs = append(w.pairs, p.enter, p.cpu); len(w.pairs) == cap(w.pairs) {
		w.observe()
	}
}

// observe hands the times of the calls that ended to the observer.
func (w *worker) observe() {
	if len(w.pairs) == 0 {
		return
	}
	if err := w.observer.Calls(w.lo+w.me, w.firstPair, w.pairs); err != nil {
		w.fail(err)
	}
	if w.mark.kept {
		w.mark.log[w.me] = append(w.mark.log[w.me], w.pairs...)
	}
	w.pairs = w.pairs[:0]
}

// act posts and completes what the current call does; false if the process has to wait.
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
