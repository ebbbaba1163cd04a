package analyze

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Stages of work units, in keys of segments.
const (
	stageLoad uint32 = 1 + iota
	stageFinish
	stageWhole
	stageTiles
	stageNumber
	stageWaits
	stageCauses
	stageReduce
	stageClasses
	stageMark
)

// Kinds of segments of a location, besides arrays and blobs; of stageLoad unless another stage is named.
const (
	kindEntries    = xtfwriter.KindCaller + iota // sorted channel entries, for Match
	kindLoaded                                   // stats.Loaded
	kindGraph                                    // call graph
	kindForest                                   // trees of intervals and call paths
	kindBorders                                  // of executions, until they are rows
	kindPaths                                    // stageNumber: by call path of the location, its number in the run
	kindComponents                               // of intervals; later stages add to them
	kindLines                                    // stageFinish: records of causes.Pass
	kindLate                                     // completions of sends, for Match
	kindStays                                    // in MPI, for Match
	kindOverhead                                 // spans of overhead, see stats.Outputs
	kindNotes                                    // of threads, see stats.Outputs
)

// shelf has the segments of a rank: results of units, for later stages and for the file, that are too large to pass on as values.
type shelf struct {
	ws    *xtfwriter.Workspace
	store *xtfwriter.Store
	types *xtf.TypeTable
	enc   *xtf.Encoder
	leave bool // rows of calls leave their times to the call graph, which has them exactly
}

func newShelf(ws *xtfwriter.Workspace, p xtf.Profile, lossless bool) *shelf {
	s := &shelf{ws: ws, store: ws.Store, types: xtf.StandardTypes(p), enc: xtf.NewEncoder()}
	s.leave = lossless && s.types.Lookup(xtf.TypeCall).Codec == xtf.CodecPacked
	return s
}

func (s *shelf) key(p trace.P, stage, kind uint32) xtfwriter.Key {
	return xtfwriter.Key{Unit: unit(p, stage), Kind: kind}
}

func unit(p trace.P, stage uint32) xtfwriter.Unit {
	return xtfwriter.Unit{P: xtf.Proc(p), Stage: stage}
}

// drop frees a segment of the load that no later stage needs.
func (s *shelf) drop(p trace.P, kind uint32) {
	if x, err := s.store.Segment(s.key(p, stageLoad, kind)); err == nil {
		x.Drop()
	}
}

// scratch returns temporary storage, which checkpoints do not keep.
func (s *shelf) scratch() match.Scratch { return s.store.Scratch() }

// arrays are the arrays of a unit in progress.
type arrays map[xtf.TypeID]*xtfwriter.Array

// whole makes the arrays of the whole run of a stage.
func (s *shelf) whole(stage uint32, types []xtf.TypeID, fill func(arrays)) error {
	m, err := s.newArrays(xtfwriter.Unit{P: xtf.WholeRun, Stage: stage}, types)
	if err != nil {
		return err
	}
	fill(m)
	return saveArrays(m, types)
}

func (s *shelf) newArrays(u xtfwriter.Unit, types []xtf.TypeID) (arrays, error) {
	m := make(arrays, len(types))
	for _, t := range types {
		x, err := s.store.NewArray(s.enc, s.types.Lookup(t), u)
		if err != nil {
			return nil, err
		}
		if m[t] = x; t == xtf.TypeCall && s.leave {
			x.LeaveTimes()
		}
	}
	return m, nil
}

func saveArrays(m arrays, types []xtf.TypeID) error {
	for _, t := range types {
		if err := m[t].Save(); err != nil {
			return err
		}
	}
	return nil
}

// components returns the components of a location.
func (s *shelf) components(p trace.P) (*interval.Components, error) {
	b, err := s.store.Get(s.key(p, stageLoad, kindComponents))
	if err != nil {
		return nil, err
	}
	return interval.ParseComponents(b)
}

// putComponents replaces the components of a location.
func (s *shelf) putComponents(p trace.P, c *interval.Components) error {
	s.drop(p, kindComponents)
	return s.store.Put(s.key(p, stageLoad, kindComponents), c.AppendBinary(nil))
}

// pathTable returns the run's number of each call path of a location.
func (s *shelf) pathTable(p trace.P) ([]uint32, error) {
	b, err := s.store.Get(s.key(p, stageNumber, kindPaths))
	if err != nil {
		return nil, err
	}
	table := make([]uint32, len(b)/4)
	for i := range table {
		table[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return table, nil
}

// rows returns the rows of an array that a stage saved; no rows if there is no such array.
func (s *shelf) rows(p trace.P, stage uint32, t xtf.TypeID) (*xtf.Cursor, error) {
	x, _, err := s.store.LoadArray(unit(p, stage), t)
	if err != nil {
		return nil, err
	}
	return xtf.ScanArray(s.types, x, 0), nil
}

// collect adds the arrays of a unit to a region.
func (s *shelf) collect(r *xtfwriter.Region, u xtfwriter.Unit, types []xtf.TypeID) error {
	for _, t := range types {
		x, ok, err := s.store.LoadArray(u, t)
		if err != nil {
			return err
		}
		if ok {
			r.Arrays = append(r.Arrays, x)
		}
	}
	return nil
}

// scanSums calls f with the WAITSUM rows of a location.
func (s *shelf) scanSums(p trace.P, f func(*xtf.Cursor) error) error {
	c, err := s.rows(p, stageWaits, xtf.TypeWaitSum)
	if err != nil {
		return err
	}
	return f(c)
}

// forestOf returns the trees of a location.
func (s *shelf) forestOf(p trace.P) (*forest, error) {
	b, err := s.store.Get(s.key(p, stageLoad, kindForest))
	if err != nil {
		return nil, err
	}
	return parseForest(b)
}
