package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// reading is a walk through a location that reads its columns.
type reading struct {
	graph.Walker
	l       *Location
	cursors []column.Cursor
	time    uint64 // ticks that step has passed
	over    bool   // time exceeds 64 bits
}

// read begins a walk that follows classes. Its ticks start at time.
func (l *Location) read(time uint64) *reading {
	r := &reading{l: l, cursors: l.cursors(), time: time}
	r.Row = func(slot uint32, _ bool) uint64 { return r.cursors[l.view.Class[slot]].Next() }
	r.Init(l.view)
	return r
}

// readInside begins a walk that enters only some nodes and does not follow classes.
func (l *Location) readInside(enter []bool) *reading {
	r := &reading{l: l, cursors: l.cursors()}
	r.Enter = enter
	r.Init(l.view)
	return r
}

// step is Next, and passes the gap before the step.
func (r *reading) step() (st graph.Step, id, slot uint32) {
	st, id, slot = r.Next()
	if st != graph.StepCut && st != graph.StepEnd {
		gap := r.Gap
		if c := r.l.view.Column[slot]; c >= 0 {
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

// err returns the first error of what was read so far.
func (r *reading) err() error {
	if r.Bad {
		return fmt.Errorf("call graph: location %d: a class that does not exist: %w", r.l.p, graph.ErrCorrupt)
	}
	for i := range r.cursors {
		if err := r.cursors[i].Err(); err != nil {
			return r.l.columnError(i, err)
		}
	}
	if r.over {
		return fmt.Errorf("call graph: location %d: time overflows: %w", r.l.p, graph.ErrCorrupt)
	}
	return nil
}
