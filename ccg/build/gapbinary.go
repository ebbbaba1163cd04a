package build

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// sorted returns the cells by context and lowest value.
func (h *GapHistogram) sorted() []countedCell {
	all := slices.Clone(h.cells.List)
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
		return cmp.Or(cmp.Compare(rank[a.Key.context], rank[b.Key.context]), cmp.Compare(a.Key.low, b.Key.low))
	})
	return all
}

// eachContext calls f for each run of cells of one context.
func eachContext(all []countedCell, f func(context uint32, cells []countedCell)) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Key.context == all[0].Key.context {
			n++
		}
		f(all[0].Key.context, all[:n])
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
			q, r := c.Val.sum.Minus(graph.Product(c.Key.low, c.Val.count)).Divide(c.Val.count)
			dst = varint.Append(dst, c.Key.low-last, c.Val.count, q, r)
			last = c.Key.low
		}
	})
	return dst, nil
}

// OpenGapHistogram reads what AppendBinary wrote for the same bounds.
func OpenGapHistogram(defs *trace.Definitions, d graph.Deviation, src []byte) (_ *GapHistogram, err error) {
	defer graph.Wrap(&err, "call graph: counts of gaps")
	h := NewGapHistogram(defs, d)
	r := graph.Read(src)
	if h.grid, err = takeGrid(&r, h.d); err != nil {
		return nil, err
	}
	h.shifts = h.grid.shifts(h.d)
	if err = takeContexts(&r, h.grid, func(c gapContext) { h.takeCells(&r, h.context(c)) }); err != nil {
		return nil, err
	}
	h.limit()
	return h, nil
}

func (h *GapHistogram) takeCells(r *graph.Reader, context uint32) {
	low := uint64(0)
	n := r.Next()
	if n == 0 {
		r.Fail()
	}
	for i := uint64(0); i < n && !r.Failed(); i++ {
		step, count, q, rest := r.Next(), r.Next(), r.Next(), r.Next()
		low += step
		width := h.shifts.high(low) - low
		if low < step || i > 0 && step == 0 || h.shifts.low(low) != low || count == 0 || count > graph.MaxEvents ||
			q > width || rest >= count || q == width && rest > 0 {
			r.Fail()
		}
		if h.gaps += count; r.Failed() || h.gaps > graph.MaxEvents {
			r.Fail()
			return
		}
		c := h.cell(context, low)
		c.count = count
		c.sum = graph.Product(low, count).Plus(graph.Product(q, count)).Plus(graph.Total{Hi: 0, Lo: rest})
	}
}
