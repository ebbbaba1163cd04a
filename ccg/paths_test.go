package ccg

import (
	"errors"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// paths adds every event of a stream to its path.
func (o *told) paths(totals map[string]*PathTotal) {
	get := func(path []uint32) *PathTotal {
		k := pathName(path)
		if totals[k] == nil {
			totals[k] = &PathTotal{Region: trace.Undefined, Depth: len(path)}
			if len(path) > 0 {
				totals[k].Region = path[len(path)-1]
			}
		}
		return totals[k]
	}
	last := o.steps[0].Time
	for i, s := range o.steps {
		var path []uint32
		gap := uint64(s.Time - last)
		last = s.Time
		for d := range len(o.open[i]) + 1 {
			t := get(path)
			t.Inclusive += gap
			t.GapsIn++
			if d == len(o.open[i]) {
				t.Exclusive += gap
				t.Gaps++
				break
			}
			path = append(path, o.open[i][d].Region)
		}
		if s.Move == Enters {
			get(append(path, s.Region)).Calls++
		}
	}
}

func pathName(path []uint32) string {
	var b []byte
	for _, r := range path {
		b = append(b, byte(r))
	}
	return string(b)
}

func TestPathsEqualEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		want := map[string]*PathTotal{}
		var whole, merged PathProfile
		for p, l := range m.locs {
			tell(m.defs, m.streams[p]).paths(want)
			if err := whole.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range slices.Backward(m.locs) {
			if err := merged.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		list, err := whole.Paths()
		if err != nil {
			t.Fatal(err)
		}
		other, err := merged.Paths()
		if err != nil || !slices.Equal(list, other) {
			t.Fatalf("profiles added up in another order differ (%v)", err)
		}
		var path []uint32
		for i, got := range list {
			if got.Depth > 0 {
				path = append(path[:got.Depth-1], got.Region)
				if p := list[got.Parent]; got.Parent >= i || p.Depth != got.Depth-1 {
					t.Fatalf("path %d has parent %d", i, got.Parent)
				}
			}
			w := want[pathName(path[:got.Depth])]
			if w == nil {
				t.Fatalf("path %v does not occur", path)
			}
			if got.Parent = 0; got != *w {
				t.Fatalf("path %v: %+v, want %+v", path, got, *w)
			}
		}
		if len(list) != len(want) {
			t.Errorf("%d paths, want %d", len(list), len(want))
		}
	})
}

// twoWays returns a location of 2*depth calls, each with both calls below it: it
// has 2^depth paths, and no columns.
func twoWays(t *testing.T, depth int) *Location {
	t.Helper()
	g := graph.NewGraph()
	intern := func(k graph.Kind, w []uint64, children []uint32) uint32 {
		n, err := g.AddTuple(w)
		if err != nil {
			t.Fatal(err)
		}
		id, err := g.Nodes.Intern(uint32(k)<<graph.KindShift|n, children)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var below []uint32
	for range depth {
		var both []uint32
		for side := range uint64(2) {
			both = append(both, intern(graph.KindCall, []uint64{graph.ClassCall | uint64(trace.Enter)<<graph.WordKind, side}, below))
		}
		below = both
	}
	root := intern(graph.KindRoot, []uint64{graph.ClassList, trace.Undefined}, below)
	ids := make([]uint32, root+1)
	for i := range ids {
		ids[i] = uint32(i)
	}
	defs := ccgtest.Definitions(1)
	v, err := graph.NewView(g, defs, nil, root, ids[1:], ids, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return &Location{shared: &graph.Shared{Defs: defs, Graph: g}, view: v, cols: make([]column.Column, len(v.Cols))}
}

func TestPathsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short")
	}
	var p PathProfile
	if err := p.Add(twoWays(t, 40)); !errors.Is(err, graph.ErrLimit) {
		t.Errorf("2^40 paths: %v", err)
	}
}
