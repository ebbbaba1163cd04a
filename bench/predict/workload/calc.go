package workload

import (
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Nanosecond is one in picoseconds.
const Nanosecond = 1000

// none marks a call with no computation before it.
const none = -1

// shape is an iteration of processes that make the same calls.
type shape struct {
	root  program.NodeID
	calcs []int32 // the number of the computation before each call of an iteration, or none
	trail int32   // the number of the computation after the last call, or none
}

// iterations computes the vectors of processes that make equal iterations.
type iterations struct {
	count        uint64
	perIteration uint64 // computations
	base, jitter int64  // ns
	shapes       []shape
	of           []uint8 // shape of each process
}

// Fill implements [simnet.Calc].
func (c *iterations) Fill(process uint32, first uint64, dst []int64) error {
	s := &c.shapes[c.of[process]]
	n := uint64(len(s.calcs))
	it, slot := first/n, first%n
	for i := range dst {
		dst[i] = 0
		switch {
		case it > c.count || it == c.count && slot > 0:
			continue
		case slot == 0 && it > 0 && s.trail != none:
			dst[i] = c.time(process, it-1, s.trail)
		case it < c.count && s.calcs[slot] != none:
			dst[i] = c.time(process, it, s.calcs[slot])
		}
		if slot++; slot == n {
			it, slot = it+1, 0
		}
	}
	return nil
}

func (c *iterations) time(process uint32, it uint64, number int32) int64 {
	return Jitter(process, it*c.perIteration+uint64(number), c.base, c.jitter) * Nanosecond
}

// Jitter returns the time of a computation, as the package comment says.
func Jitter(process uint32, number uint64, base, jitter int64) int64 {
	if jitter == 0 {
		return base
	}
	x := uint64(process)*0x9E3779B97F4A7C15 + number*0xBF58476D1CE4E5B9
	x ^= x >> 31
	x *= 0x94D049BB133111EB
	x ^= x >> 29
	return base + int64(x%uint64(2*jitter+1)) - jitter
}
