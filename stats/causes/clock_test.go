package causes

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/xtf"
)

// skew gives every location a clock of its own: an offset and a drift.
func (pl *plan) skew(r *rand.Rand) {
	for p := range pl.calls {
		offset, drift := r.Uint64N(60), r.Uint64N(20)
		wrong := func(t uint64) uint64 { return t + offset + t*drift/100 }
		for i := range pl.calls[p] {
			c := &pl.calls[p][i]
			c.enter, c.leave = wrong(c.enter), wrong(c.leave)
		}
	}
	pl.last *= 3
}

// clockRows makes the rows of a location for the repair of clocks: call i is the
// events 2i and 2i+1.
func (pl *plan) clockRows(p int) *planRows {
	rows := &planRows{}
	rowOf := pl.rowNumbers()
	for i, c := range pl.calls[p] {
		for _, k := range c.p2p {
			o := &pl.sides[k^1]
			x := xtf.P2P{T: c.enter, End: c.leave, CallN: uint64(2*i + 1), MateN: rowOf[k^1], MateP: uint32(o.p), Kind: uint32(k & 1)}
			rows.p2p = append(rows.p2p, xtf.Message{P2P: x, N: uint64(len(rows.p2p))})
		}
		for _, k := range c.coll {
			m := &pl.members[k]
			x := xtf.Coll{T: c.enter, End: c.leave, Post: pl.at(p, m.start).enter, CallN: uint64(2*i + 1), Ordinal: m.ordinal, Comm: m.comm, Root: m.root, Sent: m.sent, Received: m.received, Flags: m.op | m.flags}
			rows.coll = append(rows.coll, xtf.Collective{Coll: x, N: uint64(len(rows.coll))})
		}
	}
	return rows
}

// clocks runs Clocks on a rank.
func (pl *plan) clocks(c mpi.Comm, ranges []partition.Range) (*Clocks, *ReplayReport, error) {
	r := NewClocks(&Run{Comm: c, Defs: pl.defs, Ranges: ranges, Storage: heapStorage(), Last: pl.last, Slabs: everyTick(12, pl.last)})
	var err error
	for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End && err == nil; p++ {
		err = r.Location(p, pl.clockRows(int(p)))
	}
	report, err := r.Run(err)
	return r, report, err
}

// repair runs Clocks and returns the repaired times of enters and leaves.
func (pl *plan) repair(t testing.TB, ranks int) ([][]uint64, uint64) {
	t.Helper()
	ranges := partition.Ranges(make([]uint64, len(pl.calls)), ranks)
	out := make([][]uint64, len(pl.calls))
	var corrections uint64
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		r, _, err := pl.clocks(c, ranges)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range ranges[c.Rank()].Len() {
			p := int(ranges[c.Rank()].First) + i
			m, report := r.Map(i)
			corrections += report.Corrections
			for n, at := range pl.eventTimes(p) {
				v, err := m.At(uint64(n), at)
				if err != nil {
					return err
				}
				out[p] = append(out[p], v)
			}
			r.Drop(i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, corrections
}

func (pl *plan) eventTimes(p int) (list []uint64) {
	for _, c := range pl.calls[p] {
		list = append(list, c.enter, c.leave)
	}
	return list
}

// slowRepair raises leaves until nothing changes: each correction of a location
// reaches from its event to the next one.
func (pl *plan) slowRepair() [][]uint64 {
	out := make([][]uint64, len(pl.calls))
	for p := range out {
		out[p] = pl.eventTimes(p)
	}
	for changed := true; changed; {
		changed = false
		for p, calls := range pl.calls {
			var base, raised uint64 // the last correction
			corrected := false
			at := func(t uint64) uint64 {
				if !corrected {
					return t
				}
				return max(t, raised+(t-base)*127/128)
			}
			for i, c := range calls {
				enter, leave := at(c.enter), at(c.leave)
				need := uint64(0)
				pl.clockNeeds(p, i, out, func(v uint64) { need = max(need, v) })
				if need > leave {
					base, raised, corrected, leave = c.leave, need, true, need
				}
				changed = changed || out[p][2*i] != enter || out[p][2*i+1] != leave
				out[p][2*i], out[p][2*i+1] = enter, leave
			}
		}
	}
	return out
}

// clockNeeds tells the enters that a call must not end before.
func (pl *plan) clockNeeds(p, call int, times [][]uint64, need func(uint64)) {
	begin := func(q, c int) uint64 { return times[q][2*c] }
	for i := 0; i < len(pl.sides); i += 2 {
		if s, r := &pl.sides[i], &pl.sides[i+1]; r.p == p && r.call == call {
			need(begin(s.p, s.call))
		}
	}
	only := *pl
	only.sides = nil
	for i := range pl.members { // one operation after the other, of those that set a condition here
		m := &pl.members[i]
		if m.p != p || m.call != call || m.op == opAlltoallv || m.op != opBarrier && m.op != opReduce && m.received == 0 {
			continue
		}
		only.members = nil
		for k := range pl.members {
			o := &pl.members[k]
			if o.comm == m.comm && o.ordinal == m.ordinal && (o == m || m.op == opBarrier || m.op == opBcast || o.sent > 0) {
				only.members = append(only.members, *o)
			}
		}
		only.needs(p, call, begin, need)
	}
}

func TestClocksAgainstSlowRepair(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	corrected := uint64(0)
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 127))
		pl := randomPlan(r, 2+r.IntN(6), 5+r.IntN(60), false)
		if _, n := pl.repair(t, 2); n != 0 {
			t.Fatalf("seed %d: %d corrections of right clocks", seed, n)
		}
		pl.skew(r)
		want := pl.slowRepair()
		for _, ranks := range []int{1, 3, 7} {
			got, n := pl.repair(t, ranks)
			corrected += n
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %d ranks:\n%s", seed, ranks, diff)
			}
		}
		for p, list := range want {
			if !slices.IsSorted(list) {
				t.Errorf("seed %d: times of location %d run backwards", seed, p)
			}
			for i, old := range pl.eventTimes(p) {
				if list[i] < old {
					t.Errorf("seed %d: location %d event %d moves back from %d to %d", seed, p, i, old, list[i])
				}
			}
			for i := range pl.calls[p] {
				pl.clockNeeds(p, i, want, func(v uint64) {
					if list[2*i+1] < v {
						t.Errorf("seed %d: call %d of location %d still ends at %d, before %d", seed, i, p, list[2*i+1], v)
					}
				})
			}
		}
	}
	if corrected == 0 {
		t.Error("no clock was wrong")
	}
}

func TestCorrection(t *testing.T) {
	for _, c := range []struct {
		name string
		c    correction
		t    uint64
		want uint64
	}{
		{"none", correction{}, 12345, 12345},
		{"at its event", correction{7, 100, 150}, 100, 150},
		{"one tick later", correction{7, 100, 150}, 101, 150},
		{"a full period later", correction{7, 100, 150}, 228, 277},
		{"the clocks agree again", correction{7, 100, 150}, 100 + 50*128, 100 + 50*128},
		{"and go on together", correction{7, 100, 150}, 1e6, 1e6},
		{"no room", correction{7, 0, math.MaxUint64 - 1}, 1 << 63, math.MaxUint64},
	} {
		if got := c.c.at(c.t); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestClocksReportWhoWaits(t *testing.T) {
	pl := &plan{defs: planDefs(2), calls: make([][]plannedCall, 2)}
	ra, sa := pl.call(0, 10, 20, regionSend), pl.call(0, 30, 40, regionSend)
	rb, sb := pl.call(1, 11, 21, regionSend), pl.call(1, 31, 41, regionSend)
	pl.message(side{p: 0, call: sa, post: sa, done: sa}, side{p: 1, call: rb, post: rb, done: rb})
	pl.message(side{p: 1, call: sb, post: sb, done: sb}, side{p: 0, call: ra, post: ra, done: ra})
	_, report, err := pl.clocks(mpi.Serial(), []partition.Range{{End: 2}})
	if err != nil || report.Deadlock == nil || report.Deadlock.Stuck != 2 {
		t.Errorf("%v, %v", report, err)
	}
}
