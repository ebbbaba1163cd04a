package totals_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
)

// TestReduce compares the sums of several ranks with those of one loop over all locations.
func TestReduce(t *testing.T) {
	const locations = 20
	rng := rand.New(rand.NewPCG(3, 5))
	var rows [locations][]totals.Row
	want := map[totals.Name]totals.Row{}
	for p := range rows {
		for range rng.IntN(9) {
			x := totals.Row{Name: totals.Name{Key: rng.Uint64N(3) << 40, Pattern: rng.Uint32N(2), Activity: rng.Uint32N(2)}, Sum: [2]uint64{rng.Uint64N(5), rng.Uint64()}, Worst: rng.Uint64N(4), WorstP: uint32(p)}
			if slices.ContainsFunc(rows[p], func(y totals.Row) bool { return y.Name == x.Name }) {
				continue
			}
			rows[p] = append(rows[p], x)
			y, ok := want[x.Name]
			if !ok || x.Worst > y.Worst {
				y.Worst, y.WorstP = x.Worst, x.WorstP
			}
			y.Name, y.Sum = x.Name, [2]uint64{y.Sum[0] + x.Sum[0], y.Sum[1] + x.Sum[1]}
			want[x.Name] = y
		}
	}
	for _, ranks := range []int{1, 2, 5, 7} {
		var got []totals.Row
		var mu sync.Mutex
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			var s totals.Sums
			for p := locations * c.Rank() / ranks; p < locations*(c.Rank()+1)/ranks; p++ {
				for i := range rows[p] {
					s.Add(&rows[p][i])
				}
			}
			list, err := s.Reduce(c, nil)
			if c.Rank() == 0 {
				mu.Lock()
				got = list
				mu.Unlock()
			}
			return err
		})
		if err != nil || len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b totals.Row) int { return a.Compare(b.Name) }) {
			t.Fatalf("%d ranks: %d rows of %d, %v", ranks, len(got), len(want), err)
		}
		for _, x := range got {
			if x != want[x.Name] {
				t.Errorf("%d ranks: %+v, want %+v", ranks, x, want[x.Name])
			}
		}
	}
}

// FuzzParse reads totals from any bytes: what it takes is in order, and written as it was read.
func FuzzParse(f *testing.F) {
	f.Add(totals.Append(nil, []totals.Row{{Name: totals.Name{Key: 1}, Worst: 2}, {Name: totals.Name{Key: 1, Activity: 3}}, {Name: totals.Name{Key: 1 << 33}, WorstP: 4}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		list, err := totals.Parse(in)
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(list, func(a, b totals.Row) int { return a.Compare(b.Name) }) {
			t.Errorf("%v are not in order", list)
		}
		if again, err := totals.Parse(totals.Append(nil, list)); err != nil || !slices.Equal(again, list) {
			t.Errorf("%v are read back as %v: %v", list, again, err)
		}
	})
}
