package jobs

// Need is what an analysis of a trace will take, from sizes alone.
type Need struct {
	LeastMemory int64  // bytes per rank below which analyze refuses
	GraphMemory int64  // the same for the call graph alone
	Ranks       int    // more ranks would wait for the largest location
	Disk        uint64 // bytes of segments and file next to each other until the commit, at most
}

// What the segments of an analysis with the usual options take in files, where none stay in memory. A file of segments is only
// appended to, so it ends with what every stage put there: rows of calls (3 times the bytes of a trace of calls
// alone), of messages, of waits and their causes (9 times those of a trace of messages alone). Pages of few rows and tables
// are the rest. TestDisk compares them with what analyses take.
const (
	segmentGrowth = 10
	segmentFixed  = 16 << 10 // of a location
	resultFixed   = 8 << 10  // the same, in the file; its pages are smaller than the trace
)

// SegmentsOf is the most that the segments of an analysis take on disk, of a trace of so many bytes and locations.
func SegmentsOf(bytes uint64, locations int) uint64 {
	return min(bytes, 1<<56)*segmentGrowth + uint64(locations+1)*segmentFixed
}

// NeedOf estimates the need of a trace of the given bytes, whose largest
// location has largest bytes and longest events, and whose definitions take
// defs bytes encoded.
func NeedOf(bytes, largest, longest uint64, locations int, defs int64) Need {
	all, graph := planOf(defs, longest, false, false), planOf(defs, longest, true, false)
	n := Need{LeastMemory: all.total(), GraphMemory: graph.total(), Ranks: 1}
	n.Disk = SegmentsOf(bytes, locations) + min(bytes, 1<<56) + uint64(locations+1)*resultFixed
	if largest > 0 {
		// a quarter more ranks than even shares fill the gaps that uneven locations leave
		n.Ranks = int(min((bytes+bytes/4)/largest, uint64(locations)))
	}
	n.Ranks = max(n.Ranks, 1)
	return n
}
