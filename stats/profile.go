package stats

// RegionProfile is what a region did on one location, or on several.
type RegionProfile struct {
	Calls     uint64
	Inclusive uint64 // ticks; of recursive calls only the outermost counts
	Exclusive uint64 // ticks outside called regions
	Bytes     uint64 // sent and received by MPI calls, one-sided and I/O apart
	open      uint32 // calls of the region on the stack
}

// Totals are the sums over all calls and messages of one location.
type Totals struct {
	First, Last uint64 // first and last event, ticks since the origin
	Events      uint64
	Calls       uint64
	Class       [NumClassTimes]uint64 // ticks by class of the outermost call
	Sends       uint64
	Receives    uint64
	BytesOut    uint64
	BytesIn     uint64
	Collectives uint64
	CollOut     uint64
	CollIn      uint64
}

// Indices of Totals.Class.
const (
	TimeMPI = iota
	TimeP2P
	TimeStart
	TimeColl
	TimeNxN
	TimeBarrier
	TimeFileIO
	TimeRMA
	TimeManagement
	TimeIO
	TimeMarker
	TimeOverlap // computation while a request is open
	TimeDeviceCall
	TimeDeviceWait
	TimeLock
	TimeOverhead
	TimeSetup // part of TimeManagement
	TimeThreadWait
	NumClassTimes
)
