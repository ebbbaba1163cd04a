package network

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// Steps that are the same for all ranks: with ranks at distances 1, 2, 4, ..., or with each other rank in turn.

func levelSteps(s *Schedule) uint32 { return s.levels }

func peerSteps(s *Schedule) uint32 { return s.size - 1 }

// disseminationStep: Hensgen, Finkel, Manber 1988.
func disseminationStep(s *Schedule, i uint32, _ *Progress) Step {
	return Step{To: int32(s.around(s.rank, 1<<i)), From: int32(s.before(s.rank, 1<<i))}
}

// scanStep: Hillis, Steele 1986.
func scanStep(s *Schedule, i uint32, _ *Progress) Step {
	st := Step{To: Nobody, From: Nobody}
	if d := uint32(1) << i; s.rank+d < s.size {
		st.To, st.Send = int32(s.rank+d), s.bytes
	}
	if d := uint32(1) << i; s.rank >= d {
		st.From, st.Reduce = int32(s.rank-d), s.bytes
	}
	return st
}

func gatherDoublingStep(s *Schedule, i uint32, p *Progress) Step {
	peer := int32(s.rank ^ 1<<i)
	return Step{To: peer, From: peer, Send: addSat(s.bytes, p.Sum)}
}

// gatherBruckStep sends the first parts that the rank has; the last step needs only some of them (Bruck et al. 1997).
func gatherBruckStep(s *Schedule, i uint32, p *Progress) Step {
	d := uint32(1) << i
	return Step{To: int32(s.before(s.rank, d)), From: int32(s.around(s.rank, d)), Send: share(addSat(s.bytes, p.Sum), min(d, s.size-d), d)}
}

func gatherRingStep(s *Schedule, i uint32, p *Progress) Step {
	send := p.Last
	if i == 0 {
		send = s.bytes
	}
	return Step{To: int32(s.around(s.rank, 1)), From: int32(s.before(s.rank, 1)), Send: send}
}

// alltoallBruckStep sends the parts whose distance has bit i set.
func alltoallBruckStep(s *Schedule, i uint32, _ *Progress) Step {
	d := uint32(1) << i
	n := uint64(s.size>>(i+1))<<i + uint64(s.size&(2*d-1)) - min(uint64(s.size&(2*d-1)), uint64(d))
	return Step{To: int32(s.around(s.rank, d)), From: int32(s.before(s.rank, d)), Send: exact.MulSat(s.bytes, n)}
}

func pairwiseStep(s *Schedule, i uint32, _ *Progress) Step {
	if s.surp == 0 {
		peer := int32(s.rank ^ (i + 1))
		return Step{To: peer, From: peer, Send: s.bytes}
	}
	return Step{To: int32(s.around(s.rank, i+1)), From: int32(s.before(s.rank, i+1)), Send: s.bytes}
}

func pairwiseReduceStep(s *Schedule, i uint32, _ *Progress) Step {
	return Step{To: int32(s.around(s.rank, i+1)), From: int32(s.before(s.rank, i+1)), Send: s.bytes, Reduce: s.bytes}
}

// Reduction in a ring: each part travels around and is reduced, then travels around once more (Patarasuk, Yuan 2009).

func ringReduceSteps(s *Schedule) uint32 { return 2 * (s.size - 1) }

func ringReduceStep(s *Schedule, i uint32, _ *Progress) Step {
	st := Step{To: int32(s.around(s.rank, 1)), From: int32(s.before(s.rank, 1))}
	if last := s.size - 1; i < last {
		st.Send, st.Reduce = partAt(s.bytes, s.before(s.rank, i), s.size), partAt(s.bytes, s.before(s.rank, i+1), s.size)
	} else {
		st.Send = partAt(s.bytes, s.before(s.around(s.rank, 1), i-last), s.size)
	}
	return st
}

// Reductions by halving and doubling on a power of two of ranks. Of the first 2*surp ranks, the odd ones give their vector to the previous
// rank and get the result from it. The other ranks are numbered from 0 (Rabenseifner 2004).

// folded returns the number of a rank, how many additional steps it has before and after the main ones, and whether it gives its vector
// away and has no number.
func (s *Schedule) folded() (number, extra uint32, gone bool) {
	v := s.virtual
	if v >= 2*s.surp {
		return v - s.surp, 0, false
	}
	return v / 2, 1, v%2 == 1
}

// numbered returns the rank with a number.
func (s *Schedule) numbered(number uint32) int32 {
	if number < s.surp {
		return s.peer(2 * number)
	}
	return s.peer(number + s.surp)
}

// partner returns the rank that gives its vector to this one, or gets it from this one.
func (s *Schedule) partner() int32 { return s.peer(s.virtual ^ 1) }

// foldIn returns the step before the main ones.
func (s *Schedule) foldIn(b uint64) Step {
	if s.virtual%2 == 1 {
		return Step{To: s.partner(), From: Nobody, Send: b}
	}
	return Step{To: Nobody, From: s.partner(), Reduce: b}
}

// foldOut returns the step after the main ones.
func (s *Schedule) foldOut(b uint64) Step {
	if s.virtual%2 == 1 {
		return Step{To: Nobody, From: s.partner()}
	}
	return Step{To: s.partner(), From: Nobody, Send: b}
}

// halve returns step k of log: the rank with this number keeps the half of its range that contains its number. begin(i) is the begin of
// part i of pow.
func (s *Schedule) halve(number, k uint32, begin func(s *Schedule, i uint32) uint64) Step {
	half := s.pow >> (k + 1)
	low := number &^ (2*half - 1)
	mine, other := low, low+half
	if number&half != 0 {
		mine, other = other, mine
	}
	keep := begin(s, mine+half) - begin(s, mine)
	peer := s.numbered(number ^ half)
	return Step{To: peer, From: peer, Send: begin(s, other+half) - begin(s, other), Reduce: keep}
}

// double returns step k of log, which reverses step log-1-k of halving.
func (s *Schedule) double(number, k uint32, begin func(s *Schedule, i uint32) uint64) Step {
	n := uint32(1) << k
	mine := number &^ (n - 1)
	peer := s.numbered(number ^ n)
	return Step{To: peer, From: peer, Send: begin(s, mine+n) - begin(s, mine)}
}

// vectorPart returns the begin of part i of pow of the vector.
func vectorPart(s *Schedule, i uint32) uint64 { return share(s.bytes, i, s.pow) }

// rankPart returns the begin of the part of the rank with number i in the vector of all ranks' parts.
func rankPart(s *Schedule, i uint32) uint64 {
	return exact.MulSat(s.bytes, uint64(i)+uint64(min(i, s.surp)))
}

// foldedSteps returns the number of steps with main main ones.
func (s *Schedule) foldedSteps(main uint32) uint32 {
	_, extra, gone := s.folded()
	if gone {
		return 2
	}
	return main + 2*extra
}

// foldedStep returns step i of a rank with steps main ones. The step before them transfers in bytes, the step after them out bytes. For a
// main step it returns the rank's number, and in k how many main steps precede.
func (s *Schedule) foldedStep(i, steps uint32, in, out uint64) (st Step, number, k uint32, main bool) {
	number, extra, gone := s.folded()
	switch k = i - extra; {
	case i < extra:
		return s.foldIn(in), 0, 0, false
	case gone || k >= steps:
		return s.foldOut(out), 0, 0, false
	}
	return st, number, k, true
}

func doublingSteps(s *Schedule) uint32 { return s.foldedSteps(s.log) }

func doublingStep(s *Schedule, i uint32, _ *Progress) Step {
	st, number, k, main := s.foldedStep(i, s.log, s.bytes, s.bytes)
	if main {
		peer := s.numbered(number ^ 1<<k)
		return Step{To: peer, From: peer, Send: s.bytes, Reduce: s.bytes}
	}
	return st
}

func rabenseifnerSteps(s *Schedule) uint32 { return s.foldedSteps(2 * s.log) }

func rabenseifnerStep(s *Schedule, i uint32, _ *Progress) Step {
	switch st, number, k, main := s.foldedStep(i, 2*s.log, s.bytes, s.bytes); {
	case !main:
		return st
	case k < s.log:
		return s.halve(number, k, vectorPart)
	default:
		return s.double(number, k-s.log, vectorPart)
	}
}

// halvingStep reduces all ranks' parts. The rank keeps its own part, and that of the rank that folded in.
func halvingStep(s *Schedule, i uint32, _ *Progress) Step {
	st, number, k, main := s.foldedStep(i, s.log, exact.MulSat(s.bytes, uint64(s.size)), s.bytes)
	if main {
		return s.halve(number, k, rankPart)
	}
	return st
}

func reduceGatherSteps(s *Schedule) uint32 {
	switch number, extra, gone := s.folded(); {
	case gone:
		return 1
	case number == 0:
		return extra + 2*s.log
	default:
		return extra + s.log + uint32(bits.TrailingZeros32(number)) + 1
	}
}

// reduceGatherStep halves, then gathers the parts along a binomial tree of numbers, whose root has number 0.
func reduceGatherStep(s *Schedule, i uint32, _ *Progress) Step {
	number, extra, _ := s.folded()
	if i < extra {
		return s.foldIn(s.bytes)
	}
	i -= extra
	if i < s.log {
		return s.halve(number, i, vectorPart)
	}
	n := uint32(1) << (i - s.log)
	if number&n != 0 {
		return Step{To: s.numbered(number - n), From: Nobody, Send: part(s.bytes, number, number+n, s.pow)}
	}
	return Step{To: Nobody, From: s.numbered(number + n)}
}
