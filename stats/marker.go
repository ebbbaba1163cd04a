package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// markers is what the loader remembers of markers in progress.
type markers struct {
	recognizer interval.Recognizer
	mark       interval.Mark // recognised last
	before     amounts       // before the begin of the marker in progress
	beforeT    uint64
	site       uint32  // calling context of its first call
	behind     amounts // at the leave of its newest call, while its receive may still come
	behindT    uint64
	left       bool     // after is set
	rows       []uint64 // staged rows of its first half
	fixed      []interval.Fixed
	slice      uint64    // end of the slice in progress, Never for none
	watched    []watched // open calls that are executions
	depth      int       // height of the newest of watched, -1 for none
	entered    int       // height of the stack at the newest enter
}

// watched is an open call that ends an interval.
type watched struct {
	depth int
	key   interval.Key
}

func (m *markers) reset(p *interval.Plan) {
	*m = markers{
		recognizer: interval.NewRecognizer(p), rows: m.rows[:0], watched: m.watched[:0], depth: -1,
		slice: xtf.Never,
	}
}

// mostWaiting is how many borders may wait for an MPI call when a marker begins an
// interval in it; for ends it is twice that. Only a call that never ends has many.
const mostWaiting = 1 << 14

// border registers a border of executions at t, with the amounts before it. It is
// false for one of a marker where too many wait: that one is left out.
func (l *Loader) border(kind borderKind, t uint64, at amounts, key interval.Key) bool {
	n := len(l.ledger.queue)
	if kind == beginMarked && n >= mostWaiting || (kind == endMarked || kind == endEvent) && n >= 2*mostWaiting {
		l.executions.report(t, trace.DiagIntervalLimit, describe(key))
		return false
	}
	l.ledger.add(border{t, at, kind, key})
	l.mpi.polled = xtf.Never // what lies between two calls is not cut
	l.wake = min(l.wake, t+1)
	return true
}

// attend does what is due before an event at now: the end of a bin of time, borders
// whose time was known before, and what an event that belongs to no marker ends.
func (l *Loader) attend(k trace.Kind, ref uint32) {
	if l.totals.Events == 0 {
		l.beginProgram()
	}
	if !l.markers.recognizer.Idle() && !l.partOfMarker(k, ref) {
		l.breakMarker()
	}
	if l.now > l.bins.last {
		l.nextBin()
	}
	l.passFixed()
	l.applyBorders(l.now)
	l.setWake()
}

// setWake sets the time from which on events need attend.
func (l *Loader) setWake() {
	l.wake = xtf.Never
	if l.bins.last != math.MaxUint64 {
		l.wake = l.bins.last + 1
	}
	l.wake = min(l.wake, l.markers.slice)
	if len(l.markers.fixed) > 0 {
		l.wake = min(l.wake, l.markers.fixed[0].T)
	}
	if len(l.ledger.queue) > 0 {
		l.wake = min(l.wake, l.ledger.queue[0].t+1)
	}
	if !l.markers.recognizer.Idle() {
		l.wake = 0
	}
}

func (l *Loader) beginProgram() {
	l.ledger.since = l.now
	l.executions.start(l.now)
	if _, end, ok := l.t.plan.SliceAt(l.now); ok {
		l.markers.slice = end
	}
}

// passFixed registers the borders up to now whose time was known before.
func (l *Loader) passFixed() {
	m := &l.markers
	for len(m.fixed) > 0 && m.fixed[0].T <= l.now {
		f := &m.fixed[0]
		t := max(f.T, l.totals.First) // an interval that begins before the location does
		kind := beginMarked
		if f.End {
			kind = endMarked
		}
		l.border(kind, t, l.amountsAt(t), l.t.plan.Given[f.Of].Key)
		m.fixed = m.fixed[1:]
	}
	for m.slice <= l.now {
		t := m.slice
		l.border(turnSlice, t, l.amountsAt(t), interval.Key{})
		_, m.slice, _ = l.t.plan.SliceAt(t)
	}
}

// applyBorders passes borders on that lie before now and not after the begin of
// an MPI call that is not added yet.
func (l *Loader) applyBorders(now uint64) {
	g := &l.ledger
	end := now // of the borders that are passed on
	if len(g.waiting) > 0 {
		c := &g.waiting[0]
		if end = min(end, c.enter); c.enter < c.leave {
			end = min(now, c.enter+1)
		}
	} else if l.mpi.depth > 0 {
		end = min(now, l.mpi.enter+1)
	}
	switch m := &l.markers; {
	case m.left: // its interval may have begun there
		end = min(end, m.behindT+1)
	case !m.recognizer.Idle() && !m.recognizer.Recognised(): // and this one may end one there
		end = min(end, m.beforeT+1)
	}
	n := 0
	for n < len(g.queue) && g.queue[n].t < end {
		l.executions.take(&g.queue[n])
		n++
	}
	if n > 0 {
		g.queue = append(g.queue[:0], g.queue[n:]...)
	}
}

// partOfMarker reports whether an event may lie within a marker.
func (l *Loader) partOfMarker(k trace.Kind, ref uint32) bool {
	switch k {
	case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv: // the recognizer decides
		return true
	case trace.MpiIrecvRequest, trace.MpiIsendComplete, trace.Metric: // of the messages, and of the tracer at enter and leave
		return true
	case trace.Leave:
		return l.mpi.depth > 0
	case trace.Enter:
		i, ok := l.t.Defs.RegionIndex(ref)
		return ok && l.t.class[i]&trace.ClassP2P != 0
	}
	return false
}

// breakMarker ends the marker in progress.
func (l *Loader) breakMarker() { l.over(l.markers.recognizer.Break()) }

// over handles what is over before the record in hand.
func (l *Loader) over(o interval.Outcome) {
	m := &l.markers
	switch {
	case o&interval.Dangling != 0:
		l.diags.Add(trace.Diagnostic{Code: trace.DiagDangling, Time: trace.Time(m.beforeT), Event: l.event})
		l.settleWaiting(false)
		l.mpi.half = false
		m.rows = m.rows[:0]
	case o&interval.Over != 0 && m.left:
		l.beginMarked(m.behindT, m.behind)
	}
	m.left = false
}

// beginMarked registers the begin of the interval whose marker ends at t.
func (l *Loader) beginMarked(t uint64, at amounts) {
	if k := &l.markers.mark; !k.End {
		l.border(beginMarked, t, at, l.placed(k.Key, l.markers.site))
	}
}

// placed adds to the key of a marker where it is: its call site where the
// trace has one, else the declaration of the innermost region of the program.
func (l *Loader) placed(k interval.Key, site uint32) interval.Key {
	k, ok := l.t.plan.AtSite(k, site)
	for i := len(l.stack) - 1; i >= 0 && !ok; i-- {
		if index := int(l.stack[i].index); l.t.class[index]&trace.ClassMPI == 0 {
			k, ok = l.t.plan.At(k, index)
		}
	}
	return k
}

// settleWaiting adds the calls of the first half of a marker.
func (l *Loader) settleWaiting(marker bool) {
	g := &l.ledger
	for i := range g.waiting {
		c := &g.waiting[i]
		c.marker = marker && !l.t.plan.MarkerCalls
		l.settle(&c.outermost)
		if l.rows {
			if c.marker {
				row := l.out.Calls.Row(c.n)
				xtf.SetU32(row, xtf.CallFlags, xtf.U32(row, xtf.CallFlags)|xtf.FlagMarker)
			}
			l.out.Calls.CloseLate(c.n)
		}
	}
	g.waiting = g.waiting[:0]
	l.setWake()
}

// sent passes a sent message to the recognizer. n is its staged row; the result is
// flags of that row.
func (l *Loader) sent(self bool, comm, tag uint32, n uint64) (flags uint32) {
	r := &l.markers.recognizer
	if r.Idle() && !self {
		return 0
	}
	o := r.Send(self, comm, tag)
	l.over(o)
	switch {
	case o&interval.Half != 0:
		l.beforeMarker()
		l.mpi.half, l.mpi.part = true, true
		l.markers.rows = append(l.markers.rows[:0], n)
	case o&interval.Whole != 0:
		if r.Mark().Key.Form != interval.FormPortable {
			l.beforeMarker()
		}
		flags = l.recognised()
	}
	l.setWake()
	return flags
}

// beforeMarker notes the amounts before the marker that begins with the record in
// hand.
func (l *Loader) beforeMarker() {
	m := &l.markers
	if m.beforeT = l.instant(); l.mpi.depth > 0 {
		m.before, m.site = l.amountsAtCall(), l.mpi.site
	} else {
		m.before, m.site = l.amountsAt(l.now), trace.Undefined
	}
}

// recognised ends the interval of an end marker and makes the calls of the marker
// marker calls. It returns the flags of its messages' rows.
func (l *Loader) recognised() (flags uint32) {
	m := &l.markers
	if m.mark = m.recognizer.Mark(); m.mark.End {
		l.border(endMarked, m.beforeT, m.before, m.mark.Key)
	}
	if !l.t.plan.MarkerCalls {
		flags = xtf.P2PMarker
		l.mpi.marker = l.mpi.depth > 0
	}
	l.mpi.half = false
	l.settleWaiting(true)
	for _, n := range m.rows {
		if row := l.p2p.row(n); l.rows && row != nil {
			xtf.SetU32(row, xtf.P2PKind, xtf.U32(row, xtf.P2PKind)|flags)
		}
	}
	m.rows = m.rows[:0]
	l.mpi.part = true
	return flags
}

// received passes a received message to the recognizer, as sent does.
func (l *Loader) received(self bool, comm, tag uint32, n uint64) (flags uint32) {
	r := &l.markers.recognizer
	if r.Idle() {
		return 0
	}
	o := r.Receive(self, comm, tag)
	l.over(o)
	if o&interval.Part == 0 {
		l.setWake()
		return 0
	}
	l.mpi.part = true
	if !r.Complete() { // the first message of two
		l.mpi.half = true
		l.markers.rows = append(l.markers.rows, n)
		return 0
	}
	if !l.t.plan.MarkerCalls {
		flags = xtf.P2PMarker
		l.mpi.marker = l.mpi.depth > 0
	}
	if l.mpi.depth == 0 {
		l.endMarker()
	}
	return flags
}

// endMarker handles the end of a call, or of a record outside of calls, of the
// marker in progress.
func (l *Loader) endMarker() {
	m := &l.markers
	if m.recognizer.Complete() {
		l.beginMarked(l.now, l.amountsAt(l.now))
		m.recognizer.Break()
		m.left = false
	} else if m.recognizer.Recognised() {
		m.left, m.behindT, m.behind = true, l.now, l.amountsAt(l.now)
	}
	l.setWake()
}

// parameter handles a parameter of a region, or a Paraver event. It reports whether an option names it.
func (l *Loader) parameter(k trace.Kind, ref uint32, v uint64) bool {
	top, r := len(l.stack)-1, &l.markers.recognizer
	if top >= 0 && l.t.plan.Uses[l.stack[top].index]&interval.UseControl != 0 {
		marked := false
		if k == trace.ParameterString {
			marked = r.Name(l.t.plan.Text(uint32(v)))
		} else {
			marked = r.Level(int64(v))
		}
		if marked {
			l.point(r.Mark())
		}
		return true
	}
	if k == trace.ParameterString {
		return false
	}
	switch l.t.plan.Value(ref) {
	case interval.FormParameter:
		if top < 0 || l.markers.entered != top {
			return true
		}
		key := l.t.plan.RegionKey(int(l.stack[top].index))
		key.ID, key.Form = v, interval.FormParameter
		l.watch(top, key)
	case interval.FormParaver:
		key := l.t.plan.EventKey(ref)
		if key.ID = v; v == 0 {
			l.border(endEvent, l.now, l.amountsAt(l.now), key)
			return true
		}
		l.border(beginMarked, l.now, l.amountsAt(l.now), l.placed(key, trace.Undefined))
	default:
		return false
	}
	return true
}

// point handles a marker whose begin and end are one instant.
func (l *Loader) point(m interval.Mark) {
	if m.End {
		l.border(endMarked, l.now, l.amountsAt(l.now), m.Key)
		return
	}
	l.border(beginMarked, l.now, l.amountsAt(l.now), l.placed(m.Key, l.mpi.site))
}

// watch begins an interval that ends with the open call at a height of the stack.
func (l *Loader) watch(depth int, k interval.Key) {
	if !l.border(beginMarked, l.now, l.amountsAt(l.now), k) {
		return
	}
	l.markers.watched = append(l.markers.watched, watched{depth, k})
	l.markers.depth = depth
}

// used handles the enter of a region that means something for intervals; its call
// is on the stack already.
func (l *Loader) used(u interval.Use, index int) {
	if u&interval.UseInterval != 0 {
		l.watch(len(l.stack)-1, l.t.plan.RegionKey(index))
	}
	if u&interval.UseControl != 0 {
		l.markers.recognizer.Control()
	}
	if u&interval.UseFinalize != 0 && l.mpi.depth == 1 {
		l.border(programEnd, l.now, l.amountsAtCall(), interval.Key{})
	}
}

// endWatched ends the intervals of the innermost watched call, which ends now. An
// interval that is a call stays open if the call is cut off.
func (l *Loader) endWatched(flags uint32) {
	m := &l.markers
	for top := m.depth; m.depth == top; {
		last := len(m.watched) - 1
		if flags&xtf.FlagCut == 0 {
			l.border(endMarked, l.now, l.amountsAt(l.now), m.watched[last].key)
		}
		m.watched = m.watched[:last]
		if m.depth = -1; last > 0 {
			m.depth = m.watched[last-1].depth
		}
	}
}

// closedMPI does what an MPI call that is over means for intervals.
func (l *Loader) closedMPI() {
	if !l.markers.recognizer.Idle() {
		l.endMarker()
	}
	if l.mpi.between {
		l.border(beginBetween, l.now, l.amountsAt(l.now), interval.Key{})
	}
	if l.t.plan.Uses[l.mpi.index]&interval.UseInit != 0 {
		l.border(programBegin, l.now, l.amountsAt(l.now), interval.Key{})
	}
	if len(l.ledger.queue) > 0 {
		l.applyBorders(l.now)
		l.setWake()
	}
}

// endFixed ends the intervals of the sidecar file that reach after the last event.
func (l *Loader) endFixed(at amounts) {
	later := map[int]bool{} // they begin after it
	for _, f := range l.markers.fixed {
		if !f.End {
			later[f.Of] = true
		} else if !later[f.Of] {
			l.border(endMarked, l.now, at, l.t.plan.Given[f.Of].Key)
		}
	}
}

// endIntervals closes what is open at the last event, and gives trees and sums.
func (l *Loader) endIntervals(rows *Loaded) error {
	x := &l.executions
	rows.Tree, rows.Paths, rows.Components = x.stack.Tree, l.paths, x.comps
	if l.totals.Events == 0 {
		return nil
	}
	at := l.amountsAt(l.now)
	l.endFixed(at)
	l.ledger.queue = slices.DeleteFunc(l.ledger.queue, func(b border) bool { return b.kind == turnSlice && b.t == l.now }) // nothing follows
	l.applyBorders(xtf.Never)
	if l.t.plan.TooManySlices(l.now) {
		x.report(l.now, trace.DiagIntervalLimit, fmt.Sprintf("slices: the last of %d is longer", interval.MaxSlices))
	}
	if !x.ended {
		x.finish(l.now, &at, &l.ledger.sum, xtf.IvalCut)
	}
	x.flush()
	rows.Tree, rows.Components = x.stack.Tree, x.comps
	root := rows.Components.Node(0)
	root[xtf.ItemEvents], root[xtf.ItemFirst], root[xtf.ItemLast] = l.totals.Events, l.totals.First, l.now
	return x.err
}
