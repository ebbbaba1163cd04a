package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// PathTotal is the sum over the calls on one path. A path is the list of open regions from the outermost one on, including recursive calls.
type PathTotal struct {
	Parent    int    // index of the path without its last region, -1 for the first
	Region    uint32 // trace.Undefined for the first: outside all calls
	Depth     int    // regions in the path
	Calls     uint64
	Estimated uint64 // calls that are only known from calling contexts
	Samples   uint64 // samples with exactly this path
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks
	Gaps      uint64 // number of gaps in Exclusive
	GapsIn    uint64 // number of gaps in Inclusive
}

// PathProfile is a call-path profile; the zero value is empty. Any number of
// locations can be added, in any order.
type PathProfile struct {
	index map[stateKey]int32
	paths []pathTotal
}

type pathTotal struct {
	parent           int32
	region           uint32
	calls, time, gap uint64

	estimated, samples uint64
}

// maxPaths is the most paths of a profile, and the most pairs of nodes and paths in between: a graph of n nodes can have 2^n paths.
const maxPaths = 1 << 20

// path returns the number of a path below another one.
func (p *PathProfile) path(parent int32, region uint32) int32 {
	k := stateKey{parent, region}
	n, ok := p.index[k]
	if !ok {
		n = int32(len(p.paths))
		p.index[k] = n
		p.paths = append(p.paths, pathTotal{parent: parent, region: region})
	}
	return n
}

// Add adds location l. Calls come from the multiplicities of nodes along each path, times from the sums of columns with one path, and of
// classes: O(nodes * paths to each). Columns with several paths are read in one walk that enters only nodes that have them.
func (p *PathProfile) Add(l *Location) error {
	s := pathSweep{l: l, v: l.view, states: newStates(l.view, byPath)}
	if err := s.run(); err != nil {
		return fmt.Errorf("call graph: location %d: %w", l.p, err)
	}
	number := make([]int32, s.states.len())
	if p.index == nil {
		p.index = map[stateKey]int32{}
		p.paths = []pathTotal{{parent: -1, region: trace.Undefined}}
	}
	for n := range number {
		if n > 0 {
			number[n] = p.path(number[s.states.parent[n]], s.states.region[n])
		}
		if err := p.add(number[n], s.totals[n]); err != nil {
			return err
		}
	}
	return nil
}

func (p *PathProfile) add(n int32, t pathTotal) error {
	q := &p.paths[n]
	q.calls += t.calls
	q.gap += t.gap
	q.estimated += t.estimated
	q.samples += t.samples
	if !addTimes(&q.time, t.time, 1) {
		return fmt.Errorf("call graph: time of a path exceeds 64 bits: %w", graph.ErrLimit)
	}
	if len(p.paths) > maxPaths {
		return fmt.Errorf("call graph: more than %d call paths: %w", maxPaths, graph.ErrLimit)
	}
	return nil
}

// Paths returns all paths depth first, with children of a path by ascending region. The first one is "outside all calls".
func (p *PathProfile) Paths() ([]PathTotal, error) {
	n := len(p.paths)
	children := make([][]int32, n)
	for i := 1; i < n; i++ {
		children[p.paths[i].parent] = append(children[p.paths[i].parent], int32(i))
	}
	list := make([]PathTotal, 0, n)
	type open struct {
		path   int32
		parent int
	}
	var todo []open
	if n > 0 {
		todo = append(todo, open{0, -1})
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t := &p.paths[at.path]
		r := PathTotal{Parent: at.parent, Region: t.region, Calls: t.calls, Estimated: t.estimated, Samples: t.samples, Exclusive: t.time, Inclusive: t.time, Gaps: t.gap, GapsIn: t.gap}
		if at.parent >= 0 {
			r.Depth = list[at.parent].Depth + 1
		}
		below := children[at.path]
		slices.SortFunc(below, func(a, b int32) int { return -cmp.Compare(p.paths[a].region, p.paths[b].region) })
		for _, c := range below {
			todo = append(todo, open{c, len(list)})
		}
		list = append(list, r)
	}
	for i := len(list) - 1; i > 0; i-- {
		above := &list[list[i].Parent]
		above.GapsIn += list[i].GapsIn
		if !addTimes(&above.Inclusive, list[i].Inclusive, 1) {
			return nil, fmt.Errorf("call graph: time of a path exceeds 64 bits: %w", graph.ErrLimit)
		}
	}
	return list, nil
}

// classes adds the times of nodes with classes: counts of rows on each path, from parents to children.
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
	around := make([][]int32, v.Nodes.Len()+1) // of each node: paths around it with counts
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

// classColumns counts the columns of classes with one path.
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

// spread adds the gaps of a node's rows to the path inside it, and passes their counts to the children.
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

// pathSweep computes the sums of one location by path.
type pathSweep struct {
	l      *Location
	v      *graph.View
	states *states     // paths
	totals []pathTotal // of each path
	path   []int32     // of each node: the path inside it, mixedState if there are several
	mult   []uint64    // of each node with one path: instances so far
	lists  map[uint32]*pathList
	pairs  int     // in lists
	column []int32 // of each column of gaps or classes: its path, or mixedState
	rows   map[nodePath][]uint64
	words  int // in rows
}

// pathList has the paths of a node with several.
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

// maxPathRows is the most counts of rows: 256 MiB.
const maxPathRows = 1 << 25

const noPath = -2

func (s *pathSweep) run() error {
	n := s.v.Nodes.Len() + 1
	s.path, s.mult, s.lists = make([]int32, n), make([]uint64, n), map[uint32]*pathList{}
	for i := range s.path {
		s.path[i] = noPath
	}
	s.grow()
	s.add(s.v.Root, 0, 1)
	for i := len(s.v.Order) - 1; i >= 0; i-- {
		if id := s.v.Order[i]; s.v.Nodes.Kind(id) != graph.KindEvent {
			s.node(id)
		}
		if s.pairs+s.states.len() > maxPaths {
			return fmt.Errorf("more than %d call paths: %w", maxPaths, graph.ErrLimit)
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

// add adds count instances of a node on a path around it.
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

func (s *pathSweep) grow() {
	s.totals = append(s.totals, make([]pathTotal, s.states.len()-len(s.totals))...)
}

// node passes the paths of a node, which are all known, to its children.
func (s *pathSweep) node(id uint32) {
	if l := s.lists[id]; l != nil {
		for i := range l.list {
			l.list[i].path = s.inside(id, l.list[i])
		}
		return
	}
	s.path[id] = s.inside(id, pathCount{s.path[id], s.mult[id]})
}

// inside counts the calls and gaps of a node's instances on one path. It returns the path inside them.
func (s *pathSweep) inside(id uint32, at pathCount) int32 {
	v := s.v
	path := at.path
	if v.Nodes.Kind(id) == graph.KindCall {
		path = s.states.enter(v, path, id)
		s.grow()
		h := v.ShapeOf(id)
		s.totals[path].calls += at.count
		if h.Flags&trace.Estimated != 0 {
			s.totals[path].estimated += at.count
		}
	}
	times := at.count
	if v.Nodes.Kind(id) == graph.KindRepeat {
		times *= v.Nodes.Count(id)
	}
	for _, c := range v.Nodes.Children(id) {
		if v.Nodes.Kind(c) != graph.KindEvent {
			s.add(c, path, times)
		} else if v.ShapeOf(c).IsSample() {
			s.totals[path].samples += times
		}
	}
	s.totals[path].gap += v.GapsOf(id) * at.count
	return path
}

// sums adds the columns with one path.
func (s *pathSweep) sums() error {
	for k, c := range s.v.Cols {
		if !c.Gap || s.column[k] == mixedState {
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
func (t *pathTotal) add(ticks graph.Total) bool {
	return addTimes(&t.time, ticks.Lo, 1) && ticks.Hi == 0
}

var errPathTime = fmt.Errorf("time of a path exceeds 64 bits: %w", graph.ErrLimit)

// wanted returns which nodes have columns with several paths inside.
func (s *pathSweep) wanted() []bool {
	v := s.v
	want := make([]bool, v.Nodes.Len()+1)
	for _, id := range v.Order {
		if v.Nodes.Kind(id) == graph.KindEvent || v.Tables != nil && v.Tables[id] != nil {
			continue
		}
		gaps, _ := v.Slots(id)
		for slot := v.Slot[id]; slot < v.Slot[id]+gaps; slot++ {
			k := v.Column[slot]
			want[id] = want[id] || k >= 0 && s.column[k] == mixedState
			if v.Class != nil && v.Class[slot] >= 0 {
				want[id] = want[id] || s.column[v.Class[slot]] == mixedState
			}
		}
		for _, c := range v.Nodes.Children(id) {
			want[id] = want[id] || want[c]
		}
	}
	return want
}

// walk reads the columns with several paths, in execution order.
func (s *pathSweep) walk() error {
	v := s.v
	want := s.wanted()
	if !want[v.Root] {
		return nil
	}
	r := s.l.readInside(want)
	path, ok := int32(0), true
	for {
		st, id, slot := r.Next()
		if st == graph.StepEnd {
			break
		}
		ok = s.read(r.cursors, slot, path) && ok
		switch {
		case st == graph.StepOpen:
			path = s.states.enter(v, path, id)
		case st != graph.StepEvent:
			path = s.states.parent[path]
		case v.Class != nil && v.Class[slot] >= 0:
			if err := s.readRow(r.cursors, v.Class[slot], nodePath{id, path}); err != nil {
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
	k := s.v.Column[slot]
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
		n := s.v.Tables[at.id].Rows
		if s.words += n; s.words > maxPathRows {
			return fmt.Errorf("classes of more than %d paths: %w", maxPaths, graph.ErrLimit)
		}
		counts = make([]uint64, n)
		s.rows[at] = counts
	}
	if row >= uint64(len(counts)) {
		return fmt.Errorf("class %d of node %d: %w", row, s.v.Ids[at.id], graph.ErrCorrupt)
	}
	counts[row] += times
	return nil
}
