package ccgmerge

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// folding is what folding made of an archive: nodes, least and most of a location; nodes of all locations, of the merged
// graph, and its distinct roots.
type folding struct {
	nodes              [2]int
	sum, merged, roots int
}

// foldings are our counts, and counts published with the rules of folding, from
// a prototype that had byte counts in the structure and loops of 64 entries:
// ours may not be above.
var foldings = []struct {
	name        string
	own, limits folding
}{
	{
		"npb-lu.S-16",
		folding{[2]int{55, 66}, 969, 186, 9},
		folding{[2]int{69, 90}, 1297, 231, 9},
	},
	{
		"sweep3d-16",
		folding{[2]int{79, 111}, 1520, 263, 9},
		folding{[2]int{81, 113}, 1552, 271, 9},
	},
	{
		"lammps-melt-16",
		folding{[2]int{111, 111}, 1776, 126, 2},
		folding{[2]int{527, 580}, 8918, 2218, 16},
	},
	{
		"npb-sp.S-9",
		folding{[2]int{109, 109}, 981, 159, 3},
		folding{[2]int{117, 129}, 1098, 311, 9},
	},
	{
		"lulesh-s4-27",
		folding{[2]int{103, 261}, 3831, 1052, 27},
		folding{[2]int{131, 412}, 5610, 1923, 27},
	},
	{
		"lammps-pppm-8",
		folding{[2]int{660, 743}, 5581, 2201, 8},
		folding{[2]int{1228, 1323}, 10078, 4393, 8},
	},
}

// mostCompares bounds the compares per append, all of them counted: a loop that
// fits takes one for each of its entries.
const mostCompares = 3

// TestFoldingTable compares what folding makes of real traces with our counts
// before and with the published ones.
func TestFoldingTable(t *testing.T) {
	root := traces(t)
	for _, c := range foldings {
		t.Run(c.name, func(t *testing.T) {
			src, err := otf2.OpenPath(filepath.Join(root, c.name, "traces.otf2"))
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			got, compares, err := fold(src)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v, %.3f compares per append", got, compares)
			if compares > mostCompares {
				t.Errorf("%.3f compares of entries per append, %g at most", compares, float64(mostCompares))
			}
			if got != c.own {
				t.Errorf("%+v, want %+v", got, c.own)
			}
			l := c.limits
			if got.nodes[1] > l.nodes[1] || got.sum > l.sum || got.merged > l.merged || got.roots > l.roots {
				t.Errorf("%+v, above the published %+v", got, l)
			}
		})
	}
}

// fold makes the graphs of all locations, and joins them. All events but begins of calls append to a list of entries.
func fold(src trace.Source) (f folding, perAppend float64, err error) {
	d := src.Definitions()
	var locals slice
	var nodes []int
	var appends, compares uint64
	for p := range d.NumLocations() {
		b := build.NewBuilder(d, trace.P(p), graph.Options{})
		add := func(batch *trace.Batch) error {
			for i := range batch.Events {
				if k := batch.Events[i].Kind; k != trace.Enter && k != trace.CallingContextEnter {
					appends++
				}
			}
			return b.Add(batch)
		}
		if err := each(src, trace.P(p), add); err != nil {
			return f, 0, err
		}
		l, err := b.Finish()
		if err != nil {
			return f, 0, err
		}
		compares += b.Compares()
		locals = append(locals, l)
		nodes = append(nodes, l.Nodes())
		f.sum += l.Nodes()
	}
	f.nodes = [2]int{slices.Min(nodes), slices.Max(nodes)}
	return f, float64(compares) / float64(appends), mpi.RunInProcess(1, func(c mpi.Comm) error {
		shared, _, _, err := Reduce(c, d, locals, graph.Options{}, Config{})
		if err != nil {
			return err
		}
		f.merged = shared.Nodes()
		roots := map[uint32]bool{}
		for _, l := range locals {
			blob, err := build.NewDistributor(shared).Distribute(l)
			if err != nil {
				return err
			}
			loc, err := ccg.OpenLocation(shared, blob)
			if err != nil {
				return fmt.Errorf("location %d: %w", l.P(), err)
			}
			roots[loc.Root()] = true
		}
		f.roots = len(roots)
		return nil
	})
}
