package causes

import (
	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Run is the input of all passes. It is the same on all ranks.
type Run struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range // the locations of each rank
	Storage Storage
	Slabs   Slabs  // see Cut
	Last    uint64 // last event of the run, ticks

	// Derived says of each interval node whether it is derived, such as a slice. A derived node is never the innermost one.
	Derived []bool
	// Regions is the innermost region of each call path of the run.
	Regions []uint32
	// Probes is set for Levers. A probe then waits for its message, and a member of a rooted operation for all members if it seems to
	// have done so. Without Probes the receive after the probe waits for the message, and the member only for what it needs.
	Probes bool

	// Within has the waits of hosts for streams and of threads for each other; nil for none.
	Within *Within

	// Did is called after each slab of a pass, with the share of the time of Ideal and Costs that this took, which may be 0. An error
	// ends the pass on all ranks.
	Did func(part float64) error

	parcels *parcels // the records of Pass, by slab
}

// did reports one of several slabs of a pass, which takes the share part of the time.
func (r *Run) did(part float64, slabs int) error {
	if r.Did == nil {
		return nil
	}
	return r.Did(part / float64(slabs))
}

// Drop frees the storage of Deal.
func (r *Run) Drop() {
	if r.parcels != nil {
		r.parcels.drop()
	}
}

// mostWaits bounds the waits of one location.
const mostWaits = 1 << 32

// DelayReport counts what Costs did. Counts are of one rank, for logs; Strict is the same on all ranks.
type DelayReport struct {
	Waits    uint64 // waits with a cause
	Ticks    uint64 // their length
	Dealt    uint64 // ticks of costs
	Reversed uint64 // waits that begin before the pair met last: clocks differ
	Strict   bool   // waits that end at one instant wait for each other
	Bytes    uint64 // sent
	Messages uint64 // sent with costs that waits pass on
}

// Delays computes the delay costs (package comment) on one rank.
type Delays struct {
	run    *Run
	own    partition.Range
	strict bool
	report DelayReport
	path   *Path

	parcels *parcels // of the run
	asks    *parcels // questions for totals at instants, by slab
	answers *parcels // answers, by the slab that asked
	carried []carried
	far     costs // found in this rank's slabs
	costs   costs // of this rank's locations
	dealer  dealer

	*slabData                  // the current slab
	earlier   *slabData        // the slab before it, if this rank has it
	heard     map[uint64]reply // answers from slabs before both, by number of the wait and kind of question
	near      [askKinds][]term // memory for answers from the slab before
	order     [2][]waitEnd
	ordered   lineOrder
	tally     tally
	terms     [2][]term // vectors of the late and of the waiting location
	blame     blame     // of the current wait

	store  blameStore
	blames [][]byte // of the waits in list, encoded; set by openBlames
	ready  []int
	asked  []question
	packed []byte
	one    []byte
}

func (d *Delays) locations() int { return d.run.Defs.NumLocations() }

// NewDelays prepares Costs, after Deal and FindPath. Costs also finds the activities and call paths of the critical path.
func NewDelays(r *Run, path *Path) *Delays {
	d := &Delays{run: r, path: path, own: r.Ranges[r.Comm.Rank()], parcels: r.parcels}
	d.report.Bytes = r.parcels.box.sent
	d.asks, d.answers = newParcels(r.Comm, &r.Storage, r.Slabs, 1), newParcels(r.Comm, &r.Storage, r.Slabs, 1)
	d.slabData, d.earlier = newSlabData(d.locations()), newSlabData(d.locations())
	return d
}

// Costs computes the delay costs of all locations. It calls write for each row, in order, on the rank of the row's location, and
// returns on rank 0 the totals over all locations: short-term and long-term costs, in ticks. Collective.
func (d *Delays) Costs(write func(p trace.P, row *xtf.Delay) error) ([]totals.Row, *DelayReport, error) {
	defer d.answers.drop()
	defer d.asks.drop()
	d.store = blameStore{scratch: d.run.Storage.Scratch(), slabs: make([]storedSlab, d.parcels.end-d.parcels.own)}
	defer d.store.scratch.Drop()
	if err := d.ask(); err != nil {
		return nil, &d.report, err
	}
	d.costs, d.far = newCosts(&d.run.Storage), newCosts(&d.run.Storage)
	failed, err := d.passBack()
	if err != nil {
		return nil, &d.report, err
	}
	if err := d.path.deliver(failed); err != nil {
		return nil, &d.report, err
	}
	rows, err := d.finish(write)
	return rows, &d.report, err
}

// finish writes the rows of this rank's locations and sums over all.
func (d *Delays) finish(write func(p trace.P, row *xtf.Delay) error) ([]totals.Row, error) {
	if err := d.gather(); err != nil {
		return nil, err
	}
	var all totals.Sums
	err := d.costs.each(func(x *costName, sum [costKinds]uint64) error {
		all.Add(&totals.Row{Name: x.name(), Sum: sum, Worst: sum[shortTerm] + sum[longTerm], WorstP: uint32(x.p)})
		d.report.Dealt += sum[shortTerm] + sum[longTerm]
		return write(x.p, &xtf.Delay{Key: x.key, Pattern: x.pattern, Activity: x.activity, Short: sum[shortTerm], Long: sum[longTerm]})
	})
	return all.Reduce(d.run.Comm, err)
}
