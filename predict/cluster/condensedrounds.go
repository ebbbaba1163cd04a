package cluster

import (
	"math"
	"math/bits"
	"slices"
)

// A round goes through the triangle from its first row to its last, three times: it finds the nearest neighbour of
// every cluster, joins columns, and joins rows. Nearly all it touches lies side by side, so it takes less time than
// the chain, which reads a column for each row.

// round merges all pairs of clusters that are each other's nearest, see square.agglomerate. It does nothing, and
// returns false, when they are few or none.
func (c *condensed[E]) round(each func(link)) bool {
	near := c.neighbours()
	var pairs []pair // of slots
	for a, b := range near {
		if int(b) > a && int(near[b]) == a {
			pairs = append(pairs, pair{int32(a), b})
		}
	}
	if len(pairs) == 0 || len(pairs)*fewMerges < len(near) {
		return false
	}
	for _, p := range pairs {
		each(link{c.owner[p.a], c.owner[p.b], c.height(int(p.a), int(p.b))})
	}
	slices.SortFunc(pairs, func(p, q pair) int { return int(p.b) - int(q.b) })
	c.foldColumns(pairs)
	for _, p := range pairs {
		c.owner[p.b] = -1
		if c.mean {
			c.weight[p.a] += c.weight[p.b]
		}
	}
	c.foldRows(pairs)
	return true
}

// neighbours returns the nearest slot of each slot, of equally near ones the lowest.
func (c *condensed[E]) neighbours() []int32 {
	n := len(c.owner)
	near := make([]int32, n)
	if c.mean {
		c.neighboursMean(near)
		return near
	}
	least := make([]E, n)
	for i := range least {
		least[i] = dead[E]()
	}
	for i := 1; i < n; i++ {
		row := c.lo[i*(i-1)/2:][:i]
		at, best := 0, row[0]
		above := least[:len(row)]
		for k, d := range row {
			if d < best {
				at, best = k, d
			}
			if d < above[k] {
				above[k], near[k] = d, int32(i)
			}
		}
		near[i], least[i] = int32(at), best
	}
	return near
}

func (c *condensed[E]) neighboursMean(near []int32) {
	list := make([]best, len(near))
	limit := make([]float64, len(near)) // of list, side by side
	for i := range list {
		list[i] = best{at: -1, limit: math.Inf(1)}
		limit[i] = math.Inf(1)
	}
	for i := 1; i < len(list); i++ {
		row := i * (i - 1) / 2
		if c.hi != nil {
			for k := range i {
				c.nearer(&list[i], k, row+k)
				c.nearer(&list[k], i, row+k)
			}
			continue
		}
		mine, inv, invs, limits := limit[i], c.inv[i], c.inv[:i], limit[:i]
		for k, d := range c.lo[row : row+i] {
			about := float64(int64(d))
			if about*invs[k] <= mine {
				list[i].take(k, 0, uint64(d), c.weight[k])
				mine = list[i].limit
			}
			if about*inv <= limits[k] {
				list[k].take(i, 0, uint64(d), c.weight[i])
				limits[k] = list[k].limit
			}
		}
		limit[i] = mine
	}
	for i, b := range list {
		near[i] = int32(b.at)
	}
}

// foldColumns joins the second column of each pair to the first, in the rows behind both. The pairs are ordered by b.
func (c *condensed[E]) foldColumns(pairs []pair) {
	n := 0
	for i := range c.owner {
		row := i * (i - 1) / 2
		for n < len(pairs) && int(pairs[n].b) < i {
			n++
		}
		if c.mean {
			for _, p := range pairs[:n] {
				c.sum(row+int(p.a), row+int(p.b))
			}
			continue
		}
		line := c.lo[row : row+i]
		for _, p := range pairs[:n] {
			line[p.a] = max(line[p.a], line[p.b])
		}
	}
}

// band is the number of rows that foldRows works on at once, so that they stay in the cache.
const band = 64

// foldRows joins the second row of each pair to the first, and moves the living rows and columns together. With
// columns joined, row a lacks two things: what is in row b to the left of a, and for columns k of which a second one,
// l, is behind a, what is in row l, column a.
func (c *condensed[E]) foldRows(pairs []pair) {
	partner := make([]int32, len(c.owner)) // of a first slot, its second; else 0
	for _, p := range pairs {
		partner[p.a] = p.b
	}
	var living []int32
	at := 0
	for from := 0; from < len(c.owner); from += band {
		to := min(from+band, len(c.owner))
		for a := from; a < to; a++ {
			if b := int(partner[a]); b > 0 {
				c.joinRun(a*(a-1)/2, b*(b-1)/2, a)
			}
		}
		for _, p := range pairs {
			c.joinAcross(p, from, to)
		}
		for i := from; i < to; i++ {
			if c.owner[i] < 0 {
				continue
			}
			at = c.closeUp(at, i, living)
			living = append(living, int32(i))
		}
	}
	c.keep(living)
}

// joinRun joins n entries from y on to those from x on.
func (c *condensed[E]) joinRun(x, y, n int) {
	if c.mean {
		for k := range n {
			c.sum(x+k, y+k)
		}
		return
	}
	dst, src := c.lo[x:x+n], c.lo[y:y+n]
	for k, d := range src {
		dst[k] = max(dst[k], d)
	}
}

// joinAcross joins what row b has in the columns [from, to) to column a of these rows, between a and b.
func (c *condensed[E]) joinAcross(p pair, from, to int) {
	a, b := int(p.a), int(p.b)
	from, to = max(from, a+1), min(to, b)
	if from >= to {
		return
	}
	at, row := from*(from-1)/2+a, b*(b-1)/2
	for k := from; k < to; k++ {
		if c.mean {
			c.sum(at, row+k)
		} else {
			c.lo[at] = max(c.lo[at], c.lo[row+k])
		}
		at += k
	}
}

// sum adds the entry at y to that at x.
func (c *condensed[E]) sum(x, y int) {
	if c.hi == nil {
		c.lo[x] += c.lo[y]
		return
	}
	s, carry := bits.Add64(uint64(c.lo[x]), uint64(c.lo[y]), 0)
	c.lo[x] = E(s)
	c.hi[x] += c.hi[y] + carry
}
