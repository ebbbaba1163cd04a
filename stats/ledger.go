package stats

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// amounts are running totals of a location up to an instant: ticks, then points, which count from their begin, then what counts from its
// completion.
type amounts [numAmounts]uint64

// Indices of amounts.
const (
	amountMPI = iota
	amountP2P
	amountStart
	amountColl
	amountNxN
	amountBarrier
	amountFileIO
	amountRMA
	amountManagement
	amountIO
	amountMarker
	amountOverlap // computation while a request is open
	amountDeviceCall
	amountDeviceWait
	amountLock
	amountOverhead
	amountSetup // part of amountManagement
	amountThreadWait
	amountPolling
	amountCalls
	amountSends
	amountBytesOut
	amountCollectives
	amountCollOut
	amountCollIn
	amountReceives
	amountBytesIn
	numAmounts

	firstPoint      = amountSends // the first point of MPI calls
	firstCompletion = amountReceives
)

// amountItems are the items of components that amounts add to.
var amountItems = [numAmounts]xtf.Item{
	amountMPI: xtf.ItemMPI, amountP2P: xtf.ItemP2P, amountStart: xtf.ItemStart, amountColl: xtf.ItemColl, amountNxN: xtf.ItemNxN,
	amountBarrier: xtf.ItemBarrier, amountFileIO: xtf.ItemFileIO, amountRMA: xtf.ItemRMA, amountManagement: xtf.ItemManagement,
	amountIO: xtf.ItemIO, amountMarker: xtf.ItemMarker, amountOverlap: xtf.ItemOverlap,
	amountDeviceCall: xtf.ItemDeviceCall, amountDeviceWait: xtf.ItemDeviceWait, amountLock: xtf.ItemLockWait, amountOverhead: xtf.ItemOverhead, amountSetup: xtf.ItemSetup, amountThreadWait: xtf.ItemThreadWait, amountPolling: xtf.ItemPolling,
	amountCalls: xtf.ItemCalls, amountSends: xtf.ItemSends, amountBytesOut: xtf.ItemBytesOut,
	amountCollectives: xtf.ItemCollectives, amountCollOut: xtf.ItemCollOut, amountCollIn: xtf.ItemCollIn,
	amountReceives: xtf.ItemReceives, amountBytesIn: xtf.ItemBytesIn,
}

// amountOf returns the amount of an item.
func amountOf(i xtf.Item) int { return slices.Index(amountItems[:], i) }

// stateTimes are the amounts of states.
var stateTimes = func() (list [trace.NumStates]int) {
	for s, x := range xtf.States {
		list[s] = amountOf(x.Item)
	}
	return list
}()

// timesOf returns the amounts to which the time of an outermost MPI call of a class adds, as bits.
func timesOf(c trace.CallClass) uint32 {
	times := uint32(1 << amountMPI)
	for _, x := range xtf.ClassItems {
		if uint32(c)&x.Class != 0 {
			times |= 1 << amountOf(x.Item)
		}
	}
	return times
}

// tallies are the amounts that the records of one MPI call add.
type tallies [numAmounts - firstPoint]uint64

// outermost is an outermost MPI call that is over.
type outermost struct {
	enter, leave uint64
	times        uint32 // see timesOf
	marker       bool
	counted      bool // it has operations
	ops          tallies
}

// ledger keeps the amounts of one location. It gives the amounts at the borders of executions, exactly also inside of calls.
//
// It adds an MPI call when the call is over, and known to be a marker or not. A border after the begin of a call that is not added yet waits
// in the queue, as does a border of the newest tick, at which more may happen. Memory: 240 bytes for each border that waits, and for each
// open execution.
type ledger struct {
	at       *location
	overhead overheadSpans

	sum     amounts
	since   uint64  // begin of the current time outside of MPI, or of the part that is not added
	enterT  uint64  // time of the newest enter
	calls   uint64  // number of calls before enterT
	opsT    uint64  // begin of the newest MPI call with operations
	ops     tallies // amounts before opsT
	flushed uint64  // end of the newest flush of the tracer's buffer
	off     bool    // the measurement is switched off
	queue   []border
	waiting []waiting
}

// waiting is an MPI call that is over, but not yet known to be a marker or not.
type waiting struct {
	outermost
	n uint64 // row in CALL, still open; Never without rows
}

// border is a begin or an end of an execution, on its way to executions.
type border struct {
	t    uint64
	at   amounts // before t
	kind borderKind
	key  interval.Key
}

// spans adds the ticks of call c before t.
func (a *amounts) spans(c *outermost, t uint64) {
	took := min(c.leave, t) - c.enter
	if c.marker {
		a[amountMarker] += took
		return
	}
	for m := c.times; m != 0; m &= m - 1 {
		a[bits.TrailingZeros32(m)] += took
	}
}

// counts adds the operations of call c, amounts first to end-1.
func (a *amounts) counts(c *outermost, first, end int) {
	for i := first; i < end; i++ {
		a[i] += c.ops[i-firstPoint]
	}
}

// enter counts a call that begins at now.
func (g *ledger) enter(now uint64) {
	if now != g.enterT {
		g.enterT, g.calls = now, g.sum[amountCalls]
	}
	g.sum[amountCalls]++
}

// settle adds an MPI call. Calls come in the order of their begins.
func (g *ledger) settle(c *outermost) {
	if c.counted {
		if c.enter != g.opsT {
			g.opsT = c.enter
			copy(g.ops[:], g.sum[firstPoint:])
		}
		g.sum.counts(c, firstPoint, numAmounts)
	}
	g.sum.spans(c, c.leave)
	if len(g.queue) > 0 {
		g.distribute(c)
	}
}

// distribute adds an MPI call to the queued borders after its begin.
func (g *ledger) distribute(c *outermost) {
	for i := range g.queue {
		b := &g.queue[i]
		if c.enter < b.t {
			b.at.spans(c, b.t)
			b.at.counts(c, firstPoint, firstCompletion)
		}
		if c.leave <= b.t {
			b.at.counts(c, firstCompletion, numAmounts)
		}
	}
}

// soFar returns the amounts before t, without MPI calls that are not added yet. Newer events must be of tick t. calls is the number of
// calls before t.
func (g *ledger) soFar(t, calls uint64) amounts {
	a := g.sum
	a[amountCalls] = calls
	if t == g.opsT {
		copy(a[firstPoint:firstCompletion], g.ops[:])
	}
	return a
}

// callsBefore returns the number of calls before t, which must not be before the newest enter.
func (g *ledger) callsBefore(t uint64) uint64 {
	if t == g.enterT {
		return g.calls
	}
	return g.sum[amountCalls]
}

// add adds a border to the queue, which is sorted by time.
func (g *ledger) add(b border) {
	i := len(g.queue)
	g.queue = append(g.queue, b)
	for ; i > 0 && g.queue[i-1].t > b.t; i-- {
		g.queue[i] = g.queue[i-1]
	}
	g.queue[i] = b
}

// cut adds the time outside of MPI since the last cut to the amounts: to overhead if records say so, else to the state of the outermost or
// innermost call; CPU time also to the overlap of computation and requests.
func (g *ledger) cut() {
	if g.at.mpi.depth > 0 {
		return
	}
	if g.off {
		g.overhead.off.Worst += g.at.now - min(max(g.since, g.flushed), g.at.now)
	}
	g.piece(&g.sum, g.at.now)
	g.since = g.at.now
}

// piece adds the time outside of MPI from g.since to t.
func (g *ledger) piece(a *amounts, t uint64) {
	from := g.since
	if g.flushed > from {
		from = min(t, g.flushed)
		a[amountOverhead] += from - g.since
	}
	switch s := g.at.alone(); {
	case g.off:
		a[amountOverhead] += t - from
		return
	case g.at.mpi.asides > 0:
		a[g.at.mpi.aside] += t - from
		return
	case s != trace.StateOwn:
		a[stateTimes[s]] += t - from
		if xtf.States[s].Activity != xtf.ActivityCPU {
			return
		}
	}
	if g.at.requests.n > 0 {
		a[amountOverlap] += t - from
	}
}

// amountsAt returns the amounts before t. There must be no event after t.
func (g *ledger) amountsAt(t uint64) amounts {
	a := g.soFar(t, g.callsBefore(t))
	if g.at.mpi.depth == 0 {
		g.piece(&a, t)
	}
	return a
}

// amountsAtCall returns the amounts before the open MPI call.
func (g *ledger) amountsAtCall() amounts { return g.soFar(g.at.mpi.enter, g.at.mpi.calls) }

// tally counts an operation and the bytes that it moves: in the open MPI call, or outside of calls at once.
func (g *ledger) tally(operation int, bytes, received uint64) {
	c := &g.at.mpi.outermost
	if g.at.mpi.depth == 0 {
		c = &outermost{enter: g.at.now, leave: g.at.now, marker: true}
	}
	c.counted = true
	o := c.ops[operation-firstPoint:]
	o[0]++
	o[1] += bytes
	if received > 0 {
		o[2] += received
	}
	if g.at.mpi.depth == 0 {
		g.settle(c)
	}
}
