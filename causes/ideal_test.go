package causes

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Collective operations as rows name them, and regions of the plan's definitions.
const (
	opBarrier   = 0
	opBcast     = 1
	opReduce    = 12
	opScan      = 14
	regionSend  = 0
	regionSsend = 1
	regionColl  = 2
)

// plannedCall is an outermost MPI call of a plan.
type plannedCall struct {
	enter, leave uint64
	region       uint32
	p2p          []int // sides in plan.sides that have their row in this call
	coll         []int // members in plan.members
}

// side is one side of a planned message; the two sides of message i are 2i
// (send) and 2i+1.
type side struct {
	p, call  int    // of the row
	post     int    // call of the posting
	done     int    // call that completes the send
	kind     uint32 // flags
	sendsync bool
}

type member struct {
	p, call, start int // start: call of the initiation
	comm, op, root uint32
	ordinal        uint64
	flags          uint32
}

// plan is a run: calls of each location in the order of time.
type plan struct {
	defs    *trace.Definitions
	calls   [][]plannedCall
	sides   []side
	members []member
	ivals   [][]xtf.Ival
	last    uint64
}

func planDefs(processes int, comms ...[]uint64) *trace.Definitions {
	d := &trace.Definitions{Strings: []trace.String{{Ref: 0, Value: "MPI_Send"}, {Ref: 1, Value: "MPI_Issend"}, {Ref: 2, Value: "MPI_Iallreduce"}}}
	d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: 0, Parent: trace.Undefined})
	for i := range uint32(3) {
		d.Regions = append(d.Regions, trace.Region{Ref: i, Name: i, Paradigm: trace.ParadigmMPI})
	}
	all := trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	for p := range processes {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(p), Type: 1, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(p), Type: 1, Group: uint32(p)})
		all.Members = append(all.Members, uint64(p))
	}
	d.Groups = append(d.Groups, all)
	for i, members := range comms {
		d.Groups = append(d.Groups, trace.Group{Ref: uint32(i + 1), Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
		d.Comms = append(d.Comms, trace.Comm{Ref: uint32(i), Group: uint32(i + 1), Parent: trace.Undefined})
	}
	d.Seal()
	return d
}

func (pl *plan) call(p int, enter, leave uint64, region uint32) int {
	pl.calls[p] = append(pl.calls[p], plannedCall{enter: enter, leave: leave, region: region})
	pl.last = max(pl.last, leave)
	return len(pl.calls[p]) - 1
}

// message joins two sides.
func (pl *plan) message(s, r side) {
	for _, x := range []side{s, r} {
		pl.calls[x.p][x.call].p2p = append(pl.calls[x.p][x.call].p2p, len(pl.sides))
		pl.sides = append(pl.sides, x)
	}
}

func (pl *plan) member(m member) {
	pl.calls[m.p][m.call].coll = append(pl.calls[m.p][m.call].coll, len(pl.members))
	pl.members = append(pl.members, m)
}

func (pl *plan) at(p, call int) *plannedCall { return &pl.calls[p][call] }

// sync says how the send of message i waits, as the rows do.
func (pl *plan) sync(i int) uint32 {
	s, r := &pl.sides[2*i], &pl.sides[2*i+1]
	send, recv := pl.at(s.p, s.call), pl.at(r.p, r.call)
	blocked := s.kind&xtf.P2PNonBlocking == 0 && send.leave > recv.enter
	switch {
	case blocked && (recv.enter > send.enter || s.sendsync):
		return xtf.P2PAwaited
	case s.sendsync:
		return xtf.P2PAwaitedPost
	}
	return 0
}

// rows makes the arrays of a location. One call in three has a caller around it.
func (pl *plan) rows(t testing.TB, types *xtf.TypeTable, p int) map[xtf.TypeID]xtf.FinishedArray {
	var calls []xtf.Call
	var p2p []xtf.P2P
	var coll []xtf.Coll
	rowOf := pl.rowNumbers()
	callN := uint64(0)
	for i, c := range pl.calls[p] {
		if i%3 == 0 {
			calls = append(calls, xtf.Call{T: c.enter, End: c.leave, Parent: xtf.Never, Region: 9})
			callN++
		}
		calls = append(calls, xtf.Call{T: c.enter, End: c.leave, Parent: xtf.Never, Region: c.region, Class: xtf.ClassMPI, Flags: xtf.FlagOutermostMPI})
		for _, k := range c.p2p {
			x, o := &pl.sides[k], &pl.sides[k^1]
			r := xtf.P2P{T: c.enter, End: c.leave, Post: pl.at(p, x.post).enter, Done: pl.at(p, x.done).leave, CallN: callN, MateN: rowOf[k^1], MateP: uint32(o.p), MateT: pl.at(o.p, o.call).enter}
			r.Kind = x.kind | pl.sync(k/2) | uint32(k&1)
			p2p = append(p2p, r)
		}
		for _, k := range c.coll {
			m := &pl.members[k]
			coll = append(coll, xtf.Coll{T: c.enter, End: c.leave, Post: pl.at(p, m.start).enter, CallN: callN, Ordinal: m.ordinal, Comm: m.comm, Root: m.root, Flags: m.op | m.flags})
		}
		callN++
	}
	return map[xtf.TypeID]xtf.FinishedArray{
		xtf.TypeCall: idealArray(t, types, xtf.TypeCall, calls), xtf.TypeP2P: idealArray(t, types, xtf.TypeP2P, p2p),
		xtf.TypeColl: idealArray(t, types, xtf.TypeColl, coll), xtf.TypeIval: idealArray(t, types, xtf.TypeIval, pl.ivals[p]),
	}
}

// rowNumbers gives the row of each side in its location.
func (pl *plan) rowNumbers() []uint64 {
	rowOf := make([]uint64, len(pl.sides))
	for _, calls := range pl.calls {
		n := uint64(0)
		for _, c := range calls {
			for _, k := range c.p2p {
				rowOf[k] = n
				n++
			}
		}
	}
	return rowOf
}

func idealArray[T any, P interface {
	*T
	Put([]byte)
}](t testing.TB, types *xtf.TypeTable, id xtf.TypeID, rows []T,
) xtf.FinishedArray {
	t.Helper()
	sink := &xtf.MemorySink{}
	b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(id), 0, sink)
	for i := range rows {
		row, _ := b.Append()
		P(&rows[i]).Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return xtf.FinishedArray{Summary: sum, Data: sink}
}

// idealStorage keeps everything in memory.
func idealStorage() Storage {
	return Storage{
		Sorter:  func(_, key int) Sorter { return &idealSorter{key: key} },
		Scratch: func() Scratch { return &idealBytes{} },
	}
}

type idealSorter struct {
	key  int
	list [][]byte
	i    int
}

func (s *idealSorter) Add(row []byte) error { s.list = append(s.list, slices.Clone(row)); return nil }

func (s *idealSorter) Sort() (Rows, error) {
	slices.SortFunc(s.list, func(a, b []byte) int { return slices.Compare(a[:s.key], b[:s.key]) })
	return s, nil
}
func (s *idealSorter) Next() bool  { s.i++; return s.i <= len(s.list) }
func (s *idealSorter) Row() []byte { return s.list[s.i-1] }
func (s *idealSorter) Err() error  { return nil }
func (s *idealSorter) Close()      {}

type idealBytes struct{ b []byte }

func (s *idealBytes) Append(b []byte) (int64, error) {
	s.b = append(s.b, b...)
	return int64(len(s.b) - len(b)), nil
}

func (s *idealBytes) ReadAt(b []byte, off int64) (int, error) {
	if n := copy(b, s.b[off:]); n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return len(b), nil
}
func (s *idealBytes) WriteAt(b []byte, off int64) (int, error) { return copy(s.b[off:], b), nil }
func (s *idealBytes) Drop()                                    {}

// replay runs Ideal on several ranks. It returns the nodes of each location.
func (pl *plan) replay(t testing.TB, ranks int) ([][]NodeIdeal, *dataflow.Deadlock) {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	ranges := partition.Ranges(make([]uint64, len(pl.calls)), ranks)
	arrays := make([]map[xtf.TypeID]xtf.FinishedArray, len(pl.calls))
	for p := range arrays {
		arrays[p] = pl.rows(t, types, p)
	}
	out := make([][]NodeIdeal, len(pl.calls))
	var stuck *dataflow.Deadlock
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		r := &Ideal{Replay: Replay{
			Comm: c, Defs: pl.defs, Ranges: ranges, Types: types, Storage: idealStorage(), Last: pl.last,
			Array: func(p trace.P, id xtf.TypeID) (xtf.FinishedArray, bool, error) { return arrays[p][id], true, nil },
		}}
		report, err := r.Run()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		stuck = report.Deadlock
		for i := range ranges[c.Rank()].Len() {
			out[int(ranges[c.Rank()].First)+i] = r.Nodes(i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, stuck
}

// root gives every location one execution of node 0.
func (pl *plan) root(begin, end []uint64) {
	pl.ivals = make([][]xtf.Ival, len(pl.calls))
	for p := range pl.ivals {
		pl.ivals[p] = []xtf.Ival{{T: begin[p], End: end[p]}}
		pl.last = max(pl.last, end[p])
	}
}

func idealRuntime(nodes [][]NodeIdeal) uint64 {
	first, last := xtf.Never, uint64(0)
	for _, list := range nodes {
		first, last = min(first, list[0].First), max(last, list[0].Last)
	}
	return last - first
}

// goldenPlans are the traces of the specification, intervals 11.
func goldenPlans() map[string]struct {
	pl   *plan
	want uint64
	ends []uint64
} {
	g1 := &plan{defs: planDefs(2), calls: make([][]plannedCall, 2)}
	s1, s2 := g1.call(0, 20, 30, regionSend), g1.call(0, 40, 72, regionSsend)
	r1, r2 := g1.call(1, 10, 34, regionSend), g1.call(1, 60, 75, regionSend)
	g1.message(side{p: 0, call: s1, post: s1, done: s1}, side{p: 1, call: r1, post: r1, done: r1})
	g1.message(side{p: 0, call: s2, post: s2, done: s2, sendsync: true}, side{p: 1, call: r2, post: r2, done: r2})
	g1.root([]uint64{0, 0}, []uint64{100, 90})

	g2 := &plan{defs: planDefs(4, []uint64{0, 1, 2, 3}), calls: make([][]plannedCall, 4)}
	for k, o := range []struct {
		op, root uint32
		at       [4][2]uint64
	}{
		{opBcast, 0, [4][2]uint64{{10, 13}, {6, 16}, {12, 15}, {4, 17}}},
		{11, 0, [4][2]uint64{{40, 50}, {30, 49}, {36, 50}, {44, 51}}},
		{opReduce, 2, [4][2]uint64{{70, 71}, {66, 67}, {60, 75}, {72, 74}}},
		{opBarrier, 0, [4][2]uint64{{90, 93}, {84, 94}, {92, 93}, {80, 93}}},
	} {
		for p, at := range o.at {
			c := g2.call(p, at[0], at[1], regionColl)
			g2.member(member{p: p, call: c, start: c, op: o.op, root: o.root, ordinal: uint64(k)})
		}
	}
	g2.root([]uint64{0, 0, 0, 0}, []uint64{100, 100, 100, 96})

	// Markers are calls that keep their length, so they are left out here.
	g3 := &plan{defs: planDefs(2, []uint64{0, 1}), calls: make([][]plannedCall, 2)}
	for _, m := range [][6]uint64{{16, 17, 20, 26, 22, 24}, {34, 35, 38, 39, 36, 37}, {47, 48, 53, 60, 55, 57}} {
		post, wait := g3.call(0, m[0], m[1], regionSend), g3.call(0, m[2], m[3], regionSend)
		send := g3.call(1, m[4], m[5], regionSend)
		g3.message(side{p: 1, call: send, post: send, done: send}, side{p: 0, call: wait, post: post, done: wait, kind: xtf.P2PNonBlocking})
	}
	for p, at := range [][2]uint64{{90, 95}, {92, 96}} {
		c := g3.call(p, at[0], at[1], regionColl)
		g3.member(member{p: p, call: c, start: c, op: 11})
	}
	g3.root([]uint64{0, 0}, []uint64{100, 98})
	return map[string]struct {
		pl   *plan
		want uint64
		ends []uint64
	}{"G1": {g1, 74, []uint64{74, 61}}, "G2": {g2, 83, []uint64{83, 82, 83, 79}}, "G3": {g3, 92, []uint64{92, 89}}}
}

func TestIdealGolden(t *testing.T) {
	for name, g := range goldenPlans() {
		for _, ranks := range []int{1, 2} {
			nodes, stuck := g.pl.replay(t, ranks)
			if stuck != nil {
				t.Fatalf("%s: %v", name, stuck)
			}
			if got := idealRuntime(nodes); got != g.want {
				t.Errorf("%s, %d ranks: %d, want %d", name, ranks, got, g.want)
			}
			for p, list := range nodes {
				if list[0].Last != g.ends[p] {
					t.Errorf("%s: location %d ends at %d, want %d", name, p, list[0].Last, g.ends[p])
				}
			}
		}
	}
}

// randomPlan simulates a run in which all clocks are right.
func randomPlan(r *rand.Rand, processes, steps int) *plan {
	all, some := make([]uint64, processes), []uint64(nil)
	for i, p := range r.Perm(processes) {
		all[i] = uint64(i)
		if i <= processes/2 {
			some = append(some, uint64(p))
		}
	}
	pl := &plan{defs: planDefs(processes, all, some), calls: make([][]plannedCall, processes)}
	now := make([]uint64, processes)
	ordinals := [2]uint64{}
	work := func(p int) uint64 { now[p] += r.Uint64N(20); return now[p] }
	leave := func(p int, least uint64) uint64 { now[p] = max(now[p], least) + r.Uint64N(5); return now[p] }
	var later []func()
	for range steps {
		a, b := r.IntN(processes), r.IntN(processes-1)
		if b >= a {
			b++
		}
		switch r.IntN(6) {
		case 0: // standard send, blocking receive
			s := work(a)
			sc := pl.call(a, s, leave(a, s), regionSend)
			e := work(b)
			rc := pl.call(b, e, leave(b, s), regionSend)
			pl.message(side{p: a, call: sc, post: sc, done: sc}, side{p: b, call: rc, post: rc, done: rc})
		case 1: // synchronous, or seen to have waited
			s, e := work(a), work(b)
			sc, rc := pl.call(a, s, leave(a, e), regionSend), pl.call(b, e, leave(b, s), regionSend)
			pl.message(side{p: a, call: sc, post: sc, done: sc, sendsync: r.IntN(2) == 0}, side{p: b, call: rc, post: rc, done: rc})
		case 2, 3: // early posted receive, synchronous or not, blocking or not
			e := work(b)
			post := pl.call(b, e, leave(b, e), regionSend)
			sync := r.IntN(2) == 0
			later = append(later, func() {
				s := work(a)
				x := side{p: a, sendsync: sync}
				x.call = pl.call(a, s, leave(a, max(s, e)), regionSsend)
				x.post, x.done = x.call, x.call
				if r.IntN(2) == 0 {
					x.kind = xtf.P2PNonBlocking
					d := work(a)
					x.done = pl.call(a, d, leave(a, d), regionSend)
				}
				w := work(b)
				wait := pl.call(b, w, leave(b, s), regionSend)
				pl.message(x, side{p: b, call: wait, post: post, done: wait, kind: xtf.P2PNonBlocking})
			})
		default:
			comm := r.IntN(2)
			members := [][]uint64{all, some}[comm]
			m := member{comm: uint32(comm), op: []uint32{opBarrier, opBcast, opReduce, opScan, 11}[r.IntN(5)], root: uint32(r.IntN(len(members))), ordinal: ordinals[comm]}
			ordinals[comm]++
			blocking := r.IntN(3) > 0
			starts := make([]int, len(members))
			latest := uint64(0)
			for i, p := range members {
				e := work(int(p))
				latest = max(latest, e)
				starts[i] = -1
				if !blocking {
					starts[i] = pl.call(int(p), e, leave(int(p), e), regionColl)
				}
			}
			if blocking {
				for i, p := range members {
					e := now[p]
					m.p, m.call = int(p), pl.call(int(p), e, leave(int(p), latest), regionColl)
					m.start = m.call
					pl.member(m)
					starts[i] = m.call
				}
				break
			}
			later = append(later, func() {
				m := m
				for i, p := range members {
					e := work(int(p))
					m.p, m.call, m.start, m.flags = int(p), pl.call(int(p), e, leave(int(p), latest), regionColl), starts[i], xtf.CollNonBlocking
					pl.member(m)
				}
			})
		}
		if len(later) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(later))
			later[i]()
			later = slices.Delete(later, i, i+1)
		}
	}
	for _, f := range later {
		f()
	}
	pl.ivals = make([][]xtf.Ival, processes)
	for p := range pl.ivals {
		pl.last = max(pl.last, work(p))
	}
	for p := range pl.ivals {
		pl.ivals[p] = append(pl.ivals[p], xtf.Ival{T: 0, End: pl.last})
		for at := uint64(0); at < pl.last; { // slices
			next := min(pl.last, at+1+r.Uint64N(40))
			pl.ivals[p] = append(pl.ivals[p], xtf.Ival{T: at, End: next, Node: 1 + uint32(r.IntN(3))})
			at = next
		}
	}
	return pl
}

// slowIdeal computes the end of each call in the replay from the calls, again and
// again until nothing changes. It is false if some call stays unknown.
func (pl *plan) slowIdeal() ([][]uint64, bool) {
	const unknown = xtf.Never
	ends := make([][]uint64, len(pl.calls))
	for p := range ends {
		ends[p] = slices.Repeat([]uint64{unknown}, len(pl.calls[p]))
	}
	begin := func(p, call int) uint64 {
		if call == 0 {
			return pl.calls[p][0].enter
		}
		if ends[p][call-1] == unknown {
			return unknown
		}
		return ends[p][call-1] + pl.calls[p][call].enter - pl.calls[p][call-1].leave
	}
	for changed := true; changed; {
		changed = false
		for p := range ends {
			for call := range ends[p] {
				if ends[p][call] != unknown {
					continue
				}
				end := begin(p, call)
				need := func(v uint64) { end = max(end, v) }
				pl.needs(p, call, begin, need)
				if end == unknown {
					break
				}
				ends[p][call], changed = end, true
			}
		}
	}
	for p := range ends {
		if slices.Contains(ends[p], unknown) {
			return ends, false
		}
	}
	return ends, true
}

// needs tells the instants that a call waits for.
func (pl *plan) needs(p, call int, begin func(p, call int) uint64, need func(uint64)) {
	for i := 0; i < len(pl.sides); i += 2 {
		s, r := &pl.sides[i], &pl.sides[i+1]
		if r.p == p && r.call == call {
			need(begin(s.p, s.call))
		}
		if s.p != p || s.done != call {
			continue
		}
		switch pl.sync(i / 2) {
		case xtf.P2PAwaited:
			need(begin(r.p, r.call))
		case xtf.P2PAwaitedPost:
			need(begin(r.p, r.post))
		}
	}
	for i := range pl.members {
		m := &pl.members[i]
		if m.p != p || m.call != call {
			continue
		}
		own, _ := pl.defs.RankIn(m.comm, uint32(p))
		for k := range pl.members {
			o := &pl.members[k]
			if o.comm != m.comm || o.ordinal != m.ordinal {
				continue
			}
			rank, _ := pl.defs.RankIn(o.comm, uint32(o.p))
			if m.op == opBcast && (rank != m.root || own == m.root) || m.op == opReduce && own != m.root || m.op == opScan && rank > own {
				continue
			}
			need(begin(o.p, o.start))
		}
	}
}

// instant maps an instant of a location, given the ends of its calls.
func (pl *plan) instant(p int, ends []uint64, t uint64) uint64 {
	shift := uint64(0)
	for i, c := range pl.calls[p] {
		if t <= c.enter {
			break
		}
		if t < c.leave {
			return min(t-shift, ends[i])
		}
		shift = c.leave - ends[i]
	}
	return t - shift
}

func (pl *plan) slowNodes(ends [][]uint64) [][]NodeIdeal {
	out := make([][]NodeIdeal, len(pl.calls))
	for p := range out {
		for node := range uint32(4) {
			n := NodeIdeal{Node: node, First: xtf.Never}
			for _, x := range pl.ivals[p] {
				if x.Node == node {
					b, e := pl.instant(p, ends[p], x.T), pl.instant(p, ends[p], x.End)
					n.Sum, n.First, n.Last = n.Sum+e-b, min(n.First, b), max(n.Last, e)
				}
			}
			if n.First != xtf.Never {
				out[p] = append(out[p], n)
			}
		}
	}
	return out
}

func TestIdealAgainstSlowReplay(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 54))
		pl := randomPlan(r, 2+r.IntN(6), 5+r.IntN(60))
		ends, ok := pl.slowIdeal()
		if !ok {
			t.Fatalf("seed %d: a run with right clocks does not end", seed)
		}
		want := pl.slowNodes(ends)
		for _, ranks := range []int{1, 3, 7} {
			got, stuck := pl.replay(t, ranks)
			if stuck != nil {
				t.Fatalf("seed %d, %d ranks: %v", seed, ranks, stuck)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %d ranks:\n%s", seed, ranks, diff)
			}
		}
		for p, list := range want {
			whole, parts := list[0].Sum, uint64(0)
			for _, n := range list[1:] {
				parts += n.Sum
			}
			if parts != whole || list[0].Last > pl.last {
				t.Errorf("seed %d: slices of location %d add up to %d of %d", seed, p, parts, whole)
			}
		}
	}
}

func TestIdealReportsWhoWaits(t *testing.T) {
	// Two receives before the sends they need: no run with right clocks does that.
	pl := &plan{defs: planDefs(2), calls: make([][]plannedCall, 2)}
	ra, sa := pl.call(0, 10, 20, regionSend), pl.call(0, 30, 40, regionSend)
	rb, sb := pl.call(1, 11, 21, regionSend), pl.call(1, 31, 41, regionSend)
	pl.message(side{p: 0, call: sa, post: sa, done: sa}, side{p: 1, call: rb, post: rb, done: rb})
	pl.message(side{p: 1, call: sb, post: sb, done: sb}, side{p: 0, call: ra, post: ra, done: ra})
	pl.root([]uint64{0, 0}, []uint64{50, 50})
	for _, ranks := range []int{1, 2} {
		_, stuck := pl.replay(t, ranks)
		if got, want := fmt.Sprint(stuck), "2 locations wait: [ 0 at 10 for 1; 1 at 11 for 0; ] in a cycle"; got != want {
			t.Errorf("%d ranks: %s, want %s", ranks, got, want)
		}
	}
}

// BenchmarkIdeal replays a random run; an operation is a side of a message or a
// member of a collective.
func BenchmarkIdeal(b *testing.B) {
	pl := randomPlan(rand.New(rand.NewPCG(1, 54)), 8, 20_000)
	types := xtf.StandardTypes(xtf.Packed)
	arrays := make([]map[xtf.TypeID]xtf.FinishedArray, len(pl.calls))
	for p := range arrays {
		arrays[p] = pl.rows(b, types, p)
	}
	operations := len(pl.sides) + len(pl.members)
	b.ReportAllocs()
	for b.Loop() {
		r := &Ideal{Replay: Replay{
			Comm: mpi.Serial(), Defs: pl.defs, Ranges: []partition.Range{{End: 8}}, Types: types, Storage: idealStorage(), Last: pl.last,
			Array: func(p trace.P, id xtf.TypeID) (xtf.FinishedArray, bool, error) { return arrays[p][id], true, nil },
		}}
		if report, err := r.Run(); err != nil || report.Deadlock != nil {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(operations)*float64(b.N)/b.Elapsed().Seconds(), "operations/s")
}
