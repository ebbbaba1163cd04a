package cluster

import (
	"math"
	"math/bits"
)

// element is what a distance is stored in.
type element interface{ ~uint32 | ~uint64 }

// dead is the value at places of clusters that are no more: above every distance, so that no search finds it.
func dead[E element]() E {
	if ^E(0) == E(math.MaxUint32) {
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

// nearest returns the cluster that is nearest to cluster i; of equally near ones the one of the lowest member.
func (c *condensed[E]) nearest(i int32) int32 {
	at := int(c.slot[i])
	row := at * (at - 1) / 2
	if c.mean {
		return c.nearestMean(at)
	}
	nearest, least := -1, dead[E]()
	for k, d := range c.lo[row : row+at] {
		if d < least {
			least, nearest = d, k
		}
	}
	place := row + 2*at // the pair (at+1, at)
	for k := at + 1; k < len(c.owner); k++ {
		if d := c.lo[place]; d < least {
			least, nearest = d, k
		}
		place += k
	}
	return c.owner[nearest]
}

// nearestMean is nearest for a mean linkage. Floats only tell which clusters cannot be the nearest: they are off by less
// than one part in 10^15.
func (c *condensed[E]) nearestMean(at int) int32 {
	row := at * (at - 1) / 2
	b := best{at: -1, limit: math.Inf(1)}
	for k := range at {
		c.nearer(&b, k, row+k)
	}
	place := row + 2*at
	for k := at + 1; k < len(c.owner); k++ {
		c.nearer(&b, k, place)
		place += k
	}
	return c.owner[b.at]
}

func (c *condensed[E]) nearer(b *best, k, place int) {
	if c.hi != nil {
		b.take(k, c.hi[place], uint64(c.lo[place]), c.weight[k])
	} else if float64(int64(c.lo[place]))*c.inv[k] <= b.limit {
		b.take(k, 0, uint64(c.lo[place]), c.weight[k])
	}
}

// best is the nearest cluster so far, for a mean linkage.
type best struct {
	at     int
	hi, lo uint64
	weight uint64
	limit  float64 // what is further away than this is not nearer
}

// take replaces b by cluster k, if the mean hi:lo / weight is lower. A cluster that is no more has the weight 0.
func (b *best) take(k int, hi, lo, weight uint64) {
	if weight == 0 {
		return
	}
	g := Height{Hi: hi, Lo: lo, Pairs: weight}
	if b.at >= 0 && g.compare(Height{Hi: b.hi, Lo: b.lo, Pairs: b.weight}) >= 0 {
		return
	}
	limit := (float64(float64(hi)*(1<<64)) + float64(lo)) / float64(weight) * (1 + 1e-12)
	*b = best{at: k, hi: hi, lo: lo, weight: weight, limit: limit}
}

// merge makes one cluster, a, of the clusters a and b, a below b.
func (c *condensed[E]) merge(a, b int32) Height {
	x, y := int(c.slot[a]), int(c.slot[b])
	place := y*(y-1)/2 + x
	h := whole(uint64(c.lo[place]))
	if c.mean {
		h.Pairs = c.weight[x] * c.weight[y]
		if c.hi != nil {
			h.Hi = c.hi[place]
		}
	}
	rowX, rowY := x*(x-1)/2, y*(y-1)/2
	for k := range x {
		c.join(rowX+k, rowY+k)
	}
	at := rowX + 2*x
	for k := x + 1; k < y; k++ {
		c.join(at, rowY+k)
		at += k
	}
	c.lo[place] = dead[E]()
	at = y*(y+1)/2 + x
	for k := y + 1; k < len(c.owner); k++ {
		c.join(at, at+y-x)
		at += k
	}
	c.owner[y] = -1
	c.alive--
	if c.mean {
		c.weight[x] += c.weight[y]
		c.inv[x] = 1 / float64(c.weight[x])
		c.weight[y], c.inv[y] = 0, math.Inf(1)
	}
	if c.alive > 1 && 2*c.alive <= len(c.owner) {
		c.compact()
	}
	return h
}

// join puts the entry at y to that at x, and the one at y out of use.
func (c *condensed[E]) join(x, y int) {
	d := c.lo[y]
	switch {
	case !c.mean:
		if d > c.lo[x] {
			c.lo[x] = d
		}
	case c.hi != nil:
		s, carry := bits.Add64(uint64(c.lo[x]), uint64(d), 0)
		c.lo[x] = E(s)
		c.hi[x] += c.hi[y] + carry
	default:
		c.lo[x] += d
	}
	c.lo[y] = dead[E]()
}

// compact moves the living clusters together.
func (c *condensed[E]) compact() {
	var living []int
	for k, o := range c.owner {
		if o >= 0 {
			living = append(living, k)
		}
	}
	at := 0
	for i, x := range living {
		row := x * (x - 1) / 2
		for _, y := range living[:i] {
			c.lo[at] = c.lo[row+y]
			if c.hi != nil {
				c.hi[at] = c.hi[row+y]
			}
			at++
		}
		c.owner[i] = c.owner[x]
		c.slot[c.owner[i]] = int32(i)
		if c.mean {
			c.weight[i], c.inv[i] = c.weight[x], c.inv[x]
		}
	}
	c.owner = c.owner[:len(living)]
}
