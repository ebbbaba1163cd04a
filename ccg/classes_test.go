package ccg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// testBound is a bound that every rounding of rounded obeys.
var testBound = Deviation{Abs: 1 << 40}

// rounded returns l with its gaps rounded by f, and the stream with the times
// that this gives.
func rounded(l *Local, all *trace.Batch, f func(gap uint64) uint64) (*Local, *trace.Batch) {
	r, b := *l, *all
	r.gaps = nil
	b.Events = append([]trace.Event(nil), all.Events...)
	now, last := l.first, l.first
	for i := range b.Events {
		gap := uint64(b.Events[i].Time - last)
		last = b.Events[i].Time
		if gap = f(gap); i == 0 {
			gap = 0
		}
		now += trace.Time(gap)
		b.Events[i].Time = now
		r.gaps = binary.AppendUvarint(r.gaps, gap)
	}
	r.last, r.quantised = now, true
	return &r, &b
}

// classed makes the graph of locations whose gaps are lossy already, with class
// tables, as one rank does.
func classed(t testing.TB, defs *trace.Definitions, locals []*Local, o Options) *Shared {
	t.Helper()
	s := join(t, defs, locals, o)
	counts := NewGapCounts(s)
	for _, l := range locals {
		if err := counts.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	b := NewClassBuilder(s, counts.Choose())
	for _, l := range locals {
		if err := b.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.Shared()
}

// tables counts the tables of s and their rows.
func tables(s *Shared) (nodes, rows int) {
	for _, t := range s.classes.tables {
		if t != nil {
			nodes++
			rows += t.rows
		}
	}
	return nodes, rows
}

func TestClassesRoundTrip(t *testing.T) {
	const size = 5
	defs := testDefs(size)
	long := 5000
	if testing.Short() {
		long = 300
	}
	for _, o := range []Options{{}, {Fan: 3, Fold: 16}} {
		o.Deviation = testBound
		for _, n := range []int{0, 1, 30, long} {
			for _, step := range []uint64{1 << 41, 64, 8, 1} {
				t.Run(fmt.Sprintf("B%d/%d/%d", o.Fan, n, step), func(t *testing.T) {
					var locals []*Local
					var streams []*trace.Batch
					for p := range uint32(size) {
						all := &trace.Batch{}
						if n > 0 {
							all = newScript(uint64(n), p, size, true).stream(n)
						}
						l, all := rounded(build(t, defs, trace.P(p), all, o, 1+n/3), all, func(g uint64) uint64 { return g / step * step })
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
func addPlain(t *testing.T, sum *Summary, s *Shared, l *Local) {
	t.Helper()
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	sum.Add(loc)
}

// checkClassed makes a graph of lossy locations and compares everything that
// reads it with the events.
func checkClassed(t *testing.T, defs *trace.Definitions, locals []*Local, streams []*trace.Batch, o Options) (nodes, rows int) {
	t.Helper()
	shared := classed(t, defs, locals, o)
	section := shared.Encode()
	read, err := OpenShared(defs, section)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.Encode(), section) {
		t.Fatal("section differs after reading")
	}
	m := &made{defs: defs, shared: read}
	without := join(t, defs, locals, o)
	sum, plain := NewSummary(read, len(section)), NewSummary(without, 0)
	want := map[uint32]*RegionTotal{}
	var prof, times Profile
	for p, l := range locals {
		blob, err := NewDistributor(shared).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewDistributor(read).Distribute(l)
		if err != nil || !bytes.Equal(blob, again) {
			t.Fatalf("location %d: blob differs with the section read back (%v)", p, err)
		}
		loc, err := OpenLocation(read, blob)
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := sameEvents(streams[p], expand(t, loc)); !ok {
			t.Fatalf("location %d: event %d differs", p, i)
		}
		m.locs = append(m.locs, loc)
		sum.Add(loc)
		addPlain(t, plain, without, l)
		slowProfile(defs, streams[p], want)
		if err := prof.Add(loc, true); err != nil {
			t.Fatal(err)
		}
		if err := times.inclusive(loc); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(read, m.each()); err != nil {
		t.Fatal(err)
	}
	if a, b := sum.Stats(), plain.Stats(); a.RawBytes != b.RawBytes || a.Instances != b.Instances || b.Rows != 0 {
		t.Errorf("with classes %+v, without %+v", a, b)
	}
	for _, r := range prof.Regions() {
		if w := want[r.Region]; w == nil && r != (RegionTotal{Region: r.Region}) || w != nil && r != *w {
			t.Errorf("%+v, want %+v", r, w)
		}
		if slow := times.region(r.Region).Inclusive; slow != r.Inclusive {
			t.Errorf("region %d: inclusive %d, by a walk %d", r.Region, r.Inclusive, slow)
		}
	}
	return tables(shared)
}
