package ccg

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
)

// gapContext is what stands around a gap: regions and record kinds, never nodes,
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
// lossy graph. Merging is commutative and associative. Memory: 60 to 120 bytes per
// cell, of which there are 2^16 at most, 60 per context, and 32 per context and 4
// per tuple of the location in progress.
//
// It stays empty if the bounds need no codebook: lossless and time-stamp mode.
type GapHistogram struct {
	defs   *trace.Definitions
	d      Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext
	cells  cellTable
	gaps   uint64 // counted, at most maxEvents
	walk   gapWalk
	known  contextTable // of the location in progress

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

// contextTable gives the places of a location the numbers of their contexts:
// open addressing, at most half full.
type contextTable struct {
	slots []contextSlot
	used  int
}

type contextSlot struct {
	key    uint64 // gapWalk.key, 0 if not used
	number uint32
}

func (t *contextTable) reset() {
	if t.used > 0 {
		clear(t.slots)
		t.used = 0
	}
}

// find returns the slot of a key, a new one with key 0 if there is none: the
// caller must then set it. It is valid until the next call.
func (t *contextTable) find(key uint64) *contextSlot {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := key * 0x9E3779B97F4A7C15 >> 40 & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.key == key {
			return s
		}
		if s.key == 0 {
			t.used++
			return s
		}
	}
}

func (t *contextTable) grow() {
	old := t.slots
	t.slots, t.used = make([]contextSlot, max(64, 2*len(old))), 0
	for _, s := range old {
		if s.key != 0 {
			*t.find(s.key) = s
		}
	}
}

// Add counts the gaps of l, but the first, which is always exact.
func (h *GapHistogram) Add(l *Local) error {
	if h.grid == gridFixed {
		return nil
	}
	if err := h.add(l); err != nil {
		return fmt.Errorf("call graph: gaps of location %d: %w", l.p, err)
	}
	return nil
}

func (h *GapHistogram) add(l *Local) error {
	if h.gaps += l.events; l.events > maxEvents || h.gaps > maxEvents {
		return fmt.Errorf("more than %d gaps: %w", uint64(maxEvents), ErrCorrupt)
	}
	in := stream{src: l.gaps}
	h.known.reset()
	if err := h.walk.begin(&l.graph, h.defs); err != nil {
		return err
	}
	for first := true; h.grid != gridFixed; first = false {
		switch st, _ := h.walk.step(); st {
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
		key := h.walk.key()
		known := h.known.find(key)
		if known.key == 0 {
			*known = contextSlot{key, h.context(h.grid.of(h.walk.context()))}
		}
		c := h.cells.find(known.number, h.shifts.low(v))
		c.count++
		var carry uint64
		c.sum.lo, carry = bits.Add64(c.sum.lo, v, 0)
		c.sum.hi += carry
		if c.count == 1 && h.limit() {
			h.known.reset() // contexts have new numbers
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
	for h.grid < gridRegion && len(h.keys) > h.contextLimit || h.grid < gridFixed && h.cells.used > h.cellLimit {
		h.coarsen(h.grid + 1)
		changed = true
	}
	return changed
}

// coarsen counts all over again in the cells of a coarser grid.
func (h *GapHistogram) coarsen(g gapGrid) {
	cells, keys := h.cells.slots, h.keys
	h.grid, h.shifts = g, g.shifts(h.d)
	h.number, h.keys, h.cells = map[gapContext]uint32{}, nil, cellTable{}
	if g == gridFixed {
		return
	}
	for i := range cells {
		if c := &cells[i]; c.count > 0 {
			h.count(keys[c.context], c)
		}
	}
}

// count adds a cell of a finer grid, or of the same.
func (h *GapHistogram) count(key gapContext, from *gapCell) {
	c := h.cells.find(h.context(h.grid.of(key)), h.shifts.low(from.low))
	c.count += from.count
	c.sum = c.sum.plus(from.sum)
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
	for i := range o.cells.slots {
		if c := &o.cells.slots[i]; c.count > 0 {
			h.count(o.keys[c.context], c)
			if h.limit() && h.grid == gridFixed {
				return nil
			}
		}
	}
	return nil
}

// gapCell is a cell of a context.
type gapCell struct {
	low     uint64
	count   uint64 // 0: not used
	sum     total  // of the values
	context uint32
}

// cellTable finds cells: open addressing, at most two thirds full.
type cellTable struct {
	slots []gapCell
	used  int
}

// find returns the cell of a context that begins at low, a new one with count 0
// if there is none: the caller must count in it. It is valid until the next call.
func (t *cellTable) find(context uint32, low uint64) *gapCell {
	if 3*t.used >= 2*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashCell(context, low) & mask; ; i = (i + 1) & mask {
		c := &t.slots[i]
		if c.low == low && c.context == context && c.count > 0 {
			return c
		}
		if c.count == 0 {
			c.low, c.context = low, context
			t.used++
			return c
		}
	}
}

func (t *cellTable) grow() {
	old := t.slots
	t.slots, t.used = make([]gapCell, max(64, 2*len(old))), 0
	for i := range old {
		if c := &old[i]; c.count > 0 {
			*t.find(c.context, c.low) = *c
		}
	}
}

func hashCell(context uint32, low uint64) uint64 {
	hi, lo := bits.Mul64(low^uint64(context)<<40, 0x9E3779B97F4A7C15)
	return hi ^ lo ^ uint64(context)
}
