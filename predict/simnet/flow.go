package simnet

import (
	"context"
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
)

// Dataflow runs a program with the dataflow engine and returns the times of processes [lo, hi), which are those of this
// rank: the ranks of c own adjoining ranges, in their order, and all processes together. Result and errors do not depend
// on the number of ranks and workers. A program that stops for ever gives a *Deadlock on all ranks.
//
// A process runs until it needs a time stamp that is not there. All clocks are compositions of maxima and sums over stamps
// that the program alone determines, so the order in which processes run does not matter, and there is no queue of events.
//
// Memory: about 190 bytes and 64 for each channel of a process, and 8 to 32 for each message under way that the first two
// are not; nothing grows with the length of the program. Collective.
func Dataflow(ctx context.Context, c mpi.Comm, lo, hi uint32, p *Program, calc Calc, n *Network, o Options) (*Result, error) {
	r, err := newRun(ctx, lo, hi, p, calc, n, o)
	if err != nil {
		return nil, err
	}
	return r.simulate()
}

// checkEvery is the number of turns of processes after which a worker looks whether it is to stop.
const checkEvery = 256

// defaultRing is how many messages a sender may be ahead of the receiver.
const defaultRing = 64

// worker runs adjoining processes, alone: what leads to those of others goes through messages.
type worker struct {
	ctx      context.Context
	code     *code
	calc     Calc
	observer Observer

	lo, hi   uint32
	procs    []proc
	times    []ProcessTimes
	frames   []frame
	entries  []int64 // of the computation vectors, 1 << calcLog for each process
	calcLog  uint8
	limLog   uint8
	chans    []channel
	recvEnd  []uint32 // channel of each port to receive
	words    []int64  // rings; word 0 is not used
	free     [32][]uint32
	tails    map[uint32]*tail
	holes    map[holeKey][]uint32
	closing  map[holeKey]progress
	ready    []uint32 // processes
	crowded  []uint32 // channels
	running  int      // processes that have not ended
	err      error
	clock    int64 // all clocks and stamps ored together: negative after an overflow
	events   uint64
	unpaired uint64

	// Of the process that runs.
	me        uint32 // relative to lo
	my        *ProcessTimes
	slow      bool
	recvs     []item
	sends     []item
	nulls     []item
	pairs     []int64 // enter and leave of calls that the observer does not know
	firstPair uint64
}

func (w *worker) owns(process uint32) bool { return process-w.lo < w.hi-w.lo }

// fail notes the first error; the worker stops.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// run is one simulation on one rank.
type run struct {
	ctx     context.Context
	workers []*worker
	lo, hi  uint32
}

func newRun(ctx context.Context, lo, hi uint32, p *Program, calc Calc, n *Network, o Options) (*run, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if lo > hi || int64(hi) > int64(len(p.Roots)) {
		return nil, programError("processes %d to %d of %d", lo, hi, len(p.Roots))
	}
	if n.Contention != NoContention || n.Policy == Arrival {
		return nil, fmt.Errorf("simnet: the dataflow engine knows no contention and no policy %q: use the event engine", "arrival")
	}
	c, err := compile(p, n)
	if err != nil {
		return nil, err
	}
	w, err := newWorker(ctx, c, lo, hi, calc, o)
	if err != nil {
		return nil, err
	}
	return &run{ctx: ctx, workers: []*worker{w}, lo: lo, hi: hi}, nil
}

// entriesOf returns the logarithm of how many entries of its vector a process holds: few where there are many processes.
func entriesOf(processes int) uint8 {
	const budget = 1 << 21
	return min(max(log2(budget/max(processes, 1)), 2), 8)
}

func newWorker(ctx context.Context, c *code, lo, hi uint32, calc Calc, o Options) (*worker, error) {
	count := int(hi - lo)
	w := &worker{
		ctx: ctx, code: c, calc: calc, observer: o.Observer, lo: lo, hi: hi,
		procs: make([]proc, count), times: make([]ProcessTimes, count), running: count,
		calcLog: entriesOf(len(c.program.Roots)), limLog: log2(o.Ring), words: make([]int64, 1),
		tails: map[uint32]*tail{}, holes: map[holeKey][]uint32{}, closing: map[holeKey]progress{},
	}
	if o.Ring <= 0 {
		w.limLog = log2(defaultRing)
	}
	if o.Observer != nil {
		w.pairs = make([]int64, 0, 512)
	}
	var sends, recvs, colls, depth uint64
	for i := range w.procs {
		p := &w.procs[i]
		p.kind = c.kindOf[c.program.Roots[lo+uint32(i)]]
		k := &c.kinds[p.kind]
		p.sendBase, p.recvBase, p.collBase, p.stack = uint32(sends), uint32(recvs), uint32(colls), uint32(depth)
		sends, recvs = sends+uint64(len(k.sends)), recvs+uint64(len(k.recvs))
		colls, depth = colls+uint64(len(k.colls)), depth+uint64(k.depth)
		w.events += k.events
	}
	if max(sends, recvs, colls, depth) >= noChannel {
		return nil, programError("more than 2^32 partners or open loops of all processes together")
	}
	w.frames, w.recvEnd = make([]frame, depth), make([]uint32, recvs)
	w.entries = make([]int64, count<<w.calcLog)
	for i := range w.recvEnd {
		w.recvEnd[i] = noChannel
	}
	if err := w.link(); err != nil {
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
			if err := context.Cause(w.ctx); err != nil {
				w.fail(err)
				return
			}
		}
		id := w.ready[len(w.ready)-1]
		w.ready = w.ready[:len(w.ready)-1]
		w.turn(id)
	}
}

// simulate runs the workers to the end.
func (r *run) simulate() (*Result, error) {
	w := r.workers[0]
	for {
		w.work()
		switch {
		case w.err != nil:
			return nil, w.err
		case w.running == 0:
			return r.result(), nil
		case !w.makeRoom():
			return nil, w.deadlock()
		}
	}
}

// makeRoom lets all senders go further ahead that wait for nothing else; false if there are none.
func (w *worker) makeRoom() bool {
	some := false
	for _, id := range w.crowded {
		c := &w.chans[id]
		if c.flags&sendWaits == 0 || c.sent-c.doneR < 1<<c.limLog {
			continue
		}
		some = true
		c.limLog++
		c.flags &^= sendWaits
		w.ready = append(w.ready, c.src)
	}
	for _, id := range w.crowded {
		w.chans[id].flags &^= listed
	}
	w.crowded = w.crowded[:0]
	return some
}

func (r *run) result() *Result {
	w := r.workers[0]
	res := &Result{First: r.lo, Times: w.times, Events: w.events, Unmatched: w.unpaired}
	for i := range w.times {
		res.Makespan = max(res.Makespan, w.times[i].Finish)
	}
	return res
}
