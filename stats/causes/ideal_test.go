package causes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// replay runs Ideal on several ranks. It returns the nodes of each location.
func (pl *plan) replay(t testing.TB, ranks int, slab uint64) ([][]NodeIdeal, *Deadlock) {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	ranges := partition.Ranges(make([]uint64, len(pl.calls)), ranks)
	arrays := make([]*planRows, len(pl.calls))
	for p := range arrays {
		arrays[p] = pl.rows(t, types, p)
	}
	out := make([][]NodeIdeal, len(pl.calls))
	var stuck *Deadlock
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		r, report, err := pl.ideal(types, &Run{Comm: c, Ranges: ranges, Slabs: everyTick(slab, pl.last)}, arrays)
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

// ideal runs Ideal over rows.
func (pl *plan) ideal(types *xtf.TypeTable, run *Run, all []*planRows) (*Ideal, *ReplayReport, error) {
	run.Defs, run.Storage, run.Last = pl.defs, heapStorage(), pl.last
	run.Regions = []uint32{trace.Undefined}
	pass, segments := NewPass(run), map[trace.P]*heapScratch{}
	pass.most = len(run.Ranges) % 3
	for p := run.Ranges[run.Comm.Rank()].First; p < run.Ranges[run.Comm.Rank()].End; p++ {
		rows := *all[p]
		segments[p] = &heapScratch{}
		pass.Begin(p, &Location{
			Calls: xtf.ScanArray(types, rows.calls, 0), Intervals: xtf.ScanArray(types, rows.ivals, 0), Paths: callpath.New(), Last: pl.last,
		}, segments[p])
		m, c := rows.NextMessage(), rows.NextCollective()
		for m != nil || c != nil { // one call after the other
			t := xtf.Never
			if m != nil {
				t = m.T
			}
			if c != nil {
				t = min(t, c.T)
			}
			if err := pass.To(t); err != nil {
				return nil, nil, err
			}
			for ; m != nil && m.T == t; m = rows.NextMessage() {
				pass.Message(m)
			}
			for ; c != nil && c.T == t; c = rows.NextCollective() {
				pass.Collective(c)
			}
		}
		if err := pass.End(); err != nil {
			return nil, nil, err
		}
	}
	if err := run.Deal(func(p trace.P) (Segment, error) { return segments[p], nil }); err != nil {
		return nil, nil, err
	}
	did := 0.0
	run.Did = func(part float64) error { did += part; return nil }
	r := &Ideal{Replay: Replay{Run: run}}
	report, err := r.Run()
	if slabs := run.parcels.end > run.parcels.own; err == nil && slabs != (math.Abs(did-0.2) < 1e-9) {
		err = fmt.Errorf("the replay has done %g of the pass over its slabs", did)
	}
	return r, report, err
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
			nodes, stuck := g.pl.replay(t, ranks, 12)
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
		pl := randomPlan(r, 2+r.IntN(6), 5+r.IntN(60), false)
		ends, ok := pl.slowIdeal()
		if !ok {
			t.Fatalf("seed %d: a run with right clocks does not end", seed)
		}
		want := pl.slowNodes(ends)
		for _, ranks := range []int{1, 3, 7} {
			got, stuck := pl.replay(t, ranks, 12)
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
		_, stuck := pl.replay(t, ranks, 12)
		if got, want := fmt.Sprint(stuck), "2 locations wait: [ 0 at 10 for 1; 1 at 11 for 0; ] in a cycle"; got != want {
			t.Errorf("%d ranks: %s, want %s", ranks, got, want)
		}
	}
}

// BenchmarkIdeal replays a random run; an operation is a side of a message or a
// member of a collective.
func BenchmarkIdeal(b *testing.B) {
	pl := randomPlan(rand.New(rand.NewPCG(1, 54)), 8, 20_000, false)
	types := xtf.StandardTypes(xtf.Packed)
	arrays := make([]*planRows, len(pl.calls))
	for p := range arrays {
		arrays[p] = pl.rows(b, types, p)
	}
	operations := len(pl.sides) + len(pl.members)
	b.ReportAllocs()
	for b.Loop() {
		run := &Run{Comm: mpi.Serial(), Ranges: []partition.Range{{End: 8}}}
		if _, report, err := pl.ideal(types, run, arrays); err != nil || report.Deadlock != nil {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(operations)*float64(b.N)/b.Elapsed().Seconds(), "operations/s")
}

// everyTick parts a run into slabs of equal length.
func everyTick(ticks, last uint64) (s Slabs) {
	for t := ticks; t < last; t += ticks {
		s.Ends = append(s.Ends, t)
	}
	return s
}
