package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// lawOp is an operation of a random run, as the load of location p knows it.
type lawOp struct {
	Key
	Operation
	p        uint32
	process  uint32
	canceled bool
	done     *xtf.SendCall // the call that completes a send later, until doneAt
	doneAt   uint64
	acquired *lawOp // of the release of a lock

	// What the standard says of it.
	mate   *lawOp
	seq    uint64
	shared bool // another location began the channel, or a lock waited for a release that has another mate
}

func (o *lawOp) isLock() bool { return o.Direction != xtf.ChannelColl && isLock(o.Tag) }
func (o *lawOp) notice() bool { return o.Kind&xtf.P2PNotice != 0 }

// postedAt is when a receive is posted: a probe does not post.
func (o *lawOp) postedAt() uint64 {
	if o.Direction == xtf.ChannelReceive && o.Kind&xtf.P2PProbed != 0 {
		return o.T
	}
	return o.Operation.Post
}

// lawRun is a random run: operations and stays in MPI of all locations.
type lawRun struct {
	defs  *trace.Definitions
	ops   []*lawOp
	p2p   [][]*lawOp // by location and row
	coll  [][]*lawOp
	stays [][][2]uint64
}

// Communicators of a random run: all processes in another order, some of them, each alone, two groups, and one without definition.
const (
	commAll = iota
	commSome
	commSelf
	commInter
	commUnknown
	lawComms
)

// lawDefs has processes of some locations each.
func lawDefs(r *rand.Rand, processes int) (d *trace.Definitions, members [lawComms][]uint32) {
	d = &trace.Definitions{
		SystemTreeNodes: []trace.SystemTreeNode{{Parent: trace.Undefined}},
		Strings:         []trace.String{{Ref: 0, Value: "MPI_Comm_dup"}, {Ref: 1, Value: "MPI_Init"}},
		Regions:         []trace.Region{{Ref: 0, Name: 0, Paradigm: trace.ParadigmMPI}, {Ref: 1, Name: 1, Paradigm: trace.ParadigmMPI}},
		RmaWins:         []trace.RmaWin{{Ref: 0, Comm: commAll}, {Ref: 1, Comm: commAll}},
	}
	ranks := trace.Group{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	for p := range uint32(processes) {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: p, Type: 1, Creator: trace.Undefined})
		ranks.Members = append(ranks.Members, uint64(len(d.Locations)))
		for range 1 + r.IntN(3)/2*r.IntN(3) {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(len(d.Locations)), Type: 1, Group: p})
		}
	}
	d.Groups = append(d.Groups, ranks)
	group := func(list []int) uint32 {
		g := trace.Group{Ref: uint32(len(d.Groups)), Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI}
		for _, p := range list {
			g.Members = append(g.Members, uint64(p))
		}
		d.Groups = append(d.Groups, g)
		return g.Ref
	}
	order := r.Perm(processes)
	half := processes/2 + 1
	for c, list := range [][]int{commAll: order, commSome: order[:half], commSelf: nil} {
		g := group(list)
		if list == nil {
			d.Groups[g].Type = trace.GroupCommSelf
		}
		d.Comms = append(d.Comms, trace.Comm{Ref: uint32(c), Group: g, Parent: trace.Undefined})
		for _, p := range list {
			members[c] = append(members[c], uint32(p))
		}
	}
	d.InterComms = []trace.InterComm{{Ref: commInter, GroupA: group(order[:half]), GroupB: group(order[half:])}}
	members[commInter], members[commUnknown] = members[commAll], members[commAll]
	d.Seal()
	return d, members
}

// lawInstance is a collective operation that the members of a communicator do one after another.
type lawInstance struct {
	op, root uint32
}

// lawOps are collective operations of every class, by number in OTF2, one on a file and one on a window.
var lawOps = []uint32{0, 1, 3, 5, 9, 11, 12, 14, 15, 17, 18, 0xf0, 0xfc}

// randomRun makes about n operations on each location, often at the same instants.
func randomRun(r *rand.Rand, processes, n int) *lawRun {
	x := &lawRun{}
	var members [lawComms][]uint32
	x.defs, members = lawDefs(r, processes)
	locations := x.defs.NumLocations()
	x.p2p, x.coll, x.stays = make([][]*lawOp, locations), make([][]*lawOp, locations), make([][][2]uint64, locations)
	var plans [lawComms][]lawInstance
	for c := range plans {
		for range n {
			i := lawInstance{lawOps[r.IntN(len(lawOps))], uint32(r.IntN(max(1, len(members[c]))))}
			if c == commInter {
				i = lawInstance{lawOps[[]int{0, 5, 9}[r.IntN(3)]], trace.Undefined}
			}
			plans[c] = append(plans[c], i)
		}
	}
	next := make([][lawComms]int, processes)
	for p := range uint32(locations) {
		process, _ := x.defs.Process(trace.P(p))
		l := &lawLocation{x: x, r: r, p: p, process: process, processes: processes}
		for range n {
			l.t += r.Uint64N(4)
			if k := r.IntN(12); k > 7 {
				c := r.IntN(lawComms)
				i := &next[process][c]
				if c != commSelf && !slices.Contains(members[c], process) || *i == n {
					continue
				}
				l.collective(uint32(c), plans[c][*i])
				*i++
			} else {
				l.message(k)
			}
		}
		l.end()
	}
	return x
}

// lawLocation makes the operations of a location, in the order in which they are posted.
type lawLocation struct {
	x          *lawRun
	r          *rand.Rand
	p, process uint32
	processes  int
	t          uint64
	posting    uint64
}

// add adds an operation posted now, in a call that is entered after a while and lasts for another one.
func (l *lawLocation) add(k Key, o Operation, after, lasts uint64) *lawOp {
	r := l.r
	o.Posting, o.Post, o.T, o.End = l.posting, l.t, l.t+after, l.t+after+lasts
	o.Own, o.CallN, o.Region, o.Path = o.T, r.Uint64N(100), r.Uint32N(2), r.Uint32N(5)
	l.posting++
	x := &lawOp{Key: k, Operation: o, p: l.p, process: l.process}
	l.x.ops = append(l.x.ops, x)
	return x
}

func (l *lawLocation) message(k int) {
	r := l.r
	key := Key{Peer: r.Uint32N(uint32(l.processes)), Comm: r.Uint32N(2), Tag: r.Uint32N(2), Direction: xtf.ChannelSend}
	if r.IntN(12) == 0 {
		key.Peer = trace.Undefined
	}
	o := Operation{Stay: xtf.Never, Bytes: r.Uint64N(3)}
	switch k {
	case 0, 1: // blocking send
		o.Flags = []uint32{0, EntryBlocking, EntryBlocking | EntrySynchronous}[r.IntN(3)]
		l.add(key, o, 0, r.Uint64N(9))
	case 2: // non-blocking send
		o.Kind, o.Flags = xtf.P2PNonBlocking|xtf.P2PIncomplete, []uint32{0, EntrySynchronous}[r.IntN(2)]
		x := l.add(key, o, 0, r.Uint64N(4))
		switch r.IntN(8) {
		case 0: // never completed
		case 1:
			x.canceled = true
		case 2: // completed by the call that began it
			x.Kind &^= xtf.P2PIncomplete
		default:
			x.done = &xtf.SendCall{CallN: r.Uint64N(100), Enter: x.End + r.Uint64N(9), Path: r.Uint32N(5), Region: r.Uint32N(2)}
			x.doneAt = x.done.Enter + r.Uint64N(9)
		}
	case 3, 4: // receive
		key.Direction, o.Kind = xtf.ChannelReceive, xtf.P2PRecv
		before := r.IntN(4) == 0
		if x := l.add(key, o, 0, r.Uint64N(9)); before {
			x.Kind |= xtf.P2PProbed
			x.Operation.Post -= min(x.Operation.Post, r.Uint64N(5))
		}
	case 5: // non-blocking receive
		key.Direction, o.Kind, o.Stay = xtf.ChannelReceive, xtf.P2PRecv|xtf.P2PNonBlocking, 0
		l.add(key, o, r.Uint64N(30), r.Uint64N(9))
	default:
		o.Bytes, key.Comm = 0, commAll
		if key.Peer == trace.Undefined {
			return
		}
		kind := []uint32{xtf.NoticePost, xtf.NoticeLock, xtf.NoticeLock, xtf.NoticeComplete}[r.IntN(4)]
		key.Tag, _ = xtf.NoticeTag(kind, r.Uint32N(2))
		if kind != xtf.NoticeLock {
			if o.Kind = xtf.P2PNotice | xtf.P2PMarker; r.IntN(2) == 0 {
				key.Direction = xtf.ChannelReceive
				o.Kind |= xtf.P2PRecv
			}
			l.add(key, o, 0, r.Uint64N(9))
			return
		}
		l.lock(key)
	}
}

// lock acquires a lock, most often releases it, and leaves out times at which the location would have it twice.
func (l *lawLocation) lock(key Key) {
	r := l.r
	key.Direction = xtf.ChannelReceive
	in := l.add(key, Operation{Stay: xtf.Never, Kind: xtf.P2PRecv | xtf.P2PNotice | xtf.P2PMarker}, 0, r.Uint64N(6))
	granted := l.t + r.Uint64N(5)
	if l.t = granted + r.Uint64N(4); r.IntN(6) == 0 {
		return
	}
	key.Direction = xtf.ChannelSend
	out := l.add(key, Operation{Kind: xtf.P2PSend | xtf.P2PNotice | xtf.P2PMarker, Flags: []uint32{0, EntryExclusive}[r.IntN(2)]}, 0, r.Uint64N(6))
	out.acquired, out.Own, out.End, out.Operation.Post = in, out.End, in.T, granted
}

func (l *lawLocation) collective(comm uint32, i lawInstance) {
	r := l.r
	if r.IntN(40) == 0 {
		i.op = lawOps[r.IntN(len(lawOps))]
	}
	if r.IntN(40) == 0 {
		i.root++
	}
	o := Operation{Bytes: r.Uint64N(2), Stay: r.Uint64N(2)}
	if o.Stay > 0 {
		o.Flags = EntryTakes
	}
	after := uint64(0)
	if r.IntN(3) == 0 {
		o.Kind, after = xtf.CollNonBlocking, r.Uint64N(20)
	}
	x := l.add(Key{Peer: trace.Undefined, Comm: comm, Tag: trace.Undefined, Direction: xtf.ChannelColl}, o, after, r.Uint64N(9))
	x.T, x.Operation.Post = x.Operation.Post, uint64(i.op)<<32|uint64(i.root)
}

// end numbers the rows, and makes the stays of some locations.
func (l *lawLocation) end() {
	for _, o := range l.x.ops {
		switch {
		case o.p != l.p:
		case o.Direction == xtf.ChannelColl:
			l.x.coll[l.p] = append(l.x.coll[l.p], o)
		default:
			l.x.p2p[l.p] = append(l.x.p2p[l.p], o)
		}
	}
	for _, rows := range [][]*lawOp{l.x.p2p[l.p], l.x.coll[l.p]} {
		slices.SortStableFunc(rows, func(a, b *lawOp) int { return cmp.Compare(a.Own-a.releases(), b.Own-b.releases()) })
		for i, o := range rows {
			o.Row = uint64(i)
		}
	}
	for _, o := range l.x.p2p[l.p] {
		if o.acquired != nil {
			o.Stay = o.acquired.Row
		}
	}
	if l.r.IntN(3) > 0 {
		for at := l.r.Uint64N(9); at < l.t; {
			end := at + l.r.Uint64N(8)
			l.x.stays[l.p] = append(l.x.stays[l.p], [2]uint64{at, end})
			at = end + l.r.Uint64N(8)
		}
	}
	for _, o := range l.x.p2p[l.p] {
		if o.Direction == xtf.ChannelReceive && o.Stay == 0 {
			for int(o.Stay) < len(l.x.stays[l.p]) && l.x.stays[l.p][o.Stay][0] <= o.Operation.Post {
				o.Stay++
			}
		}
	}
}

// releases is how long the call of a release lasts: rows are in the order in which calls are entered.
func (o *lawOp) releases() uint64 {
	if o.acquired == nil {
		return 0
	}
	return o.Own - o.T
}

// pair finds mates, by definition: the k-th send on a channel is received by the k-th receive.
func (x *lawRun) pair() {
	type channel struct{ from, to, comm, tag uint32 }
	sends, receives := map[channel][]*lawOp{}, map[channel][]*lawOp{}
	type side struct {
		process uint32
		Key
	}
	sides := map[side][]*lawOp{}
	locks := map[Key][]*lawOp{} // releases, by target and window
	posted := slices.Clone(x.ops)
	slices.SortStableFunc(posted, func(a, b *lawOp) int {
		return cmp.Or(cmp.Compare(a.postedAt(), b.postedAt()), cmp.Compare(a.p, b.p), cmp.Compare(a.Posting, b.Posting))
	})
	for _, o := range posted {
		o.mate, o.shared = nil, false
	}
	for _, o := range posted {
		if o.Direction == xtf.ChannelColl || o.canceled {
			continue
		}
		s := side{o.process, o.Key}
		o.seq = uint64(len(sides[s]))
		sides[s] = append(sides[s], o)
		o.shared = o.p != sides[s][0].p && o.Peer != trace.Undefined && !o.isLock()
		switch {
		case o.Peer == trace.Undefined:
		case o.isLock():
			if o.acquired != nil {
				locks[o.Key] = append(locks[o.Key], o)
			}
		case o.Direction == xtf.ChannelSend:
			c := channel{o.process, o.Peer, o.Comm, o.Tag}
			sends[c] = append(sends[c], o)
		default:
			c := channel{o.Peer, o.process, o.Comm, o.Tag}
			receives[c] = append(receives[c], o)
		}
	}
	for c, list := range sends {
		for k := range min(len(list), len(receives[c])) {
			list[k].mate, receives[c][k].mate = receives[c][k], list[k]
		}
	}
	for _, list := range locks {
		slices.SortFunc(list, func(a, b *lawOp) int {
			return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.p, b.p), cmp.Compare(a.Row, b.Row))
		})
		for i, o := range list {
			for k := i - 1; k >= 0; k-- {
				if before := list[k]; (before.Flags|o.Flags)&EntryExclusive != 0 { // both cannot have the lock at once
					if before.p != o.p && before.T <= o.Operation.Post {
						if o.acquired.mate, o.acquired.shared = before, before.mate != nil; before.mate == nil {
							before.mate = o.acquired
						}
					}
					break
				}
			}
		}
	}
}

// instances gathers the k-th collectives of all processes on a communicator, by location.
func (x *lawRun) instances() map[*lawOp][]*lawOp {
	type key struct{ comm, process uint32 }
	lists := map[key][]*lawOp{}
	for _, o := range x.ops {
		if o.Direction == xtf.ChannelColl {
			k := key{o.Comm, o.process}
			lists[k] = append(lists[k], o)
		}
	}
	all := map[[2]uint64][]*lawOp{}
	for k, list := range lists {
		slices.SortFunc(list, func(a, b *lawOp) int {
			return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.p, b.p), cmp.Compare(a.Posting, b.Posting))
		})
		for i, o := range list {
			id := [2]uint64{uint64(k.comm), uint64(i)}
			if o.seq = uint64(i); k.comm == commSelf {
				id[0] += uint64(1+k.process) << 32
			}
			all[id] = append(all[id], o)
		}
	}
	of := map[*lawOp][]*lawOp{}
	for _, list := range all {
		slices.SortFunc(list, func(a, b *lawOp) int { return cmp.Compare(a.p, b.p) })
		for _, o := range list {
			of[o] = list
		}
	}
	return of
}

// needs reports whether a member waits for another one, which may be itself, by what MPI 4.1, 6, says of the operation.
func (x *lawRun) needs(o, other *lawOp, all []*lawOp) bool {
	op, root := uint32(o.Operation.Post>>32), uint32(o.Operation.Post)
	rank, known := x.defs.RankIn(o.Comm, o.process)
	from, _ := x.defs.RankIn(o.Comm, other.process)
	isRoot, fromRoot := known && rank == root, known && from == root
	gets, gives := o.Flags&EntryTakes != 0, other.Bytes > 0
	switch op {
	case 0, 17, 0xf0, 0xfc: // barrier, a new handle, on a file or window
		return true
	case 9, 11: // alltoallv, allreduce; where nobody gives bytes, all did (MPI_IN_PLACE)
		return gets && (gives || !slices.ContainsFunc(all, func(m *lawOp) bool { return m.Bytes > 0 }))
	case 1, 5: // bcast, scatterv
		return gets && !isRoot && fromRoot
	case 3, 12: // gatherv, reduce
		return isRoot && !fromRoot && gives
	case 14, 15: // scan, exscan
		return gets && gives && known && from < rank
	}
	return false
}

// cause is whom a member waits for.
func (x *lawRun) cause(o *lawOp, all []*lawOp) xtf.CollCause {
	var first, last *lawOp
	for _, other := range all {
		if !x.needs(o, other, all) {
			continue
		}
		if first == nil || other.T < first.T {
			first = other
		}
		if last == nil || other.T > last.T {
			last = other
		}
	}
	if last == nil {
		return xtf.NoCollCause()
	}
	if op := o.Operation.Post >> 32; op != 3 && op != 12 { // only the root of a reduction goes on with what comes first
		first = last
	}
	return xtf.CollCause{CauseT: first.T, CauseP: first.p, LastT: last.T, LastP: last.p}
}

// outOfMPI is the first instant from t on at which a receiver is out of MPI in its stays from a number on, and when it is back.
func outOfMPI(stays [][2]uint64, from, t uint64) (out, back uint64) {
	out, back = t, xtf.Never
	for _, s := range stays[min(from, uint64(len(stays))):] {
		switch {
		case s[1] <= t:
		case s[0] <= t:
			out = s[1]
		default:
			return out, s[0]
		}
	}
	return out, back
}

// wantMessage is the row of an operation, and its diagnostic if threads share its channel.
func (x *lawRun) wantMessage(o *lawOp) (m xtf.Message, code trace.Code) {
	m.N, m.Path = o.Row, o.Path
	m.P2P = xtf.P2P{
		T: o.T, End: o.End, Post: o.Operation.Post, Done: o.End, CallN: o.CallN, MateN: xtf.Never, Seq: o.seq, Bytes: o.Bytes,
		Region: o.Region, Peer: o.Peer, Comm: o.Comm, Tag: o.Tag, Kind: o.Kind, MateP: trace.Undefined, MateT: xtf.Never,
	}
	if o.acquired != nil {
		m.End, m.Done, m.Post = o.Own, o.Own, o.T
	}
	m.Call = xtf.SendCall{CallN: o.CallN, Enter: o.T, Region: o.Region, Path: o.Path, Post: xtf.Never, Ready: xtf.Never}
	ends := true
	switch {
	case o.done != nil:
		m.Done, m.Kind = o.doneAt, m.Kind&^xtf.P2PIncomplete
		m.Call.CallN, m.Call.Enter, m.Call.Region, m.Call.Path = o.done.CallN, o.done.Enter, o.done.Region, o.done.Path
	case m.Kind&xtf.P2PIncomplete != 0:
		m.Done, ends = xtf.Never, false
	}
	if o.canceled {
		m.Seq = xtf.Never
	}
	send, receive := o, o.mate
	if o.Direction == xtf.ChannelReceive {
		send, receive = o.mate, o
	}
	if o.shared || o.mate != nil && o.mate.shared && !o.isLock() {
		m.Kind |= xtf.P2PBestEffort
		if !o.notice() {
			code = trace.DiagSharedChannel
		}
	}
	if o.mate == nil {
		m.Kind |= xtf.P2PUnmatched
		return m, code
	}
	m.MateN, m.MateP, m.MateT = o.mate.Row, o.mate.p, o.mate.T
	if receive.End < send.T && (!o.isLock() || o == receive) {
		m.Kind |= xtf.P2PClock
	}
	if o.isLock() {
		return m, code
	}
	if !o.notice() {
		m.Kind |= waitsFor(send, receive)
	}
	if o == send {
		posted := receive.postedAt()
		out, ready := max(posted, o.T), receive.T
		if out < receive.T {
			from := receive.Stay
			o, back := outOfMPI(x.stays[receive.p], from, out)
			out, ready = o, min(ready, back)
		}
		if m.Call.Post, m.Call.Ready = out, ready; posted <= o.T {
			m.Call.Post, m.Call.Out = o.T, out
		}
		m.Late = ends && !o.notice() && max(m.Call.Post, ready) > m.Call.Enter
	}
	return m, code
}

// waitsFor is for what of a receive a send waits: if it is synchronous until the receive can begin, else if it was seen to wait, in the
// call, until then.
func waitsFor(send, receive *lawOp) uint32 {
	blocks, synchronous := send.Flags&EntryBlocking != 0, send.Flags&EntrySynchronous != 0
	seen := func(t uint64) bool { return blocks && send.T < t && t < send.End }
	switch {
	case seen(receive.T), blocks && synchronous && receive.T < send.End:
		return xtf.P2PAwaited
	case synchronous, seen(receive.postedAt()):
		return xtf.P2PAwaitedPost
	}
	return 0
}

// wantCollective is the row of a member of an operation.
func (x *lawRun) wantCollective(o *lawOp, all []*lawOp) xtf.Collective {
	op, root := uint32(o.Operation.Post>>32), uint32(o.Operation.Post)
	c := xtf.Collective{N: o.Row, Path: o.Path, Cause: x.cause(o, all), Coll: xtf.Coll{
		T: o.Own, End: o.End, Post: o.T, CallN: o.CallN, Sent: o.Bytes, Received: o.Stay, Ordinal: o.seq, FirstLeave: xtf.Never,
		Region: o.Region, Comm: o.Comm, Root: root, Flags: op | o.Kind,
	}}
	for _, m := range all {
		c.LastEnter, c.FirstLeave, c.LastLeave = max(c.LastEnter, m.T), min(c.FirstLeave, m.End), max(c.LastLeave, m.End)
		if other := m.Operation.Post; uint32(other>>32) != op || uint32(other) != root && o.Comm != commInter {
			c.Flags |= xtf.CollMixed
		}
	}
	if len(all) < x.defs.CommSize(o.Comm) {
		c.Flags |= xtf.CollShort
	}
	return c
}

// lawFound is what Match says of a run: the rows of all locations, without the texts of diagnostics.
type lawFound struct {
	Messages    [][]xtf.Message
	Collectives [][]xtf.Collective
	Diagnostics []trace.Diagnostics
}

// want works out what Match has to say. Causes in operations whose members disagree are those of got.
func (x *lawRun) want(got *lawFound) (w lawFound, pairs, instances int) {
	x.pair()
	of := x.instances()
	for p := range x.p2p {
		var ms []xtf.Message
		var cs []xtf.Collective
		var d trace.Diagnostics
		add := func(code trace.Code, t, worst uint64) {
			d.Add(trace.Diagnostic{Code: code, Time: trace.Time(t), Event: xtf.Never, Worst: worst})
		}
		for _, o := range x.p2p[p] {
			m, code := x.wantMessage(o)
			ms = append(ms, m)
			if o.mate != nil && o.Direction == xtf.ChannelReceive && !o.isLock() {
				pairs++
			}
			switch {
			case o.notice():
			case o.mate != nil && o.Direction == xtf.ChannelReceive:
				if o.End < o.mate.T {
					add(trace.DiagClockViolation, o.T, o.mate.T-o.End)
				}
				if o.Bytes != o.mate.Bytes {
					add(trace.DiagBytesDiffer, o.T, max(o.Bytes, o.mate.Bytes)-min(o.Bytes, o.mate.Bytes))
				}
			case o.mate == nil && o.Peer != trace.Undefined && !o.canceled:
				add(map[uint32]trace.Code{xtf.ChannelSend: trace.DiagUnmatchedSend, xtf.ChannelReceive: trace.DiagUnmatchedRecv}[o.Direction], o.T, 0)
			}
			if code != 0 {
				add(code, o.T, 0)
			}
		}
		for i, o := range x.coll[p] {
			c := x.wantCollective(o, of[o])
			if c.Flags&xtf.CollMixed != 0 && len(got.Collectives[p]) > i {
				c.Cause = got.Collectives[p][i].Cause
			}
			cs = append(cs, c)
			if of[o][0] == o {
				if o.Comm != commSelf {
					instances++
				}
				if c.Flags&xtf.CollShort != 0 {
					add(trace.DiagShortCollective, c.T, 0)
				}
				if c.Flags&xtf.CollMixed != 0 {
					add(trace.DiagMixedCollective, c.T, 0)
				}
			}
			if late := c.Cause.LastT; late != xtf.Never && late > c.End && c.Flags&(xtf.CollShort|xtf.CollMixed) == 0 && o.Comm != commInter && tellsClocks(c.Flags, c.Region) {
				add(trace.DiagClockCollective, c.T, late-c.End)
			}
		}
		w.Messages, w.Collectives, w.Diagnostics = append(w.Messages, ms), append(w.Collectives, cs), append(w.Diagnostics, d)
	}
	return w, pairs, instances
}

// tellsClocks reports whether a member that leaves before one that it needs means that clocks differ: not in alltoallv, of which a pair
// may exchange nothing, on files and windows, and where a handle is made without blocking or by MPI_Init.
func tellsClocks(flags, region uint32) bool {
	switch flags & xtf.CollOpMask {
	case 9, 0xf0, 0xfc:
		return false
	case 17:
		return flags&xtf.CollNonBlocking == 0 && region != 1
	}
	return true
}

// match joins the run on some ranks.
func (x *lawRun) match(t *testing.T, ranks int, round uint64) (*lawFound, Report) {
	t.Helper()
	n := x.defs.NumLocations()
	ranges := partition.Ranges(make([]uint64, n), ranks)
	f := &lawFound{make([][]xtf.Message, n), make([][]xtf.Collective, n), make([]trace.Diagnostics, n)}
	var sum Report
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		o := Options{
			Comm: c, Defs: x.defs, Ranges: ranges, Scratch: func() Scratch { return &memory{} },
			RoundInstances: round, PrefixMembers: round / 2,
		}
		own := ranges[c.Rank()]
		for p := own.First; p < own.End; p++ {
			u, err := x.unit(p)
			if err != nil {
				return err
			}
			o.Units = append(o.Units, u)
		}
		results, report, err := Match(o)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		sum.Messages += report.Messages
		sum.Remote += report.Remote
		sum.Collectives += report.Collectives
		var done *Rows
		for p := own.First; p < own.End; p++ {
			if done, err = f.rows(x, results, p, done); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, sum
}

// encoders are reused: to make one takes longer than to encode a few rows.
var encoders = sync.Pool{New: func() any { return xtf.NewEncoder() }}

// unit writes what Match gets of a location, and checks its channels.
func (x *lawRun) unit(p trace.P) (Unit, error) {
	entries, sorted, late := Entries{}, &memory{}, &memory{}
	entries.Reset(uint32(p), func() Scratch { return &memory{} })
	types := xtf.StandardTypes(xtf.Packed)
	sinks := [2]xtftest.MemorySink{}
	encoder := encoders.Get().(*xtf.Encoder)
	defer encoders.Put(encoder)
	out := ChannelOutputs{Canceled: map[uint64]bool{}}
	if p%2 == 0 {
		out.Channels = xtf.NewArrayBuilder(encoder, types.Lookup(xtf.TypeChannel), xtf.Proc(p), &sinks[0])
		out.Chan = xtf.NewArrayBuilder(encoder, types.Lookup(xtf.TypeChan), xtf.Proc(p), &sinks[1])
	}
	sends := LateSends{Stream{sink: late}}
	for _, o := range slices.Concat(x.p2p[p], x.coll[p]) {
		if err := entries.Add(o.Key, &o.Operation); err != nil {
			return Unit{}, err
		}
		if o.canceled {
			out.Canceled[o.Posting] = true
		}
		if o.done != nil {
			sends.Completed(o.Row, o.doneAt, o.done.Enter, o.done.CallN, o.done.Path, o.done.Region)
		}
	}
	peers, err := entries.Write(sorted, out)
	if err = cmp.Or(err, sends.Flush()); err != nil {
		return Unit{}, err
	}
	u := Unit{P: p, Peers: peers, Sorted: sorted, Late: late, P2PRows: uint64(len(x.p2p[p])), CollRows: uint64(len(x.coll[p]))}
	if len(x.stays[p]) > 0 {
		stays := &memory{}
		for _, s := range x.stays[p] {
			stays.b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(stays.b, s[0]), s[1])
		}
		u.Stays = stays
	}
	if out.Chan == nil {
		return u, nil
	}
	return u, x.checkChannels(p, types, out, &sinks)
}

// checkChannels reads the channels of a location: each with the rows of its operations, in the order of posting.
func (x *lawRun) checkChannels(p trace.P, types *xtf.TypeTable, out ChannelOutputs, sinks *[2]xtftest.MemorySink) error {
	var rows []uint64
	c, err := scanned(types, out.Chan, &sinks[1])
	if err != nil {
		return err
	}
	for c != nil && c.Next() {
		rows = append(rows, xtf.U64(c.Row(), 0))
	}
	want := map[Key][]*lawOp{}
	for _, o := range x.ops {
		if o.p == uint32(p) && !o.canceled {
			want[o.Key] = append(want[o.Key], o)
		}
	}
	if c, err = scanned(types, out.Channels, &sinks[0]); err != nil {
		return err
	}
	var last *Key
	for c != nil && c.Next() {
		var ch xtf.Channel
		ch.Load(c.Row())
		k := Key{Peer: uint32(ch.Key >> 32), Comm: uint32(ch.Key), Tag: ch.Tag, Direction: ch.Direction}
		list, bytes := want[k], uint64(0)
		for i, o := range list {
			if bytes += o.Bytes; ch.First+uint64(i) >= uint64(len(rows)) || rows[ch.First+uint64(i)] != o.Row {
				return fmt.Errorf("channel %+v: entry %d is another row than %d", ch, i, o.Row)
			}
		}
		if delete(want, k); ch.Count != uint64(len(list)) || ch.Bytes != bytes || last != nil && last.compare(&k) >= 0 {
			return fmt.Errorf("channel %+v: want %d entries, %d bytes, after %v", ch, len(list), bytes, last)
		}
		last = &k
	}
	if len(want) > 0 {
		return fmt.Errorf("location %d lacks %d channels", p, len(want))
	}
	return nil
}

func scanned(types *xtf.TypeTable, b *xtf.ArrayBuilder, sink *xtftest.MemorySink) (*xtf.Cursor, error) {
	sum, err := b.Finish()
	if err != nil || sum.Len() == 0 {
		return nil, err
	}
	return xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: sink}, 0), nil
}

// rows takes the rows of a location, and compares them with those that are written.
func (f *lawFound) rows(x *lawRun, results *Results, p trace.P, done *Rows) (*Rows, error) {
	types := xtf.StandardTypes(xtf.Packed)
	sinks := [2]xtftest.MemorySink{}
	encoder := encoders.Get().(*xtf.Encoder)
	defer encoders.Put(encoder)
	out := RowOutputs{
		P2P:  xtf.NewArrayBuilder(encoder, types.Lookup(xtf.TypeP2P), xtf.Proc(p), &sinks[0]),
		Coll: xtf.NewArrayBuilder(encoder, types.Lookup(xtf.TypeColl), xtf.Proc(p), &sinks[1]),
	}
	rows := results.Rows(x.defs, p, trace.Diagnostics{}, out, done)
	for m := rows.NextMessage(); m != nil; m = rows.NextMessage() {
		f.Messages[p] = append(f.Messages[p], *m)
	}
	for c := rows.NextCollective(); c != nil; c = rows.NextCollective() {
		f.Collectives[p] = append(f.Collectives[p], *c)
	}
	diags, err := rows.Finish()
	if err != nil {
		return nil, err
	}
	for i := range diags.Codes {
		for k := range diags.Codes[i].First {
			if d := &diags.Codes[i].First[k]; d.Detail == "" {
				return nil, fmt.Errorf("diagnostic %+v says nothing", d)
			}
			diags.Codes[i].First[k].Detail = ""
		}
	}
	f.Diagnostics[p] = *diags
	c, err := scanned(types, out.P2P, &sinks[0])
	for i := 0; err == nil && c != nil && c.Next(); i++ {
		var m xtf.P2P
		if m.Load(c.Row()); m != f.Messages[p][i].P2P {
			return nil, fmt.Errorf("location %d: row %+v, written %+v", p, f.Messages[p][i], m)
		}
	}
	if err != nil {
		return nil, err
	}
	c, err = scanned(types, out.Coll, &sinks[1])
	for i := 0; err == nil && c != nil && c.Next(); i++ {
		var m xtf.Coll
		if m.Load(c.Row()); m != f.Collectives[p][i].Coll {
			return nil, fmt.Errorf("location %d: row %+v, written %+v", p, f.Collectives[p][i], m)
		}
	}
	return rows, err
}

// TestMatchLaw compares random runs with what the MPI standard says of each operation, looked up one by one in the whole run, for several
// numbers of ranks. Processes have several threads, locations of one process lie on several ranks.
func TestMatchLaw(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 77))
		x := randomRun(r, 2+r.IntN(4), 20+r.IntN(100))
		for _, ranks := range []int{1, []int{2, 3, 7}[seed%3]} {
			got, report := x.match(t, ranks, []uint64{0, 1, 7, 130}[(seed+uint64(ranks))%4])
			want, pairs, instances := x.want(got)
			if !reflect.DeepEqual(&want, got) {
				t.Fatalf("seed %d, %d ranks (-want +got):\n%s", seed, ranks, gocmp.Diff(&want, got))
			}
			if report.Messages != uint64(pairs) || report.Collectives != uint64(instances) || ranks == 1 && report.Remote > 0 {
				t.Errorf("seed %d, %d ranks: %+v, want %d messages, %d collectives", seed, ranks, report, pairs, instances)
			}
		}
	}
}
