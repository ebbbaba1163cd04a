package causes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Ideal is the replay of a run in an ideal network, without latency and with
// unlimited bandwidth (intervals 5.4). What lies outside of MPI calls keeps its
// length, markers and I/O too. An MPI call lasts until what it depends on:
//
//	receive, or the call that completes it   the send's begin
//	synchronous send, or the call that       the begin of the call that completes the receive, if the send left after
//	completes it; blocking send that was     it, else the posting of the receive. (To wait for the completing call
//	seen to wait for a late receiver         always would deadlock where a receive is posted early.)
//	barrier, all to all                      the last begin of all members; of non-blocking ones that of the initiation
//	on a file, or blocking one that makes    the last begin of all members, if nobody left before it
//	a handle, but for MPI_Init
//	one to all, but not its root             the root's begin
//	all to one, its root                     the last begin of all members
//	prefix                                   the last begin of the members of lower rank
//	everything else                          nothing
//
// Operations without partner, on inter-communicators, and collectives whose
// members are not complete or do not agree, depend on nothing.
//
// An instant inside a call that lasts from E to L, and from E' to L' in the
// replay, becomes min(E' + (t - E), L'): the call is taken to wait first and to
// transfer then, in no time. So time is mapped monotonically, and the lengths of
// executions that share a border add up to the length of the whole.
//
// Memory: that of Replay, and 40 bytes per node that a location executed, for each
// slab in which it began or ended.
type Ideal struct {
	Replay
	nodes map[uint64]*NodeIdeal // of this rank's locations, by location and node
}

// NodeIdeal is what the replay says of a node on a location: times in ticks.
type NodeIdeal struct {
	Node  uint32
	Sum   uint64 // length of all executions
	First uint64 // begin of the first one
	Last  uint64 // latest end
}

// nodeTicks is what a slab adds to a node of a location: the sum of ends less that
// of begins, modulo 2^64.
type nodeTicks struct {
	sum, first, last uint64
	ends             uint64 // less begins, modulo 2^64
}

// Run replays all locations, after Walk. Without Report.Deadlock, Nodes holds the results.
// Collective.
func (r *Ideal) Run() (*ReplayReport, error) {
	f, err := r.run()
	if err != nil {
		return nil, err
	}
	r.nodes = map[uint64]*NodeIdeal{}
	box := newOutbox(r.Comm, &r.Storage, r.takeNode)
	err = nil
	var b []byte
	for i := range f.runs {
		x := &f.runs[i]
		for _, k := range slices.Sorted(maps.Keys(x.nodes)) {
			n := x.nodes[k]
			if n.first != xtf.Never {
				n.first -= x.late
			}
			if n.last > 0 {
				n.last -= x.late
			}
			b = varint.Append(b[:0], k, n.sum-x.late*n.ends, n.first, n.last)
			if perr := box.put(rankOf(r.Ranges, trace.P(k>>32)), b); err == nil {
				err = perr
			}
		}
	}
	return f.report, box.deliver(err)
}

func (r *Ideal) takeNode(b []byte) error {
	x := varint.Read(b)
	k, sum, first, last := x.Next(), x.Next(), x.Next(), x.Next()
	n := r.nodes[k]
	if n == nil {
		n = &NodeIdeal{Node: uint32(k), First: xtf.Never}
		r.nodes[k] = n
	}
	n.Sum += sum
	n.First, n.Last = min(n.First, first), max(n.Last, last)
	return failure(&x)
}

// Nodes returns the results of this rank's i-th location, by node.
func (r *Ideal) Nodes(i int) []NodeIdeal {
	p := uint32(int(r.Ranges[r.Comm.Rank()].First) + i)
	var list []NodeIdeal
	for k, n := range r.nodes {
		if uint32(k>>32) == p {
			list = append(list, *n)
		}
	}
	slices.SortFunc(list, func(a, b NodeIdeal) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// instant maps an instant from the begin of the last call on.
func (x *standing) instant(t uint64) uint64 {
	switch {
	case t < x.enter:
		return t - x.before
	case t < x.leave:
		return x.enter - x.before + min(t-x.enter, x.wait)
	}
	return t - x.lag()
}

func (x *standing) moment(t uint64) instant { return instant{x.instant(t), t} }

// lag is how much later it is in the trace than in the replay after the last call.
func (x *standing) lag() uint64 { return x.leave - (x.enter - x.before + x.wait) }

// idealStep does one step of a location, false if it has to wait.
func (f *flow) idealStep(p uint32, x *flowing) bool {
	o := x.op
	switch o.kind {
	case stepCall:
		x.call(o)
	case stepResume:
		if f.guess {
			x.call(o)
		}
	case stepSend:
		f.give(valueKey{o.peer, 0, o.key}, x.moment(o.t))
	case stepNeed, stepDrop:
		v, ok := f.receive(p, valueKey{p, 0, o.key})
		if !ok {
			return false
		}
		if o.kind == stepNeed {
			x.until(v.v)
		}
	case stepEnter:
		f.enter(p, o, x.moment(o.t))
	case stepResult:
		v, ok := f.result(p, o)
		if !ok {
			return false
		}
		x.until(v.v)
	case stepBegin, stepEnd:
		k, at := uint64(p)<<32|uint64(o.peer), x.instant(o.t)
		n, ok := f.run.nodes[k]
		if !ok {
			n.first = xtf.Never
		}
		if o.kind == stepBegin {
			n.sum, n.ends, n.first = n.sum-at, n.ends-1, min(n.first, at)
		} else {
			n.sum, n.ends, n.last = n.sum+at, n.ends+1, max(n.last, at)
		}
		f.run.nodes[k] = n
	}
	return true
}

// call begins a call.
func (x *standing) call(o *replayOp) {
	x.before, x.wait = x.lag(), 0
	x.enter, x.leave = o.t, o.key
}

// until has the call last until an instant of the replay.
func (x *standing) until(v uint64) {
	if from := x.enter - x.before; v > from {
		x.wait = max(x.wait, v-from)
	}
}
