package ccg

import "github.com/coppice-hpc/coppice/internal/column"

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
	var buf [column.BlockSize]uint64
	for k := range s.v.cols {
		child := s.v.cols[k].child
		if child == 0 || s.column[k] == mixedState {
			continue
		}
		for b := range s.l.cols[k].Blocks() {
			n, err := s.l.cols[k].Decode(b, buf[:])
			if err != nil {
				return s.l.columnError(k, err)
			}
			for _, row := range buf[:n] {
				if err := s.count(nodePath{child, s.column[k]}, row, 1); err != nil {
					return err
				}
			}
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
	hi, lo := v.tableTime(at.id, counts)
	if hi != 0 || !addTimes(&s.totals[path].time, lo, 1) {
		return errPathTime
	}
	times := v.iterations(at.id, t)
	children := v.nodes.children(at.id)
	for row, m := range counts {
		if m == 0 {
			continue
		}
		_, kids := t.row(row)
		for i, kid := range kids {
			c := children[min(i, len(children)-1)]
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
