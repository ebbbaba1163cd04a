package ccg

import "math"

// Bytes of a record in memory, by which graphs are compared: 16 per node or
// instance, 4 per child, 8 per gap or value.
const (
	nodeBytes  = 16
	childBytes = 4
	valueBytes = 8
)

// Stats tells how well a graph compresses.
type Stats struct {
	Locations   uint64
	Events      uint64
	Instances   uint64 // calls, records and roots in the unfolded trees
	Nodes       uint64 // stored, Groups and Repeats too
	Used        uint64 // of these, in the locations added
	Tuples      uint64
	Rows        uint64 // of class tables
	Single      uint64 // nodes with one instance over all locations
	Columns     uint64
	SharedBytes uint64 // the shared section
	ClassBytes  uint64 // of it, class tables
	ColumnBytes uint64 // the blobs
	RawBytes    uint64 // the unshared graph: a record per instance, plain values
	StoredBytes uint64 // the shared graph: a record per node, columns as they are
	Errors      ErrorStats
}

// Summary adds up the statistics of a graph over its locations.
type Summary struct {
	stats Stats
	mult  []uint64
}

// NewSummary starts the statistics of s, whose section has the given size.
func NewSummary(s *Shared, section int) *Summary {
	m := &Summary{mult: make([]uint64, s.Nodes()+1)}
	m.stats = Stats{Nodes: uint64(s.Nodes()), Tuples: uint64(s.graph.tuples.len()), SharedBytes: uint64(section)}
	if !s.opt.Deviation.Lossless() {
		m.stats.ClassBytes = uint64(len(appendClasses(nil, &s.graph, s.classes, s.opt.Fan)))
	}
	m.stats.Rows, m.stats.StoredBytes = s.tableSizes()
	m.stats.StoredBytes += nodeBytes*uint64(s.Nodes()) + childBytes*uint64(len(s.graph.nodes.pool)) + valueBytes*uint64(len(s.graph.tuples.pool))
	return m
}

// Add adds a location.
func (m *Summary) Add(l *Location) {
	v, s := l.view, &m.stats
	s.Locations++
	s.Events += v.events
	s.Columns += uint64(len(l.cols))
	s.ColumnBytes += uint64(l.size)
	s.StoredBytes += uint64(l.size)
	s.Errors.Add(l.errors)
	for _, id := range v.order {
		s.RawBytes += v.mult[id] * v.values(id) * valueBytes
		m.mult[v.ids[id]] += v.mult[id]
		if k := v.nodes.kind(id); k <= kindRoot {
			s.Instances += v.mult[id]
			s.RawBytes += v.mult[id] * (nodeBytes + childBytes)
		}
	}
}

// values returns the gaps and values of an instance of a node by itself.
func (v *view) values(id uint32) uint64 {
	h := v.shapeOf(id)
	return uint64(h.values) + uint64(h.leaveValues) + h.payload + h.leavePayload + v.gapsOf(id)
}

// gapsOf returns the gaps of an instance of a node by itself: before its real children, and before its leave.
func (v *view) gapsOf(id uint32) uint64 {
	n := uint64(0)
	for _, c := range v.nodes.children(id) {
		if v.isReal(c) {
			n++
		}
	}
	switch h := v.shapeOf(id); {
	case v.nodes.kind(id) == kindRepeat:
		n *= v.nodes.count(id)
	case h.class == classCall && !h.cut:
		n++
	}
	return n
}

// tableSizes returns the number of rows in all class tables, and their bytes in
// memory: a record per row with its gaps and children.
func (s *Shared) tableSizes() (rows, size uint64) {
	if s.classes == nil {
		return 0, 0
	}
	var shape rowShape
	for id, t := range s.classes.tables {
		if t == nil {
			continue
		}
		shape.of(&s.graph, s.opt.Fan, uint32(id), func(uint32) int { return math.MaxInt })
		rows += uint64(t.rows)
		size += uint64(t.rows) * uint64(nodeBytes+valueBytes*len(shape.gaps)+childBytes*len(shape.kids))
	}
	return rows, size
}

// Stats returns the figures so far.
func (m *Summary) Stats() Stats {
	s := m.stats
	for _, n := range m.mult[1:] {
		if n > 0 {
			s.Used++
		}
		if n == 1 {
			s.Single++
		}
	}
	return s
}
