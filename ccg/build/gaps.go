package build

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Limits of a histogram: of contexts, before siblings are left out of them, and of cells of 40 bytes, before they are made larger.
const (
	maxContexts = 4096
	maxCells    = 1 << 16
)

// GapHistogram counts gaps by context and in fine cells, for the codebook of a lossy graph. Merging is commutative and associative. Memory,
// in bytes: 60 to 105 for each of at most 2^16 cells, 60 for each context, and what the walk through a location takes.
//
// It stays empty if the bounds need no codebook, as in lossless and time-stamp mode.
type GapHistogram struct {
	defs   *trace.Definitions
	d      graph.Deviation
	grid   gapGrid
	shifts cellShifts
	number map[gapContext]uint32
	keys   []gapContext
	cells  graph.Keyed[cellAt, gapCell]
	gaps   uint64 // counted, at most MaxEvents
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

// Add counts the gaps of l except for the first one, which is always exact.
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

// limit makes the grid coarser until the limits are kept. It returns whether the grid has changed.
func (h *GapHistogram) limit() (changed bool) {
	for h.grid < gridRegion && len(h.keys) > h.contextLimit || h.grid < gridFixed && len(h.cells.List) > h.cellLimit {
		h.coarsen(h.grid + 1)
		changed = true
	}
	return changed
}

// coarsen counts again in the cells of a coarser grid.
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

// count adds a cell of the same grid or a finer one.
func (h *GapHistogram) count(key gapContext, from countedCell) {
	c := h.cell(h.context(h.grid.of(key)), h.shifts.low(from.Key.low))
	c.count += from.Val.count
	c.sum = c.sum.Plus(from.Val.sum)
}

// Merge adds the counts of o, which must be for the same bounds.
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

// cellAt is a context and the lowest value of a cell.
type cellAt struct {
	low     uint64
	context uint32
}

// gapCell counts the gaps of a cell.
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

// gapContext is the surroundings of a gap. It has regions and record kinds but no nodes, so that it is the same on all ranks and known
// while a location is read.
type gapContext struct {
	region     uint32 // region around the gap
	prev, next uint64 // words of the classes of the siblings
}

func (c gapContext) compare(o gapContext) int {
	return cmp.Or(cmp.Compare(c.region, o.region), cmp.Compare(c.prev, o.prev), cmp.Compare(c.next, o.next))
}

// gapGrid says how finely gaps are distinguished. Each grid is coarser than the one before. A histogram uses the first one that keeps its
// limits. What exceeds a limit in a part of a run does so in the whole run, so that the choice does not depend on the order of merging.
type gapGrid uint8

const (
	gridSiblings gapGrid = iota // region, previous and next sibling; cells of 1/16 of the bound
	gridNext                    // region, next sibling
	gridRegion                  // region
	gridCoarse                  // region; cells of 1/8 of the bound; four of them, to the whole
	gridFixed    = gridCoarse + 4
)

// of returns c without the parts that the grid ignores.
func (g gapGrid) of(c gapContext) gapContext {
	if g >= gridNext {
		c.prev = 0
	}
	if g >= gridRegion {
		c.next = 0
	}
	return c
}

// cellShifts has the widths of a grid's cells as powers of two, by bit length of the value. The width is A(v)/32 to A(v)/16 at the lower
// end of each octave, or one tick. So a cell is within the bound of its lowest value, and a coarser cell consists of finer ones.
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

// takeGrid parses what appendGrid appended, for the bounds d.
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

// takeContexts parses the number of contexts and the contexts, which must ascend. It calls rest after each of them.
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

// A class is a word: of calls, and of what is in them, the region; of records the kind.
const (
	wordTail   = 1 << 32
	wordCall   = 2 << 32
	wordRecord = 3 << 32
	maxWord    = 4<<32 - 1
)

// gapWalk walks through a location as a Builder made it, event by event, and returns the context of each gap. It ignores Groups and
// Repeats: the sibling before the first child of a Group is the one before the Group. Memory: the open nodes, and 4 bytes for each node and
// tuple.
type gapWalk struct {
	graph.Walker
	class []uint32 // by node: number of its class
	words []uint64 // by class
	calls []gapCall

	mask   uint64                           // of key: the parts that the grid has
	key    uint64                           // the context of the last step's gap, as keyOf packs it
	recent [4096]graph.Pair[uint64, uint32] // cache of numbers of contexts, by key
}

// gapCall is an open call, or the root: its class, and the class of its last child.
type gapCall struct{ class, last uint32 }

// Numbers of classes that every location has.
const (
	classNone = iota // before the first child
	classTail        // after the last child
)

// maxClasses is above the number of classes of a location. Three numbers fit into a word.
const maxClasses = 1 << 21

// classify numbers the classes of a location's nodes.
func (w *gapWalk) classify(g *graph.Graph, defs *trace.Definitions) error {
	w.words = append(w.words[:0], classNone, wordTail)
	classes, number := make([]uint32, 0, len(g.Shapes)), map[uint64]uint32{} // by tuple
	for t := range g.Shapes {
		h := &g.Shapes[t]
		word := wordCall | uint64(h.Region(defs))
		if h.Class == graph.ClassEvent {
			word = wordRecord | uint64(h.Kind)
		}
		n, ok := number[word]
		if !ok {
			n = uint32(len(w.words))
			number[word] = n
			w.words = append(w.words, word)
		}
		classes = append(classes, n)
	}
	if len(w.words) > maxClasses {
		return fmt.Errorf("%d regions in one location: %w", len(w.words), graph.ErrLimit)
	}
	w.class = append(w.class[:0], 0)
	for id := uint32(1); int(id) <= g.Nodes.Len(); id++ {
		w.class = append(w.class, classes[g.Nodes.Tuple(id)])
	}
	return nil
}

// begin starts at the first event. Contexts are those of a grid.
func (w *gapWalk) begin(g *graph.Graph, defs *trace.Definitions, grid gapGrid) error {
	if err := w.classify(g, defs); err != nil {
		return err
	}
	root := uint32(g.Nodes.Len())
	w.ask(grid)
	w.Start(g, g.Nodes.Off, root)
	w.calls = append(w.calls[:0], gapCall{class: w.class[root]})
	return nil
}

// ask clears the cache and sets the grid of the contexts.
func (w *gapWalk) ask(grid gapGrid) {
	clear(w.recent[:])
	w.mask = ^uint64(0)
	if grid >= gridNext {
		w.mask &^= keyOf(0, maxClasses-1, 0)
	}
	if grid >= gridRegion {
		w.mask &^= keyOf(0, 0, maxClasses-1)
	}
}

// keyOf packs numbers of classes: of the call whose exclusive time the gap is, of the sibling before, and of the node itself or classTail.
func keyOf(parent, before, item uint32) uint64 {
	return uint64(parent)<<42 | uint64(before)<<21 | uint64(item)
}

// context returns the context of the last step's gap.
func (w *gapWalk) context() gapContext {
	return gapContext{uint32(w.words[w.key>>42]), w.words[w.key>>21&(maxClasses-1)], w.words[w.key&(maxClasses-1)]}
}

// recall returns the cache entry for the context of the last step's gap. It is valid if its Key is w.key.
func (w *gapWalk) recall() *graph.Pair[uint64, uint32] {
	return &w.recent[w.key*0x9E3779B97F4A7C15>>52]
}

// step takes the next step and sets the context of the gap before it. Before StepCut and StepEnd there is no gap.
func (w *gapWalk) step() (st graph.Step, id, slot uint32) {
	st, id, slot = w.Next()
	top := &w.calls[len(w.calls)-1]
	switch st {
	case graph.StepOpen, graph.StepEvent:
		item := w.class[id]
		w.key = keyOf(top.class, top.last, item) & w.mask
		top.last = item
		if st == graph.StepOpen {
			w.calls = append(w.calls, gapCall{class: item})
		}
	case graph.StepClose, graph.StepCut:
		w.key = keyOf(top.class, top.last, classTail) & w.mask
		w.calls = w.calls[:len(w.calls)-1]
	}
	return st, id, slot
}

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

// AppendBinary appends the counts: bounds, grid, then contexts in ascending order, each with its cells in ascending order: distance to the
// cell before, count, and the sum of (value - low) as quotient and remainder by the count.
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

// OpenGapHistogram parses what AppendBinary returned for the same bounds.
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
