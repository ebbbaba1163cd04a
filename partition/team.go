package partition

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
)

// Team is the ranks that do the work of one location together.
type Team struct {
	P       trace.P
	Owner   int   // the rank that holds the location
	Helpers []int // ascending ranks that hold nothing
}

// Cost says what a location of some weight costs a rank, for a weight of 1: alone, or in a team, where the owner has at
// least the serial part, and all members together the shared one.
type Cost struct {
	Alone, Serial, Shared uint64
	Least                 uint64 // weight from which on a location is worth a team
}

// Teams cuts the locations into ranges, as Ranges does, and gives locations that are heavier than an even share a team
// where that makes the costliest rank cheaper. Helpers are the ranks after those that hold something. A rank helps one
// team.
func Teams(weights []uint64, n int, c Cost) ([]Range, []Team) {
	ranges := Ranges(weights, n)
	if n < 2 || len(weights) == 0 || c.Alone == 0 {
		return ranges, nil
	}
	best := mostOf(weights, ranges)
	var sizes []int // members of the locations that are heavier than a range
	holders := 0
	low, high := uint64(0), best
	for low < high {
		mid := low + (high-low)/2
		if h, s := fit(weights, n, mid, c); s != nil {
			high, holders, sizes = mid, h, s
		} else {
			low = mid + 1
		}
	}
	if sizes == nil {
		return ranges, nil
	}
	return form(weights, n, high, holders, sizes)
}

// mostOf is the weight of the heaviest range.
func mostOf(weights []uint64, ranges []Range) uint64 {
	s, most := newSums(weights), uint64(0)
	for _, r := range ranges {
		most = max(most, s.between(int(r.First), int(r.End)))
	}
	return most
}

// fit deals the locations out to ranges of weight at most b, in order; one that is heavier gets a range and a team of its
// own. It returns how many ranges that makes and the members of each team, nil if n ranks do not suffice or there is no
// team.
func fit(weights []uint64, n int, b uint64, c Cost) (ranges int, sizes []int) {
	ranks, open, sum := 0, false, uint64(0)
	for _, w := range weights {
		if w > b {
			k, ok := members(w, b, c)
			if !ok || ranks+k > n {
				return 0, nil
			}
			ranks, ranges, open = ranks+k, ranges+1, false
			sizes = append(sizes, k)
			continue
		}
		if !open || w > b-sum {
			ranks, ranges, open, sum = ranks+1, ranges+1, true, 0
		}
		sum += w
	}
	if ranks > n {
		return 0, nil
	}
	return ranges, sizes
}

// members is how many ranks it takes to do a location of weight w at the cost of one of weight b alone.
func members(w, b uint64, c Cost) (int, bool) {
	h1, l1 := bits.Mul64(w, c.Serial)
	h2, l2 := bits.Mul64(b, c.Alone)
	if w < c.Least || h1 > h2 || h1 == h2 && l1 > l2 || l2|h2 == 0 {
		return 0, false
	}
	h, l := bits.Mul64(w, c.Shared)
	if h2 != 0 { // both are beyond 64 bits: an even more than exact enough quotient
		shift := 64 - bits.LeadingZeros64(max(h, h2))
		h, l, l2 = 0, h<<(64-shift)|l>>shift, h2<<(64-shift)|l2>>shift
	}
	if h >= l2 {
		return 0, false
	}
	q, r := bits.Div64(h, l, l2)
	if r > 0 {
		q++
	}
	return int(max(q, 2)), q < 1<<31
}

// form makes the ranges and teams that fit has found; ranks that are left over join the team whose members have most.
func form(weights []uint64, n int, b uint64, holders int, sizes []int) ([]Range, []Team) {
	ranges := make([]Range, 0, n)
	var teams []Team
	open, sum := false, uint64(0)
	for p, w := range weights {
		if w > b {
			teams = append(teams, Team{P: trace.P(p), Owner: len(ranges)})
			ranges, open = append(ranges, Range{trace.P(p), trace.P(p) + 1}), false
			continue
		}
		if !open || w > b-sum {
			ranges, open, sum = append(ranges, Range{trace.P(p), trace.P(p)}), true, 0
		}
		ranges[len(ranges)-1].End++
		sum += w
	}
	left := n - holders
	for _, k := range sizes {
		left -= k - 1
	}
	for ; left > 0; left-- {
		most := 0
		for i := range sizes {
			h1, l1 := bits.Mul64(weights[teams[i].P], uint64(sizes[most]))
			h2, l2 := bits.Mul64(weights[teams[most].P], uint64(sizes[i]))
			if h1 > h2 || h1 == h2 && l1 > l2 {
				most = i
			}
		}
		sizes[most]++
	}
	rank, end := holders, trace.P(len(weights))
	for i, k := range sizes {
		for range k - 1 {
			teams[i].Helpers = append(teams[i].Helpers, rank)
			ranges = append(ranges, Range{end, end})
			rank++
		}
	}
	return ranges, teams
}
