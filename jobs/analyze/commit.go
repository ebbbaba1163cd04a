package analyze

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// commit writes the shared file.
func (a *job) commit(in *finished) (nothing, error) {
	a.begin("commit")
	if a.o.Resume {
		if err := a.pace.report(); err != nil {
			return nothing{}, err
		}
	}
	f := file{a, in}
	var err error
	a.res.File, err = a.ws.Commit(&xtfwriter.Parts{
		Types: a.types, FileID: a.id, First: xtf.Proc(a.own.First), Regions: a.own.Len(), Region: f.region,
		WholeRun: f.wholeRegion, Sections: f.sections, Collective: a.o.Collective, Hints: a.o.Hints,
	})
	return nothing{}, jobs.Coded(err)
}

// file returns the parts of the file that a rank has.
type file struct {
	*job
	run *finished
}

// stageArrays are the arrays of a stage.
type stageArrays struct {
	stage uint32
	types []xtf.TypeID
}

// locationArrays returns the arrays of a location in the file. Arrays without rows are missing.
func (a *file) locationArrays() []stageArrays {
	return []stageArrays{
		{stageLoad, loadArrays},
		{stageNumber, []xtf.TypeID{xtf.TypeIval}},
		{stageFinish, finishTypes(a.o.GraphOnly)},
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

func (a *file) region(i int) (xtfwriter.Region, error) {
	p := a.own.First + trace.P(i)
	process, thread := a.defs.Process(p)
	r := xtfwriter.Region{P: xtf.Proc(p), Process: process, Thread: thread, Events: a.run.own[i]}
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

func (a *file) wholeRegion() (xtfwriter.Region, error) {
	r := xtfwriter.Region{P: xtf.WholeRun, Events: a.run.Events}
	for _, x := range wholeStages {
		if err := a.collect(&r, xtfwriter.Unit{P: xtf.WholeRun, Stage: x.stage}, x.types); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (a *file) sections() ([]xtf.Blob, error) {
	defs, err := a.defs.AppendBinary(make([]byte, 0, a.res.DefsBytes))
	if err != nil {
		return nil, err
	}
	numbers := sha256.Sum256(jobs.AppendWords(nil, a.run.Each...)) // of events of all locations, in order
	a.prov.Events = hex.EncodeToString(numbers[:])
	prov, err := a.prov.Encode()
	if err != nil {
		return nil, err
	}
	return []xtf.Blob{
		xtf.BytesBlob(xtf.KindDefinitions, 1, xtf.SectionCritical, defs),
		xtf.BytesBlob(xtf.KindProvenance, 1, 0, prov),
		xtf.BytesBlob(xtf.KindCCG, 1, 0, a.run.Section),
		xtf.BytesBlob(xtf.KindNames, 1, 0, xtf.Names()),
		xtf.BytesBlob(xtf.KindNodeNames, 1, 0, stats.NodeNames(a.run.Forest.nodes)),
	}, nil
}
