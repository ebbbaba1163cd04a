package oracle

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Match is a send and its receive.
type Match struct{ Send, Recv Op }

// Op is one side of a message. A send has the call that starts it, a receive the call that completes it.
type Op struct {
	P             trace.P
	Posted, Visit int    // numbers of the outermost MPI calls that post it, and that Enter and Leave are of
	Enter, Leave  uint64 // ticks from the origin
	Bytes         uint64
}

func (m *message) op() Op { return Op{m.at.p, m.post, m.visit, m.enter(), m.leave(), m.bytes} }

// diagnose counts something that is wrong with the trace.
func (a *analysis) diagnose(c trace.Code) { a.r.Diagnostics[c]++ }

// Profile is the sum of a region's calls on a location. Inclusive time counts the outermost call of a recursion only.
type Profile struct {
	P         trace.P
	Region    uint32 // reference; trace.Undefined for all that are not defined
	Calls     uint64
	Inclusive uint64
	Exclusive uint64
}

// Traffic is what one process sent to another, matched or not, and what the other received from it.
type Traffic struct {
	From, To      uint32 // processes
	Count, Bytes  uint64 // as sent
	Received      uint64
	ReceivedBytes uint64
}

// Instances counts collective operations, one for all members together; on a communicator of one process only, one for each call.
type Instances struct {
	Comm  uint32
	Count uint64
}

// profile sums up the calls of a location by region: exclusive time is a call's time less its direct children's, inclusive
// time that of calls whose region is not open already.
func (a *analysis) profile(l *location) []Profile {
	rows := map[uint32]*Profile{}
	key := func(c *call) uint32 {
		if a.d.Region(c.region) == nil {
			return trace.Undefined
		}
		return c.region
	}
	for i := range l.calls {
		c := &l.calls[i]
		r := rows[key(c)]
		if r == nil {
			r = &Profile{P: l.p, Region: key(c)}
			rows[r.Region] = r
		}
		took, recursive := c.leave-c.enter, false
		for up := c.parent; up >= 0; up = l.calls[up].parent {
			recursive = recursive || key(&l.calls[up]) == r.Region
		}
		r.Calls++
		r.Exclusive += took
		if !recursive {
			r.Inclusive += took
		}
		if c.parent >= 0 {
			rows[key(&l.calls[c.parent])].Exclusive -= took
		}
	}
	return sorted(rows, func(x, y Profile) int { return cmp.Compare(x.Region, y.Region) })
}

// sorted lists the values of a map in their order.
func sorted[K comparable, V any](m map[K]*V, order func(x, y V) int) []V {
	var list []V
	for _, v := range m {
		list = append(list, *v)
	}
	slices.SortFunc(list, order)
	return list
}

// messages lists matched messages by sender and place, sums up all by pair of processes, and counts what is wrong with them.
func (a *analysis) messages() {
	type pair struct{ from, to uint32 }
	sums := map[pair]*Traffic{}
	between := func(from, to uint32) *Traffic {
		if sums[pair{from, to}] == nil {
			sums[pair{from, to}] = &Traffic{From: from, To: to}
		}
		return sums[pair{from, to}]
	}
	for _, l := range a.locs {
		for _, m := range l.ops {
			switch {
			case m.peer == trace.UnknownProcess:
				a.diagnose(trace.DiagUnknownPeer)
			case m.cancelled:
			case m.send:
				t := between(l.process, m.peer)
				t.Count++
				t.Bytes += m.bytes
				if m.mate == nil {
					a.diagnose(trace.DiagUnmatchedSend)
					continue
				}
				a.r.Matches = append(a.r.Matches, Match{m.op(), m.mate.op()})
				if m.bytes != m.mate.bytes {
					a.diagnose(trace.DiagBytesDiffer)
				}
				if sent, end := m.enter(), m.mate.leave(); end < sent {
					a.diagnose(trace.DiagClockViolation)
					a.r.WorstReverse = max(a.r.WorstReverse, sent-end)
				}
			default:
				t := between(m.peer, l.process)
				t.Received++
				t.ReceivedBytes += m.bytes
				if m.mate == nil {
					a.diagnose(trace.DiagUnmatchedRecv)
				}
			}
		}
	}
	a.r.Messages = sorted(sums, func(x, y Traffic) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
}

// operation counts a collective operation, and what is wrong with it.
func (a *analysis) operation(all []*member) {
	comm := all[0].comm
	mixed := slices.ContainsFunc(all, func(m *member) bool { return m.op != all[0].op || m.root != all[0].root || m.file != all[0].file })
	if mixed {
		a.diagnose(trace.DiagMixedCollective)
	}
	if len(all) < a.d.CommSize(comm) {
		a.diagnose(trace.DiagShortCollective)
		return
	}
	const alltoallv, alltoallw = 9, 10
	if mixed || a.d.IsInter(comm) || all[0].op == alltoallv || all[0].op == alltoallw {
		return
	}
	const createHandle = 17
	for _, m := range all {
		needs := m.givers(a)
		if m.op == createHandle {
			needs = all
		}
		if q := last(needs); q != nil && q.started() > m.leave() {
			a.diagnose(trace.DiagClockCollective)
		}
	}
}
