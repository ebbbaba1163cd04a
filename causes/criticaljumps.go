package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// A jump is the end of a wait, u64, and its cause, u32, little-endian. Sorted they
// are p u32, end u64, all ones minus cause u32, big-endian: of waits that end at one
// instant the path takes the lowest cause first.
const (
	jumpBytes = 12
	jumpBlock = 256 // jumps read at once
	jumpKey   = 16
)

// collect gathers the jumps of this rank's locations.
func (c *Path) collect() error {
	sorter := c.run.Storage.Sorter(jumpKey, jumpKey)
	for p := c.own.First; p < c.own.End; p++ {
		if err := c.collectWaits(p, sorter); err != nil {
			return err
		}
		if err := c.collectRoots(p, sorter); err != nil {
			return err
		}
	}
	rows, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	more := rows.Next()
	var b [jumpBytes]byte
	for p := c.own.First; p < c.own.End; p++ {
		c.first = append(c.first, uint64(c.jumps.size/jumpBytes))
		for ; more && trace.P(binary.BigEndian.Uint32(rows.Row())) == p; more = rows.Next() {
			binary.LittleEndian.PutUint64(b[:], binary.BigEndian.Uint64(rows.Row()[4:]))
			binary.LittleEndian.PutUint32(b[8:], ^binary.BigEndian.Uint32(rows.Row()[12:]))
			if _, err := c.jumps.append(b[:]); err != nil {
				return err
			}
		}
		c.left = append(c.left, uint64(c.jumps.size/jumpBytes))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.jumps.flush()
}

func addJump(s Sorter, p trace.P, end uint64, cause uint32) error {
	var b [jumpKey]byte
	binary.BigEndian.PutUint32(b[0:], uint32(p))
	binary.BigEndian.PutUint64(b[4:], end)
	binary.BigEndian.PutUint32(b[12:], ^cause)
	return s.Add(b[:])
}

// collectWaits takes the waits of a location but those of roots for the first
// sender.
func (c *Path) collectWaits(p trace.P, s Sorter) error {
	cursor, err := c.run.Waits(p)
	if err != nil {
		return err
	}
	rows := newCauseRows(cursor, p, c.run.Defs.NumLocations())
	for ; rows.more; rows.next() {
		w := &rows.row
		if w.Pattern&xtf.WaitPatternMask == xtf.WaitEarlyReduce {
			continue
		}
		if err := addJump(s, p, w.End, w.CauseP); err != nil {
			return err
		}
	}
	return rows.err()
}

// collectRoots takes the waits of a location for the last sender of an operation
// of which it is the root.
func (c *Path) collectRoots(p trace.P, s Sorter) error {
	cursor, causes, err := c.in.Collectives(p)
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
		if err := addJump(s, p, end, cause.LastP); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// outside reports whether a call counts as no wait.
func (c *Path) outside(region uint32) bool {
	r := c.run.Defs.Region(region)
	return r != nil && c.run.Defs.Class(r)&trace.ClassInit != 0
}

// jump returns the last wait of a location that ends by an instant and was not
// passed, and passes it.
func (c *Path) jump(p trace.P, at uint64) (end uint64, cause trace.P, ok bool, err error) {
	i := p - c.own.First
	for c.left[i] > c.first[i] {
		n := min(c.left[i]-c.first[i], jumpBlock)
		if c.buf == nil {
			c.buf = make([]byte, jumpBlock*jumpBytes)
		}
		b := c.buf[:n*jumpBytes]
		if err := readFull(c.jumps.scratch, b, int64(c.left[i]-n)*jumpBytes); err != nil {
			return 0, 0, false, err
		}
		for ; len(b) > 0; b = b[:len(b)-jumpBytes] {
			c.left[i]--
			x := b[len(b)-jumpBytes:]
			if end := binary.LittleEndian.Uint64(x); end <= at {
				return end, trace.P(binary.LittleEndian.Uint32(x[8:])), end >= c.begin, nil
			}
		}
	}
	return 0, 0, false, nil
}
