package ccg

import "github.com/coppice-hpc/coppice/ccg/graph"

// classes adds the times of nodes with classes: counts of rows on each path,
// passed on from parents to children.
func (s *pathSweep) classes() error {
	v := s.v
	if v.Tables == nil {
		return nil
	}
	if v.RootRow >= 0 {
		if err := s.count(nodePath{v.Root, 0}, uint64(v.RootRow), 1); err != nil {
			return err
		}
	}
	if err := s.classColumns(); err != nil {
		return err
	}
	around := make([][]int32, v.Nodes.Len()+1) // by node: paths around it that have counts
	for at := range s.rows {
		around[at.id] = append(around[at.id], at.path)
	}
	for i := len(v.Order) - 1; i >= 0; i-- {
		id := v.Order[i]
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
	for k, c := range s.v.Cols {
		if c.Child == 0 || s.column[k] == mixedState {
			continue
		}
		err := s.l.blocks(k, func(rows []uint64) error {
			for _, row := range rows {
				if err := s.count(nodePath{c.Child, s.column[k]}, row, 1); err != nil {
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
	counts, t := s.rows[at], v.Tables[at.id]
	path := at.path
	if v.Nodes.Kind(at.id) == graph.KindCall {
		path = s.states.enter(v, path, at.id)
	}
	if !s.totals[path].add(v.TableTime(at.id, counts)) {
		return errPathTime
	}
	times := v.Iterations(at.id, t)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		_, kids := t.Row(row)
		for i, kid := range kids {
			c := v.ChildOf(at.id, i)
			if v.Tables[c] == nil {
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
