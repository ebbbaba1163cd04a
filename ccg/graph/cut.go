package graph

import (
	"fmt"
	"slices"
)

// SetRoot sets the class of the root (0: none), and checks that every node with classes has a row.
func (v *View) SetRoot(row uint64) error {
	var rows int
	if v.Tables != nil {
		for id, t := range v.Tables {
			if t != nil && t.Rows == 0 {
				return fmt.Errorf("node %d has no class: %w", v.Ids[id], ErrCorrupt)
			}
		}
		if t := v.Tables[v.Root]; t != nil {
			rows = t.Rows
		}
	}
	if row > uint64(rows) || row == 0 && rows > 0 {
		return fmt.Errorf("class %d of the root, which has %d: %w", row, rows, ErrCorrupt)
	}
	v.RootRow = int(row) - 1
	return nil
}

// Cut copies what root reaches to a graph of its own, with ascending ids.
func (s *Shared) Cut(root uint32, size int) (*View, error) {
	from := s.Graph.Nodes
	local := make([]uint32, root+1) // shared id -> number in the copy
	todo := []uint32{root}
	local[root] = 1
	ids := []uint32{root}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, c := range from.Children(id) {
			if local[c] == 0 {
				local[c] = 1
				todo = append(todo, c)
				ids = append(ids, c)
			}
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		local[id] = uint32(i + 1)
	}
	g := Graph{Nodes: NewStore(), Tuples: s.Graph.Tuples, Shapes: s.Graph.Shapes}
	order := make([]uint32, len(ids))
	var words []uint32
	for i, id := range ids {
		order[i] = uint32(i + 1)
		words = append(words[:0], from.Words(id)...)
		for j, c := range from.Children(id) {
			words[j] = local[c]
		}
		if _, err := g.Nodes.append(from.Meta[id], words); err != nil {
			return nil, err
		}
	}
	// 1 024 values take at least 4 bytes. Artificial children have no gap, and gaps of classes are not in the blob.
	limit := 256*uint64(size) + uint64(len(g.Nodes.Pool)+g.Nodes.Len())
	return NewView(g, s.Defs, s.Classes, uint32(len(ids)), order, slices.Insert(ids, 0, 0), limit)
}
