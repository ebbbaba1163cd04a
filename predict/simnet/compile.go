package simnet

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// code is a program for a network in the form that the engines run. It is read-only, and all workers share it.
type code struct {
	program *program.Program
	network *network.Network
	ranks   program.Ranks
	blocks  []block  // children of blocks: blocks, or calls marked with isCall
	kids    []uint32 // children: nodes, or calls marked with isCall
	calls   []call
	ops     []op // of each action
	ports   []port
	most    int // most completions of a call
	costs   network.Costs
	files   []int64 // times of file operations
	colls   []collOp
	limits  []uint64 // of each communicator: number of collective operations that all members enter
	kinds   []kind
	kindOf  []uint32 // of each process
}

// block is a node: its children, count times. A call has count 0, and its index in first.
type block struct {
	first, len uint32
	count      uint64
}

// category is what the time of a call is counted as.
type category uint8

const (
	inNothing category = iota
	inSend
	inReceive
	inWait
	inCollective
	inFile
)

func (t *ProcessTimes) add(c category, d int64) {
	switch c {
	case inSend:
		t.Send += d
	case inReceive:
		t.Receive += d
	case inCollective:
		t.Collective += d
	case inFile:
		t.File += d
	default:
		t.Wait += d
	}
}

// call is a call node: ops [first, first+posts) are posts, those up to first+n completions.
type call struct {
	first, n, posts uint32
	cat             category
	form            callForm
	ordinary        bool  // completes receives and sends only
	events          uint8 // 1 if completing counts as an operation
}

// callForm is a common form of a call, which has a fast path.
type callForm uint8

const (
	anyCall  callForm = iota
	onlySend          // MPI_Isend
	onlyRecv          // MPI_Irecv
	sendNow           // MPI_Send
	recvNow           // MPI_Recv
)

// isCall marks a call in code.kids.
const isCall = 1 << 31

// op is an action. off is, for a completion, the number of its post after the oldest open one, provided that earlier calls completed the
// oldest ones only.
type op struct {
	kind program.ActionKind
	port uint32
	size uint32 // of a send: index of the first of NumLinkClasses costs; else an index into colls or files
	off  uint32
	age  uint32
	// index is the port's index in all kinds with direct set.
	index uint32
}

// direction says which end of a channel a port is.
type direction uint8

const (
	outward direction = iota
	inward
	together // of a communicator, for collective operations
)

// port is a distinct partner, tag and communicator of actions. Processes with the same program have the same ports, with different
// partners.
type port struct {
	dir  direction
	mode program.PeerMode
	comm uint32
	peer int32
	tag  uint32
}

// compile prepares a program that has passed Check.
func compile(p *program.Program, n *network.Network) (*code, error) {
	c := &code{program: p, network: n}
	err := n.Check(len(p.Roots))
	if err != nil {
		return nil, err
	}
	c.ranks = program.NewRanks(p)
	if err := c.compileActions(); err != nil {
		return nil, err
	}
	c.compileNodes()
	if err := c.compileRoots(); err != nil {
		return nil, err
	}
	c.limits, err = c.collLimits()
	return c, err
}

func (c *code) compileActions() error {
	p := c.program
	c.ops = make([]op, len(p.Actions))
	ports := map[port]uint32{}
	c.costs = network.NewCosts(c.network)
	for i := range p.Actions {
		a := &p.Actions[i]
		o := op{kind: a.Kind, age: a.Age}
		at := port{mode: a.Mode, comm: a.Comm, peer: a.Peer, tag: a.Tag}
		switch a.Kind {
		case program.PostRecv, program.WaitRecv, program.ProbeRecv:
			at.dir = inward
		case program.PostColl, program.WaitColl:
			at = port{dir: together, comm: a.Comm}
		}
		if a.Kind != program.FileIO {
			id, ok := ports[at]
			if !ok {
				id = uint32(len(c.ports))
				ports[at] = id
				c.ports = append(c.ports, at)
			}
			o.port = id
		}
		switch a.Kind {
		case program.PostColl:
			o.size = uint32(len(c.colls))
			c.colls = append(c.colls, c.compileColl(a))
		case program.PostSend, program.PostSync, program.PostBuffered:
			var err error
			if o.size = network.Free; a.Flags&program.Free == 0 {
				o.size, err = c.costs.At(a.Bytes)
			}
			if err != nil {
				return err
			}
		}
		if a.Kind == program.FileIO {
			o.size = uint32(len(c.files))
			t := c.network.FileTime(a.Bytes, uint64(len(p.Roots)))
			if t > network.Longest {
				return program.Errorf("a file operation of %d bytes takes longer than 13 days", a.Bytes)
			}
			c.files = append(c.files, t)
		}
		c.ops[i] = o
	}
	return nil
}

// compileNodes makes blocks and calls. A loop takes over the children of its sequence. A node without calls becomes an empty block.
func (c *code) compileNodes() {
	p := c.program
	c.blocks = make([]block, len(p.Nodes))
	seen := &offsets{last: make([]uint32, len(c.ports)), first: make([]uint32, len(c.ports))}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		switch n.Kind {
		case program.Call:
			c.blocks[i] = block{first: uint32(len(c.calls))}
			c.calls = append(c.calls, c.compileCall(n, seen))
		case program.Seq:
			c.blocks[i] = block{first: n.First, len: n.Len, count: 1}
		case program.Loop:
			child := p.Children[n.First]
			c.blocks[i] = block{first: n.First, len: 1, count: n.Count}
			if p.Nodes[child].Kind == program.Seq {
				c.blocks[i].first, c.blocks[i].len = c.blocks[child].first, c.blocks[child].len
			}
		}
		if b := &c.blocks[i]; b.count > 0 {
			kids := p.Children[b.first : b.first+b.len]
			if !slices.ContainsFunc(kids, func(k program.NodeID) bool { return c.blocks[k].count == 0 || c.blocks[k].len > 0 }) {
				b.len = 0
			}
		}
	}
	c.kids = make([]uint32, len(p.Children))
	for i, k := range p.Children {
		if c.kids[i] = uint32(k); c.blocks[k].count == 0 {
			c.kids[i] = c.blocks[k].first | isCall
		}
	}
}

func (c *code) compileCall(n *program.Node, seen *offsets) call {
	x := call{first: n.First, n: n.Len}
	ops := c.ops[n.First : n.First+n.Len]
	var posts, receives, waits, colls, files bool
	seen.call, seen.taken = seen.call+1, nil
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case program.PostRecv:
			posts, receives = true, true
		case program.PostSend, program.PostSync, program.PostBuffered:
			posts = true
		case program.PostColl, program.WaitColl:
			colls = true
		case program.FileIO:
			files = true
		default:
			waits = true
		}
		if o.kind.Completes() == 0 {
			x.posts++
		} else {
			o.off = o.age
			if o.kind != program.ProbeRecv {
				o.off = seen.take(o.port, o.age)
			}
		}
	}
	switch {
	case colls:
		x.cat = inCollective
	case files:
		x.cat = inFile
	case posts && c.program.Actions[n.First].Flags&program.Free != 0:
		x.cat = inWait
	case receives:
		x.cat = inReceive
	case posts:
		x.cat = inSend
	case waits:
		x.cat = inWait
	}
	if !posts && waits {
		x.events = 1
	}
	x.ordinary = !slices.ContainsFunc(ops[x.posts:], func(o op) bool { return o.kind != program.WaitSend && o.kind != program.WaitRecv })
	c.most = max(c.most, int(x.n-x.posts))
	x.form = formOf(ops)
	if n.Len == 2 && ops[0].kind == program.PostColl && ops[1].kind == program.WaitColl && ops[0].port == ops[1].port && c.program.Actions[n.First].Flags&program.Free == 0 && !c.network.ModelCollectives {
		c.colls[ops[0].size].steps = true
		x.n = 1
	}
	return x
}

// formOf returns the form of a call.
func formOf(ops []op) callForm {
	if len(ops) == 0 {
		return anyCall
	}
	last := &ops[len(ops)-1]
	ended := len(ops) == 2 && ops[0].port == last.port && last.age == 0
	switch ops[0].kind {
	case program.PostRecv:
		if len(ops) == 1 {
			return onlyRecv
		}
		if ended && last.kind == program.WaitRecv {
			return recvNow
		}
	case program.PostSend, program.PostBuffered:
		if len(ops) == 1 {
			return onlySend
		}
		if ended && last.kind == program.WaitSend {
			return sendNow
		}
	}
	return anyCall
}

// offsets computes op.off for the completions of a call.
type offsets struct {
	call  uint32
	last  []uint32 // of each port: the call that first belongs to
	first []uint32 // of each port: first open offset
	taken map[uint32][]uint32
}

// take closes the open post of an age and returns its offset.
func (s *offsets) take(port, age uint32) uint32 {
	if s.last[port] != s.call {
		s.last[port], s.first[port] = s.call, 0
	}
	if age == 0 && s.taken[port] == nil {
		s.first[port]++
		return s.first[port] - 1
	}
	k := openAt(s.first[port], s.taken[port], age)
	if s.taken == nil {
		s.taken = map[uint32][]uint32{}
	}
	s.first[port], s.taken[port] = closeAt(s.first[port], s.taken[port], k)
	return k
}

// openAt returns the number of the open post with age open posts from first up to it. Posts in closed (ascending) are not open. Numbers
// wrap around.
func openAt(first uint32, closed []uint32, age uint32) uint32 {
	k := first + age
	for _, x := range closed {
		if int32(x-k) > 0 {
			break
		}
		k++
	}
	return k
}

// closeAt closes post k. It returns the first open one, and the closed ones after it.
func closeAt(first uint32, closed []uint32, k uint32) (uint32, []uint32) {
	i, _ := slices.BinarySearchFunc(closed, k, func(x, k uint32) int { return int(int32(x - k)) })
	closed = slices.Insert(closed, i, k)
	n := 0
	for n < len(closed) && closed[n] == first {
		first++
		n++
	}
	closed = slices.Delete(closed, 0, n)
	if len(closed) == 0 {
		closed = nil
	}
	return first, closed
}

// collOp is a PostColl action.
type collOp struct {
	comm       uint32
	kind       program.CollKind
	alg        network.Scheme
	root       uint32 // rank of the root
	bytes, got uint64
	steps      bool  // by steps instead of the closed form
	time       int64 // closed form in ps; Never if it does not fit
	over       int64 // ps that a process is busy that does not wait for others
}

// compileColl prepares a collective operation.
func (c *code) compileColl(a *program.Action) collOp {
	m := &c.program.Comms[a.Comm]
	x := collOp{comm: a.Comm, kind: a.Coll, root: uint32(a.Peer), bytes: a.Bytes, got: a.Recv, alg: c.network.Collectives.Pick(a, m.Size)}
	if a.Flags&program.Free == 0 {
		x.time, x.over = c.network.Closed(x.alg, m, max(a.Bytes, a.Recv), a.Bytes)
	}
	return x
}

// collLimits returns, for each communicator, the number of collective operations that all of its members enter. Later ones do not have
// partners.
func (c *code) collLimits() ([]uint64, error) {
	limits := make([]uint64, len(c.program.Comms))
	members := make([]uint32, len(c.program.Comms))
	for q := range c.program.Roots {
		k := c.kind(uint32(q))
		for i, port := range k.colls {
			comm := c.ports[port].comm
			if _, ok := c.ranks.Rank(comm, uint32(q)); !ok {
				return nil, program.Errorf("process %d communicates in communicator %d, which it is not a member of", q, comm)
			}
			if members[comm] == 0 || k.enters[i] < limits[comm] {
				limits[comm] = k.enters[i]
			}
			members[comm]++
		}
	}
	for i := range limits {
		if members[i] < c.program.Comms[i].Size {
			limits[i] = 0
		}
	}
	return limits, nil
}

// plan returns the schedule of a process in a collective operation.
func (c *code) plan(x *collOp, process uint32) (network.Schedule, *program.Comm) {
	m := &c.program.Comms[x.comm]
	rank, _ := c.ranks.Rank(x.comm, process)
	return network.NewSchedule(x.alg, m.Size, rank, x.root, x.bytes, x.got), m
}

// mulCount returns a*b + plus, and whether that is below 2^62.
func mulCount(a, b, plus uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b)
	s, carry := bits.Add64(lo, plus, 0)
	return s, hi == 0 && carry == 0 && s < 1<<62
}
