package workload

import (
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// builder puts a program together from below.
type builder struct{ p program.Program }

func (b *builder) node(kind program.NodeKind, first, n int, count uint64) program.NodeID {
	b.p.Nodes = append(b.p.Nodes, program.Node{Kind: kind, First: uint32(first), Len: uint32(n), Count: count})
	return program.NodeID(len(b.p.Nodes) - 1)
}

func (b *builder) call(actions ...program.Action) program.NodeID {
	first := len(b.p.Actions)
	b.p.Actions = append(b.p.Actions, actions...)
	return b.node(program.Call, first, len(actions), 0)
}

func (b *builder) seq(children ...program.NodeID) program.NodeID {
	first := len(b.p.Children)
	b.p.Children = append(b.p.Children, children...)
	return b.node(program.Seq, first, len(children), 0)
}

func (b *builder) loop(count uint64, child program.NodeID) program.NodeID {
	first := len(b.p.Children)
	b.p.Children = append(b.p.Children, child)
	return b.node(program.Loop, first, 1, count)
}

// table adds a table of partners and returns an action's peer and mode for it.
func (b *builder) table(peers []int32) partner {
	b.p.Peers = append(b.p.Peers, peers)
	return partner{program.PeerTable, int32(len(b.p.Peers) - 1)}
}

// partner is the other end of a message.
type partner struct {
	mode program.PeerMode
	peer int32
}

func (o partner) action(kind program.ActionKind, flags program.CallFlags, tag uint32, bytes uint64) program.Action {
	return program.Action{Kind: kind, Flags: flags, Mode: o.mode, Peer: o.peer, Tag: tag, Bytes: bytes}
}

// send and recv are the actions of MPI_Send and MPI_Recv.
func (o partner) send(tag uint32, bytes uint64) []program.Action {
	return []program.Action{
		o.action(program.PostSend, program.Blocking, tag, bytes), o.action(program.WaitSend, 0, tag, bytes),
	}
}

func (o partner) recv(tag uint32, bytes uint64) []program.Action {
	return []program.Action{
		o.action(program.PostRecv, program.Blocking, tag, bytes), o.action(program.WaitRecv, 0, tag, bytes),
	}
}

// absolute returns an action of a process with an absolute partner, which all communicators must allow: they are the identity.
func absolute(p *program.Program, a program.Action, process int32) program.Action {
	size := int32(len(p.Roots))
	switch {
	case a.Kind == program.PostColl || a.Kind == program.WaitColl || a.Kind == program.FileIO:
		return a
	case a.Mode == program.PeerRelative:
		a.Peer = ((process+a.Peer)%size + size) % size
	case a.Mode == program.PeerXor:
		a.Peer ^= process
	case a.Mode == program.PeerTable:
		a.Peer = p.Peers[a.Peer][process]
	}
	a.Mode = program.PeerAbsolute
	return a
}

// Walk calls f with the actions of every call of a process in order, their partners absolute. The slice is valid until the next call.
func Walk(p *program.Program, process int, f func(actions []program.Action)) {
	type level struct {
		node program.NodeID
		at   uint64
	}
	stack := []level{{node: p.Roots[process]}}
	var actions []program.Action
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		n := &p.Nodes[top.node]
		end := uint64(n.Len)
		child := uint64(n.First) + top.at
		switch n.Kind {
		case program.Call:
			actions = actions[:0]
			for _, a := range p.Actions[n.First : n.First+n.Len] {
				actions = append(actions, absolute(p, a, int32(process)))
			}
			f(actions)
			stack = stack[:len(stack)-1]
			continue
		case program.Loop:
			end, child = n.Count, uint64(n.First)
		}
		if top.at == end {
			stack = stack[:len(stack)-1]
			continue
		}
		top.at++
		stack = append(stack, level{node: p.Children[child]})
	}
}
