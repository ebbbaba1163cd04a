package ccg

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// SeekEvent moves before event k; k = Events is the end. It takes O(nodes) and at most MarkEvery/2 steps; only steps if the event is near.
func (c *Cursor) SeekEvent(k uint64) error {
	v := c.x.loc.view
	switch {
	case c.err != nil:
		return c.err
	case k > v.Events:
		return fmt.Errorf("call graph: location %d: event %d of %d: %w", c.x.loc.p, k, v.Events, ErrRange)
	case k > c.next && k-c.next > c.x.near || k < c.next && c.next-k > c.x.near:
		j := uint64(0)
		if k > 0 {
			j = (k - 1) / graph.MarkEvery
			if k-1-j*graph.MarkEvery > graph.MarkEvery/2 && j < v.MarkCount() {
				j++
			}
		}
		c.toMark(j)
	}
	for c.next < k && c.err == nil {
		c.forward()
	}
	for c.next > k && c.err == nil {
		c.backward()
	}
	return c.err
}

// SeekTime moves before the first event whose time is t or later, or to the end. It takes O(nodes) and less than MarkEvery steps.
func (c *Cursor) SeekTime(t trace.Time) error {
	if c.err != nil {
		return c.err
	}
	j, err := c.x.markBefore(t)
	if err != nil {
		return err
	}
	// the event lies after that of mark j, and not after that of the next one
	if from := j * graph.MarkEvery; c.next < from || c.next-from > graph.MarkEvery+c.x.near {
		if j, err = c.x.nearer(j, t); err != nil {
			return err
		}
		c.toMark(j)
	}
	for c.err == nil && c.next > 0 && c.time >= t {
		c.backward()
	}
	for c.err == nil {
		if _, _, _, ok := c.forward(); !ok {
			break
		}
		if c.time >= t {
			c.backward()
			break
		}
	}
	return c.err
}

// nearer returns j or j + 1: the mark whose time is nearer to t.
func (x *Index) nearer(j uint64, t trace.Time) (uint64, error) {
	if j == x.loc.view.MarkCount() {
		return j, nil
	}
	before, err := x.markTime(j)
	if err != nil {
		return 0, err
	}
	behind, err := x.markTime(j + 1)
	if err == nil && t > before && behind-t < t-before {
		j++
	}
	return j, err
}

// after moves after the last event whose time is t or earlier.
func (c *Cursor) after(t trace.Time) error {
	if t == math.MaxUint64 {
		return c.SeekEvent(c.x.loc.view.Events)
	}
	return c.SeekTime(t + 1)
}

// toMark moves after the event of mark j; for j = 0 to the first event.
func (c *Cursor) toMark(j uint64) {
	t, err := c.x.markTime(j)
	if err != nil {
		c.fail(err)
		return
	}
	c.time = t
	if j == 0 {
		c.enterAt(0)
		return
	}
	c.enterAt(j*graph.MarkEvery + 1)
}

// enterAt moves along the path from the root to event k and computes the positions of all columns there. It does not set the time.
func (c *Cursor) enterAt(k uint64) {
	c.rewind()
	w := &c.walk
	for c.next < k {
		top := &w.Stack[len(w.Stack)-1]
		if top.Kind == graph.KindRepeat {
			n := c.x.events[w.Child(top)]
			c.visit(1)
			top.At = (k - c.next) / n
			c.next += top.At * n
		} else {
			for top.At < top.N {
				n := c.x.events[w.Child(top)]
				c.visit(1)
				if n > k-c.next {
					break
				}
				c.next += n
				top.At++
			}
		}
		if c.next == k {
			break
		}
		id := w.Child(top)
		top.At++
		if w.Push(id).Kind == graph.KindCall {
			c.enter(c.next, 0, false)
			c.next++ // its enter
		}
	}
	c.sweep()
	for i := 1; w.Tables != nil && i < len(w.Stack) && c.err == nil; i++ { // once the positions of their columns are known
		w.Follow(i, true)
	}
	c.settle()
}

func (c *Cursor) visit(n int) { c.x.visits += uint64(n) }

// sweep counts the instances that are complete before the cursor, from the root down: done(child) += done(parent). It adds their values to
// the positions of all columns.
func (c *Cursor) sweep() {
	v := c.x.loc.view
	s := v.Nodes
	done := c.met
	if done == nil {
		done = c.x.scratch()
	}
	clear(done)
	clear(c.pos)
	for i := range c.walk.Stack {
		c.sweepRung(&c.walk.Stack[i], i == len(c.walk.Stack)-1, done)
	}
	pos, visits := c.pos, 0
	for i := len(v.Order) - 1; i >= 0; i-- {
		id := v.Order[i]
		m := done[id]
		if m == 0 {
			continue
		}
		list, times, kind := s.Words(id), m, s.Kind(id)
		if kind == graph.KindRepeat {
			list, times = list[:1], m*s.Count(id)
		}
		visits += len(list) + 1
		at := v.Slot[id]
		columns := v.Column[at:][:len(list)]
		for i, k := range list {
			done[k] += times
			if x := columns[i]; x >= 0 {
				pos[x] += times
			}
		}
		if v.Class != nil {
			for _, x := range v.Class[at:][:len(list)] {
				if x >= 0 {
					pos[x] += times
				}
			}
		}
		if at += uint32(len(list)); kind == graph.KindCall {
			c.entered(at, m)
			at++
		}
		if v.Extra[id] != 0 {
			c.completed(id, at, m)
		}
	}
	c.visit(visits)
	for i := range c.walk.Stack {
		if r := &c.walk.Stack[i]; r.Kind == graph.KindCall {
			done[r.Id]++ // begun, not complete
		}
	}
}

// sweepRung counts the complete children of an open node. Except in the innermost node, the last child entered is still open.
func (c *Cursor) sweepRung(r *graph.Level, innermost bool, done []uint64) {
	entered, complete := r.At, r.At
	if !innermost {
		complete--
	}
	if r.Kind == graph.KindRepeat {
		done[c.walk.G.Nodes.Pool[r.Child]] += complete
		c.entered(r.Slot, entered)
		c.visit(2)
	} else {
		c.visit(int(entered) + 1)
		for i := range complete {
			done[c.walk.G.Nodes.Pool[r.Child+uint32(i)]]++
		}
		for i := range entered {
			c.entered(r.Slot+uint32(i), 1)
		}
	}
	if r.Kind == graph.KindCall {
		c.values(r.Id, graph.StepOpen, 1)
	}
}

// entered adds n to the columns of gaps and classes of a slot.
func (c *Cursor) entered(slot uint32, n uint64) {
	v := c.x.loc.view
	if k := v.Column[slot]; k >= 0 {
		c.pos[k] += n
	}
	if v.Class != nil && v.Class[slot] >= 0 {
		c.pos[v.Class[slot]] += n
	}
}

// completed adds the values of m instances of a node, whose value slots begin at at.
func (c *Cursor) completed(id, at uint32, m uint64) {
	v := c.x.loc.view
	h := v.ShapeOf(id)
	for _, k := range v.Column[at : at+h.Values+h.LeaveValues] {
		c.pos[k] += m
	}
	if h.Payload+h.LeavePayload > 0 {
		c.pos[v.Bytes] += m * (h.Payload + h.LeavePayload)
	}
}

// scouting returns a cursor for looking at other places.
func (x *Index) scouting() *Cursor {
	if x.scout == nil {
		x.scout = x.ownCursor()
	}
	return x.scout
}

// timeOf returns the time of event k. It does not move other cursors.
func (x *Index) timeOf(k uint64) (trace.Time, error) {
	c := x.scouting()
	if err := c.SeekEvent(k + 1); err != nil {
		return 0, err
	}
	return c.time, nil
}

// OpenCall is an open call.
type OpenCall struct {
	Region uint32
	Ref    uint32 // region or calling context
	Node   uint32 // id in the Shared
	Event  uint64 // number of its enter
	Begin  trace.Time
}

// Open appends the open calls to dst, outermost first. Begins that the cursor has not passed are looked up by a seek each, once.
func (c *Cursor) Open(dst []OpenCall) ([]OpenCall, error) {
	v := c.x.loc.view
	n := 0
	for i := range c.walk.Stack {
		r := &c.walk.Stack[i]
		if r.Kind != graph.KindCall {
			continue
		}
		call := &c.calls[n]
		n++
		if !call.known {
			t, err := c.x.timeOf(call.first)
			if err != nil {
				return dst, err
			}
			call.begin, call.known = t, true
		}
		h := v.ShapeOf(r.Id)
		dst = append(dst, OpenCall{Region: h.Region(v.Defs), Ref: h.Ref, Node: v.Ids[r.Id], Event: call.first, Begin: call.begin})
	}
	return dst, nil
}
