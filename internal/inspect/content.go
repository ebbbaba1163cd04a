package inspect

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// definitionCounts counts definition records.
type definitionCounts struct {
	Strings       int `json:"strings"`
	Regions       int `json:"regions"`
	Groups        int `json:"groups"`
	Communicators int `json:"communicators"`
	Windows       int `json:"rma_windows"`
	Metrics       int `json:"metrics"`
	Contexts      int `json:"calling_contexts"`
	Handles       int `json:"io_handles"`
	All           int `json:"all"`
}

func countDefinitions(d *trace.Definitions) definitionCounts {
	c := definitionCounts{
		Strings: len(d.Strings), Regions: len(d.Regions), Groups: len(d.Groups), Communicators: len(d.Comms) + len(d.InterComms),
		Windows: len(d.RmaWins), Metrics: len(d.MetricMembers), Contexts: len(d.CallingContexts), Handles: len(d.IoHandles),
	}
	d.Each(func(trace.DefKind, trace.Record) { c.All++ })
	return c
}

// content describes the parts of an XTF file.
type content struct {
	Format      string              `json:"format"`
	ID          string              `json:"id"`
	Bytes       int64               `json:"bytes"`
	PageBytes   int64               `json:"alignment"`
	Rows        bool                `json:"rows"`  // of events; else the call graph and sums alone
	Bound       *results.Bound      `json:"bound"` // of times in the call graph; nil: exact
	Locations   trace.LocationTypes `json:"locations"`
	Definitions definitionCounts    `json:"definitions"`
	Arrays      []arrayTotal        `json:"arrays"`   // by type
	Sections    []partTotal         `json:"sections"` // of the file, and blobs of locations, by kind
	Lost        []table.Lost        `json:"lost,omitempty"`
}

// arrayTotal sums up the arrays of one type.
type arrayTotal struct {
	Type   string `json:"type"`
	Arrays uint64 `json:"arrays"`
	Rows   uint64 `json:"rows"`
	Bytes  uint64 `json:"bytes"` // stored
}

// partTotal sums up the sections or blobs of one kind.
type partTotal struct {
	Name  string `json:"name"`
	Parts uint64 `json:"parts"`
	Bytes uint64 `json:"bytes"`
}

// newContent lists the parts of the file. It reads one region head per location.
func newContent(r *results.Run) (*content, error) {
	id := r.File.FileID()
	c := &content{
		Format: fmt.Sprintf("XTF %d", xtf.Major), ID: hex.EncodeToString(id[:]), Bytes: r.Size, PageBytes: r.File.Types().Align(),
		Rows: r.Rows, Locations: trace.CountLocations(r.Defs), Definitions: countDefinitions(r.Defs),
	}
	var err error
	if c.Bound, err = results.KeptBound(r); err != nil {
		return nil, err
	}
	arrays := make([]arrayTotal, len(r.File.Types().All()))
	columns, details := partTotal{Name: "call graph columns"}, partTotal{Name: "diagnostic texts"}
	procs := make([]xtf.Proc, 0, r.File.Procs()+1)
	for p := range xtf.Proc(r.File.Procs()) {
		procs = append(procs, p)
	}
	for _, p := range append(procs, xtf.WholeRun) {
		blobs, err := addRegion(r, p, arrays)
		if err != nil && p != xtf.WholeRun {
			err = r.LeftOut(&c.Lost, trace.P(p), "info", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: region %d: %w", r.Name, p, err)
		}
		for _, b := range blobs {
			t := &details
			if b.Kind == xtf.KindCCGColumns {
				t = &columns
			}
			t.Parts++
			t.Bytes += uint64(b.Size)
		}
	}
	for _, a := range arrays {
		if a.Arrays > 0 {
			c.Arrays = append(c.Arrays, a)
		}
	}
	for _, s := range r.File.Sections() {
		c.Sections = append(c.Sections, partTotal{cmp.Or(sectionNames[s.Kind], fmt.Sprintf("section %d", s.Kind)), 1, uint64(s.Size)})
	}
	c.Sections = append(c.Sections, columns, details)
	return c, nil
}

// addRegion adds the arrays of a region to totals, by the index of their type, and returns its blobs.
func addRegion(r *results.Run, p xtf.Proc, totals []arrayTotal) ([]xtf.SectionInfo, error) {
	for i := range totals {
		t := &r.File.Types().All()[i]
		a, err := r.File.Array(p, t.ID)
		if err != nil {
			return nil, err
		}
		totals[i].Type = t.Name
		if a.Len() == 0 {
			continue
		}
		totals[i].Arrays++
		totals[i].Rows += a.Len()
		totals[i].Bytes += a.StoredBytes()
	}
	return r.File.Blobs(p)
}

// sectionNames are the names of the sections of a file.
var sectionNames = map[uint32]string{
	xtf.KindDefinitions: "definitions", xtf.KindTypes: "types", xtf.KindDirectory: "directory", xtf.KindProvenance: "provenance",
	xtf.KindCCG: "call graph", xtf.KindNames: "names", xtf.KindNodeNames: "names of intervals",
}
