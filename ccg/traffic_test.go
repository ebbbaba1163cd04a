package ccg

import (
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// slowTraffic is the traffic of location p from the events themselves.
func slowTraffic(defs *trace.Definitions, all *trace.Batch, p trace.P) *Traffic {
	process, _ := defs.Process(p)
	channels, regions := map[channelKey]*Channel{}, map[uint32]uint64{}
	type call struct {
		kind        trace.Kind
		ref, region uint32
	}
	var stack []call
	outermost := func() uint32 {
		for _, c := range stack {
			if r := defs.Region(c.region); r != nil && defs.Class(r)&trace.ClassMPI != 0 {
				return c.region
			}
		}
		return trace.Undefined
	}
	add := func(k channelKey, out, in uint64) {
		if channels[k] == nil {
			channels[k] = &Channel{Direction: k.direction, Process: k.process, Comm: k.comm, Tag: k.tag}
		}
		channels[k].Count++
		channels[k].Bytes += out
		channels[k].BytesIn += in
		if out+in > 0 || k.direction != Collective {
			regions[outermost()] += out + in
		}
	}
	for i := range all.Events {
		e := &all.Events[i]
		w := all.Words(e)
		switch e.Kind {
		case trace.Enter:
			stack = append(stack, call{e.Kind, e.Ref, e.Ref})
		case trace.CallingContextEnter:
			region, _ := defs.ContextRegion(uint32(w[0]))
			stack = append(stack, call{e.Kind, uint32(w[0]), region})
		case trace.Leave:
			if n := len(stack); n > 0 && stack[n-1].kind == trace.Enter && stack[n-1].ref == e.Ref {
				stack = stack[:n-1]
			}
		case trace.CallingContextLeave:
			if n := len(stack); n > 0 && stack[n-1].kind == trace.CallingContextEnter && stack[n-1].ref == uint32(w[0]) {
				stack = stack[:n-1]
			}
		case trace.MpiSend, trace.MpiIsend:
			add(channelKey{Sent, defs.Peer(uint32(w[1]), uint32(w[0]), process), uint32(w[1]), uint32(w[2])}, w[3], 0)
		case trace.MpiRecv, trace.MpiIrecv:
			add(channelKey{Received, defs.Peer(uint32(w[1]), uint32(w[0]), process), uint32(w[1]), uint32(w[2])}, w[3], 0)
		case trace.MpiCollectiveEnd, trace.NonBlockingCollectiveComplete:
			add(channelKey{Collective, trace.Undefined, uint32(w[1]), trace.Undefined}, w[3], w[4])
		case trace.RmaCollectiveEnd:
			comm, _ := defs.WindowComm(uint32(w[2]))
			if _, ok := trace.OnWindow(w[0]); ok && outermost() != trace.Undefined && defs.CommSize(comm) > 1 {
				k := channelKey{Collective, trace.Undefined, comm, trace.Undefined}
				add(k, 0, 0)
				channels[k].Others++
			}
		}
	}
	return (&traffic{channels: channels, regions: regions}).result()
}

// TestTrafficEqualsEvents compares with the events: few and many of them, so
// that columns are shared between channels or not, and in several regions.
func TestTrafficEqualsEvents(t *testing.T) {
	defs := ccgtest.Definitions(5)
	for i := range defs.Regions { // every other region belongs to MPI
		if i%2 == 1 {
			defs.Regions[i].Paradigm = trace.ParadigmMPI
		}
	}
	for _, n := range []int{0, 50, 700, 8000} {
		for p := range uint32(5) {
			b := ccgtest.NewScript(77, p, 5, true).Stream(n)
			for i := range b.Events { // sums of any 64 bits would not fit
				if w := b.Words(&b.Events[i]); len(w) > 4 {
					w[3], w[4] = w[3]%(1<<40), w[4]%(1<<40)
				} else if len(w) > 3 {
					w[3] %= 1 << 40
				}
			}
			got, err := locationOf(t, defs, trace.P(p), b).Traffic()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(slowTraffic(defs, b, trace.P(p)), got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%d events, location %d (-want +got):\n%s", n, p, d)
			}
		}
	}
}

// locationOf builds a graph of location p alone.
func locationOf(t *testing.T, defs *trace.Definitions, p trace.P, b *trace.Batch) *Location {
	t.Helper()
	local := built(t, defs, p, b, graph.Options{}, 1000)
	shared := join(t, defs, []*build.Local{local}, graph.Options{})
	blob, err := build.NewDistributor(shared).Distribute(local)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLocation(shared, blob)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTrafficMixedRegions has one MPI call under two outer ones, so that its
// node's bytes belong to both.
func TestTrafficMixedRegions(t *testing.T) {
	defs := ccgtest.Definitions(2)
	for i := range defs.Regions[:3] {
		defs.Regions[i].Paradigm = trace.ParadigmMPI
	}
	outer, other, inner := defs.Regions[0].Ref, defs.Regions[1].Ref, defs.Regions[2].Ref
	b := &trace.Batch{}
	now := trace.Time(0)
	enter := func(k trace.Kind, r uint32) { b.Append(now, k, r); now++ }
	for i := range uint64(200) {
		r := outer
		if i%3 == 0 {
			r = other
		}
		enter(trace.Enter, r)
		enter(trace.Enter, inner)
		b.Append(now, trace.MpiSend, 0, 1, uint64(defs.Comms[0].Ref), i%2, 1000+i)
		enter(trace.Leave, inner)
		enter(trace.Leave, r)
	}
	got, err := locationOf(t, defs, 0, b).Traffic()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slowTraffic(defs, b, 0), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(got.Regions) != 2 || len(got.Channels) != 2 {
		t.Errorf("%d regions and %d channels, want 2 and 2", len(got.Regions), len(got.Channels))
	}
}
