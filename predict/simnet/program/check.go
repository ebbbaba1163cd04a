package program

import (
	"errors"
	"fmt"
	"slices"
)

// ErrInvalid is wrapped by errors about programs that are damaged or cannot be simulated.
var ErrInvalid = errors.New("the program cannot be simulated")

func Errorf(format string, args ...any) error {
	return fmt.Errorf("simnet: %w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Check returns an error if a reference of the program is invalid. It takes O(size of the program), plus sorting the members of
// communicators that are not ascending.
func (p *Program) Check() error {
	const limit = 1<<31 - 1
	if len(p.Nodes) > limit || len(p.Actions) > limit || len(p.Roots) > limit || len(p.Comms) > limit {
		return Errorf("more than 2^31 nodes, actions, processes or communicators")
	}
	taken := make([]bool, len(p.Actions))
	for i := range p.Nodes {
		if err := p.checkNode(i); err != nil {
			return err
		}
		if n := &p.Nodes[i]; n.Kind == Call {
			mine := taken[n.First : n.First+n.Len]
			if slices.Contains(mine, true) {
				return Errorf("node %d shares actions with another call", i)
			}
			for k := range mine {
				mine[k] = true
			}
		}
	}
	for i, r := range p.Roots {
		if int64(r) >= int64(len(p.Nodes)) {
			return Errorf("process %d begins at node %d of %d", i, r, len(p.Nodes))
		}
	}
	for i := range p.Comms {
		if err := p.checkComm(i); err != nil {
			return err
		}
	}
	for i := range p.Peers {
		if len(p.Peers[i]) != len(p.Roots) {
			return Errorf("table %d of partners has %d entries for %d processes", i, len(p.Peers[i]), len(p.Roots))
		}
	}
	for i := range p.Actions {
		if err := p.checkAction(i); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) checkNode(i int) error {
	n := &p.Nodes[i]
	end := uint64(n.First) + uint64(n.Len)
	switch n.Kind {
	case Call:
		if end > uint64(len(p.Actions)) {
			return Errorf("node %d has actions %d to %d of %d", i, n.First, end, len(p.Actions))
		}
		for k := n.First + 1; k < n.First+n.Len; k++ {
			if p.Actions[k].Kind.Completes() < p.Actions[k-1].Kind.Completes() {
				return Errorf("node %d: action %d is a post after a completion", i, k)
			}
		}
		return nil
	case Loop:
		if n.Len != 1 || n.Count < 1 {
			return Errorf("node %d: a loop with %d children and %d iterations", i, n.Len, n.Count)
		}
	case Seq:
	default:
		return Errorf("node %d is of no known kind", i)
	}
	if end > uint64(len(p.Children)) {
		return Errorf("node %d has children %d to %d of %d", i, n.First, end, len(p.Children))
	}
	for _, c := range p.Children[n.First:end] {
		if int64(c) >= int64(i) {
			return Errorf("node %d has node %d as child", i, c)
		}
	}
	return nil
}

func (p *Program) checkComm(i int) error {
	c := &p.Comms[i]
	if c.Members == nil {
		if int64(c.Size) > int64(len(p.Roots)) {
			return Errorf("communicator %d has %d ranks, the program %d processes", i, c.Size, len(p.Roots))
		}
		return nil
	}
	if int64(c.Size) != int64(len(c.Members)) {
		return Errorf("communicator %d has %d ranks and %d members", i, c.Size, len(c.Members))
	}
	for _, m := range c.Members {
		if int64(m) >= int64(len(p.Roots)) {
			return Errorf("communicator %d has process %d of %d", i, m, len(p.Roots))
		}
	}
	order := c.order()
	for k := 1; k < len(c.Members); k++ {
		a, b := k-1, k
		if order != nil {
			a, b = int(order[a]), int(order[b])
		}
		if c.Members[a] == c.Members[b] {
			return Errorf("communicator %d has process %d twice", i, c.Members[a])
		}
	}
	return nil
}

func (p *Program) checkAction(i int) error {
	a := &p.Actions[i]
	switch {
	case a.Kind > FileIO:
		return Errorf("action %d is of no known kind", i)
	case a.Kind == FileIO:
		return nil
	case int64(a.Comm) >= int64(len(p.Comms)):
		return Errorf("action %d is on communicator %d of %d", i, a.Comm, len(p.Comms))
	case a.Kind == PostColl && (a.Coll >= NumCollKinds || a.Coll.Rooted() && (a.Peer < 0 || int64(a.Peer) >= int64(p.Comms[a.Comm].Size))):
		return Errorf("action %d is a collective operation of no known kind or with rank %d as root", i, a.Peer)
	case a.Kind == PostColl || a.Kind == WaitColl:
		return nil
	case a.Mode > PeerTable:
		return Errorf("action %d has a partner of no known mode", i)
	case a.Mode == PeerTable && (a.Peer < 0 || int(a.Peer) >= len(p.Peers)):
		return Errorf("action %d has table %d of partners of %d", i, a.Peer, len(p.Peers))
	}
	return nil
}

// Completes is 1 for completions and 0 for posts.
func (k ActionKind) Completes() int {
	switch k {
	case WaitSend, WaitRecv, ProbeRecv, WaitColl:
		return 1
	}
	return 0
}
