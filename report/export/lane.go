package export

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// lane draws one location: its calls with what happened in them, in one pass over the arrays side by side.
type lane struct {
	t       *timeline
	p       trace.P
	window  span
	unknown int
	last    uint64 // time of the last event drawn, ns
	open    []openCall
	drawn   uint64
	over    error // a time that a timeline cannot hold
	fed     bool
	p2p     xtf.Rows[xtf.P2P]
	coll    xtf.Rows[xtf.Coll]
	wait    xtf.Rows[xtf.Wait]
	event   event
}

// openCall is a slice that has begun.
type openCall struct {
	depth uint32
	end   uint64 // ns
	flows []uint64
}

// feed opens the arrays of what happens in calls, at the first call that needs them. In an MPI call that is open at the begin of
// the window, it is drawn at the time of that call. What happened in calls that have ended is not drawn.
func (l *lane) feed(x *xtf.Call) error {
	switch {
	case x.T >= l.window.begin:
		return l.feeds(l.window.begin)
	case x.Flags&xtf.FlagOutermostMPI != 0:
		return l.feeds(x.T)
	}
	return nil
}

// feeds opens the arrays from a time on, once.
func (l *lane) feeds(from uint64) error {
	if l.fed {
		return nil
	}
	l.fed = true
	return cmp.Or(feed(l, &l.p2p, xtf.TypeP2P, from), feed(l, &l.coll, xtf.TypeColl, from), feed(l, &l.wait, xtf.TypeWait, from))
}

// feed opens the rows from a time on.
func feed[T any, P xtf.Form[T]](l *lane, rows *xtf.Rows[T], id xtf.TypeID, from uint64) error {
	a, err := l.t.s.array(l.p, id)
	if err != nil {
		return err
	}
	first, last, err := l.t.s.between(a, from, l.window.end)
	if err != nil {
		return l.t.s.at(l.p, err)
	}
	*rows = xtf.RowsOf[T, P](a.Rows(first, last))
	rows.Next()
	return nil
}

// calls draws the calls and what happens in them.
func (l *lane) calls() error {
	err := l.t.s.overlapping(l.p, xtf.TypeCall, l.window.begin, l.window.end, func(n uint64, row []byte) error {
		if l.enough() {
			return errSampled
		}
		var x xtf.Call
		x.Load(row)
		if err := l.feed(&x); err != nil {
			return err
		}
		l.call(n, &x)
		return l.failed()
	})
	if err == nil {
		if err = l.feeds(l.window.begin); err == nil {
			l.outside(xtf.Never, xtf.Never)
		}
	}
	if err != nil && !errors.Is(err, errSampled) {
		return err
	}
	l.close(0)
	return errors.Join(l.over, l.p2p.Err(), l.coll.Err(), l.wait.Err())
}

// enough reports whether a sample has all the rows of an array that it needs, and counts one more.
func (l *lane) enough() bool {
	if l.t.part == nil {
		return false
	}
	l.drawn++
	return l.drawn > l.t.part.rows
}

// failed is the first error of what was drawn.
func (l *lane) failed() error { return cmp.Or(l.over, l.t.failed()) }

// time converts a time of the window to ns, not before the last event drawn.
func (l *lane) time(ticks uint64) uint64 {
	ticks = min(max(ticks, l.window.begin), l.window.end, xtf.Never-1)
	v, ok := l.t.clock.ns(ticks)
	if !ok {
		l.over = cmp.Or(l.over, fmt.Errorf("time of %d ticks does not fit into nanoseconds: %w", ticks, ErrRun))
	}
	return max(v, l.last)
}

func (l *lane) call(n uint64, x *xtf.Call) {
	l.outside(n, x.T)
	l.close(x.Depth)
	begin, end := l.time(x.T), l.time(x.End)
	if k := len(l.open); k > 0 {
		begin, end = min(begin, l.open[k-1].end), min(end, l.open[k-1].end)
	}
	l.last = begin
	e := &l.event
	e.args, e.flows = e.args[:0], e.flows[:0]
	e.category = l.t.states.of(x)
	var ok bool
	if e.region, ok = l.t.index[x.Region]; !ok {
		e.region = l.unknown
	}
	c := openCall{depth: x.Depth, end: max(begin, end)}
	l.messages(n, e, &c)
	l.collective(n, e)
	if x.Flags&xtf.FlagOutermostMPI != 0 {
		l.waits(x, e)
	}
	if x.T < l.window.begin || x.End > l.window.end {
		e.args = append(e.args, arg{name: argCut, text: cutText(x, l.window)})
	}
	l.open = append(l.open, c)
	l.t.drawn.Slices++
	l.t.sink.begin(begin, e)
}

func cutText(x *xtf.Call, w span) string {
	switch {
	case x.T >= w.begin:
		return "end"
	case x.End <= w.end:
		return "begin"
	}
	return "begin and end"
}

// close ends the open calls at depth and deeper.
func (l *lane) close(depth uint32) {
	for k := len(l.open); k > 0 && l.open[k-1].depth >= depth; k = len(l.open) {
		c := &l.open[k-1]
		l.last = max(l.last, c.end)
		l.t.sink.end(l.last, c.flows)
		l.open = l.open[:k-1]
	}
}

// flow returns the number of a message in the run, 0 if it has no flow because its other end is not in the timeline.
func (l *lane) flow(n uint64, m *xtf.P2P) uint64 {
	t := l.t
	if m.MateN == xtf.Never || uint64(m.MateP) >= uint64(len(t.windows)) || m.MateN >= t.count[m.MateP] ||
		!l.window.has(m.T) || !t.windows[m.MateP].has(m.MateT) {
		return 0
	}
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		return t.base[m.MateP] + m.MateN
	}
	return t.base[l.p] + n
}

// outside draws the messages before call n, which begins at t, that do not belong to a drawn call.
func (l *lane) outside(n, t uint64) {
	for m := &l.p2p.Row; l.p2p.More && (m.CallN < n || m.CallN == xtf.Never && m.T <= t); l.p2p.Next() {
		e := &l.event
		e.args, e.flows, e.category = l.messageArgs(e.args[:0], m), e.flows[:0], trace.StateP2P
		receive := m.Kind&xtf.P2PKindMask == xtf.P2PRecv
		if id := l.flow(l.p2p.Cursor.N(), m); id != 0 {
			e.flows = append(e.flows, id)
			l.countFlow(m)
		} else {
			l.t.drawn.OneEnded++
		}
		ns := l.time(m.T)
		if k := len(l.open); k > 0 {
			ns = min(ns, l.open[k-1].end)
		}
		l.last = ns
		l.t.sink.instant(ns, receive, e)
	}
}

// countFlow counts a message once, where it is received.
func (l *lane) countFlow(m *xtf.P2P) {
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		l.t.drawn.Flows++
	}
}

func (l *lane) messageArgs(dst []arg, m *xtf.P2P) []arg {
	if m.Peer != trace.Undefined {
		dst = append(dst, arg{name: argPeer, value: uint64(m.Peer)})
	}
	return append(dst, arg{name: argBytes, value: m.Bytes}, arg{name: argTag, value: uint64(m.Tag)}, l.comm(m.Comm))
}

func (l *lane) comm(ref uint32) arg {
	if name, ok := l.t.comms[ref]; ok {
		return arg{name: argComm, text: name}
	}
	return arg{name: argComm, value: uint64(ref)}
}

// messages annotates call n with its messages: one message with all details, several with their sums.
func (l *lane) messages(n uint64, e *event, c *openCall) {
	var sends, receives, sent, received uint64
	for m := &l.p2p.Row; l.p2p.More && m.CallN == n; l.p2p.Next() {
		id := l.flow(l.p2p.Cursor.N(), m)
		receive := m.Kind&xtf.P2PKindMask == xtf.P2PRecv
		switch {
		case id == 0:
			l.t.drawn.OneEnded++
		case receive:
			c.flows = append(c.flows, id)
		default:
			e.flows = append(e.flows, id)
		}
		if id != 0 {
			l.countFlow(m)
		}
		if sends+receives == 0 {
			e.args = l.messageArgs(e.args, m)
		}
		if receive {
			receives++
			received += m.Bytes
		} else {
			sends++
			sent += m.Bytes
		}
	}
	if sends+receives > 1 {
		e.args = append(e.args[:0], arg{name: argSends, value: sends}, arg{name: argReceives, value: receives},
			arg{name: argSent, value: sent}, arg{name: argReceived, value: received})
	}
}

// collective annotates call n with its collective operation, the last one if there are several.
func (l *lane) collective(n uint64, e *event) {
	for x := &l.coll.Row; l.coll.More && x.CallN <= n; l.coll.Next() {
		if x.CallN == n {
			e.args = append(e.args, l.comm(x.Comm), arg{name: argSent, value: x.Sent}, arg{name: argReceived, value: x.Received})
			if x.Root != trace.Undefined {
				e.args = append(e.args, arg{name: argRoot, value: uint64(x.Root)})
			}
		}
	}
}

// waits annotates an MPI call with the time it waited, the pattern of its longest wait, and the process that was late in it.
func (l *lane) waits(x *xtf.Call, e *event) {
	var ticks, longest uint64
	var worst xtf.Wait
	for w := &l.wait.Row; l.wait.More && w.T < x.End; l.wait.Next() {
		if d := w.End - w.T; w.End > w.T && w.End > x.T {
			ticks += d
			if d > longest {
				longest, worst = d, *w
			}
		}
	}
	ns, ok := l.t.clock.ns(ticks)
	if ticks == 0 || !ok {
		return
	}
	e.args = append(e.args, arg{name: argWait, value: ns}, arg{name: argPattern, text: results.PatternName(worst.Pattern)})
	if r, _ := l.t.s.placeOf(worst.CauseP); !r.None {
		e.args = append(e.args, arg{name: argCause, value: r.Bits})
	}
}

// intervals draws the executions of intervals, except the whole program's, on a track of their own.
func (l *lane) intervals() error {
	type execution struct {
		end  uint64
		name string
	}
	var open []execution
	l.last, l.drawn = 0, 0
	closeUntil := func(ns uint64) {
		for k := len(open); k > 0 && open[k-1].end <= ns; k = len(open) {
			l.last = max(l.last, open[k-1].end)
			l.t.sink.intervalEnd(l.last, open[k-1].name)
			open = open[:k-1]
		}
	}
	err := l.t.s.overlapping(l.p, xtf.TypeIval, l.window.begin, l.window.end, func(_ uint64, row []byte) error {
		var x xtf.Ival
		if x.Load(row); x.Node == 0 {
			return nil
		}
		if l.enough() {
			return errSampled
		}
		begin := l.time(x.T)
		closeUntil(begin)
		end := l.time(x.End)
		if k := len(open); k > 0 {
			end = min(end, open[k-1].end)
		}
		name := fmt.Sprintf("interval %d", x.Node)
		if uint64(x.Node) < uint64(len(l.t.s.Nodes)) {
			name = strings.ToValidUTF8(l.t.s.Nodes[x.Node], "\uFFFD")
		}
		l.last = begin
		open = append(open, execution{max(begin, end), name})
		l.t.drawn.Slices++
		l.t.sink.intervalBegin(begin, name)
		return l.failed()
	})
	if err != nil && !errors.Is(err, errSampled) {
		return err
	}
	closeUntil(xtf.Never)
	return nil
}

// counters draws the values of each metric on a track of its own.
func (l *lane) counters() error {
	l.last, l.drawn = 0, 0
	err := l.t.s.overlapping(l.p, xtf.TypeMetric, l.window.begin, l.window.end, func(_ uint64, row []byte) error {
		var x xtf.Metric
		x.Load(row)
		i, ok := l.t.metrics.Of(&x)
		if !ok {
			return nil
		}
		if l.enough() {
			return errSampled
		}
		l.last = l.time(x.T)
		l.t.drawn.Counters++
		value, kind := counters.Value(&x)
		m := l.t.metrics
		l.t.sink.counter(l.last, i, strings.ToValidUTF8(m.Name(i), "\uFFFD"), strings.ToValidUTF8(m.Unit(i), "\uFFFD"), value, x.Value, kind)
		return l.failed()
	})
	if errors.Is(err, errSampled) {
		return nil
	}
	return err
}
