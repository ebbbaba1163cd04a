package main

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/mpi"
)

// append appends the calls that a rank of so many makes in a segment.
func (g *segment) append(b []mpi.Note, rank, size int) []mpi.Note {
	switch g.pattern {
	case collective, output:
		if g.pattern == output && g.root == 0 && rank > 0 {
			return b
		}
		x := mpi.Note{Kind: g.kind, Comm: g.comm, Peer: g.root, Sent: g.sizes[2].of(size), Received: g.sizes[3].of(size)}
		if rank == 0 {
			x.Sent, x.Received = g.sizes[0].of(size), g.sizes[1].of(size)
		}
		if g.pattern == output {
			x.Peer = -1
		}
		return append(b, x)
	case climb:
		return g.appendTree(b, 0, rank, size, g.tag, mpi.OpSend)
	case groups:
		return g.appendGroups(b, rank, size)
	case hops, back:
		return g.appendHops(b, rank, size)
	}
	for _, x := range g.calls {
		x.Peer = (rank + x.Peer + size) % size
		b = append(b, x)
	}
	return b
}

// appendTree appends what a rank does in the tree of n ranks from head on.
func (g *segment) appendTree(b []mpi.Note, head, rank, n, tag int, send mpi.OpKind) []mpi.Note {
	at := rank - head
	for k := range levels(n) {
		bit := 1 << k
		if at&bit != 0 {
			for range g.times {
				b = append(b, mpi.Note{Kind: send, Comm: g.comm, Peer: rank - bit, Tag: tag, Sent: g.edge(k)})
			}
			return b
		}
		if at+bit >= n {
			continue
		}
		for range g.times {
			b = append(b, mpi.Note{Kind: mpi.OpRecv, Comm: g.comm, Peer: rank + bit, Tag: tag, Received: g.edge(k)})
		}
	}
	return b
}

// appendGroups appends the trees of groups of 16, 256, ... ranks: first those in which the rank is not the first.
func (g *segment) appendGroups(b []mpi.Note, rank, size int) []mpi.Note {
	for _, first := range []bool{false, true} {
		for i, per := 0, 1; per < size; i++ {
			per *= 16
			head := rank / per * per
			if n := min(per, size-head); first == (head == rank) && n > 1 {
				b = g.appendTree(b, head, rank, n, tagTiles+i, mpi.OpIsend)
			}
		}
	}
	return b
}

// appendHops appends the exchange by halves.
func (g *segment) appendHops(b []mpi.Note, rank, size int) []mpi.Note {
	all := mpi.Hops(rank, size)
	for i := range all {
		if g.pattern == hops {
			h := &all[i]
			b = append(b, mpi.Note{Kind: mpi.OpIsend, Comm: g.comm, Peer: h.To, Tag: g.tag, Sent: g.hop(h.First, h.End, len(all)-1-i, size)})
			own := mpi.Hops(h.To, size)[i]
			for _, from := range h.From {
				b = append(b, mpi.Note{Kind: mpi.OpRecv, Comm: g.comm, Peer: from, Tag: g.tag, Received: g.hop(own.First, own.End, len(all)-1-i, size)})
			}
			continue
		}
		k := len(all) - 1 - i
		h := &all[k]
		own := mpi.Hops(h.To, size)[k]
		for _, from := range h.From {
			b = append(b, mpi.Note{Kind: mpi.OpIsend, Comm: g.comm, Peer: from, Tag: g.tag, Sent: g.hop(own.First, own.End, i, size)})
		}
		b = append(b, mpi.Note{Kind: mpi.OpRecv, Comm: g.comm, Peer: h.To, Tag: g.tag, Received: g.hop(h.First, h.End, i, size)})
	}
	return b
}

// hop is the bytes that are for ranks first to end-1, at distance 1<<k.
func (g *segment) hop(first, end, k, size int) int64 {
	if g.items == 0 {
		return g.edge(k)
	}
	of := func(rank int) int { return (rank*g.items + size - 1) / size }
	return int64(of(end)-of(first)) * itemBytes
}

// edge is the bytes of a message over a distance of 1<<k. Beyond what was learned a table that doubled from level to level goes on
// to double, others stay.
func (g *segment) edge(k int) int64 {
	if g.tag == tagRows && g.items > 0 {
		return int64(g.items)<<k + 1
	}
	n := len(g.sizes)
	if k < n {
		return g.sizes[k].base
	}
	last := g.sizes[n-1].base
	if before := g.sizes[n-2].base; 2*last > 3*before {
		return last << (k - n + 1)
	}
	return last
}

// exact says whether the bytes of a call of the segment follow from the number of ranks alone.
func (g *segment) exact() bool {
	switch g.pattern {
	case collective:
		if g.kind == mpi.OpBcast {
			return false // tables, whose numbers take as many bytes as they need
		}
		for _, l := range g.sizes {
			if !l.exact {
				return false
			}
		}
		return true
	case hops, back, climb:
		return g.items > 0
	}
	return g.pattern == shift
}

// power says whether n is a power of two.
func power(n int) bool { return bits.OnesCount(uint(n)) == 1 }
