// Package partition deals out the locations of a trace to workers: contiguous ranges in (process, thread) order, cut by weight.
//
// The weight of the heaviest part is the least that contiguous parts can have. The other cuts are as near to equal shares as that allows. A
// location that is heavier than an equal share limits what more ranks gain. The result depends only on the arguments: every rank computes
// it for itself and gets the same.
//
// Weights are any measure of work (bytes, events). A weight counts at most 2^63 / number of locations, so that sums do not overflow. Time
// is O(P log(sum of weights)). Memory is 8 bytes for each location and 12 for each part, in addition to the result.
package partition

import (
	"sort"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/trace"
)

// Range is the half-open range [First, End) of locations.
type Range struct {
	First, End trace.P
}

// Len returns the number of locations.
func (r Range) Len() int { return int(r.End - r.First) }

// Contains reports whether p belongs to r.
func (r Range) Contains(p trace.P) bool { return r.First <= p && p < r.End }

// Ranges cuts the locations 0..len(weights)-1 into n contiguous ranges that cover them in order. If n is greater than the number of
// locations, the last ranges are empty; no other is. If all weights are zero all locations count alike. It returns nil for n < 1.
func Ranges(weights []uint64, n int) []Range {
	if n < 1 {
		return nil
	}
	out := make([]Range, n)
	parts := min(n, len(weights))
	end := trace.P(len(weights))
	for i := parts; i < n; i++ {
		out[i] = Range{end, end}
	}
	if parts == 0 {
		return out
	}
	s := make(sums, len(weights)+1)
	for i, w := range weights {
		s[i+1] = s[i] + min(w, 1<<63/uint64(len(weights)))
	}
	if s[len(weights)] == 0 {
		for i := range s {
			s[i] = uint64(i)
		}
	}
	cuts := s.cuts(parts, s.bottleneck(parts))
	first := trace.P(0)
	for k := range parts {
		last := end
		if k+1 < parts {
			last = trace.P(cuts[k])
		}
		out[k] = Range{first, last}
		first = last
	}
	return out
}

// sums are prefix sums: the weight of locations [i, j) is s[j] - s[i].
type sums []uint64

func (s sums) between(i, j int) uint64 { return s[j] - s[i] }

// bottleneck returns the smallest b such that parts ranges of weight at most b cover all locations. It is a binary search between the
// largest weight and the sum.
func (s sums) bottleneck(parts int) uint64 {
	low := uint64(0)
	for i := range len(s) - 1 {
		low = max(low, s.between(i, i+1))
	}
	high := s[len(s)-1]
	for low < high {
		mid := low + (high-low)/2
		if s.covers(parts, mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// covers reports whether parts ranges of weight at most b cover all locations. b is at least the largest weight.
func (s sums) covers(parts int, b uint64) bool {
	used, first := 1, 0
	for i := 1; i < len(s); i++ {
		if s.between(first, i) > b {
			if used++; used > parts {
				return false
			}
			first = i - 1
		}
	}
	return true
}

// cuts returns the parts-1 inner borders for bottleneck b. A border is where the ranges on both sides can keep to b and none is empty, as
// near as possible to the equal share.
func (s sums) cuts(parts int, b uint64) []int {
	n := len(s) - 1
	low := make([]int, parts+1) // low[k]: smallest start from which parts-k ranges reach the end
	low[parts] = n
	start := n
	for k := parts - 1; k > 0; k-- {
		for start > 0 && s.between(start-1, low[k+1]) <= b {
			start--
		}
		low[k] = start
	}
	out := make([]int, parts-1)
	prev := 0
	for k := 1; k < parts; k++ {
		lo := max(low[k], prev+1)
		hi := n - (parts - k)
		reach := prev + sort.Search(n-prev, func(i int) bool { return s.between(prev, prev+i+1) > b })
		hi = min(hi, reach)
		share, _ := exact.MulDiv(s[n], uint64(k), uint64(parts))
		prev = s.nearest(lo, hi, share)
		out[k-1] = prev
	}
	return out
}

// nearest returns the position in [lo, hi] whose prefix sum is nearest to target, of two the smaller one.
func (s sums) nearest(lo, hi int, target uint64) int {
	i := lo + sort.Search(hi-lo, func(i int) bool { return s[lo+i] >= target })
	if i > lo && s[i] >= target && s[i]-target >= target-s[i-1] {
		return i - 1
	}
	return i
}
