package causes

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// leverRun is a plan in which functions, some of them for I/O, call MPI.
type leverRun struct {
	*plan
	calls [][]xtf.Call // CALL rows
	paths [][]uint32   // by MPI call: its path in the run
	union *callpath.Tree
	own   []*callpath.Tree
}

// withFunctions puts calls of functions around the MPI calls of a plan.
func withFunctions(r *rand.Rand, pl *plan) *leverRun {
	x := &leverRun{plan: pl, union: callpath.New()}
	var local [][]uint32
	for _, calls := range pl.calls {
		var rows []xtf.Call
		var paths []uint32
		tree, open, at, path := callpath.New(), -1, uint64(0), uint32(0)
		cut := func(to uint64) { // somewhere before the next MPI call a function ends and another one may begin
			at += r.Uint64N(to - at + 1)
			if open >= 0 {
				rows[open].End = at
			}
			open, path = -1, 0
			if k := r.Uint32N(4); k > 0 {
				open, path = len(rows), tree.Child(0, 20+k)
				rows = append(rows, xtf.Call{T: at, Region: 20 + k, Flags: []uint32{0, 0, 0, xtf.FlagOutermostIO}[k]})
			}
		}
		for _, c := range calls {
			if r.IntN(2) == 0 {
				cut(c.enter)
			}
			depth := uint32(0)
			if open >= 0 {
				depth = 1
			}
			rows = append(rows, xtf.Call{T: c.enter, End: c.leave, Region: c.region, Depth: depth, Class: xtf.ClassMPI, Flags: xtf.FlagOutermostMPI})
			paths = append(paths, tree.Child(path, c.region))
			at = c.leave
		}
		cut(pl.last)
		cut(pl.last)
		if open >= 0 {
			rows[open].End = pl.last
		}
		x.calls, x.own, local = append(x.calls, rows), append(x.own, tree), append(local, paths)
		x.union.Merge(tree)
	}
	x.union.Number()
	for p, tree := range x.own {
		global := x.union.Locate(tree)
		var list []uint32
		for _, n := range local[p] {
			list = append(list, global[n])
		}
		x.paths = append(x.paths, list)
	}
	return x
}

// levers prepares replays on a rank.
func (x *leverRun) levers(t *testing.T, types *xtf.TypeTable, c mpi.Comm, ranges []partition.Range, slabs Slabs) (*Levers, error) {
	run := &Run{Comm: c, Defs: x.defs, Ranges: ranges, Storage: heapStorage(), Slabs: slabs, Last: x.last, Derived: make([]bool, 4), Probes: true}
	for n := range x.union.Len() {
		run.Regions = append(run.Regions, x.union.Path(uint32(n)).Region)
	}
	l := &Levers{Replay: Replay{Run: run}, Lasts: slices.Repeat([]uint64{x.last}, len(x.calls))}
	pass, segments := NewPass(run), map[trace.P]*heapScratch{}
	for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
		rows := x.plan.rows(t, types, int(p))
		calls, n := idealArray(t, types, xtf.TypeCall, x.calls[p]), x.callNumbers(int(p))
		segments[p] = &heapScratch{}
		pass.Begin(p, &Location{
			Calls: xtf.ScanArray(types, calls, 0), Intervals: xtf.ScanArray(types, rows.ivals, 0), Paths: x.own[p], Global: x.union.Locate(x.own[p]), Last: x.last,
		}, segments[p])
		for i := range rows.p2p {
			rows.p2p[i].CallN = n[rows.p2p[i].CallN]
			pass.Message(&rows.p2p[i])
		}
		for i := range rows.coll {
			rows.coll[i].CallN = n[rows.coll[i].CallN]
			pass.Collective(&rows.coll[i])
		}
		if err := pass.End(); err != nil {
			return nil, err
		}
	}
	return l, run.Deal(func(p trace.P) (Segment, error) { return segments[p], nil })
}

// callNumbers maps the numbers that plan.rows gives the calls of a location to those of the CALL rows.
func (x *leverRun) callNumbers(p int) map[uint64]uint64 {
	m, from := map[uint64]uint64{}, uint64(0)
	i := 0
	for n, c := range x.calls[p] {
		if c.Flags != xtf.FlagOutermostMPI {
			continue
		}
		if i%3 == 0 {
			from++
		}
		m[from] = uint64(n)
		from++
		i++
	}
	return m
}

// tried is what replays with several levers find.
type tried struct {
	Outcomes []*Outcome
	Times    [][][2]uint64 // of the last lever, by location and MPI call: when it begins and ends
	Ends     []uint64      // when the last event of each location is
}

func (x *leverRun) try(t *testing.T, ranks int, slab uint64, levers ...*Lever) *tried {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	ranges := partition.Ranges(make([]uint64, len(x.calls)), ranks)
	out := &tried{Times: make([][][2]uint64, len(x.calls)), Ends: make([]uint64, len(x.calls))}
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		l, err := x.levers(t, types, c, ranges, everyTick(slab, x.last))
		if err != nil {
			return err
		}
		list, err := l.Try(levers...)
		if err != nil {
			return err
		}
		times, err := l.Times(levers[len(levers)-1])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out.Outcomes = list
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			m, err := times.Of(p)
			if err != nil {
				return err
			}
			for _, call := range x.plan.calls[p] {
				out.Times[p] = append(out.Times[p], [2]uint64{m.Call(call.enter, false), m.Call(call.leave, true)})
			}
			out.Ends[p] = m.At(x.last)
		}
		times.Drop()
		l.Drop()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// left is what a share leaves of so many ticks.
func left(s Share, ticks uint64) uint64 {
	n := new(big.Int).Mul(new(big.Int).SetUint64(ticks), new(big.Int).SetUint64(uint64(s)))
	return n.Div(n, big.NewInt(1_000_000)).Uint64()
}

// working is how long a location works between two instants, with a lever, tick by tick.
func (x *leverRun) working(p int, l *Lever, done map[Place]uint64, from, to uint64) (ticks uint64) {
	global := x.union.Locate(x.own[p])
	for at := from; at < to; at++ {
		place := Place{P: trace.P(p)}
		for _, c := range x.calls[p] {
			if c.Flags != xtf.FlagOutermostMPI && c.T <= at && at < c.End {
				place.Path = global[x.own[p].Child(0, c.Region)]
				if c.Flags == xtf.FlagOutermostIO {
					place.Activity = xtf.ActivityIO
				}
			}
		}
		for _, v := range x.ivals[p] {
			if v.Node > 0 && v.T <= at && at < v.End {
				place.Node = v.Node
			}
		}
		if l.Work == nil {
			ticks++
			continue
		}
		done[place]++
		ticks += left(l.Work(place), done[place]) - left(l.Work(place), done[place]-1)
	}
	return ticks
}

// slowLever computes when each call begins and ends, again and again until nothing changes: it waits until the last instant that it
// depends on, then takes as long as after that instant in the trace.
func (x *leverRun) slowLever(l *Lever) (times [][][2]uint64, ends []uint64, o *Outcome) {
	change := func(p, call int) ChangedCall {
		if l.Call == nil {
			return ChangedCall{Own: Whole}
		}
		return l.Call(x.paths[p][call])
	}
	gaps := make([][]uint64, len(x.plan.calls)) // what is left of the time before each call, and after the last one
	for p, calls := range x.plan.calls {
		at, done := uint64(0), map[Place]uint64{}
		for _, c := range calls {
			gaps[p], at = append(gaps[p], x.working(p, l, done, at, c.enter)), c.leave
		}
		gaps[p] = append(gaps[p], x.working(p, l, done, at, x.last))
	}
	times, ends = make([][][2]uint64, len(gaps)), make([]uint64, len(gaps))
	for p := range times {
		times[p] = slices.Repeat([][2]uint64{{xtf.Never, xtf.Never}}, len(x.plan.calls[p]))
	}
	begin := func(p, call int) uint64 {
		if call == 0 {
			return gaps[p][0]
		}
		if times[p][call-1][1] == xtf.Never {
			return xtf.Never
		}
		return times[p][call-1][1] + gaps[p][call]
	}
	moved := map[uint32]*Moved{}
	for n := range x.union.Len() {
		moved[uint32(n)] = &Moved{Path: uint32(n)}
	}
	o = &Outcome{}
	for changed := true; changed; {
		changed = false
		for p := range times {
			for call := range times[p] {
				if times[p][call][1] != xtf.Never {
					continue
				}
				c, how, from := x.plan.calls[p][call], change(p, call), begin(p, call)
				var late, need, ignored uint64
				known := from != xtf.Never
				x.leverNeeds(p, call, change, begin, func(v, m uint64) {
					switch known = known && v != xtf.Never; {
					case m > c.leave:
						ignored++
						return
					case !how.Waitless && v > from:
						late = max(late, v-from)
					}
					need = max(need, m-min(m, c.enter))
				})
				if !known {
					break
				}
				length := late + left(how.Own, c.leave-c.enter-need)
				if how.Removed {
					length = 0
				}
				w := moved[x.paths[p][call]]
				w.Waited, w.Later = w.Waited+need, w.Later+late-need
				o.Ignored += ignored
				times[p][call], changed = [2]uint64{from, from + length}, true
			}
		}
	}
	for p := range ends {
		n := len(times[p])
		ends[p] = gaps[p][n]
		if n > 0 {
			ends[p] += times[p][n-1][1]
		}
		o.Runtime = max(o.Runtime, ends[p])
	}
	for n := range x.union.Len() {
		if w := moved[uint32(n)]; w.Waited != 0 || w.Later != 0 {
			o.Moved = append(o.Moved, *w)
		}
	}
	return times, ends, o
}

// leverNeeds tells the instants that a call depends on, in the replay and in the trace. Nobody waits in an operation of which a call is
// removed. Where a member seems to have waited for all, it does.
func (x *leverRun) leverNeeds(p, call int, change func(p, call int) ChangedCall, begin func(p, call int) uint64, need func(v, m uint64)) {
	needs := uint64(0) // the latest instant in the trace so far
	at := func(p, call int) {
		m := x.plan.calls[p][call].enter
		needs = max(needs, m)
		need(begin(p, call), m)
	}
	for i := 0; i < len(x.sides); i += 2 {
		s, r := &x.sides[i], &x.sides[i+1]
		if r.p == p && (r.call == call || r.post == call && r.kind&xtf.P2PProbed != 0) {
			at(s.p, s.call)
		}
		if s.p == p && s.done == call {
			switch x.sync(i / 2) {
			case xtf.P2PAwaited:
				at(r.p, r.call)
			case xtf.P2PAwaitedPost:
				at(r.p, r.post)
			}
		}
	}
	for i := range x.members {
		m := &x.members[i]
		if m.p != p || m.call != call {
			continue
		}
		var all []*member
		gone := false
		for k := range x.members {
			if o := &x.members[k]; o.comm == m.comm && o.ordinal == m.ordinal {
				all = append(all, o)
				gone = gone || change(o.p, o.call).Removed
			}
		}
		if gone {
			continue
		}
		c := x.plan.calls[p][call]
		own, _ := x.defs.RankIn(m.comm, uint32(p))
		last := &member{p: -1}
		var lastAt uint64
		var v, tr uint64
		for _, o := range all {
			rank, _ := x.defs.RankIn(o.comm, uint32(o.p))
			if t := x.plan.calls[o.p][o.call].enter; last.p < 0 || t > lastAt {
				last, lastAt = o, t
			}
			if m.op == opBcast && (rank != m.root || own == m.root) || m.op == opReduce && own != m.root || m.op == opScan && rank > own {
				continue
			}
			v, tr = max(v, begin(o.p, o.call)), max(tr, x.plan.calls[o.p][o.call].enter)
		}
		if tr > 0 || v > 0 {
			needs = max(needs, tr)
			need(v, tr)
		}
		if m.op != opBcast && m.op != opReduce && m.op != opScan {
			continue
		}
		if lastAt > max(c.enter, needs) && lastAt-c.enter > c.leave-lastAt && lastAt <= c.leave {
			v := uint64(0)
			for _, o := range all {
				v = max(v, begin(o.p, o.call))
			}
			need(v, lastAt)
		}
	}
}

// randomLever changes some places and paths. With answers sends do not wait for receives to be posted.
func randomLever(r *rand.Rand, x *leverRun, answers bool) *Lever {
	shares := []Share{0, 1, Whole / 3, Whole / 2, Whole - 1, Whole, Whole}
	l := &Lever{}
	if r.IntN(4) > 0 {
		seed := r.Uint64()
		l.Work = func(p Place) Share {
			h := rand.New(rand.NewPCG(seed, uint64(p.P)<<40|uint64(p.Path)<<16|uint64(p.Activity)<<8|uint64(p.Node)))
			return shares[h.IntN(len(shares))]
		}
	}
	if r.IntN(4) > 0 {
		changes := make([]ChangedCall, x.union.Len())
		for n := range changes {
			changes[n].Own = shares[r.IntN(len(shares))]
			switch k := r.IntN(6); {
			case k == 0:
				changes[n].Waitless = true
			case k == 1 && answers:
				changes[n].Answered = true
			case k == 2 && x.union.Path(uint32(n)).Region == regionColl:
				changes[n].Removed = true
			}
		}
		l.Call = func(path uint32) ChangedCall { return changes[path] }
	}
	return l
}

// TestLeversAgainstSlowReplay compares random changes of random runs with a replay by definition, and the unchanged run with the trace.
func TestLeversAgainstSlowReplay(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 31))
		blocking := seed%2 == 0
		pl := randomPlan(r, 2+r.IntN(4), 5+r.IntN(25), blocking)
		x := withFunctions(r, pl)
		list := []*Lever{{}, randomLever(r, x, !blocking), randomLever(r, x, !blocking), randomLever(r, x, !blocking)}
		want := &tried{}
		if blocking {
			for _, l := range list {
				var o *Outcome
				want.Times, want.Ends, o = x.slowLever(l)
				want.Outcomes = append(want.Outcomes, o)
			}
		}
		for _, ranks := range []int{1, 3} {
			got := x.try(t, ranks, []uint64{pl.last, 23}[ranks/2], list...)
			if o := got.Outcomes[0]; o.Runtime != pl.last || blocking && o.Ignored > 0 || slices.ContainsFunc(o.Moved, func(m Moved) bool { return m.Later != 0 }) {
				t.Errorf("seed %d, %d ranks: the unchanged run of %d ticks becomes %+v", seed, ranks, pl.last, o)
			}
			if want.Outcomes == nil {
				want = got // of one rank and one slab
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %d ranks, blocking %t (-want +got):\n%s", seed, ranks, blocking, d)
			}
		}
	}
}
