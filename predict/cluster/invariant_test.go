package cluster

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The same result for any number of ranks, however the members are dealt out, for small and large memory.
func TestRanks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		n := 40 + rng.IntN(60)
		data := random(rng, n, 1+rng.IntN(8), []int64{3, 60, 1 << 30}[round%3])
		for _, l := range []Linkage{Complete, Average, Single, Centroid} {
			o := Options{
				Metric: Metric(round % 2), Linkage: l, Threshold: Threshold{PPM: uint32(rng.IntN(60)) * 10_000},
				Representative: Representative(round / 2 % 2), Full: round%4 == 0,
			}
			want := must(t, 1, data, o)
			for _, p := range []int{1, 2, 3, 8} {
				o.Workers, o.Memory = 1+p%3, int64(p)<<20
				for _, alone := range []int{0, mostAlone} {
					same(t, fmt.Sprintf("%d ranks, %+v", p, o), want, mustAlone(t, p, data, o, alone))
				}
				dealt, err := solve(t, p, numbers(n), data, o, 10, func(i int) int { return i * 7 % p })
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("%d ranks, dealt, %+v", p, o), want, dealt)
			}
		}
	}
}

// Long vectors come in several panels, and give what short pieces of them give.
func TestPanels(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	data := random(rng, 12, surveyPiece+1000, 1000)
	n := len(data)
	for _, o := range []Options{
		{Full: true}, {Full: true, Metric: L2, Linkage: Average}, {Full: true, Representative: Medoid, Linkage: Single},
	} {
		if testing.Short() && o.Representative != Medoid {
			continue
		}
		want := must(t, 1, data, o)
		o.Memory = leastMemory
		same(t, "one rank", want, must(t, 1, data, o))
		same(t, "three ranks", want, mustAlone(t, 3, data, o, n/2))
	}
}

// Without ties the order of the members changes their numbers alone.
func TestPermutation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	data := make([][]int64, 60)
	for i := range data {
		data[i] = []int64{rng.Int64N(1 << 40), rng.Int64N(1 << 40)}
	}
	for _, l := range []Linkage{Complete, Average, Single, Centroid} {
		o := Options{Linkage: l, Full: true}
		a, b := must(t, 2, data, o), must(t, 2, shuffled(rng, data), o)
		for i := range a.Merges {
			x, y := a.Merges[i], b.Merges[i]
			if x.Height.compare(y.Height) != 0 || x.Size != y.Size {
				t.Fatalf("%v: merge %d is %v and %v", l, i, x, y)
			}
		}
	}
}

// Times scaled by a number scale the heights by it.
func TestScale(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(13, 14))
	data := random(rng, 50, 4, 200)
	scaled := make([][]int64, len(data))
	for i, x := range data {
		for _, v := range x {
			scaled[i] = append(scaled[i], v*12345)
		}
	}
	for _, l := range []Linkage{Complete, Average, Single, Centroid} {
		o := Options{Linkage: l, Full: true}
		a, b := must(t, 2, data, o), must(t, 2, scaled, o)
		for i, m := range a.Merges {
			h := m.Height.rat()
			if h.Mul(h, big.NewRat(12345, 1)).Cmp(b.Merges[i].Height.rat()) != 0 || m.A != b.Merges[i].A || m.B != b.Merges[i].B {
				t.Fatalf("merge %d is %v, scaled %v", i, m, b.Merges[i])
			}
		}
	}
}

// Heights never fall, there is one merge less than members, and with complete linkage the sum of a member and of its
// representative are within the threshold.
func TestBounds(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(15, 16))
	for range 20 {
		data := random(rng, 80, 5, 1000)
		r := must(t, 3, data, Options{Full: true, Threshold: Threshold{PPM: uint32(rng.IntN(40)) * 10_000}})
		if len(r.Merges) != len(data)-1 {
			t.Fatalf("%d merges of %d members", len(r.Merges), len(data))
		}
		if !slices.IsSortedFunc(r.Merges, func(a, b Merge) int { return a.Height.compare(b.Height) }) {
			t.Error("heights fall")
		}
		sum := func(x []int64) (s int64) {
			for _, v := range x {
				s += v
			}
			return s
		}
		for i, c := range r.Class {
			rep := data[r.Classes[c].Representative]
			if d := apart(sum(data[i]), sum(rep)); d > r.Threshold.Units {
				t.Errorf("member %d is %d from its representative, the threshold is %d", i, d, r.Threshold.Units)
			}
		}
	}
}

// Entries near 2^62, of which sums and squares need all bits.
func TestLargeEntries(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 18))
	for round := range 20 {
		data := make([][]int64, 12)
		for i := range data {
			data[i] = []int64{1<<62 - rng.Int64N(1<<55), -1<<62 - rng.Int64N(1<<54), 1<<62 + rng.Int64N(1000), rng.Int64N(1 << 53)}
		}
		for _, rep := range []Representative{NearestMean, Medoid} {
			o := Options{
				Metric: Metric(round % 2), Linkage: Linkage(round % 4), Representative: rep,
				Threshold: Threshold{Absolute: 1 << (52 + round%5)}, Full: round%3 == 0,
			}
			compareWith(t, mustAlone(t, 2, data, o, 12*(round%2)), o, data)
		}
	}
}

// Sums up to 63 bits give what the definition has, for all linkages, metrics and representatives. One more is refused before distances are
// computed, with what is too far and what to do.
func TestRange(t *testing.T) {
	t.Parallel()
	for _, linkage := range []Linkage{Complete, Average, Single, Centroid} {
		for _, metric := range []Metric{L1, L2} {
			for _, rep := range []Representative{NearestMean, Medoid} {
				for _, twins := range []int{1, 5} {
					members := 3 * twins
					o := Options{Linkage: linkage, Metric: metric, Representative: rep, Full: true}
					most, spare := int64(math.MaxInt64)/int64(members), int64(0) // of bounds of distances: sums of two
					if o.mean() {
						half := int64(members+1) / 2
						most = int64(math.MaxInt64) / (half * half)
						spare = int64(metric) // L2 loses binary places, and rounds up
					}
					made := func(bound int64) (data [][]int64) {
						for i := range members {
							near := bound/2 - 9 // two vectors that add up to the bound
							data = append(data, []int64{-1<<62 + []int64{0, near, bound - near}[i%3]})
						}
						return data
					}
					data := made(most - spare)
					compareWith(t, mustAlone(t, 1+members%2, data, o, members), o, data)
					_, err := solve(t, 2, numbers(members), made(most+1), o, 9, func(i int) int { return i % 2 })
					advice := "choose a threshold and no dendrogram"
					if o.mean() {
						advice = "choose complete or single linkage, or a threshold and no dendrogram"
					}
					if !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), fmt.Sprint(most+1)) || !strings.HasSuffix(err.Error(), advice) {
						t.Errorf("%+v, %d members: %v", o, members, err)
					}
				}
			}
		}
	}
}

// Heights of means in L2 have as many binary places as fit: fewer for more members that are further apart, and others as many as ever.
func TestPlaces(t *testing.T) {
	t.Parallel()
	data := make([][]int64, 40)
	for i := range data {
		data[i] = []int64{int64(i) * 1e10, int64(i*i) * 1e7}
	}
	for l, want := range []uint8{20, 14, 20, 14} {
		o := Options{Metric: L2, Linkage: Linkage(l), Full: true}
		r := must(t, 3, data, o)
		if r.Fraction != want {
			t.Errorf("linkage %d: %d places, want %d", l, r.Fraction, want)
		}
		compareWith(t, r, o, data)
	}
}
