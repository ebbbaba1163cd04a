package ccg

import "fmt"

// stepRow is met by a rowWalker only: an instance in class mode is complete, and
// what is around it is in column mode, or nothing.
const stepRow step = stepEvent + 1

// rowLevel is a node in progress in a rowWalker.
type rowLevel struct {
	id, slot   uint32 // slot: where the node is in its parent
	next, end  uint32 // next child in the pool, and the end
	pos        int    // position of the next child
	gaps, kids int    // where the row begins in the walker's lists, in class mode
	left       uint64 // iterations to do after this one, of a Repeat
	table      *classTable
	kind       kind
	closed     bool // the leave was reported
	again      bool // of a long Repeat in class mode: an iteration is complete, which was
	gap        uint64
	kid        uint32
}

// rowWalker goes through a location in execution order, like walker, and finds
// the class of each instance in class mode from the gaps that it is given.
// Memory: the open levels and their rows.
type rowWalker struct {
	v     *view
	row   func(id uint32, gaps []uint64, kids []uint32) (uint32, error) // looks up or makes a row of a shared node
	stack []rowLevel
	gaps  []uint64
	kids  []uint32
	gap   int    // where in gaps the one of the last step belongs
	last  uint32 // the row of the last stepRow
	err   error
}

func (w *rowWalker) init(v *view) {
	w.v = v
	w.stack, w.gaps, w.kids, w.err = w.stack[:0], w.gaps[:0], w.kids[:0], nil
	w.push(v.root, 0)
}

func (w *rowWalker) push(id, slot uint32) {
	s := w.v.nodes
	l := rowLevel{id: id, slot: slot, next: s.off[id], end: s.off[id+1], table: w.v.tables[id], kind: s.kind(id)}
	if l.kind == kindRepeat {
		l.left = s.count(id) - 1
		l.end = l.next + 1
	}
	if t := l.table; t != nil {
		l.gaps, l.kids = len(w.gaps), len(w.kids)
		for range t.gapsPerRow {
			w.gaps = append(w.gaps, 0)
		}
		for range t.kidsPerRow {
			w.kids = append(w.kids, 0)
		}
	}
	w.stack = append(w.stack, l)
}

// put gives the gap of the last step, whose slot has no column.
func (w *rowWalker) put(gap uint64) { w.gaps[w.gap] = gap }

// next returns what comes next: its node and the slot of the gap before it, or
// the slot where the row of stepRow stands. After an error it returns stepEnd.
func (w *rowWalker) next() (st step, id, slot uint32) {
	s := w.v.nodes
	for w.err == nil {
		top := &w.stack[len(w.stack)-1]
		switch {
		case top.next < top.end:
			id, slot = s.pool[top.next], w.v.slot[top.id]+top.next-s.off[top.id]
			w.gap = top.gaps + top.pos
			top.next++
			top.pos++
			k := s.kind(id)
			if k == kindEvent {
				return stepEvent, id, slot
			}
			if w.push(id, slot); k == kindCall {
				return stepOpen, id, slot
			}
		case top.left > 0:
			w.iterate(top)
		case top.kind == kindCall && !top.closed:
			top.closed = true
			id, slot = top.id, w.v.slot[top.id]+s.off[top.id+1]-s.off[top.id]
			if w.v.shapeOf(id).cut {
				return stepCut, id, slot
			}
			if top.table != nil {
				w.gap = top.gaps + top.table.gapsPerRow - 1
			}
			return stepClose, id, slot
		case top.table != nil:
			if id, slot = top.id, top.slot; w.finish(top) {
				return stepRow, id, slot
			}
		case top.kind == kindRoot:
			return stepEnd, top.id, 0
		default:
			w.stack = w.stack[:len(w.stack)-1]
		}
	}
	return stepEnd, 0, 0
}

// iterate begins the next iteration of a Repeat.
func (w *rowWalker) iterate(top *rowLevel) {
	w.alike(top)
	top.left--
	top.next--
	if top.table != nil && top.table.kidsPerRow == 1 {
		top.pos = 0
	}
}

// alike compares the iterations of a Repeat whose row has one entry for all.
func (w *rowWalker) alike(top *rowLevel) {
	if top.kind != kindRepeat || top.table == nil || top.table.kidsPerRow != 1 {
		return
	}
	gap, kid := w.gaps[top.gaps], w.kids[top.kids]
	if top.again && (gap != top.gap || kid != top.kid) {
		w.err = fmt.Errorf("node %d: iterations differ, but share a class: %w", w.v.ids[top.id], ErrForeign)
	}
	top.again, top.gap, top.kid = true, gap, kid
}

// finish ends the top level, which is in class mode; false if its row went into
// the row around it.
func (w *rowWalker) finish(top *rowLevel) bool {
	if w.alike(top); w.err != nil {
		return false
	}
	w.last, w.err = w.row(w.v.ids[top.id], w.gaps[top.gaps:], w.kids[top.kids:])
	w.gaps, w.kids = w.gaps[:top.gaps], w.kids[:top.kids]
	if top.kind == kindRoot {
		top.table = nil // stepEnd comes next
		return w.err == nil
	}
	w.stack = w.stack[:len(w.stack)-1]
	up := &w.stack[len(w.stack)-1]
	if up.table != nil {
		w.kids[up.kids+up.pos-1] = w.last
		return false
	}
	return w.err == nil
}
