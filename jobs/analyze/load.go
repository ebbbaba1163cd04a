package analyze

import (
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// loaded is the result of stage load.
type loaded struct {
	facts
	cuts  causes.Counts // MPI calls of this rank's locations, for the slabs
	units []match.Unit  // this rank's; none without rows
}

// add adds a location.
func (r *loaded) add(t *stats.Tables, counts *stats.LevelCounts, l *stats.Loaded) {
	t.EachCall(&l.Bins, r.cuts.Add)
	counts.Add(t, &l.Bins)
	r.own = append(r.own, l.Totals.Events)
	r.Last = max(r.Last, l.Totals.Last)
}

// addUnit adds the unit of a location.
func (r *loaded) addUnit(l *stats.Loaded, sorted, late *xtfwriter.Segment, stays match.Stored) {
	r.units = append(r.units, match.Unit{P: l.P, Peers: l.Peers, Sorted: sorted, Late: late, Stays: stays, P2PRows: l.P2PRows, CollRows: l.CollRows})
}

// loads is the load of this rank's locations, one after another.
type loads struct {
	*job
	clocks  *clocks // nil: times are those of the source
	loader  *stats.Loader
	batch   trace.Batch
	builder *build.Builder
	encoded []byte // the graph of a location, then stats.Loaded
	counts  stats.LevelCounts
	found   loaded
}

// load turns every location of this rank into segments.
func (a *job) load(in *clocks) (*loaded, error) {
	a.begin("load")
	l := &loads{job: a, clocks: in}
	if in != nil {
		l.found.Problems = in.problems
	}
	err := l.eachLocation()
	if err == nil {
		err = a.pace.endLoad()
	}
	if serr := l.sum(&l.found.facts); err == nil {
		err = serr
	}
	jobs.LimitGarbage(a.size.Bytes)
	return &l.found, err
}

// sum sets the facts of the whole run on all ranks. Collective.
func (a *loads) sum(f *facts) error {
	for _, n := range f.own {
		f.Events += n
	}
	err := a.counts.Reduce(a.c, &f.Last, &f.Events)
	a.res.Events = f.Events
	f.Levels = a.counts.Levels(f.Last, f.Events)
	return err
}

// eachLocation loads the locations that no earlier run loaded, and takes the others over.
func (a *loads) eachLocation() error {
	if err := a.adopt(); err != nil {
		return err
	}
	for p := a.own.First; p < a.own.End; p++ {
		bytes, began := a.size.Weights[p], time.Now()
		kept := a.store.Finished(unit(p, stageLoad))
		if !kept {
			if err := a.pace.begin(bytes); err != nil {
				return err
			}
		}
		load := a.loadLocation
		if kept {
			load = a.takeOver
		}
		if err := load(p); err != nil {
			return fmt.Errorf("location %d (%s): %w", a.defs.Location(p).Ref, a.locationName(p), err)
		}
		if !kept {
			if err := a.pace.done(bytes, time.Since(began)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *input) locationName(p trace.P) string {
	process, thread := a.defs.Process(p)
	return fmt.Sprintf("process %d thread %d, %s", process, thread, a.defs.Text(a.defs.Location(p).Name))
}

// loadArrays are the arrays that the load of a location fills, except with GraphOnly.
var loadArrays = []xtf.TypeID{xtf.TypeCall, xtf.TypeIO, xtf.TypeRMA, xtf.TypeMetric, xtf.TypeChannel, xtf.TypeChan}

// loading is the load of one location in progress.
type loading struct {
	types  []xtf.TypeID
	arrays arrays
	staged []*xtfwriter.Segment // channel entries, borders, late sends, overhead, stays, notes
	loader *stats.Loader
}

// newLoading begins the load of a location.
func (a *loads) newLoading(p trace.P) (*loading, error) {
	if a.o.GraphOnly {
		loader, err := a.newLoader(p, stats.Outputs{})
		return &loading{loader: loader}, err
	}
	l := &loading{types: loadArrays}
	var err error
	if l.arrays, err = a.newArrays(unit(p, stageLoad), l.types); err != nil {
		return nil, err
	}
	for _, kind := range []uint32{kindEntries, kindBorders, kindLate, kindOverhead, kindStays, kindNotes} {
		s, err := a.store.Create(a.key(p, stageLoad, kind))
		if err != nil {
			return nil, err
		}
		l.staged = append(l.staged, s)
	}
	l.loader, err = a.newLoader(p, stats.Outputs{
		Calls: l.arrays[xtf.TypeCall].ArrayBuilder, IO: l.arrays[xtf.TypeIO].ArrayBuilder,
		RMA: l.arrays[xtf.TypeRMA].ArrayBuilder, Metrics: l.arrays[xtf.TypeMetric].ArrayBuilder,
		Channels: l.arrays[xtf.TypeChannel].ArrayBuilder, Chan: l.arrays[xtf.TypeChan].ArrayBuilder, Scratch: a.scratch,
		Sorted: l.staged[0], Borders: l.staged[1], Late: l.staged[2], Overhead: l.staged[3], Stays: l.staged[4], Notes: l.staged[5],
	})
	return l, err
}

// newLoader returns the loader, prepared for a location. If calls name their tasks it first finds the calls to leave out.
func (a *loads) newLoader(p trace.P, out stats.Outputs) (*stats.Loader, error) {
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
	add, end := a.withFrames(func(b *trace.Batch) error {
		moved.Add(b)
		return nil
	})
	_, _, err = a.pass(stream, a.guard(), add, func() { a.meter.Add(0) }) // for the watchdog
	if err == nil {
		err = end()
	}
	a.loader.LeaveOut(moved.Found())
	return a.loader, err
}

// finish ends the load, and adds the location's unit.
func (l *loading) finish(a *loads) (*stats.Loaded, error) {
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
		a.found.addUnit(loaded, l.staged[0], l.staged[2], l.staged[4])
	}
	return loaded, nil
}

// loadLocation loads one location.
func (a *loads) loadLocation(p trace.P) error {
	if a.builder == nil {
		a.builder = build.NewBuilder(a.defs, p, a.graphs)
	} else {
		a.builder.Reset(p)
	}
	l, err := a.newLoading(p)
	if err != nil {
		return err
	}
	add, end := a.withFrames(func(b *trace.Batch) error {
		if err := l.loader.Add(b); err != nil {
			return err
		}
		return a.builder.Add(b)
	})
	found, err := a.decode(p, add)
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	loaded, err := l.finish(a)
	if err != nil {
		return err
	}
	for i := range found.Codes {
		first := found.Codes[i].First
		for k := range first {
			first[k].Time -= min(first[k].Time, a.size.Origin)
		}
	}
	loaded.Diagnostics.Merge(found)
	loaded.Bytes = a.size.Weights[p]
	graph, err := a.builder.Finish()
	if err != nil {
		return err
	}
	if a.encoded, err = graph.AppendBinary(a.encoded[:0]); err != nil {
		return err
	}
	if err := a.store.Put(a.key(p, stageLoad, kindGraph), a.encoded); err != nil {
		return err
	}
	a.encoded = loaded.AppendBinary(a.encoded[:0])
	if err := a.store.Put(a.key(p, stageLoad, kindLoaded), a.encoded); err != nil {
		return err
	}
	f := forest{loaded.Tree, loaded.Paths}
	if err := a.store.Put(a.key(p, stageLoad, kindForest), f.encode()); err != nil {
		return err
	}
	if err := a.putComponents(p, loaded.Components); err != nil {
		return err
	}
	a.found.add(a.tables, &a.counts, loaded)
	a.store.Finish(unit(p, stageLoad))
	return nil
}

// takeOver takes over a location that an earlier run loaded.
func (a *loads) takeOver(p trace.P) error {
	b, err := a.store.Get(a.key(p, stageLoad, kindLoaded))
	if err != nil {
		return err
	}
	loaded, err := a.tables.Parse(b)
	if err != nil {
		return err
	}
	if loaded.Bytes != a.size.Weights[p] {
		return jobs.Fail(jobs.ExitUsage, fmt.Errorf("the input changed since an earlier run read it: it has %d bytes now and had %d then. Give -f without --resume to start again from the beginning",
			a.size.Weights[p], loaded.Bytes))
	}
	if !a.o.GraphOnly {
		var from [3]*xtfwriter.Segment
		for i, kind := range []uint32{kindEntries, kindLate, kindStays} {
			if from[i], err = a.store.Segment(a.key(p, stageLoad, kind)); err != nil {
				return err
			}
		}
		a.found.addUnit(loaded, from[0], from[1], from[2])
	}
	a.found.add(a.tables, &a.counts, loaded)
	a.meter.Add(loaded.Bytes)
	return nil
}

// decode passes the events of location p to add, with repaired times if clocks were repaired. It returns the diagnostics of the data.
func (a *loads) decode(p trace.P, add func(b *trace.Batch) error) (*trace.Diagnostics, error) {
	a.dog.On(p)
	found := &trace.Diagnostics{}
	stream, err := a.src.Stream(p)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	found.AddAll(stream.Diagnostics())
	g := a.guard()
	clock := a.clock(p)
	share, left := a.size.Weights[p]/uint64(max(stream.Chunks(), 1)), a.size.Weights[p]
	events, chunks, err := a.pass(stream, g, func(b *trace.Batch) error {
		if err := clock.set(b); err != nil {
			return err
		}
		return add(b)
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
	if want := a.defs.Location(p).Events; want != events && want != trace.Undefined64 {
		found.Add(trace.Diagnostic{
			Code: trace.DiagEventCount, Event: events, Worst: max(want, events) - min(want, events),
			Detail: fmt.Sprintf("%d events, the definitions announce %d", events, want),
		})
	}
	return found, nil
}

// withFrames returns functions that add the calls of calling contexts to the events that add gets. The caller calls end after the last
// batch.
func (a *loads) withFrames(add func(b *trace.Batch) error) (with func(b *trace.Batch) error, end func() error) {
	if len(a.defs.CallingContexts) == 0 {
		return add, func() error { return nil }
	}
	f := trace.NewFrames(a.defs, add)
	return f.Add, f.Finish
}
