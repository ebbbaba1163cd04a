package simnet

import (
	"cmp"
	"slices"
)

// The policies DMA and Copy: a process has a clock, as in the dataflow engine. Where interfaces are shared it stops before
// each post until the time of its clock has come, so that they are taken in the order of time.

// interfaces are from when network interfaces are free: those of each process for what stays in its node, and behind
// them those of the nodes.
type interfaces struct {
	tx, tb, rx []int64
	of         []uint32 // the interface of each process to other nodes
	links      []int64  // from when each link of the topology is free
	route      []uint32
}

func (f *interfaces) init(p *Program, n *Network) error {
	total := len(p.Roots)
	f.of = make([]uint32, total)
	for i := range f.of {
		f.of[i] = uint32(i)
	}
	if n.Contention != NoContention {
		total = f.deal(n)
	}
	if n.Contention == LinkContention && n.Topology != nil {
		if err := f.reaches(n); err != nil {
			return err
		}
		f.links = make([]int64, n.Topology.Links())
	}
	f.tx, f.tb, f.rx = make([]int64, total), make([]int64, total), make([]int64, total)
	return nil
}

// deal gives the interfaces of each node to its processes in turns, and returns how many there are with those of the
// processes.
func (f *interfaces) deal(n *Network) int {
	members := map[uint32]uint32{}
	taken := map[[2]uint32]uint32{} // by node and number
	for i := range f.of {
		node := n.NodeOf(uint32(i))
		key := [2]uint32{node, members[node] % max(n.NICs, 1)}
		members[node]++
		id, ok := taken[key]
		if !ok {
			id = uint32(len(f.of) + len(taken))
			taken[key] = id
		}
		f.of[i] = id
	}
	return len(f.of) + len(taken)
}

// reaches reports whether all nodes have a place in the topology.
func (f *interfaces) reaches(n *Network) error {
	places, ok := n.Topology.(interface{ Nodes() uint64 })
	if !ok {
		return nil
	}
	for i := range f.of {
		if node := n.NodeOf(uint32(i)); uint64(node) >= places.Nodes() {
			return programError("process %d is on node %d of a topology with %d places", i, node, places.Nodes())
		}
	}
	return nil
}

// interfaceOf returns the interface of a process for messages of a class.
func (r *eventRun) interfaceOf(process uint32, class LinkClass) uint32 {
	if class == LinkNet {
		return r.nics.of[process]
	}
	return process
}

// transmitNow sends a message at the clock of its process.
func (r *eventRun) transmitNow(p *eventProc, id, m uint32) {
	x := &r.messages[m]
	c, k := &r.chains[x.chain], &r.costs[x.cost]
	f := r.interfaceOf(id, c.class)
	tx := &r.nics.tx[f]
	s := max(p.cpu, *tx)
	p.cpu += k.send
	x.free = s + k.send
	x.time += x.free
	r.clock |= x.time | p.cpu
	if x.flags&isRendezvous != 0 {
		*tx = s + k.gap
		if !r.shared {
			x.busy = max(r.nics.tb[f], *tx)
			r.nics.tb[f] = x.busy + k.busy
			r.clock |= r.nics.tb[f]
		}
		r.requested(m)
		return
	}
	*tx = s + k.busy
	r.clock |= *tx
	x.busy = 0
	r.isOver(m, id)
	switch {
	case !r.shared:
		r.hasCome(m)
	case r.overLinks(m):
		r.at(x.free, enterEvent, m)
	default:
		r.at(x.time, arriveEvent, m)
	}
}

// overLinks tells whether a message takes links of the topology that others use too.
func (r *eventRun) overLinks(m uint32) bool {
	return r.nics.links != nil && r.chains[r.messages[m].chain].class == LinkNet
}

// enterLinks lets a message go when all links of its way are free, and keeps them for its bytes.
func (r *eventRun) enterLinks(m uint32) {
	x := &r.messages[m]
	n := r.code.network
	r.nics.route = n.Topology.Route(r.nics.route[:0], n.NodeOf(r.origins[x.chain].src), n.NodeOf(x.dst))
	start := r.now
	for _, l := range r.nics.route {
		start = max(start, r.nics.links[l])
	}
	until := addTime(start, n.LinkRate.Of(max(r.bytesOf(x), 1)))
	if until > Never/2 {
		r.fail(programError("a message of %d bytes takes a link for too long", r.bytesOf(x)))
		return
	}
	for _, l := range r.nics.route {
		r.nics.links[l] = until
	}
	x.time += start - r.now
	r.at(x.time, arriveEvent, m)
}

// bytesOf returns the size of a message.
func (r *eventRun) bytesOf(x *message) uint64 {
	i := int(x.cost / uint32(NumLinkClasses))
	if i < len(r.code.sizes) {
		return r.code.sizes[i]
	}
	return r.bytes[i-len(r.code.sizes)]
}

// arrive takes the network interface of the destination for a message.
func (r *eventRun) arrive(m uint32) {
	x := &r.messages[m]
	c, k := &r.chains[x.chain], &r.costs[x.cost]
	rx := &r.nics.rx[r.interfaceOf(x.dst, c.class)]
	x.time = max(x.time, *rx)
	*rx = x.time + k.busy
	r.clock |= *rx
	r.hasCome(m)
}

// answer takes the network interface of the source for the data of a rendezvous.
func (r *eventRun) answer(m uint32) {
	x := &r.messages[m]
	c, k := &r.chains[x.chain], &r.costs[x.cost]
	tb := &r.nics.tb[r.interfaceOf(r.origins[x.chain].src, c.class)]
	d := max(r.now, *tb)
	*tb = d + k.busy
	r.startAt(m, d)
}

// receive takes what a process has waited for: messages in the order in which they arrive, then sends.
func (r *eventRun) receive(p *eventProc) {
	r.order = r.order[:0]
	for m := p.waitRecvs; m != 0; m = r.messages[m].link {
		if r.messages[m].flags&isNull == 0 {
			r.order = append(r.order, m)
		}
	}
	if len(r.order) > 1 {
		slices.SortFunc(r.order, r.earlier)
	}
	for _, m := range r.order {
		r.takeReceive(p, &r.messages[m])
	}
	for m := p.waitSends; m != 0; m = r.messages[m].nextSend {
		x := &r.messages[m]
		if x.flags&isNull != 0 {
			continue
		}
		p.cpu = max(p.cpu, x.free)
		if x.busy != 0 {
			tx := &r.nics.tx[r.interfaceOf(r.origins[x.chain].src, r.chains[x.chain].class)]
			*tx = max(*tx, x.busy)
		}
	}
	p.cpu = max(p.cpu, p.until)
}

func (r *eventRun) takeReceive(p *eventProc, x *message) {
	k := &r.costs[x.cost]
	a := x.time
	if !r.shared {
		rx := &r.nics.rx[x.dst]
		a = max(a, *rx)
		*rx = a + k.busy
		r.clock |= *rx
	}
	if r.code.network.Policy == DMA {
		p.cpu = max(p.cpu, a+k.wire) + k.recv
	} else {
		p.cpu = max(p.cpu, a) + k.recv
		r.clock |= p.cpu
		p.cpu += k.wire
	}
	r.clock |= p.cpu
}

// earlier orders messages by arrival, and then by communicator, source, tag and number.
func (r *eventRun) earlier(a, b uint32) int {
	x, y := &r.messages[a], &r.messages[b]
	if x.time != y.time {
		return cmp.Compare(x.time, y.time)
	}
	if x.chain == y.chain {
		return int(int32(x.seq - y.seq))
	}
	c, d := &r.origins[x.chain], &r.origins[y.chain]
	i, j := &r.code.ports[c.port], &r.code.ports[d.port]
	return cmp.Or(cmp.Compare(i.comm, j.comm), cmp.Compare(c.src, d.src), cmp.Compare(i.tag, j.tag))
}
