package counters

import (
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// counterScope is what a metric is about.
type counterScope struct {
	target trace.P
	calls  bool   // values belong to the calls of the target
	single bool   // of one process: id is its rank, else a node of the machine
	id     uint32 // trace.Undefined of a group of locations
}

// counterScopes finds what metrics are about.
type counterScopes struct {
	defs      *trace.Definitions
	instances map[uint32]*trace.MetricInstance
	groups    map[uint32][]trace.P // up to two locations of each group that record no metrics
}

func newCounterScopes(d *trace.Definitions) *counterScopes {
	s := &counterScopes{defs: d, groups: map[uint32][]trace.P{}}
	s.instances = results.ByRef(d.MetricInstances, func(x *trace.MetricInstance) (uint32, *trace.MetricInstance) { return x.Ref, x })
	for p := range trace.P(d.NumLocations()) {
		if l := d.Location(p); l.Type != trace.MetricLocation && len(s.groups[l.Group]) < 2 {
			s.groups[l.Group] = append(s.groups[l.Group], p)
		}
	}
	return s
}

// Scopes of metrics in OTF2.
const (
	scopeLocation = iota
	scopeGroup
	scopeNode
)

// of returns what the readings on location p are about.
func (s *counterScopes) of(p trace.P, ref uint32) counterScope {
	own := s.location(p)
	x := s.instances[ref]
	switch {
	case x == nil && s.defs.Location(p).Type == trace.MetricLocation:
		if g := s.defs.Location(p).Group; g != s.defs.Processes()[own.id].Group { // another process than the recording one
			return s.node(s.defs.LocationGroup(g).Parent, own)
		}
		return s.process(own.id)
	case x == nil:
		return own
	case x.ScopeType == scopeLocation:
		if at, ok := s.defs.Ordinal(x.Scope); ok {
			return s.location(at)
		}
	case x.ScopeType == scopeGroup:
		switch list := s.groups[uint32(x.Scope)]; {
		case len(list) == 0:
		case len(list) == 1 || s.defs.Location(list[0]).Type.OnHost():
			return s.location(list[0])
		default: // several streams
			at := s.location(list[0])
			at.calls = false
			return at
		}
	case x.ScopeType == scopeNode:
		return s.node(uint32(x.Scope), own)
	}
	return counterScope{target: own.target, id: trace.Undefined}
}

func (s *counterScopes) location(p trace.P) counterScope {
	rank, _ := s.defs.Process(p)
	return counterScope{p, true, true, rank}
}

func (s *counterScopes) process(rank uint32) counterScope {
	return counterScope{s.defs.Processes()[rank].First, true, true, rank}
}

// node returns the scope of a process, if it is the only one of the node.
func (s *counterScopes) node(ref uint32, own counterScope) counterScope {
	var ranks []uint32
	for rank := range s.defs.Processes() {
		if slices.Contains(results.NodesOf(s.defs, uint32(rank)), ref) {
			if ranks = append(ranks, uint32(rank)); len(ranks) > 1 {
				break
			}
		}
	}
	switch len(ranks) {
	case 0:
		return counterScope{target: own.target, id: ref}
	case 1:
		return s.process(ranks[0])
	}
	return counterScope{target: s.process(ranks[0]).target, id: ref}
}
