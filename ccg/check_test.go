package ccg

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// TestCheckFindsBadClasses damages what only Check can see.
func TestCheckFindsBadClasses(t *testing.T) {
	m := lossyGraph(t, 4000, 64)
	big := uint32(0) // a node with several rows
	for id, table := range m.shared.Classes.Tables {
		if table != nil && table.Rows > 2 && table.GapsPerRow > 0 {
			big = uint32(id)
		}
	}
	if big == 0 {
		t.Fatal("no table of several rows")
	}
	for _, c := range []struct {
		name, want string
		damage     func(t *graph.ClassTable)
	}{
		{"none", "", func(*graph.ClassTable) {}},
		{"twice", "there twice", func(t *graph.ClassTable) {
			t.Gaps, t.Kids = append(t.Gaps, t.Gaps[:t.GapsPerRow]...), append(t.Kids, t.Kids[:t.KidsPerRow]...)
			t.Rows++
		}},
		{"unused", "are used", func(t *graph.ClassTable) {
			gaps := slices.Clone(t.Gaps[:t.GapsPerRow])
			gaps[t.GapsPerRow-1] += 1 << 50
			t.Gaps, t.Kids = append(t.Gaps, gaps...), append(t.Kids, t.Kids[:t.KidsPerRow]...)
			t.Rows++
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			damaged := *m.shared.Classes.Tables[big]
			damaged.Gaps, damaged.Kids = slices.Clone(damaged.Gaps), slices.Clone(damaged.Kids)
			c.damage(&damaged)
			s := &graph.Shared{Defs: m.defs, Opt: m.shared.Opt, Encoding: m.shared.Encoding, Graph: m.shared.Graph}
			s.Classes = &graph.Classes{Tables: slices.Clone(m.shared.Classes.Tables)}
			s.Classes.Tables[big] = &damaged
			err := Check(s, func(yield func(*Location, error) bool) {
				for _, b := range m.blobs {
					if l, err := OpenLocation(s, b); !yield(l, err) {
						return
					}
				}
			})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, graph.ErrCorrupt) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMarks compares the marks with the times, and lets Check find a bad one.
func TestMarks(t *testing.T) {
	defs := ccgtest.Definitions(1)
	for _, n := range []int{1024, 1025, 2048, 2049, 5000} {
		b := &trace.Batch{}
		for i := range n {
			b.Append(trace.Time(50+i*i), trace.ParameterString, 0, 1, uint64(i%3))
		}
		l := built(t, defs, 0, b, graph.Options{}, 100)
		s := join(t, defs, []*build.Local{l}, graph.Options{})
		blob, err := build.NewDistributor(s).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := OpenLocation(s, blob)
		if err != nil {
			t.Fatal(err)
		}
		each := func(yield func(*Location, error) bool) { yield(loc, nil) }
		if err := Check(s, each); err != nil {
			t.Fatal(err)
		}
		marks := (n - 1) / graph.MarkEvery
		if v := loc.view; (v.Marks >= 0) != (marks > 0) || marks > 0 && v.Cols[v.Marks].Count != uint64(marks) {
			t.Fatalf("%d events: marks in column %d", n, v.Marks)
		}
		if marks == 0 {
			continue
		}
		var enc column.Encoder
		values := make([]uint64, marks)
		values[marks-1] = 7
		bad, err := column.Parse(enc.Append(nil, values))
		if err != nil {
			t.Fatal(err)
		}
		loc.cols[loc.view.Marks] = bad
		if err := Check(s, each); !errors.Is(err, graph.ErrCorrupt) {
			t.Errorf("%d events, bad mark: %v", n, err)
		}
	}
}
