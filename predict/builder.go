package predict

import (
	"bytes"
	"encoding/gob"
	"errors"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// ErrTooLarge means that a program would have more than 2^31 nodes, children or actions.
var ErrTooLarge = errors.New("a program of too many different parts")

// builder makes the nodes of a program. Equal nodes are made once.
type builder struct {
	tables  *tables
	program program.Program
	region  []uint32                  // of each node
	first   map[uint64]program.NodeID // 1 + the last node with each hash
	next    []program.NodeID          // of each node: 1 + the previous one with the same hash
	left    Left
}

func (b *builder) call(region uint32, actions []program.Action) (program.NodeID, error) {
	h := hashWord(hashWord(0, uint64(program.Call)), uint64(region))
	for i := range actions {
		h = hashAction(h, &actions[i])
	}
	return b.intern(h, program.Node{Kind: program.Call, Len: uint32(len(actions))}, region, func(n program.Node) bool {
		return slices.Equal(b.program.Actions[n.First:n.First+n.Len], actions)
	}, func() uint32 {
		b.program.Actions = append(b.program.Actions, actions...)
		return uint32(len(b.program.Actions) - len(actions))
	})
}

// sequence returns a node that performs children one after the other.
func (b *builder) sequence(children []program.NodeID) (program.NodeID, error) {
	return b.parent(program.Node{Kind: program.Seq, Len: uint32(len(children))}, children)
}

func (b *builder) parent(n program.Node, children []program.NodeID) (program.NodeID, error) {
	h := hashWord(hashWord(0, uint64(n.Kind)), n.Count)
	for _, c := range children {
		h = hashWord(h, uint64(c))
	}
	return b.intern(h, n, trace.Undefined, func(o program.Node) bool {
		return slices.Equal(b.program.Children[o.First:o.First+o.Len], children)
	}, func() uint32 {
		b.program.Children = append(b.program.Children, children...)
		return uint32(len(b.program.Children) - len(children))
	})
}

// intern returns the node equal to n, or adds it. equal compares the node's actions or children.
func (b *builder) intern(h uint64, n program.Node, region uint32, equal func(program.Node) bool, add func() uint32) (program.NodeID, error) {
	for at := b.first[h]; at > 0; at = b.next[at-1] {
		o := b.program.Nodes[at-1]
		if o.Kind == n.Kind && o.Len == n.Len && o.Count == n.Count && b.region[at-1] == region && equal(o) {
			return at - 1, nil
		}
	}
	id := len(b.program.Nodes)
	n.First = add()
	if id >= math.MaxInt32 || len(b.program.Children) > math.MaxInt32 || len(b.program.Actions) > math.MaxInt32 {
		return 0, ErrTooLarge
	}
	b.program.Nodes, b.region = append(b.program.Nodes, n), append(b.region, region)
	b.next = append(b.next, b.first[h])
	b.first[h] = program.NodeID(id) + 1
	return program.NodeID(id), nil
}

// hashWord adds a word to a hash.
func hashWord(h, w uint64) uint64 {
	h = (h ^ w) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

func hashAction(h uint64, a *program.Action) uint64 {
	h = hashWord(h, uint64(a.Kind)|uint64(a.Flags)<<8|uint64(a.Mode)<<16|uint64(a.Coll)<<24|uint64(a.Comm)<<32)
	h = hashWord(h, uint64(uint32(a.Peer))|uint64(a.Tag)<<32)
	h = hashWord(h, uint64(a.Age))
	return hashWord(hashWord(h, a.Bytes), a.Recv)
}

// runs is a child and how many times it follows itself.
type runs struct {
	id    program.NodeID
	count uint64
}

// fold returns one node for a list of runs. some is false if the list is empty.
func (b *builder) fold(list []runs) (id program.NodeID, some bool, err error) {
	var children []program.NodeID
	for _, r := range list {
		id = r.id
		if r.count > 1 {
			if id, err = b.parent(program.Node{Kind: program.Loop, Len: 1, Count: r.count}, []program.NodeID{r.id}); err != nil {
				return 0, false, err
			}
		}
		children = append(children, id)
	}
	if len(children) > 1 {
		id, err = b.sequence(children)
	}
	return id, len(children) > 0, err
}

// unite joins the programs of all ranks to one, the same on every rank: nodes are in the order of their first use by processes in ascending
// order, children first.
func (in *Input) unite(c mpi.Comm, own *builder) error {
	mine := &builder{tables: own.tables, first: map[uint64]program.NodeID{}}
	var all *builder
	b, err := mpi.TreeShare(c, mine, mine.take(own), (*builder).encode, decodeBuilder, func(a, b *builder) (*builder, error) { return a, a.take(b) },
		func(whole *builder) ([]byte, error) {
			if all = whole; c.Size() == 1 {
				return nil, nil
			}
			return all.encode()
		})
	if err != nil {
		return err
	}
	if c.Rank() != 0 {
		all, err = decodeBuilder(b)
	}
	if err := c.Agree(err); err != nil {
		return err
	}
	all.program.Comms = own.tables.comms
	in.Program, in.Region, in.Left = &all.program, all.region, all.left
	return nil
}

// take appends the processes of another program, and the nodes that they use.
func (b *builder) take(o *builder) error {
	p := &o.program
	to := make([]program.NodeID, len(p.Nodes)) // 1 + node
	var stack []walkFrame
	var children []program.NodeID
	for _, root := range p.Roots {
		stack = append(stack[:0], walkFrame{node: uint32(root)})
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			n := p.Nodes[f.node]
			if to[f.node] != 0 {
				stack = stack[:len(stack)-1]
				continue
			}
			if n.Kind != program.Call && f.next < int(n.Len) {
				c := p.Children[n.First+uint32(f.next)]
				f.next++
				if to[c] == 0 {
					stack = append(stack, walkFrame{node: uint32(c)})
				}
				continue
			}
			var id program.NodeID
			var err error
			if n.Kind == program.Call {
				id, err = b.call(o.region[f.node], p.Actions[n.First:n.First+n.Len])
			} else {
				children = children[:0]
				for _, c := range p.Children[n.First : n.First+n.Len] {
					children = append(children, to[c]-1)
				}
				id, err = b.parent(program.Node{Kind: n.Kind, Len: n.Len, Count: n.Count}, children)
			}
			if err != nil {
				return err
			}
			to[f.node] = id + 1
			stack = stack[:len(stack)-1]
		}
		b.program.Roots = append(b.program.Roots, to[root]-1)
	}
	b.left.add(&o.left)
	return nil
}

// message is a builder as ranks send it.
type message struct {
	Program program.Program // without communicators, which all ranks have
	Region  []uint32
	Left    Left
}

func (b *builder) encode() ([]byte, error) {
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).Encode(message{b.program, b.region, b.left})
	return buf.Bytes(), err
}

var errMessage = errors.New("a program came damaged from another rank")

// decodeBuilder decodes what encode wrote, and checks that children precede parents and that all references are valid.
func decodeBuilder(src []byte) (*builder, error) {
	var m message
	if gob.NewDecoder(bytes.NewReader(src)).Decode(&m) != nil || len(m.Region) != len(m.Program.Nodes) {
		return nil, errMessage
	}
	p := &m.Program
	for i, n := range p.Nodes {
		end, of := uint64(n.First)+uint64(n.Len), len(p.Children)
		if n.Kind == program.Call {
			of = len(p.Actions)
		}
		if n.Kind > program.Loop || n.Kind == program.Loop && n.Len != 1 || end > uint64(of) ||
			n.Kind != program.Call && slices.ContainsFunc(p.Children[n.First:end], func(c program.NodeID) bool { return uint64(c) >= uint64(i) }) {
			return nil, errMessage
		}
	}
	if slices.ContainsFunc(p.Roots, func(r program.NodeID) bool { return uint64(r) >= uint64(len(p.Nodes)) }) {
		return nil, errMessage
	}
	return &builder{program: m.Program, region: m.Region, left: m.Left}, nil
}
