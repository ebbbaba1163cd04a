package jobs

// Need is an estimate of what an analysis needs, from the sizes of the trace.
type Need struct {
	LeastMemory int64  // bytes per rank, below which analyze refuses
	GraphMemory int64  // the same with --events none
	Ranks       int    // more ranks would wait for the largest location
	Disk        uint64 // the most bytes of segments and output together, before the commit
}

// The most disk space of the segments of an analysis with usual options, if none stay in memory. Files of segments only grow, so in the
// end they have the output of all stages: rows of calls (3 times the bytes of a trace with only calls), of messages, of waits and their
// causes (9 times those of a trace with only messages). Pages with few rows, and tables, are the rest. TestDisk compares this with
// analyses.
const (
	segmentGrowth = 10       // times the bytes of the trace
	segmentFixed  = 16 << 10 // for each location
	resultFixed   = 8 << 10  // for each location in the output; its other pages are smaller than the trace
)

// SegmentsOf returns the most bytes of segments on disk, for a trace of so many bytes and locations.
func SegmentsOf(bytes uint64, locations int) uint64 {
	return min(bytes, 1<<56)*segmentGrowth + uint64(locations+1)*segmentFixed
}

// NeedOf estimates the need of a trace of so many bytes, whose largest location has largest bytes and longest events, and whose
// definitions take defs bytes of memory.
func NeedOf(bytes, largest, longest uint64, locations int, defs int64) Need {
	all, graph := planOf(defs, longest, false, false), planOf(defs, longest, true, false)
	n := Need{LeastMemory: all.total(), GraphMemory: graph.total(), Ranks: 1}
	n.Disk = SegmentsOf(bytes, locations) + min(bytes, 1<<56) + uint64(locations+1)*resultFixed
	if largest > 0 {
		// A quarter more ranks fill the gaps that uneven locations leave.
		n.Ranks = int(min((bytes+bytes/4)/largest, uint64(locations)))
	}
	n.Ranks = max(n.Ranks, 1)
	return n
}
