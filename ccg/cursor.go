package ccg

import (
	"github.com/coppice-hpc/coppice/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Move says what an event does to the stack of open calls.
type Move uint8

// Moves.
const (
	Enters  Move = iota // a call begins
	Leaves              // a call ends
	Records             // any other record, a leave that closes nothing too
)

// Step is one event, as a Cursor passes it.
type Step struct {
	Event  uint64 // number in the location's stream, from 0
	Time   trace.Time
	Move   Move
	Kind   trace.Kind
	Region uint32 // entered or left; of a record, the enclosing one or trace.Undefined
	Ref    uint32 // Enters, Leaves: region or calling context, as Kind says; Records: as Region
	Node   uint32 // id of the Call or Event in the Shared
	Tuple  uint32 // number of its tuple
	Depth  int    // calls open around it, the one entered or left not counted
}

// Cursor is between two events of a location and moves in either direction.
// It reads what it passes and nothing else: a seek takes O(nodes), a step O(1)
// amortised over Groups and Repeats.
//
// Memory: 64 bytes per open call, Group and Repeat, 16 per column of the
// location, and 8 KiB per column with values among the events passed.
type Cursor struct {
	x      *Index
	stack  []rung
	depth  int
	pos    []uint64         // by column: values before the cursor
	reads  []*column.Cursor // by column: nil if not read
	cached bool             // reads the blocks of the index instead
	met    []uint64         // by node: Calls and Events before the cursor; nil if not wanted
	next   uint64           // number of the event after the cursor
	time   trace.Time       // of the event before it
	err    error
}

// rung is a node in progress in a Cursor.
type rung struct {
	id    uint32
	kind  kind
	slot  uint32 // first slot
	child uint32 // first child in the pool
	row   uint32 // in table
	known bool   // begin is known
	table *classTable
	at, n uint64     // children entered and all; iterations of a Repeat
	first uint64     // number of the first event in the instance
	begin trace.Time // of that event
}

// Cursor returns a cursor before the first event, with an index of its own.
func (l *Location) Cursor() *Cursor { return l.Index().Cursor() }

// Cursor returns a cursor before the first event.
func (x *Index) Cursor() *Cursor {
	v := x.loc.view
	c := &Cursor{x: x, pos: make([]uint64, len(v.cols)), reads: make([]*column.Cursor, len(v.cols)), time: x.loc.first}
	c.rewind()
	c.settle()
	return c
}

// rewind goes to the first event, without time and positions.
func (c *Cursor) rewind() {
	c.stack, c.depth, c.next = c.stack[:0], 0, 0
	v := c.x.loc.view
	r := c.push(v.root, 0)
	if v.rootRow >= 0 {
		r.row, r.table = uint32(v.rootRow), v.tables[v.root]
	}
}

// push puts an instance on the stack, at its start.
func (c *Cursor) push(id uint32, first uint64) *rung {
	v := c.x.loc.view
	s := v.nodes
	r := rung{id: id, kind: s.kind(id), slot: v.slot[id], child: s.off[id], n: uint64(s.off[id+1] - s.off[id]), first: first}
	switch r.kind {
	case kindRepeat:
		r.n = s.count(id)
	case kindCall:
		c.depth++
	}
	c.stack = append(c.stack, r)
	return &c.stack[len(c.stack)-1]
}

func (c *Cursor) pop() rung {
	r := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	if r.kind == kindCall {
		c.depth--
	}
	return r
}

// place returns the position of child i among the slots and children of a node.
func (r *rung) place(i uint64) uint64 {
	if r.kind == kindRepeat {
		return 0
	}
	return i
}

// column returns the position of child i in a row of a table.
func (t *classTable) column(i uint64, width int) int {
	if i >= uint64(width) { // a Repeat of equal iterations
		return 0
	}
	return int(i)
}

// childAt returns child i of the node in progress.
func (c *Cursor) childAt(r *rung, i uint64) uint32 {
	return c.x.loc.view.nodes.pool[uint64(r.child)+r.place(i)]
}

// Err returns what stopped the cursor; it does not move any more.
func (c *Cursor) Err() error { return c.err }

// Event returns the number of events before the cursor, which is the number of
// the one after it.
func (c *Cursor) Event() uint64 { return c.next }

// Time returns the time of the event before the cursor; before the first event,
// the location's first time.
func (c *Cursor) Time() trace.Time { return c.time }

// settle passes what is not an event: borders of Groups and Repeats, calls that end
// without a leave. It stops before an event, or at the end.
func (c *Cursor) settle() {
	v := c.x.loc.view
	for c.err == nil {
		top := &c.stack[len(c.stack)-1]
		if top.at < top.n {
			id := c.childAt(top, top.at)
			if v.isReal(id) {
				return
			}
			c.descend(id, c.next)
			continue
		}
		switch {
		case top.kind == kindRoot, top.kind == kindCall && !v.shapeOf(top.id).cut:
			return
		}
		c.pop()
	}
}

// descend enters child id of the top, which counts as entered from then on.
func (c *Cursor) descend(id uint32, first uint64) {
	top := &c.stack[len(c.stack)-1]
	row, table := c.classOf(top, id, false)
	top.at++
	r := c.push(id, first)
	r.row, r.table = row, table
}

// climb enters the child of the top that was the last one entered from its end.
func (c *Cursor) climb(id uint32) {
	top := &c.stack[len(c.stack)-1]
	row, table := c.classOf(top, id, true)
	r := c.push(id, c.next-c.x.events[id])
	r.at, r.row, r.table = r.n, row, table
}

// Next passes the event after the cursor; false at the end and after an error,
// see Err.
func (c *Cursor) Next() (Step, bool) {
	depth := c.depth
	id, move, _, ok := c.forward()
	if !ok {
		return Step{}, false
	}
	s := Step{Event: c.next - 1, Time: c.time}
	s.describe(c.x.loc.view, id, depth)
	if move == Leaves {
		s.left(c.x.loc.view, id)
		s.Depth--
	}
	return s, true
}

// forward passes the event after the cursor: one of node id, with the given gap
// before it.
func (c *Cursor) forward() (id uint32, move Move, gap uint64, ok bool) {
	v := c.x.loc.view
	if c.err != nil || c.next == v.events {
		return 0, 0, 0, false
	}
	top := &c.stack[len(c.stack)-1]
	if top.at == top.n {
		id, move = top.id, Leaves
		gap = c.gap(top, top.n, false)
		c.pop()
		c.values(id, stepClose, 1)
	} else {
		id = c.childAt(top, top.at)
		gap = c.gap(top, top.at, false)
		if c.met != nil {
			c.met[id]++
		}
		c.values(id, stepOpen, 1)
		if v.nodes.kind(id) == kindCall {
			move = Enters
			c.descend(id, c.next)
			top = &c.stack[len(c.stack)-1]
			top.begin, top.known = c.time+trace.Time(gap), true
		} else {
			move = Records
			top.at++
		}
	}
	c.next++
	if c.time += trace.Time(gap); c.time < trace.Time(gap) {
		c.fail(c.x.damaged("time overflows"))
	}
	c.settle()
	return id, move, gap, c.err == nil
}

// Prev passes the event before the cursor; false at the start and after an
// error, see Err.
func (c *Cursor) Prev() (Step, bool) {
	at := c.time
	id, move, ok := c.backward()
	if !ok {
		return Step{}, false
	}
	s := Step{Event: c.next, Time: at}
	s.describe(c.x.loc.view, id, c.depth)
	if move == Leaves {
		s.left(c.x.loc.view, id)
		s.Depth--
	}
	return s, true
}

// backward passes the event before the cursor: one of node id.
func (c *Cursor) backward() (id uint32, move Move, ok bool) {
	v := c.x.loc.view
	for c.err == nil && c.next > 0 {
		top := &c.stack[len(c.stack)-1]
		if top.at == 0 { // before its first child: out of it
			r := c.pop()
			top = &c.stack[len(c.stack)-1]
			top.at--
			if r.table != nil && top.table == nil {
				c.pos[v.class[uint64(top.slot)+top.place(top.at)]]--
			}
			if r.kind == kindCall {
				return r.id, Enters, c.back(r.id, c.gap(top, top.at, true), stepOpen)
			}
			continue
		}
		id = c.childAt(top, top.at-1)
		switch v.nodes.kind(id) {
		case kindEvent:
			top.at--
			return id, Records, c.back(id, c.gap(top, top.at, true), stepEvent)
		case kindCall:
			c.climb(id)
			if v.shapeOf(id).cut || c.err != nil {
				continue
			}
			top = &c.stack[len(c.stack)-1]
			return id, Leaves, c.back(id, c.gap(top, top.n, true), stepClose)
		default:
			c.climb(id)
		}
	}
	return 0, 0, false
}

// back finishes a step backwards over an event with the given gap before it.
func (c *Cursor) back(id uint32, gap uint64, st step) bool {
	c.next--
	c.values(id, st, ^uint64(0))
	if c.met != nil && st != stepClose {
		c.met[id]--
	}
	if c.time < trace.Time(gap) {
		c.fail(c.x.damaged("time before 0"))
	}
	c.time -= trace.Time(gap)
	return c.err == nil
}

func (c *Cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// describe fills in what a node says of its event or enter.
func (s *Step) describe(v *view, id uint32, depth int) {
	h := v.shapeOf(id)
	s.Kind, s.Ref, s.Node, s.Tuple, s.Depth, s.Move = h.kind, h.ref, v.ids[id], v.nodes.tuple(id), depth, Records
	s.Region = h.ref
	if h.class == classCall {
		s.Move = Enters
		s.Region = h.region(v.defs)
	}
}

// left turns an enter into the leave of the same call.
func (s *Step) left(v *view, id uint32) {
	s.Move, s.Kind = Leaves, trace.Leave
	if v.shapeOf(id).kind == trace.CallingContextEnter {
		s.Kind, s.Ref = trace.CallingContextLeave, v.shapeOf(id).left
	}
}

// gap passes the gap before child i of r, or its tail at i = n, in either
// direction.
func (c *Cursor) gap(r *rung, i uint64, back bool) uint64 {
	if r.table != nil {
		t := r.table
		return t.gaps[int(r.row)*t.gapsPerRow+t.column(i, t.gapsPerRow)]
	}
	at := c.x.loc.view.column[uint64(r.slot)+r.place(i)]
	if back {
		c.pos[at]--
		return c.valueAt(at, c.pos[at])
	}
	c.pos[at]++
	return c.valueAt(at, c.pos[at]-1)
}

// classOf returns the class row of the child of r that is about to be entered,
// or, back, the one entered last; nil in column mode.
func (c *Cursor) classOf(r *rung, id uint32, back bool) (uint32, *classTable) {
	v := c.x.loc.view
	if v.tables == nil || v.tables[id] == nil {
		return 0, nil
	}
	t := v.tables[id]
	i := r.at
	if back {
		i--
	}
	var row uint64
	if r.table != nil {
		row = uint64(r.table.kids[int(r.row)*r.table.kidsPerRow+r.table.column(i, r.table.kidsPerRow)])
	} else {
		at := v.class[uint64(r.slot)+r.place(i)]
		if !back {
			c.pos[at]++
		}
		row = c.valueAt(at, c.pos[at]-1)
	}
	if row >= uint64(t.rows) {
		c.fail(c.x.damaged("a class that does not exist"))
		return 0, nil
	}
	return uint32(row), t
}

// valueAt reads value i of a column.
func (c *Cursor) valueAt(at int32, i uint64) uint64 {
	if c.cached {
		v, err := c.x.value(at, i)
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

// values moves the positions of the values that come with an event by one, or
// by minus one.
func (c *Cursor) values(id uint32, st step, by uint64) {
	v := c.x.loc.view
	if v.extra[id] == 0 {
		return
	}
	h := v.shapeOf(id)
	at, n := v.valueSlots(h, id, st)
	for _, k := range v.column[at : at+n] {
		c.pos[k] += by
	}
	words := h.payload
	if st == stepClose {
		words = h.leavePayload
	}
	if words > 0 {
		c.pos[v.bytes] += by * words
	}
}
