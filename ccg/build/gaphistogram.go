package build

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// Limits of a histogram: contexts before siblings are left out, and cells, 40
// bytes each, before cells grow.
const (
	maxContexts = 4096
	maxCells    = 1 << 16
)

// GapHistogram counts gaps by context and in fine cells, for the codebook of a
// lossy graph. Merging is commutative and associative. Memory: 60 to 105 bytes per
// cell, of which there are 2^16 at most, 60 per context, and what the walk through the
// location in progress takes.
//
// It stays empty if the bounds need no codebook: lossless and time-stamp mode.
type GapHistogram struct {
	defs   *trace.Definitions
	d      graph.Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext
	cells  graph.Keyed[cellAt, gapCell]
	gaps   uint64 // counted, at most maxEvents
	walk   gapWalk

	contextLimit, cellLimit int
}

// NewGapHistogram returns an empty histogram. d must be valid.
func NewGapHistogram(defs *trace.Definitions, d graph.Deviation) *GapHistogram {
	h := &GapHistogram{
		defs: defs, d: d.Normal(), number: map[gapContext]uint32{}, contextLimit: maxContexts, cellLimit: maxCells,
	}
	if d.TimeStamps || d.Lossless() {
		h.grid = gridFixed
	}
	h.shifts = h.grid.shifts(h.d)
	return h
}

// Add counts the gaps of l, but the first, which is always exact.
func (h *GapHistogram) Add(l *Local) (err error) {
	if h.grid == gridFixed {
		return nil
	}
	defer graph.Wrap(&err, "call graph: gaps of location %d", l.p)
	if h.gaps += l.events; l.events > graph.MaxEvents || h.gaps > graph.MaxEvents {
		return fmt.Errorf("more than %d gaps: %w", uint64(graph.MaxEvents), graph.ErrCorrupt)
	}
	in := stream{src: l.gaps}
	if err := h.walk.begin(&l.graph, h.defs, h.grid); err != nil {
		return err
	}
	for first := true; h.grid != gridFixed; first = false {
		switch st, _, _ := h.walk.step(); st {
		case graph.StepEnd:
			return in.finished()
		case graph.StepCut:
			continue
		}
		v := in.next()
		if in.bad {
			return errShort
		}
		if first {
			continue
		}
		at := h.walk.recall()
		if at.Key != h.walk.key {
			*at = graph.Pair[uint64, uint32]{Key: h.walk.key, Val: h.context(h.walk.context())}
		}
		c := h.cell(at.Val, h.shifts.low(v))
		c.count++
		c.sum = c.sum.Plus(graph.Total{Hi: 0, Lo: v})
		if c.count == 1 && h.limit() {
			h.walk.ask(h.grid)
		}
	}
	return nil
}

func (h *GapHistogram) context(c gapContext) uint32 {
	n, ok := h.number[c]
	if !ok {
		n = uint32(len(h.keys))
		h.number[c] = n
		h.keys = append(h.keys, c)
	}
	return n
}

// limit goes on to the first grid that keeps the limits, and reports whether
// that is another one.
func (h *GapHistogram) limit() (changed bool) {
	for h.grid < gridRegion && len(h.keys) > h.contextLimit || h.grid < gridFixed && len(h.cells.List) > h.cellLimit {
		h.coarsen(h.grid + 1)
		changed = true
	}
	return changed
}

// coarsen counts all over again in the cells of a coarser grid.
func (h *GapHistogram) coarsen(g gapGrid) {
	cells, keys := h.cells.List, h.keys
	h.grid, h.shifts = g, g.shifts(h.d)
	h.number, h.keys, h.cells = map[gapContext]uint32{}, nil, graph.Keyed[cellAt, gapCell]{}
	if g == gridFixed {
		return
	}
	for _, c := range cells {
		h.count(keys[c.Key.context], c)
	}
}

// count adds a cell of a finer grid, or of the same.
func (h *GapHistogram) count(key gapContext, from countedCell) {
	c := h.cell(h.context(h.grid.of(key)), h.shifts.low(from.Key.low))
	c.count += from.Val.count
	c.sum = c.sum.Plus(from.Val.sum)
}

// Merge adds the counts of o, of the same bounds.
func (h *GapHistogram) Merge(o *GapHistogram) error {
	if h.d != o.d {
		return fmt.Errorf("call graph: gaps counted for bounds of %s and of %s: %w", h.d, o.d, graph.ErrForeign)
	}
	if h.gaps += o.gaps; h.gaps > graph.MaxEvents {
		return fmt.Errorf("call graph: more than %d gaps: %w", uint64(graph.MaxEvents), graph.ErrCorrupt)
	}
	if o.grid > h.grid {
		h.coarsen(o.grid)
	}
	if h.grid == gridFixed {
		return nil
	}
	for _, c := range o.cells.List {
		h.count(o.keys[c.Key.context], c)
		if h.limit() && h.grid == gridFixed {
			return nil
		}
	}
	return nil
}

// cellAt is where a cell of a context begins.
type cellAt struct {
	low     uint64
	context uint32
}

// gapCell counts the values of a cell.
type gapCell struct {
	count uint64
	sum   graph.Total // of the values
}

type countedCell = graph.Pair[cellAt, gapCell]

// cell returns the cell of a context that begins at low. It is valid until the next call.
func (h *GapHistogram) cell(context uint32, low uint64) *gapCell {
	n, _ := h.cells.Find((low*graph.Factors[0]+uint64(context)*graph.Factors[1])>>32, cellAt{low, context})
	return &h.cells.List[n].Val
}
