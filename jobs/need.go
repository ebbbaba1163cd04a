package jobs

// Need is what an analysis of a trace will take, from sizes alone.
type Need struct {
	LeastMemory int64  // bytes per rank below which analyze refuses
	GraphMemory int64  // the same for the call graph alone
	Ranks       int    // more ranks would wait for the largest location
	Disk        uint64 // segments and file beside each other until the commit, about
}

// NeedOf estimates the need of a trace of the given bytes, whose largest
// location has largest bytes and longest events, and whose definitions take
// defs bytes encoded.
func NeedOf(bytes, largest, longest uint64, locations int, defs int64) Need {
	all, graph := planOf(defs, longest, false, false), planOf(defs, longest, true, false)
	n := Need{LeastMemory: all.total(), GraphMemory: graph.total(), Ranks: 1, Disk: 2 * bytes}
	if largest > 0 {
		// a quarter more ranks than even shares fill the gaps that uneven locations leave
		n.Ranks = int(min((bytes+bytes/4)/largest, uint64(locations)))
	}
	n.Ranks = max(n.Ranks, 1)
	return n
}
