package causes

import (
	"cmp"
	"slices"

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
	*Run

	clocks bool // see replayScript
	steps  stepWriter
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

func (r *ReplayReport) count(b []byte) {
	r.Messages++
	r.Bytes += uint64(len(b))
}

// open begins to take the steps of locations.
func (r *Replay) open() {
	r.steps.to = newParcels(r.Comm, &r.Storage, r.Slabs)
}

// script begins the steps of a location.
func (r *Replay) script(p trace.P) (*replayScript, error) {
	s := &replayScript{r: r, p: p}
	r.steps.begin(uint32(p))
	err := s.sortEarly()
	if err == nil {
		err = s.openRows()
	}
	return s, err
}

// deliver gives the steps to the slabs. Collective.
func (r *Replay) deliver(failed error) error {
	r.steps.flush()
	return r.steps.to.deliver(cmp.Or(failed, r.steps.err))
}

// run replays all locations, whose steps have been delivered. Collective.
func (r *Replay) run() (*flow, error) {
	f := &flow{r: r, defs: r.Defs, comms: map[uint32]uint32{}, steps: r.steps.to, report: &ReplayReport{Bytes: r.steps.to.box.sent}}
	defer f.steps.drop()
	f.runs = make([]slabRun, len(f.steps.list))
	last, err := f.runSlabs(r.Defs.NumLocations())
	if err != nil {
		return nil, err
	}
	f.report.Deadlock, err = f.deadlock(last, r.Comm.Size()-1)
	return f, err
}

// sortEarly finds the operations that take effect before their row.
func (s *replayScript) sortEarly() error {
	var sorter Sorter
	b := make([]byte, earlyBytes)
	for i, t := range replayArrays[:2] {
		a, ok, err := s.r.Array(s.p, t)
		if err != nil {
			return err
		}
		if !ok || !s.r.mayBeEarly(t) || s.r.Calm != nil && s.r.Calm(s.p, t) {
			continue
		}
		c := xtf.ScanArray(s.r.Types, a, 0).Only(earlyColumns[i]...)
		for c.Next() {
			o, ok := s.r.earlyOf(t, c.Row())
			if !ok {
				continue
			}
			if sorter == nil {
				sorter = s.r.Storage.Sorter(earlyBytes, earlyKey)
			}
			o.putEarly(b, c.N()<<1|uint64(i))
			if err := sorter.Add(b); err != nil {
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
	var err error
	if s.early, err = sorter.Sort(); err == nil {
		s.nextEarly()
	}
	return err
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
