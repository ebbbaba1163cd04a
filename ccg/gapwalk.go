package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// gapWalk goes through a location as a Builder made it, event by event, and
// tells what stands around each gap. Groups and Repeats are invisible: the
// sibling before the first child of a Group is the one before the Group.
// Memory: the open nodes, 4 bytes per tuple.
type gapWalk struct {
	g     *graph
	class []uint32 // by tuple: number of a node's class
	words []uint64 // by class
	stack []gapLevel

	// of the last step, as numbers of classes
	parent uint32 // the call whose exclusive time its gap is
	prev   uint32 // the sibling before it
	item   uint32 // itself, or the tail
}

// gapLevel is a node in progress.
type gapLevel struct {
	id        uint32
	next, end uint32 // next child in the pool, and the end
	kind      kind
	class     uint32
	frame     int32  // where the Call or Root around the children is in the stack
	prev      uint32 // class of the last child, of a Call or Root
	left      uint64 // iterations after this one, of a Repeat
}

// Numbers of classes that every location has.
const (
	classNone = iota // before the first child
	classTail        // after the last
)

// maxClasses is more than a location has: three of them fit one word.
const maxClasses = 1 << 21

// Classes are words: calls, and what is in them, by region, records by kind.
const (
	wordTail   = 1 << 32
	wordCall   = 2 << 32
	wordRecord = 3 << 32
	maxWord    = 4<<32 - 1
)

// classify numbers the classes of a location's tuples.
func (w *gapWalk) classify(g *graph, defs *trace.Definitions) error {
	w.words = append(w.words[:0], classNone, wordTail)
	w.class = w.class[:0]
	number := map[uint64]uint32{}
	for t := range g.shapes {
		h := &g.shapes[t]
		word := wordCall | uint64(h.region(defs))
		if h.class == classEvent {
			word = wordRecord | uint64(h.kind)
		}
		n, ok := number[word]
		if !ok {
			n = uint32(len(w.words))
			number[word] = n
			w.words = append(w.words, word)
		}
		w.class = append(w.class, n)
	}
	if len(w.words) > maxClasses {
		return fmt.Errorf("%d regions in one location: %w", len(w.words), ErrLimit)
	}
	return nil
}

// init begins at the last node, the root.
func (w *gapWalk) init(g *graph, defs *trace.Definitions) error {
	if err := w.classify(g, defs); err != nil {
		return err
	}
	w.g, w.stack = g, w.stack[:0]
	w.push(uint32(g.nodes.len()), 0)
	return nil
}

// context returns what stands around the gap of the last step.
func (w *gapWalk) context() gapContext {
	return gapContext{uint32(w.words[w.parent]), w.words[w.prev], w.words[w.item]}
}

// key returns the same as one word, not 0, that holds for this location.
func (w *gapWalk) key() uint64 {
	return uint64(w.parent)<<42 | uint64(w.prev)<<21 | uint64(w.item)
}

func (w *gapWalk) push(id uint32, frame int32) {
	s := w.g.nodes
	l := gapLevel{id: id, next: s.off[id], end: s.off[id+1], kind: s.kind(id), class: w.class[s.tuple(id)], frame: frame}
	if l.kind == kindRepeat {
		l.left = s.count(id) - 1
		l.end = l.next + 1
	}
	w.stack = append(w.stack, l)
}

// advance returns what comes next. After stepClose and stepCut the call is off
// the stack; stepCut and stepEnd have no gap.
func (w *gapWalk) advance() step {
	s := w.g.nodes
	for {
		top := &w.stack[len(w.stack)-1]
		if top.next < top.end {
			c := s.pool[top.next]
			top.next++
			k := s.kind(c)
			if k > kindEvent {
				w.push(c, top.frame)
				continue
			}
			frame := &w.stack[top.frame]
			w.parent, w.prev, w.item = top.class, frame.prev, w.class[s.tuple(c)]
			frame.prev = w.item
			if k == kindEvent {
				return stepEvent
			}
			w.push(c, int32(len(w.stack)))
			return stepOpen
		}
		switch top.kind {
		case kindRepeat:
			if top.left > 0 {
				top.left--
				top.next--
				continue
			}
		case kindCall:
			w.parent, w.prev, w.item = top.class, top.prev, classTail
			w.stack = w.stack[:len(w.stack)-1]
			if w.g.shapeOf(top.id).cut {
				return stepCut
			}
			return stepClose
		case kindRoot:
			return stepEnd
		}
		w.stack = w.stack[:len(w.stack)-1]
	}
}
