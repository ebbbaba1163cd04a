package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Graph is how well the complete call graph compresses.
type Graph struct {
	Locations     uint64 `json:"locations"`
	Structures    int    `json:"structures"` // locations with equal structure counted once
	Events        uint64 `json:"events"`
	Instances     uint64 `json:"instances"` // calls, records and roots in the unfolded trees
	Nodes         uint64 `json:"nodes"`     // stored
	Used          uint64 `json:"used"`      // of these, in the locations that could be read
	Tuples        uint64 `json:"tuples"`
	Columns       uint64 `json:"columns"`
	SingleUse     uint64 `json:"single_use"` // nodes with one instance
	SingleShare   Ratio  `json:"single_use_share"`
	NodeRatio     Ratio  `json:"r_n"` // instances per node
	MemoryRatio   Ratio  `json:"r_m"` // bytes of the unshared graph per byte of the shared one
	RawBytes      uint64 `json:"raw_bytes"`
	StoredBytes   uint64 `json:"stored_bytes"`
	SharedBytes   uint64 `json:"shared_bytes"` // in the file: structure
	ColumnBytes   uint64 `json:"column_bytes"` // in the file: times and values
	Bytes         uint64 `json:"bytes"`        // both
	BytesPerEvent Ratio  `json:"bytes_per_event"`
	Fold          int    `json:"fold"`
	Fan           int    `json:"fan"`
}

// CCG reads the graph and all its locations.
func (r *Run) CCG() (*Graph, []Lost, error) {
	shared, err := r.Graph()
	if err != nil {
		return nil, nil, err
	}
	section, err := r.File.SectionBytes(xtf.KindCCG)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: call graph: %w", r.Name, err)
	}
	sum := ccg.NewSummary(shared, len(section))
	roots := map[uint32]bool{}
	var lost []Lost
	for p := range trace.P(r.Defs.NumLocations()) {
		l, err := r.Location(shared, p)
		switch {
		case err == nil:
			sum.Add(l)
			roots[l.Root()] = true
		case partial(err):
			lost = append(lost, r.lost(p, "ccg", err))
		default:
			return nil, nil, err
		}
	}
	return newGraph(sum.Stats(), len(roots), shared.Options()), lost, nil
}

func newGraph(s ccg.Stats, structures int, o ccg.Options) *Graph {
	g := &Graph{
		Locations: s.Locations, Structures: structures, Events: s.Events, Instances: s.Instances, Nodes: s.Nodes, Used: s.Used,
		Tuples: s.Tuples, Columns: s.Columns, SingleUse: s.Single, RawBytes: s.RawBytes, StoredBytes: s.StoredBytes,
		SharedBytes: s.SharedBytes, ColumnBytes: s.ColumnBytes, Bytes: s.SharedBytes + s.ColumnBytes, Fold: o.Fold, Fan: o.Fan,
	}
	g.SingleShare = ratio64(s.Single, s.Nodes)
	g.NodeRatio = ratio64(s.Instances, s.Nodes)
	g.MemoryRatio = ratio64(s.RawBytes, s.StoredBytes)
	g.BytesPerEvent = ratio64(g.Bytes, s.Events)
	return g
}
