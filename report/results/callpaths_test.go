package results

import (
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestPathNames has functions that are regions and frames of call sites.
func TestPathNames(t *testing.T) {
	d := &trace.Definitions{}
	text := func(s string) uint32 {
		d.Strings = append(d.Strings, trace.String{Ref: uint32(len(d.Strings)), Value: s})
		return uint32(len(d.Strings) - 1)
	}
	region := func(name, description string, p trace.ParadigmID) {
		d.Regions = append(d.Regions, trace.Region{Ref: uint32(len(d.Regions)), Name: text(name), Description: text(description), Paradigm: p})
	}
	region("program", "", trace.ParadigmUser)
	region("solve", "", trace.ParadigmUser)
	region("dot", "", trace.ParadigmUser)
	region("MPI_Allreduce", trace.DescribeCallSite([]string{"solve (cg.c:9)", "dot (cg.c:3)"}), trace.ParadigmMPI)
	d.Seal()
	p := &CallPaths{r: &Run{Defs: d}}
	p.parents = []uint32{0, 0, 1, 2, 3, 4, 3, 6} // solve calls itself in the second path, and dot is inlined there
	p.regions = []uint32{trace.Undefined, 0, 1, 2, 3, 3, 1, 3}
	for id, want := range map[uint32][]string{
		4: {"program", "solve (cg.c:9)", "dot (cg.c:3)", "MPI_Allreduce"},
		7: {"program", "solve", "dot", "solve (cg.c:9)", "dot (cg.c:3)", "MPI_Allreduce"},
	} {
		if got := p.Names(id); !slices.Equal(got, want) {
			t.Errorf("path %d: %q, want %q", id, got, want)
		}
	}
}
