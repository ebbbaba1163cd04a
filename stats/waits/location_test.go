package waits

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// world is a location made of rows, and what Locate finds in it.
type world struct {
	types     *xtf.TypeTable
	messages  []xtf.P2P
	colls     []xtf.Coll
	ivals     []xtf.Ival
	causes    []xtf.CollCause
	sends     []sendCall
	open      []int // messages that are sends without a call
	hosts     []HostWait
	mPaths    []uint32
	cPaths    []uint32
	defs      *trace.Definitions
	derived   []bool
	postPoint bool
}

// sendCall is the call of a send whose receiver is late.
type sendCall struct {
	Row uint64
	xtf.SendCall
}

const (
	regionCall     uint32 = 7
	regionInit     uint32 = 9
	regionSendrecv uint32 = 11
	regionTest     uint32 = 12
)

func newWorld() *world {
	d := &trace.Definitions{
		Strings: []trace.String{{Ref: 0, Value: "MPI_Waitall"}, {Ref: 1, Value: "MPI_Init"}, {Ref: 2, Value: "MPI_Sendrecv"}, {Ref: 3, Value: "MPI_Testsome"}},
		Regions: []trace.Region{
			{Ref: regionCall, Name: 0, Paradigm: trace.ParadigmMPI},
			{Ref: regionInit, Name: 1, Paradigm: trace.ParadigmMPI},
			{Ref: regionSendrecv, Name: 2, Paradigm: trace.ParadigmMPI},
			{Ref: regionTest, Name: 3, Paradigm: trace.ParadigmMPI},
		},
	}
	d.Seal()
	return &world{types: xtf.StandardTypes(xtf.Packed), defs: d, derived: []bool{false, false, false, true}}
}

// found is what a location leaves.
type found struct {
	Waits []xtf.Wait
	Sums  []xtf.WaitSum
	Items map[uint64]uint64 // by xtf.NodeKey
}

// putter is a row.
type putter interface{ Put([]byte) }

// array makes an array of rows in memory.
func array[T any, P interface {
	*T
	putter
}](tb testing.TB, types *xtf.TypeTable, id xtf.TypeID, rows []T,
) xtf.FinishedArray {
	tb.Helper()
	sink := &xtftest.MemorySink{}
	b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(id), 0, sink)
	for i := range rows {
		row, _ := b.Append()
		P(&rows[i]).Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	return xtf.FinishedArray{Summary: sum, Data: sink}
}

// rows passes the messages and collectives of a world.
type rows struct {
	w       *world
	m, c, s int // next message, collective and call of a send
	message xtf.Message
	coll    xtf.Collective
}

func (r *rows) NextMessage() *xtf.Message {
	if r.m == len(r.w.messages) {
		return nil
	}
	r.message = xtf.Message{P2P: r.w.messages[r.m], N: uint64(r.m), Path: r.w.mPaths[r.m]}
	if r.s < len(r.w.sends) && r.w.sends[r.s].Row == uint64(r.m) {
		r.message.Late, r.message.Call = true, r.w.sends[r.s].SendCall
		r.s++
	}
	r.m++
	return &r.message
}

func (r *rows) NextCollective() *xtf.Collective {
	if r.c == len(r.w.colls) {
		return nil
	}
	r.coll = xtf.Collective{Coll: r.w.colls[r.c], N: uint64(r.c), Path: r.w.cPaths[r.c], Cause: r.w.causes[r.c]}
	r.c++
	return &r.coll
}

func (r *rows) Err() error { return nil }

// follower checks what Locate passes on.
type follower struct {
	tb       testing.TB
	w        *world
	m, c     int
	to, past uint64
}

func (f *follower) Message(m *xtf.Message) {
	if m.P2P != f.w.messages[f.m] || m.T < f.to {
		f.tb.Errorf("message %d is %+v, after %d", f.m, m, f.to)
	}
	f.m++
}

func (f *follower) Collective(c *xtf.Collective) {
	if c.Coll != f.w.colls[f.c] || c.T < f.to {
		f.tb.Errorf("collective %d is %+v, after %d", f.c, c, f.to)
	}
	f.c++
}

func (f *follower) Wait(x *xtf.Wait) {
	if x.T < max(f.to, f.past) {
		f.tb.Errorf("wait %+v, after %d", x, max(f.to, f.past))
	}
	f.past = x.End
}

func (f *follower) To(t uint64) error {
	if t < f.to {
		f.tb.Errorf("to %d, after %d", t, f.to)
	}
	f.to = t
	return nil
}

// location gives Locate the rows.
func (w *world) location(tb testing.TB) Location {
	tb.Helper()
	ivals := array(tb, w.types, xtf.TypeIval, w.ivals)
	hosts := w.hosts
	next := func() (h *HostWait, _ error) {
		if len(hosts) > 0 {
			h, hosts = &hosts[0], hosts[1:]
		}
		return h, nil
	}
	return Location{Hosts: next, Rows: &rows{w: w}, Executions: func() *xtf.Cursor { return xtf.ScanArray(w.types, ivals, 0) }, Paths: []uint32{0, 20, 10, 30}}
}

// locate runs Locate.
func (w *world) locate(tb testing.TB) found {
	tb.Helper()
	types := w.types
	sinks := [2]*xtftest.MemorySink{{}, {}}
	follow := &follower{tb: tb, w: w}
	out := Outputs{
		Waits:      xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeWait), 0, sinks[0]),
		Sums:       xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeWaitSum), 0, sinks[1]),
		Components: &interval.Components{}, Scratch: &xtftest.MemorySink{}, Follower: follow,
	}
	if _, err := NewRun(w.defs, w.derived, Options{PostPoint: w.postPoint}).Locate(w.location(tb), out); err != nil {
		tb.Fatal(err)
	}
	if follow.m != len(w.messages) || follow.c != len(w.colls) {
		tb.Errorf("%d messages and %d collectives were passed on, of %d and %d", follow.m, follow.c, len(w.messages), len(w.colls))
	}
	f := found{Items: map[uint64]uint64{}}
	for i, b := range []*xtf.ArrayBuilder{out.Waits, out.Sums} {
		sum, err := b.Finish()
		if err != nil {
			tb.Fatal(err)
		}
		c := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: sinks[i]}, 0)
		for c.Next() {
			if i == 0 {
				var r xtf.Wait
				r.Load(c.Row())
				f.Waits = append(f.Waits, r)
			} else {
				var r xtf.WaitSum
				r.Load(c.Row())
				f.Sums = append(f.Sums, r)
			}
		}
		if c.Err() != nil {
			tb.Fatal(c.Err())
		}
	}
	out.Components.Each(func(node uint32, item xtf.Item, v uint64) { f.Items[xtf.NodeKey(node, uint32(item))] = v })
	return f
}

// randomWorld makes calls one after the other with any operations in them, and
// intervals of two families. Times are small, so that many are equal.
func randomWorld(rng *rand.Rand, calls int) *world {
	w := newWorld()
	w.postPoint = rng.IntN(3) == 0
	now := uint64(10)
	for n := range calls {
		c := randomCall{rng: rng, n: uint64(2 * n), t: now + uint64(rng.IntN(6)), region: regionCall, path: uint32(rng.IntN(4))}
		c.end = c.t + uint64(rng.IntN(12))
		switch rng.IntN(15) {
		case 0:
			c.region = regionInit
		case 2:
			c.region = regionSendrecv
		case 3:
			c.region = regionTest
		case 1:
			c.n, c.end, c.region = xtf.Never, c.t, trace.Undefined
		}
		before := now
		now = c.end
		c.probe = c.t - uint64(rng.IntN(int(c.t-max(c.t-4, w.last())+1)))
		if free := int(c.probe) - int(before); free > 0 && rng.IntN(2) == 0 { // it waits for a device before the call
			h := HostWait{xtf.Wait{T: before + uint64(rng.IntN(free)), RecN: uint64(rng.IntN(99)), CauseP: 5, Pattern: xtf.WaitLateKernel | xtf.WaitLaunchLate, Path: uint32(rng.IntN(9))}, c.n}
			h.End = h.T + 1 + uint64(rng.IntN(int(c.probe-h.T)))
			w.hosts = append(w.hosts, h)
		}
		c.fill(w)
		c.complete(w)
	}
	slices.SortFunc(w.sends, func(a, b sendCall) int { return int(a.Row) - int(b.Row) })
	w.addIvals(rng, now+5)
	return w
}

// last is the end of the newest call.
func (w *world) last() (t uint64) {
	if n := len(w.messages); n > 0 {
		t = w.messages[n-1].End
	}
	if n := len(w.colls); n > 0 {
		t = max(t, w.colls[n-1].End)
	}
	return t
}

// complete gives some of the open sends, and all blocking ones, this call.
func (c *randomCall) complete(w *world) {
	left := w.open[:0]
	for _, i := range w.open {
		m := &w.messages[i]
		blocking := m.Kind&xtf.P2PNonBlocking == 0
		if !blocking && (c.n == xtf.Never || c.rng.IntN(2) == 0) {
			left = append(left, i)
			continue
		}
		x := sendCall{uint64(i), xtf.SendCall{CallN: c.n, Enter: c.t, Region: c.region}}
		if !blocking {
			m.Done, x.Path = c.end, c.path
		}
		x.Post = max(c.t, 9) - 9 + uint64(c.rng.IntN(24))
		x.Out = uint64(c.rng.IntN(2)) * (x.Post + uint64(c.rng.IntN(5)))
		x.Ready = max(x.Post, x.Out) + uint64(c.rng.IntN(9))
		if x.Ready > c.t {
			w.sends = append(w.sends, x)
		}
	}
	w.open = left
}

type randomCall struct {
	rng       *rand.Rand
	n, t, end uint64
	probe     uint64
	region    uint32
	path      uint32
}

func (c *randomCall) fill(w *world) {
	rng := c.rng
	messages, colls := rng.IntN(4), 0
	if rng.IntN(3) == 0 {
		colls = rng.IntN(3)
	}
	if c.n == xtf.Never {
		messages, colls = 1, 0
	}
	near := func() uint64 { return max(c.t, 9) - 9 + uint64(rng.IntN(24)) }
	for i := range messages {
		m := xtf.P2P{
			T: c.t, End: c.end, Post: max(c.t-uint64(rng.IntN(5)), 1), Done: c.end, CallN: c.n, Region: c.region, Peer: uint32(rng.IntN(3)),
			MateN: 1, MateP: uint32(rng.IntN(9)), MateT: near(), Kind: uint32(rng.IntN(2)),
		}
		switch rng.IntN(8) {
		case 0:
			m.MateN, m.MateT, m.MateP = xtf.Never, xtf.Never, trace.Undefined
			m.Kind |= xtf.P2PUnmatched
		case 1:
			m.Kind |= xtf.P2PMarker
		case 2, 3, 4:
			m.Kind |= xtf.P2PNonBlocking
		case 6:
			m.Kind |= xtf.P2PMarker | xtf.P2PNotice
			m.Tag, _ = xtf.NoticeTag(uint32(rng.IntN(4)), 1)
		case 5:
			if i == 0 && m.Kind == xtf.P2PRecv && c.n != xtf.Never {
				m.Kind |= xtf.P2PProbed
				m.Post = c.probe
			}
		}
		if m.Kind&(xtf.P2PNonBlocking|xtf.P2PProbed) == 0 {
			m.Post = m.T
		}
		if m.Kind&0xff == xtf.P2PSend {
			w.open = append(w.open, len(w.messages))
		}
		w.messages, w.mPaths = append(w.messages, m), append(w.mPaths, c.path)
	}
	for range colls {
		op := []uint32{0, 1, 11, 12, 14, 17}[rng.IntN(6)]
		x := xtf.Coll{
			T: c.t, End: c.end, Post: c.t, CallN: c.n, Ordinal: 3, LastEnter: near(), FirstLeave: near(), LastLeave: near() + 9, Region: c.region, Flags: op,
		}
		cause := xtf.NoCollCause()
		if op != 17 && rng.IntN(4) > 0 {
			cause = xtf.CollCause{CauseT: x.LastEnter, LastT: x.LastEnter, CauseP: uint32(rng.IntN(9)), LastP: 1}
		}
		if op == 0 || op == 11 {
			cause.CauseT, cause.CauseP = x.LastEnter, 4
		}
		w.colls, w.cPaths, w.causes = append(w.colls, x), append(w.cPaths, c.path), append(w.causes, cause)
	}
}

// addIvals adds the root, a child with children one after the other, and slices.
func (w *world) addIvals(rng *rand.Rand, end uint64) {
	w.ivals = []xtf.Ival{{T: 0, End: end}}
	for at := uint64(rng.IntN(20)); at < end; {
		stop := min(at+uint64(rng.IntN(30)), end)
		w.ivals = append(w.ivals, xtf.Ival{T: at, End: stop, Node: 1})
		for inner := at; inner < stop; {
			e := min(inner+uint64(rng.IntN(9)), stop)
			w.ivals = append(w.ivals, xtf.Ival{T: inner, End: e, Node: 2})
			inner = e + uint64(1+rng.IntN(5))
		}
		at = stop + uint64(1+rng.IntN(7))
	}
	for at := uint64(0); at < end; at += 13 {
		w.ivals = append(w.ivals, xtf.Ival{T: at, End: min(at+13, end), Node: 3})
	}
	slices.SortStableFunc(w.ivals, func(a, b xtf.Ival) int { return int(a.T) - int(b.T) })
	if rng.IntN(4) == 0 { // waits come after the begin of the last one
		w.ivals = w.ivals[:1+rng.IntN(len(w.ivals))]
	}
}

// slowly is found with all rows in hand.
func (w *world) slowly() found {
	f := found{Items: map[uint64]uint64{}}
	var list []wait
	late := map[uint64]uint64{}
	for i := range w.messages {
		if x := w.slowLateSender(i); x.from < x.to {
			list = append(list, x)
			late[w.messages[i].CallN] = x.to
		}
	}
	for _, s := range w.sends {
		list = append(list, w.slowSend(&s, late[s.CallN])...)
	}
	for i := range w.colls {
		if w.colls[i].Region != regionInit {
			list = append(list, w.slowColl(i)...)
		}
	}
	for i := range w.messages {
		m := &w.messages[i]
		if m.Kind&0xff == xtf.P2PRecv && m.MateN != xtf.Never && m.Kind&xtf.P2PMarker == 0 {
			ready := m.T
			if w.postPoint || m.Kind&xtf.P2PProbed != 0 {
				ready = m.Post
			}
			f.each(w, func(v xtf.Ival) bool { return v.T < m.End && m.End <= v.End || v.Node == 0 }, xtf.ItemSendRecv, m.End-min(m.End, m.MateT))
			f.each(w, func(v xtf.Ival) bool { return v.T < m.End && m.End <= v.End || v.Node == 0 }, xtf.ItemPotentialSync, m.MateT-min(m.MateT, ready))
		}
	}
	for i := range w.colls {
		c := &w.colls[i]
		f.each(w, func(v xtf.Ival) bool { return v.T <= c.T && c.T < v.End || v.Node == 0 }, xtf.ItemPotentialSync, c.LastEnter-min(c.LastEnter, c.T))
		f.each(w, func(v xtf.Ival) bool { return v.T <= c.T && c.T < v.End || v.Node == 0 }, xtf.ItemVariation, c.LastLeave-min(c.LastLeave, c.End))
	}
	for i, h := range w.hosts {
		list = append(list, wait{h.T, h.End, uint64(i), h.Pattern, h.CauseP})
	}
	w.slowWaits(&f, list)
	return f
}

// slowWaits gives every tick to the first of the spans that have it.
func (w *world) slowWaits(f *found, list []wait) {
	slices.SortStableFunc(list, func(a, b wait) int {
		for _, d := range [][2]uint64{{a.from, b.from}, {a.to, b.to}, {a.row, b.row}, {uint64(a.pattern), uint64(b.pattern)}} {
			if d[0] != d[1] {
				return int(d[0]) - int(d[1])
			}
		}
		return 0
	})
	taken := map[uint64]bool{}
	sums := map[place]amount{}
	for _, x := range list {
		for x.from < x.to && taken[x.from] {
			x.from++
		}
		if x.from >= x.to {
			continue
		}
		for t := x.from; t < x.to; t++ {
			taken[t] = true
		}
		node := uint32(0)
		for _, v := range w.ivals {
			if v.T <= x.from && x.from < v.End && v.Node < 3 {
				node = max(node, v.Node)
			}
		}
		path := w.slowPath(&x)
		row := x.row
		if x.pattern&0xff == xtf.WaitLateKernel {
			row = w.hosts[row].RecN
		}
		f.Waits = append(f.Waits, xtf.Wait{T: x.from, End: x.to, RecN: row, CauseP: x.cause, Pattern: x.pattern, Node: node, Path: path})
		at := place{xtf.NodeKey(node, path), x.pattern}
		sums[at] = amount{sums[at].count + 1, sums[at].ticks + x.to - x.from}
		items := []xtf.Item{xtf.PatternItem(x.pattern)}
		if x.pattern&xtf.WaitOrderSame != 0 {
			items = append(items, xtf.ItemLateSenderSame)
		}
		if x.pattern&xtf.WaitOrderDifferent != 0 {
			items = append(items, xtf.ItemLateSenderOther)
		}
		for t := x.from; t < x.to; t++ {
			for _, item := range items {
				f.each(w, func(v xtf.Ival) bool { return v.T <= t && t < v.End }, item, 1)
			}
		}
		f.each(w, func(v xtf.Ival) bool { return v.T <= x.from && x.from < v.End || v.Node == 0 }, xtf.ItemWaitCount, 1)
	}
	for at, x := range sums {
		f.Sums = append(f.Sums, xtf.WaitSum{Key: at.key, Pattern: at.pattern, Count: x.count, Ticks: x.ticks})
	}
	slices.SortFunc(f.Sums, func(a, b xtf.WaitSum) int { return place{a.Key, a.Pattern}.compare(place{b.Key, b.Pattern}) })
}

func (f *found) each(w *world, in func(xtf.Ival) bool, item xtf.Item, v uint64) {
	for _, x := range w.ivals {
		if v > 0 && in(x) {
			f.Items[xtf.NodeKey(x.Node, uint32(item))] += v
		}
	}
}

func (w *world) slowPath(x *wait) uint32 {
	local := uint32(0)
	switch p := x.pattern & 0xff; {
	case p == xtf.WaitLateKernel:
		return w.hosts[x.row].Path
	case p == xtf.WaitLatePost, p == xtf.WaitEarlyWait, p == xtf.WaitLock:
		local = w.mPaths[x.row]
	case p != xtf.WaitLateSender && p != xtf.WaitLateReceiver && p != xtf.WaitLateProgress:
		local = w.cPaths[x.row]
	case p != xtf.WaitLateSender && w.messages[x.row].Kind&xtf.P2PNonBlocking != 0:
		i, _ := slices.BinarySearchFunc(w.sends, x.row, func(s sendCall, row uint64) int { return int(s.Row) - int(row) })
		local = w.sends[i].Path
	default:
		local = w.mPaths[x.row]
	}
	return []uint32{0, 20, 10, 30}[local]
}

// has reports whether row i is a side of a message that makes waits.
func (w *world) has(i int, side uint32) bool {
	m := &w.messages[i]
	return m.MateN != xtf.Never && m.Kind&xtf.P2PMarker == 0 && m.Kind&0xff == side && m.Region != regionInit
}

// notices reports whether row i is a notice that its call may wait for: it came before the call ended.
func (w *world) notices(i int) bool {
	m := &w.messages[i]
	return m.Kind&xtf.P2PNotice != 0 && m.Kind&0xff == xtf.P2PRecv && m.MateN != xtf.Never && m.MateT <= m.End && m.Region != regionInit
}

// slowLateSender is the wait for message or notice i, if it is the one of its call that was sent last, the first of several.
func (w *world) slowLateSender(i int) wait {
	if !w.has(i, xtf.P2PRecv) && !w.notices(i) {
		return wait{}
	}
	m := &w.messages[i]
	receives := 0
	for k := range w.messages {
		if x := &w.messages[k]; k == i || x.CallN == m.CallN && m.CallN != xtf.Never && (w.has(k, xtf.P2PRecv) || w.notices(k)) {
			if !w.notices(k) {
				receives++
			}
			if x.MateT > m.MateT || x.MateT == m.MateT && k < i {
				return wait{}
			}
		}
	}
	from := m.T
	if m.Kind&xtf.P2PProbed != 0 {
		from = m.Post
	}
	x := wait{from, min(m.MateT, m.End), uint64(i), xtf.WaitLateSender, m.MateP}
	switch {
	case w.notices(i):
		x.pattern = []uint32{xtf.NoticePost: xtf.WaitLatePost, xtf.NoticeAccess: xtf.WaitLatePost, xtf.NoticeComplete: xtf.WaitEarlyWait, xtf.NoticeLock: xtf.WaitLock}[xtf.NoticeKind(m.Tag)]
	case receives == 1:
		x.pattern |= w.slowOrder(i)
	}
	return x
}

// slowSend are the waits of a send whose receivers are the last ones of its call, which waits for a late sender until an instant; 0 for none.
func (w *world) slowSend(s *sendCall, late uint64) (list []wait) {
	span := func(s *sendCall, progress bool) (from, to uint64) {
		m := &w.messages[s.Row]
		end := m.End
		if m.Kind&xtf.P2PNonBlocking != 0 {
			end = m.Done
		}
		switch silent := s.Region != regionCall || m.Region != regionCall && m.Region != regionInit; {
		case m.Kind&xtf.P2PMarker != 0, m.MateN == xtf.Never, silent:
			return 0, 0
		case progress && s.Ready < end && max(s.Enter, s.Post, s.Out) < s.Ready:
			return max(s.Enter, s.Post, s.Out), s.Ready
		case !progress && s.Post < end && s.Enter < s.Post:
			return s.Enter, s.Post
		}
		return 0, 0
	}
	for _, progress := range []bool{false, true} {
		if late > 0 && !progress {
			continue
		}
		from, to := span(s, progress)
		for i := range w.sends {
			x := &w.sends[i]
			if _, other := span(x, progress); x.CallN == s.CallN && (other > to || other == to && x.Row < s.Row) {
				to = from
			}
		}
		pattern := xtf.WaitLateReceiver
		if progress {
			pattern = xtf.WaitLateProgress
			from = max(from, late)
			for i := range w.sends {
				if _, posted := span(&w.sends[i], false); w.sends[i].CallN == s.CallN && late == 0 {
					from = max(from, posted)
				}
			}
			m := &w.messages[s.Row]
			end := m.End
			if m.Kind&xtf.P2PNonBlocking != 0 {
				end = m.Done
			}
			if late > 0 && from < to && to-from <= end-to { // it may be the message that is on its way
				continue
			}
		}
		if from < to {
			list = append(list, wait{from, to, s.Row, pattern, w.messages[s.Row].MateP})
		}
	}
	return list
}

func (w *world) slowOrder(row int) uint32 {
	m, order := &w.messages[row], uint32(0)
	for i := row + 1; i < len(w.messages); i++ {
		x := &w.messages[i]
		if x.CallN == m.CallN && m.CallN != xtf.Never || x.MateN == xtf.Never || x.Kind&(0xff|xtf.P2PMarker) != xtf.P2PRecv || x.MateT >= m.MateT {
			continue
		}
		if x.Peer == m.Peer {
			return xtf.WaitOrderSame
		}
		order = xtf.WaitOrderDifferent
	}
	return order
}

func (w *world) slowColl(i int) []wait {
	c, cause := &w.colls[i], &w.causes[i]
	n := uint64(i)
	until := min(cause.CauseT, c.End)
	switch op := c.Flags & xtf.CollOpMask; {
	case c.Region == regionTest:
		return nil
	case op == 0:
		return []wait{{c.T, until, n, xtf.WaitBarrier, cause.CauseP}, {max(c.T, c.FirstLeave), c.End, n, xtf.WaitBarrierCompletion, trace.Undefined}}
	case op == 11:
		return []wait{{c.T, until, n, xtf.WaitNxN, cause.CauseP}, {max(c.T, c.FirstLeave), c.End, n, xtf.WaitNxNCompletion, trace.Undefined}}
	case cause.CauseT == xtf.Never || op == 17:
		return nil
	case op == 1:
		return []wait{{c.T, until, n, xtf.WaitLateBroadcast, cause.CauseP}}
	case op == 12:
		return []wait{{c.T, until, n, xtf.WaitEarlyReduce, cause.CauseP}}
	}
	return []wait{{c.T, until, n, xtf.WaitEarlyScan, cause.CauseP}}
}

// TestLocate compares random locations with the slow walk over all rows.
func TestLocate(t *testing.T) {
	waits := map[uint32]int{}
	seeds, most := uint64(100), 20
	if testing.Short() {
		seeds, most = 30, 2
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 17))
		w := randomWorld(rng, 4+2*int(seed))
		got, want := w.locate(t), w.slowly()
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		for _, x := range got.Waits {
			waits[x.Pattern]++
		}
	}
	for _, p := range []uint32{
		xtf.WaitLateSender, xtf.WaitLateSender | xtf.WaitOrderSame, xtf.WaitLateSender | xtf.WaitOrderDifferent, xtf.WaitLateReceiver, xtf.WaitLateProgress,
		xtf.WaitBarrier, xtf.WaitBarrierCompletion, xtf.WaitNxN, xtf.WaitNxNCompletion, xtf.WaitLateBroadcast, xtf.WaitEarlyReduce, xtf.WaitEarlyScan,
		xtf.WaitLateKernel | xtf.WaitLaunchLate, xtf.WaitLatePost, xtf.WaitEarlyWait, xtf.WaitLock,
	} {
		if waits[p] < most {
			t.Errorf("only %d waits of pattern %#x: the locations do not exercise it", waits[p], p)
		}
	}
}

// TestLocateManyExecutions walks over more executions than are held in memory.
func TestLocateManyExecutions(t *testing.T) {
	w := randomWorld(rand.New(rand.NewPCG(5, 5)), 1200)
	if len(w.ivals) <= heldExecutions {
		t.Fatalf("only %d executions", len(w.ivals))
	}
	if d := cmp.Diff(w.slowly(), w.locate(t)); d != "" {
		t.Error(d)
	}
}

// BenchmarkLocate walks a location of many calls; rows are those of P2P and COLL.
func BenchmarkLocate(b *testing.B) {
	const calls, executions = 100_000, 1000
	w := randomWorld(rand.New(rand.NewPCG(1, 1)), calls)
	w.ivals = w.ivals[:1]
	for at, step := uint64(0), w.last()/executions; at+step <= w.last(); at += step {
		w.ivals = append(w.ivals, xtf.Ival{T: at, End: at + step, Node: 1})
	}
	in := w.location(b)
	count := uint64(len(w.messages) + len(w.colls))
	run := NewRun(w.defs, w.derived, Options{})
	b.ReportAllocs()
	for b.Loop() {
		enc := xtf.NewEncoder()
		out := Outputs{
			Waits:      xtf.NewArrayBuilder(enc, w.types.Lookup(xtf.TypeWait), 0, &xtftest.MemorySink{}),
			Sums:       xtf.NewArrayBuilder(enc, w.types.Lookup(xtf.TypeWaitSum), 0, &xtftest.MemorySink{}),
			Components: &interval.Components{}, Scratch: &xtftest.MemorySink{}, Follower: &follower{tb: b, w: w},
		}
		in.Rows = &rows{w: w}
		if _, err := run.Locate(in, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(uint64(b.N)*count), "ns/row")
}

// TestRowsInOrder orders messages and collectives of one instant: those of the current call, those outside of calls, then by call.
func TestRowsInOrder(t *testing.T) {
	calls := []uint64{1, 2, 3, xtf.Never}
	for i := range 4 * 4 * 4 * 4 {
		w := &walk{}
		w.call.n = calls[i%4]
		m, c := &xtf.Message{}, &xtf.Collective{}
		m.CallN, c.CallN, m.T, c.T = calls[i/4%4], calls[i/16%4], uint64(i/64%2), uint64(i/128)
		place := func(at, call uint64) [2]uint64 {
			switch {
			case call == xtf.Never:
				return [2]uint64{at, 1}
			case call == w.call.n:
				return [2]uint64{at, 0}
			}
			return [2]uint64{at, 1 + call}
		}
		a, b := place(m.T, m.CallN), place(c.T, c.CallN)
		if got := w.messageFirst(m, c); a != b && got != (slices.Compare(a[:], b[:]) < 0) {
			t.Errorf("in call %d, message at %d of call %d, collective at %d of call %d: message first %t", w.call.n, m.T, m.CallN, c.T, c.CallN, got)
		}
	}
}
