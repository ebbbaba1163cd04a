package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/trace"
)

// costName identifies a delay cost.
type costName struct {
	p        trace.P // the late location
	key      uint64  // node and path, as xtf.NodeKey
	pattern  uint32
	activity uint32
}

// Kinds of costs (package comment).
const (
	shortTerm = iota
	longTerm
	costKinds
)

// cost is a delay cost, in ticks.
type cost struct {
	costName
	sum [costKinds]uint64
}

// costs adds up delay costs. When mostCosts are in memory they go to a sorter. Memory: 64 bytes for each of mostCosts.
type costs struct {
	list   []cost
	index  []uint32 // 1 + number in list, by hash and linear probing; 0 is free
	sorter Sorter
}

// name returns the name of the total over all locations.
func (x *costName) name() totals.Name {
	return totals.Name{Key: x.key, Pattern: x.pattern, Activity: x.activity}
}

// hash returns a slot among n, a power of two.
func (x *costName) hash(n int) int {
	h := (x.key^uint64(x.p)<<40)*0x9E3779B97F4A7C15 + uint64(x.pattern*7+x.activity)*0xC2B2AE3D27D4EB4F
	return int(h >> 40 & uint64(n-1))
}

const mostCosts = 1 << 16

// A stored cost is p u32, key u64, pattern u32, activity u32, the key by which it is sorted, then short u64, long u64, big-endian.
const (
	costBytes = 36
	costKey   = 20
)

func newCosts(s *Storage) costs {
	return costs{index: make([]uint32, 256), sorter: s.Sorter(costBytes, costKey)}
}

// find returns the sum of a cost in memory, and adds the cost if it is new. The sum is valid until the next call.
func (c *costs) find(x *costName) (*[costKinds]uint64, error) {
	i := c.place(x)
	if n := c.index[i]; n > 0 {
		return &c.list[n-1].sum, nil
	}
	switch {
	case len(c.list) == mostCosts:
		if err := c.spill(); err != nil {
			return nil, err
		}
		i = c.place(x)
	case 2*len(c.list) >= len(c.index):
		c.index = make([]uint32, 2*len(c.index))
		for n := range c.list {
			c.index[c.place(&c.list[n].costName)] = uint32(n + 1)
		}
		i = c.place(x)
	}
	c.list = append(c.list, cost{costName: *x})
	c.index[i] = uint32(len(c.list))
	return &c.list[len(c.list)-1].sum, nil
}

// place returns the slot of the index that has a cost, or would have it.
func (c *costs) place(x *costName) int {
	i := x.hash(len(c.index))
	for c.index[i] > 0 && c.list[c.index[i]-1].costName != *x {
		i = (i + 1) & (len(c.index) - 1)
	}
	return i
}

func (x *costName) put(row []byte, sum [costKinds]uint64) {
	_ = row[costBytes-1]
	binary.BigEndian.PutUint32(row[0:], uint32(x.p))
	binary.BigEndian.PutUint64(row[4:], x.key)
	binary.BigEndian.PutUint32(row[12:], x.pattern)
	binary.BigEndian.PutUint32(row[16:], x.activity)
	binary.BigEndian.PutUint64(row[20:], sum[shortTerm])
	binary.BigEndian.PutUint64(row[28:], sum[longTerm])
}

// loadCost reads what put wrote.
func loadCost(row []byte) (x costName, sum [costKinds]uint64) {
	_ = row[costBytes-1]
	be := binary.BigEndian
	x = costName{trace.P(be.Uint32(row)), be.Uint64(row[4:]), be.Uint32(row[12:]), be.Uint32(row[16:])}
	return x, [costKinds]uint64{be.Uint64(row[20:]), be.Uint64(row[28:])}
}

// add adds ticks to a cost.
func (c *costs) add(x *costName, add [costKinds]uint64) error {
	sum, err := c.find(x)
	if err != nil {
		return err
	}
	for k := range sum {
		sum[k] += add[k]
	}
	return nil
}

// spill moves the costs from memory to the sorter.
func (c *costs) spill() error {
	var row [costBytes]byte
	for i := range c.list {
		c.list[i].put(row[:], c.list[i].sum)
		if err := c.sorter.Add(row[:]); err != nil {
			return err
		}
	}
	c.list = c.list[:0]
	clear(c.index)
	return nil
}

// each calls f for all costs in the order of their names. It ends the adding.
func (c *costs) each(f func(x *costName, sum [costKinds]uint64) error) error {
	if err := c.spill(); err != nil {
		return err
	}
	rows, err := c.sorter.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	var at costName
	var sum [costKinds]uint64
	any := false
	for rows.Next() {
		x, more := loadCost(rows.Row())
		if any && x != at {
			if err := f(&at, sum); err != nil {
				return err
			}
			sum = [costKinds]uint64{}
		}
		at, any = x, true
		for k := range sum {
			sum[k] += more[k]
		}
	}
	if err := rows.Err(); err != nil || !any {
		return err
	}
	return f(&at, sum)
}
