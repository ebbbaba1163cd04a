package cluster

import (
	"math"
	"math/bits"
	"slices"
)

// element is what a distance is stored in.
type element interface{ uint32 | uint64 }

// triangle is the distances of n clusters, the lower triangle row by row, the rows shared out over a team: that of the i-th cluster is
// on rank i mod p. Slots keep the order of the clusters' lowest members; the living ones move together. Everything but the distances is
// the same on all ranks.
//
// For a mean linkage an entry is the sum of the distances of all pairs of members, below 2^63.
type triangle[E element] struct {
	*team
	form
	lo     []E
	hi     []uint64 // of squares, until they become distances
	own    []int32  // slots of the rows here, ascending
	at     []int    // place of the row of a slot here, -1 of others
	slot   []int32  // of a cluster
	owner  []int32  // cluster of a slot, -1 if it does not exist any more
	home   []int32  // rank of the row of a slot
	weight []uint64 // members of a slot
	inv    []float64
	alive  int
}

// newTriangle makes the distances, all 0, of clusters with the given numbers of members.
func newTriangle[E element](t *team, f form, weights []uint64) *triangle[E] {
	n := len(weights)
	c := &triangle[E]{
		team: t, form: f, weight: weights, alive: n, at: make([]int, n), slot: make([]int32, n), owner: make([]int32, n), home: make([]int32, n),
		inv: make([]float64, n),
	}
	cells := 0
	for i := range n {
		c.slot[i], c.owner[i], c.home[i], c.at[i], c.inv[i] = int32(i), int32(i), int32(i%t.size), -1, 1/float64(weights[i])
		if i%t.size == t.rank {
			c.own, c.at[i] = append(c.own, int32(i)), cells
			cells += i
		}
	}
	c.lo = make([]E, cells)
	if f.measure == squaresWide {
		c.hi = make([]uint64, cells)
	}
	return c
}

// row is the distances of a slot here to those below it.
func (c *triangle[E]) row(i int32) []E { return c.lo[c.at[i]:][:i] }

// fill adds the sums over a panel to edge own rows, from the first-th on; all is the vectors of all clusters, own of those rows.
func (c *triangle[E]) fill(t *tile, own, all rows, first int) {
	last := min(first+edge, len(c.own))
	to := int(c.own[last-1])
	for b := 0; b < to; b += edge {
		e := min(b+edge, to)
		t.fill(c.measure, own, first, last, all, b, e)
		for k := first; k < last; k++ {
			if slot := int(c.own[k]); slot > b {
				line, at := (k-first)*edge, c.at[slot]
				addSums(c.lo[at+b:at+min(e, slot)], c.hi, at+b, t.lo[line:], t.hi[line:])
			}
		}
	}
}

// addSums adds sums of a panel to those of the panels before; hi is for places from at on.
func addSums[E element](dst []E, hi []uint64, at int, lo, high []uint64) {
	lo = lo[:len(dst)]
	if hi == nil {
		for k, x := range lo {
			dst[k] += E(x)
		}
		return
	}
	for k, x := range lo {
		s, carry := bits.Add64(uint64(dst[k]), x, 0)
		dst[k] = E(s)
		hi[at+k] += high[k] + carry
	}
}

// seal turns sums over all entries of edge own rows into distances, and for a mean linkage into sums over pairs of members.
func (c *triangle[E]) seal(first int) {
	for _, i := range c.own[first:min(first+edge, len(c.own))] {
		row := c.row(i)
		if c.measure != absolutes {
			for k, d := range row {
				high := uint64(0)
				if c.hi != nil {
					high = c.hi[c.at[i]+k]
				}
				row[k] = E(distanceOf(high, uint64(d), c.fraction))
			}
		}
		if c.mean {
			for k, w := range c.weight[:i] {
				row[k] *= E(c.weight[i] * w)
			}
		}
	}
}

// candidate is the nearest cluster to one: its slot, and its entry.
type candidate struct {
	at int32
	d  uint64
}

// nearer tells whether x is nearer than y: by distance, then by slot. An at of -1 is none.
func (c *triangle[E]) nearer(x, y candidate) bool {
	switch {
	case x.at < 0 || y.at < 0:
		return y.at < 0 && x.at >= 0
	case !c.mean:
		return x.d < y.d || x.d == y.d && x.at < y.at
	}
	order := Height{x.d, c.weight[x.at]}.compare(Height{y.d, c.weight[y.at]})
	return order < 0 || order == 0 && x.at < y.at
}

// search returns the nearest to a slot, of all ranks. Collective.
func (c *triangle[E]) search(i int32) (candidate, error) {
	b := candidate{at: -1}
	least, limit := ^E(0), math.Inf(1) // of means: floats only decide which cannot be nearer; they are off by less than one part in 10^15
	offer := func(k int32, d E) {
		x := candidate{k, uint64(d)}
		if c.owner[k] < 0 || !c.nearer(x, b) {
			return
		}
		if b = x; c.mean {
			limit = float64(int64(d)) * c.inv[k] * (1 + 1e-12)
		} else {
			least = d
		}
	}
	if c.at[i] >= 0 {
		for k, d := range c.row(i) {
			if d <= least && (!c.mean || float64(int64(d))*c.inv[k] <= limit) {
				offer(int32(k), d)
			}
		}
	}
	from, _ := slices.BinarySearch(c.own, i+1)
	for _, k := range c.own[from:] {
		if d := c.lo[c.at[k]+int(i)]; d <= least && (!c.mean || float64(int64(d))*c.inv[k] <= limit) {
			offer(k, d)
		}
	}
	if c.size == 1 {
		return b, nil
	}
	one := []candidate{b}
	err := c.tell(told(one, 0), 2, "nearest clusters", func(_ int, x []uint64) bool { return c.take(one, x) })
	return one[0], err
}

// told is the message to other ranks about the nearest to slots, from one on: slot<<32 | at, and the entry.
func told(list []candidate, from int) (words []uint64) {
	for i, x := range list[from:] {
		words = append(words, two(int32(from+i), x.at), x.d)
	}
	return words
}

// take replaces the nearest to a slot by the one that another rank knows, where that is nearer.
func (c *triangle[E]) take(list []candidate, words []uint64) bool {
	i, x := words[0]>>32, candidate{int32(words[0]), words[1]}
	if i >= uint64(len(list)) || x.at < -1 || int(x.at) >= len(c.owner) {
		return false
	}
	if c.nearer(x, list[i]) {
		list[i] = x
	}
	return true
}

// neighbours returns the nearest to each slot, all of which live, of all ranks. Collective.
func (c *triangle[E]) neighbours() ([]candidate, error) {
	list := make([]candidate, len(c.owner))
	if c.mean {
		c.nearestMeans(list)
	} else {
		c.nearest(list)
	}
	if c.size == 1 {
		return list, nil
	}
	share := func(r int) (from, to int) { return len(list) * r / c.size, len(list) * (r + 1) / c.size } // that a rank compares
	parts := make([][]byte, c.size)
	for r := range parts {
		from, to := share(r)
		parts[r] = pack(told(list[:to], from))
	}
	got, err := c.exchange(parts)
	if err != nil {
		return nil, err
	}
	read := func(_ int, x []uint64) bool { return c.take(list, x) }
	if err := c.agree(unpack(got, 2, "nearest clusters", read)); err != nil {
		return nil, err
	}
	from, to := share(c.rank)
	return list, c.tell(told(list[:to], from), 2, "nearest clusters", read)
}

// nearest finds the nearest to each slot in the rows of this rank.
func (c *triangle[E]) nearest(list []candidate) {
	n := len(list)
	near, least := make([]int32, n), make([]E, n)
	for i := range least {
		near[i], least[i] = -1, ^E(0)
	}
	for _, i := range c.own {
		row := c.row(i)
		at, best := near[i], least[i]
		above, nears := least[:len(row)], near[:len(row)]
		for k, d := range row {
			if d < best {
				at, best = int32(k), d
			}
			if d < above[k] {
				above[k], nears[k] = d, i
			}
		}
		near[i], least[i] = at, best
	}
	for i := range list {
		list[i] = candidate{near[i], uint64(least[i])}
	}
}

// nearestMeans is nearest for a mean linkage.
func (c *triangle[E]) nearestMeans(list []candidate) {
	limits := make([]float64, len(list)) // see search
	for i := range list {
		list[i], limits[i] = candidate{at: -1}, math.Inf(1)
	}
	take := func(i int, x candidate, about float64) {
		if c.nearer(x, list[i]) {
			list[i], limits[i] = x, about*(1+1e-12)
		}
	}
	for _, i := range c.own {
		row := c.row(i)
		inv, invs, above := c.inv[i], c.inv[:len(row)], limits[:len(row)]
		mine := limits[i]
		for k, d := range row {
			about := float64(int64(d))
			if about*invs[k] <= mine {
				take(int(i), candidate{int32(k), uint64(d)}, about*invs[k])
				mine = limits[i]
			}
			if about*inv <= above[k] {
				take(k, candidate{i, uint64(d)}, about*inv)
			}
		}
	}
}

// link is a merge of the clusters whose lowest points are a and b, a below b.
type link struct {
	a, b   int32
	height Height
}

// pair is two slots, a below b.
type pair struct{ a, b int32 }

// link is the merge of two slots.
func (c *triangle[E]) link(p pair, d uint64) link {
	h := whole(d)
	if c.mean {
		h.Pairs = c.weight[p.a] * c.weight[p.b]
	}
	return link{c.owner[p.a], c.owner[p.b], h}
}

// fewMerges is the part of the clusters, one in so many, that a round must merge; where fewer do, the chain goes on.
const fewMerges = 100

// agglomerate merges all clusters for a linkage that never brings clusters nearer. Each round merges all pairs that
// are each other's nearest at once: those merges are among the ones of the sequential rule, whatever else merges, and
// their order by (height, lower, higher) is its order. A round goes through the triangle from its first row to its last, and
// nearly all that it touches lies side by side. Rounds that merge little, such as for points on a line with
// growing gaps, give way to the nearest-neighbour chain. Collective.
func (c *triangle[E]) agglomerate(each func(link)) error {
	for c.alive > 1 {
		if err := c.agree(c.ctx.Err()); err != nil {
			return err
		}
		near, err := c.neighbours()
		if err != nil {
			return err
		}
		var pairs []pair
		for b, x := range near {
			if a := x.at; a >= 0 && int(a) < b && int(near[a].at) == b {
				pairs = append(pairs, pair{a, int32(b)})
			}
		}
		if len(pairs)*fewMerges < c.alive {
			return c.chain(each)
		}
		for _, p := range pairs {
			each(c.link(p, near[p.a].d))
		}
		if err := c.merge(pairs, true); err != nil {
			return err
		}
	}
	return nil
}

// chain is the nearest-neighbour chain (Murtagh, A survey of recent advances in hierarchical
// clustering algorithms, Comput. J. 26, 1983). It follows nearest neighbours until two are each other's, and merges
// those. The pairs are in a strict order, so no chain comes back to itself; and as no linkage that uses it brings a
// cluster nearer by a merge, in that order, the merges are those of always merging the least pair of all. Collective.
func (c *triangle[E]) chain(each func(link)) error {
	var stack []int32 // clusters
	for c.alive > 1 {
		if len(stack) == 0 {
			stack = append(stack, c.owner[0])
		}
		top := c.slot[stack[len(stack)-1]]
		x, err := c.search(top)
		if err != nil {
			return err
		}
		if x.at < 0 {
			return errMessage("nearest clusters")
		}
		if n := len(stack); n < 2 || stack[n-2] != c.owner[x.at] {
			stack = append(stack, c.owner[x.at])
			continue
		}
		stack = stack[:len(stack)-2]
		p := pair{min(top, x.at), max(top, x.at)}
		each(c.link(p, x.d))
		if err := c.merge([]pair{p}, 2*c.alive <= len(c.owner)+2); err != nil {
			return err
		}
	}
	return nil
}

// join joins the entries of src to those of dst.
func (c *triangle[E]) join(dst, src []E) {
	src = src[:len(dst)]
	if c.mean {
		for k, d := range src {
			dst[k] += d
		}
		return
	}
	for k, d := range src {
		dst[k] = max(dst[k], d)
	}
}

// merge makes one cluster of each pair; no slot may be in two of them, and they are in the order of b. With compact, the living clusters move
// together. Collective.
//
// The second column of each pair joins the first in all rows. With columns joined, row a lacks two things: what is in row b to the left of
// a, and for columns k of which a second one, l, is after a, what is in row l, column a. Rows change in ways that only pairs of higher b
// see, so that pairs may come in several messages.
func (c *triangle[E]) merge(pairs []pair, compact bool) error {
	c.parallel(len(c.own), func(_, k int) { c.foldColumns(c.own[k], pairs) })
	for len(pairs) > 0 {
		n := c.batch(pairs)
		seconds, err := c.seconds(pairs[:n])
		if err != nil {
			return err
		}
		for _, p := range pairs[:n] {
			c.weight[p.a] += c.weight[p.b]
			c.inv[p.a] = 1 / float64(c.weight[p.a])
			c.owner[p.b] = -1
		}
		c.alive -= n
		c.foldRows(pairs[:n], seconds, compact && n == len(pairs))
		pairs = pairs[n:]
	}
	if compact {
		c.compact()
	}
	return nil
}

// foldColumns joins the second column of each pair to the first, in row i.
func (c *triangle[E]) foldColumns(i int32, pairs []pair) {
	row := c.row(i)
	for _, p := range pairs {
		if p.b >= i {
			return
		}
		if c.mean {
			row[p.a] += row[p.b]
		} else {
			row[p.a] = max(row[p.a], row[p.b])
		}
	}
}

// second is what this rank needs of the second row of a pair: left is the entries below a, where row a is here, and across those for rows
// here between a and b, which are c.own[first:first+len(across)].
type second[E element] struct {
	left, across []E
	first        int
}

// messageBytes is how much of second rows a rank sends, or gets for first rows, at once, where it is not one row.
const messageBytes = 8 << 20

// batch returns how many pairs fit a message.
func (c *triangle[E]) batch(pairs []pair) int {
	if c.size == 1 {
		return len(pairs)
	}
	in, out := make([]int, c.size), make([]int, c.size)
	for n, p := range pairs {
		to, from := c.home[p.a], c.home[p.b]
		in[to], out[from] = in[to]+8*int(p.a), out[from]+8*int(p.b)
		if n > 0 && max(in[to], out[from]) > messageBytes {
			return n
		}
	}
	return len(pairs)
}

// seconds brings the second rows of pairs to the ranks that need them. Collective.
func (c *triangle[E]) seconds(pairs []pair) ([]second[E], error) {
	list := make([]second[E], len(pairs))
	parts, line := make([][]byte, c.size), make([][]E, c.size)
	for i, p := range pairs {
		list[i].first, _ = slices.BinarySearch(c.own, p.a+1)
		switch {
		case c.at[p.b] < 0:
		case c.size == 1:
			list[i].left, list[i].across = c.row(p.b)[:p.a], c.row(p.b)[p.a+1:]
		default:
			row := c.row(p.b)
			for k := p.a + 1; k < p.b; k++ {
				line[c.home[k]] = append(line[c.home[k]], row[k])
			}
			parts[c.home[p.a]] = appendTo(parts[c.home[p.a]], row[:p.a])
			for r := range line {
				parts[r], line[r] = appendTo(parts[r], line[r]), line[r][:0]
			}
		}
	}
	if c.size == 1 {
		return list, nil
	}
	got, err := c.exchange(parts)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(pairs) && err == nil; i++ {
		p, x, b := pairs[i], &list[i], &got[c.home[pairs[i].b]]
		if c.at[p.a] >= 0 {
			x.left = make([]E, p.a)
			*b, err = take(*b, x.left)
		}
		if end, _ := slices.BinarySearch(c.own, p.b); err == nil {
			x.across = make([]E, end-x.first)
			*b, err = take(*b, x.across)
		}
	}
	return list, c.agree(err)
}

// band is the number of rows that foldRows works on at once, so that they stay in the cache.
const band = 64

// foldRows joins the second row of each pair to the first. With compact it moves the entries of living clusters together.
func (c *triangle[E]) foldRows(pairs []pair, seconds []second[E], compact bool) {
	var living []int32
	if compact {
		living = c.living()
	}
	to, below := 0, 0 // place of the next row, and living slots below it
	var places []int  // of the rows of a band
	for from := 0; from < len(c.own); from += band {
		end := min(from+band, len(c.own))
		low, high := c.own[from], c.own[end-1]
		for i, p := range pairs {
			if p.a >= low && p.a <= high && c.at[p.a] >= 0 {
				c.join(c.row(p.a), seconds[i].left)
			}
		}
		places = places[:0]
		for _, i := range c.own[from:end] {
			places = append(places, c.at[i])
		}
		for i, p := range pairs {
			x := &seconds[i]
			if f, e := max(from, x.first), min(end, x.first+len(x.across)); f < e {
				c.joinAcross(places[f-from:e-from], int(p.a), x.across[f-x.first:])
			}
		}
		if !compact {
			continue
		}
		for _, i := range c.own[from:end] {
			if c.owner[i] < 0 {
				continue
			}
			for living[below] < i {
				below++
			}
			at := c.at[i]
			c.at[i] = to
			for _, k := range living[:below] {
				c.lo[to] = c.lo[at+int(k)]
				to++
			}
		}
	}
}

// joinAcross joins entries of the second row of a pair to column a of the rows at places.
func (c *triangle[E]) joinAcross(places []int, a int, src []E) {
	lo, src := c.lo, src[:len(places)]
	if c.mean {
		for k, at := range places {
			lo[at+a] += src[k]
		}
		return
	}
	for k, at := range places {
		lo[at+a] = max(lo[at+a], src[k])
	}
}

// living returns the slots that live, ascending.
func (c *triangle[E]) living() []int32 {
	list := make([]int32, 0, c.alive)
	for i, o := range c.owner {
		if o >= 0 {
			list = append(list, int32(i))
		}
	}
	return list
}

// compact makes the living slots, whose entries are in place, the only ones.
func (c *triangle[E]) compact() {
	living := c.living()
	c.own = c.own[:0]
	for i, k := range living {
		c.owner[i], c.home[i], c.at[i], c.weight[i], c.inv[i] = c.owner[k], c.home[k], c.at[k], c.weight[k], c.inv[k]
		c.slot[c.owner[i]] = int32(i)
		if c.at[i] >= 0 {
			c.own = append(c.own, int32(i))
		}
	}
	n := len(living)
	c.owner, c.home, c.at = c.owner[:n], c.home[:n], c.at[:n]
}
