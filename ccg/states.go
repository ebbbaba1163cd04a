package ccg

import (
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// states numbers what a query distinguishes about the calls that are open around a gap: 0, 1, 2, ... in the order of appearance. State 0 is
// outside of all calls. The state inside a call depends only on the state around it and the call's region, so a location can be read in any
// order.
type states struct {
	defs   *trace.Definitions
	parent []int32  // of each state; its meaning depends on next
	region []uint32 // of each state
	next   func(s *states, around int32, region uint32) int32
	known  map[stateKey]int32
	// The last answer for each Call, which is nearly always the next one too.
	around, inside []int32
}

type stateKey struct {
	parent int32
	region uint32
}

// mixedState is the state of something with several states.
const mixedState = -1

func newStates(v *graph.View, next func(*states, int32, uint32) int32) *states {
	s := &states{defs: v.Defs, parent: []int32{mixedState}, region: []uint32{trace.Undefined}, next: next, known: map[stateKey]int32{}}
	s.around, s.inside = make([]int32, v.Nodes.Len()+1), make([]int32, v.Nodes.Len()+1)
	for i := range s.around {
		s.around[i] = mixedState
	}
	return s
}

// len returns the number of states so far.
func (s *states) len() int { return len(s.region) }

// enter returns the state inside Call id.
func (s *states) enter(v *graph.View, around int32, id uint32) int32 {
	if around == s.around[id] && around != mixedState {
		return s.inside[id]
	}
	in := s.next(s, around, v.ShapeOf(id).Region(v.Defs))
	s.around[id], s.inside[id] = around, in
	return in
}

// number returns the state of a pair, a new one if the pair is new.
func (s *states) number(parent int32, region uint32) int32 {
	k := stateKey{parent, region}
	n, ok := s.known[k]
	if !ok {
		n = int32(len(s.region))
		s.known[k] = n
		s.parent, s.region = append(s.parent, parent), append(s.region, region)
	}
	return n
}

// byRegion distinguishes the innermost region (of equal regions the first).
func byRegion(s *states, _ int32, region uint32) int32 {
	return s.number(0, trace.Joined(s.defs, region))
}

// byContext distinguishes the set of open regions, as a path without repetitions (of equal regions the first).
func byContext(s *states, around int32, region uint32) int32 {
	region = trace.Joined(s.defs, region)
	for n := around; n > 0; n = s.parent[n] {
		if s.region[n] == region {
			return around
		}
	}
	if around == mixedState {
		return mixedState
	}
	return s.number(around, region)
}

// byNothing distinguishes nothing.
func byNothing(*states, int32, uint32) int32 { return 0 }

// byPath distinguishes the whole path.
func byPath(s *states, around int32, region uint32) int32 {
	if around == mixedState {
		return mixedState
	}
	return s.number(around, region)
}

// stateMap has the states of a location's gaps, for one kind of states.
type stateMap struct {
	states *states
	node   []int32 // of each node: state of its gaps
	column []int32 // of each column of gaps or classes
	pure   bool    // each column, and each node with classes, has one state
}

// assign computes the state of each node and column; mixedState if there are several.
func (s *states) assign(v *graph.View) *stateMap {
	const unknown = -2
	m := &stateMap{states: s, node: make([]int32, v.Nodes.Len()+1), column: make([]int32, len(v.Cols)), pure: true}
	for _, list := range [][]int32{m.node, m.column} {
		for i := range list {
			list[i] = unknown
		}
	}
	set := func(at *int32, n int32) bool {
		if *at != unknown && *at != n {
			*at = mixedState
			return false
		}
		*at = n
		return n != mixedState
	}
	m.node[v.Root] = 0
	for i := len(v.Order) - 1; i >= 0; i-- {
		id := v.Order[i]
		if v.Nodes.Kind(id) == graph.KindEvent {
			continue
		}
		if v.Nodes.Kind(id) == graph.KindCall {
			m.node[id] = s.enter(v, m.node[id], id)
		}
		n := m.node[id]
		for _, c := range v.Nodes.Children(id) {
			set(&m.node[c], n)
		}
		gaps, _ := v.Slots(id)
		for slot := v.Slot[id]; slot < v.Slot[id]+gaps; slot++ {
			if c := v.Column[slot]; c >= 0 && !set(&m.column[c], n) {
				m.pure = false
			}
			if v.Class != nil && v.Class[slot] >= 0 {
				set(&m.column[v.Class[slot]], n)
			}
		}
		if v.Tables != nil && v.Tables[id] != nil && n == mixedState {
			m.pure = false
		}
	}
	return m
}
