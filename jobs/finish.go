package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// finishArrays are the arrays that the finish of a location fills.
var finishArrays = []xtf.TypeID{xtf.TypeP2P, xtf.TypeColl, xtf.TypeTimeBin, xtf.TypeComp, xtf.TypeDiag}

// finish joins rows and results of every location, then sums over all.
func (a *analysis) finish() error {
	a.meter.Stage("finish", a.ownBytes())
	sum := stats.NewSummarizer(a.tables, a.ranges, a.c.Rank())
	err := a.finishLocations(sum)
	a.results = nil
	if err := agree(a.c, err); err != nil {
		return err
	}
	whole, err := sum.Reduce(a.c)
	if err != nil {
		return err
	}
	if err := a.setEvents(); err != nil {
		return err
	}
	if a.c.Rank() == 0 {
		whole.AddProblems(a.defs.Problems())
		a.summary = whole
		a.res.Codes = whole.Codes
		a.res.Partial = whole.Partial()
		if a.o.Strict && a.res.Partial {
			err = Fail(ExitPartial, errDamaged)
		} else {
			err = a.writeWhole()
		}
	}
	if err := agree(a.c, err); err != nil {
		return err
	}
	partial := []int64{0}
	if a.res.Partial {
		partial[0] = 1
	}
	err = a.c.AllreduceInt64(partial, mpi.Max)
	a.res.Partial = partial[0] != 0
	return err
}

func (a *analysis) finishLocations(sum *stats.Summarizer) error {
	rows, err := a.results.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	more := rows.Next()
	for p := a.own.First; p < a.own.End; p++ {
		f, done, err := a.newFinisher(p)
		if err != nil {
			return err
		}
		for more && stats.ResultP(rows.Row()) == p {
			if err := f.Add(rows.Row()); err != nil {
				return err
			}
			more = rows.Next()
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := done(f, sum); err != nil {
			return err
		}
		a.meter.Add(a.size.Weights[p])
	}
	if more {
		return fmt.Errorf("results for location %d, which this rank does not hold", stats.ResultP(rows.Row()))
	}
	return rows.Err()
}

// newFinisher begins the finish of a location; done ends it.
func (a *analysis) newFinisher(p trace.P) (*stats.Finisher, func(*stats.Finisher, *stats.Summarizer) error, error) {
	b, err := a.store.Get(a.key(p, stageLoad, kindLoaded))
	if err != nil {
		return nil, nil, err
	}
	loaded, err := a.tables.Parse(b)
	if err != nil {
		return nil, nil, err
	}
	p2p, err := a.store.Segment(a.key(p, stageLoad, kindStagedP2P))
	if err != nil {
		return nil, nil, err
	}
	coll, err := a.store.Segment(a.key(p, stageLoad, kindStagedColl))
	if err != nil {
		return nil, nil, err
	}
	arrays, err := a.newArrays(unit(p, stageFinish), finishArrays)
	if err != nil {
		return nil, nil, err
	}
	f := stats.NewFinisher(a.tables, stats.FinishInput{Loaded: loaded, P2P: p2p, Coll: coll}, stats.FinishOutputs{
		P2P: arrays[xtf.TypeP2P].ArrayBuilder, Coll: arrays[xtf.TypeColl].ArrayBuilder, TimeBins: arrays[xtf.TypeTimeBin].ArrayBuilder,
		Components: arrays[xtf.TypeComp].ArrayBuilder, Diagnostics: arrays[xtf.TypeDiag].ArrayBuilder,
	})
	return f, func(f *stats.Finisher, sum *stats.Summarizer) error {
		done, err := f.Finish(stats.Level(a.last))
		if err != nil {
			return err
		}
		sum.Add(done, loaded.Profile)
		if err := saveArrays(arrays, finishArrays); err != nil {
			return err
		}
		for _, kind := range []uint32{kindStagedP2P, kindStagedColl, kindLoaded} {
			a.drop(p, stageLoad, kind)
		}
		a.store.Finish(unit(p, stageFinish))
		if len(done.Details) == 0 {
			return nil
		}
		return a.store.Put(a.key(p, stageFinish, xtfwriter.KindBlob+xtf.KindDetails), done.Details)
	}, nil
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

// wholeArrays are the arrays about all locations.
var wholeArrays = []xtf.TypeID{xtf.TypeTimeBin, xtf.TypeDiag, xtf.TypeInterval, xtf.TypeStat}

// writeWhole makes the arrays of the whole-run region on rank 0.
func (a *analysis) writeWhole() error {
	u := xtfwriter.Unit{P: xtf.WholeRun, Stage: stageWhole}
	arrays, err := a.newArrays(u, wholeArrays)
	if err != nil {
		return err
	}
	a.summary.Write(a.tables, stats.Level(a.last), stats.SummaryOutputs{
		Intervals: arrays[xtf.TypeInterval].ArrayBuilder, Stats: arrays[xtf.TypeStat].ArrayBuilder,
		TimeBins: arrays[xtf.TypeTimeBin].ArrayBuilder, Diagnostics: arrays[xtf.TypeDiag].ArrayBuilder,
	})
	return saveArrays(arrays, wholeArrays)
}

// commit writes the shared file.
func (a *analysis) commit() error {
	a.meter.Stage("commit", 0)
	var err error
	a.res.File, err = a.ws.Commit(&xtfwriter.Parts{
		Types: a.types, FileID: a.id, Regions: a.own.Len(), Region: a.region,
		WholeRun: a.wholeRegion, Sections: a.sections, Collective: a.o.Collective, Hints: a.o.Hints,
	})
	return coded(err)
}

func (a *analysis) region(i int) (xtfwriter.Region, error) {
	p := a.own.First + trace.P(i)
	process, thread := a.defs.Process(p)
	r := xtfwriter.Region{P: xtf.Proc(p), Process: process, Thread: thread, Events: a.events[i]}
	err := a.collect(&r, unit(p, stageLoad), loadArrays)
	if err == nil {
		err = a.collect(&r, unit(p, stageFinish), finishArrays)
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
	err := a.collect(&r, xtfwriter.Unit{P: xtf.WholeRun, Stage: stageWhole}, wholeArrays)
	return r, err
}

func (a *analysis) sections() ([]xtf.Blob, error) {
	defs, err := a.defs.AppendBinary(nil)
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
	}, nil
}
