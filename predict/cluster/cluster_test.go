package cluster

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
)

// solve runs Classify on so many ranks, member i on rank deal(i), and returns rank 0's result with the classes of
// all members.
func solve(tb testing.TB, ranks int, ids []uint32, data [][]int64, o Options, alone int, deal func(i int) int) (*Result, error) {
	tb.Helper()
	var mu sync.Mutex
	var first *Result
	class := make([]uint32, len(data))
	share := make([][]int, ranks)
	for i := range data {
		share[deal(i)] = append(share[deal(i)], i)
	}
	var failed error
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		var v Rows
		for _, i := range share[c.Rank()] {
			v.IDs, v.Data = append(v.IDs, ids[i]), append(v.Data, data[i])
		}
		r, err := classify(context.Background(), c, v, o, alone, 6)
		mu.Lock()
		defer mu.Unlock()
		if c.Rank() == 0 {
			first, failed = r, err
		}
		if err != nil {
			return nil
		}
		for k, i := range share[c.Rank()] {
			class[i] = r.Class[k]
		}
		return nil
	})
	if failed != nil {
		return nil, failed
	}
	if first == nil {
		tb.Fatal(err)
	}
	first.Class = class
	return first, nil
}

// must is solve without an error.
func must(tb testing.TB, ranks int, data [][]int64, o Options) *Result {
	tb.Helper()
	return mustAlone(tb, ranks, data, o, mostAlone)
}

// mustAlone is must with parts of more than alone points on all ranks together.
func mustAlone(tb testing.TB, ranks int, data [][]int64, o Options, alone int) *Result {
	tb.Helper()
	r, err := solve(tb, ranks, numbers(len(data)), data, o, alone, func(i int) int { return i * ranks / len(data) })
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func numbers(n int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	return ids
}

// compareWith compares a result on members 0 to n-1 with the reference.
func compareWith(t *testing.T, r *Result, o Options, data [][]int64) {
	t.Helper()
	all := refMerges(o, r.Fraction, data)
	if o.Linkage != Centroid {
		sortRefs(all)
	}
	cut := r.Threshold.rat()
	var want, got []string
	for _, m := range all {
		if o.Full || o.MaxClasses > 0 || m.height.Cmp(cut) <= 0 {
			want = append(want, fmt.Sprint(m.a, m.b, m.size, " ", m.height))
		}
	}
	for _, m := range r.Merges {
		got = append(got, fmt.Sprint(m.A, m.B, m.Size, " ", m.Height.rat()))
	}
	if o.Linkage == Single { // merges of equal height may be others
		for _, list := range []*[]string{&want, &got} {
			for i, s := range *list {
				var a, b, n int
				var h string
				fmt.Sscan(s, &a, &b, &n, &h)
				(*list)[i] = h
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%+v: merges (-want +got):\n%s", o, d)
	}
	compareClasses(t, r, o, data, refClasses(len(data), all, cut))
}

func compareClasses(t *testing.T, r *Result, o Options, data [][]int64, want [][]int) {
	t.Helper()
	got := make([][]int, len(r.Classes))
	for i, c := range r.Class {
		got[c] = append(got[c], i)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%+v: classes (-want +got):\n%s", o, d)
	}
	for i, c := range r.Classes {
		if int(c.First) != want[i][0] || int(c.Size) != len(want[i]) {
			t.Errorf("%+v: class %d is %+v, want %v", o, i, c, want[i])
		}
		if rep := refRepresentative(o.Representative, want[i], data); int(c.Representative) != rep {
			t.Errorf("%+v: representative of %v is %d, want %d", o, want[i], c.Representative, rep)
		}
	}
}

// random makes n vectors of m entries below limit, of which some are equal.
func random(rng *rand.Rand, n, m int, limit int64) [][]int64 {
	data := make([][]int64, n)
	for i := range data {
		data[i] = make([]int64, m)
		for k := range data[i] {
			data[i][k] = rng.Int64N(limit)
		}
		if i > 0 && rng.IntN(5) == 0 {
			copy(data[i], data[rng.IntN(i)])
		}
	}
	return data
}

// Tiny values are full of ties; large ones need all bits.
func TestReference(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 40
	if testing.Short() {
		rounds = 12
	}
	for round := range rounds {
		limit := []int64{2, 5, 100, 1 << 33, 1 << 52}[round%5]
		n, m := 1+rng.IntN(24), 1+rng.IntN(6)
		if limit == 1<<52 {
			m = 1 + m%3
		}
		data := random(rng, n, m, limit)
		for _, metric := range []Metric{L1, L2} {
			for _, linkage := range []Linkage{Complete, Average, Single, Centroid} {
				o := Options{Metric: metric, Linkage: linkage, Representative: Representative(round % 2)}
				switch round % 3 {
				case 0:
					o.Full = true
				case 1:
					o.MaxClasses = 1 + uint32(rng.IntN(n))
				}
				o.Threshold.Absolute = uint64(rng.Int64N(limit))
				compareWith(t, mustAlone(t, 1+rng.IntN(4), data, o, rng.IntN(n)), o, data)
			}
		}
	}
}

// The cut at the X-th largest height leaves at most X classes, and the next lower height would leave more.
func TestMaxClasses(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for x := uint32(1); x < 30; x++ {
		data := random(rng, 30, 2, 9)
		r := must(t, 2, data, Options{MaxClasses: x})
		if len(r.Classes) > int(x) && len(r.Classes) != int(r.Distinct) {
			t.Errorf("%d classes, want at most %d", len(r.Classes), x)
		}
		lower := big.NewRat(-1, 1)
		for _, m := range r.Merges {
			if h := m.Height.rat(); h.Cmp(r.Threshold.rat()) < 0 && h.Cmp(lower) > 0 {
				lower = h
			}
		}
		if n := len(refClasses(30, refMerges(Options{}, 0, data), lower)); lower.Sign() >= 0 && n <= int(x) {
			t.Errorf("cut at %v leaves %d classes, but %v would leave %d", r.Threshold, len(r.Classes), lower, n)
		}
	}
}

// same compares two results in all that must not depend on the number of ranks.
func same(t *testing.T, what string, a, b *Result) {
	t.Helper()
	if d := cmp.Diff(a, b); d != "" {
		t.Fatalf("%s:\n%s", what, d)
	}
}

func shuffled(rng *rand.Rand, data [][]int64) [][]int64 {
	out := slices.Clone(data)
	rng.Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}
