package cluster

import (
	"math"
	"math/bits"
)

// element is what a distance is stored in.
type element interface{ ~uint32 | ~uint64 }

// narrow tells whether an element has 32 bits.
func narrow[E element]() bool { return uint64(^E(0)) == math.MaxUint32 }

// dead is the value at places of clusters that are no more: above every distance, so that no search finds it.
func dead[E element]() E {
	if narrow[E]() {
		return ^E(0)
	}
	return ^E(0) >> 1
}

// condensed is the distances of n clusters, the lower triangle row by row: the pair i > j is at i(i-1)/2 + j. Slots
// keep the order of the clusters' lowest members; when half of the slots are dead, the living ones move together.
//
// For a mean linkage an entry is the sum of the distances of all pairs of members, exact, with hi for what is above
// 64 bits, where that is needed.
type condensed[E element] struct {
	spec
	lo     []E
	hi     []uint64
	slot   []int32 // of a cluster
	owner  []int32 // cluster of a slot
	weight []uint64
	inv    []float64 // 1/weight, for a first comparison
	alive  int
}

// spec is what a matrix of distances must hold.
type spec struct {
	mean     bool
	measure  measure
	fraction uint8
	wide     bool // sums need more than 63 bits
}

// newCondensed makes the matrix of clusters with the given numbers of members.
func newCondensed[E element](s spec, weights []uint64) *condensed[E] {
	n := len(weights)
	c := &condensed[E]{spec: s, lo: make([]E, n*(n-1)/2), alive: n, weight: weights}
	if s.wide || s.measure == squaresWide {
		c.hi = make([]uint64, len(c.lo))
	}
	c.slot, c.owner = make([]int32, n), make([]int32, n)
	for i := range n {
		c.slot[i], c.owner[i] = int32(i), int32(i)
	}
	return c
}

// add adds the sums of a tile's line to row i, columns from on. Different rows may be added to at once.
func (c *condensed[E]) add(i, from int, lo, hi []uint64) {
	at := i*(i-1)/2 + from
	addSums(c.lo[at:at+len(lo)], c.hi, at, lo, hi, c.measure == squaresWide)
}

// addSums adds sums of a panel to those of the panels before.
func addSums[E element](dst []E, dstHi []uint64, at int, lo, hi []uint64, carry bool) {
	if !carry {
		for k, x := range lo {
			dst[k] += E(x)
		}
		return
	}
	for k, x := range lo {
		s, c := bits.Add64(uint64(dst[k]), x, 0)
		dst[k] = E(s)
		dstHi[at+k] += hi[k] + c
	}
}

// seal turns row i, when all panels are added, into what the linkage works on.
func (c *condensed[E]) seal(i int) {
	at := i * (i - 1) / 2
	var hi []uint64
	if c.hi != nil {
		hi = c.hi[at : at+i]
	}
	sealRow(c.spec, c.lo[at:at+i], hi, c.weight[i], c.weight)
}

// sealRow turns sums over all entries into distances, and for a mean linkage into sums over pairs of members.
func sealRow[E element](s spec, lo []E, hi []uint64, weight uint64, weights []uint64) {
	if s.measure != absolutes {
		f := 2 * uint(s.fraction)
		for k := range lo {
			h := uint64(0)
			if s.measure == squaresWide {
				h, hi[k] = hi[k], 0
			}
			lo[k] = E(rootUp(h<<f|uint64(lo[k])>>(64-f), uint64(lo[k])<<f))
		}
	}
	if !s.mean {
		return
	}
	for k := range lo {
		h, l := bits.Mul64(uint64(lo[k]), weight*weights[k])
		lo[k] = E(l)
		if s.wide {
			hi[k] = h
		}
	}
}

// start is called once, behind the last seal.
func (c *condensed[E]) start() {
	if !c.wide {
		c.hi = nil
	}
	if !c.mean {
		return
	}
	c.inv = make([]float64, len(c.weight))
	for i, w := range c.weight {
		c.inv[i] = 1 / float64(w)
	}
}

// agglomerate merges all clusters: in rounds as long as these merge much, then along the chain.
func (c *condensed[E]) agglomerate(each func(link)) {
	for c.round(each) {
	}
	chain(c.owner, c, each)
}
