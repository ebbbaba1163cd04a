package ccg

import (
	"fmt"
)

// rowCounts returns how many instances each row has in the location, by node and
// row; nil for nodes in column mode. It reads the class columns and sweeps the
// tables once, parents first: O(class column values + rows x children) and 8
// bytes per row.
func (l *Location) rowCounts() ([][]uint64, error) {
	v := l.view
	counts := make([][]uint64, len(v.tables))
	for id, t := range v.tables {
		if t != nil {
			counts[id] = make([]uint64, t.rows)
		}
	}
	if v.rootRow >= 0 {
		counts[v.root][v.rootRow] = 1
	}
	for i, c := range v.cols {
		if c.child == 0 {
			continue
		}
		to := counts[c.child]
		err := l.blocks(i, func(rows []uint64) error {
			for _, row := range rows {
				if row >= uint64(len(to)) {
					return fmt.Errorf("call graph: location %d, column %d: class %d of node %d: %w", l.p, i, row, v.ids[c.child], ErrCorrupt)
				}
				to[row]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for id := v.root; id > 0; id-- {
		if t := v.tables[id]; t != nil {
			v.spread(id, t, counts)
		}
	}
	return counts, nil
}

// spread passes the counts of a node's rows on to its children's.
func (v *view) spread(id uint32, t *classTable, counts [][]uint64) {
	children := v.nodes.children(id)
	times := v.iterations(id, t)
	for row, m := range counts[id] {
		if m == 0 {
			continue
		}
		for i, kid := range t.kids[row*t.kidsPerRow : (row+1)*t.kidsPerRow] {
			if to := counts[children[min(i, len(children)-1)]]; to != nil {
				to[kid] += m * times // at most the instances of the child
			}
		}
	}
}

// iterations returns how often each position of a row occurs in an instance.
func (v *view) iterations(id uint32, t *classTable) uint64 {
	if v.nodes.kind(id) == kindRepeat && t.kidsPerRow == 1 {
		return v.nodes.count(id)
	}
	return 1
}

// tableTime returns the ticks of the gaps in a node's rows.
func (v *view) tableTime(id uint32, counts []uint64) (sum total) {
	t := v.tables[id]
	times := v.iterations(id, t)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		for _, g := range t.gaps[row*t.gapsPerRow : (row+1)*t.gapsPerRow] {
			sum = sum.plus(product(g, m*times))
		}
	}
	return sum
}
