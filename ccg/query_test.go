package ccg

import (
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// slowProfile is the flat profile from the events themselves.
func slowProfile(defs *trace.Definitions, all *trace.Batch, totals map[uint32]*RegionTotal) {
	type visit struct {
		kind        trace.Kind
		ref, region uint32
		begin       trace.Time
	}
	var stack []visit
	get := func(r uint32) *RegionTotal {
		if totals[r] == nil {
			totals[r] = &RegionTotal{Region: r}
		}
		return totals[r]
	}
	top := func() visit {
		if len(stack) == 0 {
			return visit{region: trace.Undefined}
		}
		return stack[len(stack)-1]
	}
	closeTop := func(now trace.Time) {
		v := top()
		stack = stack[:len(stack)-1]
		if !slices.ContainsFunc(stack, func(o visit) bool { return o.region == v.region }) {
			get(v.region).Inclusive += uint64(now - v.begin)
		}
	}
	if len(all.Events) == 0 {
		return
	}
	last := all.Events[0].Time
	for i := range all.Events {
		e := &all.Events[i]
		get(top().region).Exclusive += uint64(e.Time - last)
		last = e.Time
		switch e.Kind {
		case trace.Enter:
			stack = append(stack, visit{e.Kind, e.Ref, e.Ref, e.Time})
			get(e.Ref).Calls++
		case trace.CallingContextEnter:
			ref := uint32(all.Words(e)[0])
			region, _ := defs.ContextRegion(ref)
			stack = append(stack, visit{e.Kind, ref, region, e.Time})
			get(region).Calls++
		case trace.Leave:
			if v := top(); v.kind == trace.Enter && v.ref == e.Ref {
				closeTop(e.Time)
			}
		case trace.CallingContextLeave:
			if v := top(); v.kind == trace.CallingContextEnter && v.ref == uint32(all.Words(e)[0]) {
				closeTop(e.Time)
			}
		}
	}
	for len(stack) > 0 {
		closeTop(last)
	}
}

func TestProfileEqualsEvents(t *testing.T) {
	var all []*made
	for _, n := range []int{1, 200, 6000} {
		all = append(all, makeGraph(t, 4, n, true, graph.Options{}), lossyGraph(t, n, 64), lossyGraph(t, n, 1<<41))
	}
	for n, m := range all {
		want := map[uint32]*RegionTotal{}
		var got, walked Profile
		for p, l := range m.locs {
			slowProfile(m.defs, m.streams[p], want)
			if err := got.Add(l, true); err != nil {
				t.Fatal(err)
			}
			if err := walked.inclusive(l); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range got.Regions() {
			w := want[r.Region]
			if w == nil {
				w = &RegionTotal{Region: r.Region}
			}
			if slow := walked.region(m.defs, r.Region).Inclusive; r != *w || slow != r.Inclusive {
				t.Errorf("graph %d: %+v, want %+v; by a walk %d", n, r, *w, slow)
			}
			delete(want, r.Region)
		}
		for _, w := range want {
			if *w != (RegionTotal{Region: w.Region}) {
				t.Errorf("graph %d: missing %+v", n, *w)
			}
		}
	}
}

func TestSummaryAndCheck(t *testing.T) {
	m := makeGraph(t, 5, 3000, true, graph.Options{})
	sum := NewSummary(m.shared, len(m.shared.Encode()))
	events := uint64(0)
	for p, l := range m.locs {
		sum.Add(l)
		events += uint64(len(m.streams[p].Events))
	}
	st := sum.Stats()
	byNodes := uint64(0)
	for id, n := range sum.mult {
		if id > 0 {
			byNodes += n * m.shared.Graph.ShapeOf(uint32(id)).Events()
		}
	}
	if st.Events != events || byNodes != events {
		t.Errorf("%d events, %d by nodes, want %d", st.Events, byNodes, events)
	}
	if st.Used != st.Nodes || st.Instances <= st.Nodes || st.Locations != 5 {
		t.Errorf("%+v", st)
	}
	if err := Check(m.shared, m.each()); err != nil {
		t.Error(err)
	}
}

// TestCheckFinds damages a graph in ways that reading alone does not notice.
func TestCheckFinds(t *testing.T) {
	m := makeGraph(t, 3, 2000, false, graph.Options{})
	for name, locs := range map[string][]*Location{
		"missing location": m.locs[:2],
		"wrong order":      {m.locs[1], m.locs[0], m.locs[2]},
		"twice":            {m.locs[0], m.locs[0], m.locs[1], m.locs[2]},
		"none":             nil,
	} {
		m := *m
		m.locs = locs
		if Check(m.shared, m.each()) == nil {
			t.Errorf("%s: not found", name)
		}
	}
	twice := m.shared.Graph
	s := *twice.Nodes
	s.Meta, s.Off = append(slices.Clone(s.Meta), s.Meta[1]), append(slices.Clone(s.Off), s.Off[len(s.Off)-1])
	twice.Nodes = &s
	bad := &graph.Shared{Defs: m.defs, Opt: m.shared.Opt, Encoding: m.shared.Encoding, Graph: twice}
	if Check(bad, m.each()) == nil {
		t.Error("equal nodes: not found")
	}
}
