package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// sorted returns the cells by context and lowest value.
func (h *GapHistogram) sorted() []countedCell {
	all := slices.Clone(h.cells.list)
	order := make([]uint32, len(h.keys))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return h.keys[a].compare(h.keys[b]) })
	rank := make([]uint32, len(order))
	for i, n := range order {
		rank[n] = uint32(i)
	}
	slices.SortFunc(all, func(a, b countedCell) int {
		return cmp.Or(cmp.Compare(rank[a.key.context], rank[b.key.context]), cmp.Compare(a.key.low, b.key.low))
	})
	return all
}

// eachContext calls f for each run of cells of one context.
func eachContext(all []countedCell, f func(context uint32, cells []countedCell)) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].key.context == all[0].key.context {
			n++
		}
		f(all[0].key.context, all[:n])
		all = all[n:]
	}
}

// AppendBinary appends the counts: bounds, grid, then contexts ascending, each
// with its cells ascending: distance to the cell before, count, and the sum of
// the values' offsets in the cell as quotient and remainder by the count.
func (h *GapHistogram) AppendBinary(dst []byte) ([]byte, error) {
	dst = appendGrid(dst, h.d, h.grid)
	all := h.sorted()
	contexts := 0
	eachContext(all, func(uint32, []countedCell) { contexts++ })
	dst = varint.Append(dst, uint64(contexts))
	eachContext(all, func(n uint32, cells []countedCell) {
		dst = appendContext(dst, h.keys[n])
		dst = varint.Append(dst, uint64(len(cells)))
		last := uint64(0)
		for _, c := range cells {
			q, r := c.val.sum.minus(product(c.key.low, c.val.count)).divide(c.val.count)
			dst = varint.Append(dst, c.key.low-last, c.val.count, q, r)
			last = c.key.low
		}
	})
	return dst, nil
}

func appendGrid(dst []byte, d Deviation, g gapGrid) []byte {
	return append(d.append(append(dst, d.mode())), byte(g))
}

// grid takes what appendGrid appended, for the bounds d.
func (r *reader) grid(d Deviation) (gapGrid, error) {
	mode := r.Byte()
	got := r.deviation(mode == modeLossy)
	g := gapGrid(r.Byte())
	switch {
	case r.Failed() || mode > modeLossy || g > gridFixed:
		return 0, fmt.Errorf("head: %w", ErrCorrupt)
	case got != d.normal():
		return 0, fmt.Errorf("for bounds of %s, not of %s: %w", got, d, ErrForeign)
	case g != gridFixed && (d.TimeStamps || d.Lossless()):
		return 0, fmt.Errorf("no gaps are to be counted for bounds of %s: %w", d, ErrCorrupt)
	}
	return g, nil
}

func appendContext(dst []byte, c gapContext) []byte {
	return varint.Append(dst, uint64(c.region), c.prev, c.next)
}

// contexts takes a number and as many contexts, ascending, which appendContext appended; rest takes what comes after each.
func (r *reader) contexts(g gapGrid, rest func(gapContext)) error {
	n, last := r.Next(), gapContext{}
	if n > 0 && g == gridFixed {
		return fmt.Errorf("contexts without a grid: %w", ErrCorrupt)
	}
	for i := uint64(0); i < n && !r.Failed(); i++ {
		c := gapContext{r.Uint32(), r.Next(), r.Next()}
		if c.prev > maxWord || c.next > maxWord || c != g.of(c) || i > 0 && c.compare(last) <= 0 {
			r.Fail()
		}
		rest(c)
		last = c
	}
	if !r.Done() {
		return fmt.Errorf("contexts: %w", ErrCorrupt)
	}
	return nil
}

// OpenGapHistogram reads what AppendBinary wrote for the same bounds.
func OpenGapHistogram(defs *trace.Definitions, d Deviation, src []byte) (_ *GapHistogram, err error) {
	defer wrap(&err, "call graph: counts of gaps")
	h := NewGapHistogram(defs, d)
	r := reader{varint.Read(src)}
	if h.grid, err = r.grid(h.d); err != nil {
		return nil, err
	}
	h.shifts = h.grid.shifts(h.d)
	if err = r.contexts(h.grid, func(c gapContext) { r.cells(h, h.context(c)) }); err != nil {
		return nil, err
	}
	h.limit()
	return h, nil
}

// cells takes the cells of a context.
func (r *reader) cells(h *GapHistogram, context uint32) {
	low := uint64(0)
	n := r.Next()
	if n == 0 {
		r.Fail()
	}
	for i := uint64(0); i < n && !r.Failed(); i++ {
		step, count, q, rest := r.Next(), r.Next(), r.Next(), r.Next()
		low += step
		width := h.shifts.high(low) - low
		if low < step || i > 0 && step == 0 || h.shifts.low(low) != low || count == 0 || count > maxEvents ||
			q > width || rest >= count || q == width && rest > 0 {
			r.Fail()
		}
		if h.gaps += count; r.Failed() || h.gaps > maxEvents {
			r.Fail()
			return
		}
		c := h.cell(context, low)
		c.count = count
		c.sum = product(low, count).plus(product(q, count)).plus(total{0, rest})
	}
}
