package build

import (
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// ClassModes says for each node of a shared graph whether it has a class table.
type ClassModes struct {
	table []bool // by node id
}

// classMargin is how many bits the classes of a node have to be rarer than its
// instances: 16 instances for each row of a table.
const classMargin = 4 << logBits

// unbounded is an entropy above all others.
const unbounded = 1 << 40

// Choose picks the nodes that get class tables.
//
// A node can have one if the gaps below it have an entropy H of at most
// log2(N) - 4 bits per instance, of N instances in all locations, so that there
// is a row for about 16 instances or more. Slots are taken as independent, so
// 2^H is what the rows would be at most, typically. A node with a child in column
// mode is in column mode, and so is a Repeat of more than Fan iterations that
// could differ.
//
// Classes hold no fewer bits than the gaps they stand for, what they save is the
// number of columns. So, from the roots down, a node keeps its table only if a
// node around it does, or if its class columns take less than the columns that
// would be there instead.
func (c *GapCounts) Choose() ClassModes {
	s := c.shared.Graph.Nodes
	m, total := c.eligible()
	inside := make([]bool, s.Len()+1)   // a node around it has a table
	around := make([]uint64, s.Len()+1) // bytes of its class columns
	for id := uint32(s.Len()); id > 0; id-- {
		if m.table[id] && !inside[id] && around[id]+c.fewBytes(id) >= c.columnBytes(id) {
			m.table[id] = false
		}
		for _, child := range s.Children(id) {
			if m.table[id] {
				inside[child] = true
			} else {
				around[child] += c.classBytes(id, total[child])
			}
		}
	}
	return m
}

// eligible returns the nodes that can have tables, and the entropy of the gaps
// below each node: bits per instance, logBits of them fractional.
func (c *GapCounts) eligible() (ClassModes, []uint64) {
	s := c.shared.Graph.Nodes
	own := c.entropies()
	total := make([]uint64, s.Len()+1)
	m := ClassModes{make([]bool, s.Len()+1)}
	for id := uint32(1); int(id) <= s.Len(); id++ {
		if s.Kind(id) == graph.KindEvent {
			continue
		}
		h, ok := uint64(0), true
		for i := c.first[id]; i < c.first[id+1]; i++ {
			h = min(h+own[i], unbounded)
		}
		for _, child := range s.Children(id) {
			h = min(h+total[child], unbounded)
			ok = ok && (m.table[child] || s.Kind(child) == graph.KindEvent)
		}
		if n := s.Kind(id); n == graph.KindRepeat && h > 0 {
			ok = ok && s.Count(id) <= uint64(c.shared.Opt.Fan)
			h = min(h*min(s.Count(id), unbounded>>20), unbounded)
		}
		total[id] = h
		m.table[id] = ok && h+classMargin <= log2Fixed(c.instances[id])
	}
	return m, total
}

// entropies returns the entropy of each slot: bits per value, logBits of them
// fractional; unbounded where there were too many values.
func (c *GapCounts) entropies() []uint64 {
	h := make([]uint64, len(c.slots))
	sum := make([]uint64, len(c.slots)) // of counts
	for _, v := range c.values.List {
		sum[v.Key.slot] += v.Val
	}
	all := make([]graph.Total, len(c.slots))
	for _, v := range c.values.List { // sum count * log2(sum/count)
		slot := v.Key.slot
		all[slot] = all[slot].Plus(graph.Product(v.Val, log2Fixed(sum[slot])-log2Fixed(v.Val)))
	}
	for i, s := range c.slots {
		switch {
		case s.distinct > c.limit || all[i].Hi != 0 && all[i].Hi >= sum[i]:
			h[i] = unbounded
		case sum[i] > 0:
			h[i], _ = all[i].Divide(sum[i])
			if s.distinct > 1 {
				h[i] = max(h[i], 1) // not one value
			}
		}
	}
	return h
}

// columnSize estimates the bytes that a column of a node takes in all locations,
// next to the entropy of its values: its heads, or a byte per value if other slots
// share it.
func (c *GapCounts) columnSize(id uint32) (size uint64, shared bool) {
	const head = 9 // of a block of equal values
	n, locations := c.instances[id], c.locations[id]
	if c.shared.Graph.Nodes.Kind(id) == graph.KindRepeat {
		n *= c.shared.Graph.Nodes.Count(id)
	}
	if n < graph.OwnColumn*locations || locations == 0 {
		return n, true
	}
	return locations * (1 + head*(1+n/locations/column.BlockSize)), false
}

// columnBytes estimates the columns that a node has without a table.
func (c *GapCounts) columnBytes(id uint32) uint64 {
	n := uint64(0)
	for _, child := range c.shared.Graph.Nodes.Children(id) {
		k := c.shared.Graph.Nodes.Kind(child)
		if k <= graph.KindEvent {
			n++
		}
		if k != graph.KindEvent {
			n++
		}
	}
	if h := c.shared.Graph.ShapeOf(id); h.Class == graph.ClassCall && !h.Cut {
		n++
	}
	size, _ := c.columnSize(id)
	return n * size
}

// classBytes estimates the class column below a node of a child with the given
// entropy. Only slots of the same child share it: if there are several classes, it
// takes two bytes per value.
func (c *GapCounts) classBytes(id uint32, entropy uint64) uint64 {
	size, shared := c.columnSize(id)
	if shared && entropy > 0 {
		return 2 * size
	}
	return size
}

// fewBytes is what such a column takes for a node of few instances in any case.
func (c *GapCounts) fewBytes(id uint32) uint64 {
	const column = 3
	if c.instances[id] < graph.OwnColumn*c.locations[id] {
		return column * c.locations[id]
	}
	return 0
}
