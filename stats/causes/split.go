package causes

import (
	"cmp"
	"math/bits"
	"slices"
)

// splitter divides amounts of ticks into whole parts by the largest remainder: each part is the floor of its exact share, and the ticks
// that are left go to the largest remainders, one each, of equal ones to the first. It reuses its memory.
type splitter struct {
	parts []uint64
	rest  []remainder
}

type remainder struct {
	r uint64
	i int
}

// split divides amount in proportion to weights, whose sum fits in 64 bits. It returns nil if the sum is 0. The parts are valid until the
// next call.
func (s *splitter) split(amount uint64, weights []uint64) []uint64 {
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	if total == 0 {
		return nil
	}
	s.parts, s.rest = slices.Grow(s.parts[:0], len(weights))[:len(weights)], s.rest[:0]
	clear(s.parts)
	left := amount
	for i, w := range weights {
		switch {
		case left == 0: // the other parts are 0
		case w == total:
			s.parts[i], left = amount, 0
		case w > 0:
			q, r := share(amount, w, total)
			left -= q
			s.parts[i] = q
			if r > 0 {
				s.rest = append(s.rest, remainder{r, i})
			}
		}
	}
	if left > 0 {
		largest(s.rest, int(left), mostRounds)
	}
	for _, x := range s.rest[:left] {
		s.parts[x.i]++
	}
	return s.parts
}

// mostRounds is twice the rounds that it takes to halve a billion down to 1.
const mostRounds = 60

// before reports whether a gets a tick before b.
func (a remainder) before(b remainder) bool { return a.r > b.r || a.r == b.r && a.i < b.i }

// largest moves the k >= 1 largest remainders to the front, in any order: C. A. R. Hoare, Algorithm 65: FIND, 1961, with the median of
// three as pivot. After rounds it sorts instead. So it is O(n), and O(n log n) for weights made to defeat it.
func largest(list []remainder, k, rounds int) {
	for ; len(list) > k; rounds-- {
		if rounds == 0 {
			slices.SortFunc(list, func(a, b remainder) int { return cmp.Or(cmp.Compare(b.r, a.r), cmp.Compare(a.i, b.i)) })
			return
		}
		a, p, b := list[0], list[len(list)/2], list[len(list)-1]
		if a.before(p) != a.before(b) {
			p = a
		} else if b.before(p) != b.before(a) {
			p = b
		}
		i, j := 0, len(list)-1
		for i <= j {
			for list[i].before(p) {
				i++
			}
			for p.before(list[j]) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch { // [0, j] come before [i, n), with at most p between them
		case k <= j:
			list = list[:j+1]
		case k >= i:
			list, k = list[i:], k-i
		default:
			return
		}
	}
}

// share returns amount * w / total and its remainder; w is at most total.
func share(amount, w, total uint64) (q, r uint64) {
	hi, lo := bits.Mul64(amount, w)
	return bits.Div64(hi, lo, total)
}
