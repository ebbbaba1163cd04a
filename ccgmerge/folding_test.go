package ccgmerge

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// folding is what folding made of an archive: nodes, and entries that stay
// unfolded until the end, least and most of a location; nodes of all locations, of the merged graph, and
// its distinct roots.
type folding struct {
	nodes, loose       [2]int
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
		folding{[2]int{55, 66}, [2]int{37, 52}, 969, 186, 9},
		folding{[2]int{69, 90}, [2]int{58, 82}, 1297, 231, 9},
	},
	{
		"sweep3d-16",
		folding{[2]int{79, 111}, [2]int{10, 10}, 1520, 263, 9},
		folding{[2]int{81, 113}, [2]int{15, 15}, 1552, 271, 9},
	},
	{
		"lammps-melt-16",
		folding{[2]int{111, 111}, [2]int{116, 116}, 1776, 126, 2},
		folding{[2]int{527, 580}, [2]int{487, 559}, 8918, 2218, 16},
	},
	{
		"npb-sp.S-9",
		folding{[2]int{109, 109}, [2]int{39, 39}, 981, 159, 3},
		folding{[2]int{117, 129}, [2]int{72, 116}, 1098, 311, 9},
	},
	{
		"lulesh-s4-27",
		folding{[2]int{103, 261}, [2]int{66, 170}, 3831, 1052, 27},
		folding{[2]int{131, 412}, [2]int{66, 2183}, 5610, 1923, 27},
	},
	{
		"lammps-pppm-8",
		folding{[2]int{660, 743}, [2]int{2160, 3278}, 5581, 2201, 8},
		folding{[2]int{1228, 1323}, [2]int{5536, 6241}, 10078, 4393, 8},
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
			got, work, err := fold(src)
			if err != nil {
				t.Fatal(err)
			}
			compares := float64(work.Compares) / float64(work.Appends)
			t.Logf("%+v, %.3f compares per append", got, compares)
			if got != c.own {
				t.Errorf("%+v, want %+v", got, c.own)
			}
			l := c.limits
			if got.nodes[1] > l.nodes[1] || got.loose[1] > l.loose[1] || got.sum > l.sum || got.merged > l.merged || got.roots > l.roots {
				t.Errorf("%+v, above the published %+v", got, l)
			}
			if compares > mostCompares {
				t.Errorf("%.3f compares of entries per append, %g at most", compares, float64(mostCompares))
			}
		})
	}
}

// fold makes the graphs of all locations, and joins them.
func fold(src trace.Source) (f folding, work ccg.Work, err error) {
	d := src.Definitions()
	var locals Slice
	var nodes, loose []int
	b := ccg.NewBuilder(d, 0, ccg.Options{})
	for p := range d.NumLocations() {
		b.Reset(trace.P(p))
		if err := each(src, trace.P(p), b.Add); err != nil {
			return f, work, err
		}
		l, err := b.Finish()
		if err != nil {
			return f, work, err
		}
		locals = append(locals, l)
		w := b.Work()
		work.Appends += w.Appends
		work.Compares += w.Compares
		loose = append(loose, int(w.Loose+w.Carried))
		nodes = append(nodes, l.Nodes())
		f.sum += l.Nodes()
	}
	f.nodes = [2]int{slices.Min(nodes), slices.Max(nodes)}
	f.loose = [2]int{slices.Min(loose), slices.Max(loose)}
	return f, work, mpi.RunInProcess(1, func(c mpi.Comm) error {
		shared, _, err := Reduce(c, d, locals, ccg.Options{}, Config{})
		if err != nil {
			return err
		}
		f.merged = shared.Nodes()
		roots := map[uint32]bool{}
		for _, l := range locals {
			blob, err := ccg.Distribute(shared, l)
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
