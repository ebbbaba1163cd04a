package program

import "slices"

// Ranks finds ranks of processes in communicators, and partners of actions. Memory: 4 bytes for each member of communicators whose members
// are not ascending.
type Ranks struct {
	program *Program
	order   [][]uint32 // of each communicator
}

// NewRanks prepares a program that has passed Check.
func NewRanks(p *Program) Ranks {
	r := Ranks{p, make([][]uint32, len(p.Comms))}
	for i := range p.Comms {
		r.order[i] = p.Comms[i].order()
	}
	return r
}

// Rank returns the rank of a process in a communicator; false if it is not a member.
func (t *Ranks) Rank(comm, process uint32) (uint32, bool) {
	m, order := &t.program.Comms[comm], t.order[comm]
	switch {
	case m.Members == nil:
		return process, process < m.Size
	case order == nil:
		i, ok := slices.BinarySearch(m.Members, process)
		return uint32(i), ok
	}
	i, ok := slices.BinarySearchFunc(order, process, func(r, process uint32) int {
		return int(int64(m.Members[r]) - int64(process))
	})
	if !ok {
		return 0, false
	}
	return order[i], true
}

// Partner returns the process that is the partner of an action of a process; ok is false if there is none.
func (t *Ranks) Partner(process, comm uint32, mode PeerMode, peer int32) (partner uint32, ok bool, err error) {
	m := &t.program.Comms[comm]
	own, member := t.Rank(comm, process)
	if !member {
		return 0, false, Errorf("process %d communicates in communicator %d, which it is not a member of", process, comm)
	}
	r := int64(peer)
	switch mode {
	case PeerRelative:
		r = (int64(own) + r) % int64(m.Size)
		if r < 0 {
			r += int64(m.Size)
		}
	case PeerXor:
		r = int64(own ^ uint32(peer))
	case PeerTable:
		r = int64(t.program.Peers[peer][process])
		if r == NoPeer {
			return 0, false, nil
		}
	}
	if r < 0 || r >= int64(m.Size) {
		return 0, false, Errorf("process %d communicates with rank %d of %d of communicator %d", process, r, m.Size, comm)
	}
	return m.Process(uint32(r)), true, nil
}

// order returns the ranks sorted by process; nil if they are already.
func (c *Comm) order() []uint32 {
	if c.Members == nil || slices.IsSorted(c.Members) {
		return nil
	}
	order := make([]uint32, len(c.Members))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return int(int64(c.Members[a]) - int64(c.Members[b])) })
	return order
}
