package causes

import (
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Ideal replays a run in an ideal network, without latency and with unlimited bandwidth (intervals 5.4). Time outside of MPI calls keeps
// its length, also in markers and I/O. An MPI call lasts until the last instant that it depends on:
//
//	receive, or the call that completes it   the begin of the send
//	synchronous send, or the call that       the begin of the call that completes the receive, if the send left after
//	completes it; blocking send that was     it, else the posting of the receive. (To wait for the completing call
//	seen to wait for a late receiver         always would deadlock where a receive is posted early.)
//	barrier, all to all                      the last begin of all members; of non-blocking ones that of the initiation
//	on a file, or blocking one that makes    the last begin of all members, if nobody left before it
//	a handle, except MPI_Init
//	one to all, but not its root             the root's begin
//	all to one, its root                     the last begin of all members
//	prefix                                   the last begin of the members of lower rank
//	everything else                          nothing
//
// Operations without partner, on inter-communicators, and collectives with members that are missing or disagree, depend on nothing.
//
// An instant t inside a call that lasts from E to L in the trace, and from E' to L' in the replay, becomes min(E' + (t - E), L'): the call
// first waits, and then transfers in no time. So the mapping of time is monotonic, and the lengths of executions that share a border
// add up to the length of the whole.
//
// Memory: that of Replay, and 48 bytes for each node of a location and slab in which an execution of it began or ended.
type Ideal struct {
	Replay
	nodes map[uint64]*NodeIdeal // of this rank's locations, by location and node
	keys  []uint64              // of nodes, ascending
}

// NodeIdeal is the times of a node on a location in the replay, in ticks.
type NodeIdeal struct {
	Node  uint32
	Sum   uint64 // length of all executions
	First uint64 // begin of the first one
	Last  uint64 // latest end
}

// nodeTicks is what the executions of a node of a location add in a slab.
type nodeTicks struct {
	sum, first, last uint64 // sum: of ends less that of begins, modulo 2^64
	ends             uint64 // number of ends less that of begins, modulo 2^64
}

// Run replays all locations, after Deal. Nodes has the results, unless the report has a Deadlock. Collective.
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
	err = box.deliver(err)
	r.keys = slices.Sorted(maps.Keys(r.nodes))
	return f.report, err
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
	p := uint64(int(r.Ranges[r.Comm.Rank()].First) + i)
	var list []NodeIdeal
	first, _ := slices.BinarySearch(r.keys, p<<32)
	for _, k := range r.keys[first:] {
		if k>>32 != p {
			break
		}
		list = append(list, *r.nodes[k])
	}
	return list
}

// instant returns what instant t of the trace, from the begin of the last call on, is in the replay.
func (x *position) instant(t uint64) uint64 {
	switch {
	case t < x.enter:
		return t - x.before
	case t < x.leave:
		return x.enter - x.before + min(t-x.enter, x.wait)
	}
	return t - x.lag()
}

func (x *position) moment(t uint64) instant { return instant{x.instant(t), t} }

// lag returns how much later it is in the trace than in the replay after the last call, modulo 2^64.
func (x *position) lag() uint64 { return x.leave - (x.enter - x.before + x.wait) }

// idealStep does one step of a location, false if it has to wait.
func (f *flow) idealStep(p uint32, x *walker) bool {
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

func (x *position) call(o *replayOp) {
	x.before, x.wait = x.lag(), 0
	x.enter, x.leave = o.t, o.key
}

// until makes the call last at least until an instant of the replay.
func (x *position) until(v uint64) {
	if from := x.enter - x.before; v > from {
		x.wait = max(x.wait, v-from)
	}
}
