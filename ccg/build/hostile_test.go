package build

import (
	"errors"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Graphs whose check sums are all right and whose contents are made to harm.

// TestRegularGraph reads calls that differ in a counter alone, which is as much as a
// real program has in few bytes: far from the limit.
func TestRegularGraph(t *testing.T) {
	var batch trace.Batch
	for i := range 20_000 {
		at := trace.Time(10 * i)
		batch.Append(at, trace.Enter, 1)
		batch.Append(at+1, trace.MpiSend, 0, 0, 0, uint64(i), 8)
		batch.Append(at+5, trace.Leave, 1)
	}
	s := join(t, ccgtest.Definitions(2), []*Local{whole(t, &batch, graph.Options{})}, graph.Options{})
	section := s.Encode()
	if _, err := graph.OpenShared(ccgtest.Definitions(2), section); err != nil || s.Graph.Memory() > uint64(len(section))<<10 {
		t.Errorf("%d bytes take %d: %v", len(section), s.Graph.Memory(), err)
	}
}

// TestTimesOverflow adds up times that no location can have, of columns that are
// each in order: no profile wraps around.
func TestTimesOverflow(t *testing.T) {
	var batch trace.Batch
	batch.Append(0, trace.Enter, 0)
	gaps := []uint64{0}
	for r := range uint32(4) { // together 2^64 + 5 ticks, which no mark sees
		batch.Append(0, trace.Enter, 1+r)
		batch.Append(0, trace.Leave, 1+r)
		gaps = append(gaps, 0, 1<<62+uint64(r/3)*5)
	}
	for range 3000 {
		batch.Append(0, trace.Enter, 5)
		batch.Append(0, trace.Leave, 5)
		gaps = append(gaps, 0, 0)
	}
	batch.Append(0, trace.Leave, 0)
	l := whole(t, &batch, graph.Options{})
	l.gaps = varint.Append(nil, append(gaps, 0)...)
	s := join(t, ccgtest.Definitions(2), []*Local{l}, graph.Options{})
	blob, err := NewDistributor(s).Distribute(l)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := ccg.OpenLocation(s, blob)
	if err != nil {
		t.Fatal(err)
	}
	var flat, paths, calls error
	var p ccg.Profile
	flat = p.Add(loc, true)
	var q ccg.PathProfile
	if paths = q.Add(loc); paths == nil {
		_, paths = q.Paths()
	}
	_, calls = loc.Index().CallDurations(0)
	_, interval := loc.Index().Interval(0, 1<<64-1)
	for name, err := range map[string]error{"profile": flat, "paths": paths, "durations": calls, "interval": interval} {
		if !errors.Is(err, graph.ErrLimit) && !errors.Is(err, graph.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDistributeStreams distributes locations whose streams are longer or shorter than their structure.
func TestDistributeStreams(t *testing.T) {
	m := makeGraph(t, 1, 3*graph.MarkEvery, true, graph.Options{})
	long := make([]byte, 2*graph.MarkEvery)
	for name, damage := range map[string]func(l *Local){
		"gaps too long":     func(l *Local) { l.gaps = append(slices.Clip(l.gaps), long...) },
		"gaps too short":    func(l *Local) { l.gaps = l.gaps[:len(l.gaps)/2] },
		"gaps cut":          func(l *Local) { l.gaps = append(slices.Clip(l.gaps[:len(l.gaps)-1]), 0x80) },
		"values too long":   func(l *Local) { l.values = append(slices.Clip(l.values), long...) },
		"values too short":  func(l *Local) { l.values = l.values[:len(l.values)/2] },
		"no values":         func(l *Local) { l.values = nil },
		"payload too long":  func(l *Local) { l.payload = append(slices.Clip(l.payload), make([]byte, 1<<16)...) },
		"payload too short": func(l *Local) { l.payload = l.payload[:len(l.payload)-8] },
		"payload cut":       func(l *Local) { l.payload = l.payload[:len(l.payload)-1] },
	} {
		l := *m.locals[0]
		if damage(&l); len(m.locals[0].values) == 0 || len(m.locals[0].payload) == 0 {
			t.Fatal("the location has no values, or no payload")
		}
		if _, err := NewDistributor(m.shared).Distribute(&l); !errors.Is(err, graph.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewDistributor(m.shared).Distribute(m.locals[0]); err != nil {
		t.Error(err)
	}
}
