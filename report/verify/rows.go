package verify

import (
	"errors"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// openCall is a call that is open at the current row.
type openCall struct {
	end    uint64
	n      uint64
	inside uint64 // ticks that its times leave for called regions
	child  uint64 // ticks that called regions took
	index  int
	aside  bool
}

// callWalk replays the calls of a location, in the order of their enters.
type callWalk struct {
	c     *locationCheck
	stack []openCall
	open  []uint32    // open calls of each region
	aside trace.State // state of the open call of xtf.AsideOf that gets the time of all that it calls; StateOwn: none
}

func (c *locationCheck) calls() error {
	w := callWalk{c: c, open: make([]uint32, len(c.profile)), aside: trace.StateOwn}
	err := xtf.Each(c.r.File, xtf.Proc(c.p), w.row)
	if err == nil {
		w.unwind(0)
	}
	return err
}

func (w *callWalk) row(n uint64, x *xtf.Call) error {
	c := w.c
	c.counts.calls++
	if uint64(x.Depth) > uint64(len(w.stack)) {
		c.at("CALL", n, "depth %d after depth %d", x.Depth, int64(len(w.stack))-1)
		x.Depth = uint32(len(w.stack))
	}
	w.unwind(int(x.Depth))
	parent := xtf.Never
	if k := len(w.stack); k > 0 {
		parent = w.stack[k-1].n
		if x.End > w.stack[k-1].end {
			c.at("CALL", n, "ends at %d, after its caller's end %d", x.End, w.stack[k-1].end)
		}
	}
	if x.Parent != parent {
		c.at("CALL", n, "parent %d, the open call is %d", int64(x.Parent), int64(parent))
	}
	if x.End < x.T {
		c.at("CALL", n, "ends at %d, before it begins at %d", x.End, x.T)
		x.End = x.T
	}
	span := x.End - x.T
	if k := len(w.stack); k > 0 {
		w.stack[k-1].child += span
	}
	i, _ := c.r.Defs.SameRegion(x.Region)
	s := &c.profile[i]
	s.Sums[0]++
	s.Sums[2] += x.Exclusive
	if w.open[i] == 0 {
		s.Sums[1] += span
	}
	w.open[i]++
	w.times(x)
	aside := xtf.AsideOf(x.Flags)
	holds := xtf.States[aside].Flag != 0 && xtf.States[aside].Inside == 0
	if holds {
		w.aside = aside
	}
	w.stack = append(w.stack, openCall{end: x.End, n: n, inside: span - min(span, x.Exclusive), index: i, aside: holds})
	if x.Exclusive > span {
		c.at("CALL", n, "exclusive time %d of a call of %d", x.Exclusive, span)
	}
	return nil
}

// times adds the call to the times by class. Calls of markers have no class.
func (w *callWalk) times(x *xtf.Call) {
	v, span := &w.c.sums, w.c.program.clip(x.T, x.End)
	if w.c.program.point(x.T) {
		v[xtf.ItemCalls]++
	}
	if s := xtf.AsideOf(x.Flags); s != trace.StateOwn {
		v[xtf.States[s].Item] += span
	}
	for _, s := range xtf.InsideOf(x.Flags) {
		v[xtf.States[s].Item] -= span
	}
	if x.Flags&xtf.FlagOutermostMPI == 0 {
		return
	}
	if w.aside != trace.StateOwn {
		v[xtf.States[w.aside].Item] -= span // MPI inside such a call is MPI time
	}
	if x.Flags&xtf.FlagMarker != 0 {
		v[xtf.ItemMarker] += span
		return
	}
	v[xtf.ItemMPI] += span
	for _, k := range xtf.ClassItems {
		if x.Class&k.Class != 0 {
			v[k.Item] += span
		}
	}
}

// unwind ends the calls from depth on. The time that they spent in called regions must be what their callees took.
func (w *callWalk) unwind(depth int) {
	for k := len(w.stack) - 1; k >= depth; k-- {
		f := &w.stack[k]
		if f.child != f.inside {
			w.c.at("CALL", f.n, "calls inside take %d ticks, its times leave %d for them", f.child, f.inside)
		}
		w.open[f.index]--
		if f.aside {
			w.aside = trace.StateOwn
		}
	}
	w.stack = w.stack[:min(depth, len(w.stack))]
}

func (c *locationCheck) message(n uint64, x *xtf.P2P) error {
	c.counts.messages++
	direction := xtf.ChannelSend
	v := &c.sums
	if x.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		direction = xtf.ChannelReceive
		c.carried[xtf.ChannelReceive] += x.Bytes
		if x.Kind&xtf.P2PNotice == 0 && c.program.completion(x.End) {
			v[xtf.ItemReceives]++
			v[xtf.ItemBytesIn] += x.Bytes
		}
	} else if x.Kind&xtf.P2PNotice == 0 && c.program.point(x.T) {
		v[xtf.ItemSends]++
		v[xtf.ItemBytesOut] += x.Bytes
	}
	if x.CallN != xtf.Never {
		i, _ := c.r.Defs.SameRegion(x.Region)
		c.profile[i].Sums[3] += x.Bytes
	}
	maybe := direction == xtf.ChannelSend && x.Kind&xtf.P2PIncomplete != 0 && x.MateN == xtf.Never
	channel := c.channel(x.Peer, x.Comm, x.Tag, direction)
	entry := spread(xtf.ChannelKey(x.Peer, x.Comm), uint64(x.Tag)<<2|uint64(direction), n)
	switch {
	case maybe: // cancelled sends are in no channel, other unfinished ones are
		c.maybe[n] = maybeEntry{entry, x.Bytes}
	case channel == nil:
		c.at("P2P", n, "no channel with process %d, communicator %d, tag %d", x.Peer, x.Comm, x.Tag)
	default:
		c.entries += entry
		if direction == xtf.ChannelSend {
			c.carried[xtf.ChannelSend] += x.Bytes
		}
	}
	if (x.MateN == xtf.Never) != (x.Kind&xtf.P2PUnmatched != 0) {
		c.at("P2P", n, "flagged %#x, mate %d", x.Kind, int64(x.MateN))
	}
	if x.MateN == xtf.Never {
		return nil
	}
	if err := c.place(n, x, channel); err != nil {
		return err
	}
	return c.pair(n, x, direction)
}

// place checks that the channel has the row at the position that seq says.
func (c *locationCheck) place(n uint64, x *xtf.P2P, channel *xtf.Channel) error {
	if channel == nil || x.Kind&xtf.P2PBestEffort != 0 {
		return nil
	}
	if x.Seq >= channel.Count {
		c.at("P2P", n, "place %d in a channel of %d", x.Seq, channel.Count)
		return nil
	}
	if channel.First+x.Seq >= c.chans.Len() {
		return nil // reported with the channel
	}
	at, err := c.chans.At(channel.First + x.Seq)
	if err == nil && at != n {
		c.at("P2P", n, "place %d of its channel is row %d", x.Seq, at)
	}
	return err
}

// pair checks that the mate points back and describes the same message.
func (c *locationCheck) pair(n uint64, x *xtf.P2P, direction uint32) error {
	if uint64(x.MateP) >= uint64(c.r.Defs.NumLocations()) {
		c.at("P2P", n, "mate in location %d of %d", x.MateP, c.r.Defs.NumLocations())
		return nil
	}
	a := c.mates[x.MateP]
	if a == nil {
		var err error
		if a, err = c.r.File.Array(xtf.Proc(x.MateP), xtf.TypeP2P); err != nil {
			return err
		}
		c.mates[x.MateP] = a
	}
	if x.MateN >= a.Len() {
		c.at("P2P", n, "mate in row %d of %d", x.MateN, a.Len())
		return nil
	}
	m, err := rowOf[xtf.P2P](a, x.MateN, &c.buf)
	if err != nil {
		return err
	}
	process, _ := c.r.Defs.Process(trace.P(x.MateP))
	send, receive := x, &m
	if direction == xtf.ChannelReceive {
		send, receive = &m, x
	}
	late := receive.End < send.T
	lock := x.Kind&xtf.P2PNotice != 0 && xtf.NoticeKind(x.Tag) == xtf.NoticeLock // its peer is the target, and several may wait for one
	switch {
	case lock && (m.Kind&xtf.P2PNotice == 0 || m.Comm != x.Comm || m.Tag != x.Tag || m.Peer != x.Peer || m.T != x.MateT || late):
		c.at("P2P", n, "its mate is of another lock, or at tick %d, not %d", m.T, x.MateT)
	case lock && x.Kind&xtf.P2PBestEffort != 0:
	case m.MateN != n || m.MateP != uint32(c.p):
		c.at("P2P", n, "its mate, row %d of location %d, points to row %d of location %d", x.MateN, x.MateP, int64(m.MateN), m.MateP)
	case m.Kind&xtf.P2PKindMask == x.Kind&xtf.P2PKindMask:
		c.at("P2P", n, "its mate is on the same side")
	case lock:
		c.counts.mates++
	case m.Comm != x.Comm || m.Tag != x.Tag || m.Peer != c.process || x.Peer != process:
		c.at("P2P", n, "its mate has another channel: communicator %d, tag %d, process %d", m.Comm, m.Tag, m.Peer)
	case m.T != x.MateT || m.Seq != x.Seq:
		c.at("P2P", n, "mate at tick %d, place %d; the mate says %d, %d", x.MateT, x.Seq, m.T, m.Seq)
	case late != (x.Kind&xtf.P2PClock != 0):
		c.at("P2P", n, "sent at %d, received until %d, flagged %#x", send.T, receive.End, x.Kind)
	default:
		c.counts.mates++
	}
	if direction == xtf.ChannelReceive && x.Kind&xtf.P2PMarker == 0 {
		counts := c.program.completion(x.End)
		c.span(xtf.ItemSendRecv, x.End-min(x.End, m.T), counts)
		ready := x.T
		if x.Kind&xtf.P2PProbed != 0 || c.r.Kept.Has("recv-point=post") {
			ready = x.Post
		}
		c.span(xtf.ItemPotentialSync, m.T-min(m.T, ready), counts)
	}
	return nil
}

func (c *locationCheck) collectives() error {
	return xtf.Each(c.r.File, xtf.Proc(c.p), func(n uint64, x *xtf.Coll) error {
		c.counts.collectives++
		c.carried[xtf.ChannelColl] += x.Sent
		v, counts := &c.sums, c.program.point(x.T)
		if counts && !trace.Unnumbered(x.Flags&xtf.CollOpMask) {
			v[xtf.ItemCollectives]++
			v[xtf.ItemCollOut] += x.Sent
			v[xtf.ItemCollIn] += x.Received
		}
		if x.CallN != xtf.Never {
			i, _ := c.r.Defs.SameRegion(x.Region)
			c.profile[i].Sums[3] += x.Sent + x.Received
		}
		if c.channel(trace.Undefined, x.Comm, trace.Undefined, xtf.ChannelColl) == nil {
			c.at("COLL", n, "no channel for communicator %d", x.Comm)
		}
		c.entries += spread(xtf.ChannelKey(trace.Undefined, x.Comm), uint64(trace.Undefined)<<2|uint64(xtf.ChannelColl), n)
		if x.Ordinal == xtf.Never {
			return nil
		}
		if x.LastEnter < x.Post || x.FirstLeave > x.End || x.LastLeave < x.End {
			c.at("COLL", n, "posted at %d, left at %d, yet last enter %d, first leave %d, last leave %d", x.Post, x.End, x.LastEnter, x.FirstLeave, x.LastLeave)
		}
		c.span(xtf.ItemPotentialSync, x.LastEnter-min(x.LastEnter, x.T), counts)
		c.span(xtf.ItemVariation, x.LastLeave-min(x.LastLeave, x.End), counts)
		return nil
	})
}

// span adds a span of an operation to an item. If all spans of the location exceed xtf.Most, nothing is known of the item.
func (c *locationCheck) span(item xtf.Item, v uint64, counts bool) {
	most := xtf.Most(c.r.Defs.NumLocations())
	if c.spans[item] > most || v > most-c.spans[item] {
		c.spans[item], c.sums[item] = xtf.Never, 0
		return
	}
	c.spans[item] += v
	if counts {
		c.sums[item] += v
	}
}

// withoutInit is the option that ends the program at MPI_Init and MPI_Finalize.
const withoutInit = "init=exclude"

// program is the execution of the whole program on a location: from its first to its last event, or only from MPI_Init to
// MPI_Finalize.
type program struct {
	from, to     uint64
	begins, ends bool // it begins or ends at MPI_Init or MPI_Finalize: what is on the border may be outside
}

// readProgram finds the row of the whole program.
func (c *locationCheck) readProgram() error {
	c.program = program{to: xtf.Never}
	if !c.r.Kept.Has(withoutInit) {
		return nil
	}
	c.program = program{begins: true, ends: true} // empty, if there is no such row
	err := results.Load(c.r, xtf.Proc(c.p), func(x *xtf.Ival) {
		if x.Node == 0 {
			c.program = program{from: x.T, to: x.End, begins: x.T > c.stored[xtf.ItemFirst], ends: x.End < c.stored[xtf.ItemLast]}
		}
	})
	if err != nil || c.program.ends {
		return err
	}
	return results.Load(c.r, xtf.Proc(c.p), func(x *xtf.Call) { // whose last event is the enter of MPI_Finalize
		if x.T == c.program.to && strings.Contains(strings.ToLower(c.r.RegionName(x.Region)), "mpi_finalize") {
			c.program.ends = true
		}
	})
}

// clip returns the ticks of [x, y) that are in the program.
func (p *program) clip(x, y uint64) uint64 {
	y = min(y, p.to)
	return y - min(max(x, p.from), y)
}

// point reports whether an event at t counts: all do that are not cut off.
func (p *program) point(t uint64) bool { return p.from <= t && (t < p.to || t == p.to && !p.ends) }

// completion reports whether an operation that completes at t counts.
func (p *program) completion(t uint64) bool {
	return (p.from < t || p.from == t && !p.begins) && t <= p.to
}

// graph compares the location's call graph with its components, and with its rows if it has some. Counts and bytes are equal in
// every graph. Times of a lossy graph are within its bound.
func (c *locationCheck) graph(shared *graph.Shared) error {
	if shared == nil {
		return nil
	}
	l, err := c.r.Location(c.p)
	if err != nil {
		return err
	}
	c.counts.graphs++
	if l.Events() != c.stored[xtf.ItemEvents] {
		c.add("call graph", nil, "%d events, the location has %d", l.Events(), c.stored[xtf.ItemEvents])
	}
	t := results.NewProfileTable(c.r)
	t.Shared = shared
	whole, err := t.PutGraph(l)
	if err != nil {
		return err
	}
	c.graphTime(l, whole, shared.Options().Deviation)
	found, err := results.Occurrences(c.r, c.p)
	if err != nil {
		return err
	}
	// With tasks, rows have a stack for each and lack calls that moved; the graph has one stack and all records.
	tasks := slices.ContainsFunc(found, func(o results.Occurrence) bool { return o.Code == trace.DiagSuspended || o.Code == trace.DiagMigrated })
	c.graphCounts(t, whole, !tasks)
	if tasks || !c.rows {
		return nil
	}
	eachUnlike(c.r, t.Sums, c.profile, func(what string, got, want uint64) {
		c.add("call graph", nil, "%s: %d, the rows add up to %d", what, got, want)
	})
	return c.graphCalls(l)
}

// graphCalls compares every call of the graph with its row: both are in the order
// of their enters. Times of a lossy graph are off by no more than the largest
// error that the analysis counted.
func (c *locationCheck) graphCalls(l *ccg.Location) error {
	a, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeCall)
	if err != nil {
		return err
	}
	origin := l.First() - trace.Time(c.stored[xtf.ItemFirst])
	off := l.ErrorStats().Largest
	far := func(t trace.Time, row uint64) bool {
		return max(uint64(t-origin), row)-min(uint64(t-origin), row) > off
	}
	var ends []uint64 // of open calls
	var x xtf.Call
	rows, walk := a.Rows(0, a.Len()), l.Cursor()
	for {
		s, ok := walk.Next()
		switch {
		case !ok:
			if walk.Err() == nil && rows.Next() {
				c.at("CALL", rows.N(), "not in the call graph")
			}
			return errors.Join(walk.Err(), rows.Err())
		case s.Move == ccg.Enters:
			if !rows.Next() {
				c.add("call graph", nil, "event %d enters a call without a row", s.Event)
				return rows.Err()
			}
			x.Load(rows.Row())
			if x.Region != s.Region || far(s.Time, x.T) {
				c.at("CALL", rows.N(), "region %d at tick %d; event %d of the call graph is region %d at %d", x.Region, x.T, s.Event, s.Region, s.Time-origin)
			}
			ends = append(ends, x.End)
		case s.Move == ccg.Leaves:
			if end := ends[len(ends)-1]; far(s.Time, end) {
				c.add("call graph", nil, "event %d leaves region %d at tick %d, the row of the call ends at %d", s.Event, s.Region, s.Time-origin, end)
			}
			ends = ends[:len(ends)-1]
		}
	}
}

// graphTime compares the sum of all gaps with the location's time.
func (c *locationCheck) graphTime(l *ccg.Location, g *results.GraphSums, d graph.Deviation) {
	want := c.stored[xtf.ItemTime]
	if c.r.Kept.Has(withoutInit) {
		want = c.stored[xtf.ItemLast] - min(c.stored[xtf.ItemFirst], c.stored[xtf.ItemLast])
	}
	if got := g.Time; max(got, want)-min(got, want) > d.StoredBound(max(l.Events(), 1)-1, got) {
		c.add("call graph", nil, "%d ticks from the first to the last event, the location has %d", got, want)
	}
}

// graphCounts compares bytes and counts with the components; counts of calls only if asked.
func (c *locationCheck) graphCounts(t *results.ProfileTable, g *results.GraphSums, ofCalls bool) {
	calls := uint64(0)
	for i := range t.Sums {
		calls += t.Sums[i].Sums[0]
	}
	want := c.stored[xtf.ItemCalls]
	if c.r.Kept.Has(withoutInit) { // the graph has all events of the program
		want = c.counts.calls
	}
	if ofCalls && calls != want && (c.rows || !c.r.Kept.Has(withoutInit)) {
		c.add("call graph", nil, "%d calls, the location has %d", calls, want)
	}
	var got [len(graphItems)]uint64
	for i := range g.Traffic.Channels {
		x := &g.Traffic.Channels[i]
		k := 2 * int(x.Direction)
		got[k] += x.Count - x.Others
		got[k+1] += x.Bytes
		got[6] += x.BytesIn
	}
	for k, item := range graphItems {
		if got[k] != c.stored[item] && !c.r.Kept.Has(withoutInit) {
			c.add("call graph", nil, "%s is %d, the location has %d", item, got[k], c.stored[item])
		}
	}
}

// graphItems are the components that channels add up to: count and bytes by
// direction, then what collectives receive.
var graphItems = [...]xtf.Item{
	xtf.ItemSends, xtf.ItemBytesOut, xtf.ItemReceives, xtf.ItemBytesIn, xtf.ItemCollectives, xtf.ItemCollOut, xtf.ItemCollIn,
}
