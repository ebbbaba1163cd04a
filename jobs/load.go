package jobs

import (
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// load turns every location of this rank into segments.
func (a *analysis) load() error {
	a.meter.Stage("load", a.ownBytes())
	err := a.adopt()
	var graph *ccg.Builder
	for p := a.own.First; p < a.own.End && err == nil; p++ {
		if a.store.Finished(unit(p, stageLoad)) {
			if err = a.takeOver(p); err != nil {
				err = fmt.Errorf("location %d (%s): %w", a.defs.Location(p).Ref, a.locationName(p), err)
			}
			continue
		}
		if err = a.pace.begin(a.size.Weights[p]); err != nil {
			break
		}
		began := time.Now()
		if graph == nil {
			graph = ccg.NewBuilder(a.defs, p, a.graphs)
		} else {
			graph.Reset(p)
		}
		if team := a.teamOf(p); team != nil {
			err = a.loadTeam(team)
		} else {
			err = a.loadLocation(p, graph)
		}
		if err != nil {
			err = fmt.Errorf("location %d (%s): %w", a.defs.Location(p).Ref, a.locationName(p), err)
			break
		}
		err = a.pace.done(a.size.Weights[p], time.Since(began))
	}
	err = a.endTeams(err)
	if err == nil {
		err = a.pace.endLoad()
	}
	a.loader, a.batch, a.encoded = nil, trace.Batch{}, nil
	if err := agree(a.c, err); err != nil {
		return err
	}
	sums := []int64{0}
	for _, n := range a.events {
		sums[0] += int64(n)
	}
	last := []int64{int64(min(a.last, 1<<63-1))}
	if err := a.c.AllreduceInt64(sums, mpi.Sum); err != nil {
		return err
	}
	a.res.Events = uint64(sums[0])
	if err := a.c.AllreduceInt64(last, mpi.Max); err != nil {
		return err
	}
	a.last = uint64(last[0])
	err = a.counts.Reduce(a.c)
	a.levels = a.counts.Levels(a.last, a.res.Events)
	return err
}

func (a *analysis) locationName(p trace.P) string {
	process, thread := a.defs.Process(p)
	return fmt.Sprintf("process %d thread %d, %s", process, thread, a.defs.Text(a.defs.Location(p).Name))
}

// loadArrays are the arrays that the load of a location fills, unless only its
// graph is kept.
var loadArrays = []xtf.TypeID{xtf.TypeCall, xtf.TypeIO, xtf.TypeRMA, xtf.TypeMetric, xtf.TypeChannel, xtf.TypeChan}

// loading is the load of one location in progress.
type loading struct {
	types  []xtf.TypeID
	arrays map[xtf.TypeID]*xtfwriter.Array
	staged []*xtfwriter.Segment // P2P, COLL, channel entries in order, borders, late results, overhead, stays
	loader *stats.Loader
}

// newLoading begins the load of a location. How says what its loader leaves to others: rows, sums.
func (a *analysis) newLoading(p trace.P, how stats.Outputs) (*loading, error) {
	if a.o.GraphOnly {
		loader, err := a.newLoader(p, stats.Outputs{})
		return &loading{loader: loader}, err
	}
	l := &loading{types: loadArrays}
	var err error
	if l.arrays, err = a.newArrays(unit(p, stageLoad), l.types); err != nil {
		return nil, err
	}
	for _, kind := range []uint32{kindStagedP2P, kindStagedColl, kindEntries, kindBorders, kindLate, kindOverhead, kindStays} {
		s, err := a.store.Create(a.key(p, stageLoad, kind))
		if err != nil {
			return nil, err
		}
		l.staged = append(l.staged, s)
	}
	out := how
	out.Channels, out.Chan = l.arrays[xtf.TypeChannel].ArrayBuilder, l.arrays[xtf.TypeChan].ArrayBuilder
	out.Sorted, out.Scratch, out.RunOperations, out.Borders, out.Overhead, out.Stays = l.staged[2], a.scratch, a.runOperations, l.staged[3], l.staged[5], l.staged[6]
	if !out.Counts {
		out.Calls, out.IO = l.arrays[xtf.TypeCall].ArrayBuilder, l.arrays[xtf.TypeIO].ArrayBuilder
		out.RMA, out.Metrics = l.arrays[xtf.TypeRMA].ArrayBuilder, l.arrays[xtf.TypeMetric].ArrayBuilder
		out.P2P, out.Coll = a.stagedRows(xtf.TypeP2P, l.staged[0]), a.stagedRows(xtf.TypeColl, l.staged[1])
		out.Late = l.staged[4]
	}
	l.loader, err = a.newLoader(p, out)
	return l, err
}

// newLoader reuses the memory of the location before.
func (a *analysis) newLoader(p trace.P, out stats.Outputs) (*stats.Loader, error) {
	if a.loader == nil {
		a.loader = stats.NewLoader(a.tables, p, out)
	} else {
		a.loader.Reset(p, out)
	}
	if !a.tables.NamesTasks() {
		return a.loader, nil
	}
	stream, err := a.src.Stream(p)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	moved := stats.NewMovedCalls(a.tables)
	add, end := a.withFrames(func(_ place, b *trace.Batch) error {
		moved.Add(b)
		return nil
	})
	_, err = a.pass(stream, a.guard(a.size.Origin), place{last: a.size.Origin}, add, func() { a.meter.Add(0) }) // a sign of life
	if err == nil {
		err = end()
	}
	a.loader.LeaveOut(moved.Found())
	return a.loader, err
}

// finish ends the load; what Match needs of the location joins a.units.
func (l *loading) finish(a *analysis, p trace.P) (*stats.Loaded, error) {
	loaded, err := l.loader.Finish()
	if err != nil {
		return nil, err
	}
	if err := saveArrays(l.arrays, l.types); err != nil {
		return nil, err
	}
	for _, s := range l.staged {
		s.Seal()
	}
	if !a.o.GraphOnly {
		a.addUnit(loaded, l.staged[2], l.staged[4], l.staged[6])
	}
	return loaded, nil
}

// addUnit keeps what Match needs of a location.
func (a *analysis) addUnit(l *stats.Loaded, sorted, late *xtfwriter.Segment, stays stats.Stored) {
	a.units = append(a.units, stats.Unit{P: l.P, Peers: l.Peers, Sorted: sorted, Late: late, Stays: stays, P2PRows: l.P2PRows, CollRows: l.CollRows})
}

// scratch is storage that no checkpoint keeps.
func (a *analysis) scratch() stats.Scratch { return a.store.Scratch() }

// stagedRows are rows that wait for a match in a segment.
func (a *analysis) stagedRows(t xtf.TypeID, s *xtfwriter.Segment) *xtf.StagedRows {
	return xtf.NewStagedRows(a.enc, a.types.Lookup(t), s)
}

func (a *analysis) newArrays(u xtfwriter.Unit, types []xtf.TypeID) (map[xtf.TypeID]*xtfwriter.Array, error) {
	m := make(map[xtf.TypeID]*xtfwriter.Array, len(types))
	for _, t := range types {
		x, err := a.store.NewArray(a.enc, a.types.Lookup(t), u)
		if err != nil {
			return nil, err
		}
		if m[t] = x; t == xtf.TypeCall {
			a.leaveTimes(x.ArrayBuilder)
		}
	}
	return m, nil
}

// leaveTimes leaves the times of calls to the call graph, where that is exact.
func (a *analysis) leaveTimes(calls *xtf.ArrayBuilder) {
	if a.graphs.Deviation.Lossless() && a.types.Lookup(xtf.TypeCall).Codec == xtf.CodecPacked {
		calls.LeaveTimes()
	}
}

func saveArrays(m map[xtf.TypeID]*xtfwriter.Array, types []xtf.TypeID) error {
	for _, t := range types {
		if err := m[t].Save(); err != nil {
			return err
		}
	}
	return nil
}

// loadLocation runs the unit of one location.
func (a *analysis) loadLocation(p trace.P, graph *ccg.Builder) error {
	l, err := a.newLoading(p, stats.Outputs{})
	if err != nil {
		return err
	}
	add, end := a.withFrames(func(_ place, b *trace.Batch) error {
		if err := l.loader.Add(b); err != nil {
			return err
		}
		return graph.Add(b)
	})
	found, err := a.decode(p, add)
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	loaded, err := l.finish(a, p)
	if err != nil {
		return err
	}
	if a.encoded, err = encodeGraph(a.encoded[:0], graph); err != nil {
		return err
	}
	return a.endLocation(p, loaded, found, a.encoded)
}

// endLocation keeps what the load of a location leaves next to rows.
func (a *analysis) endLocation(p trace.P, loaded *stats.Loaded, found *trace.Diagnostics, graph []byte) error {
	a.addSourceDiagnostics(loaded, found)
	if err := a.store.Put(a.key(p, stageLoad, kindLoaded), loaded.AppendBinary(nil)); err != nil {
		return err
	}
	f := forest{loaded.Tree, loaded.Paths}
	if err := a.store.Put(a.key(p, stageLoad, kindForest), f.encode()); err != nil {
		return err
	}
	if err := a.putComponents(p, loaded.Components); err != nil {
		return err
	}
	if err := a.store.Put(a.key(p, stageLoad, kindGraph), graph); err != nil {
		return err
	}
	if err := a.putKept(p, loaded.Peers); err != nil {
		return err
	}
	a.noteLoaded(loaded)
	a.store.Finish(unit(p, stageLoad))
	return nil
}

// encodeGraph appends the graph of a location.
func encodeGraph(dst []byte, graph *ccg.Builder) ([]byte, error) {
	local, err := graph.Finish()
	if err != nil {
		return nil, err
	}
	return local.AppendBinary(dst)
}

// decode passes the events of location p, with repaired times where they are known, to add, with the place of each
// batch's first event. It returns what was found wrong with the data.
func (a *analysis) decode(p trace.P, add func(at place, b *trace.Batch) error) (*trace.Diagnostics, error) {
	a.dog.on(p)
	found := &trace.Diagnostics{}
	stream, err := a.src.Stream(p)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	found.AddAll(stream.Diagnostics())
	g := a.guard(a.size.Origin)
	clock := a.clock(p)
	var events uint64
	share, left := a.size.Weights[p]/uint64(max(stream.Chunks(), 1)), a.size.Weights[p]
	chunks, err := a.pass(stream, g, place{last: a.size.Origin}, func(at place, b *trace.Batch) error {
		events += uint64(len(b.Events))
		if err := clock.set(b); err != nil {
			return err
		}
		return add(at, b)
	}, func() {
		a.meter.Add(min(share, left))
		left -= min(share, left)
	})
	if err != nil {
		return nil, err
	}
	a.meter.Add(left)
	found.Merge(chunks)
	found.Merge(&g.diags)
	clock.end(found)
	a.checkCount(p, events, found)
	return found, nil
}

// withFrames puts the calls that calling contexts tell of between the events that add gets. end is called after the last.
func (a *analysis) withFrames(add func(at place, b *trace.Batch) error) (with func(at place, b *trace.Batch) error, end func() error) {
	if len(a.defs.CallingContexts) == 0 {
		return add, func() error { return nil }
	}
	var now place
	f := trace.NewFrames(a.defs, func(b *trace.Batch) error { return add(now, b) })
	return func(at place, b *trace.Batch) error {
		now = at
		return f.Add(b)
	}, f.Finish
}

// checkCount compares the number of events with what the definitions announce.
func (a *analysis) checkCount(p trace.P, events uint64, found *trace.Diagnostics) {
	if want := a.defs.Location(p).Events; want != events && want != trace.Undefined64 {
		found.Add(trace.Diagnostic{
			Code: trace.DiagEventCount, Event: events, Worst: max(want, events) - min(want, events),
			Detail: fmt.Sprintf("%d events, the definitions announce %d", events, want),
		})
	}
}

// addSourceDiagnostics adds the source's findings, with times from the origin.
func (a *analysis) addSourceDiagnostics(l *stats.Loaded, found *trace.Diagnostics) {
	for i := range found.Codes {
		first := found.Codes[i].First
		for k := range first {
			first[k].Time -= min(first[k].Time, a.size.Origin)
		}
	}
	l.Diagnostics.Merge(found)
}
