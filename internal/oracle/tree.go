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
	Derived bool // of the second family, next to the markers
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

// program is what of a location belongs to the program: the time, and the records
// strictly between two.
type program struct {
	from, to      uint64
	after, before int
	whole         bool // it has all records
}

// place tells whether a mark lies before the program (-1), in it or after it (1).
func (p *program) place(m mark) int {
	switch {
	case p.whole:
		return 0
	case m.order < 0 && m.at > p.to, m.order >= p.before:
		return 1
	case m.order < 0 && m.at <= p.from, m.order >= 0 && m.order <= p.after:
		return -1
	}
	return 0
}

// execute turns the marks of a location into executions (intervals 2.4).
func (a *analysis) execute(l *location) {
	if len(l.records) == 0 {
		return
	}
	pr := program{l.first, l.last, -1, len(l.records), true}
	if a.o.ExcludeInit {
		pr = a.betweenInit(l)
	}
	l.whole = pr.whole
	l.execs = append(l.execs, execution{0, pr.from, pr.to, 0})
	var stack []openInterval
	shut := func(at uint64, flags uint32, place int) {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !o.folded && place == 0 {
			l.execs = append(l.execs, execution{o.node, max(o.from, pr.from), min(at, pr.to), flags})
		}
	}
	for _, m := range l.marks {
		place := pr.place(m)
		if place > 0 {
			break
		}
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
			shut(m.at, crossed, place)
		}
		shut(m.at, 0, place)
	}
	for len(stack) > 0 {
		if pr.before < len(l.records) {
			shut(pr.to, 0, 0) // it ends with the program
			continue
		}
		a.problem(Unclosed, l, l.last, stack[len(stack)-1].key)
		shut(l.last, unclosed, 0)
	}
	a.derive(l, pr)
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
func (a *analysis) derive(l *location, pr program) {
	for _, s := range a.o.Slices {
		if from, to := max(s.Begin, pr.from), min(s.End, pr.to); from < to {
			l.execs = append(l.execs, execution{a.nodes.child(0, s.Key, true), from, to, 0})
		}
	}
	if a.o.Between == "" {
		return
	}
	k, from := uint64(0), uint64(0)
	for _, m := range l.colls {
		if m.comm != a.world() || trace.CollectiveName(uint64(m.op)) != a.o.Between || m.visit != m.start {
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

// betweenInit returns the part between MPI_Init and MPI_Finalize.
func (a *analysis) betweenInit(l *location) program {
	pr := program{l.first, l.last, -1, len(l.records), true}
	for i := range l.calls {
		c := &l.calls[i]
		switch a.regionName(c.region) {
		case "MPI_Init", "MPI_Init_thread":
			pr.from, pr.after, pr.whole = c.leave, c.last, false
		case "MPI_Finalize":
			pr.to, pr.before, pr.whole = c.enter, c.first, false
		}
	}
	pr.to = max(pr.from, pr.to)
	return pr
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
