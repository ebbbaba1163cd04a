package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// graph is a set of nodes with their tuples.
type graph struct {
	nodes  *store
	tuples *tuples
	shapes []shape // by tuple
}

func newGraph() graph {
	return graph{nodes: newStore(), tuples: newTuples()}
}

// memory returns about what the graph takes in bytes.
func (g *graph) memory() uint64 {
	const shape = 72
	return g.nodes.memory() + g.tuples.memory() + shape*uint64(cap(g.shapes))
}

// shapeOf returns the shape of a node's tuple.
func (g *graph) shapeOf(id uint32) *shape { return &g.shapes[g.nodes.tuple(id)] }

// addTuple interns a tuple and parses it.
func (g *graph) addTuple(w []uint64) (uint32, error) {
	n, added, err := g.tuples.intern(w)
	if err != nil || !added {
		return n, err
	}
	h, ok := parseShape(w)
	if !ok {
		return n, fmt.Errorf("tuple %d: %w", n, ErrCorrupt)
	}
	g.shapes = append(g.shapes, h)
	return n, nil
}

// checkNode tests what can be known of a node when it is read: its tuple fits
// its kind, its children come before it, there are at most fan.
func (g *graph) checkNode(id, meta uint32, words []uint32, fan int) error {
	k, t := kind(meta>>kindShift), meta&tupleMask
	if k == 0 || k >= kindEnd || int(t) >= len(g.shapes) {
		return fmt.Errorf("node %d: kind %d, tuple %d: %w", id, k, t, ErrCorrupt)
	}
	class := uint8(classList)
	children := words
	switch k {
	case kindCall:
		class = classCall
	case kindEvent:
		class = classEvent
		if len(words) != 0 {
			return fmt.Errorf("node %d: a record with children: %w", id, ErrCorrupt)
		}
	case kindRepeat:
		if len(words) != 3 || words[1] < 2 && words[2] == 0 {
			return fmt.Errorf("node %d: bad repetition: %w", id, ErrCorrupt)
		}
		children = words[:1]
	case kindGroup:
		if len(words) < 2 {
			return fmt.Errorf("node %d: group of %d: %w", id, len(words), ErrCorrupt)
		}
	}
	if g.shapes[t].class != class || len(children) > fan {
		return fmt.Errorf("node %d: kind %d with %d children: %w", id, k, len(children), ErrCorrupt)
	}
	for _, c := range children {
		if c == 0 || c >= id || g.nodes.kind(c) == kindRoot {
			return fmt.Errorf("node %d: child %d: %w", id, c, ErrCorrupt)
		}
	}
	return nil
}

// postOrder calls leave for the nodes that root reaches and that are not seen yet: each once, children first.
func (s *store) postOrder(root uint32, seen []bool, leave func(id uint32) error) error {
	type visit struct{ id, next uint32 } // next child
	stack := []visit{{id: root}}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if list := s.children(v.id); !seen[v.id] && int64(v.next) < int64(len(list)) {
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

// canonical copies what root reaches into a new graph, numbered in post-order
// of first visit; tuples are numbered by first use. root gets the last id.
func canonical(s *store, t *tuples, root uint32) (graph, error) {
	g := newGraph()
	g.nodes.meta, g.nodes.off = slices.Grow(g.nodes.meta, s.len()), slices.Grow(g.nodes.off, s.len())
	g.nodes.pool = slices.Grow(g.nodes.pool, len(s.pool))
	ids := make([]uint32, s.len()+1)
	tuple := make([]uint32, t.len()) // 1 + new number
	var words []uint32
	err := s.postOrder(root, make([]bool, s.len()+1), func(id uint32) error {
		if n := s.tuple(id); tuple[n] == 0 {
			m, err := g.addTuple(t.at(n))
			if err != nil {
				return err
			}
			tuple[n] = m + 1
		}
		words = append(words[:0], s.words(id)...)
		for i := range s.children(id) {
			words[i] = ids[words[i]]
		}
		var err error
		ids[id], err = g.nodes.append(uint32(s.kind(id))<<kindShift|(tuple[s.tuple(id)]-1), words)
		return err
	})
	return g, err
}

// rankWord returns where an Event's tuple has a rank and its communicator or
// window; false where it has none, or writes it plain.
func (h *shape) rankWord(w []uint64) (at int, comm uint32, window, ok bool) {
	if h.class != classEvent {
		return 0, 0, false, false
	}
	r := &recipes[h.kind]
	if r.rank < 0 {
		return 0, 0, false, false
	}
	at = r.hardAt(r.rank)
	return at, uint32(w[r.hardAt(r.comm)]), r.window, w[at]&1 == 0
}

// partnerKey is what partner encodings are chosen for.
type partnerKey struct {
	kind   trace.Kind
	region uint32
	comm   uint32 // communicator or window
}

func (k partnerKey) compare(o partnerKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.region, o.region), cmp.Compare(k.comm, o.comm))
}
