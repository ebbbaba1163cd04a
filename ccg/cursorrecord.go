package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Record appends the event behind the cursor to b with all its fields,
// attributes and surplus, as Expand gives it. The ids of requests and other
// operations in flight, which the graph keeps as differences and distances, are
// found by a few descents and at most one position: O(nodes).
//
// Values of metrics that are kept as differences to all values before them, the
// accumulated and the floating-point ones, cannot be told from here: ErrHistory.
// Expand gives them.
func (c *Cursor) Record(b *trace.Batch) error {
	if c.err != nil {
		return c.err
	}
	v := c.x.loc.view
	if c.next == v.events {
		return fmt.Errorf("call graph: location %d: no event behind the last one: %w", c.x.loc.p, ErrRange)
	}
	top := &c.stack[len(c.stack)-1]
	id, st := top.id, stepClose
	if top.at < top.n {
		if id, st = c.childAt(top, top.at), stepOpen; v.nodes.kind(id) == kindEvent {
			st = stepEvent
		}
	}
	s, ok := c.Next()
	if ok {
		_, ok = c.Prev()
	}
	if !ok {
		return c.err
	}
	y, err := c.reader(id, st)
	if err != nil {
		return err
	}
	y.time, y.n = s.Time, s.Event
	events, args := len(b.Events), len(b.Args)
	if err = y.event(b, st, id); err == nil {
		err = y.columnError()
	}
	if err != nil {
		b.Events, b.Args = b.Events[:events], b.Args[:args]
	}
	return err
}

// reader returns an Expander that stands before the values of an event, with as
// much of the past as the event refers to.
func (c *Cursor) reader(id uint32, st step) (*Expander, error) {
	l, v := c.x.loc, c.x.loc.view
	if c.record == nil {
		c.record = &Expander{
			loc: l, cursors: make([]column.Cursor, len(l.cols)), places: newPlaces(l.shared.defs),
			history: history{counters: newCounters(l.shared.defs)},
		}
		for i := range c.record.cursors {
			c.record.cursors[i].Init(&l.cols[i])
		}
		c.record.places.of(l.p)
	}
	y := c.record
	h := v.shapeOf(id)
	at, n := v.valueSlots(h, id, st)
	for _, k := range v.column[at : at+n] {
		y.cursors[k].Seek(c.pos[k])
	}
	if v.bytes >= 0 {
		y.cursors[v.bytes].Seek(c.pos[v.bytes])
	}
	if h.class != classEvent {
		return y, nil
	}
	w := v.tuples.at(v.nodes.tuple(id))
	if recipes[h.kind].list == trace.MetricList && y.history.refers(h, w) {
		return nil, fmt.Errorf("call graph: location %d, event %d: a metric that was added up from the start: %w", l.p, c.next, ErrHistory)
	}
	return y, c.recall(h, w, y)
}

// refers reports whether values of a metric event are differences to earlier
// ones.
func (y *history) refers(h *shape, w []uint64) bool {
	types := w[h.enterList:h.tailWord(w)]
	y.counters.use(uint32(w[2]), len(types))
	for i, t := range types {
		if k := y.counters.transform(i, trace.ValueType(t)); k == increment || k == xorLast {
			return true
		}
	}
	return false
}

// recall puts the postings that an event refers to into the history of y.
func (c *Cursor) recall(h *shape, w []uint64, y *Expander) error {
	at, f, posts, ok := idField(h)
	if !ok || w[at]&1 != 0 {
		return nil
	}
	n := c.x.posted(f).all.before(c.x, c.next)
	ids := &y.history.families[f]
	if ids.latest == nil {
		ids.latest = new(latest)
	}
	back := w[at] >> 1 // postings to go back
	if posts {
		back = 0
	}
	ids.n, ids.last = n, 0
	if n <= back {
		return nil // the first posting, or one that cannot be
	}
	id, err := c.x.postedID(f, n-1-back)
	if err != nil {
		return err
	}
	ids.last, ids.ring[(n-1-back)%ringSize] = id, id
	return nil
}

// idField returns the word of a record's tuple that is an id in flight, its
// family, and whether the record posts it. No record has two.
func idField(h *shape) (word, f int, posts, ok bool) {
	r := &recipes[h.kind]
	for i, p := range r.places {
		if p >= trace.PostMpi && p <= trace.UseIo {
			f, posts = family(p)
			return r.hardAt(i), f, posts, true
		}
	}
	return 0, 0, false, false
}

// postCounts count the postings of a family of ids.
type postCounts struct {
	all  tally
	far  tally // those whose ids are values
	step tally // differences of the others to the ids before
}

// posted returns the counts of a family: O(edges) the first time.
func (x *Index) posted(f int) *postCounts {
	k := &x.posts[f]
	if k.all != nil {
		return k
	}
	v := x.loc.view
	count := func(what func(word uint64) uint64) tally {
		return v.count(func(id uint32) uint64 {
			if v.nodes.kind(id) != kindEvent {
				return 0
			}
			at, g, posts, ok := idField(v.shapeOf(id))
			if !ok || g != f || !posts {
				return 0
			}
			return what(v.tuples.at(v.nodes.tuple(id))[at])
		})
	}
	k.all = count(func(uint64) uint64 { return 1 })
	k.far = count(func(word uint64) uint64 { return word & 1 })
	k.step = count(func(word uint64) uint64 {
		if word&1 != 0 {
			return 0
		}
		return word >> 1
	})
	return k
}

// postedID returns the id of posting n of a family: the last one up to there
// that is a value, and the differences since.
func (x *Index) postedID(f int, n uint64) (uint64, error) {
	k := x.posted(f)
	_, event, _ := k.all.find(x, n)
	far := k.far.before(x, event+1)
	sum := k.step.before(x, event+1)
	if far == 0 {
		return sum, nil
	}
	id, event, _ := k.far.find(x, far-1)
	v := x.loc.view
	c := x.scouting()
	if err := c.SeekEvent(event); err != nil {
		return 0, err
	}
	slot, _ := v.valueSlots(v.shapeOf(id), id, stepEvent)
	at := v.column[slot+valuesBefore(v.shapeOf(id))]
	var read column.Cursor
	read.Init(&x.loc.cols[at])
	read.Seek(c.pos[at])
	value := read.Next()
	if err := read.Err(); err != nil {
		return 0, x.columnError(at, err)
	}
	return value + sum - k.step.before(x, event), nil
}

// valuesBefore returns the number of values in front of a record's id.
func valuesBefore(h *shape) uint32 {
	n := uint32(0)
	for _, p := range recipes[h.kind].places {
		if p >= trace.PostMpi && p <= trace.UseIo {
			break
		}
		if p == trace.Number || p == trace.FromStamp {
			n++
		}
	}
	return n
}
