package causes

import (
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Replay is what passes work with that go through the rows of all locations at
// once, each location as far as the others let it: Ideal and Clocks.
//
// Memory: of one slab, 4 bytes for each step and 200 for each location, and 24 for
// each value that is under way at once; for each slab of the rank 100 bytes for
// each location and 20 for each value under way at its borders; 24 per open execution.
type Replay struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range
	Types   *xtf.TypeTable
	Array   func(p trace.P, t xtf.TypeID) (xtf.FinishedArray, bool, error) // of this rank's locations
	Storage Storage
	Last    uint64 // last event of the run, ticks
	Slabs   Slabs  // chosen by the run if there is only one
	// Calm, where not nil, tells of an array of messages or collectives that none of its rows takes effect before its T: it
	// is read once less then. False if that is not known.
	Calm func(p trace.P, t xtf.TypeID) bool

	clocks bool // see replayScript
	early  Scratch
}

// earlyBlock is the number of early operations that are read at a time.
const earlyBlock = 1024

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

func (r *ReplayReport) count(b []byte) {
	r.Messages++
	r.Bytes += uint64(len(b))
}

// run replays all locations. Collective.
func (r *Replay) run() (*flow, error) {
	f := &flow{r: r, defs: r.Defs, comms: map[uint32]uint32{}, report: &ReplayReport{}}
	own := r.Ranges[r.Comm.Rank()]
	if len(r.Slabs.ends) == 0 {
		var err error
		if r.Slabs, err = cutSlabs(r.Comm, r.Last, r.Defs.NumLocations(), func(add func(first, end, rows uint64)) error { return r.eachPage(own, add) }); err != nil {
			return nil, err
		}
	}
	f.steps = newParcels(r.Comm, &r.Storage, r.Slabs)
	defer f.steps.drop()
	if err := f.steps.deliver(r.deal(own, f.steps)); err != nil {
		return nil, err
	}
	f.report.Bytes = f.steps.box.sent
	f.runs = make([]slabRun, len(f.steps.list))
	last, err := f.runSlabs(r.Defs.NumLocations())
	if err != nil {
		return nil, err
	}
	f.report.Deadlock, err = f.deadlock(last, r.Comm.Size()-1)
	return f, err
}

// eachPage tells of the pages of messages and collectives of this rank's locations.
func (r *Replay) eachPage(own partition.Range, add func(first, end, rows uint64)) error {
	for p := own.First; p < own.End; p++ {
		for _, t := range replayArrays[1:3] {
			a, ok, err := r.Array(p, t)
			if err != nil {
				return err
			}
			if ok && a.Summary != nil {
				a.Summary.EachPage(add)
			}
		}
	}
	return nil
}

// deal deals the steps of this rank's locations out to the slabs.
func (r *Replay) deal(own partition.Range, to *parcels) error {
	r.early = r.Storage.Scratch()
	defer r.early.Drop()
	w := stepWriter{parcelWriter: parcelWriter{to: to}}
	for p := own.First; p < own.End; p++ {
		s := replayScript{r: r, p: p}
		if err := s.sortEarly(); err != nil {
			return err
		}
		w.begin(uint32(p))
		if err := s.each(w.add); err != nil {
			return err
		}
	}
	w.flush()
	return w.err
}

// sortEarly finds the operations that take effect before their row.
func (s *replayScript) sortEarly() error {
	var sorter Sorter
	b := make([]byte, earlyBytes)
	add := func(o replayOp, order uint64) error {
		if sorter == nil {
			sorter = s.r.Storage.Sorter(earlyBytes, earlyKey)
		}
		o.putEarly(b, order)
		s.early.n++
		return sorter.Add(b)
	}
	for i, t := range replayArrays[1:3] {
		a, ok, err := s.r.Array(s.p, t)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !s.r.mayBeEarly(t) || s.r.Calm != nil && s.r.Calm(s.p, t) {
			continue
		}
		c := xtf.ScanArray(s.r.Types, a, 0).Only(earlyColumns[i]...)
		for c.Next() {
			o, ok := s.r.earlyOf(t, c.Row())
			if !ok {
				continue
			}
			if err := add(o, c.N()<<1|uint64(i)); err != nil {
				return err
			}
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	if sorter == nil {
		return nil
	}
	return s.storeEarly(sorter)
}

// mayBeEarly says whether rows of a type can take effect before their T, by the
// calls that the trace knows.
func (r *Replay) mayBeEarly(t xtf.TypeID) bool {
	const initiation = trace.ClassColl | trace.ClassStart
	return slices.ContainsFunc(r.Defs.Regions, func(x trace.Region) bool {
		if t == xtf.TypeP2P {
			return !r.clocks && r.Defs.IsSynchronous(&x)
		}
		return r.Defs.Class(&x)&initiation == initiation
	})
}

// earlyOf is what a row does before its T.
func (r *Replay) earlyOf(t xtf.TypeID, row []byte) (replayOp, bool) {
	if t == xtf.TypeP2P {
		var m xtf.P2P
		m.Load(row)
		return earlyMessage(&m, r.Defs.NumLocations())
	}
	var c xtf.Coll
	c.Load(row)
	o, ok := r.collectiveStep(&c)
	o.t = c.Post
	return o, ok && c.Flags&xtf.CollNonBlocking != 0
}

// storeEarly keeps the sorted operations in the scratch of all locations.
func (s *replayScript) storeEarly(sorter Sorter) error {
	rows, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	const block = earlyBlock * earlyBytes
	first := true
	var b []byte
	flush := func() error {
		off, err := s.r.early.Append(b)
		if first {
			s.early.off, first = off, false
		}
		b = b[:0]
		return err
	}
	for rows.Next() {
		if b = append(b, rows.Row()...); len(b) >= block {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return flush()
}
