package simnet

import (
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// kind is what processes with the same root have in common.
type kind struct {
	root         program.NodeID
	entry        uint32   // index of a block
	sends, recvs []uint32 // ports
	colls        []uint32
	table        []portSlot // hash table with open addressing; its size is a power of two
	direct       bool       // op.index is the index of the port in this kind
	depth        uint32     // most blocks that are open at once
	calls        uint64
	events       uint64 // operations and messages, without computation and steps of collective operations
	out          []outUse
	in           []uint64 // receives posted on each port
	enters       []uint64 // collective operations on each communicator
}

// outUse is how a kind uses a port that sends.
type outUse struct {
	posts        uint64
	waited       bool   // calls complete some of the sends
	size         uint32 // of the first send
	mixed        bool   // sends differ in size
	standard     uint32 // largest size of a standard-mode send
	usesStandard bool
	sync         bool
}

// portSlot has the index of a port among those of one direction of a kind.
type portSlot struct{ port, index uint32 }

const noPort = 1<<32 - 1

// find returns the index of a port among those of the same direction. The port must be one of the kind.
func (k *kind) find(port uint32) uint32 {
	mask := uint32(len(k.table) - 1)
	i := port & mask
	for k.table[i&mask].port != port {
		i++
	}
	return k.table[i&mask].index
}

// at is find for the port of an action.
func (k *kind) at(o *op) uint32 {
	if k.direct {
		return o.index
	}
	return k.find(o.port)
}

func (c *code) compileRoots() error {
	s := &walk{c: c, times: make([]uint64, len(c.blocks)), index: slices.Repeat([]uint32{noPort}, len(c.ports))}
	s.depths()
	known := map[program.NodeID]uint32{}
	c.kindOf = make([]uint32, len(c.program.Roots))
	for q, root := range c.program.Roots {
		number, ok := known[root]
		if !ok {
			k, err := s.kind(root)
			if err != nil {
				return err
			}
			number = uint32(len(c.kinds))
			known[root] = number
			c.kinds = append(c.kinds, k)
		}
		c.kindOf[q] = number
	}
	c.direct()
	for i := range c.kinds { // a root that is a call gets a block around it
		if k := &c.kinds[i]; c.blocks[k.root].count == 0 {
			k.entry, k.depth = uint32(len(c.blocks)), 1
			c.blocks = append(c.blocks, block{first: uint32(len(c.kids)), len: 1, count: 1})
			c.kids = append(c.kids, c.blocks[k.root].first|isCall)
		}
	}
	return nil
}

// walk visits the nodes below a root, each once.
type walk struct {
	c     *code
	depth []uint32
	times []uint64 // how often each node is visited; 0 outside of method kind
	index []uint32 // index of each port in the kind; noPort outside of method kind
	nodes []program.NodeID
}

// depths computes how many blocks are open at once in and below each node.
func (s *walk) depths() {
	s.depth = make([]uint32, len(s.c.blocks))
	for i, b := range s.c.blocks {
		if b.count == 0 {
			continue
		}
		for _, k := range s.c.program.Children[b.first : b.first+b.len] {
			s.depth[i] = max(s.depth[i], s.depth[k])
		}
		s.depth[i]++
	}
}

// below lists the nodes below a root, parents before children, and how often each is visited.
func (s *walk) below(root program.NodeID) bool {
	s.nodes = append(s.nodes[:0], root)
	s.times[root] = 1
	for i := 0; i < len(s.nodes); i++ {
		b := &s.c.blocks[s.nodes[i]]
		if b.count == 0 {
			continue
		}
		for _, k := range s.c.program.Children[b.first : b.first+b.len] {
			if s.times[k] == 0 {
				s.times[k] = 1
				s.nodes = append(s.nodes, k)
			}
		}
	}
	slices.Sort(s.nodes)
	slices.Reverse(s.nodes)
	for _, n := range s.nodes[1:] {
		s.times[n] = 0
	}
	ok := true
	for _, n := range s.nodes {
		b := &s.c.blocks[n]
		if b.count == 0 {
			continue
		}
		for _, k := range s.c.program.Children[b.first : b.first+b.len] {
			var fits bool
			s.times[k], fits = mulCount(s.times[n], b.count, s.times[k])
			ok = ok && fits
		}
	}
	return ok
}

// kind describes the processes that begin at root.
func (s *walk) kind(root program.NodeID) (kind, error) {
	k := kind{root: root, entry: uint32(root), depth: s.depth[root]}
	ok := s.below(root)
	var used []uint32
	for _, n := range s.nodes {
		times := s.times[n]
		s.times[n] = 0
		if s.c.blocks[n].count > 0 {
			continue
		}
		x := &s.c.calls[s.c.blocks[n].first]
		events := uint64(x.events)
		for i := x.first; i < x.first+x.n; i++ {
			used = s.use(&k, used, i, times)
			events += s.c.ops[i].kind.Events()
		}
		var fits bool
		k.calls, fits = mulCount(times, 1, k.calls)
		ok = ok && fits
		k.events, fits = mulCount(times, events, k.events)
		ok = ok && fits
	}
	if k.depth >= 1<<16 {
		return k, program.Errorf("more than 65535 loops and sequences in each other")
	}
	if !ok {
		return k, program.Errorf("a process makes more than 2^62 calls")
	}
	size := 1
	for size < len(used)*3/2 {
		size *= 2
	}
	k.table = slices.Repeat([]portSlot{{port: noPort}}, size)
	for _, p := range used {
		i := int(p) & (size - 1)
		for k.table[i].port != noPort {
			i = (i + 1) & (size - 1)
		}
		k.table[i] = portSlot{p, s.index[p]}
		s.index[p] = noPort
	}
	return k, nil
}

func (s *walk) use(k *kind, used []uint32, action uint32, times uint64) []uint32 {
	o := &s.c.ops[action]
	if o.kind == program.FileIO {
		return used
	}
	i := s.index[o.port]
	if i == noPort {
		used = append(used, o.port)
		switch s.c.ports[o.port].dir {
		case outward:
			i = uint32(len(k.sends))
			k.sends = append(k.sends, o.port)
			k.out = append(k.out, outUse{size: o.size})
		case inward:
			i = uint32(len(k.recvs))
			k.recvs = append(k.recvs, o.port)
			k.in = append(k.in, 0)
		case together:
			i = uint32(len(k.colls))
			k.colls = append(k.colls, o.port)
			k.enters = append(k.enters, 0)
		}
		s.index[o.port] = i
	}
	switch o.kind {
	case program.PostSend, program.PostSync, program.PostBuffered:
		k.out[i].add(s.c, o, times)
	case program.WaitSend:
		k.out[i].waited = true
	case program.PostRecv:
		k.in[i] += times
	case program.PostColl:
		k.enters[i] += times
	}
	return used
}

func (u *outUse) add(c *code, o *op, times uint64) {
	if u.posts == 0 {
		u.size = o.size
	}
	u.posts += times
	u.mixed = u.mixed || u.size != o.size
	switch o.kind {
	case program.PostSend:
		if !u.usesStandard || c.costs.Size(o.size) > c.costs.Size(u.standard) {
			u.standard = o.size
		}
		u.usesStandard = true
	case program.PostSync:
		u.sync = true
	}
}

// direct stores in each action the index of its port in the first kind that has it, and marks the kinds with that index.
func (c *code) direct() {
	index := slices.Repeat([]uint32{noPort}, len(c.ports))
	for i := range c.kinds {
		k := &c.kinds[i]
		k.direct = true
		for _, list := range [][]uint32{k.sends, k.recvs, k.colls} {
			for n, port := range list {
				if index[port] == noPort {
					index[port] = uint32(n)
				}
				k.direct = k.direct && index[port] == uint32(n)
			}
		}
	}
	for i := range c.ops {
		if o := &c.ops[i]; o.kind != program.FileIO {
			o.index = index[o.port]
		}
	}
}
