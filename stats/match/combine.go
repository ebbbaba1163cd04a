package match

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// combining is a round of collective instances that all ranks reduce together, like a reduce-scatter by recursive halving (mpi.Hops)
// with the way back. Rank i*size/n owns instance i of n. What a rank knows of an instance goes there in hops, is joined at each hop with
// what others know of it, and the whole comes back the same way. So a rank sends 2 ceil(log2 ranks) messages, and at most n instances
// in each direction; no rank gets more because an instance has many members.
type combining struct {
	m     *matcher
	known []instance // of the round
	hops  []mpi.Hop
	heard [][][]uint32 // by hop and sender: numbers of the instances that came
}

// first returns the first instance that a rank owns.
func (c *combining) first(rank int) int {
	n, size := uint64(len(c.known)), uint64(c.m.size)
	return int((uint64(rank)*n + size - 1) / size)
}

// combine completes those instances in known of which this rank has members. An error is one of the communicator.
func (cs *collectives) combine(known []instance) error {
	c := combining{m: cs.m, known: known, hops: mpi.Hops(cs.m.rank, cs.m.size)}
	for i := range c.hops {
		if err := c.gather(&c.hops[i]); err != nil {
			return err
		}
	}
	for i := c.first(cs.m.rank); i < c.first(cs.m.rank+1); i++ {
		if known[i].members > 0 {
			cs.m.report.Collectives++
		}
	}
	for i := len(c.hops) - 1; i >= 0; i-- {
		if err := c.scatter(&c.hops[i], c.heard[i]); err != nil {
			return err
		}
	}
	return nil
}

// gather sends the instances that the other half of the ranks owns, and joins what comes.
func (c *combining) gather(h *mpi.Hop) error {
	var b []byte
	for i := c.first(h.First); i < c.first(h.End); i++ {
		if c.known[i].members > 0 {
			b = c.known[i].append(b, uint32(i))
		}
	}
	c.m.report.Members.add(b)
	heard := make([][]uint32, 0, len(h.From))
	err := h.Step(c.m.Comm, tagInstances, b, func(from int, b []byte) error {
		var list []uint32
		c.m.fail(c.each(from, b, func(i uint32, x *instance) {
			c.known[i].add(x)
			list = append(list, i)
		}))
		heard = append(heard, list)
		return nil
	})
	c.heard = append(c.heard, heard)
	return err
}

// scatter returns the instances that came in a hop to their senders, now whole, and takes back those that gather sent.
func (c *combining) scatter(h *mpi.Hop, heard [][]uint32) error {
	var sent []*mpi.Request
	for k, list := range heard {
		var b []byte
		for _, i := range list {
			b = c.known[i].append(b, i)
		}
		c.m.report.Members.add(b)
		r, err := c.m.Comm.Isend(b, h.From[k], tagWhole)
		if err != nil {
			return err
		}
		sent = append(sent, r)
	}
	b, _, err := c.m.Comm.Recv(h.To, tagWhole)
	if err != nil {
		return err
	}
	c.m.fail(c.each(h.To, b, func(i uint32, x *instance) { c.known[i] = *x }))
	return c.m.Comm.Wait(sent...)
}

// each calls f for the instances of a message.
func (c *combining) each(from int, b []byte, f func(i uint32, x *instance)) error {
	for len(b) > 0 {
		var x instance
		i, rest, ok := x.take(b)
		if !ok || uint64(i) >= uint64(len(c.known)) {
			return fmt.Errorf("a damaged message from rank %d", from)
		}
		f(i, &x)
		b = rest
	}
	return nil
}

// inbox is what other ranks sent, by rank.
type inbox []mpi.Part

// of returns what a rank sent, nil for nothing.
func (b inbox) of(rank int) *mpi.Part {
	i, ok := slices.BinarySearchFunc(b, rank, func(p mpi.Part, rank int) int { return p.Rank - rank })
	if !ok {
		return nil
	}
	return &b[i]
}
