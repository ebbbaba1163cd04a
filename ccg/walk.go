package ccg

import "github.com/coppice-hpc/coppice/column"

// step is what a walk meets next.
type step uint8

const (
	stepEnd   step = iota
	stepOpen       // a call begins
	stepClose      // a call ends with a leave
	stepCut        // a call ends without one
	stepEvent      // a record
)

// level is a node in progress in a walk.
type level struct {
	id        uint32
	next, end uint32 // next child in the pool, and the end
	slot      uint32 // gap slot of the next child
	kind      kind
	table     *classTable // nil in column mode
	row, at   int         // its row there, and the position of the next child
}

// walker goes through a location in execution order, with an explicit stack:
// depth costs memory, not stack. With cursors it follows the classes of a lossy
// graph.
type walker struct {
	v       *view
	stack   []level
	repeats []uint64 // iterations left to do, of the Repeats in stack
	cursors []column.Cursor
	gap     uint64               // the gap before the step, if its slot has no column
	numbers func(id, row uint32) // called for each class that is entered, if set
	bad     bool                 // a class column named a row that does not exist
}

func (w *walker) init(v *view) {
	w.v = v
	w.stack, w.repeats, w.bad = w.stack[:0], w.repeats[:0], false
	w.push(v.root)
	if v.rootRow >= 0 && w.cursors != nil {
		w.enter(&w.stack[0], v.rootRow)
	}
}

// push sets the fields of a level one by one, see entryStack.push.
func (w *walker) push(id uint32) {
	s := w.v.nodes
	w.stack = growOne(w.stack)
	l := &w.stack[len(w.stack)-1]
	l.id, l.next, l.end, l.slot, l.kind = id, s.off[id], s.off[id+1], w.v.slot[id], s.kind(id)
	l.table, l.row, l.at = nil, 0, 0
	if l.kind == kindRepeat {
		w.repeats = append(w.repeats, s.count(id))
		l.end = l.next + 1
	}
}

// enter sets the row of a level.
func (w *walker) enter(l *level, row int) {
	l.table = w.v.tables[l.id]
	if row >= l.table.rows {
		row, w.bad = 0, true
	}
	l.row = row
	if w.numbers != nil {
		w.numbers(l.id, uint32(row))
	}
}

// down pushes child id, which is at slot, position at of the top level.
func (w *walker) down(id, slot uint32, at int) {
	top := &w.stack[len(w.stack)-1]
	table, row := top.table, top.row
	w.push(id)
	if w.cursors == nil || w.v.tables == nil || w.v.tables[id] == nil {
		return
	}
	if table != nil {
		row = int(table.kids[row*table.kidsPerRow+at])
	} else {
		row = int(min(w.cursors[w.v.class[slot]].Next(), maxRows))
	}
	w.enter(&w.stack[len(w.stack)-1], row)
}

// next returns what comes next: its node and the slot of the gap before it.
// After stepClose and stepCut the call is off the stack.
func (w *walker) next() (st step, id, slot uint32) {
	s := w.v.nodes
	for {
		top := &w.stack[len(w.stack)-1]
		if top.next < top.end {
			id, slot = s.pool[top.next], top.slot
			at := top.at
			top.next++
			top.slot++
			top.at++
			if top.table != nil {
				w.gap = top.table.gaps[top.row*top.table.gapsPerRow+at]
			}
			switch k := s.kind(id); k {
			case kindEvent:
				return stepEvent, id, slot
			case kindCall:
				w.down(id, slot, at)
				return stepOpen, id, slot
			default:
				w.down(id, slot, at)
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
				if top.table != nil && top.at == top.table.kidsPerRow {
					top.at = 0 // a long one
				}
				continue
			}
			w.repeats = w.repeats[:len(w.repeats)-1]
		case kindCall:
			if t := top.table; t != nil {
				w.gap = t.gaps[(top.row+1)*t.gapsPerRow-1]
			}
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
