package simnet

import "slices"

// Operations of a channel that are completed in another order than posted leave holes: numbers behind the oldest open one
// that are done. They are rare, so they are kept beside the channels.

// holeKey names one end of a channel.
type holeKey struct {
	id  uint32
	end chanFlags // sendHoles or recvHoles
}

// progress is which operations of one end are complete: those before first, and those in the ascending list closed.
type progress struct {
	first  uint32
	closed []uint32
}

// number returns which post a completion means, with regard to holes and to the completions gathered before.
func (w *worker) number(done, id uint32, o *op, end chanFlags) uint32 {
	key := holeKey{id, end}
	s, ok := w.closing[key]
	if !ok {
		s = progress{done, slices.Clone(w.holes[key])}
	}
	n := openAt(s.first, s.closed, o.age)
	s.first, s.closed = closeAt(s.first, s.closed, n)
	w.closing[key] = s
	return n
}

// nothing completes post n, which has no partner.
func (w *worker) nothing(id, n uint32, o *op, end chanFlags) verdict {
	w.nulls = append(w.nulls, item{id: id, n: n, port: o.port, end: end})
	return there
}

// closeHole completes operation x of one end of a channel, and returns the oldest one that is open then.
func (w *worker) closeHole(c *channel, done uint32, x *item, end chanFlags) uint32 {
	key := holeKey{x.id, end}
	first, closed := closeAt(done, w.holes[key], x.n)
	if closed == nil {
		delete(w.holes, key)
		c.flags &^= end
	} else {
		w.holes[key] = closed
		c.flags |= end
	}
	return first
}
