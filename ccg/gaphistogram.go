package ccg

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
)

// gapContext is what is around a gap: regions and record kinds, never nodes,
// so that it is the same on all ranks and known while a location is read.
type gapContext struct {
	region     uint32 // around it
	prev, next uint64 // words of the sibling classes
}

func (c gapContext) compare(o gapContext) int {
	return cmp.Or(cmp.Compare(c.region, o.region), cmp.Compare(c.prev, o.prev), cmp.Compare(c.next, o.next))
}

// gapGrid says how finely gaps are told apart. There is one chain of grids, each
// coarser than the one before: a histogram takes the first that keeps its limits.
// What is too much for a part of a run is too much for the run, so the choice
// does not depend on the order of merging.
type gapGrid uint8

const (
	gridSiblings gapGrid = iota // region, previous and next sibling; cells of 1/16 of the bound
	gridNext                    // region, next sibling
	gridRegion                  // region
	gridCoarse                  // region; cells of 1/8 of the bound; four of them, to the whole
	gridFixed    = gridCoarse + 4
)

// of returns the context that a grid leaves of c.
func (g gapGrid) of(c gapContext) gapContext {
	if g >= gridNext {
		c.prev = 0
	}
	if g >= gridRegion {
		c.next = 0
	}
	return c
}

// cellShifts are the widths of a grid's cells, as powers of two, by bit length
// of the value: A(v)/32 to A(v)/16 at the lower end of each octave, or one tick.
// So a cell lies within the bound of its lowest value, and coarser cells consist
// of finer ones.
type cellShifts [65]uint8

func (g gapGrid) shifts(d Deviation) (s cellShifts) {
	coarser := max(0, int(g)-int(gridRegion))
	for n := range s {
		low := uint64(0)
		if n > 0 {
			low = 1 << (n - 1)
		}
		s[n] = uint8(max(0, bits.Len64(d.Bound(low))-5+coarser))
	}
	return s
}

// low returns the lowest value of the cell of v.
func (s *cellShifts) low(v uint64) uint64 {
	n := s[bits.Len64(v)]
	return v >> n << n
}

// high returns the highest value of the cell that begins at low.
func (s *cellShifts) high(low uint64) uint64 {
	return low | (1<<s[bits.Len64(low)] - 1)
}

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
	d      Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext
	cells  keyed[cellAt, gapCell]
	gaps   uint64 // counted, at most maxEvents
	walk   gapWalk

	contextLimit, cellLimit int
}

// NewGapHistogram returns an empty histogram. d must be valid.
func NewGapHistogram(defs *trace.Definitions, d Deviation) *GapHistogram {
	h := &GapHistogram{
		defs: defs, d: d.normal(), number: map[gapContext]uint32{}, contextLimit: maxContexts, cellLimit: maxCells,
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
	defer wrap(&err, "call graph: gaps of location %d", l.p)
	if h.gaps += l.events; l.events > maxEvents || h.gaps > maxEvents {
		return fmt.Errorf("more than %d gaps: %w", uint64(maxEvents), ErrCorrupt)
	}
	in := stream{src: l.gaps}
	if err := h.walk.begin(&l.graph, h.defs, h.grid); err != nil {
		return err
	}
	for first := true; h.grid != gridFixed; first = false {
		switch st, _, _ := h.walk.step(); st {
		case stepEnd:
			return in.finished()
		case stepCut:
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
		if at.key != h.walk.key {
			*at = pair[uint64, uint32]{h.walk.key, h.context(h.walk.context())}
		}
		c := h.cell(at.val, h.shifts.low(v))
		c.count++
		c.sum = c.sum.plus(total{0, v})
		if c.count == 1 && h.limit() {
			h.walk.ask(h.grid)
		}
	}
	return nil
}

// context returns the number of a context.
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
	for h.grid < gridRegion && len(h.keys) > h.contextLimit || h.grid < gridFixed && len(h.cells.list) > h.cellLimit {
		h.coarsen(h.grid + 1)
		changed = true
	}
	return changed
}

// coarsen counts all over again in the cells of a coarser grid.
func (h *GapHistogram) coarsen(g gapGrid) {
	cells, keys := h.cells.list, h.keys
	h.grid, h.shifts = g, g.shifts(h.d)
	h.number, h.keys, h.cells = map[gapContext]uint32{}, nil, keyed[cellAt, gapCell]{}
	if g == gridFixed {
		return
	}
	for _, c := range cells {
		h.count(keys[c.key.context], c)
	}
}

// count adds a cell of a finer grid, or of the same.
func (h *GapHistogram) count(key gapContext, from countedCell) {
	c := h.cell(h.context(h.grid.of(key)), h.shifts.low(from.key.low))
	c.count += from.val.count
	c.sum = c.sum.plus(from.val.sum)
}

// Merge adds the counts of o, of the same bounds.
func (h *GapHistogram) Merge(o *GapHistogram) error {
	if h.d != o.d {
		return fmt.Errorf("call graph: gaps counted for bounds of %s and of %s: %w", h.d, o.d, ErrForeign)
	}
	if h.gaps += o.gaps; h.gaps > maxEvents {
		return fmt.Errorf("call graph: more than %d gaps: %w", uint64(maxEvents), ErrCorrupt)
	}
	if o.grid > h.grid {
		h.coarsen(o.grid)
	}
	if h.grid == gridFixed {
		return nil
	}
	for _, c := range o.cells.list {
		h.count(o.keys[c.key.context], c)
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
	sum   total // of the values
}

type countedCell = pair[cellAt, gapCell]

// cell returns the cell of a context that begins at low. It is valid until the next call.
func (h *GapHistogram) cell(context uint32, low uint64) *gapCell {
	n, _ := h.cells.find((low*factors[0]+uint64(context)*factors[1])>>32, cellAt{low, context})
	return &h.cells.list[n].val
}
