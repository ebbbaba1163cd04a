package ccg

// step is what a walk meets next.
type step uint8

const (
	stepEnd   step = iota
	stepOpen       // a call begins
	stepClose      // a call ends with a leave
	stepCut        // a call ends without one
	stepEvent      // a record
)

// level is a node under way in a walk.
type level struct {
	id        uint32
	next, end uint32 // next child in the pool, and the end
	slot      uint32 // gap slot of the next child
	kind      kind
}

// walker goes through a location in execution order, with an explicit stack:
// depth costs memory, not stack.
type walker struct {
	v       *view
	stack   []level
	repeats []uint64 // iterations left to do, of the Repeats in stack
}

func (w *walker) init(v *view) {
	w.v = v
	w.stack, w.repeats = w.stack[:0], w.repeats[:0]
	w.push(v.root)
}

func (w *walker) push(id uint32) {
	s := w.v.nodes
	l := level{id: id, next: s.off[id], end: s.off[id+1], slot: w.v.slot[id], kind: s.kind(id)}
	if l.kind == kindRepeat {
		w.repeats = append(w.repeats, s.count(id))
		l.end = l.next + 1
	}
	w.stack = append(w.stack, l)
}

// next returns what comes next: its node and the slot of the gap before it.
// After stepClose and stepCut the call is off the stack.
func (w *walker) next() (st step, id, slot uint32) {
	s := w.v.nodes
	for {
		top := &w.stack[len(w.stack)-1]
		if top.next < top.end {
			id, slot = s.pool[top.next], top.slot
			top.next++
			top.slot++
			switch k := s.kind(id); k {
			case kindEvent:
				return stepEvent, id, slot
			case kindCall:
				w.push(id)
				return stepOpen, id, slot
			default:
				w.push(id)
			}
			continue
		}
		id, slot = top.id, top.slot
		switch top.kind {
		case kindRepeat:
			left := &w.repeats[len(w.repeats)-1]
			if *left--; *left > 0 {
				top.next--
				top.slot--
				continue
			}
			w.repeats = w.repeats[:len(w.repeats)-1]
		case kindCall:
			w.stack = w.stack[:len(w.stack)-1]
			if w.v.shapeOf(id).cut {
				return stepCut, id, slot
			}
			return stepClose, id, slot
		case kindRoot:
			return stepEnd, id, slot
		}
		w.stack = w.stack[:len(w.stack)-1]
	}
}
