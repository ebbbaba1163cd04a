package interval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of a tree: the sums of all nodes of a run are in memory at once.
const (
	MaxNodes = 1 << 16
	MaxLevel = 1 << 10
)

// None is not a node.
const None uint32 = trace.Undefined

// ErrTooMany says that a run has more than MaxNodes nodes.
var ErrTooMany = fmt.Errorf("interval: more than %d different intervals", MaxNodes)

var errDamaged = errors.New("interval: damaged data of intervals")

// Form is the way in which a program or a user marks an interval (docs/markers.md).
type Form uint8

// Forms, as in INTERVAL.form.
const (
	FormRoot         Form = iota // the whole program
	FormRaw                      // F1: self message with the raw tag
	FormPortable                 // F2: two self messages
	FormCommunicator             // F3: self message on a named communicator
	FormLevel                    // F4: MPI_Pcontrol with a number
	FormName                     // F5: MPI_Pcontrol with a name
	FormRegion                   // F6: each call of a region
	FormParameter                // F7: an integer parameter
	FormParaver                  // F8: events of a Paraver type
	FormSidecar                  // F9: a table next to the trace
	FormDerived                  // F10: time slices, or between operations
	NumForms
)

// Key tells the children of a node apart. The form is not a part of the identity, except that derived intervals differ from all others.
type Key struct {
	ID   uint64
	Name string
	File string
	Line uint32
	Form Form
}

// identity returns the key without what is not a part of the identity.
func (k Key) identity() Key {
	if k.Form != FormDerived {
		k.Form = FormRoot
	}
	return k
}

// compare orders children that begin at the same time.
func (k *Key) compare(o *Key) int {
	return cmp.Or(cmp.Compare(k.File, o.File), cmp.Compare(k.Line, o.Line), cmp.Compare(k.ID, o.ID),
		cmp.Compare(k.Name, o.Name), cmp.Compare(k.Form, o.Form))
}

// Node is one node of a tree.
type Node struct {
	Key
	Parent     uint32
	Level      uint32
	Executions uint64 // in a union, of all locations
	First      uint64 // earliest begin, xtf.Never without executions; ticks since the origin
	Last       uint64 // latest end
}

// Tree is the nodes of one location, or the union of those of several.
type Tree struct {
	nodes    []Node
	children map[child]uint32
}

type child struct {
	parent uint32
	key    Key
}

// NewTree returns a tree with only the root.
func NewTree() *Tree {
	return &Tree{nodes: []Node{{Parent: None, First: xtf.Never}}, children: map[child]uint32{}}
}

// Len is the number of nodes.
func (t *Tree) Len() int { return len(t.nodes) }

// Node returns node n, which must exist.
func (t *Tree) Node(n uint32) Node { return t.nodes[n] }

// Child returns the child of parent, which must exist, with this key, and makes it if it is new. At the limits of a tree it returns None
// for a new one.
func (t *Tree) Child(parent uint32, k Key) uint32 {
	at := child{parent, k.identity()}
	if n, ok := t.children[at]; ok {
		return n
	}
	if len(t.nodes) >= MaxNodes || t.nodes[parent].Level >= MaxLevel {
		return None
	}
	return t.add(at, k)
}

func (t *Tree) add(at child, k Key) uint32 {
	n := uint32(len(t.nodes))
	t.nodes = append(t.nodes, Node{Key: k, Parent: at.parent, Level: t.nodes[at.parent].Level + 1, First: xtf.Never})
	t.children[at] = n
	return n
}

// Executed counts an execution of node n.
func (t *Tree) Executed(n uint32, begin, end uint64) {
	x := &t.nodes[n]
	x.Executions++
	x.First, x.Last = min(x.First, begin), max(x.Last, end)
}

// Merge adds the nodes of o and their executions to t. It returns the node of t
// for each of o, or ErrTooMany.
func (t *Tree) Merge(o *Tree) ([]uint32, error) {
	table := make([]uint32, len(o.nodes))
	for i := range o.nodes {
		from := &o.nodes[i]
		if i > 0 {
			at := child{table[from.Parent], from.identity()}
			n, ok := t.children[at]
			if !ok {
				if len(t.nodes) >= MaxNodes {
					return nil, ErrTooMany
				}
				n = t.add(at, from.Key)
			}
			table[i] = n
		}
		x := &t.nodes[table[i]]
		x.Form = min(x.Form, from.Form)
		x.Executions += from.Executions
		x.First, x.Last = min(x.First, from.First), max(x.Last, from.Last)
	}
	return table, nil
}

// Number puts the nodes into canonical order: depth first, the children of a node by earliest begin, then file, line, id and name. It
// returns the new number of each node. Afterwards trees with equal nodes are equal.
func (t *Tree) Number() []uint32 {
	order := make([]uint32, 0, len(t.nodes)-1)
	for n := 1; n < len(t.nodes); n++ {
		order = append(order, uint32(n))
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := &t.nodes[a], &t.nodes[b]
		return cmp.Or(cmp.Compare(x.Parent, y.Parent), cmp.Compare(x.First, y.First), x.compare(&y.Key))
	})
	first := make([]uint32, len(t.nodes)+1) // of each node's children in order
	for _, n := range order {
		first[t.nodes[n].Parent+1]++
	}
	for i := range t.nodes {
		first[i+1] += first[i]
	}
	number := make([]uint32, len(t.nodes))
	nodes := make([]Node, 0, len(t.nodes))
	for stack := []uint32{0}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		x := t.nodes[n]
		if n > 0 {
			x.Parent = number[x.Parent]
		}
		number[n] = uint32(len(nodes))
		nodes = append(nodes, x)
		for i := first[n+1]; i > first[n]; i-- {
			stack = append(stack, order[i-1])
		}
	}
	t.nodes = nodes
	clear(t.children)
	for i := range nodes[1:] {
		x := &nodes[i+1]
		t.children[child{x.Parent, x.identity()}] = uint32(i + 1)
	}
	return number
}

// Locate returns the node of t for each node of o, None if t does not have it.
func (t *Tree) Locate(o *Tree) []uint32 {
	table := make([]uint32, len(o.nodes))
	for i := 1; i < len(o.nodes); i++ {
		n, ok := t.children[child{table[o.nodes[i].Parent], o.nodes[i].identity()}]
		if !ok {
			n = None
		}
		table[i] = n
	}
	return table
}
