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
	k := &w.code.kinds[p.kind]
	running := p.state != fresh || w.begin(p, k)
	for running {
		running = w.act(p, k, &w.code.calls[p.call]) && w.leave(p) && w.next(p)
	}
	w.observe()
	if w.clock < 0 {
		w.fail(programError("process %d is busy for more than 106 days, the range of a clock, or computes for a negative time", id))
	}
}

// begin enters the first call of a process.
func (w *worker) begin(p *proc, k *kind) bool {
	p.state = ready
	b := &w.code.blocks[k.root]
	switch {
	case b.count == 0:
		return w.enter(p, b.first)
	case b.len > 0:
		w.open(p, uint32(k.root), b)
	}
	return w.next(p)
}

func (w *worker) open(p *proc, node uint32, b *block) {
	w.frames[p.stack+p.top] = frame{block: node, left: b.count}
	p.top++
}

// next moves a process to its next call; false at the end.
func (w *worker) next(p *proc) bool {
	blocks, children := w.code.blocks, w.code.program.Children
	for p.top > 0 {
		f := &w.frames[p.stack+p.top-1]
		b := &blocks[f.block]
		if f.child == b.len {
			if f.left--; f.left == 0 {
				p.top--
				continue
			}
			f.child = 0
		}
		node := children[b.first+f.child]
		f.child++
		if x := &blocks[node]; x.count == 0 {
			return w.enter(p, x.first)
		} else if x.len > 0 {
			w.open(p, uint32(node), x)
		}
	}
	if w.compute(p) {
		w.my.Finish, w.my.Calls = p.cpu, p.calls
	}
	p.state = finished
	w.running--
	return false
}

// enter computes, and begins a call.
func (w *worker) enter(p *proc, call uint32) bool {
	if !w.compute(p) {
		return false
	}
	p.call, p.at, p.enter = call, 0, p.cpu
	p.calls++
	return true
}

// compute spends the time before the next call, or after the last one.
func (w *worker) compute(p *proc) bool {
	at := p.calls & (1<<w.calcLog - 1)
	mine := w.entries[int(w.me)<<w.calcLog : (int(w.me)+1)<<w.calcLog]
	if at == 0 {
		if err := w.calc.Fill(w.lo+w.me, p.calls, mine); err != nil {
			w.fail(err)
			return false
		}
	}
	x := mine[at]
	p.cpu += x
	w.clock |= x | p.cpu
	w.my.Compute += x
	if x != 0 {
		w.events++
	}
	return true
}

// leave ends a call.
func (w *worker) leave(p *proc) bool {
	t, d := w.my, p.cpu-p.enter
	switch w.code.calls[p.call].cat {
	case inSend:
		t.Send += d
	case inReceive:
		t.Receive += d
	case inWait:
		t.Wait += d
	case inCollective:
		t.Collective += d
	case inFile:
		t.File += d
	}
	if w.observer == nil {
		return true
	}
	if len(w.pairs) == 0 {
		w.firstPair = p.calls - 1
	}
	w.pairs = append(w.pairs, p.enter, p.cpu)
	return len(w.pairs) < cap(w.pairs) || w.observe()
}

// observe hands the times of the calls that ended to the observer.
func (w *worker) observe() bool {
	if len(w.pairs) == 0 {
		return true
	}
	err := w.observer.Calls(w.lo+w.me, w.firstPair, w.pairs)
	w.pairs = w.pairs[:0]
	if err != nil {
		w.fail(err)
	}
	return err == nil
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
