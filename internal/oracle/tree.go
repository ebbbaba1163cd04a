package oracle

import (
	"cmp"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// execution is one execution of a node on a location.
type execution struct {
	node     int
	from, to uint64
	flags    uint32
}

// Flags of executions.
const (
	unclosed uint32 = 1
	crossed  uint32 = 2
)

// Node is an interval: a path of keys from the root.
type Node struct {
	Parent  int
	Level   int
	Key     Key
	Derived bool // of the second family, beside the markers
}

type nodeTree struct {
	list     []Node
	children map[int][]int
}

// child returns the node of a key below parent.
func (t *nodeTree) child(parent int, k Key, derived bool) int {
	if t.list == nil {
		t.list, t.children = []Node{{Parent: -1}}, map[int][]int{}
	}
	if parent < 0 {
		return 0
	}
	for _, c := range t.children[parent] {
		n := &t.list[c]
		if n.Derived == derived && n.Key.File == k.File && n.Key.Line == k.Line && n.Key.ID == k.ID && n.Key.Name == k.Name {
			return c
		}
	}
	t.list = append(t.list, Node{parent, t.list[parent].Level + 1, k, derived})
	t.children[parent] = append(t.children[parent], len(t.list)-1)
	return len(t.list) - 1
}

type openInterval struct {
	node   int
	from   uint64
	key    Key
	folded bool // into an execution of the same key around it: it is none itself
}

// execute turns the marks of a location into executions (intervals 2.4).
func (a *analysis) execute(l *location) {
	if len(l.records) == 0 {
		return
	}
	root := execution{0, l.first, l.last, 0}
	l.whole = true
	if a.o.ExcludeInit {
		root.from, root.to, l.whole = a.betweenInit(l)
	}
	l.execs = append(l.execs, root)
	var stack []openInterval
	shut := func(at uint64, flags uint32) {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !o.folded {
			l.execs = append(l.execs, execution{o.node, o.from, at, flags})
		}
	}
	for _, m := range l.marks {
		if !m.end {
			stack = a.begin(stack, m)
			continue
		}
		i := len(stack) - 1
		for i >= 0 && (stack[i].key.ID != m.key.ID || stack[i].key.Name != m.key.Name) {
			i--
		}
		if i < 0 {
			a.problem(EndWithoutBegin, l, m.at, m.key)
			continue
		}
		if i < len(stack)-1 {
			a.problem(Crossed, l, m.at, m.key)
		}
		for len(stack)-1 > i {
			shut(m.at, crossed)
		}
		shut(m.at, 0)
	}
	for len(stack) > 0 {
		a.problem(Unclosed, l, l.last, stack[len(stack)-1].key)
		shut(l.last, unclosed)
	}
	a.derive(l)
	l.execs = slices.DeleteFunc(l.execs, func(e execution) bool { // not a part of the program
		return e.node > 0 && !l.whole && (e.to <= root.from || e.from >= root.to)
	})
	for i := range l.execs {
		e := &l.execs[i]
		if e.to >= root.to && !l.whole {
			e.flags = 0 // it ends with the program
		}
		e.from, e.to = min(max(e.from, root.from), root.to), max(min(e.to, root.to), root.from)
	}
}

func (a *analysis) begin(stack []openInterval, m mark) []openInterval {
	parent := 0
	if len(stack) > 0 {
		parent = stack[len(stack)-1].node
	}
	for i := range stack {
		if a.o.FoldRecursed && sameKey(stack[i].key, m.key) {
			return append(stack, openInterval{parent, m.at, m.key, true})
		}
	}
	return append(stack, openInterval{a.nodes.child(parent, m.key, false), m.at, m.key, false})
}

func sameKey(x, y Key) bool {
	return x.ID == y.ID && x.Name == y.Name && x.File == y.File && x.Line == y.Line
}

// derive adds the executions of slices and of the time between collectives.
func (a *analysis) derive(l *location) {
	for _, s := range a.o.Slices {
		if from, to := max(s.Begin, l.first), min(s.End, l.last); from < to {
			l.execs = append(l.execs, execution{a.nodes.child(0, s.Key, true), from, to, 0})
		}
	}
	if a.o.Between == "" {
		return
	}
	k, from := uint64(0), uint64(0)
	for _, m := range l.colls {
		if m.comm != a.world() || trace.EnumCollectiveOp.Text(uint64(m.op)) != a.o.Between || m.visit != m.start {
			continue
		}
		if k > 0 {
			key := Key{ID: k - 1, Form: FormDerived, Name: a.regionName(l.visits[m.visit].region)}
			l.execs = append(l.execs, execution{a.nodes.child(0, key, true), from, m.enter(), 0})
		}
		k, from = k+1, m.leave()
	}
}

// world is the communicator of most processes.
func (a *analysis) world() uint32 {
	world, most := uint32(trace.Undefined), 0
	for _, c := range a.d.Comms {
		if n := a.d.CommSize(c.Ref); n > most {
			world, most = c.Ref, n
		}
	}
	return world
}

// betweenInit returns the time between MPI_Init and MPI_Finalize, and whether
// there is neither of them.
func (a *analysis) betweenInit(l *location) (from, to uint64, neither bool) {
	from, to, neither = l.first, l.last, true
	for i := range l.calls {
		c := &l.calls[i]
		switch a.regionName(c.region) {
		case "MPI_Init", "MPI_Init_thread":
			from, neither = c.leave, false
		case "MPI_Finalize":
			to, neither = c.enter, false
		}
	}
	return from, max(from, to), neither
}

// numberNodes brings the nodes into their order: depth first, children by
// their earliest begin, then file, line, id, name. It returns new by old number.
func (a *analysis) numberNodes() []int {
	a.nodes.child(-1, Key{}, false)
	first := make([]uint64, len(a.nodes.list))
	for i := range first {
		first[i] = math.MaxUint64
	}
	for _, l := range a.locs {
		for _, e := range l.execs {
			first[e.node] = min(first[e.node], e.from)
		}
	}
	number := make([]int, len(a.nodes.list))
	var list []Node
	stack := []int{0}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		number[n] = len(list)
		node := a.nodes.list[n]
		if node.Parent >= 0 {
			node.Parent = number[node.Parent]
		}
		list = append(list, node)
		c := slices.Clone(a.nodes.children[n])
		slices.SortStableFunc(c, func(x, y int) int {
			k, m := a.nodes.list[x].Key, a.nodes.list[y].Key
			return cmp.Or(cmp.Compare(first[x], first[y]), cmp.Compare(k.File, m.File), cmp.Compare(k.Line, m.Line), cmp.Compare(k.ID, m.ID), cmp.Compare(k.Name, m.Name))
		})
		slices.Reverse(c)
		stack = append(stack, c...)
	}
	a.nodes.list = list
	for _, l := range a.locs {
		for i := range l.execs {
			l.execs[i].node = number[l.execs[i].node]
		}
	}
	return number
}
