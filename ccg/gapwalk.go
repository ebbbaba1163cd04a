package ccg

import "github.com/coppice-hpc/coppice/trace"

// gapWalk goes through a location as a Builder made it, event by event, and
// tells what stands around each gap. Groups and Repeats are invisible: the
// sibling before the first child of a Group is the one before the Group.
// Memory: the open nodes, 4 bytes per tuple.
type gapWalk struct {
	g      *graph
	class  []uint32 // by tuple: number of a node's sibling class
	stack  []gapLevel
	parent uint32 // of the last step: the node that has the gap's slot
	prev   uint32 // of the last step: sibling class before it
	item   uint32 // of the last step: its own class
}

// gapLevel is a node under way.
type gapLevel struct {
	id        uint32
	next, end uint32 // next child in the pool, and the end
	kind      kind
	frame     int32  // where the Call or Root around the children is in the stack
	prev      uint32 // class of the last child, of a Call or Root
	left      uint64 // iterations after this one, of a Repeat
}

// Numbers of sibling classes that every location has.
const (
	classNone = iota // before the first child
	classTail        // after the last
	classesBefore
)

// Sibling classes are words: calls by region, records by kind.
const (
	wordTail   = 1 << 32
	wordCall   = 2 << 32
	wordRecord = 3 << 32
	maxWord    = 4<<32 - 1
)

// siblingClasses numbers the classes of a location's tuples: class by tuple, and
// the word of each class.
func siblingClasses(g *graph, defs *trace.Definitions) (class []uint32, words []uint64) {
	words = []uint64{classNone: 0, classTail: wordTail}
	class = make([]uint32, len(g.shapes))
	number := map[uint64]uint32{}
	for t := range g.shapes {
		h := &g.shapes[t]
		var word uint64
		switch h.class {
		case classCall:
			word = wordCall | uint64(h.region(defs))
		case classEvent:
			word = wordRecord | uint64(h.kind)
		default:
			continue
		}
		n, ok := number[word]
		if !ok {
			n = uint32(len(words))
			number[word] = n
			words = append(words, word)
		}
		class[t] = n
	}
	return class, words
}

// slots returns the number of slots that advance tells.
func (w *gapWalk) slots() int { return len(w.g.nodes.pool) + w.g.nodes.len() + 1 }

// init begins at the last node, the root.
func (w *gapWalk) init(g *graph, class []uint32) {
	w.g, w.class, w.stack = g, class, w.stack[:0]
	w.push(uint32(g.nodes.len()), 0)
}

func (w *gapWalk) push(id uint32, frame int32) {
	s := w.g.nodes
	l := gapLevel{id: id, next: s.off[id], end: s.off[id+1], kind: s.kind(id), frame: frame}
	if l.kind == kindRepeat {
		l.left = s.count(id) - 1
		l.end = l.next + 1
	}
	w.stack = append(w.stack, l)
}

// advance returns what comes next and the number of its gap's slot. After stepClose
// and stepCut the call is off the stack; stepCut and stepEnd have no gap.
func (w *gapWalk) advance() (st step, slot int) {
	s := w.g.nodes
	for {
		top := &w.stack[len(w.stack)-1]
		if top.next < top.end {
			c := s.pool[top.next]
			slot = int(top.next) + int(top.id) // a tail lies between two nodes' children
			top.next++
			k := s.kind(c)
			if k > kindEvent {
				w.push(c, top.frame)
				continue
			}
			frame := &w.stack[top.frame]
			w.parent, w.prev, w.item = top.id, frame.prev, w.class[s.tuple(c)]
			frame.prev = w.item
			if k == kindEvent {
				return stepEvent, slot
			}
			w.push(c, int32(len(w.stack)))
			return stepOpen, slot
		}
		switch top.kind {
		case kindRepeat:
			if top.left > 0 {
				top.left--
				top.next--
				continue
			}
		case kindCall:
			w.parent, w.prev, w.item = top.id, top.prev, classTail
			slot = int(top.end) + int(top.id)
			w.stack = w.stack[:len(w.stack)-1]
			if w.g.shapeOf(w.parent).cut {
				return stepCut, slot
			}
			return stepClose, slot
		case kindRoot:
			return stepEnd, 0
		}
		w.stack = w.stack[:len(w.stack)-1]
	}
}
