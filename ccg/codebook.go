package ccg

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Codebook says by which value each gap is stored. It is chosen from the gaps of
// all locations of a run, and needed to write their blobs only: these hold the
// stored gaps. It is read-only and safe for concurrent use.
type Codebook struct {
	defs   *trace.Definitions
	d      Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext // ascending
	first  []uint32     // the bins of context n are bins[first[n]:first[n+1]]
	bins   []gapBin     // ascending in each context
}

// gapBin is a range of gaps that are stored as one value. It is legal: the value
// lies within the bound of low and of high, and so within the bound of every
// value between them, since A(v) and v - A(v) do not decrease.
type gapBin struct{ low, high, stored uint64 }

// legal reports whether every gap from low to high may be stored as b.stored.
func (b gapBin) legal(d Deviation) bool {
	return b.low <= b.stored && b.stored <= b.high && b.stored-b.low <= d.Bound(b.low) && b.high-b.stored <= d.Bound(b.high)
}

// Bins returns the number of stored values, over all contexts.
func (c *Codebook) Bins() int { return len(c.bins) }

// Contexts returns the number of contexts.
func (c *Codebook) Contexts() int { return len(c.keys) }

// Choose returns the codebook of the counted gaps. Per context it cuts the cells
// into legal bins so that
//
//	sum of n_b * log2(N/n_b) + 8 bits + n_b*s_b/T * 32 Kibit for each bin b
//
// is smallest: n_b the gaps of bin b, N those of the context, s_b the distance of
// the bin's outermost cells, T the ticks of all gaps. The last term keeps apart
// the few gaps that are a large part of a run, such as the start of MPI: storing
// these as one value would save some bytes and shift all that follows. Of equal
// cuts it takes those with the lower boundary. A bin is stored as the mean of its gaps; only
// bins are legal whose mean is: so sums of many gaps keep their value. Means are
// rounded up or down so that the rounding errors of all gaps cancel. Time: O(cells
// x 128).
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

// binCost is what a bin costs next to its gaps: 8 bits.
const binCost = 8 << logBits

// tickCost returns what a tick of n_b*s_b costs, in units of 2^-(logBits+64)
// bits: 2^(15+logBits+64)/T.
func tickCost(cells []countedCell) uint64 {
	var t total
	for _, c := range cells {
		t = t.plus(c.val.sum)
	}
	if t.hi > 0 {
		t = total{0, math.MaxUint64}
	}
	cost, _ := bits.Div64(1<<(15+logBits), 0, max(t.lo, 1<<(16+logBits)))
	return cost
}

// binning is the dynamic program of Choose, over the borders between cells.
type binning struct {
	tick  uint64   // tickCost
	mean  []uint64 // by cell
	count []uint64 // gaps below border i
	sum   []total  // of their values
	cost  []total  // of the best cut below border i, in units of 2^-logBits bits
	from  []int32  // where its last bin begins
	ends  []int    // of the best cut, last first
	means []binMean
}

// binMean is the mean of a bin's gaps: the whole ticks that the bin has for its
// stored value, and rest/count.
type binMean struct {
	bin         int
	count, rest uint64
}

// round rounds the means of all bins, those of many gaps first, each so that the
// sum of the errors, weighted with the gaps, stays as small as it can. Bins of one
// loop have equal numbers of gaps, so that their errors cancel in each iteration.
func (p *binning) round(bins []gapBin, d Deviation) {
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
	p.sum = append(p.sum[:0], total{})
	p.mean = p.mean[:0]
	for i, c := range cells {
		p.mean = append(p.mean, c.val.sum.mean(c.val.count))
		p.count = append(p.count, p.count[i]+c.val.count)
		p.sum = append(p.sum, p.sum[i].plus(c.val.sum))
	}
	p.cost = append(p.cost[:0], total{})
	p.from = append(p.from[:0], 0)
}

// spread returns what it costs that n gaps from cell i to cell end are stored as
// one value.
func (p *binning) spread(n uint64, i, end int) uint64 {
	hi, ticks := bits.Mul64(n, p.mean[end]-p.mean[i])
	if hi > 0 {
		return p.tick
	}
	cost, _ := bits.Mul64(ticks, p.tick)
	return cost
}

// choose appends the best bins of a context.
func (p *binning) choose(dst []gapBin, h *GapHistogram, cells []countedCell) []gapBin {
	p.reset(cells)
	all := log2Fixed(p.count[len(cells)])
	for end := range cells {
		best, from := total{}, int32(-1)
		high := h.shifts.high(cells[end].key.low)
		least := high - min(high, h.d.Bound(high)) // the least stored value
		for i := end; i >= 0; i-- {
			low := cells[i].key.low
			bound := h.d.Bound(low)
			if low < least && least-low > bound {
				break // so would be all that begin lower
			}
			n, sum := p.count[end+1]-p.count[i], p.sum[end+1].minus(p.sum[i])
			if mean := sum.mean(n); mean < least || mean-low > bound {
				continue
			}
			cost := p.cost[i].plus(product(n, all-min(all, log2Fixed(n)))).plus(total{0, binCost + p.spread(n, i, end)})
			if from < 0 || cost.compare(best) <= 0 {
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
		mean, rest := p.sum[end].minus(p.sum[i]).divide(n)
		if rest > 0 {
			p.means = append(p.means, binMean{len(dst), n, rest})
		}
		dst = append(dst, gapBin{cells[i].key.low, h.shifts.high(cells[end-1].key.low), mean})
		i = end
	}
	return dst
}

// fixed returns the bin of v where nothing was counted: its cell.
func (c *Codebook) fixed(v uint64) gapBin {
	low := c.shifts.low(v)
	high := c.shifts.high(low)
	return gapBin{low, high, low + (high-low)/2}
}

// find returns the bin of v in a context; false if no such gap was counted.
func (c *Codebook) find(context uint32, v uint64) (gapBin, bool) {
	bins := c.bins[c.first[context]:c.first[context+1]]
	lo, hi := 0, len(bins) // the first bin that ends at v or above
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if bins[mid].high < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(bins) || v < bins[lo].low {
		return gapBin{}, false
	}
	return bins[lo], true
}

// AppendBinary appends the codebook: bounds, grid, then contexts ascending, each
// with its bins ascending: lowest value as the distance to the highest of the bin
// before, width, and distance of the stored value to the lowest.
func (c *Codebook) AppendBinary(dst []byte) ([]byte, error) {
	dst = appendGrid(dst, c.d, c.grid)
	dst = varint.Append(dst, uint64(len(c.keys)))
	for n, key := range c.keys {
		dst = appendContext(dst, key)
		bins := c.bins[c.first[n]:c.first[n+1]]
		dst = varint.Append(dst, uint64(len(bins)))
		last := uint64(0)
		for _, b := range bins {
			dst = varint.Append(dst, b.low-last, b.high-b.low, b.stored-b.low)
			last = b.high
		}
	}
	return dst, nil
}

// OpenCodebook reads what AppendBinary wrote for the same bounds. Every bin of
// what it returns is legal.
func OpenCodebook(defs *trace.Definitions, d Deviation, src []byte) (_ *Codebook, err error) {
	defer wrap(&err, "call graph: codebook")
	c := &Codebook{defs: defs, d: d.normal(), number: map[gapContext]uint32{}, first: []uint32{0}}
	r := reader{varint.Read(src)}
	if c.grid, err = r.grid(c.d); err != nil {
		return nil, err
	}
	c.shifts = c.grid.shifts(c.d)
	err = r.contexts(c.grid, func(key gapContext) {
		c.number[key] = uint32(len(c.keys))
		c.keys = append(c.keys, key)
		r.bins(c)
		c.first = append(c.first, uint32(len(c.bins)))
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// bins takes the bins of a context.
func (r *reader) bins(c *Codebook) {
	n := r.Next()
	last := uint64(0)
	for i := uint64(0); i < n && !r.Failed(); i++ {
		step := r.Next()
		low, carry := bits.Add64(last, step, 0)
		high, carry2 := bits.Add64(low, r.Next(), 0)
		stored, carry3 := bits.Add64(low, r.Next(), 0)
		b := gapBin{low, high, stored}
		if carry+carry2+carry3 != 0 || i > 0 && step == 0 || !b.legal(c.d) {
			r.Fail()
			return
		}
		c.bins = append(c.bins, b)
		last = high
	}
}
