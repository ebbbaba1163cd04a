package callpath

import (
	"math"
	"slices"
)

// Limits of a location's tree, and of the union of all.
const (
	MaxLevel = 512
	MaxPaths = 1 << 16
	MaxUnion = 1 << 20
)

// None is the region of path 0, and its parent.
const None uint32 = math.MaxUint32

// Path is one node of a tree.
type Path struct {
	Parent uint32
	Region uint32 // reference of the innermost region
	Level  uint32 // number of open regions
}

// Tree is a set of call paths. The zero Tree is not valid, see New.
type Tree struct {
	paths    []Path
	recent   [recentPaths]uint32 // children found lately, by hash of parent and region; 0 for none
	children map[uint64]uint32   // by parent << 32 | region; nil until needed
	end      uint32              // this level and deeper ones are cut off
}

const recentPaths = 256

// New returns a tree with path 0 only.
func New() *Tree {
	return &Tree{paths: []Path{{Parent: None, Region: None}}, end: MaxLevel + 1}
}

// Len returns the number of paths.
func (t *Tree) Len() int { return len(t.paths) }

// Path returns path n, which must exist.
func (t *Tree) Path(n uint32) Path { return t.paths[n] }

// Child returns the path of a call of region in parent, which must exist, and makes it if it is new. At the limits of a location it returns
// parent. O(1).
func (t *Tree) Child(parent, region uint32) uint32 {
	recent := &t.recent[childKey(parent, region)*0x9E3779B97F4A7C15>>56]
	if c := *recent; t.paths[c].Parent == parent && t.paths[c].Region == region {
		return c
	}
	c, ok := t.find(parent, region)
	if !ok {
		if len(t.paths) >= MaxPaths || t.paths[parent].Level >= MaxLevel {
			return parent
		}
		c = t.add(parent, region)
	}
	*recent = c
	return c
}

func (t *Tree) find(parent, region uint32) (uint32, bool) {
	if t.children == nil {
		t.children = make(map[uint64]uint32, len(t.paths))
		for n := 1; n < len(t.paths); n++ {
			t.children[childKey(t.paths[n].Parent, t.paths[n].Region)] = uint32(n)
		}
	}
	c, ok := t.children[childKey(parent, region)]
	return c, ok
}

// add appends a path that is not there.
func (t *Tree) add(parent, region uint32) uint32 {
	c := uint32(len(t.paths))
	t.paths = append(t.paths, Path{Parent: parent, Region: region, Level: t.paths[parent].Level + 1})
	t.children[childKey(parent, region)] = c
	return c
}

func childKey(parent, region uint32) uint64 { return uint64(parent)<<32 | uint64(region) }

// Merge adds the paths of o to t and cuts t to MaxUnion paths. Which paths are left does not depend on the order of merging.
func (t *Tree) Merge(o *Tree) {
	t.merge(o, MaxUnion)
}

func (t *Tree) merge(o *Tree, most int) {
	table := make([]uint32, len(o.paths))
	for n := 1; n < len(o.paths); n++ {
		parent := table[o.paths[n].Parent]
		c, ok := t.find(parent, o.paths[n].Region)
		if !ok {
			c = t.add(parent, o.paths[n].Region)
		}
		table[n] = c
	}
	t.cut(min(t.end, o.end), most)
}

// cut removes the levels from end on, and more of the deepest ones until at most most paths are left. As t.end is merged too, the union
// has either all paths of a level or none.
func (t *Tree) cut(end uint32, most int) {
	levels := make([]int, MaxLevel+1)
	for i := range t.paths {
		levels[t.paths[i].Level]++
	}
	left := 0
	for level, n := range levels[:end] {
		if left += n; left > most {
			end = uint32(level)
			break
		}
	}
	if t.end = end; t.deepest() < end {
		return
	}
	kept := t.paths[:0]
	table := make([]uint32, len(t.paths)) // new numbers
	for n, p := range t.paths {
		if p.Level >= end {
			continue
		}
		if n > 0 {
			p.Parent = table[p.Parent]
		}
		table[n] = uint32(len(kept))
		kept = append(kept, p)
	}
	t.paths, t.children, t.recent = kept, nil, [recentPaths]uint32{}
}

func (t *Tree) deepest() (level uint32) {
	for i := range t.paths {
		level = max(level, t.paths[i].Level)
	}
	return level
}

// Number renumbers the paths depth first, the children of a path by region reference. Afterwards trees with equal paths are equal.
func (t *Tree) Number() {
	order := make([]uint32, 0, len(t.paths)-1) // by parent, then region
	for n := 1; n < len(t.paths); n++ {
		order = append(order, uint32(n))
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := &t.paths[a], &t.paths[b]
		if x.Parent != y.Parent {
			return int(int64(x.Parent) - int64(y.Parent))
		}
		return int(int64(x.Region) - int64(y.Region))
	})
	first := make([]uint32, len(t.paths)+1) // first child of each path in order
	for _, n := range order {
		first[t.paths[n].Parent+1]++
	}
	for i := range len(t.paths) {
		first[i+1] += first[i]
	}
	number := make([]uint32, len(t.paths))
	paths := make([]Path, 0, len(t.paths))
	for stack := []uint32{0}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		p := t.paths[n]
		if n > 0 {
			p.Parent = number[p.Parent]
		}
		number[n] = uint32(len(paths))
		paths = append(paths, p)
		for i := first[n+1]; i > first[n]; i-- {
			stack = append(stack, order[i-1])
		}
	}
	t.paths, t.children, t.recent = paths, nil, [recentPaths]uint32{}
}

// Locate returns the path of t for each path of o. For a path that was cut off t, that is its longest prefix in t.
func (t *Tree) Locate(o *Tree) []uint32 {
	table := make([]uint32, len(o.paths))
	lost := make([]bool, len(o.paths))
	for n := 1; n < len(o.paths); n++ {
		parent := o.paths[n].Parent
		table[n], lost[n] = table[parent], true
		if lost[parent] {
			continue
		}
		if c, ok := t.find(table[parent], o.paths[n].Region); ok {
			table[n], lost[n] = c, false
		}
	}
	return table
}
