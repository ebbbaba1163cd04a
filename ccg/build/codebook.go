package build

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Codebook says as which value each gap is stored. It is chosen from the gaps of all locations of a run. Only writing their blobs needs it,
// since these have the stored gaps. It is read-only and safe for concurrent use.
type Codebook struct {
	defs   *trace.Definitions
	d      graph.Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext // ascending
	first  []uint32     // the bins of context n are bins[first[n]:first[n+1]]
	bins   []gapBin     // ascending in each context
}

// gapBin is a range of gaps that are stored as one value. It is legal if the value is within the bounds of low and high. Then it is within
// the bound of every value between them, since A(v) and v - A(v) do not decrease.
type gapBin struct{ low, high, stored uint64 }

// legal reports whether every gap from low to high may be stored as b.stored.
func (b gapBin) legal(d graph.Deviation) bool {
	return b.low <= b.stored && b.stored <= b.high && b.stored-b.low <= d.Bound(b.low) && b.high-b.stored <= d.Bound(b.high)
}

// Bins returns the number of stored values, over all contexts.
func (c *Codebook) Bins() int { return len(c.bins) }

// Contexts returns the number of contexts.
func (c *Codebook) Contexts() int { return len(c.keys) }

// fixed returns the bin of v if nothing was counted: its cell.
func (c *Codebook) fixed(v uint64) gapBin {
	low := c.shifts.low(v)
	high := c.shifts.high(low)
	return gapBin{low, high, low + (high-low)/2}
}

// find returns the bin of v in a context. It returns false if no such gap was counted.
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

// AppendBinary appends the codebook: bounds, grid, then contexts in ascending order, each with its bins in ascending order: lowest value
// minus the highest of the bin before, width, and stored value minus the lowest.
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

// OpenCodebook parses what AppendBinary returned for the same bounds. All its bins are legal.
func OpenCodebook(defs *trace.Definitions, d graph.Deviation, src []byte) (_ *Codebook, err error) {
	defer graph.Wrap(&err, "call graph: codebook")
	c := &Codebook{defs: defs, d: d.Normal(), number: map[gapContext]uint32{}, first: []uint32{0}}
	r := graph.Read(src)
	if c.grid, err = takeGrid(&r, c.d); err != nil {
		return nil, err
	}
	c.shifts = c.grid.shifts(c.d)
	err = takeContexts(&r, c.grid, func(key gapContext) {
		c.number[key] = uint32(len(c.keys))
		c.keys = append(c.keys, key)
		c.takeBins(&r)
		c.first = append(c.first, uint32(len(c.bins)))
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// takeBins parses the bins of a context.
func (c *Codebook) takeBins(r *graph.Reader) {
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
