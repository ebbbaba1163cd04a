package tracetest

import "github.com/coppice-hpc/coppice/trace"

// tally sums up what a program's calls mean while they are written.
type tally struct {
	regions   map[uint32]*Profile
	class     func(region uint32) trace.CallClass
	stack     []uint32
	since     trace.Time // start of the current exclusive stretch
	now       trace.Time
	first     trace.Time
	begun     bool
	mpiDepth  int
	mpiSince  trace.Time
	mpi       map[trace.CallClass]uint64
	late      uint64
	sendRecv  uint64
	parts     []share
	potential uint64
	wait      uint64
}

// share is a member's part in a collective operation.
type share struct {
	key                  shareKey
	started, enter, left trace.Time
}

// shareKey names a collective operation by its place in the program.
type shareKey struct {
	comm  uint32
	step  uint64
	phase int
}

// Operations outside the main loop.
const (
	stepInit uint64 = 1<<64 - 1 - iota
	stepBarrier
)

func newTally(class func(uint32) trace.CallClass) *tally {
	return &tally{regions: map[uint32]*Profile{}, class: class, mpi: map[trace.CallClass]uint64{}}
}

// at moves the clock; a time stamp that runs backwards counts as its predecessor.
func (y *tally) at(t trace.Time) {
	if !y.begun {
		y.first, y.now, y.since, y.begun = t, t, t, true
	}
	y.now = max(y.now, t)
}

func (y *tally) profile(region uint32) *Profile {
	if region == dangling {
		region = trace.Undefined
	}
	p := y.regions[region]
	if p == nil {
		p = &Profile{}
		y.regions[region] = p
	}
	return p
}

// turn closes the exclusive stretch of the innermost call.
func (y *tally) turn() {
	if n := len(y.stack); n > 0 {
		y.profile(y.stack[n-1]).Exclusive += uint64(y.now - y.since)
	}
	y.since = y.now
}

func (y *tally) open(region uint32) bool {
	for _, r := range y.stack {
		if r == region {
			return true
		}
	}
	return false
}

func (y *tally) enter(t trace.Time, region uint32) {
	y.at(t)
	y.turn()
	p := y.profile(region)
	p.Calls++
	if !y.open(region) {
		p.Inclusive -= uint64(y.now)
	}
	if y.class(region)&trace.ClassMPI != 0 {
		if y.mpiDepth == 0 {
			y.mpiSince = y.now
		}
		y.mpiDepth++
	}
	y.stack = append(y.stack, region)
}

func (y *tally) leave(t trace.Time, region uint32) {
	y.at(t)
	n := len(y.stack)
	if n == 0 || y.stack[n-1] != region {
		return
	}
	y.turn()
	y.stack = y.stack[:n-1]
	if !y.open(region) {
		y.profile(region).Inclusive += uint64(y.now)
	}
	if c := y.class(region); c&trace.ClassMPI != 0 {
		if y.mpiDepth--; y.mpiDepth == 0 {
			y.mpi[c] += uint64(y.now - y.mpiSince)
		}
	}
}

// end closes what is open at the last event.
func (y *tally) end() {
	for n := len(y.stack); n > 0; n-- {
		y.leave(y.now, y.stack[n-1])
	}
}
