package build

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// binCost is the cost of a bin, apart from that of its gaps: 8 bits.
const binCost = 8 << logBits

// Choose returns the codebook of the counted gaps. For each context it cuts the cells into legal bins so that
//
//	sum of n_b * log2(N/n_b) + 8 bits + n_b*s_b/T * 32 Kibit for each bin b
//
// is smallest. n_b is the number of gaps of the bin, N that of the context, s_b the distance of the bin's outermost cells, and T the ticks
// of all gaps. The last term keeps apart the few gaps that are a large part of a run, such as the start of MPI: storing these as one value
// would save some bytes and shift everything after them. Of equal cuts it takes those with the lower boundary. A bin is stored as the mean
// of its gaps, so that sums of many gaps keep their value. A bin whose mean is not legal is not used. Means are rounded up or down so that
// the rounding errors of all gaps cancel. Time: O(cells x 128).
func (h *GapHistogram) Choose() *Codebook {
	c := &Codebook{defs: h.defs, d: h.d, grid: h.grid, shifts: h.shifts, number: map[gapContext]uint32{}, first: []uint32{0}}
	all := h.sorted()
	p := binning{tick: tickCost(all)}
	eachContext(all, func(n uint32, cells []countedCell) {
		c.number[h.keys[n]] = uint32(len(c.keys))
		c.keys = append(c.keys, h.keys[n])
		c.bins = p.choose(c.bins, h, cells)
		c.first = append(c.first, uint32(len(c.bins)))
	})
	p.round(c.bins, c.d)
	return c
}

// tickCost returns the cost of one tick of n_b*s_b, in units of 2^-(logBits+64) bits: 2^(15+logBits+64)/T.
func tickCost(cells []countedCell) uint64 {
	var t graph.Total
	for _, c := range cells {
		t = t.Plus(c.Val.sum)
	}
	if t.Hi > 0 {
		t = graph.Total{Hi: 0, Lo: math.MaxUint64}
	}
	cost, _ := bits.Div64(1<<(15+logBits), 0, max(t.Lo, 1<<(16+logBits)))
	return cost
}

// binning is the dynamic program of Choose. Border i is below cell i.
type binning struct {
	tick  uint64        // tickCost
	mean  []uint64      // by cell
	count []uint64      // number of gaps below border i
	sum   []graph.Total // of their values
	cost  []graph.Total // of the best cut of the cells below border i, in units of 2^-logBits bits
	from  []int32       // border at which the last bin of that cut begins
	ends  []int         // borders of the best cut, last first
	means []binMean
}

// binMean is the mean of a bin's gaps: its whole ticks are the bin's stored value, and rest/count is its fraction.
type binMean struct {
	bin         int
	count, rest uint64
}

// round rounds the means of all bins, those of many gaps first. It rounds each one so that the sum of the errors, weighted with the gaps,
// stays as small as possible. Bins of one loop have equal numbers of gaps, so that their errors cancel in each iteration.
func (p *binning) round(bins []gapBin, d graph.Deviation) {
	slices.SortStableFunc(p.means, func(a, b binMean) int { return cmp.Compare(b.count, a.count) })
	excess := int64(0) // of the stored ticks; at most the number of gaps
	for _, m := range p.means {
		b := &bins[m.bin]
		up := gapBin{b.low, b.high, b.stored + 1}
		high, low := excess+int64(m.count-m.rest), excess-int64(m.rest)
		if up.legal(d) && (!b.legal(d) || high < -low) {
			*b, excess = up, high
		} else {
			excess = low
		}
	}
}

func (p *binning) reset(cells []countedCell) {
	p.count = append(p.count[:0], 0)
	p.sum = append(p.sum[:0], graph.Total{})
	p.mean = p.mean[:0]
	for i, c := range cells {
		p.mean = append(p.mean, c.Val.sum.Mean(c.Val.count))
		p.count = append(p.count, p.count[i]+c.Val.count)
		p.sum = append(p.sum, p.sum[i].Plus(c.Val.sum))
	}
	p.cost = append(p.cost[:0], graph.Total{})
	p.from = append(p.from[:0], 0)
}

// spread returns the cost of storing n gaps, of the cells i to end, as one value.
func (p *binning) spread(n uint64, i, end int) uint64 {
	hi, ticks := bits.Mul64(n, p.mean[end]-p.mean[i])
	if hi > 0 {
		return p.tick
	}
	cost, _ := bits.Mul64(ticks, p.tick)
	return cost
}

// choose appends the bins with the least cost for a context.
func (p *binning) choose(dst []gapBin, h *GapHistogram, cells []countedCell) []gapBin {
	p.reset(cells)
	all := log2Fixed(p.count[len(cells)])
	for end := range cells {
		best, from := graph.Total{}, int32(-1)
		high := h.shifts.high(cells[end].Key.low)
		least := high - min(high, h.d.Bound(high)) // the least stored value
		for i := end; i >= 0; i-- {
			low := cells[i].Key.low
			bound := h.d.Bound(low)
			if low < least && least-low > bound {
				break // nor are bins that begin at a lower cell
			}
			n, sum := p.count[end+1]-p.count[i], p.sum[end+1].Minus(p.sum[i])
			if mean := sum.Mean(n); mean < least || mean-low > bound {
				continue
			}
			cost := p.cost[i].Plus(graph.Product(n, all-min(all, log2Fixed(n)))).Plus(graph.Total{Lo: binCost + p.spread(n, i, end)})
			if from < 0 || cost.Compare(best) <= 0 {
				best, from = cost, int32(i)
			}
		}
		p.cost, p.from = append(p.cost, best), append(p.from, from)
	}
	p.ends = p.ends[:0]
	for end := len(cells); end > 0; end = int(p.from[end]) {
		p.ends = append(p.ends, end)
	}
	i := 0
	for _, end := range slices.Backward(p.ends) {
		n := p.count[end] - p.count[i]
		mean, rest := p.sum[end].Minus(p.sum[i]).Divide(n)
		if rest > 0 {
			p.means = append(p.means, binMean{len(dst), n, rest})
		}
		dst = append(dst, gapBin{cells[i].Key.low, h.shifts.high(cells[end-1].Key.low), mean})
		i = end
	}
	return dst
}
