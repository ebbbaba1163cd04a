package waits

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/heap"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Options choose among definitions of metrics.
type Options struct {
	PostPoint bool // potential synchronisation of receives counts from their posting
}

// Run has what the passes over all locations share. They run one after another.
type Run struct {
	Options
	Defs    *trace.Definitions
	Derived []bool  // by interval node: it is derived, such as a slice, and never the innermost one
	calls   []uint8 // by index of the region: waits that its calls do not have
	most    uint64  // the most of an item of a location, see xtf.Most
	done    *walk   // of the location before, for its memory
}

// NewRun prepares the pass over the locations of a trace.
func NewRun(defs *trace.Definitions, derived []bool, o Options) *Run {
	r := &Run{Options: o, Defs: defs, Derived: derived, calls: make([]uint8, len(defs.Regions)), most: xtf.Most(defs.NumLocations()), done: &walk{}}
	for i := range defs.Regions {
		x := &defs.Regions[i]
		if defs.Class(x)&trace.ClassInit != 0 {
			r.calls[i] |= callOutside
		}
		switch {
		case defs.IsExchange(x):
			r.calls[i] |= callSilent
		case defs.IsTest(x):
			r.calls[i] |= callSilent | callTests
		}
	}
	return r
}

// Waits that calls do not have.
const (
	callOutside = 1 << iota // any
	callSilent              // those of a sender: calls that send and receive in one, or only test
	callTests               // those in a collective: calls that only test
)

// without returns the waits that calls of a region do not have.
func (r *Run) without(region uint32) uint8 {
	i, ok := r.Defs.RegionIndex(region)
	if !ok {
		return callSilent
	}
	return r.calls[i]
}

// Rows are the messages and collectives of a location, each kind in its order. A row is valid until the next call.
type Rows interface {
	NextMessage() *xtf.Message       // nil after the last one
	NextCollective() *xtf.Collective // the same
	Err() error
}

// HostWait is a wait of a host for a device in CALL row CallN. Its path is one of the run.
type HostWait struct {
	xtf.Wait
	CallN uint64
}

// Location is the input of Locate.
type Location struct {
	Hosts      func() (*HostWait, error) // waits for devices, in order; nil after the last one. May be nil
	Rows       Rows
	Executions func() *xtf.Cursor // begins to read the IVAL rows
	Paths      []uint32           // by call path of the location: that of the run
	P          trace.P
}

// Follower gets the messages, collectives and waits that Locate walks through, each kind in order. Waits are still without wrong orders.
type Follower interface {
	Message(*xtf.Message)
	Collective(*xtf.Collective)
	Wait(*xtf.Wait)
	To(t uint64) error // all that begin before instant t have come
}

// Outputs is where Locate puts its results. The caller finishes the arrays.
type Outputs struct {
	Waits, Sums *xtf.ArrayBuilder    // rows of WAIT and WAITSUM
	Components  *interval.Components // of the location, to which Locate adds
	Scratch     xtf.Sink             // empty, for notes
	Follower    Follower
}

// A noted wait is its row, without wrong order, then u64 the number and the enter of its call.
const (
	waitCall  = xtf.WaitRowBytes
	waitEnter = waitCall + 8
	waitBytes = waitEnter + 8
)

// walk is the pass over one location.
type walk struct {
	run *Run
	in  *Location
	out *Outputs

	received receives
	waits    journal // see waitBytes
	past     uint64  // end of the newest wait
	orders   orders
	sends    heap.Heap[sentMessage] // whose completing calls have not come yet
	nodes    innermost

	added    additions
	sums     summing
	call     call         // the current one
	messages messageWaits // of the current call
	found    []wait       // in collectives of the current call
	row      xtf.Wait     // for the follower
	host     *HostWait    // the next one
	err      error
}

// additions are what the location adds to the items of its intervals.
type additions struct {
	receives   *interval.Sums       // of messages
	operations *interval.Sums       // of collectives
	counts     *interval.Sums       // of waits
	spans      *interval.Sums       // of waits
	most       uint64               // of an item, see xtf.Most
	total      [xtf.NumItems]uint64 // by item, of operations
	over       []xtf.Item           // those with more than most
}

// call is an MPI call with operations.
type call struct {
	n       uint64 // row in CALL
	enter   uint64
	region  uint32
	without uint8 // see Run.without
	path    uint32
}

// Locate finds the waits of one location. Spans of messages and collectives overlap, so the sum of an item may be more than xtf.Most:
// overflows counts the items that are set to 0 for that reason.
func (r *Run) Locate(in Location, out Outputs) (overflows uint64, err error) {
	intervals, err := openExecutions(&in)
	if err != nil {
		return 0, fmt.Errorf("location %d: %w", in.P, err)
	}
	w := newWalk(r, &in, &out, intervals)
	w.nextHost()
	w.rows()
	w.endCall()
	w.hosts(xtf.Never)
	w.fail(w.received.findOrders(&w.orders.journal))
	w.write()
	for _, s := range []*interval.Sums{w.added.receives, w.added.operations, w.added.counts, w.added.spans} {
		w.fail(s.Flush())
	}
	w.fail(in.Rows.Err())
	w.fail(w.nodes.rows.Err())
	if w.err != nil {
		return 0, fmt.Errorf("location %d: %w", in.P, w.err)
	}
	w.sums.write(out.Sums)
	for _, item := range w.added.over {
		out.Components.Forget(item)
	}
	return uint64(len(w.added.over)), nil
}

func newWalk(r *Run, in *Location, out *Outputs, intervals func() interval.Executions) *walk {
	done := r.done
	w := &walk{
		run: r, in: in, out: out, found: done.found[:0], call: call{n: xtf.Never, region: trace.Undefined, without: callSilent}, added: additions{most: r.most},
		received: receives{journal: done.received.again(out.Scratch, receiveBytes), call: xtf.Never},
		sends:    heap.Heap[sentMessage]{Before: sentMessage.before},
		waits:    done.waits.again(out.Scratch, waitBytes),
		orders:   orders{journal: done.orders.again(out.Scratch, orderBytes)},
		nodes:    innermost{rows: intervals(), derived: r.Derived},
		sums:     summing{at: map[place]*amount{}},
	}
	sums := func(items ...xtf.Item) *interval.Sums {
		return interval.NewSums(intervals(), out.Components, items...)
	}
	w.added.receives = sums(xtf.ItemSendRecv, xtf.ItemPotentialSync)
	w.added.operations = sums(xtf.ItemPotentialSync, xtf.ItemVariation)
	w.added.counts = sums(xtf.ItemWaitCount)
	w.added.spans = sums(append([]xtf.Item{xtf.ItemLateSenderSame, xtf.ItemLateSenderOther}, xtf.PatternItems[:]...)...)
	r.done = w
	return w
}

func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// rows takes messages, collectives and completions of sends by calls, in the order of time.
func (w *walk) rows() {
	rows := w.in.Rows
	m, c := rows.NextMessage(), rows.NextCollective()
	for w.err == nil {
		message := m != nil && (c == nil || w.messageFirst(m, c))
		switch {
		case w.sendFirst(m, c, message):
			x := w.sends.Pop()
			w.begin(x.Enter, x.callN, x.region, x.path)
			w.messages.completed(&x)
		case message:
			w.begin(m.T, m.CallN, m.Region, m.Path)
			w.message(m)
			w.out.Follower.Message(m)
			m = rows.NextMessage()
		case c != nil:
			w.begin(c.T, c.CallN, c.Region, c.Path)
			w.collective(c)
			w.out.Follower.Collective(c)
			c = rows.NextCollective()
		default:
			return
		}
	}
}

// sendFirst reports whether the next completion of a send comes before the next row. Calls that begin at one instant come by row, after
// rows outside of all calls at that instant.
func (w *walk) sendFirst(m *xtf.Message, c *xtf.Collective, message bool) bool {
	if len(w.sends.List) == 0 || m == nil && c == nil {
		return len(w.sends.List) > 0
	}
	x := &w.sends.List[0]
	var t, call uint64
	if message {
		t, call = m.T, m.CallN
	} else {
		t, call = c.T, c.CallN
	}
	return x.Enter < t || x.Enter == t && (x.callN <= call && call != xtf.Never || x.callN == w.call.n)
}

// messageFirst reports whether a message comes before a collective. At one instant rows of the current call come first, then rows outside
// of all calls, then those of the call that began first.
func (w *walk) messageFirst(m *xtf.Message, c *xtf.Collective) bool {
	if m.T != c.T {
		return m.T < c.T
	}
	switch a, b := m.CallN, c.CallN; {
	case w.call.n != xtf.Never && (a == w.call.n || b == w.call.n):
		return b != w.call.n
	case a == xtf.Never || b == xtf.Never:
		return a == xtf.Never
	default:
		return a <= b
	}
}

// begin makes a call the current one. An operation outside of all MPI calls is a call of its own.
func (w *walk) begin(t, call uint64, region, path uint32) {
	if call == w.call.n && call != xtf.Never {
		return
	}
	w.endCall()
	w.hosts(t)
	w.fail(w.out.Follower.To(w.call.enter)) // not t: a row that comes may wait from the probe before its call on
	w.call.n, w.call.enter = call, t
	if region != w.call.region {
		w.call.region, w.call.without = region, w.run.without(region)
	}
	if uint64(path) >= uint64(len(w.in.Paths)) {
		w.fail(fmt.Errorf("waits: location %d names call path %d of %d", w.in.P, path, len(w.in.Paths)))
		return
	}
	w.call.path = w.in.Paths[path]
}

// message takes the next message.
func (w *walk) message(m *xtf.Message) {
	if m.Late && sent(m.Kind) {
		w.send(m)
	}
	if noticed(m) {
		w.messages.noticed(m)
	}
	received := received(m.Kind)
	w.received.row(m, received)
	if received {
		w.messages.received(m)
		ready := readyAt(m)
		if w.run.PostPoint {
			ready = m.Post
		}
		w.added.receives.Completion(m.End, xtf.ItemSendRecv, w.added.checked(xtf.ItemSendRecv, m.End-min(m.MateT, m.End)))
		w.added.receives.Completion(m.End, xtf.ItemPotentialSync, w.added.checked(xtf.ItemPotentialSync, m.MateT-min(m.MateT, ready)))
	}
}

// send takes a send whose receiver came after the begin of the call that completes the send.
func (w *walk) send(m *xtf.Message) {
	without := w.call.without
	if m.Call.Region != w.call.region {
		without |= w.run.without(m.Call.Region)
	}
	if without&callSilent != 0 {
		return
	}
	x := newSent(m)
	if m.Kind&xtf.P2PNonBlocking == 0 {
		w.messages.completed(&x)
	} else {
		w.sends.Push(x)
	}
}

// collective takes the next collective.
func (w *walk) collective(c *xtf.Collective) {
	if w.call.without&callTests == 0 {
		w.found = collWaits(w.found, c)
	}
	if c.Ordinal != xtf.Never {
		w.added.operations.Point(c.T, xtf.ItemPotentialSync, w.added.checked(xtf.ItemPotentialSync, c.LastEnter-min(c.LastEnter, c.T)))
		w.added.operations.Point(c.T, xtf.ItemVariation, w.added.checked(xtf.ItemVariation, c.LastLeave-min(c.LastLeave, c.End)))
	}
}

// checked returns v, which an operation adds to an item; 0 if the item of the location is more than most.
func (a *additions) checked(item xtf.Item, v uint64) uint64 {
	switch {
	case slices.Contains(a.over, item):
		return 0
	case v > a.most-a.total[item]:
		a.over = append(a.over, item)
		return 0
	}
	a.total[item] += v
	return v
}

// endCall notes the waits of the current call.
func (w *walk) endCall() {
	if m := &w.messages; w.call.without&callOutside == 0 && (m.waits() || len(w.found) > 0) {
		w.found = m.append(w.found)
		for _, x := range apart(w.found, w.past) {
			w.past = x.to
			w.row = xtf.Wait{T: x.from, End: x.to, RecN: x.row, CauseP: x.cause, Pattern: x.pattern, Node: w.nodes.at(x.from), Path: w.call.path}
			w.note(w.call.n, w.call.enter)
			w.out.Follower.Wait(&w.row)
		}
	}
	w.messages.clear()
	w.found = w.found[:0]
}

// note adds w.row, a wait in a call with the given number and enter, to the journal.
func (w *walk) note(call, enter uint64) {
	b := w.waits.add()
	w.row.Put(b)
	xtf.SetU64(b, waitCall, call)
	xtf.SetU64(b, waitEnter, enter)
}

// hosts notes the waits for devices that begin before an instant. They are outside of MPI calls. The follower does not get them: it has
// them from causes.Within.
func (w *walk) hosts(t uint64) {
	for ; w.host != nil && w.host.T < t; w.nextHost() {
		enter := w.host.T
		if w.row = w.host.Wait; w.past < w.row.End {
			w.row.T = max(enter, w.past)
			w.row.Node, w.past = w.nodes.at(w.row.T), w.row.End
			w.note(w.host.CallN, enter)
		}
	}
}

func (w *walk) nextHost() {
	if w.host = nil; w.in.Hosts != nil && w.err == nil {
		var err error
		w.host, err = w.in.Hosts()
		w.fail(err)
	}
}

// write writes the WAIT rows, and adds the waits to the sums.
func (w *walk) write() {
	w.orders.at = w.orders.len()
	for i := range w.waits.len() {
		for b := range slices.Chunk(w.waits.block(i), waitBytes) {
			var x xtf.Wait
			if x.Load(b); x.Pattern == xtf.WaitLateSender {
				x.Pattern |= w.orders.of(x.RecN)
			}
			w.add(&x)
			w.out.Waits.Of(xtf.U64(b, waitCall), xtf.U64(b, waitEnter))
		}
	}
	w.fail(w.waits.err)
	w.fail(w.orders.err)
}

func (w *walk) add(x *xtf.Wait) {
	row, _ := w.out.Waits.Append()
	x.Put(row)
	w.added.spans.Span(x.T, x.End, xtf.PatternItem(x.Pattern))
	switch x.Pattern & xtf.WaitOrderMask {
	case xtf.WaitOrderSame:
		w.added.spans.Span(x.T, x.End, xtf.ItemLateSenderSame)
	case xtf.WaitOrderDifferent:
		w.added.spans.Span(x.T, x.End, xtf.ItemLateSenderOther)
	}
	w.added.counts.Point(x.T, xtf.ItemWaitCount, 1)
	w.sums.add(place{xtf.NodeKey(x.Node, x.Path), x.Pattern}, 1, x.End-x.T)
}
