package ccg

import (
	"math"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// Bytes of a record in memory, for comparing graphs: 16 for each node or instance, 4 for each child, 8 for each gap or value.
const (
	nodeBytes  = 16
	childBytes = 4
	valueBytes = 8
)

// Stats says how well a graph compresses.
type Stats struct {
	Locations   uint64
	Events      uint64
	Instances   uint64 // calls, records and roots in the unfolded trees
	Nodes       uint64 // stored, including Groups and Repeats
	Used        uint64 // nodes in the locations added
	Tuples      uint64
	Rows        uint64 // of class tables
	Single      uint64 // nodes with one instance in all locations
	Columns     uint64
	SharedBytes uint64 // the shared section
	ClassBytes  uint64 // class tables, in the shared section
	ColumnBytes uint64 // the blobs
	RawBytes    uint64 // the unshared graph: a record for each instance, plain values
	StoredBytes uint64 // the shared graph: a record for each node, columns as stored
	Errors      graph.ErrorStats
}

// Summary adds up the statistics of a graph over its locations.
type Summary struct {
	stats Stats
	mult  []uint64
}

// NewSummary begins the statistics of s, whose section has this many bytes.
func NewSummary(s *graph.Shared, section int) *Summary {
	m := &Summary{mult: make([]uint64, s.Nodes()+1)}
	m.stats = Stats{Nodes: uint64(s.Nodes()), Tuples: uint64(s.Graph.Tuples.Len()), SharedBytes: uint64(section)}
	if !s.Opt.Deviation.Lossless() {
		m.stats.ClassBytes = uint64(len(graph.AppendClasses(nil, &s.Graph, s.Classes, s.Opt.Fan)))
	}
	m.stats.Rows, m.stats.StoredBytes = tableSizes(s)
	m.stats.StoredBytes += nodeBytes*uint64(s.Nodes()) + childBytes*uint64(len(s.Graph.Nodes.Pool)) + valueBytes*uint64(len(s.Graph.Tuples.Pool))
	return m
}

// Add adds a location.
func (m *Summary) Add(l *Location) {
	v, s := l.view, &m.stats
	s.Locations++
	s.Events += v.Events
	s.Columns += uint64(len(l.cols))
	s.ColumnBytes += uint64(l.size)
	s.StoredBytes += uint64(l.size)
	s.Errors.Add(l.errors)
	for _, id := range v.Order {
		s.RawBytes += v.Mult[id] * v.Values(id) * valueBytes
		m.mult[v.Ids[id]] += v.Mult[id]
		if k := v.Nodes.Kind(id); k <= graph.KindRoot {
			s.Instances += v.Mult[id]
			s.RawBytes += v.Mult[id] * (nodeBytes + childBytes)
		}
	}
}

// tableSizes returns the number of rows in all class tables, and their bytes in memory: a record for each row with its gaps and children.
func tableSizes(s *graph.Shared) (rows, size uint64) {
	if s.Classes == nil {
		return 0, 0
	}
	var shape graph.RowShape
	for id, t := range s.Classes.Tables {
		if t == nil {
			continue
		}
		shape.Of(&s.Graph, s.Opt.Fan, uint32(id), func(uint32) int { return math.MaxInt })
		rows += uint64(t.Rows)
		size += uint64(t.Rows) * uint64(nodeBytes+valueBytes*len(shape.Gaps)+childBytes*len(shape.Kids))
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
