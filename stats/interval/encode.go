package interval

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/xtf"
)

// AppendBinary appends t as variable-length integers and counted bytes: the number of nodes, then for each node the distance to its parent,
// form, id, line, executions, first + 1 (0 for none), last, name and file.
func (t *Tree) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(t.nodes)))
	for i := range t.nodes {
		x := &t.nodes[i]
		back := uint64(0)
		if i > 0 {
			back = uint64(i) - uint64(x.Parent)
		}
		b = varint.Append(b, back, uint64(x.Form), x.ID, uint64(x.Line), x.Executions, x.First+1, x.Last)
		for _, s := range [...]string{x.Name, x.File} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return b
}

// nodeBytes is the least size of an encoded node.
const nodeBytes = 9

// ParseTree decodes a tree that takes all of b.
func ParseTree(b []byte) (*Tree, error) {
	r := varint.Read(b)
	count := r.AtMost(MaxNodes)
	if r.Failed() || count == 0 || count > uint64(r.Len())/nodeBytes {
		return nil, errDamaged
	}
	t := &Tree{nodes: make([]Node, 0, count), children: make(map[child]uint32, count)}
	for i := range count {
		back := r.AtMost(i)
		x := Node{Parent: uint32(i - back), First: xtf.Never}
		x.Form = Form(r.AtMost(uint64(NumForms) - 1))
		x.ID, x.Line = r.Next(), r.Uint32()
		x.Executions, x.First, x.Last = r.Next(), r.Next()-1, r.Next()
		x.Name, x.File = r.Text(), r.Text()
		if i == 0 {
			x.Parent = None
		} else if r.Failed() || back == 0 || !t.link(uint32(i), &x) {
			return nil, errDamaged
		}
		t.nodes = append(t.nodes, x)
	}
	if !r.Done() {
		return nil, errDamaged
	}
	return t, nil
}

// link enters node n as a child of its parent. It returns false if that is too deep or has such a child.
func (t *Tree) link(n uint32, x *Node) bool {
	at := child{x.Parent, x.identity()}
	if _, twice := t.children[at]; twice || t.nodes[x.Parent].Level >= MaxLevel {
		return false
	}
	x.Level = t.nodes[x.Parent].Level + 1
	t.children[at] = n
	return true
}
