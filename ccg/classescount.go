package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// Bounds of GapCounts.
const (
	maxSlotValues = 256     // distinct values of a slot that are kept at most
	minSlotValues = 4       // and at least, in graphs of many slots
	maxGapValues  = 1 << 20 // of all slots together, above minSlotValues
)

// GapCounts counts how often each value occurs in each gap slot of a shared
// graph, over any set of locations; class tables are chosen from it. It does not
// depend on the order of locations.
//
// Memory: 20 bytes per node, 8 per gap slot, and per distinct value 24 and up to
// 22 of index: of these there are max(2^20, 4 x slots) at most, and 256 per slot.
type GapCounts struct {
	locator
	instances []uint64 // by node
	locations []uint64 // by node: locations that have it
	first     []uint32 // by node: its first slot; one more at the end
	limit     uint32   // distinct values of a slot
	slots     []slotCounts
	values    keyed[gapAt, uint64] // how often
}

type slotCounts struct {
	distinct uint32 // limit + 1: more, none is kept
	last     uint32 // the value met last, + 1
}

// gapAt is a gap in a slot.
type gapAt struct {
	gap  uint64
	slot uint32
}

// NewGapCounts returns empty counts.
func NewGapCounts(s *Shared) *GapCounts {
	nodes := s.graph.nodes
	c := &GapCounts{
		locator: newLocator(s), instances: make([]uint64, nodes.len()+1), locations: make([]uint64, nodes.len()+1),
		first: make([]uint32, nodes.len()+2),
	}
	n := uint32(0)
	for id := uint32(1); int(id) <= nodes.len(); id++ {
		c.first[id] = n
		n += uint32(len(nodes.children(id)))
		if nodes.kind(id) == kindCall {
			n++
		}
	}
	c.first[nodes.len()+1] = n
	c.slots = make([]slotCounts, n)
	c.limit = min(max(maxGapValues/max(n, 1), minSlotValues), maxSlotValues)
	return c
}

// Add counts the stored gaps of l: O(events).
func (c *GapCounts) Add(l *Local) (err error) {
	defer wrap(&err, "call graph: counting gaps of location %d", l.p)
	l, err = c.shared.Quantise(l)
	if err != nil {
		return err
	}
	v, err := c.open(l, nil)
	if err != nil {
		return err
	}
	for _, id := range v.order {
		c.instances[v.ids[id]] += v.mult[id]
		c.locations[v.ids[id]]++
	}
	slot := make([]uint32, len(v.column)) // of the view -> of the counts
	for _, id := range v.order {
		gaps, _ := v.slots(id)
		for i := range gaps {
			slot[v.slot[id]+i] = c.first[v.ids[id]] + i
		}
	}
	in := stream{src: l.gaps}
	var w walker
	w.init(v)
	for !in.bad {
		st, _, at := w.next()
		switch st {
		case stepEnd:
			return nil
		case stepCut:
			continue
		}
		c.add(slot[at], in.next(), 1)
	}
	return errShort
}

func (c *GapCounts) add(slot uint32, gap, count uint64) {
	s := &c.slots[slot]
	if s.distinct > c.limit {
		return
	}
	k := gapAt{gap, slot}
	if s.last == 0 || c.values.list[s.last-1].key != k {
		n, added := c.values.find(mix(gap*factors[1]+uint64(slot)*factors[2]), k)
		if added {
			s.distinct++ // one too many does not count, nor do the others then
		}
		s.last = uint32(n + 1)
	}
	c.values.list[s.last-1].val += count
}

// Merge adds the counts of o, which are of the same graph.
func (c *GapCounts) Merge(o *GapCounts) {
	for id, n := range o.instances {
		c.instances[id] += n
		c.locations[id] += o.locations[id]
	}
	for i, s := range o.slots {
		if s.distinct > o.limit {
			c.slots[i].distinct = c.limit + 1
		}
	}
	for _, v := range o.values.list {
		c.add(v.key.slot, v.key.gap, v.val)
	}
}

// sorted returns the values that count, by slot and gap.
func (c *GapCounts) sorted() []pair[gapAt, uint64] {
	list := slices.DeleteFunc(slices.Clone(c.values.list), func(v pair[gapAt, uint64]) bool { return c.slots[v.key.slot].distinct > c.limit })
	slices.SortFunc(list, func(a, b pair[gapAt, uint64]) int {
		return cmp.Or(cmp.Compare(a.key.slot, b.key.slot), cmp.Compare(a.key.gap, b.key.gap))
	})
	return list
}

// AppendBinary appends the counts as five columns, each after its length:
// instances and locations by node, distinct values by slot (limit + 1: more), and per value
// its difference to the one before in its slot, and its count.
func (c *GapCounts) AppendBinary(dst []byte) ([]byte, error) {
	var cols [5][]uint64
	cols[0], cols[1] = c.instances[1:], c.locations[1:]
	for _, s := range c.slots {
		cols[2] = append(cols[2], uint64(s.distinct))
	}
	var last gapAt
	for i, v := range c.sorted() {
		if i > 0 && last.slot == v.key.slot {
			cols[3] = append(cols[3], v.key.gap-last.gap)
		} else {
			cols[3] = append(cols[3], v.key.gap)
		}
		cols[4] = append(cols[4], v.val)
		last = v.key
	}
	p := newPartEncoder(false)
	for _, col := range cols {
		p.column(col)
	}
	return append(dst, p.buf...), nil
}

// OpenGapCounts reads what AppendBinary wrote of the same graph.
func OpenGapCounts(s *Shared, src []byte) (_ *GapCounts, err error) {
	defer wrap(&err, "call graph: gap counts")
	c := NewGapCounts(s)
	var cols [5][]uint64
	r := reader{varint.Read(src)}
	p := newPartDecoder()
	defer p.close()
	nodes := uint64(s.Nodes())
	limits := [5]uint64{nodes, nodes, uint64(len(c.slots)), 0, 0}
	for i := range cols {
		if cols[i], err = p.column(&r, nil, limits[i]); err != nil {
			return nil, err
		}
		if uint64(len(cols[i])) != limits[i] {
			return nil, fmt.Errorf("%d values, not %d: %w", len(cols[i]), limits[i], ErrCorrupt)
		}
		if i == 2 {
			for _, n := range cols[2] {
				if n <= uint64(c.limit) {
					limits[3] += n
				}
			}
			limits[4] = limits[3]
		}
	}
	if r.Len() != 0 {
		return nil, fmt.Errorf("%d bytes after it: %w", r.Len(), ErrCorrupt)
	}
	for id, n := range cols[0] {
		if n > maxEvents || cols[1][id] > n {
			return nil, fmt.Errorf("node %d: %d instances in %d locations: %w", id+1, n, cols[1][id], ErrCorrupt)
		}
	}
	copy(c.instances[1:], cols[0])
	copy(c.locations[1:], cols[1])
	if err := c.readValues(cols[2], cols[3], cols[4]); err != nil {
		return nil, err
	}
	return c, nil
}

// readValues adds the values of each slot.
func (c *GapCounts) readValues(distinct, gaps, counts []uint64) error {
	for slot, n := range distinct {
		if n > uint64(c.limit)+1 {
			return fmt.Errorf("%d values in slot %d: %w", n, slot, ErrCorrupt)
		}
		if n > uint64(c.limit) {
			c.slots[slot].distinct = c.limit + 1
			continue
		}
		gap, sum := uint64(0), uint64(0)
		for i := range n {
			gap += gaps[i]
			sum += min(counts[i], maxEvents+1)
			if i > 0 && gaps[i] == 0 || gap < gaps[i] || counts[i] == 0 || sum > maxEvents {
				return fmt.Errorf("bad value of slot %d: %w", slot, ErrCorrupt)
			}
			c.add(uint32(slot), gap, counts[i])
		}
		gaps, counts = gaps[n:], counts[n:]
	}
	return nil
}
