package predict

import (
	"encoding/binary"
	"errors"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// unite makes one program of those of all ranks: on every rank the same, its nodes in the order of their first use by
// processes in ascending order, children first.
func (in *Input) unite(c mpi.Comm, own *builder) error {
	t := own.tables
	first := func() *builder { return &builder{tables: t, slots: make([]uint64, 256)} }
	mine := first()
	err := mine.take(own)
	if err := c.Agree(err); err != nil {
		return err
	}
	all, err := mpi.TreeReduce(c, mine, (*builder).encode, func(b []byte) (*builder, error) { return first().decode(b) },
		func(a, b *builder) (*builder, error) { return a, a.take(b) })
	if err != nil {
		return err
	}
	var b []byte
	if c.Rank() == 0 {
		b, err = all.encode()
	}
	if err := c.Agree(err); err != nil {
		return err
	}
	if b, err = c.Bcast(b, 0); err != nil {
		return err
	}
	if c.Rank() != 0 {
		all, err = first().decode(b)
	}
	if err := c.Agree(err); err != nil {
		return err
	}
	all.program.Comms = t.comms
	in.Program, in.Region, in.Left = &all.program, all.region, all.left
	return nil
}

// take appends the processes of another program, and the nodes that they use.
func (b *builder) take(o *builder) error {
	p := &o.program
	to := make([]simnet.NodeID, len(p.Nodes)) // 1 + node
	var stack []walkFrame
	var children []simnet.NodeID
	for _, root := range p.Roots {
		stack = append(stack[:0], walkFrame{node: uint32(root)})
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			n := p.Nodes[f.node]
			if to[f.node] != 0 {
				stack = stack[:len(stack)-1]
				continue
			}
			if n.Kind != simnet.Call && f.next < int(n.Len) {
				c := p.Children[n.First+uint32(f.next)]
				f.next++
				if to[c] == 0 {
					stack = append(stack, walkFrame{node: uint32(c)})
				}
				continue
			}
			var id simnet.NodeID
			var err error
			if n.Kind == simnet.Call {
				id, err = b.call(o.region[f.node], p.Actions[n.First:n.First+n.Len])
			} else {
				children = children[:0]
				for _, c := range p.Children[n.First : n.First+n.Len] {
					children = append(children, to[c]-1)
				}
				id, err = b.parent(simnet.Node{Kind: n.Kind, Len: n.Len, Count: n.Count}, children)
			}
			if err != nil {
				return err
			}
			to[f.node] = id + 1
			stack = stack[:len(stack)-1]
		}
		b.program.Roots = append(b.program.Roots, to[root]-1)
	}
	for i, n := range o.left {
		b.left[i] += n
	}
	return nil
}

// encode writes roots, counts and nodes with what belongs to them, as varints.
func (b *builder) encode() ([]byte, error) {
	p := &b.program
	dst := binary.AppendUvarint(nil, uint64(len(p.Roots)))
	for _, r := range p.Roots {
		dst = binary.AppendUvarint(dst, uint64(r))
	}
	dst = varint.Append(dst, b.left[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(p.Nodes)))
	for i, n := range p.Nodes {
		dst = varint.Append(dst, uint64(n.Kind), n.Count, uint64(n.Len))
		if n.Kind != simnet.Call {
			for _, c := range p.Children[n.First : n.First+n.Len] {
				dst = binary.AppendUvarint(dst, uint64(i)-uint64(c))
			}
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(b.region[i]))
		for _, a := range p.Actions[n.First : n.First+n.Len] {
			dst = append(dst, byte(a.Kind), byte(a.Flags), byte(a.Mode), byte(a.Coll))
			dst = varint.Append(dst, uint64(a.Comm), uint64(uint32(a.Peer)), uint64(a.Tag), uint64(a.Age), a.Bytes, a.Recv)
		}
	}
	return dst, nil
}

var errMessage = errors.New("a program came damaged from another rank")

// decode appends what encode wrote.
func (b *builder) decode(src []byte) (*builder, error) {
	w := varint.Read(src)
	p := &b.program
	for n := w.Next(); n > 0 && !w.Failed(); n-- {
		p.Roots = append(p.Roots, simnet.NodeID(w.Next()))
	}
	for i := range b.left {
		b.left[i] = w.Next()
	}
	var ids, children []simnet.NodeID // ids by number in the message
	var actions []simnet.Action
	for i, nodes := uint64(0), w.Next(); i < nodes && !w.Failed(); i++ {
		n := simnet.Node{Kind: simnet.NodeKind(w.Next()), Count: w.Next()}
		size := w.Next()
		if size > uint64(w.Len()) {
			return nil, errMessage
		}
		n.Len = uint32(size)
		if n.Kind > simnet.Loop || n.Kind == simnet.Loop && size != 1 {
			return nil, errMessage
		}
		var id simnet.NodeID
		var err error
		if n.Kind == simnet.Call {
			region := uint32(w.Next())
			actions = actions[:0]
			for range size {
				a := simnet.Action{Kind: simnet.ActionKind(w.Byte()), Flags: simnet.CallFlags(w.Byte()), Mode: simnet.PeerMode(w.Byte()), Coll: simnet.CollKind(w.Byte())}
				a.Comm, a.Peer, a.Tag, a.Age = uint32(w.Next()), int32(uint32(w.Next())), uint32(w.Next()), uint32(w.Next())
				a.Bytes, a.Recv = w.Next(), w.Next()
				actions = append(actions, a)
			}
			id, err = b.call(region, actions)
		} else {
			children = children[:0]
			for range size {
				back := w.Next()
				if back == 0 || back > i {
					return nil, errMessage
				}
				children = append(children, ids[i-back])
			}
			id, err = b.parent(n, children)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	for i, r := range p.Roots {
		if uint64(r) >= uint64(len(ids)) {
			return nil, errMessage
		}
		p.Roots[i] = ids[r]
	}
	if !w.Done() {
		return nil, errMessage
	}
	return b, nil
}
