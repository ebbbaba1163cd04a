package main

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// counts are quantities of one rank in one stage.
type counts struct {
	Stage           string
	Sends, Receives int64 // messages between two ranks
	Loose           int64 // of both, those that depend on what the trace says and on time, see patternOf
	Rounds          int64 // collective calls
	Inside          int64 // messages that this rank sends and receives in them, see collectiveMessages
	Bytes           int64 // sent and received, collectives too
	Written         int64 // bytes of files
	Live            int64 // bytes of heap at the end of the stage
}

// figures are the counts of all ranks.
type figures [][]counts

// figures counts what a rank did.
func (r *recorder) figures(rank, size int) []counts {
	list := make([]counts, len(r.stages))
	for i := range r.stages {
		list[i].Stage, list[i].Live = r.stages[i].name, r.stages[i].live
		for _, x := range r.stages[i].notes {
			list[i].note(x, rank, size)
			if patternOf(list[i].Stage, x) == loose {
				list[i].Loose++
			}
		}
	}
	return list
}

func (c *counts) messages() int64 { return c.Sends + c.Receives + c.Inside }

func (c *counts) note(x mpi.Note, rank, size int) {
	switch {
	case x.Kind == mpi.OpWrite:
		c.Written += x.Sent
		return
	case x.Kind == mpi.OpRecv:
		c.Receives++
	case !x.Kind.Collective():
		c.Sends++
	default:
		c.Rounds++
		c.Inside += int64(collectiveMessages(x, rank, size))
	}
	c.Bytes += x.Sent + x.Received
}

// add adds a later stage.
func (c *counts) add(o *counts) {
	c.Sends, c.Receives = c.Sends+o.Sends, c.Receives+o.Receives
	c.Loose += o.Loose
	c.Rounds, c.Inside = c.Rounds+o.Rounds, c.Inside+o.Inside
	c.Bytes, c.Written = c.Bytes+o.Bytes, c.Written+o.Written
	c.Live = max(c.Live, o.Live)
}

// collectiveMessages is how many messages a rank sends and receives in a collective call: in a binomial tree, or by doubling.
func collectiveMessages(x mpi.Note, rank, size int) int {
	if x.Kind == mpi.OpBcast || x.Kind == mpi.OpGather {
		return treeDegree((rank-x.Peer+size)%size, size)
	}
	return 2 * bits.Len(uint(size-1))
}

// treeDegree is the number of neighbours of a node in a binomial tree with root 0.
func treeDegree(v, size int) int {
	n := 0
	for bit := 1; bit < size; bit *= 2 {
		if v&bit != 0 {
			return n + 1 // its parent
		}
		if v+bit < size {
			n++
		}
	}
	return n
}

// totals adds up the stages that pass, on every rank.
func (f figures) totals(pass func(stage string) bool) []counts {
	list := make([]counts, len(f))
	for r := range f {
		for i := range f[r] {
			if pass(f[r][i].Stage) {
				list[r].add(&f[r][i])
			}
		}
	}
	return list
}

// spread is how a quantity is distributed over the ranks.
type spread struct{ median, max, first int64 } // first: rank 0

func spreadOf(all []counts, what func(*counts) int64) spread {
	v := make([]int64, len(all))
	for i := range all {
		v[i] = what(&all[i])
	}
	s := spread{first: v[0]}
	slices.Sort(v)
	s.median, s.max = v[len(v)/2], v[len(v)-1]
	return s
}
