package ccg

import (
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Move says how an event changes the stack of open calls.
type Move uint8

// Moves.
const (
	Enters  Move = iota // a call begins
	Leaves              // a call ends
	Records             // any other record, also a leave that ends no call
)

// Step is an event that a Cursor has passed.
type Step struct {
	Event  uint64 // number in the location's stream, from 0
	Time   trace.Time
	Move   Move
	Kind   trace.Kind
	Region uint32 // entered or left; of a record, the enclosing region or trace.Undefined
	Ref    uint32 // Enters, Leaves: region or calling context, by Kind; Records: as Region
	Node   uint32 // id of the Call or Event in the Shared
	Tuple  uint32 // number of its tuple
	Depth  int    // open calls around the event, without the one that it enters or leaves
}

// Cursor is a position between two events of a location. It moves in either direction and reads only what it passes. A seek takes O(nodes);
// a step O(1), amortised over Groups and Repeats.
//
// Memory: 48 bytes for each open Group and Repeat, 72 for each open call, 16 for each column of the location, and 8 KiB for each column
// with values among the events passed.
type Cursor struct {
	x      *Index
	walk   graph.Walker     // after settle
	calls  []calling        // the open calls
	pos    []uint64         // of each column: values before the cursor
	reads  []*column.Cursor // of each column; nil if it is not read
	cached bool             // read the blocks of the index instead
	met    []uint64         // of each node: Calls and Events before the cursor; nil if not wanted
	next   uint64           // number of the event after the cursor
	time   trace.Time       // of the event before the cursor
	err    error
}

// calling is an open call.
type calling struct {
	first uint64     // number of its enter
	begin trace.Time // if known
	known bool
}

// Cursor returns a cursor before the first event, with an index of its own.
func (l *Location) Cursor() *Cursor { return l.Index().Cursor() }

// Cursor returns a cursor before the first event.
func (x *Index) Cursor() *Cursor {
	v := x.loc.view
	c := &Cursor{x: x, pos: make([]uint64, len(v.Cols)), reads: make([]*column.Cursor, len(v.Cols)), time: x.loc.first}
	c.walk.Lists, c.walk.Row = true, c.row
	c.rewind()
	c.settle()
	return c
}

// rewind moves to the first event, but does not set time and positions.
func (c *Cursor) rewind() {
	c.calls, c.next = c.calls[:0], 0
	c.walk.Init(c.x.loc.view)
}

// row passes the class at a slot. Backwards it returns the one that was passed last.
func (c *Cursor) row(slot uint32, back bool) uint64 {
	at := c.x.loc.view.Class[slot]
	if !back {
		c.pos[at]++
	}
	return c.valueAt(at, c.pos[at]-1)
}

// enter adds an open call. Its begin is known if the cursor has passed it.
func (c *Cursor) enter(first uint64, begin trace.Time, known bool) {
	c.calls = append(c.calls, calling{first, begin, known})
}

func (c *Cursor) leave() { c.calls = c.calls[:len(c.calls)-1] }

// Err returns the error that stopped the cursor.
func (c *Cursor) Err() error { return c.err }

// Event returns the number of events before the cursor, which is also the number of the event after it.
func (c *Cursor) Event() uint64 { return c.next }

// Time returns the time of the event before the cursor; before the first event,
// the location's first time.
func (c *Cursor) Time() trace.Time { return c.time }

// settle passes what is not an event: borders of Groups and Repeats, and ends of calls without a leave. It stops before an event or at the
// end.
func (c *Cursor) settle() {
	for !c.walk.AtEvent() {
		if st, _, _ := c.walk.Next(); st == graph.StepCut {
			c.leave()
		}
	}
	if c.walk.Bad {
		c.fail(c.x.loc.damaged("a class that does not exist"))
	}
}

// Next passes the event after the cursor. It returns false at the end and after an error, see Err.
func (c *Cursor) Next() (Step, bool) {
	depth := len(c.calls)
	st, id, _, ok := c.forward()
	if !ok {
		return Step{}, false
	}
	s := Step{Event: c.next - 1, Time: c.time}
	s.describe(c.x.loc.view, id, st, depth)
	return s, true
}

// forward passes the event after the cursor. It returns its node and the gap before it.
func (c *Cursor) forward() (st graph.Step, id uint32, gap uint64, ok bool) {
	if c.err != nil || c.next == c.x.loc.view.Events {
		return graph.StepEnd, 0, 0, false
	}
	st, id, slot := c.walk.Next()
	gap = c.gap(slot, false)
	switch st {
	case graph.StepOpen:
		c.enter(c.next, c.time+trace.Time(gap), true)
	case graph.StepClose:
		c.leave()
	}
	if c.met != nil && st != graph.StepClose {
		c.met[id]++
	}
	c.values(id, st, 1)
	c.next++
	if c.time += trace.Time(gap); c.time < trace.Time(gap) {
		c.fail(c.x.loc.damaged("time overflows"))
	}
	c.settle()
	return st, id, gap, c.err == nil
}

// Prev passes the event before the cursor. It returns false at the start and after an error, see Err.
func (c *Cursor) Prev() (Step, bool) {
	at := c.time
	st, id, ok := c.backward()
	if !ok {
		return Step{}, false
	}
	s := Step{Event: c.next, Time: at}
	s.describe(c.x.loc.view, id, st, len(c.calls))
	return s, true
}

// backward passes the event before the cursor, and returns its node.
func (c *Cursor) backward() (st graph.Step, id uint32, ok bool) {
	v := c.x.loc.view
	for c.err == nil && c.next > 0 {
		st, id, slot := c.walk.Prev()
		if st == graph.StepOpen && v.Class != nil && v.Class[slot] >= 0 {
			c.pos[v.Class[slot]]--
		}
		switch {
		case !v.IsReal(id):
			continue
		case st == graph.StepOpen:
			c.leave()
		case st == graph.StepClose, st == graph.StepCut:
			c.enter(c.next-c.x.events[id], 0, false)
		}
		if st != graph.StepCut {
			return st, id, c.back(id, c.gap(slot, true), st)
		}
	}
	return graph.StepEnd, 0, false
}

// back completes a step backwards over an event with this gap before it.
func (c *Cursor) back(id uint32, gap uint64, st graph.Step) bool {
	c.next--
	c.values(id, st, ^uint64(0))
	if c.met != nil && st != graph.StepClose {
		c.met[id]--
	}
	if c.time < trace.Time(gap) {
		c.fail(c.x.loc.damaged("time before 0"))
	}
	c.time -= trace.Time(gap)
	return c.err == nil
}

func (c *Cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// describe sets what a node says about its event. depth is the number of open calls, on the side of the event where the call that it enters
// or leaves is not open, except for a leave.
func (s *Step) describe(v *graph.View, id uint32, st graph.Step, depth int) {
	h := v.ShapeOf(id)
	s.Kind, s.Ref, s.Region, s.Node, s.Tuple, s.Depth, s.Move = h.Kind, h.Ref, h.Ref, v.Ids[id], v.Nodes.Tuple(id), depth, Records
	switch st {
	case graph.StepOpen:
		s.Move, s.Region = Enters, h.Region(v.Defs)
	case graph.StepClose:
		s.Move, s.Region, s.Kind, s.Depth = Leaves, h.Region(v.Defs), trace.Leave, depth-1
		if h.Kind == trace.CallingContextEnter {
			s.Kind, s.Ref = trace.CallingContextLeave, h.Left
		}
	}
}

// gap passes the gap of the walk's last step, in either direction.
func (c *Cursor) gap(slot uint32, back bool) uint64 {
	at := c.x.loc.view.Column[slot]
	switch {
	case at < 0:
		return c.walk.Gap
	case back:
		c.pos[at]--
		return c.valueAt(at, c.pos[at])
	}
	c.pos[at]++
	return c.valueAt(at, c.pos[at]-1)
}

func (c *Cursor) valueAt(at int32, i uint64) uint64 {
	if c.cached {
		v, err := c.x.sums.value(at, i)
		if err != nil {
			c.fail(err)
		}
		return v
	}
	k := c.reads[at]
	if k == nil {
		k = &column.Cursor{}
		k.Init(&c.x.loc.cols[at])
		c.reads[at] = k
	}
	k.Seek(i)
	v := k.Next()
	if err := k.Err(); err != nil {
		c.fail(c.x.columnError(at, err))
	}
	return v
}

// values moves the positions of an event's values by 1 or -1.
func (c *Cursor) values(id uint32, st graph.Step, by uint64) {
	v := c.x.loc.view
	if v.Extra[id] == 0 {
		return
	}
	h := v.ShapeOf(id)
	at, n := v.ValueSlots(h, id, st)
	for _, k := range v.Column[at : at+n] {
		c.pos[k] += by
	}
	words := h.Payload
	if st == graph.StepClose {
		words = h.LeavePayload
	}
	if words > 0 {
		c.pos[v.Bytes] += by * words
	}
}
