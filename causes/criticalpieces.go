package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// trail decomposes the spans of the path on this rank's locations, while these are
// walked: locations ascend, and instants on each.
type trail struct {
	write  func(p trace.P, row *xtf.CPath) error
	totals *totalling
	rows   Rows // nil: there is nothing to decompose
	p      trace.P
	begin  uint64 // the span in hand
	end    uint64
	more   bool      // it is there
	row    xtf.CPath // the piece in hand
	slot   int32     // of it
	sums   []uint64  // by slot
}

// open begins the decomposition.
func (c *Path) open() (*trail, error) {
	x := &c.trail
	var err error
	if x.rows, err = c.spans.Sort(); err != nil {
		return nil, err
	}
	x.next()
	return x, nil
}

// next takes the next span.
func (x *trail) next() {
	if x.more = x.rows.Next(); x.more {
		b := x.rows.Row()
		x.p = trace.P(binary.BigEndian.Uint32(b))
		x.begin, x.end = binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:])
	}
}

// wants reports whether more of a location belongs to the path.
func (x *trail) wants(p trace.P) bool { return x != nil && x.more && x.p == p }

// add takes what location p does from one instant to another; it begins where the
// last call ended.
func (x *trail) add(p trace.P, s *state, slot int32, from, to uint64) error {
	for x.wants(p) && x.begin < to {
		begin, end := max(from, x.begin), min(to, x.end)
		if r := &x.row; r.T < r.End && r.End == begin && r.Region == s.region && r.Activity == s.activity && r.Path == s.path && r.Node == s.node {
			r.End = end
		} else {
			if err := x.flush(p); err != nil {
				return err
			}
			*r = xtf.CPath{T: begin, End: end, Region: s.region, Activity: s.activity, Node: s.node, Path: s.path}
			x.slot = slot
		}
		if x.end > to {
			return nil
		}
		if err := x.flush(p); err != nil {
			return err
		}
		x.next()
	}
	return nil
}

// flush ends the piece in hand.
func (x *trail) flush(p trace.P) error {
	r := &x.row
	if r.T >= r.End {
		return nil
	}
	if more := int(x.slot) + 1 - len(x.sums); more > 0 {
		x.sums = append(x.sums, make([]uint64, more)...)
	}
	x.sums[x.slot] += r.End - r.T
	err := x.write(p, r)
	*r = xtf.CPath{}
	return err
}

// endLocation walks the rest of the path on the location in hand.
func (x *trail) endLocation(w *lineWriter) error {
	if x == nil {
		return nil
	}
	for x.wants(w.p) {
		s, from, to := w.line.next(x.end)
		if err := x.add(w.p, &s, w.slot(s), from, to); err != nil {
			return err
		}
	}
	for i, ticks := range x.sums {
		if k := w.keys[i]; ticks > 0 {
			x.totals.add(&cost1{p: w.p, key: xtf.NodeKey(k.node, uint32(k.key>>activityBits)), activity: activityOf(k.key)}, ticks, 0)
		}
	}
	x.sums = x.sums[:0]
	return nil
}

// close ends the decomposition.
func (x *trail) close() error {
	if x == nil {
		return nil
	}
	defer x.rows.Close()
	if x.more {
		return errDamaged
	}
	return x.rows.Err()
}
