package graph

import (
	"fmt"
	"slices"
)

// Graph is a set of nodes with their tuples.
type Graph struct {
	Nodes  *Store
	Tuples *Tuples
	Shapes []Shape // of each tuple
}

// NewGraph returns an empty graph.
func NewGraph() Graph {
	return Graph{Nodes: NewStore(), Tuples: NewTuples()}
}

// Memory returns the approximate bytes that the graph takes.
func (g *Graph) Memory() uint64 {
	const shape = 72
	return g.Nodes.Memory() + g.Tuples.Memory() + shape*uint64(cap(g.Shapes))
}

// ShapeOf returns the shape of a node's tuple.
func (g *Graph) ShapeOf(id uint32) *Shape { return &g.Shapes[g.Nodes.Tuple(id)] }

// AddTuple interns a tuple and parses it.
func (g *Graph) AddTuple(w []uint64) (uint32, error) {
	n, added, err := g.Tuples.Intern(w)
	if err != nil || !added {
		return n, err
	}
	h, ok := parseShape(w)
	if !ok {
		return n, fmt.Errorf("tuple %d: %w", n, ErrCorrupt)
	}
	g.Shapes = append(g.Shapes, h)
	return n, nil
}

// CheckNode checks a node when it is read: its tuple fits its kind, its children precede it, and it has at most fan.
func (g *Graph) CheckNode(id, meta uint32, words []uint32, fan int) error {
	k, t := Kind(meta>>KindShift), meta&TupleMask
	if k == 0 || k >= kindEnd || int(t) >= len(g.Shapes) {
		return fmt.Errorf("node %d: kind %d, tuple %d: %w", id, k, t, ErrCorrupt)
	}
	class := uint8(ClassList)
	children := words
	switch k {
	case KindCall:
		class = ClassCall
	case KindEvent:
		class = ClassEvent
		if len(words) != 0 {
			return fmt.Errorf("node %d: a record with children: %w", id, ErrCorrupt)
		}
	case KindRepeat:
		if len(words) != 3 || words[1] < 2 && words[2] == 0 {
			return fmt.Errorf("node %d: bad repetition: %w", id, ErrCorrupt)
		}
		children = words[:1]
	case KindGroup:
		if len(words) < 2 {
			return fmt.Errorf("node %d: group of %d: %w", id, len(words), ErrCorrupt)
		}
	}
	if g.Shapes[t].Class != class || len(children) > fan {
		return fmt.Errorf("node %d: kind %d with %d children: %w", id, k, len(children), ErrCorrupt)
	}
	for _, c := range children {
		if c == 0 || c >= id || g.Nodes.Kind(c) == KindRoot {
			return fmt.Errorf("node %d: child %d: %w", id, c, ErrCorrupt)
		}
	}
	return nil
}

// PostOrder calls leave for the nodes that root reaches and that are not in seen yet, once each, children first.
func (s *Store) PostOrder(root uint32, seen []bool, leave func(id uint32) error) error {
	type visit struct{ id, next uint32 } // next child
	stack := []visit{{id: root}}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if list := s.Children(v.id); !seen[v.id] && int64(v.next) < int64(len(list)) {
			c := list[v.next]
			v.next++
			if !seen[c] {
				stack = append(stack, visit{id: c})
			}
			continue
		}
		id := v.id
		stack = stack[:len(stack)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if err := leave(id); err != nil {
			return err
		}
	}
	return nil
}

// Canonical copies what root reaches to a new graph. Nodes are numbered in post-order of first visit, tuples by first use; root has the
// last id.
func Canonical(s *Store, t *Tuples, root uint32) (Graph, error) {
	g := NewGraph()
	g.Nodes.Meta, g.Nodes.Off = slices.Grow(g.Nodes.Meta, s.Len()), slices.Grow(g.Nodes.Off, s.Len())
	g.Nodes.Pool = slices.Grow(g.Nodes.Pool, len(s.Pool))
	ids := make([]uint32, s.Len()+1)
	tuple := make([]uint32, t.Len()) // 1 + new number
	var words []uint32
	err := s.PostOrder(root, make([]bool, s.Len()+1), func(id uint32) error {
		if n := s.Tuple(id); tuple[n] == 0 {
			m, err := g.AddTuple(t.At(n))
			if err != nil {
				return err
			}
			tuple[n] = m + 1
		}
		words = append(words[:0], s.Words(id)...)
		for i := range s.Children(id) {
			words[i] = ids[words[i]]
		}
		var err error
		ids[id], err = g.Nodes.append(uint32(s.Kind(id))<<KindShift|(tuple[s.Tuple(id)]-1), words)
		return err
	})
	return g, err
}

// RankWord returns the place of the rank in an Event's tuple, and its communicator or window. ok is false if the tuple has no rank or has
// it unencoded.
func (h *Shape) RankWord(w []uint64) (at int, comm uint32, window, ok bool) {
	if h.Class != ClassEvent {
		return 0, 0, false, false
	}
	r := &Recipes[h.Kind]
	if r.Rank < 0 {
		return 0, 0, false, false
	}
	at = r.HardAt(r.Rank)
	return at, uint32(w[r.HardAt(r.Comm)]), r.Window, w[at]&1 == 0
}

// MarkEvery is the number of events between two marks. Mark k is the time of event k*MarkEvery less that of the previous mark. Mark 0, the
// time of the first event, is not stored. Times are converted to event numbers and back by a binary search of marks and a walk of less than
// MarkEvery events.
const MarkEvery = 1024

// MarkCount returns the number of marks of a location.
func (v *View) MarkCount() uint64 {
	if v.Events == 0 {
		return 0
	}
	return (v.Events - 1) / MarkEvery
}
