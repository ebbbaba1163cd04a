package build

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// gapWalk goes through a location as a Builder made it, event by event, and tells what is around each gap. Groups and
// Repeats are invisible: the sibling before the first child of a Group is the one before the Group. Memory: the open nodes, 4
// bytes per node and tuple.
type gapWalk struct {
	graph.Walker
	class []uint32 // by node: number of its class
	words []uint64 // by class
	calls []gapCall

	mask   uint64                           // of key: what is asked about
	key    uint64                           // what is around the gap of the last step, see context
	recent [4096]graph.Pair[uint64, uint32] // by key, of contexts met lately: their numbers
}

// gapCall is an open call, or the root: its class, and that of the last child.
type gapCall struct{ class, last uint32 }

// Numbers of classes that every location has.
const (
	classNone = iota // before the first child
	classTail        // after the last
)

// maxClasses is more than a location has: three of them fit one word.
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

// begin goes to the first event. Contexts are those of a grid.
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

// ask forgets the numbers of contexts, and goes on with those of a grid.
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

// keyOf puts numbers of classes together: the call whose exclusive time a gap is, the sibling before it, and itself, or the tail.
func keyOf(parent, before, item uint32) uint64 {
	return uint64(parent)<<42 | uint64(before)<<21 | uint64(item)
}

// context returns what is around the gap of the last step.
func (w *gapWalk) context() gapContext {
	return gapContext{uint32(w.words[w.key>>42]), w.words[w.key>>21&(maxClasses-1)], w.words[w.key&(maxClasses-1)]}
}

// recall returns where the number of what is around the gap of the last step is kept: it is there if the key says so.
func (w *gapWalk) recall() *graph.Pair[uint64, uint32] {
	return &w.recent[w.key*0x9E3779B97F4A7C15>>52]
}

// step is next, and finds what is around the gap; stepCut and stepEnd have none.
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
