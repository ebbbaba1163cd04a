package cluster

import (
	"math"
)

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
	h := c.height(x, y)
	rowX, rowY := x*(x-1)/2, y*(y-1)/2
	for k := range x {
		c.join(rowX+k, rowY+k)
	}
	at := rowX + 2*x
	for k := x + 1; k < y; k++ {
		c.join(at, rowY+k)
		at += k
	}
	c.lo[rowY+x] = dead[E]()
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

// height is the height of a merge of the slots x and y, x below y.
func (c *condensed[E]) height(x, y int) Height {
	place := y*(y-1)/2 + x
	h := whole(uint64(c.lo[place]))
	if c.mean {
		h.Pairs = c.weight[x] * c.weight[y]
		if c.hi != nil {
			h.Hi = c.hi[place]
		}
	}
	return h
}

// join joins the entry at y to that at x, and takes the one at y out of use.
func (c *condensed[E]) join(x, y int) {
	if c.mean {
		c.sum(x, y)
	} else {
		c.lo[x] = max(c.lo[x], c.lo[y])
	}
	c.lo[y] = dead[E]()
}

// compact moves the living clusters together.
func (c *condensed[E]) compact() {
	var living []int32
	at := 0
	for i, o := range c.owner {
		if o < 0 {
			continue
		}
		at = c.closeUp(at, i, living)
		living = append(living, int32(i))
	}
	c.keep(living)
}

// closeUp moves the entries of slot i with the living slots below it to at on, and returns the place behind them.
func (c *condensed[E]) closeUp(at, i int, living []int32) int {
	row := i * (i - 1) / 2
	for _, k := range living {
		c.lo[at] = c.lo[row+int(k)]
		if c.hi != nil {
			c.hi[at] = c.hi[row+int(k)]
		}
		at++
	}
	return at
}

// keep makes the living slots, whose entries are in place, the only ones.
func (c *condensed[E]) keep(living []int32) {
	for i, k := range living {
		c.owner[i] = c.owner[k]
		c.slot[c.owner[i]] = int32(i)
		if c.mean {
			c.weight[i] = c.weight[k]
			c.inv[i] = 1 / float64(c.weight[i])
		}
	}
	c.owner = c.owner[:len(living)]
	c.alive = len(living)
}
