package ccg

// classes adds the times of nodes with classes: counts of rows on each path,
// passed on from parents to children.
func (s *pathSweep) classes() error {
	v := s.v
	if v.tables == nil {
		return nil
	}
	if v.rootRow >= 0 {
		if err := s.count(nodePath{v.root, 0}, uint64(v.rootRow), 1); err != nil {
			return err
		}
	}
	if err := s.classColumns(); err != nil {
		return err
	}
	around := make([][]int32, v.nodes.len()+1) // by node: paths around it that have counts
	for at := range s.rows {
		around[at.id] = append(around[at.id], at.path)
	}
	for i := len(v.order) - 1; i >= 0; i-- {
		id := v.order[i]
		for _, path := range around[id] {
			if err := s.spread(nodePath{id, path}, around); err != nil {
				return err
			}
		}
	}
	return nil
}

// classColumns counts the columns of classes that lie in one path.
func (s *pathSweep) classColumns() error {
	for k, c := range s.v.cols {
		if c.child == 0 || s.column[k] == mixedState {
			continue
		}
		err := s.l.blocks(k, func(rows []uint64) error {
			for _, row := range rows {
				if err := s.count(nodePath{c.child, s.column[k]}, row, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spread adds the gaps of a node's rows to the path inside it, and passes their
// counts on to the children.
func (s *pathSweep) spread(at nodePath, around [][]int32) error {
	v := s.v
	counts, t := s.rows[at], v.tables[at.id]
	path := at.path
	if v.nodes.kind(at.id) == kindCall {
		path = s.states.enter(v, path, at.id)
	}
	if !s.totals[path].add(v.tableTime(at.id, counts)) {
		return errPathTime
	}
	times := v.iterations(at.id, t)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		_, kids := t.row(row)
		for i, kid := range kids {
			c := v.childOf(at.id, i)
			if v.tables[c] == nil {
				continue // an Event
			}
			to := nodePath{c, path}
			if s.rows[to] == nil {
				around[c] = append(around[c], path)
			}
			if err := s.count(to, uint64(kid), m*times); err != nil {
				return err
			}
		}
	}
	return nil
}
