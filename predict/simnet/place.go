package simnet

import "github.com/coppice-hpc/coppice/predict/simnet/program"

// What both engines share: the place of each process in its program, network interfaces, and the ledger of a run.

// ledger is what all parts of an engine need of a run.
type ledger struct {
	err       error
	clock     int64    // bitwise or of all clocks and stamps: negative after an overflow
	ready     []uint32 // processes that can continue
	events    uint64
	unmatched uint64
	limLog    uint8 // log2 of how many messages a sender may be ahead of its receiver, and of the most meetings of a communicator
}

// fail stores the first error; the engine then stops.
func (l *ledger) fail(err error) {
	if l.err == nil && err != nil {
		l.err = err
	}
}

// busyTooLong is the text of the error that a clock has overflowed.
const busyTooLong = "busy for more than 106 days, the range of a clock, or computes for a negative time"

// nic is when a network interface is free, in ps.
type nic struct {
	tx int64 // to send small messages and requests
	tb int64 // to send the data of rendezvous
	rx int64 // to receive
}

// place is the place of a process in its program, and in the tables of its engine.
type place struct {
	calls    uint64 // calls begun
	enter    int64  // when the current call began
	sendBase uint32 // of ports that send
	recvBase uint32
	collBase uint32 // of communicators
	stack    uint32 // in cursors.frames
	top      uint32 // open blocks
	kind     uint32
	call     uint32 // the current call
	at       uint32 // its next action
}

// frame is an open block: next child, and iterations left including the current one.
type frame struct {
	block, child uint32
	left         uint64
}

// cursors move processes through their programs.
type cursors struct {
	code   *code
	frames []frame
}

// extent is how many entries the processes of an engine need in its tables.
type extent struct{ sends, recvs, colls, depth uint64 }

// place puts processes [lo, lo+count) at the begin of their programs.
func (c *cursors) place(book *ledger, lo uint32, count int, of func(i int) *place) (e extent, err error) {
	for i := range count {
		p := of(i)
		p.kind = c.code.kindOf[int(lo)+i]
		k := &c.code.kinds[p.kind]
		p.sendBase, p.recvBase, p.collBase, p.stack = uint32(e.sends), uint32(e.recvs), uint32(e.colls), uint32(e.depth)
		e.sends, e.recvs = e.sends+uint64(len(k.sends)), e.recvs+uint64(len(k.recvs))
		e.colls, e.depth = e.colls+uint64(len(k.colls)), e.depth+uint64(k.depth)
		book.events += k.events
	}
	if max(e.sends, e.recvs, e.colls, e.depth) >= noChannel {
		return e, program.Errorf("more than 2^32 partners or open loops of all processes together")
	}
	c.frames = make([]frame, e.depth)
	return e, nil
}

func (c *cursors) begin(p *place) { c.open(p, c.code.kinds[p.kind].entry) }

func (c *cursors) open(p *place, node uint32) {
	if b := &c.code.blocks[node]; b.len > 0 {
		c.frames[p.stack+p.top] = frame{block: node, left: b.count}
		p.top++
	}
}

// repeat moves to the next iteration of the innermost block, or closes it.
func (c *cursors) repeat(p *place, f *frame) {
	f.left--
	f.child = 0
	if f.left == 0 {
		p.top--
	}
}

// next moves to the next call. It returns false at the end.
func (c *cursors) next(p *place) bool {
	for p.top > 0 {
		f := &c.frames[p.stack+p.top-1]
		b := &c.code.blocks[f.block]
		if f.child == b.len {
			c.repeat(p, f)
			continue
		}
		kid := c.code.kids[b.first+f.child]
		f.child++
		if kid&isCall != 0 {
			p.call = kid &^ isCall
			return true
		}
		c.open(p, kid)
	}
	return false
}

func (c *cursors) node(p *place) program.NodeID {
	f := &c.frames[p.stack+p.top-1]
	if int64(f.block) >= int64(len(c.code.program.Nodes)) {
		return c.code.kinds[p.kind].root
	}
	return c.code.program.Children[c.code.blocks[f.block].first+f.child-1]
}

// report has times of consecutive calls of a process that were not passed to the observer yet.
type report struct {
	first uint64
	times []int64 // begin and end of each call
}

// add adds a call. If there are most times it passes all to the observer.
func (r *report) add(o Observer, process uint32, call uint64, begin, end int64, most int) error {
	if len(r.times) == 0 {
		r.first = call
	}
	if r.times = append(r.times, begin, end); len(r.times) >= most {
		return r.flush(o, process)
	}
	return nil
}

// flush passes the times to the observer.
func (r *report) flush(o Observer, process uint32) error {
	if len(r.times) == 0 {
		return nil
	}
	err := o.Calls(process, r.first, r.times)
	r.times = r.times[:0]
	return err
}
