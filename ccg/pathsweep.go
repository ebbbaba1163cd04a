package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// pathSweep finds what the calls of one location took by path.
type pathSweep struct {
	l      *Location
	v      *view
	states *states     // paths
	totals []pathTotal // by path
	path   []int32     // by node: the path inside it, mixedState if there are several
	mult   []uint64    // by node with one path: instances so far
	lists  map[uint32]*pathList
	pairs  int     // in lists
	column []int32 // by column of gaps or classes: its path, or mixedState
	rows   map[nodePath][]uint64
	words  int // in rows
}

// pathList are the paths of a node that has several.
type pathList struct {
	list  []pathCount
	index map[int32]int // path -> place in list
}

type pathCount struct {
	path  int32
	count uint64
}

// nodePath is a node with classes and the path around it.
type nodePath struct {
	id   uint32
	path int32
}

// maxPathRows bounds the numbers that rows are counted in: 256 MiB.
const maxPathRows = 1 << 25

const noPath = -2

func (s *pathSweep) run() error {
	n := s.v.nodes.len() + 1
	s.path, s.mult, s.lists = make([]int32, n), make([]uint64, n), map[uint32]*pathList{}
	for i := range s.path {
		s.path[i] = noPath
	}
	s.grow()
	s.add(s.v.root, 0, 1)
	for i := len(s.v.order) - 1; i >= 0; i-- {
		if id := s.v.order[i]; s.v.nodes.kind(id) != kindEvent {
			s.node(id)
		}
		if s.pairs+s.states.len() > maxPaths {
			return fmt.Errorf("more than %d call paths: %w", maxPaths, ErrLimit)
		}
	}
	s.column = s.states.assign(s.v).column
	if err := s.sums(); err != nil {
		return err
	}
	s.rows = map[nodePath][]uint64{}
	if err := s.walk(); err != nil {
		return err
	}
	return s.classes()
}

// add notes count instances of a node on a path around it.
func (s *pathSweep) add(id uint32, path int32, count uint64) {
	switch s.path[id] {
	case noPath:
		s.path[id] = path
		s.mult[id] = count
	case path:
		s.mult[id] += count
	default:
		l := s.lists[id]
		if l == nil {
			l = &pathList{list: []pathCount{{s.path[id], s.mult[id]}}, index: map[int32]int{s.path[id]: 0}}
			s.lists[id], s.path[id] = l, mixedState
			s.pairs++
		}
		i, ok := l.index[path]
		if !ok {
			i = len(l.list)
			l.index[path] = i
			l.list = append(l.list, pathCount{path: path})
			s.pairs++
		}
		l.list[i].count += count
	}
}

// grow makes totals for all paths.
func (s *pathSweep) grow() {
	s.totals = append(s.totals, make([]pathTotal, s.states.len()-len(s.totals))...)
}

// node passes the paths of a node, all known by now, on to its children.
func (s *pathSweep) node(id uint32) {
	if l := s.lists[id]; l != nil {
		for i := range l.list {
			l.list[i].path = s.inside(id, l.list[i])
		}
		return
	}
	s.path[id] = s.inside(id, pathCount{s.path[id], s.mult[id]})
}

// inside counts the calls and gaps of a node's instances on one path, and
// returns the path inside them.
func (s *pathSweep) inside(id uint32, at pathCount) int32 {
	v := s.v
	path := at.path
	if v.nodes.kind(id) == kindCall {
		path = s.states.enter(v, path, id)
		s.grow()
		h := v.shapeOf(id)
		s.totals[path].calls += at.count
		if h.flags&trace.Estimated != 0 {
			s.totals[path].estimated += at.count
		}
	}
	times := at.count
	if v.nodes.kind(id) == kindRepeat {
		times *= v.nodes.count(id)
	}
	for _, c := range v.nodes.children(id) {
		if v.nodes.kind(c) != kindEvent {
			s.add(c, path, times)
		} else if v.shapeOf(c).isSample() {
			s.totals[path].samples += times
		}
	}
	s.totals[path].gap += v.gapsOf(id) * at.count
	return path
}

// sums adds the columns that lie in one path.
func (s *pathSweep) sums() error {
	for k, c := range s.v.cols {
		if !c.gap || s.column[k] == mixedState {
			continue
		}
		ticks, err := s.l.sum(k)
		if err != nil {
			return err
		}
		if !s.totals[s.column[k]].add(ticks) {
			return errPathTime
		}
	}
	return nil
}

// add adds ticks; false if they exceed 64 bits.
func (t *pathTotal) add(ticks total) bool { return addTimes(&t.time, ticks.lo, 1) && ticks.hi == 0 }

var errPathTime = fmt.Errorf("time of a path exceeds 64 bits: %w", ErrLimit)

// wanted says which nodes have columns of several paths inside.
func (s *pathSweep) wanted() []bool {
	v := s.v
	want := make([]bool, v.nodes.len()+1)
	for _, id := range v.order {
		if v.nodes.kind(id) == kindEvent || v.tables != nil && v.tables[id] != nil {
			continue
		}
		gaps, _ := v.slots(id)
		for slot := v.slot[id]; slot < v.slot[id]+gaps; slot++ {
			k := v.column[slot]
			want[id] = want[id] || k >= 0 && s.column[k] == mixedState
			if v.class != nil && v.class[slot] >= 0 {
				want[id] = want[id] || s.column[v.class[slot]] == mixedState
			}
		}
		for _, c := range v.nodes.children(id) {
			want[id] = want[id] || want[c]
		}
	}
	return want
}

// walk reads the columns of several paths, in execution order.
func (s *pathSweep) walk() error {
	v := s.v
	want := s.wanted()
	if !want[v.root] {
		return nil
	}
	r := s.l.readInside(want)
	path, ok := int32(0), true
	for {
		st, id, slot := r.next()
		if st == stepEnd {
			break
		}
		ok = s.read(r.cursors, slot, path) && ok
		switch {
		case st == stepOpen:
			path = s.states.enter(v, path, id)
		case st != stepEvent:
			path = s.states.parent[path]
		case v.class != nil && v.class[slot] >= 0:
			if err := s.readRow(r.cursors, v.class[slot], nodePath{id, path}); err != nil {
				return err
			}
		}
	}
	if err := r.err(); err != nil {
		return err
	}
	if !ok {
		return errPathTime
	}
	return nil
}

// read adds the next gap of a slot, if its column has several paths.
func (s *pathSweep) read(reads []column.Cursor, slot uint32, path int32) bool {
	k := s.v.column[slot]
	if k < 0 || s.column[k] != mixedState {
		return true
	}
	return addTimes(&s.totals[path].time, reads[k].Next(), 1)
}

// readRow counts the next row of a column of classes with several paths.
func (s *pathSweep) readRow(reads []column.Cursor, k int32, at nodePath) error {
	if s.column[k] != mixedState {
		return nil
	}
	return s.count(at, reads[k].Next(), 1)
}

// count counts a row of a node on a path.
func (s *pathSweep) count(at nodePath, row, times uint64) error {
	counts := s.rows[at]
	if counts == nil {
		n := s.v.tables[at.id].rows
		if s.words += n; s.words > maxPathRows {
			return fmt.Errorf("classes of more than %d paths: %w", maxPaths, ErrLimit)
		}
		counts = make([]uint64, n)
		s.rows[at] = counts
	}
	if row >= uint64(len(counts)) {
		return fmt.Errorf("class %d of node %d: %w", row, s.v.ids[at.id], ErrCorrupt)
	}
	counts[row] += times
	return nil
}
