package partition

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// costliest is the cost of the rank that has most to do.
func costliest(weights []uint64, ranges []Range, teams []Team, c Cost) (most uint64) {
	in := map[trace.P]int{}
	for _, t := range teams {
		in[t.P] = len(t.Helpers) + 1
	}
	for _, r := range ranges {
		sum := uint64(0)
		for p := r.First; p < r.End; p++ {
			if k := in[p]; k > 0 {
				sum += max(weights[p]*c.Serial, (weights[p]*c.Shared+uint64(k)-1)/uint64(k))
			} else {
				sum += weights[p] * c.Alone
			}
		}
		most = max(most, sum)
	}
	return most
}

func TestTeams(t *testing.T) {
	c := Cost{Alone: 15, Serial: 5, Shared: 20, Least: 8}
	for _, x := range []struct {
		name    string
		weights []uint64
		n       int
		teams   int
		helpers int
	}{
		{"one location", []uint64{1000}, 4, 1, 3},
		{"one location, one rank", []uint64{1000}, 1, 0, 0},
		{"one light location", []uint64{7}, 4, 0, 0},
		{"even ones", []uint64{100, 100, 100, 100}, 4, 0, 0},
		{"two of two", []uint64{100, 100}, 4, 2, 2},
		{"one among many", []uint64{5, 5, 1000, 5, 5}, 8, 1, 5},
		{"nothing", []uint64{0, 0, 0}, 4, 0, 0},
		{"beyond 64 bits", []uint64{1 << 63, 1 << 40}, 4, 1, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			ranges, teams := Teams(x.weights, x.n, c)
			helpers := 0
			for _, m := range teams {
				helpers += len(m.Helpers)
			}
			if len(teams) != x.teams || len(ranges) != x.n || helpers < x.helpers {
				t.Errorf("%+v, %+v", ranges, teams)
			}
		})
	}
}

// TestRandomTeams checks the form of the result, and that teams never make the costliest rank costlier.
func TestRandomTeams(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	c := Cost{Alone: 15, Serial: 5, Shared: 20, Least: 8}
	for range 2000 {
		weights := make([]uint64, 1+rng.IntN(8))
		for i := range weights {
			weights[i] = rng.Uint64N(1 << rng.IntN(12))
		}
		n := 1 + rng.IntN(12)
		ranges, teams := Teams(weights, n, c)
		next, behind := trace.P(0), false
		for _, r := range ranges {
			if r.First != next || r.End < r.First || behind && r.Len() > 0 {
				t.Fatalf("%v: %v", weights, ranges)
			}
			next, behind = r.End, r.Len() == 0
		}
		busy := map[int]bool{}
		for _, m := range teams {
			if !ranges[m.Owner].Contains(m.P) || len(m.Helpers) == 0 || weights[m.P] < c.Least {
				t.Fatalf("%v: %v, %+v", weights, ranges, teams)
			}
			for _, h := range m.Helpers {
				if ranges[h].Len() > 0 || busy[h] {
					t.Fatalf("%v: rank %d in %+v", weights, h, teams)
				}
				busy[h] = true
			}
		}
		if len(ranges) != n || int(next) != len(weights) {
			t.Fatalf("%v: %v", weights, ranges)
		}
		plain := Ranges(weights, n)
		if was, is := costliest(weights, plain, nil, c), costliest(weights, ranges, teams, c); is > was {
			t.Fatalf("%v, %d ranks: cost %d with teams, %d without: %v %+v", weights, n, is, was, ranges, teams)
		}
	}
}
