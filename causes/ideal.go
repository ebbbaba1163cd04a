package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
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
// Memory: that of dataflow; per location 32 bytes for each of piece steps, 24 per
// open execution, 40 per node it executed.
type Ideal struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range
	Types   *xtf.TypeTable
	Array   func(p trace.P, t xtf.TypeID) (xtf.FinishedArray, bool, error) // of this rank's locations
	Storage Storage
	Last    uint64 // last event of the run, ticks
	Budget  int64  // bytes for values under way, see dataflow.Options

	piece int
	early Scratch
	place []*idealWalker
}

// idealStepBytes is what the steps of all locations of a rank may take together;
// a location has at least leastPiece steps at a time.
const (
	idealStepBytes = 16 << 20
	leastPiece     = 256
	mostPiece      = 64 << 10
)

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
	own := r.Ranges[r.Comm.Rank()]
	r.piece = min(max(idealStepBytes/(32*max(own.Len(), 1)), leastPiece), mostPiece)
	r.early = r.Storage.Scratch()
	defer r.early.Drop()
	r.place = r.place[:0]
	walkers := make([]dataflow.Walker, 0, own.Len())
	var rows uint64
	var err error
	for p := own.First; p < own.End && err == nil; p++ {
		w := &idealWalker{script: idealScript{r: r, p: p}, nodes: make(map[uint32]*NodeIdeal)}
		r.place, walkers = append(r.place, w), append(walkers, w)
		err = w.script.sortEarly(&rows)
	}
	if err := r.Comm.Agree(err); err != nil {
		return nil, err
	}
	return dataflow.Run(dataflow.Options{
		Comm: r.Comm, Defs: r.Defs, Ranges: r.Ranges, Walkers: walkers, Span: r.Last, Rows: rows, Budget: r.Budget,
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

// sortEarly finds the operations that take effect before their row. It counts the
// rows that may get values.
func (s *idealScript) sortEarly(rows *uint64) error {
	var sorter Sorter
	b := make([]byte, earlyBytes)
	add := func(o idealOp, order uint64) error {
		if sorter == nil {
			sorter = s.r.Storage.Sorter(earlyBytes, earlyKey)
		}
		o.putEarly(b, order)
		s.early.n++
		return sorter.Add(b)
	}
	for i, t := range idealArrays[1:3] {
		a, ok, err := s.r.Array(s.p, t)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		*rows += a.Summary.Len()
		if !s.r.mayBeEarly(t) {
			continue
		}
		c := xtf.ScanArray(s.r.Types, a, 0)
		for c.Next() {
			o, ok := earlyOf(t, c.Row(), s.r.Defs.NumLocations())
			if !ok {
				continue
			}
			if err := add(o, c.N()<<1|uint64(i)); err != nil {
				return err
			}
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	if sorter == nil {
		return nil
	}
	return s.storeEarly(sorter)
}

// mayBeEarly says whether rows of a type can take effect before their T, by the
// calls that the trace knows.
func (r *Ideal) mayBeEarly(t xtf.TypeID) bool {
	const initiation = trace.ClassColl | trace.ClassStart
	return slices.ContainsFunc(r.Defs.Regions, func(x trace.Region) bool {
		if t == xtf.TypeP2P {
			return r.Defs.IsSynchronous(&x)
		}
		return r.Defs.Class(&x)&initiation == initiation
	})
}

// earlyOf is what a row does before its T.
func earlyOf(t xtf.TypeID, row []byte, locations int) (idealOp, bool) {
	if t == xtf.TypeP2P {
		var m xtf.P2P
		m.Load(row)
		return earlyMessage(&m, locations)
	}
	var c xtf.Coll
	c.Load(row)
	o, ok := idealCollective(&c)
	o.kind, o.t = idealEnter, c.Post
	return o, ok && c.Flags&xtf.CollNonBlocking != 0
}

// storeEarly keeps the sorted operations in the scratch of all locations.
func (s *idealScript) storeEarly(sorter Sorter) error {
	rows, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	const block = 1024 * earlyBytes
	first := true
	var b []byte
	flush := func() error {
		off, err := s.r.early.Append(b)
		if first {
			s.early.off, first = off, false
		}
		b = b[:0]
		return err
	}
	for rows.Next() {
		if b = append(b, rows.Row()...); len(b) >= block {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return flush()
}

// idealWalker replays one location. Instants are ticks; shift is how much later
// the location is in the trace than in the replay, modulo 2^64.
type idealWalker struct {
	script       idealScript
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
func (w *idealWalker) step(x *dataflow.Port, o *idealOp) bool {
	switch o.kind {
	case idealCall:
		if !x.Reach(o.t) {
			return false
		}
		w.enter, w.leave = o.t, o.key
		w.from = o.t - w.shift
		w.to = w.from
	case idealLeave:
		w.shift = w.leave - w.to
	case idealSend:
		x.Send(trace.P(o.peer), o.key, w.instant(o.t))
	case idealNeed, idealDrop:
		v, ok := x.Receive(o.key, trace.P(o.peer))
		if !ok {
			return false
		}
		if o.kind == idealNeed {
			w.to = max(w.to, v)
		}
	case idealEnter:
		x.Enter(o.collective(), w.instant(o.t))
	case idealResult:
		v, ok := x.Result(o.collective())
		if !ok {
			return false
		}
		w.to = max(w.to, v)
	case idealBegin:
		n := w.nodes[o.peer]
		at := w.instant(o.t)
		if n == nil {
			n = &NodeIdeal{Node: o.peer, First: at}
			w.nodes[o.peer] = n
		}
		n.Sum -= at
	case idealEnd:
		n, at := w.nodes[o.peer], w.instant(o.t)
		n.Sum += at
		n.Last = max(n.Last, at)
	}
	return true
}
