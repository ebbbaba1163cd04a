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

func TestRoundTrip(t *testing.T) {
	const size = 5
	defs := ccgtest.Definitions(size)
	options := []graph.Options{{}, {Fold: -1}, {Fan: 2}, {Fold: 3, Fan: 3}, {Fold: 64, Fan: 4}}
	counts := []int{0, 1, 30, 600, 8000}
	if testing.Short() {
		counts = []int{0, 1, 1500}
	}
	for _, o := range options {
		for _, n := range counts {
			for _, odd := range []bool{false, true} {
				if odd && n < 30 || !odd && testing.Short() && o != (graph.Options{}) {
					continue
				}
				t.Run(fmt.Sprintf("K%d/B%d/%d/%v", o.Fold, o.Fan, n, odd), func(t *testing.T) {
					roundTrip(t, defs, size, n, odd, o)
				})
			}
		}
	}
}

func roundTrip(t *testing.T, defs *trace.Definitions, size uint32, n int, odd bool, o graph.Options) {
	var locals, bares []*Local
	var streams []*trace.Batch
	for p := range size {
		var all *trace.Batch
		if n > 0 {
			all = ccgtest.NewScript(uint64(n), p, size, odd).Stream(n)
		} else {
			all = &trace.Batch{}
		}
		streams = append(streams, all)
		l := built(t, defs, trace.P(p), all, o, 1+n/3)
		segment, err := l.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if l, err = OpenLocal(segment); err != nil {
			t.Fatal(err)
		}
		bare, err := OpenLocal(segment[:StructureSize(segment)])
		if err != nil || bare.Nodes() != l.Nodes() || len(bare.gaps) != 0 {
			t.Fatalf("structure alone: %v", err)
		}
		locals = append(locals, l)
		bares = append(bares, bare)
	}
	shared := join(t, defs, locals, o)
	if o.Deviation.Lossless() && !bytes.Equal(join(t, defs, bares, o).Encode(), shared.Encode()) {
		t.Fatal("streams change the shared graph")
	}
	section := shared.Encode()
	read, err := graph.OpenShared(defs, section)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read.Encode(), section) {
		t.Fatal("section differs after reading")
	}
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
		got := expand(t, loc)
		if i, ok := ccgtest.SameEvents(streams[p], got); !ok {
			if i < len(got.Events) && i < len(streams[p].Events) {
				w, g := streams[p].Events[i], got.Events[i]
				t.Fatalf("location %d, event %d: %+v %x, want %+v %x", p, i, g, got.Words(&g), w, streams[p].Words(&w))
			}
			t.Fatalf("location %d: %d events, want %d", p, len(got.Events), len(streams[p].Events))
		}
	}
}
