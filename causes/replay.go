package causes

import (
	"slices"

	"github.com/coppice-hpc/coppice/dataflow"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Replay is what passes work with that go through the rows of all locations at
// once, each location as far as the others let it: Ideal and Clocks.
//
// Memory: that of dataflow; per location 32 bytes for each of the steps that were
// read ahead (together replayStepBytes, but leastPiece each), and 24 per open
// execution.
type Replay struct {
	Comm    mpi.Comm
	Defs    *trace.Definitions
	Ranges  []partition.Range
	Types   *xtf.TypeTable
	Array   func(p trace.P, t xtf.TypeID) (xtf.FinishedArray, bool, error) // of this rank's locations
	Storage Storage
	Last    uint64 // last event of the run, ticks
	Budget  int64  // bytes for values under way, see dataflow.Options
	// Calm, where not nil, tells of an array of messages or collectives that none of its rows takes effect before its T: it
	// is read once less then. False if that is not known.
	Calm func(p trace.P, t xtf.TypeID) bool

	clocks bool // see replayScript
	piece  int
	most   int // steps of the longest piece so far
	early  Scratch
}

// replayStepBytes is what the steps of all locations of a rank may take together;
// a location has at least leastPiece steps at a time.
const (
	replayStepBytes = 16 << 20
	leastPiece      = 256
	mostPiece       = 64 << 10
)

// run runs a walker over each location's script. Collective.
func (r *Replay) run(walker func(s replayScript) dataflow.Walker) (*dataflow.Report, error) {
	own := r.Ranges[r.Comm.Rank()]
	r.piece = min(max(replayStepBytes/(32*max(own.Len(), 1)), leastPiece), mostPiece)
	r.early = r.Storage.Scratch()
	defer r.early.Drop()
	walkers := make([]dataflow.Walker, 0, own.Len())
	var rows uint64
	var err error
	for p := own.First; p < own.End && err == nil; p++ {
		s := replayScript{r: r, p: p}
		err = s.sortEarly(&rows)
		walkers = append(walkers, walker(s))
	}
	if err := r.Comm.Agree(err); err != nil {
		return nil, err
	}
	return dataflow.Run(dataflow.Options{
		Comm: r.Comm, Defs: r.Defs, Ranges: r.Ranges, Walkers: walkers, Span: r.Last, Rows: rows, Budget: r.Budget,
	})
}

// sortEarly finds the operations that take effect before their row. It counts the
// rows that may get values.
func (s *replayScript) sortEarly(rows *uint64) error {
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
		*rows += a.Summary.Len()
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
	const block = 1024 * earlyBytes
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
