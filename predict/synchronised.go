package predict

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Synchronisation without messages is that of windows and of collective operations between two groups. Rows of the file tell who waited
// for whom, and how long. In the program it is messages and barriers that take no time ([program.Free]), and what such a call took
// apart from its waits is kept. A file without rows has none of this.

// synchronised is what the calls of a process do to others without messages. Memory: 8 bytes a call of a function that has such calls,
// 16 a wait, 48 an action of a list that differs from others; while rows are read, 56 for each.
type synchronised struct {
	values  []syncValues
	of      map[syncCalls]uint32 // 1 + number in values
	lists   [][]program.Action   // of a call; the first one is empty
	waits   [][2]uint64          // for others, times of the trace, in their order
	windows uint64               // calls on windows with a list
	between uint64               // operations of two groups that are in a list, or need none
	locks   uint64               // acquisitions of locks that others had before
}

// syncCalls are calls whose lists are told apart: of a function all on windows, or those with collectives of two groups.
type syncCalls struct {
	region  uint32
	between bool
}

// syncValues are numbers in lists, of calls in order.
type syncValues struct {
	list []uint64
	same bool
}

// syncColumn is the column of the first of synchronised.values: the graph has none from there on.
const syncColumn = 1 << 30

// syncAction is part of the list of a call.
type syncAction struct {
	call   uint64 // row
	action program.Action
}

// rowsOf returns the file whose rows tell of synchronisation, nil where there is none.
func rowsOf(in *Input) *xtf.File {
	f, ok := in.file.(*xtf.File)
	if !ok || len(in.Defs.RmaWins) == 0 && len(in.Defs.InterComms) == 0 {
		return nil
	}
	return f
}

// findEarly finds out whether a call of MPI_Win_start returned before its post, and whether a rooted operation of two groups passed data
// before the first process of the group without the root, or all others of it, were there: then none waits for it. Collective.
func findEarly(c mpi.Comm, in *Input) error {
	f, early := rowsOf(in), []int64{0, 0}
	if f == nil {
		return nil
	}
	var err error
	for p := in.First; p < in.End && err == nil; p++ {
		proc := xtf.Proc(in.processes[p].First)
		err = xtf.Each(f, proc, func(_ uint64, m *xtf.P2P) error {
			const kind = xtf.P2PNotice | xtf.P2PClock | xtf.P2PKindMask
			if m.Kind&kind == xtf.P2PNotice|xtf.P2PClock|xtf.P2PRecv && xtf.NoticeKind(m.Tag) == xtf.NoticePost {
				early[0] = 1
			}
			return nil
		})
		var group relays
		if err == nil {
			group, err = readRelays(in, f, p)
		}
		if err == nil && len(group) > 0 {
			err = xtf.Each(f, proc, func(_ uint64, c *xtf.Coll) error {
				if group[relay{c.Comm, c.Ordinal}] > c.End {
					early[1] = 1
				}
				return nil
			})
		}
	}
	if err := c.Agree(err); err != nil {
		return err
	}
	err = c.AllreduceInt64(early, mpi.Max)
	in.earlyStarts, in.earlyRelays = early[0] > 0, early[1] > 0
	return err
}

// relays are instants for which a process may wait in rooted operations of two groups, in the group without the root, if all data of that passes
// through its first process: of operations that spread data, when that one entered; of others, when the last one had entered for which it waits.
// Memory: 40 bytes for each operation.
type relays map[relay]uint64

// relay is an operation.
type relay struct {
	comm    uint32
	ordinal uint64
}

// readRelays reads the relays of a process.
func readRelays(in *Input, f *xtf.File, process uint32) (relays, error) {
	list, mates := relays{}, map[uint32]bool{}
	r := syncRows{in: in, process: process}
	known := map[relay]bool{} // communicators whose mates are in the list, those of operations that spread data apart
	err := xtf.Each(f, xtf.Proc(in.processes[process].First), func(_ uint64, c *xtf.Coll) error {
		root, first, spreads, ok := r.relayed(c)
		k := relay{comm: c.Comm}
		if spreads {
			k.ordinal = 1
		}
		if !ok || known[k] || spreads != (process != first) {
			return nil
		}
		known[k] = true
		if spreads {
			mates[first] = true
			return nil
		}
		for _, mate := range in.tables.others(c.Comm, root) {
			mates[mate] = true
		}
		return nil
	})
	delete(mates, process)
	for _, mate := range slices.Sorted(maps.Keys(mates)) {
		if err != nil {
			return nil, err
		}
		r.process = mate
		err = xtf.Each(f, xtf.Proc(in.processes[mate].First), func(_ uint64, c *xtf.Coll) error {
			if _, first, spreads, ok := r.relayed(c); ok && spreads == (mate == first) {
				k := relay{c.Comm, c.Ordinal}
				list[k] = max(list[k], c.T)
			}
			return nil
		})
	}
	return list, err
}

// readSynchronised reads the rows of a process, whose first location is l; nil where they tell nothing.
func readSynchronised(in *Input, process uint32, l *ccg.Location) (*synchronised, error) {
	f := rowsOf(in)
	if f == nil {
		return nil, nil
	}
	at, err := callview.Origin(f, l)
	if err != nil {
		return nil, err
	}
	origin := uint64(at)
	s := &synchronised{of: map[syncCalls]uint32{}, lists: make([][]program.Action, 1)}
	proc := xtf.Proc(in.processes[process].First)
	var list []syncAction
	r := syncRows{in, process}
	var group relays
	if !in.earlyRelays && len(in.Defs.InterComms) > 0 {
		if group, err = readRelays(in, f, process); err != nil {
			return nil, err
		}
	}
	between := map[uint64]bool{} // calls with collectives of two groups
	err = cmp.Or(
		xtf.Each(f, proc, func(_ uint64, m *xtf.P2P) error {
			if a, ok := r.notice(m); ok {
				if xtf.NoticeKind(m.Tag) == xtf.NoticeLock && a.Kind == program.PostRecv {
					s.locks++
				}
				list = append(list, syncAction{m.CallN, a})
			}
			return nil
		}),
		xtf.Each(f, proc, func(_ uint64, c *xtf.Coll) error {
			if c.Flags&xtf.CollNonBlocking == 0 && in.Defs.IsInter(c.Comm) && !trace.Unnumbered(c.Flags&xtf.CollOpMask) {
				between[c.CallN] = true
			}
			part, ok := r.meeting(c)
			if ok && between[c.CallN] {
				s.between++
			}
			for _, a := range part {
				list = append(list, syncAction{c.CallN, a})
			}
			if len(part) > 0 && part[0].Kind == program.PostRecv && c.Root == trace.RootSelf { // the row of its wait tells of the first one
				s.waits = append(s.waits, [2]uint64{origin + c.T, origin + max(c.T, min(c.LastEnter, c.End))})
			}
			if until := group[relay{c.Comm, c.Ordinal}]; until > c.T {
				s.waits = append(s.waits, [2]uint64{origin + c.T, origin + min(until, max(c.T, c.End))})
			}
			return nil
		}))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b syncAction) int { return cmp.Compare(a.call, b.call) })
	known := map[uint64][]uint64{} // lists by hash
	var spans [][2]uint64
	err = xtf.Each(f, proc, func(n uint64, c *xtf.Call) error {
		class := in.tables.region(c.Region).class
		if c.Flags&xtf.FlagOutermostMPI == 0 || class&trace.ClassRMA == 0 && !between[n] {
			return nil
		}
		at := uint64(0)
		if list, at = s.take(list, n, known); at > 0 {
			spans = append(spans, [2]uint64{c.T, c.End})
		}
		if at > 0 && class&trace.ClassRMA != 0 {
			s.windows++
		}
		s.values[s.column(syncCalls{c.Region, between[n]})].add(at)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = xtf.Each(f, proc, func(_ uint64, w *xtf.Wait) error {
		for len(spans) > 0 && spans[0][1] <= w.T {
			spans = spans[1:]
		}
		switch w.Pattern & xtf.WaitPatternMask {
		case xtf.WaitBarrierCompletion, xtf.WaitNxNCompletion, xtf.WaitEarlyReduce: // which the call takes, or is there
		default:
			if len(spans) > 0 && spans[0][0] <= w.T {
				s.waits = append(s.waits, [2]uint64{origin + w.T, origin + max(w.T, w.End)})
			}
		}
		return nil
	})
	slices.SortStableFunc(s.waits, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	n := 0 // waits that do not overlap
	for _, w := range s.waits {
		if n > 0 && w[0] < s.waits[n-1][1] {
			s.waits[n-1][1] = max(s.waits[n-1][1], w[1])
			continue
		}
		s.waits[n] = w
		n++
	}
	s.waits = s.waits[:n]
	return s, err
}

// column returns the number of the values of calls.
func (s *synchronised) column(k syncCalls) uint32 {
	n, ok := s.of[k]
	if !ok {
		s.values = append(s.values, syncValues{same: true})
		n = uint32(len(s.values))
		s.of[k] = n
	}
	return n - 1
}

func (v *syncValues) add(at uint64) {
	v.same = v.same && (len(v.list) == 0 || v.list[0] == at)
	v.list = append(v.list, at)
}

// take returns the number of the list of a call: posts, then their completions. What is left over belongs to later calls.
func (s *synchronised) take(list []syncAction, call uint64, known map[uint64][]uint64) (rest []syncAction, number uint64) {
	for len(list) > 0 && list[0].call < call {
		list = list[1:]
	}
	var own, ends []program.Action
	h := uint64(0)
	for ; len(list) > 0 && list[0].call == call; list = list[1:] {
		a := list[0].action
		own, h = append(own, a), hashAction(h, &a)
		if a.Flags&program.Detached != 0 {
			continue
		}
		end := program.Action{Kind: program.WaitColl, Comm: a.Comm}
		if a.Kind == program.PostRecv {
			end = a
			end.Kind, end.Flags = program.WaitRecv, 0
		}
		ends = append(ends, end)
	}
	if len(own) == 0 {
		return list, 0
	}
	own = append(own, ends...)
	for _, n := range known[h] {
		if slices.Equal(s.lists[n], own) {
			return list, n
		}
	}
	number = uint64(len(s.lists))
	s.lists, known[h] = append(s.lists, own), append(known[h], number)
	return list, number
}

// syncRows makes actions of the rows of a process.
type syncRows struct {
	in      *Input
	process uint32
}

// notice is what a row of a notice does: it releases the process at its other end, or waits for that.
func (r syncRows) notice(m *xtf.P2P) (program.Action, bool) {
	const apart = xtf.P2PUnmatched | xtf.P2PClock | xtf.P2PBestEffort
	if m.Kind&(xtf.P2PNotice|apart) != xtf.P2PNotice || m.MateN == xtf.Never || uint64(m.MateP) >= uint64(r.in.Defs.NumLocations()) ||
		xtf.NoticeKind(m.Tag) == xtf.NoticePost && r.in.earlyStarts {
		return program.Action{}, false
	}
	mate, thread := r.in.Defs.Process(trace.P(m.MateP))
	tag := m.Tag
	if first, _ := xtf.NoticeTag(xtf.NoticeLock, 0); tag >= first { // of each target
		at, ok := uint64(tag-first)*uint64(r.in.Processes())+uint64(m.Peer), false
		if tag, ok = xtf.NoticeTag(xtf.NoticeLock, uint32(at)); !ok || at > math.MaxUint32 || m.Peer >= r.in.Processes() {
			return program.Action{}, false
		}
	}
	return r.signal(m.Kind&xtf.P2PKindMask == xtf.P2PSend, mate, tag), thread == 0
}

// signal is a message that takes no time, or its receive.
func (r syncRows) signal(send bool, mate, tag uint32) program.Action {
	n := r.in.Processes()
	a := program.Action{
		Kind: program.PostRecv, Mode: program.PeerRelative, Flags: program.Free, Comm: r.in.tables.everybody, Tag: tag,
		Peer: int32((uint64(mate) + uint64(n) - uint64(r.process)) % uint64(n)),
	}
	if send {
		a.Kind, a.Flags = program.PostBuffered, program.Free|program.Detached
	}
	return a
}

// meeting is what a member of a blocking collective operation does, in a call on a window or of two groups; false where that is not known.
func (r syncRows) meeting(c *xtf.Coll) ([]program.Action, bool) {
	op, number := c.Flags&xtf.CollOpMask, r.in.tables.meets[c.Comm]
	class := trace.CollectiveClass(op)
	inter := r.in.Defs.IsInter(c.Comm)
	switch spreads := class&trace.ClassOneToN != 0; {
	case number == 0 || c.Ordinal == xtf.Never || c.Flags&(xtf.CollShort|xtf.CollMixed|xtf.CollNonBlocking) != 0:
	case !inter && r.in.tables.region(c.Region).class&trace.ClassRMA == 0:
	case trace.MayMeet(op), class&(trace.ClassBarrier|trace.ClassNxN) != 0:
		if c.LastEnter <= c.FirstLeave || !inter && !trace.MayMeet(op) {
			return []program.Action{{Kind: program.PostColl, Flags: program.Free, Coll: program.Barrier, Comm: number}}, true
		}
	case !inter || c.Comm >= 1<<31 || !spreads && class&trace.ClassNToOne == 0:
	case c.Root == trace.RootSelf:
		var list []program.Action
		for _, mate := range r.in.tables.others(c.Comm, r.process) {
			list = append(list, r.signal(spreads, mate, c.Comm))
		}
		return list, true
	default:
		root, first, _, ok := r.relayed(c)
		if !ok {
			return nil, true // of the root's group: it has no part
		}
		list := []program.Action{r.signal(!spreads, root, c.Comm)}
		switch {
		case r.in.earlyRelays:
		case r.process != first:
			list = append(list, r.signal(!spreads, first, c.Comm))
		default:
			for _, mate := range r.in.tables.others(c.Comm, root) {
				if mate != first {
					list = append(list, r.signal(spreads, mate, c.Comm))
				}
			}
		}
		return list, true
	}
	return nil, false
}

// relayed returns the root of a blocking rooted operation of two groups, and the first process of the own group; false in the root's group.
func (r syncRows) relayed(c *xtf.Coll) (root, first uint32, spreads, ok bool) {
	op := c.Flags & xtf.CollOpMask
	class := trace.CollectiveClass(op)
	spreads = class&trace.ClassOneToN != 0
	if c.Ordinal == xtf.Never || c.Flags&(xtf.CollShort|xtf.CollMixed|xtf.CollNonBlocking) != 0 || c.Comm >= 1<<31 || !r.in.Defs.IsInter(c.Comm) ||
		c.Root == trace.RootSelf || trace.MayMeet(op) || class&(trace.ClassBarrier|trace.ClassNxN) != 0 || !spreads && class&trace.ClassNToOne == 0 {
		return 0, 0, false, false
	}
	if root = r.in.Defs.Peer(c.Comm, c.Root, r.process); root < r.in.Processes() {
		first = r.in.Defs.Peer(c.Comm, 0, root)
		ok = first < r.in.Processes()
	}
	return root, first, spreads, ok
}

// others returns the processes of the other group of an inter-communicator.
func (t *tables) others(comm, process uint32) (list []uint32) {
	for p := t.defs.Peer(comm, 0, process); p < uint32(len(t.defs.Processes())); p = t.defs.Peer(comm, uint32(len(list)), process) {
		list = append(list, p)
	}
	return list
}

// addMeetings adds communicators for what synchronises without messages, where the trace has windows or communicators of two groups: one
// of everybody, and another one for each.
func (t *tables) addMeetings() {
	n := uint32(len(t.defs.Processes()))
	if t.everybody = uint32(len(t.comms)); len(t.defs.RmaWins) == 0 && len(t.defs.InterComms) == 0 {
		return
	}
	t.meets = map[uint32]uint32{}
	t.comms, t.kinds = append(t.comms, program.Comm{Size: n}), append(t.kinds, commParts)
	add := func(comm uint32, members []uint32) {
		if _, ok := t.meets[comm]; ok || len(members) < 2 || !distinct(members, n) {
			return
		}
		t.meets[comm] = uint32(len(t.comms))
		t.comms, t.kinds = append(t.comms, program.Comm{Size: uint32(len(members)), Members: members}), append(t.kinds, commParts)
	}
	for _, ref := range t.defs.CommRefs() {
		if t.kinds[t.number[ref]] == commPlain {
			add(ref, t.defs.CommMembers(ref))
		}
	}
	for i := range t.defs.InterComms {
		comm := t.defs.InterComms[i].Ref
		if group := t.defs.CommMembers(comm); len(group) > 0 {
			add(comm, slices.Concat(group, t.others(comm, group[0])))
		}
	}
}

// spans returns the waits.
func (s *synchronised) spans() [][2]uint64 {
	if s == nil {
		return nil
	}
	return s.waits
}

// settle counts what is known of the calls of a process that were counted as others.
func (l *Left) settle(s *synchronised) {
	if s == nil {
		return
	}
	l[LeftOneSided] -= min(s.windows, l[LeftOneSided])
	l[LeftBetweenGroups] -= min(s.between, l[LeftBetweenGroups])
	l[LeftSynchronised] += s.windows + s.between
	l[LeftLocks] += s.locks
}
