package build

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// rowWalk goes through a location and finds the class of each instance in class mode from the gaps that it is given. Memory: the
// open levels and their rows.
type rowWalk struct {
	graph.Walker
	v     *graph.View
	find  func(id uint32, gaps []uint64, kids []uint32) (uint32, error) // looks up or makes a row of a shared node
	rows  []openRow                                                     // of the open nodes in class mode
	gaps  []uint64
	kids  []uint32
	ended bool   // the newest row is complete
	at    int    // where in gaps the one of the last step belongs
	again bool   // something is there, from another iteration of a Repeat with one entry for all
	last  uint32 // the row of the last stepRow
	err   error
}

// openRow is the row of an instance in progress.
type openRow struct {
	id, slot   uint32 // slot: where the node is in its parent
	gaps, kids int    // where the row begins
}

func (w *rowWalk) begin(v *graph.View) {
	w.v, w.Lists, w.ended, w.err = v, true, false, nil
	w.rows, w.gaps, w.kids = w.rows[:0], w.gaps[:0], w.kids[:0]
	w.Init(v)
	w.open(v.Root, 0)
}

// open begins the row of a node, if it is in class mode.
func (w *rowWalk) open(id, slot uint32) {
	if t := w.v.Tables[id]; t != nil {
		w.rows = append(w.rows, openRow{id, slot, len(w.gaps), len(w.kids)})
		w.gaps, w.kids = append(w.gaps, make([]uint64, t.GapsPerRow)...), append(w.kids, make([]uint32, t.KidsPerRow)...)
	}
}

// put gives the gap of the last step, whose slot has no column.
func (w *rowWalk) put(gap uint64) {
	if w.again && w.gaps[w.at] != gap {
		w.differ()
	}
	w.gaps[w.at] = gap
}

func (w *rowWalk) differ() {
	id := w.rows[len(w.rows)-1].id
	w.err = fmt.Errorf("node %d: iterations differ, but share a class: %w", w.v.Ids[id], graph.ErrForeign)
}

// step returns what comes next: its node and the slot of the gap before it, or the slot where the row of stepRow is. After
// an error it returns stepEnd.
func (w *rowWalk) step() (st graph.Step, id, slot uint32) {
	for w.err == nil {
		if w.ended {
			if id, slot = w.finish(); id != 0 {
				return graph.StepRow, id, slot
			}
			continue
		}
		st, id, slot = w.Next()
		switch st {
		case graph.StepOpen:
			w.locate(&w.Stack[len(w.Stack)-2])
			w.open(id, slot)
		case graph.StepEvent:
			w.locate(&w.Stack[len(w.Stack)-1])
		case graph.StepEnd:
			if w.ended = len(w.rows) > 0; !w.ended {
				return graph.StepEnd, id, slot
			}
			continue
		default:
			if t := w.v.Tables[id]; t != nil {
				w.ended, w.again, w.at = true, false, w.rows[len(w.rows)-1].gaps+t.GapsPerRow-1
			}
		}
		if w.v.IsReal(id) {
			return st, id, slot
		}
	}
	return graph.StepEnd, 0, 0
}

// locate finds where the gap of the child belongs that a level entered last.
func (w *rowWalk) locate(l *graph.Level) {
	if t := w.v.Tables[l.Id]; t != nil {
		w.at = w.rows[len(w.rows)-1].gaps + graph.InRow(l.At-1, t.GapsPerRow)
		w.again = l.At > uint64(t.GapsPerRow)
	}
}

// finish ends the newest row. It returns where the row is, node 0 if that is in the row around it.
func (w *rowWalk) finish() (id, slot uint32) {
	r := w.rows[len(w.rows)-1]
	w.ended = false
	if w.last, w.err = w.find(w.v.Ids[r.id], w.gaps[r.gaps:], w.kids[r.kids:]); w.err != nil {
		return 0, 0
	}
	w.rows, w.gaps, w.kids = w.rows[:len(w.rows)-1], w.gaps[:r.gaps], w.kids[:r.kids]
	up := &w.Stack[len(w.Stack)-1]
	t := w.v.Tables[up.Id]
	if r.id == w.v.Root || t == nil {
		return r.id, r.slot
	}
	kid := &w.kids[w.rows[len(w.rows)-1].kids+graph.InRow(up.At-1, t.KidsPerRow)]
	if up.At > uint64(t.KidsPerRow) && *kid != w.last {
		w.differ()
	}
	*kid = w.last
	return 0, 0
}
