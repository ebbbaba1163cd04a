package paraver

import "github.com/coppice-hpc/coppice/trace"

// beginCollective looks for the arguments of the collective that the record in
// hand opens. Without them, or with a communicator that no line defines, the
// call is one without a collective operation; the index counted that. So is one
// that only begins the operation: a trace does not tell when that is complete.
func (d *decoder) beginCollective(b *trace.Batch) (c collective, ordinal uint64, ok bool) {
	t := d.t.tables
	c, ok, _ = d.t.head.collectiveOf(d.t.head.tasks[d.task].app, d.pairs, func(p pair) behaviour { return t.behaviours[t.regions[p]] })
	if !ok {
		return c, 0, false
	}
	ordinal = d.calls[c.comm]
	d.calls[c.comm]++
	if c.role&starts != 0 {
		return c, ordinal, false
	}
	b.Append(d.now, trace.MpiCollectiveBegin, 0)
	return c, ordinal, true
}

// endCollective delivers the operation of a call that ends. The root of the
// n-th operation on a communicator comes from the index: other members do not
// record it.
func (d *decoder) endCollective(b *trace.Batch, f *frame) {
	c := &f.coll
	root := uint64(trace.Undefined)
	if c.rooted {
		if r, ok := rootOf(d.t.index.Roots[c.comm], f.ordinal); ok {
			root = uint64(r)
		}
	}
	b.Append(d.now, trace.MpiCollectiveEnd, 0, uint64(c.collective), uint64(c.comm), root, c.sent, c.received)
}
