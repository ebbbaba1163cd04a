package causes

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// pieces decomposes the spans of the path on this rank's locations.
func (c *path) pieces(t *totalling, write func(p trace.P, row *xtf.CPath) error) error {
	rows, err := c.spans.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	more := rows.Next()
	for more {
		p := trace.P(binary.BigEndian.Uint32(rows.Row()))
		l, err := c.run.Open(p)
		if err != nil {
			return err
		}
		line := newTimeline(l, c.run.Derived)
		sums := map[cost1]uint64{}
		for ; more && trace.P(binary.BigEndian.Uint32(rows.Row())) == p; more = rows.Next() {
			begin, end := binary.BigEndian.Uint64(rows.Row()[4:]), binary.BigEndian.Uint64(rows.Row()[12:])
			for line.at < begin {
				line.next(begin)
			}
			err := line.rows(end, func(x *xtf.CPath) error {
				sums[cost1{p: p, key: xtf.NodeKey(x.Node, x.Path), activity: x.Activity}] += x.End - x.T
				return write(p, x)
			})
			if err != nil {
				return err
			}
		}
		if err := line.err(); err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
		for name, ticks := range sums { // the totals are sorted later
			t.add(&name, ticks, 0)
		}
	}
	return rows.Err()
}

// rows walks to an instant and passes the pieces of constant state on the way.
func (x *timeline) rows(to uint64, f func(row *xtf.CPath) error) error {
	var row xtf.CPath
	for x.at < to {
		s, from, end := x.next(to)
		if row.End == from && row.T < row.End && (state{row.Region, row.Activity, row.Path, row.Node}) == s {
			row.End = end
			continue
		}
		if row.T < row.End {
			if err := f(&row); err != nil {
				return err
			}
		}
		row = xtf.CPath{T: from, End: end, Region: s.region, Activity: s.activity, Node: s.node, Path: s.path}
	}
	if row.T < row.End {
		return f(&row)
	}
	return nil
}
