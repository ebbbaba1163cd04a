package analyze

import (
	"io"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/stats/waits"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// finishTypes are the arrays that the finish of a location fills.
func finishTypes(graphOnly bool) []xtf.TypeID {
	if graphOnly {
		return []xtf.TypeID{xtf.TypeDiag}
	}
	return []xtf.TypeID{xtf.TypeP2P, xtf.TypeColl, xtf.TypeTimeBin, xtf.TypeDiag}
}

// finished is the result of the stages from finish on. With the segments it is all that later stages need. Encoded as JSON it is the mark
// of a checkpoint.
type finished struct {
	facts
	Forest  *forest
	Slabs   causes.Slabs
	Each    []uint64       // by location: events; on rank 0
	Summary *stats.Summary // on rank 0
	Section []byte         // shared call graph, on rank 0
}

// finish makes, in one pass over each location, its rows of messages and collectives, its waits, their values by interval and its time
// line; then sums over all locations. Without rows there are no waits.
func (a *job) finish(in *shared) (*finished, error) {
	a.begin("finish")
	out := &finished{facts: in.facts, Forest: in.forest, Section: in.section}
	pass := finishPass{
		last: stats.NewFinisher(a.tables, in.Levels),
		job:  a, found: out, results: in.results, tiles: newTiling(a, in.Levels), sum: stats.NewSummarizer(a.tables, in.Levels), totals: waits.NewTotals(a.c, in.paths),
		waits: waits.NewRun(a.defs, in.derived(), waits.Options{PostPoint: a.intervals.PostPoint}),
	}
	if !a.o.GraphOnly {
		run := a.causesRun(out)
		if err := run.Cut(&in.cuts); err != nil {
			return nil, err
		}
		out.Slabs = run.Slabs
		if err := a.findWithin(run); err != nil {
			return nil, err
		}
		defer run.Within.Close()
		pass.within = run.Within
		pass.lines = causes.NewPass(run)
	}
	err := a.eachOwn(func(p trace.P) error {
		err := pass.location(p)
		a.meter.Add(a.size.Weights[p])
		return err
	})
	in.results, pass.results = nil, nil
	if err := jobs.Agree(a.c, err); err != nil {
		return nil, err
	}
	if err := jobs.Agree(a.c, pass.tiles.finish(a)); err != nil {
		return nil, err
	}
	if out.Summary, err = pass.sum.Reduce(a.c); err != nil {
		return nil, err
	}
	if err := out.gatherEvents(a.c); err != nil || a.o.GraphOnly {
		return out, err
	}
	return out, pass.waitTotals()
}

// findWithin finds what locations of a process wait for in each other. Collective.
func (a *job) findWithin(run *causes.Run) error {
	d := causes.NewWithin(run, true)
	if d == nil {
		return nil
	}
	run.Within = d
	return d.Match(a.eachOwn(func(p trace.P) error {
		if !d.Has(p) {
			return nil
		}
		paths, err := a.pathTable(p)
		if err != nil {
			return err
		}
		calls, err := a.rows(p, stageLoad, xtf.TypeCall)
		if err != nil {
			return err
		}
		transfers, err := a.rows(p, stageLoad, xtf.TypeRMA)
		if err != nil {
			return err
		}
		notes, err := a.store.Segment(a.key(p, stageLoad, kindNotes))
		if err != nil {
			return err
		}
		return d.Location(p, calls, transfers, io.NewSectionReader(notes, 0, notes.Size()), callpath.New(), paths)
	}))
}

// finishPass is the finish of all locations of this rank.
type finishPass struct {
	*job
	found   *finished
	results *match.Results
	tiles   *tiling
	sum     *stats.Summarizer
	waits   *waits.Run
	totals  *waits.Totals
	lines   *causes.Pass
	within  *causes.Within // nil for none
	last    *stats.Finisher
	done    *match.Rows // of the location before, whose memory is reused
	over    uint64      // number of sums that were too large
}

func (a *finishPass) location(p trace.P) error {
	b, err := a.store.Get(a.key(p, stageLoad, kindLoaded))
	if err != nil {
		return err
	}
	loaded, err := a.tables.Parse(b)
	if err != nil {
		return err
	}
	types := finishTypes(a.o.GraphOnly)
	arrays, err := a.newArrays(unit(p, stageFinish), types)
	if err != nil {
		return err
	}
	out := stats.FinishOutputs{Diagnostics: arrays[xtf.TypeDiag].ArrayBuilder}
	var rows match.RowOutputs
	var tiles *xtfwriter.Array
	if !a.o.GraphOnly {
		if err = a.follow(p, arrays[xtf.TypeP2P], arrays[xtf.TypeColl]); err != nil {
			return err
		}
		rows.P2P, rows.Coll, out.TimeBins = arrays[xtf.TypeP2P].ArrayBuilder, arrays[xtf.TypeColl].ArrayBuilder, arrays[xtf.TypeTimeBin].ArrayBuilder
		if tiles, err = a.store.NewArray(a.enc, a.types.Lookup(xtf.TypeTile), unit(p, stageTiles)); err != nil {
			return err
		}
		out.Tiles = tiles.ArrayBuilder
	}
	a.done = a.results.Rows(a.defs, p, loaded.Diagnostics, rows, a.done)
	if !a.o.GraphOnly {
		if err := a.locate(p, a.done); err != nil {
			return err
		}
	}
	found, err := a.done.Finish()
	if err != nil {
		return err
	}
	done := a.last.Finish(loaded, found, out)
	a.sum.Add(done, loaded)
	if tiles != nil {
		if err := a.tiles.add(loaded, tiles); err != nil {
			return err
		}
	}
	if err := saveArrays(arrays, types); err != nil {
		return err
	}
	a.drop(p, kindLoaded)
	if len(done.Details) == 0 {
		return nil
	}
	return a.store.Put(a.key(p, stageFinish, xtfwriter.KindBlob+xtf.KindDetails), done.Details)
}

// follow lets rows of a location leave their times to its calls: stats.Loader makes messages and collectives that begin and end with their
// call.
func (a *job) follow(p trace.P, arrays ...*xtfwriter.Array) error {
	calls, _, err := a.store.LoadArray(unit(p, stageLoad), xtf.TypeCall)
	for _, x := range arrays {
		x.Follow(a.types, calls, true)
	}
	return err
}

// gatherEvents sets Each on rank 0.
func (f *finished) gatherEvents(c mpi.Comm) error {
	parts, err := c.Gather(jobs.AppendWords(nil, f.own...), 0)
	f.Each = jobs.TakeWords[uint64](parts...)
	return err
}
