package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// markers recognises markers of intervals, and passes their borders on to executions.
type markers struct {
	at         *location
	regions    *regionSums
	ledger     *ledger
	ops        *operations
	executions executions

	recognizer interval.Recognizer
	mark       interval.Mark // the one recognised last
	before     amounts       // before the begin of the marker in progress
	beforeT    uint64        // that begin
	site       uint32        // calling context of the marker's first call
	after      leaving       // of the marker's newest call, while its receive may still come
	rows       []uint64      // of the messages of the marker's first half
	fixed      []interval.Fixed
	slice      uint64    // end of the current slice, Never for none
	watched    []watched // open calls that are executions
	depth      int       // height of the newest of watched, -1 for none
	entered    int       // height of the stack at the newest enter
}

// leaving is the leave of a call, and the amounts before it.
type leaving struct {
	set bool
	t   uint64
	at  amounts
}

// watched is an open call whose end ends an interval.
type watched struct {
	depth int // height on the stack
	key   interval.Key
}

// again returns the markers of another location, and reuses the memory.
func (m *markers) again(p *interval.Plan) markers {
	return markers{
		recognizer: interval.NewRecognizer(p), rows: m.rows[:0], watched: m.watched[:0], depth: -1, slice: xtf.Never,
	}
}

func (m *markers) begin(a *location, regions *regionSums, g *ledger, ops *operations) {
	m.at, m.regions, m.ledger, m.ops = a, regions, g, ops
	m.executions = newExecutions(a.t.plan, a.out.Borders, func(t uint64, code trace.Code, detail string) {
		a.diags.Add(trace.Diagnostic{Code: code, Time: trace.Time(t), Event: a.event, Detail: detail})
	})
}

// mostWaiting bounds the borders that wait for an MPI call when a marker begins an interval; when one ends, twice as many. Only a call that
// never ends has many.
const mostWaiting = 1 << 14

// border registers a border of executions at t, with the amounts before it. It returns false for a border of a marker that it leaves out
// because too many wait.
func (m *markers) border(kind borderKind, t uint64, at amounts, key interval.Key) bool {
	n := len(m.ledger.queue)
	if kind == beginMarked && n >= mostWaiting || (kind == endMarked || kind == endEvent) && n >= 2*mostWaiting {
		m.executions.report(t, trace.DiagIntervalLimit, describe(key))
		return false
	}
	m.ledger.add(border{t, at, kind, key})
	m.at.mpi.polled = xtf.Never // polling between two calls counts only if no border cuts it
	m.at.wake = min(m.at.wake, t+1)
	return true
}

// attend does what is due before an event at now: it ends the time bin and the marker in progress, and registers borders whose time was
// known before.
func (m *markers) attend(k trace.Kind, ref uint32) {
	if m.at.totals.Events == 0 {
		m.beginProgram()
	}
	if !m.recognizer.Idle() && !m.partOfMarker(k, ref) {
		m.breakMarker()
	}
	if m.at.now > m.regions.bins.last {
		m.regions.nextBin()
	}
	m.passFixed()
	m.applyBorders(m.at.now)
	m.setWake()
}

// setWake sets the time from which on an event needs attend.
func (m *markers) setWake() {
	m.at.wake = xtf.Never
	if m.regions.bins.last != math.MaxUint64 {
		m.at.wake = m.regions.bins.last + 1
	}
	m.at.wake = min(m.at.wake, m.slice)
	if len(m.fixed) > 0 {
		m.at.wake = min(m.at.wake, m.fixed[0].T)
	}
	if len(m.ledger.queue) > 0 {
		m.at.wake = min(m.at.wake, m.ledger.queue[0].t+1)
	}
	if !m.recognizer.Idle() {
		m.at.wake = 0
	}
}

func (m *markers) beginProgram() {
	m.ledger.since = m.at.now
	m.executions.start(m.at.now)
	if _, end, ok := m.at.t.plan.SliceAt(m.at.now); ok {
		m.slice = end
	}
}

// passFixed registers the borders of the sidecar file and of slices up to now.
func (m *markers) passFixed() {
	for len(m.fixed) > 0 && m.fixed[0].T <= m.at.now {
		f := &m.fixed[0]
		t := max(f.T, m.at.totals.First) // an interval that begins before the location does
		kind := beginMarked
		if f.End {
			kind = endMarked
		}
		m.border(kind, t, m.ledger.amountsAt(t), m.at.t.plan.Given[f.Of].Key)
		m.fixed = m.fixed[1:]
	}
	for m.slice <= m.at.now {
		t := m.slice
		m.border(turnSlice, t, m.ledger.amountsAt(t), interval.Key{})
		_, m.slice, _ = m.at.t.plan.SliceAt(t)
	}
}

// applyBorders passes those borders on to executions that are before now and not after the begin of an MPI call that is not added yet.
func (m *markers) applyBorders(now uint64) {
	g := m.ledger
	end := now // borders before it are passed on
	if len(g.waiting) > 0 {
		c := &g.waiting[0]
		if end = min(end, c.enter); c.enter < c.leave {
			end = min(now, c.enter+1)
		}
	} else if m.at.mpi.depth > 0 {
		end = min(now, m.at.mpi.enter+1)
	}
	switch {
	case m.after.set: // the marker's interval may have begun there
		end = min(end, m.after.t+1)
	case !m.recognizer.Idle() && !m.recognizer.Recognised(): // the marker may end an interval there
		end = min(end, m.beforeT+1)
	}
	n := 0
	for n < len(g.queue) && g.queue[n].t < end {
		m.executions.take(&g.queue[n])
		n++
	}
	if n > 0 {
		g.queue = append(g.queue[:0], g.queue[n:]...)
	}
}

// partOfMarker reports whether an event may be inside of a marker.
func (m *markers) partOfMarker(k trace.Kind, ref uint32) bool {
	switch k {
	case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv: // the recognizer decides
		return true
	case trace.MpiIrecvRequest, trace.MpiIsendComplete, trace.Metric: // tracers write metrics at enter and leave
		return true
	case trace.Leave:
		return m.at.mpi.depth > 0
	case trace.Enter:
		i, ok := m.at.t.Defs.RegionIndex(ref)
		return ok && m.at.t.class[i]&trace.ClassP2P != 0
	}
	return false
}

// breakMarker ends the marker in progress.
func (m *markers) breakMarker() { m.over(m.recognizer.Break()) }

// over handles the marker in progress, or half of one, that ends before the current record.
func (m *markers) over(o interval.Outcome) {
	switch {
	case o&interval.Dangling != 0:
		m.at.diags.Add(trace.Diagnostic{Code: trace.DiagDangling, Time: trace.Time(m.beforeT), Event: m.at.event})
		m.settleWaiting(false)
		m.at.mpi.half = false
		m.rows = m.rows[:0]
	case o&interval.Over != 0 && m.after.set:
		m.beginMarked(m.after.t, m.after.at)
	}
	m.after.set = false
}

// beginMarked registers the begin of an interval at the end t of its marker.
func (m *markers) beginMarked(t uint64, at amounts) {
	if k := &m.mark; !k.End {
		m.border(beginMarked, t, at, m.placed(k.Key, m.site))
	}
}

// placed returns the key of a marker with its file and line: of its call site if the trace has that, else of the declaration of the
// innermost region outside of MPI.
func (m *markers) placed(k interval.Key, site uint32) interval.Key {
	k, ok := m.at.t.plan.AtSite(k, site)
	for i := len(m.at.stack) - 1; i >= 0 && !ok; i-- {
		if index := int(m.at.stack[i].index); m.at.t.class[index]&trace.ClassMPI == 0 {
			k, ok = m.at.t.plan.At(k, index)
		}
	}
	return k
}

// settleWaiting adds the calls of the first half of a marker, which turned out to be a marker or not.
func (m *markers) settleWaiting(marker bool) {
	g := m.ledger
	for i := range g.waiting {
		c := &g.waiting[i]
		c.marker = marker && !m.at.t.plan.MarkerCalls
		m.ledger.settle(&c.outermost)
		if m.at.rows {
			if c.marker {
				row := m.at.out.Calls.Row(c.n)
				xtf.SetU32(row, xtf.CallFlags, xtf.U32(row, xtf.CallFlags)|xtf.FlagMarker)
			}
			m.at.out.Calls.CloseLate(c.n)
		}
	}
	g.waiting = g.waiting[:0]
	m.setWake()
}

// sent passes a sent message to the recognizer. n is its row; it returns flags for that row.
func (m *markers) sent(self bool, comm, tag uint32, n uint64) (flags uint32) {
	r := &m.recognizer
	if r.Idle() && !self {
		return 0
	}
	o := r.Send(self, comm, tag)
	m.over(o)
	switch {
	case o&interval.Half != 0:
		m.beforeMarker()
		m.at.mpi.half, m.at.mpi.part = true, true
		m.rows = append(m.rows[:0], n)
	case o&interval.Whole != 0:
		if r.Mark().Key.Form != interval.FormPortable {
			m.beforeMarker()
		}
		flags = m.recognised()
	}
	m.setWake()
	return flags
}

// beforeMarker notes the amounts before the marker that begins with the current record.
func (m *markers) beforeMarker() {
	if m.beforeT = m.at.instant(); m.at.mpi.depth > 0 {
		m.before, m.site = m.ledger.amountsAtCall(), m.at.mpi.site
	} else {
		m.before, m.site = m.ledger.amountsAt(m.at.now), trace.Undefined
	}
}

// recognised ends the interval of an end marker, and flags the calls and messages of the marker. It returns the flags for rows of its
// messages.
func (m *markers) recognised() (flags uint32) {
	if m.mark = m.recognizer.Mark(); m.mark.End {
		m.border(endMarked, m.beforeT, m.before, m.mark.Key)
	}
	if !m.at.t.plan.MarkerCalls {
		flags = xtf.P2PMarker
		m.at.mpi.marker = m.at.mpi.depth > 0
	}
	m.at.mpi.half = false
	m.settleWaiting(true)
	for i := range m.ops.pending {
		if op := &m.ops.pending[i]; op.Direction != xtf.ChannelColl && slices.Contains(m.rows, op.Row) {
			op.Kind |= flags
		}
	}
	m.rows = m.rows[:0]
	m.at.mpi.part = true
	return flags
}

// received does the same for a received message.
func (m *markers) received(self bool, comm, tag uint32, n uint64) (flags uint32) {
	r := &m.recognizer
	if r.Idle() {
		return 0
	}
	o := r.Receive(self, comm, tag)
	m.over(o)
	if o&interval.Part == 0 {
		m.setWake()
		return 0
	}
	m.at.mpi.part = true
	if !r.Complete() { // the first message of two
		m.at.mpi.half = true
		m.rows = append(m.rows, n)
		return 0
	}
	if !m.at.t.plan.MarkerCalls {
		flags = xtf.P2PMarker
		m.at.mpi.marker = m.at.mpi.depth > 0
	}
	if m.at.mpi.depth == 0 {
		m.endMarker()
	}
	return flags
}

// endMarker handles the end of a call of the marker in progress, or of its record outside of calls.
func (m *markers) endMarker() {
	if m.recognizer.Complete() {
		m.beginMarked(m.at.now, m.ledger.amountsAt(m.at.now))
		m.recognizer.Break()
		m.after.set = false
	} else if m.recognizer.Recognised() {
		m.after = leaving{true, m.at.now, m.ledger.amountsAt(m.at.now)}
	}
	m.setWake()
}

// parameter handles a parameter of a region, or a Paraver event. It reports whether the parameter has a meaning for intervals.
func (m *markers) parameter(k trace.Kind, ref uint32, v uint64) bool {
	top, r := len(m.at.stack)-1, &m.recognizer
	if top >= 0 && m.at.t.plan.Uses[m.at.stack[top].index]&interval.UseControl != 0 {
		marked := false
		if k == trace.ParameterString {
			marked = r.Name(m.at.t.plan.Text(uint32(v)))
		} else {
			marked = r.Level(int64(v))
		}
		if marked {
			m.point(r.Mark())
		}
		return true
	}
	if k == trace.ParameterString {
		return false
	}
	switch m.at.t.plan.Value(ref) {
	case interval.FormParameter:
		if top < 0 || m.entered != top {
			return true
		}
		key := m.at.t.plan.RegionKey(int(m.at.stack[top].index))
		key.ID, key.Form = v, interval.FormParameter
		m.watch(top, key)
	case interval.FormParaver:
		key := m.at.t.plan.EventKey(ref)
		if key.ID = v; v == 0 {
			m.border(endEvent, m.at.now, m.ledger.amountsAt(m.at.now), key)
			return true
		}
		m.border(beginMarked, m.at.now, m.ledger.amountsAt(m.at.now), m.placed(key, trace.Undefined))
	default:
		return false
	}
	return true
}

// point handles a marker without length.
func (m *markers) point(x interval.Mark) {
	if x.End {
		m.border(endMarked, m.at.now, m.ledger.amountsAt(m.at.now), x.Key)
		return
	}
	m.border(beginMarked, m.at.now, m.ledger.amountsAt(m.at.now), m.placed(x.Key, m.at.mpi.site))
}

// watch begins an interval, which ends with the open call at a height of the stack.
func (m *markers) watch(depth int, k interval.Key) {
	if !m.border(beginMarked, m.at.now, m.ledger.amountsAt(m.at.now), k) {
		return
	}
	m.watched = append(m.watched, watched{depth, k})
	m.depth = depth
}

// used handles the enter of a region with a use for intervals, whose call is on the stack already.
func (m *markers) used(u interval.Use, index int) {
	if u&interval.UseInterval != 0 {
		m.watch(len(m.at.stack)-1, m.at.t.plan.RegionKey(index))
	}
	if u&interval.UseControl != 0 {
		m.recognizer.Control()
	}
	if u&interval.UseFinalize != 0 && m.at.mpi.depth == 1 {
		m.border(programEnd, m.at.now, m.ledger.amountsAtCall(), interval.Key{})
	}
}

// endWatched ends the intervals of the innermost watched call, which ends now. If the end of the events cuts the call off, they stay open.
func (m *markers) endWatched(flags uint32) {
	for top := m.depth; m.depth == top; {
		last := len(m.watched) - 1
		if flags&xtf.FlagCut == 0 {
			m.border(endMarked, m.at.now, m.ledger.amountsAt(m.at.now), m.watched[last].key)
		}
		m.watched = m.watched[:last]
		if m.depth = -1; last > 0 {
			m.depth = m.watched[last-1].depth
		}
	}
}

// closedMPI handles the borders at the end of an MPI call.
func (m *markers) closedMPI() {
	if !m.recognizer.Idle() {
		m.endMarker()
	}
	if m.at.mpi.between {
		m.border(beginBetween, m.at.now, m.ledger.amountsAt(m.at.now), interval.Key{})
	}
	if m.at.t.plan.Uses[m.at.mpi.index]&interval.UseInit != 0 {
		m.border(programBegin, m.at.now, m.ledger.amountsAt(m.at.now), interval.Key{})
	}
	if len(m.ledger.queue) > 0 {
		m.applyBorders(m.at.now)
		m.setWake()
	}
}

// endFixed ends the intervals of the sidecar file that are open at the last event.
func (m *markers) endFixed(at amounts) {
	later := map[int]bool{} // intervals that begin after the last event
	for _, f := range m.fixed {
		if !f.End {
			later[f.Of] = true
		} else if !later[f.Of] {
			m.border(endMarked, m.at.now, at, m.at.t.plan.Given[f.Of].Key)
		}
	}
}

// endIntervals ends the executions that are open at the last event, and sets trees and sums of rows.
func (m *markers) endIntervals(rows *Loaded) error {
	x := &m.executions
	rows.Tree, rows.Paths, rows.Components = x.stack.Tree, m.at.paths, x.comps
	if m.at.totals.Events == 0 {
		return nil
	}
	at := m.ledger.amountsAt(m.at.now)
	m.endFixed(at)
	m.ledger.queue = slices.DeleteFunc(m.ledger.queue, func(b border) bool { return b.kind == turnSlice && b.t == m.at.now }) // nothing follows
	m.applyBorders(xtf.Never)
	if m.at.t.plan.TooManySlices(m.at.now) {
		x.report(m.at.now, trace.DiagIntervalLimit, fmt.Sprintf("slices: the last of %d is longer", interval.MaxSlices))
	}
	if !x.ended {
		x.finish(m.at.now, &at, &m.ledger.sum, xtf.IvalCut)
	}
	x.flush()
	rows.Tree, rows.Components = x.stack.Tree, x.comps
	root := rows.Components.Node(0)
	root[xtf.ItemEvents], root[xtf.ItemFirst], root[xtf.ItemLast] = m.at.totals.Events, m.at.totals.First, m.at.now
	return x.err
}
