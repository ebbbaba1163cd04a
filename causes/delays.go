package causes

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/dataflow"
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
	Budget  int64 // bytes for values under way, as dataflow.Options has it

	// Open returns the rows of a location of this rank from the first on, Waits its WAIT rows, nil if there are none.
	Open  func(p trace.P) (*Location, error)
	Waits func(p trace.P) (*xtf.Cursor, error)
	// Derived tells of each interval node whether it is a slice or the like, which is never innermost.
	Derived []bool
}

// mostWaits bounds the waits of one location.
const mostWaits = 1 << 32

// DelayReport says what delay costs were made of. Counts of a rank are for logs;
// Strict is the same on all ranks.
type DelayReport struct {
	Waits     uint64    // that have a cause
	Ticks     [2]uint64 // their length: high and low word of the sum
	Dealt     [2]uint64 // costs
	Reversed  uint64    // waits that begin before the pair synchronised last: clocks differ
	Overflows uint64    // sums that did not fit 64 bits and are too low
	Strict    bool      // waits that end at one instant wait for each other
	Bytes     uint64    // sent
	Flow      dataflow.Report
}

func (r *DelayReport) add(sum *[2]uint64, ticks uint64) {
	var carry uint64
	sum[1], carry = bits.Add64(sum[1], ticks, 0)
	sum[0] += carry
}

// delays is the state of one attempt on one rank.
type delays struct {
	run    *Run
	own    partition.Range
	strict bool
	report DelayReport
	latest uint64 // the last end of a wait of the run
	row    []byte
	path   *Path  // nil: its pieces were passed before
	trail  *trail // the same

	late      journal // vectors of the late sides, in the order of the walks
	vectors   journal // vectors of the waiting sides, as they came
	index     Sorter  // of vectors
	spans     journal // waits of all locations of this rank
	spanFirst []uint64
	blames    journal
	ends      []int64 // end of each location's part of blames
	costs     costs
	dealer    dealer
}

func (d *delays) locations() int { return d.run.Defs.NumLocations() }

// position is where in time the passing back of costs is, counted from the end.
func (d *delays) position(end uint64) uint64 { return d.latest - min(end, d.latest) }

// Delays computes the costs of delays (package comment) of all locations, and
// passes the pieces of the critical path on the way. Each row, in order, goes to
// write on the rank of its location. Rank 0 gets the totals. Collective.
func Delays(r *Run, path *Path, write func(p trace.P, row *xtf.Delay) error) (Totals, *DelayReport, error) {
	for strict := false; ; strict = true {
		d := newDelays(r, strict)
		if !strict {
			d.path = path
		}
		stuck, err := d.attempt()
		if err == nil && stuck != nil && strict {
			err = fmt.Errorf("causes: waits in strict order: %v", stuck)
		}
		if err == nil && stuck == nil {
			totals, err := d.finish(write)
			d.drop()
			return totals, &d.report, err
		}
		d.drop()
		if err != nil {
			return nil, &d.report, err
		}
	}
}

func newDelays(r *Run, strict bool) *delays {
	d := &delays{run: r, own: r.Ranges[r.Comm.Rank()], strict: strict}
	d.report.Strict = strict
	for _, j := range []*journal{&d.late, &d.vectors, &d.spans, &d.blames} {
		j.scratch = r.Storage.Scratch()
	}
	d.index = r.Storage.Sorter(indexBytes, vectorKey)
	d.costs = newCosts(&r.Storage)
	return d
}

func (d *delays) drop() {
	for _, j := range []*journal{&d.late, &d.vectors, &d.spans, &d.blames} {
		j.scratch.Drop()
	}
}

// attempt does all but the sums. It returns a deadlock of waits that end at one
// instant, which only a broken trace has. Collective.
func (d *delays) attempt() (*dataflow.Deadlock, error) {
	points, err := d.exchangePoints()
	if err != nil {
		return nil, err
	}
	steps, err := d.plan(points)
	if err := d.run.Comm.Agree(err); err != nil {
		return nil, err
	}
	box := newOutbox(d.run, d.takeVector)
	if err := box.deliver(d.walk(steps, box)); err != nil {
		return nil, err
	}
	d.report.Bytes += box.sent
	err = d.vectors.flush()
	if err == nil {
		err = d.join()
	}
	if err := d.run.Comm.Agree(err); err != nil {
		return nil, err
	}
	return d.passBack()
}

// walk goes along the time lines of all locations of this rank.
func (d *delays) walk(steps Sorter, box *outbox) error {
	rows, err := steps.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	if d.path != nil {
		if d.trail, err = d.path.open(); err != nil {
			return err
		}
	}
	h := newHistory()
	more := rows.Next()
	for p := d.own.First; p < d.own.End; p++ {
		d.spanFirst = append(d.spanFirst, uint64(d.spans.size/spanBytes))
		if more, err = d.walkLocation(p, h, rows, more, box); err != nil {
			return err
		}
	}
	if err := d.spans.flush(); err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%w: a step of a location of another rank", errDamaged)
	}
	if err := d.late.flush(); err != nil {
		return err
	}
	if err := d.trail.close(); err != nil {
		return err
	}
	return rows.Err()
}

// walkLocation takes the steps of one location.
func (d *delays) walkLocation(p trace.P, h *history, rows Rows, more bool, box *outbox) (bool, error) {
	var s step
	if more {
		s.load(rows.Row())
	}
	if (!more || s.p != p) && !d.trail.wants(p) {
		return more, nil
	}
	w, err := d.newWalker(p, h)
	if err != nil {
		return false, err
	}
	for more && s.p == p {
		if err := w.advance(s.at); err != nil {
			return false, err
		}
		if err := w.step(&s, box); err != nil {
			return false, err
		}
		if more = rows.Next(); more {
			s.load(rows.Row())
		}
	}
	if err := d.trail.endLocation(p, w.line); err != nil {
		return false, err
	}
	if err := w.line.err(); err != nil {
		return false, err
	}
	return more, w.waits.err()
}

// step takes a step at its instant.
func (w *walker) step(s *step, box *outbox) error {
	d := w.d
	switch s.kind {
	case stepDelay:
		terms, over, ended := w.vector(s.since, d.strict)
		d.row = appendLate(d.row[:0], s, over, ended, terms)
		_, err := d.late.append(d.row)
		return err
	case stepWait:
		b := appendVectorKey(d.row[:0], s)
		if s.since < s.at {
			terms, _, _ := w.vector(s.since, false)
			b = appendTerms(b, terms, false)
		}
		d.row = b
		return box.put(s.partner, b)
	default:
		if s.since > 0 {
			w.history.release(s.since)
		}
		if s.pattern != 0 {
			w.history.hold(s.at)
		}
		return nil
	}
}

// finish writes the rows of this rank's locations and sums over all.
func (d *delays) finish(write func(p trace.P, row *xtf.Delay) error) (Totals, error) {
	t := newTotalling()
	err := d.costs.each(func(x *cost1, sum [costKinds]uint64) error {
		t.add(x, sum[shortTerm], sum[longTerm])
		d.report.add(&d.report.Dealt, sum[shortTerm])
		d.report.add(&d.report.Dealt, sum[longTerm])
		return write(x.p, &xtf.Delay{Key: x.key, Pattern: x.pattern, Activity: x.activity, Short: sum[shortTerm], Long: sum[longTerm]})
	})
	if err := d.run.Comm.Agree(err); err != nil {
		return nil, err
	}
	totals, err := t.reduce(d.run.Comm)
	d.report.Overflows += d.costs.overflow + t.overflow
	return totals, err
}
