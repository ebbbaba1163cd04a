package build

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// tables counts the tables of s and their rows.
func tables(s *graph.Shared) (nodes, rows int) {
	for _, t := range s.Classes.Tables {
		if t != nil {
			nodes++
			rows += t.Rows
		}
	}
	return nodes, rows
}

func TestClassesRoundTrip(t *testing.T) {
	const size = 5
	defs := ccgtest.Definitions(size)
	long := 5000
	if testing.Short() {
		long = 300
	}
	for _, o := range []graph.Options{{}, {Fan: 3, Fold: 16}} {
		o.Deviation = testBound
		for _, n := range []int{0, 1, 30, long} {
			for _, step := range []uint64{1 << 41, 64, 8, 1} {
				t.Run(fmt.Sprintf("B%d/%d/%d", o.Fan, n, step), func(t *testing.T) {
					var locals []*Local
					var streams []*trace.Batch
					for p := range uint32(size) {
						all := &trace.Batch{}
						if n > 0 {
							all = ccgtest.NewScript(uint64(n), p, size, true).Stream(n)
						}
						l, all := rounded(built(t, defs, trace.P(p), all, o, 1+n/3), all, func(g uint64) uint64 { return g / step * step })
						locals, streams = append(locals, l), append(streams, all)
					}
					nodes, rows := checkClassed(t, defs, locals, streams, o)
					t.Logf("%d tables, %d rows", nodes, rows)
				})
			}
		}
	}
}

// addPlain adds a location to the figures of a graph without class tables.
func addPlain(t *testing.T, sum *ccg.Summary, s *graph.Shared, l *Local) {
	t.Helper()
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := ccg.OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	sum.Add(loc)
}

// checkClassed makes a graph of lossy locations and compares everything that
// reads it with the events.
func checkClassed(t *testing.T, defs *trace.Definitions, locals []*Local, streams []*trace.Batch, o graph.Options) (nodes, rows int) {
	t.Helper()
	shared := classed(t, defs, locals, o)
	section := shared.Encode()
	read, err := graph.OpenShared(defs, section)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.Encode(), section) {
		t.Fatal("section differs after reading")
	}
	m := &made{defs: defs, shared: read}
	without := join(t, defs, locals, o)
	sum, plain := ccg.NewSummary(read, len(section)), ccg.NewSummary(without, 0)
	for p, l := range locals {
		blob, err := NewDistributor(shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewDistributor(read).Distribute(l)
		if err != nil || !bytes.Equal(blob, again) {
			t.Fatalf("location %d: blob differs with the section read back (%v)", p, err)
		}
		loc, err := ccg.OpenLocation(read, blob)
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := ccgtest.SameEvents(streams[p], expand(t, loc)); !ok {
			t.Fatalf("location %d: event %d differs", p, i)
		}
		m.locs = append(m.locs, loc)
		sum.Add(loc)
		addPlain(t, plain, without, l)
	}
	if err := ccg.Check(read, m.each()); err != nil {
		t.Fatal(err)
	}
	if a, b := sum.Stats(), plain.Stats(); a.RawBytes != b.RawBytes || a.Instances != b.Instances || b.Rows != 0 {
		t.Errorf("with classes %+v, without %+v", a, b)
	}
	return tables(shared)
}
