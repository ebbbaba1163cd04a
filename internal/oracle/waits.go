package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Order says which message could have been received before a late one.
type Order int

// Orders of a late sender.
const (
	InOrder Order = iota
	SameSource
	DifferentSource
)

// NoCause is the location that a completion blames.
const NoCause = trace.P(trace.Undefined)

// kindOrder puts waits for messages before those for collectives.
var kindOrder = map[Item]int{
	LateSender: 0, LateReceiver: 0, LateProgress: 0, WaitBarrier: 1, WaitNxN: 1, LateBroadcast: 1, EarlyReduce: 1, EarlyScan: 1, LatePost: 0, EarlyWait: 0, LockContention: 0, LateKernel: 0, BarrierDone: 1, NxNDone: 1,
}

// WaitSpan is a wait state of one location.
type WaitSpan struct {
	From, To uint64
	Pattern  Item
	Order    Order
	Row      int // of the message or collective
	Cause    trace.P
	Path     int
	Node     int // innermost execution of markers at From
	visit    int
}

func (w *WaitSpan) contributions() []contribution {
	list := []contribution{{w.Pattern, clipped, w.From, w.To, 0}, {WaitCount, pointed, w.From, w.From, 1}}
	switch w.Order {
	case SameSource:
		list = append(list, contribution{LateSenderSame, clipped, w.From, w.To, 0})
	case DifferentSource:
		list = append(list, contribution{LateSenderOther, clipped, w.From, w.To, 0})
	}
	return list
}

// waits lists the wait states of a location (intervals 6). A location waits for
// one thing at a time: of spans that overlap the one that begins first, of these
// the one that ends first, has the common part.
func (a *analysis) waits(l *location) []WaitSpan {
	var list []WaitSpan
	add := func(w WaitSpan) {
		if v := &l.visits[w.visit]; w.From < w.To && !v.marker && v.class&trace.ClassInit == 0 {
			w.Path = v.path
			list = append(list, w)
		}
	}
	byVisit := map[int][]*message{}
	for _, m := range l.ops {
		if m.mate != nil && !m.marker {
			v := m.visit
			if m.send {
				v = m.done
			}
			byVisit[v] = append(byVisit[v], m)
		}
	}
	delete(byVisit, -1)
	for v, messages := range byVisit {
		for _, w := range a.messageWaits(l, v, messages) {
			add(w)
		}
	}
	for _, w := range l.noticeWaits() {
		add(w)
	}
	for _, m := range l.colls {
		for _, w := range m.waits(a) {
			w.Row, w.visit = m.row, m.visit
			add(w)
		}
	}
	return a.apart(l, list)
}

// apart lets a location wait for one thing at a time: what two spans share belongs
// to the first.
func (a *analysis) apart(l *location, list []WaitSpan) []WaitSpan {
	slices.SortStableFunc(list, func(x, y WaitSpan) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(kindOrder[x.Pattern], kindOrder[y.Pattern]), cmp.Compare(x.Row, y.Row))
	})
	var out []WaitSpan
	past := uint64(0)
	for _, w := range list {
		if w.From = max(w.From, past); w.From < w.To {
			w.Node = a.nodeAt(l, w.From)
			out = append(out, w)
			past = w.To
		}
	}
	return out
}

// messageWaits are the waits for messages of a visit, which completes these: for
// the latest sender, if one is late, and then for the receiver that comes back to MPI last, if the visit ends soon after that and not
// sooner after the message; or else for the receivers that post, and come back to MPI, last. Waits are in calls, wherever potential synchronisation counts
// from; a probe does not receive what a sender waits to get rid of.
func (a *analysis) messageWaits(l *location, v int, messages []*message) []WaitSpan {
	var latest *message
	var receiver, progress WaitSpan
	receives := 0
	at := &l.visits[v]
	for _, m := range messages {
		if !m.send {
			receives++
			if latest == nil || m.mate.enter() > latest.mate.enter() {
				latest = m
			}
			continue
		}
		if a.waitless(l.visits[m.visit].region) || a.waitless(at.region) {
			continue
		}
		posted := m.mate.postedAt()
		out, back := a.progress(m.mate, m.enter())
		if at.enter < posted && posted < at.leave && posted > receiver.To {
			receiver = WaitSpan{From: at.enter, To: posted, Pattern: LateReceiver, Row: m.row, Cause: m.mate.at.p, visit: v}
		}
		if from := max(at.enter, posted, out); from < back && back < at.leave && back > progress.To {
			progress = WaitSpan{From: from, To: back, Pattern: LateProgress, Row: m.row, Cause: m.mate.at.p, visit: v}
		}
	}
	if latest != nil {
		if sent, ready := latest.mate.enter(), latest.point(); sent > ready {
			late := WaitSpan{From: ready, To: max(ready, min(sent, latest.leave())), Pattern: LateSender, Row: latest.row, Cause: latest.mate.at.p, visit: latest.pointVisit()}
			if receives == 1 {
				late.Order = a.order(l, latest)
			}
			progress.From = max(progress.From, late.To)
			if progress.To < progress.From || progress.To-progress.From <= at.leave-progress.To {
				return []WaitSpan{late}
			}
			return []WaitSpan{late, progress}
		}
	}
	progress.From = max(progress.From, receiver.To)
	return []WaitSpan{receiver, progress}
}

// waitless reports whether senders do not wait in calls of a region: it sends and
// receives in one, tests, or is not an MPI call.
func (a *analysis) waitless(region uint32) bool {
	switch a.plainName(region) {
	case "mpi_sendrecv", "mpi_sendrecv_replace", "mpi_isendrecv", "mpi_isendrecv_replace", "":
		return true
	}
	return a.tests(region)
}

// tests reports whether a region completes what is done, and does not wait.
func (a *analysis) tests(region uint32) bool {
	switch a.plainName(region) {
	case "mpi_test", "mpi_testall", "mpi_testany", "mpi_testsome":
		return true
	}
	return false
}

// plainName is the name of a region as the standard has it, in small letters.
func (a *analysis) plainName(region uint32) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(a.regionName(region)), "p"), "_c")
}

// progress is the receiver's first stay outside of calls that communicate and do not
// only start, from where its receive is posted and the message sent on, at the latest
// to where it receives.
func (a *analysis) progress(m *message, sent uint64) (out, back uint64) {
	const communicates = trace.ClassP2P | trace.ClassColl | trace.ClassRMA | trace.ClassFileIO
	t := max(m.postedAt(), sent)
	out = t
	for v := m.post + 1; v < m.visit; v++ {
		x := &m.at.visits[v]
		switch {
		case x.call < 0 || x.class&communicates == 0 || x.class&trace.ClassStart != 0 || x.leave <= t:
		case x.enter > t:
			return out, x.enter
		default:
			out = x.leave
		}
	}
	return out, m.enter()
}

// order looks for a message that was sent before m and is received after it.
func (a *analysis) order(l *location, m *message) Order {
	found := InOrder
	for _, x := range l.ops {
		if x.row < m.row || x.send || x.mate == nil || x.marker || x.visit <= m.visit || x.mate.enter() >= m.mate.enter() {
			continue
		}
		if x.peer == m.peer {
			return SameSource
		}
		found = DifferentSource
	}
	return found
}

// waits of a member of a collective operation.
func (m *member) waits(a *analysis) []WaitSpan {
	if m.all == nil || a.tests(m.at.visits[m.visit].region) {
		return nil
	}
	at, end := m.enter(), m.leave()
	wait := func(pattern Item, cause *member) WaitSpan {
		if cause == nil {
			return WaitSpan{}
		}
		s := cause.started()
		return WaitSpan{From: at, To: max(at, min(s, end)), Pattern: pattern, Cause: cause.at.p}
	}
	done := func(pattern Item) WaitSpan {
		first := uint64(noTime)
		for _, q := range m.all {
			first = min(first, q.leave())
		}
		return WaitSpan{From: max(at, first), To: end, Pattern: pattern, Cause: NoCause}
	}
	if m.file != "" || trace.CreatesHandle(m.op) {
		if m.start != m.visit || !m.alike(a) || !m.metAll() {
			return nil
		}
		return []WaitSpan{wait(WaitBarrier, last(m.all))}
	}
	givers := m.givers(a)
	if len(givers) == 0 {
		return nil // there is no data to wait for
	}
	switch class := trace.CollectiveClass(m.op); {
	case class&trace.ClassBarrier != 0:
		return []WaitSpan{wait(WaitBarrier, last(givers)), done(BarrierDone)}
	case class&trace.ClassNxN != 0:
		return []WaitSpan{wait(WaitNxN, last(givers)), done(NxNDone)}
	case class&trace.ClassOneToN != 0:
		return []WaitSpan{wait(LateBroadcast, givers[0])}
	case class&trace.ClassNToOne != 0:
		return []WaitSpan{wait(EarlyReduce, first(givers))}
	}
	return []WaitSpan{wait(EarlyScan, last(givers))}
}

// alike reports whether all members of a communicator take part in an operation and call it alike.
func (m *member) alike(a *analysis) bool {
	return len(m.all) >= a.d.CommSize(m.comm) && !slices.ContainsFunc(m.all, func(q *member) bool { return q.op != m.op || q.root != m.root || q.file != m.file })
}

// metAll reports whether nobody leaves an operation before the last member has come.
func (m *member) metAll() bool {
	return !slices.ContainsFunc(m.all, func(q *member) bool { return q.leave() < last(m.all).started() })
}

// sources are the members that m waits for by the kind of the operation.
func (m *member) sources(a *analysis) []*member {
	root := a.d.IsRoot(m.comm, m.root, m.at.process)
	switch class := trace.CollectiveClass(m.op); {
	case m.file != "" && m.metAll(), class&(trace.ClassBarrier|trace.ClassNxN) != 0:
		return m.all
	case class&trace.ClassOneToN != 0 && !root:
		if q := m.rootOf(a); q != nil {
			return []*member{q}
		}
	case class&trace.ClassNToOne != 0 && root:
		return m.others()
	case class&trace.ClassPrefix != 0:
		return m.lower(a)
	}
	return nil
}

// givers are the sources that m gets data from, and all members of a barrier.
func (m *member) givers(a *analysis) []*member {
	class, list := trace.CollectiveClass(m.op), m.sources(a)
	if class&(trace.ClassNxN|trace.ClassOneToN|trace.ClassPrefix) != 0 && m.received == 0 {
		return nil
	}
	if class&(trace.ClassNxN|trace.ClassNToOne|trace.ClassPrefix) == 0 {
		return list
	}
	if g := giving(list); len(g) > 0 || class&trace.ClassNxN == 0 {
		return g
	}
	return list // m gets bytes that nobody gave: MPI_IN_PLACE
}

// giving are the members with data for others.
func giving(list []*member) []*member {
	return slices.DeleteFunc(slices.Clone(list), func(q *member) bool { return q.sent == 0 })
}

// last returns the member that starts last, the first of those at one instant.
func last(list []*member) *member {
	var out *member
	for _, m := range list {
		if out == nil || m.started() > out.started() {
			out = m
		}
	}
	return out
}

// first returns the member that starts first.
func first(list []*member) *member {
	var out *member
	for _, m := range list {
		if out == nil || m.started() < out.started() {
			out = m
		}
	}
	return out
}

func (m *member) others() []*member {
	return slices.DeleteFunc(slices.Clone(m.all), func(q *member) bool { return q == m })
}

// rootOf returns the member that is the root.
func (m *member) rootOf(a *analysis) *member {
	for _, q := range m.all {
		if q != m && a.d.IsRoot(m.comm, q.root, q.at.process) {
			return q
		}
	}
	return nil
}

// lower returns the members of lower rank in the communicator.
func (m *member) lower(a *analysis) []*member {
	own, _ := a.d.RankIn(m.comm, m.at.process)
	return slices.DeleteFunc(slices.Clone(m.all), func(q *member) bool {
		r, ok := a.d.RankIn(m.comm, q.at.process)
		return !ok || r >= own
	})
}
