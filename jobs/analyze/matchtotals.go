package analyze

import (
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/match"
)

// MatchTotals is match.Report over all ranks, for the log.
type MatchTotals struct {
	Messages, Remote uint64        // pairs, and those whose sides are on different ranks
	Collectives      uint64        // instances
	Pairs, Members   match.Traffic // sums
	Most             match.Traffic // the most messages, and the most bytes, of a rank
}

// sumMatch adds up the reports of all ranks. Collective.
func sumMatch(c mpi.Comm, r *match.Report) (MatchTotals, error) {
	t := MatchTotals{
		Messages: r.Messages, Remote: r.Remote, Collectives: r.Collectives, Pairs: r.Pairs, Members: r.Members,
		Most: match.Traffic{Messages: r.Pairs.Messages + r.Members.Messages, Bytes: r.Pairs.Bytes + r.Members.Bytes},
	}
	err := jobs.OverRanks(c, mpi.Sum, &t.Messages, &t.Remote, &t.Collectives, &t.Pairs.Messages, &t.Pairs.Bytes, &t.Members.Messages, &t.Members.Bytes)
	if err == nil {
		err = jobs.OverRanks(c, mpi.Max, &t.Most.Messages, &t.Most.Bytes)
	}
	return t, err
}

// RemoteBytes returns how many bytes the match of a message between two ranks sent, on average.
func (t *MatchTotals) RemoteBytes() float64 {
	return float64(t.Pairs.Bytes) / float64(max(t.Remote, 1))
}
