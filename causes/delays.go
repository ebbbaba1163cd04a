package causes

import (
	"cmp"
	"fmt"
	"io"

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

	// Array returns the rows of a location of this rank, of the types that a replay reads; false if there are none.
	Types *xtf.TypeTable
	Array func(p trace.P, t xtf.TypeID) (xtf.FinishedArray, bool, error)
	// Calm, where not nil, tells of an array of messages or collectives that none of its rows takes effect before its T: it
	// is read once less then. False if that is not known.
	Calm func(p trace.P, t xtf.TypeID) bool

	// Open returns the rows of a location of this rank from the first on, Waits its WAIT rows, nil if there are none.
	Open  func(p trace.P) (*Location, error)
	Waits func(p trace.P) (*xtf.Cursor, error)
	// Collectives returns the COLL rows of a location, nil if there are none, and an xtf.CollCause for each.
	Collectives func(p trace.P) (*xtf.Cursor, io.ReaderAt, error)
	// Derived tells of each interval node whether it is a slice or the like, which is never innermost.
	Derived []bool
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
	replay *Replay
	own    partition.Range
	strict bool
	report DelayReport
	path   *Path
	trail  *trail

	parcels *parcels   // time lines
	ended   *parcels   // waits, by the slab in which they end
	answers *parcels   // totals at instants before a slab, by the slab that asked
	since   [][]uint64 // of the waits of each slab of this rank: when the pair met last before. Memory: 8 bytes for each
	carried []carried
	far     costs // found in this rank's slabs
	costs   costs
	dealer  dealer

	// the slab in hand
	start uint64     // the instant behind which it begins
	waits []ownWaits // by location
	list  []slabWait
	spare []slabWait
	order [2][]waitEnd
	lines []lineSlab       // by location
	heard map[uint64]reply // by number of the wait and what was asked
	tally tally
	terms [2][]term
	blame blame

	blamed blamed
	links  []link
	excess []uint64 // of the links
	packed []byte
}

func (d *Delays) locations() int { return d.run.Defs.NumLocations() }

// Walk goes along the time lines of all locations of this rank, and gives the slabs what delays and the replay need. The pieces
// of the critical path are passed on the way. Collective.
func Walk(r *Run, path *Path, replay *Replay) (*Delays, error) {
	d := newDelays(r)
	d.path, d.replay = path, replay
	return d, d.walk()
}

// Costs computes the costs of delays of all locations. Each row, in order, goes to
// write on the rank of its location. Rank 0 gets the totals. Collective.
func (d *Delays) Costs(write func(p trace.P, row *xtf.Delay) error) (Totals, *DelayReport, error) {
	defer d.drop()
	if err := d.ask(); err != nil {
		return nil, &d.report, err
	}
	for {
		d.costs, d.far = newCosts(&d.run.Storage), newCosts(&d.run.Storage)
		circle, err := d.passBack()
		if err == nil && circle && d.strict {
			err = fmt.Errorf("causes: waits in strict order wait for each other")
		}
		if err != nil {
			return nil, &d.report, err
		}
		if !circle {
			totals, err := d.finish(write)
			return totals, &d.report, err
		}
		d.strict, d.report.Strict = true, true
	}
}

func newDelays(r *Run) *Delays {
	d := &Delays{run: r, own: r.Ranges[r.Comm.Rank()]}
	d.parcels, d.ended = newParcels(r.Comm, &r.Storage, r.Slabs), newParcels(r.Comm, &r.Storage, r.Slabs)
	d.answers = newParcels(r.Comm, &r.Storage, r.Slabs)
	d.waits, d.lines = make([]ownWaits, d.locations()), make([]lineSlab, d.locations())
	return d
}

func (d *Delays) drop() {
	for _, x := range []*parcels{d.parcels, d.ended, d.answers} {
		x.drop()
	}
}

// walk goes along the time lines of all locations of this rank, and gives them to the slabs. Collective.
func (d *Delays) walk() error {
	var err error
	if d.path != nil {
		d.trail, err = d.path.open()
	}
	d.replay.open()
	w := lineWriter{d: d, out: parcelWriter{to: d.parcels}, waits: parcelWriter{to: d.ended}}
	for p := d.own.First; p < d.own.End && err == nil; p++ {
		err = w.location(p)
	}
	w.out.flush()
	w.waits.flush()
	err = cmp.Or(err, w.out.err, w.waits.err)
	if cerr := d.trail.close(); err == nil {
		err = cerr
	}
	if err := d.parcels.deliver(err); err != nil {
		return err
	}
	if err := d.ended.deliver(nil); err != nil {
		return err
	}
	d.report.Bytes += d.parcels.box.sent + d.ended.box.sent
	return d.replay.deliver(nil)
}

// finish writes the rows of this rank's locations and sums over all.
func (d *Delays) finish(write func(p trace.P, row *xtf.Delay) error) (Totals, error) {
	if err := d.gather(); err != nil {
		return nil, err
	}
	t := newTotalling()
	err := d.costs.each(func(x *cost1, sum [costKinds]uint64) error {
		t.add(x, sum[shortTerm], sum[longTerm])
		d.report.Dealt += sum[shortTerm] + sum[longTerm]
		return write(x.p, &xtf.Delay{Key: x.key, Pattern: x.pattern, Activity: x.activity, Short: sum[shortTerm], Long: sum[longTerm]})
	})
	if err := d.run.Comm.Agree(err); err != nil {
		return nil, err
	}
	totals, err := t.reduce(d.run.Comm)
	return totals, err
}
