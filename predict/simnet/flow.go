package simnet

import (
	"context"
	"errors"

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
	if n.Contention != NoContention || n.Policy == Arrival {
		return nil, errors.New("simnet: contention and the policy arrival need the event engine")
	}
	r, err := newRun(ctx, c, lo, hi, p, calc, n, o)
	if err != nil {
		return nil, err
	}
	return r.simulate()
}

// checkEvery is the number of turns of processes after which a worker looks at its mail and whether it is to stop.
const checkEvery = 256

// defaultRing is how many messages a sender may be ahead of the receiver.
const defaultRing = 64

// worker runs adjoining processes, alone: what leads to those of others goes through messages.
type worker struct {
	run      *run
	self     int // number among the workers of all ranks
	desk     desk
	out      [][]uint64 // records for each worker
	unsent   []int      // workers for which there may be some
	ctx      context.Context
	code     *code
	calc     Calc
	observer Observer

	lo, hi  uint32
	procs   []proc
	times   []ProcessTimes
	frames  []frame
	entries []int64 // of the computation vectors, 1 << calcLog for each process
	calcLog uint8
	limLog  uint8
	chans   []channel
	recvEnd []uint32 // channel of each port to receive
	words   []int64  // rings; word 0 is not used
	free    [32][]uint32
	tails   map[uint32]*tail
	holes   map[holeKey][]uint32
	closing map[holeKey]progress
	ready   []uint32 // processes
	crowded []uint32 // channels
	running int      // processes that have not ended
	// Collective operations. The tables are there when the program has any.
	inColl       []collState // of each process
	entered      []uint64    // of each process and communicator: operations entered
	pending      [][]pending
	messages     pairs
	stepCosts    [256]stepCost
	gatherings   []gathering // of each communicator
	meetings     map[meetingKey]*meeting
	crowdedColl  []uint32 // processes, relative to lo
	crowdedComms []uint32

	// Where processes stop, see skipper: in which outermost loop, counted from 1, and with how many iterations left.
	stopLoop uint32
	stopLeft uint64
	stopped  int
	mark     mark

	err      error
	clock    int64 // all clocks and stamps ored together: negative after an overflow
	events   uint64
	unpaired uint64

	// Of the process that runs.
	me        uint32 // relative to lo
	my        *ProcessTimes
	mine      []int64 // entries of its vector
	slow      bool
	ins, outs []uint32 // channels of what a call completes
	arrivals  []int64
	dma       bool
	recvs     []item
	sends     []item
	nulls     []item
	leaving   []leaving
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

// entriesOf returns the logarithm of how many entries of its vector a process holds: few where there are many processes.
func entriesOf(processes int) uint8 {
	const budget = 1 << 21
	return min(max(log2(budget/max(processes, 1)), 2), 5)
}

func newWorker(ctx context.Context, r *run, number int, calc Calc, o Options) (*worker, error) {
	c, lo, hi := r.code, r.begins[number], r.end(number)
	count := int(hi - lo)
	w := &worker{
		run: r, self: number, desk: desk{wake: make(chan struct{}, 1)}, out: make([][]uint64, len(r.begins)),
		ctx: ctx, code: c, calc: calc, observer: o.Observer, lo: lo, hi: hi,
		procs: make([]proc, count), times: make([]ProcessTimes, count), running: count,
		calcLog: entriesOf(len(c.program.Roots)), limLog: log2(o.Ring), words: make([]int64, 1),
		ins: make([]uint32, c.most), outs: make([]uint32, c.most), arrivals: make([]int64, c.most), dma: c.network.Policy == DMA,
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
	if colls > 0 {
		w.makeColls(colls)
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

// makeColls makes the tables for collective operations.
func (w *worker) makeColls(colls uint64) {
	w.inColl = make([]collState, len(w.procs))
	for i := range w.inColl {
		w.inColl[i].limLog = w.limLog
	}
	w.entered, w.pending = make([]uint64, colls), make([][]pending, colls)
	w.meetings = map[meetingKey]*meeting{}
	w.gatherings = make([]gathering, len(w.code.program.Comms))
	for i := range w.gatherings {
		w.gatherings[i].limLog = w.limLog
	}
	for i := range w.procs {
		k := &w.code.kinds[w.procs[i].kind]
		for j, port := range k.colls {
			comm := w.code.ports[port].comm
			w.gatherings[comm].local++
			w.unpaired += k.enters[j] - w.code.limits[comm]
		}
	}
}

// work runs processes until none is ready.
func (w *worker) work() {
	for turns := 0; len(w.ready) > 0 && w.err == nil; turns++ {
		if turns%checkEvery == 0 {
			w.read()
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
	return w.makeRoomColl() || some
}
