package graph

// Step is what a walk meets next.
type Step uint8

const (
	StepEnd   Step = iota
	StepOpen       // a call begins
	StepClose      // a call ends with a leave
	StepCut        // a call ends without one
	StepEvent      // a record, or a node that the walk does not enter
	StepRow        // met by build's rowWalk only: an instance in class mode is complete
)

// Level is an open node of a walk.
type Level struct {
	Id    uint32
	Slot  uint32 // first slot of the node
	Child uint32 // its first child, in Pool
	mask  uint32 // 0 for a Repeat, whose children are all the first one; else all ones
	Kind  Kind
	Row   uint32      // row in Table
	Table *ClassTable // nil in column mode, and if classes are not followed
	At, N uint64      // children entered, and all; for a Repeat, iterations
}

// Place returns the position of child i among the slots and children of a node.
func (l *Level) Place(i uint64) uint32 { return uint32(i) & l.mask }

// Walker iterates over the instances below a node, in execution order or backwards, with an explicit stack. All readers of single events
// use one. It only has the levels; callers keep what they need of open calls.
type Walker struct {
	G       *Graph
	slot    []uint32             // of each node: its first slot
	Tables  []*ClassTable        // of each node; nil: classes are not followed
	Enter   []bool               // of each node: enter its instances; nil: enter all
	Lists   bool                 // steps StepOpen and StepClose for Groups and Repeats too
	Numbers func(id, row uint32) // called for each class that is entered, if not nil
	// Row returns the class of the child at a slot of a node in column mode: the one to be entered next or, backwards, the one entered
	// last.
	Row func(slot uint32, back bool) uint64

	Stack []Level
	Gap   uint64 // the gap before the step, if its slot has no column
	Bad   bool   // Row returned a class that does not exist
}

// Init moves before the first event of a location. If Row is set, classes are followed.
func (w *Walker) Init(v *View) {
	w.Tables = nil
	if w.Row != nil {
		w.Tables = v.Tables
	}
	w.Start(&v.Graph, v.Slot, v.Root)
	if v.RootRow >= 0 && w.Tables != nil {
		w.setRow(&w.Stack[0], uint64(v.RootRow))
	}
}

// Start moves before the first event in a node.
func (w *Walker) Start(g *Graph, slot []uint32, id uint32) {
	w.G, w.slot, w.Stack, w.Bad = g, slot, w.Stack[:0], false
	w.Push(id)
}

// Push opens a node. It sets the fields one by one, which is faster than a composite literal.
func (w *Walker) Push(id uint32) *Level {
	s := w.G.Nodes
	w.Stack = GrowOne(w.Stack)
	l := &w.Stack[len(w.Stack)-1]
	l.Id, l.Slot, l.Child, l.Kind, l.mask = id, w.slot[id], s.Off[id], s.Kind(id), ^uint32(0)
	l.Row, l.Table, l.At, l.N = 0, nil, 0, uint64(s.Off[id+1]-s.Off[id])
	if l.Kind == KindRepeat {
		l.mask, l.N = 0, s.Count(id)
	}
	return l
}

func (w *Walker) pop() { w.Stack = w.Stack[:len(w.Stack)-1] }

// Follow sets the class of level n, which the level below it entered last.
func (w *Walker) Follow(n int, back bool) {
	l, up := &w.Stack[n], &w.Stack[n-1]
	switch {
	case w.Tables[l.Id] == nil:
	case up.Table != nil:
		w.setRow(l, uint64(up.Table.kid(up.Row, up.At-1)))
	default:
		w.setRow(l, w.Row(up.Slot+up.Place(up.At-1), back))
	}
}

func (w *Walker) setRow(l *Level, row uint64) {
	l.Table = w.Tables[l.Id]
	if row >= uint64(l.Table.Rows) {
		row, w.Bad = 0, true
	}
	l.Row = uint32(row)
	if w.Numbers != nil {
		w.Numbers(l.Id, l.Row)
	}
}

// Next passes the next step and returns it, its node, and the slot of the gap before it. After StepClose and StepCut the call is not on the
// stack any more.
func (w *Walker) Next() (st Step, id, slot uint32) {
	s := w.G.Nodes
	for {
		top := &w.Stack[len(w.Stack)-1]
		if at := top.At; at < top.N {
			i := top.Place(at)
			id, slot = s.Pool[top.Child+i], top.Slot+i
			top.At++
			if top.Table != nil {
				w.Gap = top.Table.gap(top.Row, at)
			}
			k := s.Kind(id)
			if k == KindEvent || w.Enter != nil && !w.Enter[id] {
				return StepEvent, id, slot
			}
			w.Push(id)
			if w.Tables != nil {
				w.Follow(len(w.Stack)-1, false)
			}
			if k == KindCall || w.Lists {
				return StepOpen, id, slot
			}
			continue
		}
		id, slot = top.Id, top.Slot+uint32(top.N)
		if len(w.Stack) == 1 {
			return StepEnd, id, slot
		}
		w.pop()
		if top.Kind == KindCall {
			return w.close(top), id, slot
		}
		if w.Lists {
			return StepClose, id, slot
		}
	}
}

// close returns how the call of a level ends, and stores the gap before its leave.
func (w *Walker) close(l *Level) Step {
	if w.G.ShapeOf(l.Id).Cut {
		return StepCut
	}
	if t := l.Table; t != nil {
		w.Gap = t.Gaps[(int(l.Row)+1)*t.GapsPerRow-1]
	}
	return StepClose
}

// Prev passes the previous step, the inverse of Next, always with steps for Groups and Repeats. After StepOpen the node is not on the stack
// any more.
func (w *Walker) Prev() (st Step, id, slot uint32) {
	top := &w.Stack[len(w.Stack)-1]
	st = StepEvent
	if top.At == 0 {
		if len(w.Stack) == 1 {
			return StepEnd, top.Id, top.Slot
		}
		w.pop()
		top, st = &w.Stack[len(w.Stack)-1], StepOpen
	}
	i := top.Place(top.At - 1)
	id, slot = w.G.Nodes.Pool[top.Child+i], top.Slot+i
	if st == StepOpen || w.G.Nodes.Kind(id) == KindEvent {
		if top.At--; top.Table != nil {
			w.Gap = top.Table.gap(top.Row, top.At)
		}
		return st, id, slot
	}
	l := w.Push(id)
	l.At = l.N
	if w.Tables != nil {
		w.Follow(len(w.Stack)-1, true)
	}
	if l.Kind != KindCall {
		return StepClose, id, slot
	}
	return w.close(l), id, l.Slot + uint32(l.N)
}

// AtEvent reports whether the step that Next will pass is an event, or there is none.
func (w *Walker) AtEvent() bool {
	top := &w.Stack[len(w.Stack)-1]
	if top.At < top.N {
		return w.G.Nodes.Kind(w.Child(top)) <= KindEvent
	}
	return top.Kind == KindRoot || top.Kind == KindCall && !w.G.ShapeOf(top.Id).Cut
}

// Child returns the child that a level enters next.
func (w *Walker) Child(l *Level) uint32 { return w.G.Nodes.Pool[l.Child+l.Place(l.At)] }

// GrowOne extends a stack by one element, which has old contents.
func GrowOne[T any](stack []T) []T {
	if n := len(stack); n < cap(stack) {
		return stack[:n+1]
	}
	var zero T
	return append(stack, zero)
}
