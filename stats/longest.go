package stats

import (
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// pieceExecutions is how many executions are compared at once. Memory: 8 bytes each.
const pieceExecutions = 1 << 20

// SumOfLongest returns for each node the sum over k of the length, in ticks, of the longest k-th execution of any process; 0 for the root
// and for nodes with fewer than two executions. counts has, by node, the executions of the process with most, the same on all ranks. each
// calls visit for this rank's executions; SumOfLongest calls it once for each piece of pieceExecutions. Collective. Memory: 8 bytes per
// node and per execution of a piece.
func SumOfLongest(c mpi.Comm, counts []uint64, each func(visit func(*xtf.Ival)) error) ([]uint64, error) {
	return sumOfLongest(c, counts, pieceExecutions, each)
}

func sumOfLongest(c mpi.Comm, counts []uint64, piece uint64, each func(visit func(*xtf.Ival)) error) ([]uint64, error) {
	sums := make([]uint64, len(counts))
	first := make([]uint64, len(counts)+1) // number of the first execution of each node
	for n, k := range counts {
		first[n+1] = first[n]
		if n > 0 && k > 1 {
			first[n+1] += k
		}
	}
	total := first[len(counts)]
	longest := make([]int64, min(total, piece))
	for lo := uint64(0); lo < total; lo += piece {
		hi := min(lo+piece, total)
		part := longest[:hi-lo]
		for i := range part {
			part[i] = ordered(0)
		}
		err := each(func(x *xtf.Ival) {
			if uint64(x.Node) >= uint64(len(counts)) {
				return
			}
			at := first[x.Node] + x.Execution
			if x.Execution < counts[x.Node] && at >= lo && at < hi && first[x.Node] < first[x.Node+1] {
				part[at-lo] = max(part[at-lo], ordered(x.End-x.T))
			}
		})
		if err = c.Agree(err); err != nil {
			return nil, err
		}
		if err := c.AllreduceInt64(part, mpi.Max); err != nil {
			return nil, err
		}
		n := 0
		for i, v := range part {
			for first[n+1] <= lo+uint64(i) {
				n++
			}
			sums[n] += uint64(v) ^ 1<<63
		}
	}
	return sums, nil
}

// ordered maps ticks to signed integers, in the same order.
func ordered(v uint64) int64 { return int64(v ^ 1<<63) }
