package causes

import (
	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Run is what passes over all locations work with; it is the same on all ranks
// but for what the functions return.
type Run struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range // the locations of each rank
	Storage Storage
	Slabs   Slabs  // see Cut
	Last    uint64 // last event of the run, ticks

	// Derived tells of each interval node whether it is a slice or the like, which is never innermost.
	Derived []bool
	// Regions is the innermost region of each call path of the run.
	Regions []uint32
	// Probes has calls wait that probe for a message, and members of rooted operations that seem to wait for all, for Levers. Without
	// it the receive after them does, and nobody.
	Probes bool

	// Within tells what locations of a process wait for in one another; nil without streams and threads, or where that is not asked for.
	Within *Within

	// Did is called whenever a slab went through a pass, with the part of Ideal and Costs that is done since the last call, which may
	// be 0: then it is a sign of life. An error ends what the run is used for, on all ranks.
	Did func(part float64) error

	parcels *parcels // what Pass left, by slab
}

// did says that one of so many slabs went through a pass, which takes such a part of the time of all.
func (r *Run) did(part float64, slabs int) error {
	if r.Did == nil {
		return nil
	}
	return r.Did(part / float64(slabs))
}

// Drop gives back what the slabs got.
func (r *Run) Drop() {
	if r.parcels != nil {
		r.parcels.drop()
	}
}

// mostWaits bounds the waits of one location.
const mostWaits = 1 << 32

// DelayReport says what delay costs were made of. Counts of a rank are for logs;
// Strict is the same on all ranks.
type DelayReport struct {
	Waits    uint64 // that have a cause
	Ticks    uint64 // their length
	Dealt    uint64 // costs
	Reversed uint64 // waits that begin before the pair met last: clocks differ
	Strict   bool   // waits that end at one instant wait for each other
	Bytes    uint64 // sent
	Messages uint64 // sent with costs that waits pass on
}

// Delays are the costs of delays on one rank (package comment).
type Delays struct {
	run    *Run
	own    partition.Range
	strict bool
	report DelayReport
	path   *Path

	parcels *parcels // of the run
	asks    *parcels // questions for totals at instants, by slab
	answers *parcels // their answers, by the slab that asked
	carried []carried
	far     costs // found in this rank's slabs
	costs   costs
	dealer  dealer

	*hand                    // the slab in hand
	earlier *hand            // the one before it, if it is of this rank
	heard   map[uint64]reply // of slabs before both, by number of the wait and what was asked
	near    [askKinds][]term // of the one before
	order   [2][]waitEnd
	ordered lineOrder
	tally   tally
	terms   [2][]term
	blame   blame

	blamed blamed
	blames [][]byte // of each in list, where openBlames made it: what blame.parse reads
	ready  []int
	asked  []question
	packed []byte
	one    []byte
}

func (d *Delays) locations() int { return d.run.Defs.NumLocations() }

// NewDelays computes the costs of delays, after Deal, and what the pieces of the critical path are on the way.
func NewDelays(r *Run, path *Path) *Delays {
	d := &Delays{run: r, path: path, own: r.Ranges[r.Comm.Rank()], parcels: r.parcels}
	d.report.Bytes = r.parcels.box.sent
	d.asks, d.answers = newParcels(r.Comm, &r.Storage, r.Slabs, 1), newParcels(r.Comm, &r.Storage, r.Slabs, 1)
	d.hand, d.earlier = newHand(d.locations()), newHand(d.locations())
	return d
}

// Costs computes the costs of delays of all locations. Each row, in order, goes to
// write on the rank of its location. Rank 0 gets the totals: short-term and long-term costs. Collective.
func (d *Delays) Costs(write func(p trace.P, row *xtf.Delay) error) ([]totals.Row, *DelayReport, error) {
	defer d.answers.drop()
	defer d.asks.drop()
	d.blamed = blamed{scratch: d.run.Storage.Scratch(), slabs: make([]blamedSlab, d.parcels.end-d.parcels.own)}
	defer d.blamed.scratch.Drop()
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
