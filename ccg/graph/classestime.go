package graph

// Spread passes the counts of a node's rows on to its children's.
func (v *View) Spread(id uint32, t *ClassTable, counts [][]uint64) {
	children := v.Nodes.Children(id)
	times := v.Iterations(id, t)
	for row, m := range counts[id] {
		if m == 0 {
			continue
		}
		for i, kid := range t.Kids[row*t.KidsPerRow : (row+1)*t.KidsPerRow] {
			if to := counts[children[min(i, len(children)-1)]]; to != nil {
				to[kid] += m * times // at most the instances of the child
			}
		}
	}
}

// Iterations returns how often each position of a row occurs in an instance.
func (v *View) Iterations(id uint32, t *ClassTable) uint64 {
	if v.Nodes.Kind(id) == KindRepeat && t.KidsPerRow == 1 {
		return v.Nodes.Count(id)
	}
	return 1
}

// TableTime returns the ticks of the gaps in a node's rows.
func (v *View) TableTime(id uint32, counts []uint64) (sum Total) {
	t := v.Tables[id]
	times := v.Iterations(id, t)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		for _, g := range t.Gaps[row*t.GapsPerRow : (row+1)*t.GapsPerRow] {
			sum = sum.Plus(Product(g, m*times))
		}
	}
	return sum
}
