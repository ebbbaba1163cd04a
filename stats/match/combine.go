package match

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// combining is a round of collective instances that all ranks reduce together. Instance i of n belongs to rank i size / n. What a
// rank knows goes there by halves of the ranks (mpi.Hops), joined with what others know of the same instance wherever two meet, and
// the whole comes back the same way. So a rank sends 2 ceil(log2 ranks) messages, and at most the n instances in each direction; no
// rank gets more because an instance has many members.
type combining struct {
	m     *matcher
	known []instance // of each instance of the round
	hops  []mpi.Hop
	heard [][][]uint32 // numbers of instances that came in each hop from each of its senders
}

// first returns the first instance of a rank.
func (c *combining) first(rank int) int {
	n, size := uint64(len(c.known)), uint64(c.m.size)
	return int((uint64(rank)*n + size - 1) / size)
}

// combine makes the instances known that this rank has members of, whole. An error is one of the communicator.
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

// gather sends the instances of the other half and joins those of this one.
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

// scatter gives back what came in a hop, and takes what was sent.
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

// each reads a message of instances.
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
