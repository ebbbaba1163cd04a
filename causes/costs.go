package causes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// cost1 names a cost of a location.
type cost1 struct {
	p        trace.P
	key      uint64 // node and path
	pattern  uint32
	activity uint32
}

// costKinds is what a cost is made of: of a wait itself, and of what it passes on.
const (
	shortTerm = iota
	longTerm
	costKinds
)

// cost is what was added to a cost.
type cost struct {
	cost1
	sum [costKinds]uint64
}

// costs sums the costs of the locations of this rank, which are no more ticks than there are waits: as many as mostCosts in
// memory, all in a sorter. Memory: 64 bytes for each of mostCosts.
type costs struct {
	list   []cost
	index  []uint32 // 1 + number in list, by hash and linear probing; 0 is free
	sorter Sorter
}

// hash is a place among n, a power of two.
func (x *cost1) hash(n int) int {
	h := (x.key^uint64(x.p)<<40)*0x9E3779B97F4A7C15 + uint64(x.pattern*7+x.activity)*0xC2B2AE3D27D4EB4F
	return int(h >> 40 & uint64(n-1))
}

const mostCosts = 1 << 16

// A stored cost is, big-endian, p u32, key u64, pattern, activity u32, by which it
// is sorted, then short, long u64.
const (
	costBytes = 36
	costKey   = 20
)

func newCosts(s *Storage) costs {
	return costs{index: make([]uint32, 256), sorter: s.Sorter(costBytes, costKey)}
}

// find returns the sum of a cost in memory, where it may be new; it is valid until
// the next call.
func (c *costs) find(x *cost1) (*[costKinds]uint64, error) {
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
			c.index[c.place(&c.list[n].cost1)] = uint32(n + 1)
		}
		i = c.place(x)
	}
	c.list = append(c.list, cost{cost1: *x})
	c.index[i] = uint32(len(c.list))
	return &c.list[len(c.list)-1].sum, nil
}

// place is where the index has a cost, or would have it.
func (c *costs) place(x *cost1) int {
	i := x.hash(len(c.index))
	for c.index[i] > 0 && c.list[c.index[i]-1].cost1 != *x {
		i = (i + 1) & (len(c.index) - 1)
	}
	return i
}

// put encodes a cost.
func (x *cost1) put(row []byte, sum [costKinds]uint64) {
	_ = row[costBytes-1]
	binary.BigEndian.PutUint32(row[0:], uint32(x.p))
	binary.BigEndian.PutUint64(row[4:], x.key)
	binary.BigEndian.PutUint32(row[12:], x.pattern)
	binary.BigEndian.PutUint32(row[16:], x.activity)
	binary.BigEndian.PutUint64(row[20:], sum[shortTerm])
	binary.BigEndian.PutUint64(row[28:], sum[longTerm])
}

// loadCost reads what put wrote.
func loadCost(row []byte) (x cost1, sum [costKinds]uint64) {
	_ = row[costBytes-1]
	be := binary.BigEndian
	x = cost1{trace.P(be.Uint32(row)), be.Uint64(row[4:]), be.Uint32(row[12:]), be.Uint32(row[16:])}
	return x, [costKinds]uint64{be.Uint64(row[20:]), be.Uint64(row[28:])}
}

// add adds to both sums.
func (c *costs) add(x *cost1, add [costKinds]uint64) error {
	sum, err := c.find(x)
	if err != nil {
		return err
	}
	for k := range sum {
		sum[k] += add[k]
	}
	return nil
}

// spill moves the sums to the sorter, in which order does not matter.
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

// each passes the sums in the order of their names.
func (c *costs) each(f func(x *cost1, sum [costKinds]uint64) error) error {
	if err := c.spill(); err != nil {
		return err
	}
	rows, err := c.sorter.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	var at cost1
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

// Totals are sums over all locations by what their rows name, in that order; the
// name of a path of the critical path has no pattern.
type Totals []Total

// Total is one of them.
type Total struct {
	Key      uint64 // node and path
	Pattern  uint32
	Activity uint32
	Short    uint64 // ticks
	Long     uint64
	Worst    uint64 // largest sum of one location
	WorstP   uint32 // the first location that has it
}

func compareTotals(a, b Total) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Activity, b.Activity))
}

// totalling sums over the locations of a rank.
type totalling struct {
	index map[cost1]int // p is 0
	list  Totals
}

func newTotalling() *totalling { return &totalling{index: map[cost1]int{}} }

// add adds the sums of a location; locations ascend.
func (t *totalling) add(x *cost1, short, long uint64) {
	name := *x
	name.p = 0
	i, ok := t.index[name]
	if !ok {
		i = len(t.list)
		t.index[name] = i
		t.list = append(t.list, Total{Key: x.key, Pattern: x.pattern, Activity: x.activity})
	}
	t.list[i].add(&Total{Short: short, Long: long, Worst: short + long, WorstP: uint32(x.p)})
}

// add adds the sums of higher locations.
func (t *Total) add(o *Total) {
	if o.Worst > t.Worst {
		t.Worst, t.WorstP = o.Worst, o.WorstP
	}
	t.Short += o.Short
	t.Long += o.Long
}

// reduce sums over all ranks; rank 0 gets the result. Memory there: 48 bytes per
// total. Collective.
func (t *totalling) reduce(c mpi.Comm) (Totals, error) {
	slices.SortFunc(t.list, compareTotals)
	return mpi.TreeReduce(c, t.list, encodeTotals, decodeTotals, func(a, b Totals) (Totals, error) {
		return mergeTotals(a, b), nil
	})
}

// mergeTotals merges sums of lower locations with those of higher ones.
func mergeTotals(a, b Totals) Totals {
	out := make(Totals, 0, max(len(a), len(b)))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && compareTotals(a[0], b[0]) < 0:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || compareTotals(a[0], b[0]) > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			x := a[0]
			x.add(&b[0])
			out, a, b = append(out, x), a[1:], b[1:]
		}
	}
	return out
}

func encodeTotals(t Totals) (b []byte, err error) {
	for i := range t {
		x := &t[i]
		b = varint.Append(b, x.Key, uint64(x.Pattern), uint64(x.Activity), x.Short, x.Long, x.Worst, uint64(x.WorstP))
	}
	return b, nil
}

func decodeTotals(b []byte) (t Totals, err error) {
	r := varint.Read(b)
	for r.Len() > 0 {
		t = append(t, Total{r.Next(), r.Uint32(), r.Uint32(), r.Next(), r.Next(), r.Next(), r.Uint32()})
	}
	return t, failure(&r)
}
