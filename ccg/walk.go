package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/column"
)

// step is what a walk meets next.
type step uint8

const (
	stepEnd   step = iota
	stepOpen       // a call begins
	stepClose      // a call ends with a leave
	stepCut        // a call ends without one
	stepEvent      // a record, or a node that is not entered
	stepRow        // met by a rowWalk only: an instance in class mode is complete
)

// level is a node in progress in a walk.
type level struct {
	id    uint32
	slot  uint32 // its first slot
	child uint32 // its first child in the pool
	mask  uint32 // 0 for a Repeat, whose children are all the first one; else all ones
	kind  kind
	row   uint32      // in table
	table *classTable // nil in column mode, and where classes are not followed
	at, n uint64      // children entered, and all; iterations of a Repeat
}

// place returns the position of child i among the slots and children of a node.
func (l *level) place(i uint64) uint32 { return uint32(i) & l.mask }

// walker goes through the instances below a node, in execution order or backwards, with an explicit stack: depth costs memory,
// not stack. All that reads a graph event by event is driven by one. It keeps no more of an instance than the level; callers keep
// what they want to know of open calls.
type walker struct {
	g       *graph
	slot    []uint32             // by node: its first slot
	tables  []*classTable        // by node; nil: classes are not followed
	enter   []bool               // by node: go into its instances; nil: into all
	lists   bool                 // stepOpen and stepClose for Groups and Repeats too
	numbers func(id, row uint32) // called for each class that is entered, if set
	// row reads the class of the child at a slot of a node in column mode: the one entered next, or, backwards, the one entered last
	row func(slot uint32, back bool) uint64

	stack []level
	gap   uint64 // the gap before the step, if its slot has no column
	bad   bool   // row named a class that does not exist
}

// init begins before the first event of a location. Classes are followed if row is set.
func (w *walker) init(v *view) {
	w.tables = nil
	if w.row != nil {
		w.tables = v.tables
	}
	w.start(&v.graph, v.slot, v.root)
	if v.rootRow >= 0 && w.tables != nil {
		w.setRow(&w.stack[0], uint64(v.rootRow))
	}
}

// start begins before the first event in a node.
func (w *walker) start(g *graph, slot []uint32, id uint32) {
	w.g, w.slot, w.stack, w.bad = g, slot, w.stack[:0], false
	w.push(id)
}

// push sets the fields of a level one by one, see entryStack.push.
func (w *walker) push(id uint32) *level {
	s := w.g.nodes
	w.stack = growOne(w.stack)
	l := &w.stack[len(w.stack)-1]
	l.id, l.slot, l.child, l.kind, l.mask = id, w.slot[id], s.off[id], s.kind(id), ^uint32(0)
	l.row, l.table, l.at, l.n = 0, nil, 0, uint64(s.off[id+1]-s.off[id])
	if l.kind == kindRepeat {
		l.mask, l.n = 0, s.count(id)
	}
	return l
}

func (w *walker) pop() { w.stack = w.stack[:len(w.stack)-1] }

// follow finds the class of level n, the child that the level below it entered last.
func (w *walker) follow(n int, back bool) {
	l, up := &w.stack[n], &w.stack[n-1]
	switch {
	case w.tables[l.id] == nil:
	case up.table != nil:
		w.setRow(l, uint64(up.table.kid(up.row, up.at-1)))
	default:
		w.setRow(l, w.row(up.slot+up.place(up.at-1), back))
	}
}

func (w *walker) setRow(l *level, row uint64) {
	l.table = w.tables[l.id]
	if row >= uint64(l.table.rows) {
		row, w.bad = 0, true
	}
	l.row = uint32(row)
	if w.numbers != nil {
		w.numbers(l.id, l.row)
	}
}

// next passes what comes next and returns it: its node and the slot of the gap before it. After stepClose and stepCut the call
// is off the stack.
func (w *walker) next() (st step, id, slot uint32) {
	s := w.g.nodes
	for {
		top := &w.stack[len(w.stack)-1]
		if at := top.at; at < top.n {
			i := top.place(at)
			id, slot = s.pool[top.child+i], top.slot+i
			top.at++
			if top.table != nil {
				w.gap = top.table.gap(top.row, at)
			}
			k := s.kind(id)
			if k == kindEvent || w.enter != nil && !w.enter[id] {
				return stepEvent, id, slot
			}
			w.push(id)
			if w.tables != nil {
				w.follow(len(w.stack)-1, false)
			}
			if k == kindCall || w.lists {
				return stepOpen, id, slot
			}
			continue
		}
		id, slot = top.id, top.slot+uint32(top.n)
		if len(w.stack) == 1 {
			return stepEnd, id, slot
		}
		w.pop()
		if top.kind == kindCall {
			return w.close(top), id, slot
		}
		if w.lists {
			return stepClose, id, slot
		}
	}
}

// close returns how the call of a level ends, and keeps the gap before its leave.
func (w *walker) close(l *level) step {
	if w.g.shapeOf(l.id).cut {
		return stepCut
	}
	if t := l.table; t != nil {
		w.gap = t.gaps[(int(l.row)+1)*t.gapsPerRow-1]
	}
	return stepClose
}

// prev passes what comes last before, the other way than next, and always with steps for Groups and Repeats. After stepOpen the
// node is off the stack.
func (w *walker) prev() (st step, id, slot uint32) {
	top := &w.stack[len(w.stack)-1]
	st = stepEvent
	if top.at == 0 {
		if len(w.stack) == 1 {
			return stepEnd, top.id, top.slot
		}
		w.pop()
		top, st = &w.stack[len(w.stack)-1], stepOpen
	}
	i := top.place(top.at - 1)
	id, slot = w.g.nodes.pool[top.child+i], top.slot+i
	if st == stepOpen || w.g.nodes.kind(id) == kindEvent {
		if top.at--; top.table != nil {
			w.gap = top.table.gap(top.row, top.at)
		}
		return st, id, slot
	}
	l := w.push(id)
	l.at = l.n
	if w.tables != nil {
		w.follow(len(w.stack)-1, true)
	}
	if l.kind != kindCall {
		return stepClose, id, slot
	}
	return w.close(l), id, l.slot + uint32(l.n)
}

// atEvent reports whether the step that next passes is an event, or there is none.
func (w *walker) atEvent() bool {
	top := &w.stack[len(w.stack)-1]
	if top.at < top.n {
		return w.g.nodes.kind(w.child(top)) <= kindEvent
	}
	return top.kind == kindRoot || top.kind == kindCall && !w.g.shapeOf(top.id).cut
}

// child returns the child of a level that is entered next.
func (w *walker) child(l *level) uint32 { return w.g.nodes.pool[l.child+l.place(l.at)] }

// reading is a walk through a location that reads its columns.
type reading struct {
	walker
	l       *Location
	cursors []column.Cursor
	time    uint64 // ticks passed by step
	over    bool   // they exceed 64 bits
}

// read begins a walk that follows classes, and counts ticks from a time on.
func (l *Location) read(time uint64) *reading {
	r := &reading{l: l, cursors: l.cursors(), time: time}
	r.row = func(slot uint32, _ bool) uint64 { return r.cursors[l.view.class[slot]].Next() }
	r.init(l.view)
	return r
}

// readInside begins a walk that goes into some nodes only, and does not follow classes.
func (l *Location) readInside(enter []bool) *reading {
	r := &reading{l: l, cursors: l.cursors()}
	r.enter = enter
	r.init(l.view)
	return r
}

// step is next, and passes the gap before it.
func (r *reading) step() (st step, id, slot uint32) {
	st, id, slot = r.next()
	if st != stepCut && st != stepEnd {
		gap := r.gap
		if c := r.l.view.column[slot]; c >= 0 {
			gap = r.cursors[c].Next()
		}
		r.pass(gap)
	}
	return st, id, slot
}

func (r *reading) pass(ticks uint64) {
	r.time += ticks
	if r.time < ticks {
		r.over = true
	}
}

// err returns what is wrong with what was read so far.
func (r *reading) err() error {
	if r.bad {
		return fmt.Errorf("call graph: location %d: a class that does not exist: %w", r.l.p, ErrCorrupt)
	}
	for i := range r.cursors {
		if err := r.cursors[i].Err(); err != nil {
			return r.l.columnError(i, err)
		}
	}
	if r.over {
		return fmt.Errorf("call graph: location %d: time overflows: %w", r.l.p, ErrCorrupt)
	}
	return nil
}
