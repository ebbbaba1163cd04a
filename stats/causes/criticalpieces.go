package causes

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// What the path consists of on a location in a slab is its pieces, in order:
//
//	ticks since the end of the last one | ticks | key | node | 2 x (1 + region, 0 for that of the path) + (the path is here after it too)
//
// The last part is 1 only where the path goes on in the next slab.

// pieces gives what the path consists of in a slab, of which these are the time lines, to the ranks of the locations, once.
func (c *Path) pieces(k int, lines []lineSlab) error {
	if c.found == nil {
		return nil
	}
	list := c.spans[k-c.run.parcels.own]
	c.spans[k-c.run.parcels.own] = nil
	slices.SortFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.begin, b.begin)) })
	at := uint64(0)
	for i := range list {
		s := &list[i]
		if i == 0 || s.p != list[i-1].p {
			at = 0
		}
		if c.out.at(uint32(k), int(s.p)); !c.cut(s, &lines[s.p], at) {
			return ErrDamaged
		}
		at = s.end
	}
	c.out.flush()
	return c.out.err
}

// cut parts a span where the location begins to do something else, false if that is not known.
func (c *Path) cut(s *span, x *lineSlab, at uint64) bool {
	var on slotKey
	var region uint32
	from, end := s.begin, s.begin
	put := func(goesOn uint64) {
		if from < end {
			c.out.buf = varint.Append(c.out.buf, from-at, end-from, on.key, uint64(on.node), uint64(region+1)<<1|goesOn)
			from, at = end, end
		}
	}
	for i := x.find(&x.near[0], s.begin); i < len(x.ends) && end < s.end; i++ {
		if k, r := x.keys[x.ids[i]>>pieceBits], x.regionOf(i); k != on || r != region {
			put(0)
			on, region = k, r
		}
		end = min(x.ends[i], s.end)
	}
	goesOn := uint64(0)
	if s.goesOn {
		goesOn = 1
	}
	put(goesOn)
	return end == s.end
}

// deliver writes the pieces of this rank's locations, in order, where no rank failed before. Collective.
func (c *Path) deliver(failed error) error {
	if c.found == nil {
		return c.run.Comm.Agree(failed)
	}
	defer c.found.drop()
	if err := c.found.deliver(failed); err != nil {
		return err
	}
	var err error
	var sums slotTable
	for p := c.found.own; p < c.found.end && err == nil; p++ {
		sums.clear()
		x := pathWriter{c: c, p: trace.P(p), sums: &sums}
		err = c.found.each(0, p, x.slab)
		if err == nil {
			err = x.end()
		}
	}
	return c.run.Comm.Agree(err)
}

// pathWriter writes the pieces of a location.
type pathWriter struct {
	c      *Path
	p      trace.P
	row    xtf.CPath // the last one
	on     slotKey
	goesOn bool
	sums   *slotTable
}

// slab takes the pieces of the next slab.
func (x *pathWriter) slab(_ uint32, b []byte) error {
	r, at := varint.Read(b), uint64(0)
	for r.Len() > 0 {
		from := at + r.Next()
		at = from + r.Next()
		on, last := slotKey{r.Next(), r.Uint32()}, r.Next()
		region := uint32(last>>1) - 1
		if region == trace.Undefined {
			path := on.key >> activityBits
			if path >= uint64(len(x.c.run.Regions)) {
				return ErrDamaged
			}
			region = x.c.run.Regions[path]
		}
		if x.goesOn && x.row.End == from && on == x.on && region == x.row.Region {
			x.row.End = at
		} else {
			if err := x.write(); err != nil {
				return err
			}
			x.on = on
			x.row = xtf.CPath{T: from, End: at, Region: region, Activity: activityOf(on.key), Node: on.node, Path: uint32(on.key >> activityBits)}
		}
		x.goesOn = last&1 > 0
	}
	return failure(&r)
}

func (x *pathWriter) write() error {
	if x.row.T == x.row.End {
		return nil
	}
	x.sums.list[x.sums.find(x.on.key, x.on.node)].total += x.row.End - x.row.T
	return x.c.write(x.p, &x.row)
}

// end writes the last piece, and adds the location to the totals; locations ascend.
func (x *pathWriter) end() error {
	err := x.write()
	for _, k := range x.sums.list[1:] { // of waits there are none
		name := totals.Name{Key: xtf.NodeKey(k.node, uint32(k.key>>activityBits)), Activity: activityOf(k.key)}
		x.c.totals.Add(&totals.Row{Name: name, Sum: [2]uint64{k.total}, Worst: k.total, WorstP: uint32(x.p)})
	}
	return err
}
