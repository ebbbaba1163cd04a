package build

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
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
	values    graph.Keyed[gapAt, uint64] // how often
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
func NewGapCounts(s *graph.Shared) *GapCounts {
	nodes := s.Graph.Nodes
	c := &GapCounts{
		locator: newLocator(s), instances: make([]uint64, nodes.Len()+1), locations: make([]uint64, nodes.Len()+1),
		first: make([]uint32, nodes.Len()+2),
	}
	n := uint32(0)
	for id := uint32(1); int(id) <= nodes.Len(); id++ {
		c.first[id] = n
		n += uint32(len(nodes.Children(id)))
		if nodes.Kind(id) == graph.KindCall {
			n++
		}
	}
	c.first[nodes.Len()+1] = n
	c.slots = make([]slotCounts, n)
	c.limit = min(max(maxGapValues/max(n, 1), minSlotValues), maxSlotValues)
	return c
}

// Add counts the stored gaps of l: O(events).
func (c *GapCounts) Add(l *Local) (err error) {
	defer graph.Wrap(&err, "call graph: counting gaps of location %d", l.p)
	v, err := c.open(l, nil)
	if err != nil {
		return err
	}
	for _, id := range v.Order {
		c.instances[v.Ids[id]] += v.Mult[id]
		c.locations[v.Ids[id]]++
	}
	slot := make([]uint32, len(v.Column)) // of the view -> of the counts
	for _, id := range v.Order {
		gaps, _ := v.Slots(id)
		for i := range gaps {
			slot[v.Slot[id]+i] = c.first[v.Ids[id]] + i
		}
	}
	in := stream{src: l.gaps}
	var w graph.Walker
	w.Init(v)
	for !in.bad {
		st, _, at := w.Next()
		switch st {
		case graph.StepEnd:
			return nil
		case graph.StepCut:
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
	if s.last == 0 || c.values.List[s.last-1].Key != k {
		n, added := c.values.Find(graph.Mix(gap*graph.Factors[1]+uint64(slot)*graph.Factors[2]), k)
		if added {
			s.distinct++ // one too many does not count, nor do the others then
		}
		s.last = uint32(n + 1)
	}
	c.values.List[s.last-1].Val += count
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
	for _, v := range o.values.List {
		c.add(v.Key.slot, v.Key.gap, v.Val)
	}
}

// sorted returns the values that count, by slot and gap.
func (c *GapCounts) sorted() []graph.Pair[gapAt, uint64] {
	list := slices.DeleteFunc(slices.Clone(c.values.List), func(v graph.Pair[gapAt, uint64]) bool { return c.slots[v.Key.slot].distinct > c.limit })
	slices.SortFunc(list, func(a, b graph.Pair[gapAt, uint64]) int {
		return cmp.Or(cmp.Compare(a.Key.slot, b.Key.slot), cmp.Compare(a.Key.gap, b.Key.gap))
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
		if i > 0 && last.slot == v.Key.slot {
			cols[3] = append(cols[3], v.Key.gap-last.gap)
		} else {
			cols[3] = append(cols[3], v.Key.gap)
		}
		cols[4] = append(cols[4], v.Val)
		last = v.Key
	}
	p := graph.NewPartEncoder(false)
	for _, col := range cols {
		p.Column(col)
	}
	return append(dst, p.Buf...), nil
}

// OpenGapCounts reads what AppendBinary wrote of the same graph.
func OpenGapCounts(s *graph.Shared, src []byte) (_ *GapCounts, err error) {
	defer graph.Wrap(&err, "call graph: gap counts")
	c := NewGapCounts(s)
	var cols [5][]uint64
	r := graph.Read(src)
	p := graph.NewPartDecoder()
	defer p.Close()
	nodes := uint64(s.Nodes())
	limits := [5]uint64{nodes, nodes, uint64(len(c.slots)), 0, 0}
	for i := range cols {
		if cols[i], err = p.Column(&r, nil, limits[i]); err != nil {
			return nil, err
		}
		if uint64(len(cols[i])) != limits[i] {
			return nil, fmt.Errorf("%d values, not %d: %w", len(cols[i]), limits[i], graph.ErrCorrupt)
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
		return nil, fmt.Errorf("%d bytes after it: %w", r.Len(), graph.ErrCorrupt)
	}
	for id, n := range cols[0] {
		if n > graph.MaxEvents || cols[1][id] > n {
			return nil, fmt.Errorf("node %d: %d instances in %d locations: %w", id+1, n, cols[1][id], graph.ErrCorrupt)
		}
	}
	copy(c.instances[1:], cols[0])
	copy(c.locations[1:], cols[1])
	if err := c.readValues(cols[2], cols[3], cols[4]); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *GapCounts) readValues(distinct, gaps, counts []uint64) error {
	for slot, n := range distinct {
		if n > uint64(c.limit)+1 {
			return fmt.Errorf("%d values in slot %d: %w", n, slot, graph.ErrCorrupt)
		}
		if n > uint64(c.limit) {
			c.slots[slot].distinct = c.limit + 1
			continue
		}
		gap, sum := uint64(0), uint64(0)
		for i := range n {
			gap += gaps[i]
			sum += min(counts[i], graph.MaxEvents+1)
			if i > 0 && gaps[i] == 0 || gap < gaps[i] || counts[i] == 0 || sum > graph.MaxEvents {
				return fmt.Errorf("bad value of slot %d: %w", slot, graph.ErrCorrupt)
			}
			c.add(uint32(slot), gap, counts[i])
		}
		gaps, counts = gaps[n:], counts[n:]
	}
	return nil
}
