package waits

import (
	"container/heap"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Options choose among definitions.
type Options struct {
	PostPoint bool // potential synchronisation of receives counts from their posting
}

// Run is what all locations share. It is read-only.
type Run struct {
	Options
	Defs    *trace.Definitions
	Derived []bool  // by interval node: slices and the like, which are not innermost
	calls   []uint8 // by index of the region: what its calls have not
	most    uint64  // of an item of a location, see xtf.Most
}

// NewRun prepares the pass over the locations of a trace.
func NewRun(defs *trace.Definitions, derived []bool, o Options) *Run {
	r := &Run{Options: o, Defs: defs, Derived: derived, calls: make([]uint8, len(defs.Regions)), most: xtf.Most(defs.NumLocations())}
	for i := range defs.Regions {
		x := &defs.Regions[i]
		if defs.Class(x)&trace.ClassInit != 0 {
			r.calls[i] |= callOutside
		}
		if defs.IsExchange(x) || defs.IsTest(x) {
			r.calls[i] |= callSilent
		}
	}
	return r
}

// Calls without some waits.
const (
	callOutside = 1 << iota // without any
	callSilent              // without those of a sender: calls that send and receive in one, or only test
)

// without returns what waits calls of a region do not have.
func (r *Run) without(region uint32) uint8 {
	i, ok := r.Defs.RegionIndex(region)
	if !ok {
		return callSilent
	}
	return r.calls[i]
}

// Location is what Locate reads of a location.
type Location struct {
	// Scan begins to read an array of finished rows; an array without rows is the
	// zero cursor.
	Scan      func(xtf.TypeID) *xtf.Cursor
	P2PRows   uint64
	CollRows  uint64
	P2PPaths  io.ReaderAt // of each P2P row the local call path of its call, u32 little-endian
	CollPaths io.ReaderAt // of each COLL row
	Causes    io.ReaderAt // of each COLL row an xtf.CollCause
	Sends     io.ReaderAt // xtf.SendCall of sends, in the order of their P2P rows
	SendCalls uint64      // of them
	Paths     []uint32    // the call path of the run for each of the location
	P         trace.P
}

// Outputs is where Locate puts what it finds. The caller finishes the arrays.
type Outputs struct {
	Waits, Sums *xtf.ArrayBuilder    // rows of WAIT and WAITSUM
	Components  *interval.Components // of the location, which has more already
	Scratch     xtf.Sink             // empty
}

// walk is the pass over one location.
type walk struct {
	run  *Run
	in   *Location
	out  *Outputs
	p2p  *xtf.Cursor
	coll *xtf.Cursor

	p2pPaths, collPaths, causes column

	received receives
	waits    journal // rows of WAIT, without orders
	past     uint64  // end of the newest one
	orders   orders
	sends    sentMessages
	sent     sentMessage // the newest one
	nodes    innermost

	receives   *interval.Sums // what messages add
	operations *interval.Sums // what collectives add
	counts     *interval.Sums // of waits
	spans      *interval.Sums
	sums       summing
	total      [xtf.NumItems]uint64 // what operations have added to an item
	over       []xtf.Item           // with more than xtf.Most

	// the call in hand
	call     uint64
	region   uint32
	without  uint8 // see Run.without
	path     uint32
	messages messageWaits
	found    []wait
	err      error
}

// messageColumns are the columns of P2P that the walk reads.
var messageColumns = []int{xtf.P2PEnd, xtf.P2PPost, xtf.P2PDone, xtf.P2PCallN, xtf.P2PRegion, xtf.P2PPeer, xtf.P2PKind, xtf.P2PMateP, xtf.P2PMateT}

// Locate finds the waits of one location. Spans of messages and collectives overlap, so that a location may have more of an item
// than can be added up over all: overflows counts the items that are 0 for that.
func (r *Run) Locate(in Location, out Outputs) (overflows uint64, err error) {
	intervals, err := openExecutions(&in)
	if err != nil {
		return 0, fmt.Errorf("location %d: %w", in.P, err)
	}
	w := newWalk(r, &in, &out, intervals)
	w.rows()
	w.endCall()
	w.fail(w.received.findOrders(&w.orders.journal))
	w.write()
	for _, s := range []*interval.Sums{w.receives, w.operations, w.counts, w.spans} {
		w.fail(s.Flush())
	}
	w.fail(w.p2p.Err())
	w.fail(w.coll.Err())
	w.fail(w.nodes.rows.Err())
	if w.err != nil {
		return 0, fmt.Errorf("location %d: %w", in.P, w.err)
	}
	w.sums.write(out.Sums)
	for _, item := range w.over {
		out.Components.Forget(item)
	}
	return uint64(len(w.over)), nil
}

func newWalk(r *Run, in *Location, out *Outputs, intervals func() interval.Executions) *walk {
	w := &walk{
		run: r, in: in, out: out, p2p: in.Scan(xtf.TypeP2P).Only(messageColumns...), coll: in.Scan(xtf.TypeColl), call: xtf.Never, region: trace.Undefined, without: callSilent,
		received:  receives{journal: journal{to: out.Scratch, width: receiveBytes}, call: xtf.Never},
		waits:     journal{to: out.Scratch, width: xtf.WaitRowBytes},
		orders:    orders{journal: journal{to: out.Scratch, width: orderBytes}},
		p2pPaths:  column{data: in.P2PPaths, width: 4, rows: in.P2PRows},
		collPaths: column{data: in.CollPaths, width: 4, rows: in.CollRows},
		causes:    column{data: in.Causes, width: xtf.CollCauseBytes, rows: in.CollRows},
		nodes:     innermost{rows: intervals(), derived: r.Derived},
		sums:      summing{at: map[place]*amount{}},
		sends:     sentMessages{rows: column{data: in.Sends, width: xtf.SendCallBytes, rows: in.SendCalls}},
	}
	sums := func(items ...xtf.Item) *interval.Sums {
		return interval.NewSums(intervals(), out.Components, items...)
	}
	w.receives = sums(xtf.ItemSendRecv, xtf.ItemPotentialSync)
	w.operations = sums(xtf.ItemPotentialSync, xtf.ItemVariation)
	w.counts = sums(xtf.ItemWaitCount)
	w.spans = sums(append([]xtf.Item{xtf.ItemLateSenderSame, xtf.ItemLateSenderOther}, xtf.PatternItems[:]...)...)
	return w
}

func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// rows merges messages and collectives by their calls, in the order of time.
func (w *walk) rows() {
	message, coll := w.p2p.Next(), w.coll.Next()
	for w.err == nil {
		first := message && (!coll || w.messageFirst())
		switch {
		case w.sendFirst(first, coll):
			x := heap.Pop(&w.sends).(sentMessage)
			w.begin(x.callN, x.region, x.path)
			w.messages.completed(&x)
		case first:
			w.message()
			message = w.p2p.Next()
		case coll:
			w.collective()
			coll = w.coll.Next()
		default:
			return
		}
	}
}

// sendFirst reports whether the next completion of a send comes before the next row: calls that begin at one instant stand
// in their order, behind what is outside of all calls at that instant.
func (w *walk) sendFirst(message, coll bool) bool {
	x := w.sends.next()
	if x == nil || !message && !coll {
		return x != nil
	}
	t, call := uint64(0), uint64(0)
	if message {
		t, call = xtf.U64(w.p2p.Row(), xtf.P2PT), xtf.U64(w.p2p.Row(), xtf.P2PCallN)
	} else {
		t, call = xtf.U64(w.coll.Row(), xtf.CollT), xtf.U64(w.coll.Row(), xtf.CollCallN)
	}
	return x.Enter < t || x.Enter == t && (x.callN <= call && call != xtf.Never || x.callN == w.call)
}

// messageFirst reports whether the next message comes before the next collective:
// at one instant what belongs to the call in hand is first, then what is outside of
// all calls, then the call that began first.
func (w *walk) messageFirst() bool {
	m, c := w.p2p.Row(), w.coll.Row()
	if a, b := xtf.U64(m, xtf.P2PT), xtf.U64(c, xtf.CollT); a != b {
		return a < b
	}
	switch a, b := xtf.U64(m, xtf.P2PCallN), xtf.U64(c, xtf.CollCallN); {
	case w.call != xtf.Never && (a == w.call || b == w.call):
		return b != w.call
	case a == xtf.Never || b == xtf.Never:
		return a == xtf.Never
	default:
		return a <= b
	}
}

// enter makes the call of the next row the one in hand.
func (w *walk) enter(call uint64, region uint32, paths *column, n uint64) {
	if call == w.call && call != xtf.Never {
		return
	}
	b, err := paths.at(n)
	if err != nil {
		w.fail(err)
		return
	}
	w.begin(call, region, xtf.U32(b, 0))
}

// begin makes a call the one in hand. An operation outside of all MPI calls is its own.
func (w *walk) begin(call uint64, region, path uint32) {
	if call == w.call && call != xtf.Never {
		return
	}
	w.endCall()
	w.call = call
	if region != w.region {
		w.region, w.without = region, w.run.without(region)
	}
	if uint64(path) >= uint64(len(w.in.Paths)) {
		w.fail(fmt.Errorf("waits: location %d names call path %d of %d", w.in.P, path, len(w.in.Paths)))
		return
	}
	w.path = w.in.Paths[path]
}

// message takes the next P2P row.
func (w *walk) message() {
	row, n := w.p2p.Row(), w.p2p.N()
	w.enter(xtf.U64(row, xtf.P2PCallN), xtf.U32(row, xtf.P2PRegion), &w.p2pPaths, n)
	kind := xtf.U32(row, xtf.P2PKind)
	if kind&xtf.P2PKindMask == xtf.P2PSend {
		w.send(n, row)
	}
	w.received.row(n, row, received(kind))
	if received(kind) {
		w.messages.received(n, row)
		end, sent, ready := xtf.U64(row, xtf.P2PEnd), xtf.U64(row, xtf.P2PMateT), readyAt(row)
		if w.run.PostPoint {
			ready = xtf.U64(row, xtf.P2PPost)
		}
		w.receives.Completion(end, xtf.ItemSendRecv, w.checked(xtf.ItemSendRecv, end-min(sent, end)))
		w.receives.Completion(end, xtf.ItemPotentialSync, w.checked(xtf.ItemPotentialSync, sent-min(sent, ready)))
	}
}

// send takes a P2P row of a send.
func (w *walk) send(n uint64, row []byte) {
	x := &w.sent
	ok, err := w.sends.take(x, n, row)
	w.fail(err)
	if !ok || (w.without|w.run.without(x.region))&callSilent != 0 {
		return
	}
	if xtf.U32(row, xtf.P2PKind)&xtf.P2PNonBlocking == 0 {
		w.messages.completed(x)
	} else {
		w.sends.add(*x)
	}
}

// collective takes the next COLL row.
func (w *walk) collective() {
	n := w.coll.N()
	var c xtf.Coll
	c.Load(w.coll.Row())
	w.enter(c.CallN, c.Region, &w.collPaths, n)
	b, err := w.causes.at(n)
	if err != nil {
		w.fail(err)
		return
	}
	var cause xtf.CollCause
	cause.Load(b)
	w.found = collWaits(w.found, n, &c, &cause)
	if c.Ordinal != xtf.Never {
		w.operations.Point(c.T, xtf.ItemPotentialSync, w.checked(xtf.ItemPotentialSync, c.LastEnter-min(c.LastEnter, c.T)))
		w.operations.Point(c.T, xtf.ItemVariation, w.checked(xtf.ItemVariation, c.LastLeave-min(c.LastLeave, c.End)))
	}
}

// checked returns what an operation adds to an item, 0 where the location has too much of it.
func (w *walk) checked(item xtf.Item, v uint64) uint64 {
	switch {
	case slices.Contains(w.over, item):
		return 0
	case v > w.run.most-w.total[item]:
		w.over = append(w.over, item)
		return 0
	}
	w.total[item] += v
	return v
}

// endCall notes the waits of the call in hand.
func (w *walk) endCall() {
	if m := &w.messages; w.without&callOutside == 0 && (m.waits() || len(w.found) > 0) {
		w.found = m.append(w.found)
		for _, x := range apart(w.found, w.past) {
			w.past = x.to
			r := xtf.Wait{T: x.from, End: x.to, RecN: x.row, CauseP: x.cause, Pattern: x.pattern, Node: w.nodes.at(x.from), Path: w.path}
			r.Put(w.waits.add())
		}
	}
	w.messages.clear()
	w.found = w.found[:0]
}

// write puts the waits into the rows and sums.
func (w *walk) write() {
	w.orders.begin()
	for i := range w.waits.len() {
		for b := range slices.Chunk(w.waits.block(i), xtf.WaitRowBytes) {
			var x xtf.Wait
			if x.Load(b); x.Pattern == xtf.WaitLateSender {
				x.Pattern |= w.orders.of(x.RecN)
			}
			w.add(&x)
		}
	}
	w.fail(w.waits.err)
	w.fail(w.orders.err)
}

// add puts a wait into the rows and sums.
func (w *walk) add(x *xtf.Wait) {
	row, _ := w.out.Waits.Append()
	x.Put(row)
	w.spans.Span(x.T, x.End, xtf.PatternItem(x.Pattern))
	switch x.Pattern & xtf.WaitOrderMask {
	case xtf.WaitOrderSame:
		w.spans.Span(x.T, x.End, xtf.ItemLateSenderSame)
	case xtf.WaitOrderDifferent:
		w.spans.Span(x.T, x.End, xtf.ItemLateSenderOther)
	}
	w.counts.Point(x.T, xtf.ItemWaitCount, 1)
	w.sums.add(place{xtf.NodeKey(x.Node, x.Path), x.Pattern}, 1, x.End-x.T)
}
