package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// jump is the end of a wait, and who caused it: where the path goes over. In the
// records of a slab it is both as varints.
type jump struct {
	end   uint64
	cause trace.P
}

// collect deals the jumps of this rank's locations out to the slabs.
func (c *Path) collect() error {
	c.out = parcelWriter{to: c.parcels}
	for p := c.own.First; p < c.own.End; p++ {
		if err := c.collectWaits(p); err != nil {
			return err
		}
		if err := c.collectRoots(p); err != nil {
			return err
		}
	}
	c.out.flush()
	return c.out.err
}

func (c *Path) addJump(p trace.P, end uint64, cause uint32) {
	c.out.at(uint32(p), c.parcels.slabs.at(end))
	c.out.buf = varint.Append(c.out.buf, end, uint64(cause))
}

// openSlab reads the jumps of a slab. Of waits that end at one instant the path takes
// the lowest cause first.
func (c *Path) openSlab(k int) error {
	if c.jumps == nil {
		c.jumps = make([][]jump, c.run.Defs.NumLocations())
	}
	clear(c.jumps)
	return c.parcels.each(k, func(p uint32, b []byte) error {
		if uint64(p) >= uint64(len(c.jumps)) {
			return errDamaged
		}
		var list []jump
		r := varint.Read(b)
		for r.Len() > 0 {
			list = append(list, jump{r.Next(), trace.P(r.Next())})
		}
		slices.SortFunc(list, func(a, b jump) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.cause, a.cause)) })
		c.jumps[p] = list
		return failure(&r)
	})
}

// jump returns the last wait of a location that ends by an instant and was not
// passed, and passes it.
func (c *Path) jump(p trace.P, at uint64) (x jump, ok bool) {
	list := c.jumps[p]
	for len(list) > 0 && !ok {
		x = list[len(list)-1]
		list, ok = list[:len(list)-1], x.end <= at
	}
	c.jumps[p] = list
	return x, ok
}

// collectWaits takes the waits of a location but those of roots for the first
// sender.
func (c *Path) collectWaits(p trace.P) error {
	cursor, err := c.run.Waits(p)
	if err != nil {
		return err
	}
	rows := newCauseRows(cursor, p, c.run.Defs.NumLocations())
	for ; rows.More; rows.next() {
		w := &rows.Row
		if w.Pattern&xtf.WaitPatternMask == xtf.WaitEarlyReduce {
			continue
		}
		c.addJump(p, w.End, w.CauseP)
	}
	return rows.Err()
}

// collectRoots takes the waits of a location for the last sender of an operation
// of which it is the root.
func (c *Path) collectRoots(p trace.P) error {
	cursor, causes, err := c.run.Collectives(p)
	if err != nil || cursor == nil {
		return err
	}
	var row xtf.Coll
	var cause xtf.CollCause
	var b [xtf.CollCauseBytes]byte
	for cursor.Next() {
		row.Load(cursor.Row())
		if trace.CollectiveClass(row.Flags&xtf.CollOpMask)&trace.ClassNToOne == 0 || row.Ordinal == xtf.Never || c.outside(row.Region) {
			continue
		}
		if err := readFull(causes, b[:], int64(cursor.N())*xtf.CollCauseBytes); err != nil {
			return err
		}
		cause.Load(b[:])
		end := min(cause.LastT, row.End)
		if cause.LastT == xtf.Never || end <= row.T || uint64(cause.LastP) >= uint64(c.run.Defs.NumLocations()) || trace.P(cause.LastP) == p {
			continue
		}
		c.addJump(p, end, cause.LastP)
	}
	return cursor.Err()
}

// outside reports whether a call counts as no wait.
func (c *Path) outside(region uint32) bool {
	r := c.run.Defs.Region(region)
	return r != nil && c.run.Defs.Class(r)&trace.ClassInit != 0
}
