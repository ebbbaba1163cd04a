package predict

import "github.com/coppice-hpc/coppice/ccg"

// walkStep is what a walk through a location meets next.
type walkStep uint8

const (
	walkEnd     walkStep = iota
	walkOpen             // a part of the graph that is not a call of MPI begins
	walkClose            // it ends
	walkCall             // an outermost call of MPI begins
	walkCallEnd          // it ends
	walkRecord           // a record, in a call or outside of all
	walkPart             // a node of the program: take or descend
	walkUnit             // a unit: read its values, and pass over it or descend
)

// walker goes through the instances of a node in the order of execution, with an explicit stack, and passes over what has no
// calls.
type walker struct {
	t     *tracer
	stack []walkFrame
	call  int // length of the stack in the outermost call, 0 outside
	times uint64
	part  uint32
	plain bool // units are nothing special
}

// walkFrame is a node in progress.
type walkFrame struct {
	node uint32
	next int    // child
	left uint64 // iterations, this one included
}

// begin starts before node n, which is entered whether it is a node of the program or not.
func (w *walker) begin(t *tracer, n uint32) (walkStep, uint32) {
	w.t, w.stack, w.call = t, w.stack[:0], 0
	return w.enter(n)
}

// enter goes into a node that is outside of calls.
func (w *walker) enter(n uint32) (walkStep, uint32) {
	x := &w.t.nodes[n]
	if x.Kind == ccg.EventNode {
		return walkRecord, n
	}
	w.stack = append(w.stack, walkFrame{node: n, left: x.Count})
	if w.t.info[n].flags&nodeCall != 0 {
		w.call = len(w.stack)
		return walkCall, n
	}
	return walkOpen, n
}

// take passes over the part that was met, so many times as it follows itself.
func (w *walker) take() {
	if top := &w.stack[len(w.stack)-1]; w.t.nodes[top.node].Kind == ccg.RepeatNode {
		top.left, top.next = 1, 1
	}
}

// descend enters the part that was met.
func (w *walker) descend() (walkStep, uint32) {
	if top := &w.stack[len(w.stack)-1]; w.t.nodes[top.node].Kind == ccg.RepeatNode {
		top.next = 1 // of a unit it is already
	}
	return w.enter(w.part)
}

// next returns what comes next.
func (w *walker) next() (walkStep, uint32) {
	t := w.t
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		x := &t.nodes[top.node]
		if top.next == len(x.Children) {
			if top.left--; top.left > 0 {
				top.next = 0
				continue
			}
			n := top.node
			w.stack = w.stack[:len(w.stack)-1]
			switch {
			case w.call == len(w.stack)+1:
				w.call = 0
				return walkCallEnd, n
			case w.call == 0:
				return walkClose, n
			}
			continue
		}
		c := x.Children[top.next]
		info := &t.info[c]
		if w.call > 0 {
			top.next++
			switch {
			case info.record > 0:
				return walkRecord, c
			case info.flags&(nodeActs|nodeReads) != 0:
				w.stack = append(w.stack, walkFrame{node: c, left: t.nodes[c].Count})
			}
			continue
		}
		if info.flags&nodeDone != 0 {
			w.part, w.times = c, top.left
			if x.Kind != ccg.RepeatNode {
				top.next++
				w.times = 1
			}
			return walkPart, c
		}
		top.next++
		if info.flags&nodeUnit != 0 && !w.plain {
			w.part = c
			return walkUnit, c
		}
		if info.calls > 0 || info.flags&nodeReads != 0 {
			return w.enter(c)
		}
		if x.Kind == ccg.RepeatNode {
			top.left = 1
		}
	}
	return walkEnd, 0
}
