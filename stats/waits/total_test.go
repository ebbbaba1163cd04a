package waits

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// sumsOf makes the WAITSUM rows of some locations.
func sumsOf(rng *rand.Rand, locations, paths int) [][]xtf.WaitSum {
	all := make([][]xtf.WaitSum, locations)
	for p := range all {
		own := summing{at: map[place]*amount{}}
		for range rng.IntN(12) {
			own.add(place{xtf.NodeKey(uint32(rng.IntN(3)), uint32(rng.IntN(paths))), uint32(rng.IntN(3)) | uint32(rng.IntN(3))<<8}, 1, uint64(rng.IntN(5)))
		}
		for at, x := range own.at {
			all[p] = append(all[p], xtf.WaitSum{Key: at.key, Pattern: at.pattern, Count: x.count, Ticks: x.ticks})
		}
		slices.SortFunc(all[p], func(a, b xtf.WaitSum) int { return place{a.Key, a.Pattern}.compare(place{b.Key, b.Pattern}) })
	}
	return all
}

// randomPaths makes a tree of call paths, some deep.
func randomPaths(rng *rand.Rand, n int) *callpath.Tree {
	t := callpath.New()
	for t.Len() < n {
		t.Child(uint32(max(0, t.Len()-1-rng.IntN(4))), uint32(rng.IntN(5)))
	}
	t.Number()
	return t
}

// slowTotals folds all places level by level until there are few enough, then adds
// up location by location.
func slowTotals(all [][]xtf.WaitSum, paths *callpath.Tree, most int) []xtf.WaitTotal {
	for end := uint32(callpath.MaxLevel); ; end-- {
		at := map[place]xtf.WaitTotal{}
		for p, rows := range all {
			own := map[place]amount{}
			for _, r := range rows {
				path := uint32(r.Key)
				for paths.Path(path).Level > end {
					path = paths.Path(path).Parent
				}
				k := place{xtf.NodeKey(uint32(r.Key>>32), path), r.Pattern}
				own[k] = amount{own[k].count + r.Count, own[k].ticks + r.Ticks}
			}
			for k, x := range own {
				t, ok := at[k]
				if !ok || x.ticks > t.Worst {
					t.Worst, t.WorstP = x.ticks, uint32(p)
				}
				t.Key, t.Pattern, t.Count, t.Ticks = k.key, k.pattern, t.Count+x.count, t.Ticks+x.ticks
				at[k] = t
			}
		}
		if len(at) > most && end > 0 {
			continue
		}
		var list []xtf.WaitTotal
		for _, t := range at {
			list = append(list, t)
		}
		slices.SortFunc(list, func(a, b xtf.WaitTotal) int { return place{a.Key, a.Pattern}.compare(place{b.Key, b.Pattern}) })
		return list
	}
}

// reduced runs Totals on some ranks and returns the rows, and the messages of each.
func reduced(t *testing.T, all [][]xtf.WaitSum, paths *callpath.Tree, most, ranks int) ([]xtf.WaitTotal, []traffic) {
	t.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	arrays := make([]xtf.FinishedArray, len(all))
	for p := range all {
		arrays[p] = array(t, types, xtf.TypeWaitSum, all[p])
	}
	var list []xtf.WaitTotal
	sent := make([]traffic, ranks)
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		own := &sent[c.Rank()]
		run := NewTotals(mpi.Observe(c, func(x mpi.Note) { own.count(x) }), paths)
		run.most = most
		first, end := len(all)*c.Rank()/ranks, len(all)*(c.Rank()+1)/ranks
		for p := first; p < end; p++ {
			if err := run.Note(xtf.ScanArray(types, arrays[p], 0)); err != nil {
				return err
			}
		}
		if err := run.Agree(); err != nil {
			return err
		}
		for p := first; p < end; p++ {
			if err := run.Add(trace.P(p), xtf.ScanArray(types, arrays[p], 0)); err != nil {
				return err
			}
		}
		if err := run.Reduce(nil); err != nil {
			return err
		}
		if c.Rank() != 0 {
			return nil
		}
		sink := &xtftest.MemorySink{}
		b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeWaitTotal), xtf.WholeRun, sink)
		run.Write(b)
		sum, err := b.Finish()
		if err != nil {
			return err
		}
		cur := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: sink}, 0)
		for cur.Next() {
			var r xtf.WaitTotal
			r.Load(cur.Row())
			list = append(list, r)
		}
		return cur.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, sent
}

// traffic is what a rank sends and receives up and down the tree.
type traffic struct{ messages, sent int64 }

func (s *traffic) count(x mpi.Note) {
	if x.Kind == mpi.OpSend || x.Kind == mpi.OpRecv {
		s.messages++
		s.sent += x.Sent
	}
}

// TestTotals compares sums over ranks with adding up everything at once, with and
// without a cut of the call paths.
func TestTotals(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		paths := randomPaths(rng, 2+rng.IntN(40))
		all := sumsOf(rng, 1+rng.IntN(20), paths.Len())
		for _, most := range []int{1000, 60, 25, 1} {
			want := slowTotals(all, paths, most)
			for _, ranks := range []int{1, 2, 3, 7} {
				got, _ := reduced(t, all, paths, most, ranks)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("seed %d, at most %d places, %d ranks: %s", seed, most, ranks, d)
				}
			}
		}
	}
}

// TestTotalsScale: messages of a rank grow with the logarithm of the ranks, and
// what it sends does not grow with them.
func TestTotalsScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	paths := randomPaths(rng, 30)
	own := sumsOf(rng, 4, paths.Len()) // every rank has the same four
	least := int64(0)
	for _, ranks := range []int{1, 2, 4, 8, 16, 32, 64} {
		var all [][]xtf.WaitSum
		for range ranks {
			all = append(all, own...)
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			_, traffic := reduced(t, all, paths, 1000, ranks)
			for r, s := range traffic {
				if limit := int64(2 * (bits.Len(uint(ranks-1)) + 1)); s.messages > limit {
					t.Errorf("rank %d of %d: %d messages, at most %d expected", r, ranks, s.messages, limit)
				}
				if ranks == 2 {
					least = max(least, s.sent)
				}
				if ranks > 2 && s.sent > 2*least { // sums have more digits, and that is all
					t.Errorf("rank %d of %d sends %d bytes, %d of two ranks", r, ranks, s.sent, least)
				}
			}
		})
	}
}

// FuzzNoted reads what ranks tell of their places from any bytes: paths are those of the run.
func FuzzNoted(f *testing.F) {
	paths := randomPaths(rand.New(rand.NewPCG(1, 1)), 20)
	t := NewTotals(nil, paths)
	list := []totals.Row{{Name: place{3, 1}.name()}, {Name: place{3, 2}.name()}, {Name: place{1 << 32, 1}.name()}}
	for _, n := range []noted{{9, list}, {0, nil}, {9, []totals.Row{{Name: place{20, 0}.name()}}}} {
		b, _ := encodeNoted(n)
		f.Add(b)
	}
	f.Fuzz(func(tb *testing.T, b []byte) {
		got, err := t.decodeNoted(b)
		if err != nil {
			return
		}
		for _, x := range got.list {
			paths.Path(uint32(x.Key))
		}
		b, _ = encodeNoted(got)
		if again, err := t.decodeNoted(b); err != nil || again.end != got.end || !slices.Equal(got.list, again.list) {
			tb.Errorf("%v is %v after another round, %v", got, again, err)
		}
	})
}
