package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
)

// aheadOn deals bounds out to ranks, and returns what all of them find.
func aheadOn(t *testing.T, ranks, processes int, bounds map[direction]int64, most uint64) (ahead []int64) {
	t.Helper()
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		var o offsets
		for k, s := range bounds {
			if int(k.to)%ranks == c.Rank() {
				o.bound(k.from, k.to, s+5) // the least one counts
				o.bound(k.from, k.to, s)
				o.bound(k.to, k.to, -7) // a process has one clock
			}
		}
		found, err := o.solve(c, processes, most)
		if c.Rank() == 0 {
			ahead = found
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ahead
}

// TestOffsets: clocks of up to 12 processes start at random; messages take 1 to 20 ticks in truth. Afterwards no message arrives before it was
// sent. The sums of bounds along all ways between two processes, by the algorithm of Floyd and Warshall, say how far their clocks may be
// apart: if all are tied to the first one, up to less than the worst violation, each is in the middle; else no clock is set back more than a
// message asks for.
func TestOffsets(t *testing.T) {
	centered, apart := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(11)
		start, bounds := make([]int64, n), map[direction]int64{}
		for p := range start {
			start[p] = r.Int64N([...]int64{1000, 30}[seed%2])
		}
		const far = 1 << 40
		way := slices.Repeat([]int64{far}, n*n) // by from*n + to: the most by which from is set back less than to
		worst, tied := int64(0), true
		for range r.IntN(8 * n) {
			k := direction{uint32(r.IntN(n)), uint32(r.IntN(n))}
			if k.from != k.to {
				bounds[k] = 1 + r.Int64N(20) + start[k.from] - start[k.to]
			}
		}
		for k, s := range bounds {
			way[int(k.from)*n+int(k.to)], worst = s, max(worst, -s)
		}
		for k := range n {
			way[k*n+k] = 0
			for i := range n * n {
				way[i] = min(way[i], way[i/n*n+k]+way[k*n+i%n])
			}
		}
		for p := range n {
			tied = tied && way[p]+way[p*n] < worst
		}
		ahead := aheadOn(t, 1, n, bounds, far)
		if (ahead != nil) != (worst > 0) {
			t.Fatalf("seed %d: violated by %d, found %v", seed, worst, ahead)
		}
		if ahead == nil {
			continue
		}
		if tied {
			centered++
		} else {
			apart++
		}
		for p, v := range ahead {
			tight := v == 0
			for k, s := range bounds {
				if left := s + ahead[k.from] - ahead[k.to]; left < 0 {
					t.Fatalf("seed %d: process %d sends %d ticks after process %d received: %v", seed, k.from, -left, k.to, ahead)
				} else if int(k.from) == p && left == 0 {
					tight = true
				}
			}
			if most, least := way[p], -way[p*n]; tied && max(2*(v-ahead[0])-most-least, most+least-2*(v-ahead[0])) > 1 {
				t.Fatalf("seed %d: process %d is set back %d more than the first one, which may be %d to %d", seed, p, v-ahead[0], least, most)
			} else if !tied && !tight || v < 0 {
				t.Fatalf("seed %d: the clock of process %d is set back by %d for nothing", seed, p, v)
			}
		}
		for _, ranks := range []int{2, 3} {
			if got := aheadOn(t, ranks, n, bounds, far); !slices.Equal(got, ahead) {
				t.Fatalf("seed %d: %v on %d ranks, %v on one", seed, got, ranks, ahead)
			}
		}
	}
	if min(centered, apart) < 50 {
		t.Errorf("%d are tied to the first one, %d are not", centered, apart)
	}
}

// TestOffsetsOfDrift: process 0 is 1000 ticks ahead of process 1 at first, and 1000 - drift later, so that what goes around is violated by drift
// less 2. All bounds may be violated by the least power of two that is half of that, if that is less than half of the worst violation.
func TestOffsetsOfDrift(t *testing.T) {
	for drift, want := range map[int64][]int64{2: {999, 0}, 3: {999, 0}, 66: {967, 0}, 67: {967, 0}, 1500: nil} {
		bounds := map[direction]int64{{1, 0}: 1000 - drift + 1, {0, 1}: -1000 + 1}
		if drift == 1500 {
			bounds[direction{1, 0}] = -500
		}
		if got := aheadOn(t, 1, 2, bounds, 1<<40); !slices.Equal(got, want) {
			t.Errorf("drift %d: set back by %v, want %v", drift, got, want)
		}
	}
	if got := aheadOn(t, 2, 2, map[direction]int64{{0, 1}: -1000}, 499); got != nil {
		t.Errorf("set back by %v, which is more than 499", got)
	}
	if got := fmt.Sprint(aheadOn(t, 2, 2, map[direction]int64{{0, 1}: -1000}, 1000)); got != "[1000 0]" {
		t.Errorf("set back by %s", got)
	}
}
