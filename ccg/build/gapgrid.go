package build

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/varint"
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

func (g gapGrid) shifts(d graph.Deviation) (s cellShifts) {
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

func appendGrid(dst []byte, d graph.Deviation, g gapGrid) []byte {
	return append(d.Append(append(dst, d.Mode())), byte(g))
}

// takeGrid takes what appendGrid appended, for the bounds d.
func takeGrid(r *graph.Reader, d graph.Deviation) (gapGrid, error) {
	mode := r.Byte()
	got := r.Deviation(mode == graph.ModeLossy)
	g := gapGrid(r.Byte())
	switch {
	case r.Failed() || mode > graph.ModeLossy || g > gridFixed:
		return 0, fmt.Errorf("head: %w", graph.ErrCorrupt)
	case got != d.Normal():
		return 0, fmt.Errorf("for bounds of %s, not of %s: %w", got, d, graph.ErrForeign)
	case g != gridFixed && (d.TimeStamps || d.Lossless()):
		return 0, fmt.Errorf("no gaps are to be counted for bounds of %s: %w", d, graph.ErrCorrupt)
	}
	return g, nil
}

func appendContext(dst []byte, c gapContext) []byte {
	return varint.Append(dst, uint64(c.region), c.prev, c.next)
}

// takeContexts takes a number and as many contexts, ascending, which appendContext appended; rest takes what comes after each.
func takeContexts(r *graph.Reader, g gapGrid, rest func(gapContext)) error {
	n, last := r.Next(), gapContext{}
	if n > 0 && g == gridFixed {
		return fmt.Errorf("contexts without a grid: %w", graph.ErrCorrupt)
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
		return fmt.Errorf("contexts: %w", graph.ErrCorrupt)
	}
	return nil
}

// Classes are words: calls, and what is in them, by region, records by kind.
const (
	wordTail   = 1 << 32
	wordCall   = 2 << 32
	wordRecord = 3 << 32
	maxWord    = 4<<32 - 1
)
