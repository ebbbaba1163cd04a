package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/coppice-hpc/coppice/causes"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/waits"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// finishTypes are the arrays that the finish of a location fills.
func (a *analysis) finishTypes() []xtf.TypeID {
	if a.o.GraphOnly {
		return []xtf.TypeID{xtf.TypeDiag}
	}
	return []xtf.TypeID{xtf.TypeP2P, xtf.TypeColl, xtf.TypeTimeBin, xtf.TypeDiag}
}

// finish joins rows and results of every location, and finds its waits, what messages and collectives add to its intervals, and its
// time line while the rows pass, then sums over all. Nothing is waited for without rows.
func (a *analysis) finish() error {
	a.meter.Stage("finish", a.ownBytes())
	a.tiles.begin(a)
	pass := finishPass{analysis: a, sum: stats.NewSummarizer(a.tables, a.levels), totals: waits.NewTotals(a.c, a.paths)}
	pass.waits = waits.NewRun(a.defs, a.derivedNodes(), waits.Options{PostPoint: a.intervals.PostPoint})
	if !a.o.GraphOnly {
		if err := a.cutSlabs(&pass); err != nil {
			return err
		}
	}
	err := a.eachOwn(func(p trace.P) error {
		err := pass.location(p)
		a.meter.Add(a.size.Weights[p])
		return err
	})
	a.results = nil
	if err := agree(a.c, err); err != nil {
		return err
	}
	if err := agree(a.c, a.tiles.finish(a)); err != nil {
		return err
	}
	if a.summary, err = pass.sum.Reduce(a.c); err != nil {
		return err
	}
	if err := a.setEvents(); err != nil || a.o.GraphOnly {
		return err
	}
	return a.waitTotals(&pass)
}

// finishPass is the finish of all locations of this rank.
type finishPass struct {
	*analysis
	sum    *stats.Summarizer
	waits  *waits.Run
	totals *waits.Totals
	lines  *causes.Pass
	over   uint64 // sums that were too large
}

// cutSlabs chooses the slabs of time for which the pass makes time lines. Collective.
func (a *analysis) cutSlabs(pass *finishPass) error {
	run := a.causesRun()
	err := run.Cut(&a.cuts)
	a.slabs = run.Slabs
	pass.lines = causes.NewPass(run)
	return err
}

// location finishes a location.
func (a *finishPass) location(p trace.P) error {
	b, err := a.store.Get(a.key(p, stageLoad, kindLoaded))
	if err != nil {
		return err
	}
	loaded, err := a.tables.Parse(b)
	if err != nil {
		return err
	}
	types := a.finishTypes()
	arrays, err := a.newArrays(unit(p, stageFinish), types)
	if err != nil {
		return err
	}
	in := stats.FinishInput{Loaded: loaded, Results: a.results}
	out := stats.FinishOutputs{Diagnostics: arrays[xtf.TypeDiag].ArrayBuilder}
	var tiles *xtfwriter.Array
	if !a.o.GraphOnly {
		if in.P2P, err = a.staged(p, xtf.TypeP2P, kindStagedP2P); err != nil {
			return err
		}
		if in.Coll, err = a.staged(p, xtf.TypeColl, kindStagedColl); err != nil {
			return err
		}
		out.P2P, out.Coll, out.TimeBins = arrays[xtf.TypeP2P].ArrayBuilder, arrays[xtf.TypeColl].ArrayBuilder, arrays[xtf.TypeTimeBin].ArrayBuilder
		if tiles, err = a.store.NewArray(a.enc, a.types.Lookup(xtf.TypeTile), unit(p, stageTiles)); err != nil {
			return err
		}
		out.Tiles = tiles.ArrayBuilder
	}
	f := stats.NewFinisher(a.tables, in, out)
	if !a.o.GraphOnly {
		if err := a.locate(p, f); err != nil {
			return err
		}
	}
	done, err := f.Finish(a.levels)
	if err != nil {
		return err
	}
	a.sum.Add(done, loaded)
	if tiles != nil {
		if err := a.tiles.add(loaded, tiles); err != nil {
			return err
		}
	}
	if err := saveArrays(arrays, types); err != nil {
		return err
	}
	for _, kind := range []uint32{kindStagedP2P, kindStagedColl, kindLoaded} {
		a.drop(p, stageLoad, kind)
	}
	if len(done.Details) == 0 {
		return nil
	}
	return a.store.Put(a.key(p, stageFinish, xtfwriter.KindBlob+xtf.KindDetails), done.Details)
}

// staged returns the rows of a location that waited for the match.
func (a *analysis) staged(p trace.P, t xtf.TypeID, kind uint32) (*xtf.StagedRows, error) {
	s, err := a.store.Segment(a.key(p, stageLoad, kind))
	return a.stagedRows(t, s), err
}

// setEvents puts the hash over the decoded event counts of all locations, in
// order, into the provenance. Rank 0 holds 8 bytes per location meanwhile.
func (a *analysis) setEvents() error {
	var own []byte
	for _, n := range a.events {
		own = binary.LittleEndian.AppendUint64(own, n)
	}
	parts, err := a.c.Gather(own, 0)
	if err != nil {
		return err
	}
	h := sha256.New()
	for _, b := range parts {
		h.Write(b)
	}
	a.prov.Events = hex.EncodeToString(h.Sum(nil))
	return nil
}

// commit writes the shared file.
func (a *analysis) commit() error {
	a.meter.Stage("commit", 0)
	err := a.pace.report()
	if err != nil {
		return err
	}
	a.res.File, err = a.ws.Commit(&xtfwriter.Parts{
		Types: a.types, FileID: a.id, Regions: a.own.Len(), Region: a.region,
		WholeRun: a.wholeRegion, Sections: a.sections, Collective: a.o.Collective, Hints: a.o.Hints,
	})
	return coded(err)
}

// stageArrays are the arrays that a stage leaves.
type stageArrays struct {
	stage uint32
	types []xtf.TypeID
}

// locationArrays are the arrays of a location in the file; those without rows are
// not there.
func (a *analysis) locationArrays() []stageArrays {
	return []stageArrays{
		{stageLoad, loadArrays},
		{stageNumber, []xtf.TypeID{xtf.TypeIval}},
		{stageFinish, a.finishTypes()},
		{stageTiles, tileArrays},
		{stageWaits, waitArrays},
		{stageCauses, causeArrays},
		{stageReduce, compArrays},
	}
}

// wholeStages are the arrays of the whole run.
var wholeStages = []stageArrays{
	{stageNumber, pathArrays},
	{stageWaits, waitTotals},
	{stageCauses, causeTotals},
	{stageWhole, wholeArrays},
	{stageClasses, predict.ClassTypes},
}

func (a *analysis) region(i int) (xtfwriter.Region, error) {
	p := a.own.First + trace.P(i)
	process, thread := a.defs.Process(p)
	r := xtfwriter.Region{P: xtf.Proc(p), Process: process, Thread: thread, Events: a.events[i]}
	var err error
	for _, x := range a.locationArrays() {
		if err == nil {
			err = a.collect(&r, unit(p, x.stage), x.types)
		}
	}
	for _, kind := range []uint32{xtf.KindCCGColumns, xtf.KindDetails} {
		k := a.key(p, stageFinish, xtfwriter.KindBlob+kind)
		if err != nil || !a.store.Has(k) {
			continue
		}
		var b xtf.Blob
		b, err = a.store.Blob(k, kind, 1, 0)
		r.Blobs = append(r.Blobs, b)
	}
	return r, err
}

func (a *analysis) collect(r *xtfwriter.Region, u xtfwriter.Unit, types []xtf.TypeID) error {
	for _, t := range types {
		x, ok, err := a.store.LoadArray(u, t)
		if err != nil {
			return err
		}
		if ok {
			r.Arrays = append(r.Arrays, x)
		}
	}
	return nil
}

func (a *analysis) wholeRegion() (xtfwriter.Region, error) {
	r := xtfwriter.Region{P: xtf.WholeRun, Events: a.res.Events}
	for _, x := range wholeStages {
		if err := a.collect(&r, xtfwriter.Unit{P: xtf.WholeRun, Stage: x.stage}, x.types); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (a *analysis) sections() ([]xtf.Blob, error) {
	defs, err := a.defs.AppendBinary(make([]byte, 0, a.res.DefsBytes))
	if err != nil {
		return nil, err
	}
	prov, err := a.prov.encode()
	if err != nil {
		return nil, err
	}
	return []xtf.Blob{
		xtf.BytesBlob(xtf.KindDefinitions, 1, xtf.SectionCritical, defs),
		xtf.BytesBlob(xtf.KindProvenance, 1, 0, prov),
		xtf.BytesBlob(xtf.KindCCG, 1, 0, a.section),
		xtf.BytesBlob(xtf.KindNames, 1, 0, xtf.Names()),
		xtf.BytesBlob(xtf.KindNodeNames, 1, 0, stats.NodeNames(a.nodes)),
	}, nil
}
