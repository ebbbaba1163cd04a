package analyze

import (
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
)

// MatchTotals is what matching cost on all ranks, for the log.
type MatchTotals struct {
	Messages, Remote uint64        // pairs, and those whose sides are on different ranks
	Collectives      uint64        // instances
	Pairs, Members   stats.Traffic // of all ranks
	Most             stats.Traffic // of the rank that sent most of each
}

// sumMatch adds up the reports of all ranks; rank 0 has the sums. Collective.
func sumMatch(c mpi.Comm, r *stats.MatchReport) (MatchTotals, error) {
	sums := []int64{
		int64(r.Messages), int64(r.Remote), int64(r.Collectives),
		int64(r.Pairs.Messages), int64(r.Pairs.Bytes), int64(r.Members.Messages), int64(r.Members.Bytes),
	}
	most := []int64{sums[3] + sums[5], sums[4] + sums[6]}
	if err := c.ReduceInt64(sums, mpi.Sum, 0); err != nil {
		return MatchTotals{}, err
	}
	if err := c.ReduceInt64(most, mpi.Max, 0); err != nil {
		return MatchTotals{}, err
	}
	return MatchTotals{
		Messages: uint64(sums[0]), Remote: uint64(sums[1]), Collectives: uint64(sums[2]),
		Pairs: stats.Traffic{Messages: uint64(sums[3]), Bytes: uint64(sums[4])}, Members: stats.Traffic{Messages: uint64(sums[5]), Bytes: uint64(sums[6])},
		Most: stats.Traffic{Messages: uint64(most[0]), Bytes: uint64(most[1])},
	}, nil
}

// RemoteBytes is what the match of one message between two ranks sent, on average.
func (t *MatchTotals) RemoteBytes() float64 {
	return float64(t.Pairs.Bytes) / float64(max(t.Remote, 1))
}
