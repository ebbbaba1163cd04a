package analyze

import (
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// causeArrays are the arrays of stageCauses in the region of a location.
var causeArrays = []xtf.TypeID{xtf.TypeCPath, xtf.TypeDelay}

// causeTotals are the arrays of stageCauses of the whole run.
var causeTotals = []xtf.TypeID{xtf.TypeDelayTotal, xtf.TypePathTotal}

// causes finds the causes of wait states: costs of delays, the critical path, and times in an ideal network. With GraphOnly it does nothing.
func (a *job) causes(in *finished) (*finished, error) {
	if a.o.GraphOnly {
		return in, nil
	}
	a.begin("causes")
	f := causeFinder{a, in}
	delays, path, err := f.delays()
	if err != nil {
		return nil, err
	}
	if a.c.Rank() == 0 {
		err = f.whole(stageCauses, causeTotals, func(arrays arrays) {
			for i := range delays {
				x := &delays[i]
				row, _ := arrays[xtf.TypeDelayTotal].Append()
				r := xtf.DelayTotal{Key: x.Key, Pattern: x.Pattern, Activity: x.Activity, Short: x.Sum[0], Long: x.Sum[1], Worst: x.Worst, WorstP: x.WorstP}
				r.Put(row)
			}
			for i := range path {
				x := &path[i]
				row, _ := arrays[xtf.TypePathTotal].Append()
				r := xtf.PathTotal{Key: x.Key, Activity: x.Activity, WorstP: x.WorstP, Ticks: x.Sum[0], Worst: x.Worst}
				r.Put(row)
			}
		})
	}
	return in, err
}

// causeFinder is stage causes.
type causeFinder struct {
	*job
	found *finished
}

// Storage returns the storage of package causes in a store of so many bytes.
func Storage(store *xtfwriter.Store, bytes int64) causes.Storage {
	return causes.Storage{
		Sorter: func(width, key int) causes.Sorter {
			return causeSorter{xtfwriter.NewSorter(store, width, key, causeSortBytes(bytes))}
		},
		Scratch: func() causes.Scratch { return store.Scratch() },
	}
}

// causeSortBytes returns the memory of one sorter of the stage, of which up to four are in use.
func causeSortBytes(store int64) int64 { return min(max(2<<20, store/32), 8<<20) }

// causeSorter implements causes.Sorter with xtfwriter's sorter.
type causeSorter struct{ s *xtfwriter.Sorter }

func (s causeSorter) Add(row []byte) error {
	s.s.Add(row)
	return nil
}

func (s causeSorter) Sort() (causes.SortedRows, error) { return s.s.Sort() }

// causesRun returns the input of the passes of package causes.
func (a *job) causesRun(f *finished) *causes.Run {
	return &causes.Run{
		Comm: a.c, Defs: a.defs, Ranges: a.ranges, Storage: Storage(a.store, a.memory.Segments), Slabs: f.Slabs, Last: f.Last, Derived: f.Forest.derived(), Regions: f.Forest.regions(),
	}
}

// delays writes the costs of delays, the critical path and the times in an ideal network.
func (a *causeFinder) delays() (delays, path []totals.Row, err error) {
	run := a.causesRun(a.found)
	defer run.Drop()
	full := a.store.SetBudget(a.memory.NextTo(run.Memory()))
	err = run.Deal(func(p trace.P) (causes.Segment, error) { return a.store.Segment(a.key(p, stageFinish, kindLines)) })
	if err != nil {
		return nil, nil, err
	}
	run.Did = func(part float64) error {
		a.meter.Add(uint64(part * float64(a.ownBytes())))
		return a.pace.poll()
	}
	pieces, rows := criticalWriter{causeWriter: causeWriter{a: a.job, t: xtf.TypeCPath}}, causeWriter{a: a.job, t: xtf.TypeDelay}
	found, err := causes.FindPath(run, a.extent, pieces.add)
	if err != nil {
		return nil, nil, fmt.Errorf("critical path: %w", err)
	}
	ideal := &causes.Ideal{Replay: causes.Replay{Run: run}}
	failed, err := a.replay(ideal)
	if err != nil {
		return nil, nil, err
	}
	delays, rep, err := causes.NewDelays(run, found).Costs(func(p trace.P, row *xtf.Delay) error {
		b, err := rows.row(p)
		if err == nil {
			row.Put(b)
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("delay costs: %w", err)
	}
	failed = errors.Join(full, failed, rows.end(), pieces.end())
	if err := a.reportDelays(rep); err != nil {
		return nil, nil, err
	}
	path, report, err := found.Totals()
	if err != nil {
		return nil, nil, fmt.Errorf("critical path: %w", err)
	}
	a.res.Path = *report
	return delays, path, failed
}

// reportDelays sets the report of delays, and makes diagnostics. Collective.
func (a *causeFinder) reportDelays(rep *causes.DelayReport) error {
	a.res.Delays = *rep
	if rep.Strict {
		a.found.problem(a.c, trace.Diagnostic{Code: trace.DiagWaitCircle})
	}
	counts := []int64{int64(rep.Reversed)}
	if err := a.c.AllreduceInt64(counts, mpi.Sum); err != nil {
		return err
	}
	if counts[0] > 0 {
		a.found.problem(a.c, trace.Diagnostic{Code: trace.DiagReversedWait, Count: uint64(counts[0])})
	}
	return nil
}

// extent returns the extent of a location.
func (a *causeFinder) extent(p trace.P) (causes.Extent, error) {
	c, err := a.components(p)
	if err != nil {
		return causes.Extent{}, err
	}
	mpi := false // calls may take less than a tick
	for _, item := range [...]xtf.Item{xtf.ItemMPI, xtf.ItemMarker, xtf.ItemSends, xtf.ItemReceives, xtf.ItemCollectives} {
		mpi = mpi || c.Value(0, item) > 0 && a.defs.Location(p).Type != trace.AcceleratorStream
	}
	x := causes.Extent{
		Events: c.Value(0, xtf.ItemEvents) > 0, MPI: mpi,
		First: c.Value(0, xtf.ItemFirst), Last: c.Value(0, xtf.ItemLast),
	}
	calls, _, err := a.store.LoadArray(unit(p, stageLoad), xtf.TypeCall)
	if err == nil && calls.Summary != nil {
		var begin, end xtf.Call
		begin, x.Initialized, err = causes.Initialize(a.defs, xtf.ScanArray(a.types, calls, 0))
		x.Began, x.Started = begin.T, begin.End
		if err == nil {
			end, _, x.Finalized, err = causes.Finalize(a.defs, calls.Summary.Len(), func(from uint64) *xtf.Cursor { return xtf.ScanArray(a.types, calls, from) })
			x.Enter, x.Leave = end.T, end.End
		}
		x.MPI = x.MPI || x.Initialized || x.Finalized // there may be no other calls
	}
	if err != nil || !a.intervals.WithoutInit || !x.Events {
		return x, err
	}
	x.Finalized = false // with --init exclude the path ends before it
	rows, err := a.rows(p, stageNumber, xtf.TypeIval)
	if err != nil {
		return x, err
	}
	var program xtf.Ival
	for rows.Next() {
		if program.Load(rows.Row()); program.Node == 0 {
			x.First, x.Last = program.T, program.End
			break
		}
	}
	return x, rows.Err()
}

// causeWriter writes arrays of one type, one location after another.
type causeWriter struct {
	a    *job
	t    xtf.TypeID
	p    trace.P
	rows *xtfwriter.Array
}

// row appends a row to the array of a location; locations ascend.
func (w *causeWriter) row(p trace.P) ([]byte, error) {
	if w.rows == nil || w.p != p {
		err := w.end()
		if err == nil {
			w.p = p
			w.rows, err = w.a.store.NewArray(w.a.enc, w.a.types.Lookup(w.t), unit(p, stageCauses))
		}
		if err == nil && w.t == xtf.TypeCPath {
			err = w.a.follow(p, w.rows)
		}
		if err != nil {
			return nil, err
		}
	}
	b, _ := w.rows.Append()
	return b, nil
}

func (w *causeWriter) end() error {
	if w.rows == nil {
		return nil
	}
	rows := w.rows
	w.rows = nil
	return rows.Save()
}

// criticalWriter writes the rows of the critical path, and adds them to the components of their locations.
type criticalWriter struct {
	causeWriter
	components *interval.Components
	sums       *interval.Sums
}

// add adds the next row; locations ascend.
func (w *criticalWriter) add(p trace.P, row *xtf.CPath) error {
	if w.rows == nil || w.p != p {
		if err := w.end(); err != nil {
			return err
		}
		executions, err := w.a.rows(p, stageNumber, xtf.TypeIval)
		if err != nil {
			return err
		}
		if w.components, err = w.a.components(p); err != nil {
			return err
		}
		w.sums = interval.NewSums(executions, w.components, xtf.ItemCriticalCPU, xtf.ItemCriticalMPI, xtf.ItemCriticalIO, xtf.ItemCriticalMarker)
	}
	b, err := w.row(p)
	if err != nil {
		return err
	}
	row.Put(b)
	if item := xtf.CriticalOf(row.Activity); item != xtf.NumItems { // time outside of the events is not part of an interval
		w.sums.Span(row.T, row.End, item)
	}
	return nil
}

func (w *criticalWriter) end() error {
	if w.rows == nil {
		return nil
	}
	if err := w.sums.Flush(); err != nil {
		return err
	}
	return errors.Join(w.a.putComponents(w.p, w.components), w.causeWriter.end())
}
