package stats

// RegionProfile is what a region did on one location, or on several.
type RegionProfile struct {
	Calls     uint64
	Inclusive uint64 // ticks; of recursive calls only the outermost counts
	Exclusive uint64 // ticks outside called regions
	Bytes     uint64 // sent and received by MPI calls, one-sided and I/O apart
	open      uint32 // calls of the region on the stack
}

// Totals are of all events of one location.
type Totals struct {
	First, Last uint64 // first and last event, ticks since the origin
	Events      uint64
}
