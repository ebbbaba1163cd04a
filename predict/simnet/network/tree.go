package network

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// Trees. Ranks are relative to the root. The parent of v is v without its lowest set bit; its children are v + 1, 2, 4, ... below that bit.

// children returns the number of children in the binomial tree. They are at distances 1<<k for k below it.
func (s *Schedule) children() uint32 {
	k := s.levels
	if s.virtual != 0 {
		k = uint32(bits.TrailingZeros32(s.virtual))
	}
	return min(k, uint32(bits.Len32(s.size-1-s.virtual)))
}

// subtree returns the number of ranks in the subtree of the rank at distance 1<<k.
func (s *Schedule) subtree(k uint32) uint32 { return min(1<<k, s.size-s.virtual-1<<k) }

// peer returns the rank of a rank relative to the root.
func (s *Schedule) peer(virtual uint32) int32 {
	r := uint64(virtual) + uint64(s.root)
	if r >= uint64(s.size) {
		r -= uint64(s.size)
	}
	return int32(r)
}

// parent returns the rank of the parent.
func (s *Schedule) parent() int32 { return s.peer(s.virtual & (s.virtual - 1)) }

// child returns the rank at distance 1<<k.
func (s *Schedule) child(k uint32) int32 { return s.peer(s.virtual + 1<<k) }

func treeSteps(s *Schedule) uint32 {
	if s.virtual == 0 {
		return s.children()
	}
	return s.children() + 1
}

// down returns step i of a tree that goes down from the root: receive from the parent (ok is false), or send to the child at distance 1<<k,
// the farthest first.
func (s *Schedule) down(i uint32) (k uint32, ok bool) {
	if s.virtual != 0 {
		if i == 0 {
			return 0, false
		}
		i--
	}
	return s.children() - 1 - i, true
}

func bcastStep(s *Schedule, i uint32, _ *Progress) Step {
	b := max(s.bytes, s.got)
	if k, ok := s.down(i); ok {
		return Step{To: s.child(k), From: Nobody, Send: b}
	}
	return Step{To: Nobody, From: s.parent()}
}

func scatterStep(s *Schedule, i uint32, _ *Progress) Step {
	b := s.bytes
	if s.virtual != 0 {
		b = s.got
	}
	if k, ok := s.down(i); ok {
		return Step{To: s.child(k), From: Nobody, Send: exact.MulSat(b, uint64(s.subtree(k)))}
	}
	return Step{To: Nobody, From: s.parent()}
}

func reduceStep(s *Schedule, i uint32, _ *Progress) Step {
	if i < s.children() {
		return Step{To: Nobody, From: s.child(i), Reduce: s.bytes}
	}
	return Step{To: s.parent(), From: Nobody, Send: s.bytes}
}

// gatherStep sends its own part and what its children have sent.
func gatherStep(s *Schedule, i uint32, p *Progress) Step {
	if i < s.children() {
		return Step{To: Nobody, From: s.child(i)}
	}
	return Step{To: s.parent(), From: Nobody, Send: addSat(s.bytes, p.Sum)}
}

// Linear algorithms: the root communicates with each other rank in turn.

func linearSteps(s *Schedule) uint32 {
	if s.virtual == 0 {
		return s.size - 1
	}
	return 1
}

func linearGatherStep(s *Schedule, i uint32, _ *Progress) Step {
	if s.virtual == 0 {
		return Step{To: Nobody, From: s.peer(i + 1)}
	}
	return Step{To: s.peer(0), From: Nobody, Send: s.bytes}
}

func linearScatterStep(s *Schedule, i uint32, _ *Progress) Step {
	if s.virtual == 0 {
		return Step{To: s.peer(i + 1), From: Nobody, Send: s.bytes}
	}
	return Step{To: Nobody, From: s.peer(0)}
}

func linearBarrierSteps(s *Schedule) uint32 {
	if s.rank == 0 {
		return 2 * (s.size - 1)
	}
	return 2
}

func linearBarrierStep(s *Schedule, i uint32, _ *Progress) Step {
	peer, up := int32(0), i == 1
	if s.rank == 0 {
		peer, up = int32(i%(s.size-1))+1, i < s.size-1
	}
	if up {
		return Step{To: Nobody, From: peer}
	}
	return Step{To: peer, From: Nobody}
}

// A broadcast of a long vector: its parts are scattered along the binomial tree, then gathered by all ranks in a ring (Barnett et al. 1994;
// van de Geijn).

func scatterRingSteps(s *Schedule) uint32 { return treeSteps(s) + s.size - 1 }

func scatterRingStep(s *Schedule, i uint32, _ *Progress) Step {
	b, v, n := max(s.bytes, s.got), s.virtual, s.size
	tree := treeSteps(s)
	if i >= tree {
		j := i - tree
		return Step{To: s.peer(s.around(v, 1)), From: s.peer(s.before(v, 1)), Send: partAt(b, s.before(v, j), n)}
	}
	if k, ok := s.down(i); ok {
		c := v + 1<<k
		return Step{To: s.child(k), From: Nobody, Send: part(b, c, c+s.subtree(k), n)}
	}
	return Step{To: Nobody, From: s.parent()}
}

// around and before return the rank d ranks after and before r, for d up to size.
func (s *Schedule) around(r, d uint32) uint32 {
	if left := s.size - r; d >= left {
		return d - left
	}
	return r + d
}

func (s *Schedule) before(r, d uint32) uint32 {
	if d > r {
		return r + (s.size - d)
	}
	return r - d
}

func partAt(b uint64, i, n uint32) uint64 { return part(b, i, i+1, n) }
