// Package partition deals the locations of a trace out to workers: contiguous
// ranges in (process, thread) order, cut by measured weight.
//
// The largest part is as small as contiguous cutting can make it, and the other
// cuts lie as near to the even share as that allows. The result depends on
// nothing but the arguments: every rank computes it for itself and gets the same.
//
// A location that is heavier than an even share bounds what more ranks gain. Teams gives it several ranks, which share its
// work where the caller can (Cost); they hold no location themselves.
//
// Weights are any measure of work (bytes, events); sums are exact in 128 bits,
// so no weight is too large. Time is O(P log(sum of weights)), memory 16 bytes
// per location and 12 per part besides the result.
package partition

import (
	"math/bits"
	"sort"

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

// Ranges cuts the locations 0..len(weights)-1 into n contiguous ranges that
// cover them in order. With n up to the number of locations no range is empty;
// the ranges beyond that number are empty ones at the end. If all weights are
// zero every location counts alike. It returns nil for n < 1.
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
	s := newSums(weights)
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

// largest returns the weight of the heaviest range, and false if it does not
// fit 64 bits.
func largest(weights []uint64, ranges []Range) (uint64, bool) {
	s := prefixSums(weights)
	var top wide
	for _, r := range ranges {
		if w := s.between(int(r.First), int(r.End)); top.less(w) {
			top = w
		}
	}
	return top.lo, top.hi == 0
}

// wide is an unsigned 128-bit number.
type wide struct{ hi, lo uint64 }

func (a wide) less(b wide) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a wide) add(b wide) wide {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, c)
	return wide{hi, lo}
}

func (a wide) sub(b wide) wide {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, c)
	return wide{hi, lo}
}

func (a wide) half() wide { return wide{a.hi >> 1, a.hi<<63 | a.lo>>1} }

// share returns a*k/n for k < n. The quotient is below a, so it fits.
func (a wide) share(k, n uint64) wide {
	h1, l1 := bits.Mul64(a.hi, k)
	h0, l0 := bits.Mul64(a.lo, k)
	mid, c := bits.Add64(l1, h0, 0)
	top := h1 + c
	q1, r := bits.Div64(top%n, mid, n)
	q0, _ := bits.Div64(r, l0, n)
	return wide{q1, q0}
}

// sums are prefix sums: the weight of locations [i, j) is s[j] - s[i].
type sums []wide

func newSums(weights []uint64) sums {
	s := prefixSums(weights)
	if s[len(weights)] == (wide{}) {
		for i := range s {
			s[i] = wide{0, uint64(i)}
		}
	}
	return s
}

func prefixSums(weights []uint64) sums {
	s := make(sums, len(weights)+1)
	for i, w := range weights {
		s[i+1] = s[i].add(wide{0, w})
	}
	return s
}

func (s sums) between(i, j int) wide { return s[j].sub(s[i]) }

// bottleneck returns the smallest b such that parts ranges of weight at most b
// cover everything: binary search between the largest weight and the sum.
func (s sums) bottleneck(parts int) wide {
	var low wide
	for i := range len(s) - 1 {
		if w := s.between(i, i+1); low.less(w) {
			low = w
		}
	}
	high := s[len(s)-1]
	for low.less(high) {
		mid := low.add(high.sub(low).half())
		if s.covers(parts, mid) {
			high = mid
		} else {
			low = mid.add(wide{0, 1})
		}
	}
	return low
}

// covers reports whether parts ranges of weight at most b cover everything; b
// is not below the largest single weight.
func (s sums) covers(parts int, b wide) bool {
	used, first := 1, 0
	for i := 1; i < len(s); i++ {
		if b.less(s.between(first, i)) {
			if used++; used > parts {
				return false
			}
			first = i - 1
		}
	}
	return true
}

// cuts returns the parts-1 inner borders for bottleneck b. Border k lies where
// the ranges left of it and those right of it can keep to b without an empty
// range, and there nearest to the even share of the first k+1 ranges.
func (s sums) cuts(parts int, b wide) []int {
	n := len(s) - 1
	low := make([]int, parts) // low[k]: smallest start from which parts-k ranges reach the end
	start := n
	for k := parts - 1; k > 0; k-- {
		for start > 0 && !b.less(s.between(start-1, low0(low, k, n))) {
			start--
		}
		low[k] = start
	}
	out := make([]int, parts-1)
	prev := 0
	for k := 1; k < parts; k++ {
		lo := max(low[k], prev+1)
		hi := n - (parts - k)
		reach := prev + sort.Search(n-prev, func(i int) bool { return b.less(s.between(prev, prev+i+1)) })
		hi = min(hi, reach)
		prev = s.nearest(lo, hi, s[n].share(uint64(k), uint64(parts)))
		out[k-1] = prev
	}
	return out
}

// low0 is the end of the range that starts at low[k].
func low0(low []int, k, n int) int {
	if k+1 < len(low) {
		return low[k+1]
	}
	return n
}

// nearest returns the position in [lo, hi] whose prefix sum is nearest to
// target, the smaller one if two are.
func (s sums) nearest(lo, hi int, target wide) int {
	i := lo + sort.Search(hi-lo, func(i int) bool { return !s[lo+i].less(target) })
	if i > lo && !s[i].less(target) && !s[i].sub(target).less(target.sub(s[i-1])) {
		return i - 1
	}
	return i
}
