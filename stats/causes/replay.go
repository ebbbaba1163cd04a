package causes

// Replay is what passes work with that go through the rows of all locations at
// once, each location as far as the others let it: Ideal and Clocks.
//
// Memory: of one slab, 4 bytes for each step, 32 with levers, and 200 for each location, and 32 for
// each value that is in progress at once; for each slab of the rank 104 bytes for
// each location and 32 for each value in progress at its borders; 24 per open execution.
type Replay struct {
	*Run

	clocks bool       // see replayScript
	lever  *leverPlan // see Levers
}

// ReplayReport says what a replay did. Counts of a rank are for logs; Deadlock is
// the same on all ranks.
type ReplayReport struct {
	Deadlock *Deadlock // nil if every location came to its end
	Slabs    uint64    // that this rank ran, some more than once
	Phases   uint64    // in which all ranks ran at once
	Steps    uint64
	Messages uint64 // sent with crossings
	Bytes    uint64 // sent, with steps and crossings
}

// begin prepares to replay all locations, whose steps have been delivered.
func (r *Replay) begin() *flow {
	f := &flow{r: r, defs: r.Defs, comms: map[uint32]uint32{}, steps: r.parcels, read: &slabSteps{}, report: &ReplayReport{Bytes: r.parcels.box.sent}}
	f.runs = make([]slabRun, f.steps.end-f.steps.own)
	return f
}

// run replays them. Collective.
func (r *Replay) run() (*flow, error) {
	f := r.begin()
	last, err := flows{f}.runSlabs(r.Defs.NumLocations())
	if err != nil {
		return nil, err
	}
	if last == nil {
		last = []*crossing{nil}
	}
	f.report.Deadlock, err = f.deadlock(last[0], r.Comm.Size()-1)
	return f, err
}
