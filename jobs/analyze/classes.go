package analyze

import (
	"context"
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// planClasses parses the options of classes.
func (a *job) planClasses() error {
	if a.o.Classes == nil {
		return nil
	}
	o, err := a.o.Classes.Parse(a.defs.Clock().TimerResolution)
	a.classOptions = o
	if err != nil {
		err = jobs.Fail(jobs.ExitUsage, err)
	}
	return err
}

// classes finds the classes of processes and writes their rows on rank 0.
//
// Memory of a rank: the program of all processes, see predict.Input; 80 bytes for each of its own; the blob of one location at a time;
// for clustering see jobs.ShareClasses. Vectors are segments.
func (a *job) classes(in *shared) (*shared, error) {
	a.begin("classes")
	section, err := a.c.Bcast(in.section, 0)
	if err != nil {
		return nil, err
	}
	g, vectors := &storedGraphs{a: a, section: section, events: in.own}, jobs.NewProcessSegments(a.store)
	defer vectors.Drop()
	program, err := predict.Open(a.c, g, predict.OpenOptions{Ranges: processRanges(a.defs, a.ranges), Primary: true, Vectors: vectors})
	if err != nil {
		return nil, err
	}
	o := a.classOptions
	jobs.ShareClasses(&o.Options, a.memory.Classes)
	k, err := program.Classify(context.Background(), a.c, o)
	if err != nil {
		return nil, err
	}
	if a.c.Rank() == 0 {
		err = a.whole(stageClasses, predict.ClassTypes, func(arrays arrays) {
			predict.WriteClasses(k, func(t xtf.TypeID) []byte {
				row, _ := arrays[t].Append()
				return row
			})
		})
	}
	return in, jobs.Agree(a.c, err)
}

// processRanges returns for each rank the processes whose first locations it has.
func processRanges(defs *trace.Definitions, locations []partition.Range) []partition.Range {
	ranges := make([]partition.Range, len(locations))
	list := defs.Processes()
	n := 0
	for i, r := range locations {
		ranges[i].First = trace.P(n)
		for n < len(list) && list[n].First < r.End {
			n++
		}
		ranges[i].End = trace.P(n)
	}
	return ranges
}

// storedGraphs are the call graphs of this rank's locations, in segments.
type storedGraphs struct {
	a       *job
	section []byte
	events  []uint64 // of each location
}

// Procs implements predict.Graphs.
func (g *storedGraphs) Procs() uint32 { return uint32(g.a.defs.NumLocations()) }

// Definitions implements predict.Graphs.
func (g *storedGraphs) Definitions() ([]byte, error) { return g.a.defs.AppendBinary(nil) }

// SectionBytes implements predict.Graphs.
func (g *storedGraphs) SectionBytes(kind uint32) ([]byte, error) {
	if kind != xtf.KindCCG {
		return nil, fmt.Errorf("section %d: %w", kind, xtf.ErrNoSection)
	}
	return g.section, nil
}

// BlobBytes implements predict.Graphs.
func (g *storedGraphs) BlobBytes(p xtf.Proc, kind uint32) ([]byte, error) {
	return g.a.store.Get(g.a.key(trace.P(p), stageFinish, xtfwriter.KindBlob+kind))
}

// Dir implements predict.Graphs.
func (g *storedGraphs) Dir(p xtf.Proc) (xtf.DirRow, error) {
	return xtf.DirRow{Events: g.events[trace.P(p)-g.a.own.First]}, nil
}
