package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/trace"
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
// Memory: that of Replay, and 40 bytes per node that a location executed.
type Ideal struct {
	Replay
	place []*idealWalker
}

// NodeIdeal is what the replay says of a node on a location: times in ticks.
type NodeIdeal struct {
	Node  uint32
	Sum   uint64 // length of all executions
	First uint64 // begin of the first one
	Last  uint64 // latest end
}

// Run replays all locations. Without Report.Deadlock, Nodes holds the results.
// Collective.
func (r *Ideal) Run() (*dataflow.Report, error) {
	r.place = nil
	return r.run(func(s replayScript) dataflow.Walker {
		w := &idealWalker{script: s, nodes: make(map[uint32]*NodeIdeal)}
		r.place = append(r.place, w)
		return w
	})
}

// Nodes returns the results of this rank's i-th location, by node.
func (r *Ideal) Nodes(i int) []NodeIdeal {
	var list []NodeIdeal
	for _, n := range r.place[i].nodes {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b NodeIdeal) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// idealWalker replays one location. Instants are ticks; shift is how much later
// the location is in the trace than in the replay, modulo 2^64.
type idealWalker struct {
	script       replayScript
	i            int
	shift        uint64
	enter, leave uint64 // the last MPI call in the trace
	from, to     uint64 // ... and in the replay
	nodes        map[uint32]*NodeIdeal
}

// instant maps an instant from the begin of the last call on.
func (w *idealWalker) instant(t uint64) uint64 {
	if t >= w.leave || t < w.enter {
		return t - w.shift
	}
	return min(w.from+(t-w.enter), w.to)
}

// Walk implements dataflow.Walker.
func (w *idealWalker) Walk(x *dataflow.Port) (bool, error) {
	for {
		for ; w.i < len(w.script.ops); w.i++ {
			if !w.step(x, &w.script.ops[w.i]) {
				return false, nil
			}
		}
		w.i = 0
		if err := w.script.fill(); err != nil {
			return false, err
		}
		if len(w.script.ops) == 0 {
			w.script.ops = nil
			return true, nil
		}
	}
}

// step does one step, false if it has to wait.
func (w *idealWalker) step(x *dataflow.Port, o *replayOp) bool {
	switch o.kind {
	case stepCall:
		if !x.Reach(o.t) {
			return false
		}
		w.enter, w.leave = o.t, o.key
		w.from = o.t - w.shift
		w.to = w.from
	case stepLeave:
		w.shift = w.leave - w.to
	case stepSend:
		x.Send(trace.P(o.peer), o.key, w.instant(o.t))
	case stepNeed, stepDrop:
		v, ok := x.Receive(o.key, trace.P(o.peer))
		if !ok {
			return false
		}
		if o.kind == stepNeed {
			w.to = max(w.to, v)
		}
	case stepEnter:
		x.Enter(o.collective(), w.instant(o.t))
	case stepResult:
		v, ok := x.Result(o.collective())
		if !ok {
			return false
		}
		w.to = max(w.to, v)
	case stepBegin:
		n := w.nodes[o.peer]
		at := w.instant(o.t)
		if n == nil {
			n = &NodeIdeal{Node: o.peer, First: at}
			w.nodes[o.peer] = n
		}
		n.Sum -= at
	case stepEnd:
		n, at := w.nodes[o.peer], w.instant(o.t)
		n.Sum += at
		n.Last = max(n.Last, at)
	}
	return true
}
