package simnet

// chainName is what a channel is known by: communicator, source, destination, tag. Those of the steps of collective
// operations have the highest bit of the communicator set.
type chainName [4]uint32

const collectiveName = 1 << 31

// linkChains finds the channels of all processes. It costs O(ports of all processes).
func (r *eventRun) linkChains() error {
	r.chains, r.origins = make([]chain, 1), make([]origin, 1)
	r.names.names = make([]chainName, 1)
	counts := make([][2]uint64, 1) // sends and receives on each chain
	for q := range r.procs {
		p := &r.procs[q]
		k := &r.code.kinds[p.kind]
		for i, port := range k.recvs {
			id, err := r.nameChain(port, uint32(q), true)
			if err != nil {
				return err
			}
			r.recvChains[p.recvBase+uint32(i)] = id
			if id == 0 {
				continue
			}
			if int(id) == len(counts) {
				counts = append(counts, [2]uint64{})
			}
			counts[id][1] += k.in[i]
		}
	}
	for q := range r.procs {
		p := &r.procs[q]
		k := &r.code.kinds[p.kind]
		for i, port := range k.sends {
			id, err := r.nameChain(port, uint32(q), false)
			if err != nil {
				return err
			}
			r.sendChains[p.sendBase+uint32(i)] = id
			if id == 0 {
				continue
			}
			if int(id) == len(counts) {
				counts = append(counts, [2]uint64{})
			}
			counts[id][0] += k.out[i].posts
			r.chains[id].unwaited = r.chains[id].unwaited && !k.out[i].waited
		}
	}
	r.limitChains(counts)
	return nil
}

// nameChain returns the channel of a port of a process, 0 for the partner of nobody.
func (r *eventRun) nameChain(port, process uint32, recv bool) (uint32, error) {
	at := &r.code.ports[port]
	peer, ok, err := r.code.partner(at, process)
	if err != nil || !ok {
		return 0, err
	}
	name := chainName{at.comm, process, peer, at.tag}
	if recv {
		name[1], name[2] = peer, process
	}
	return r.chainOf(name, port)
}

// chainOf returns the channel of a name.
func (r *eventRun) chainOf(name chainName, port uint32) (uint32, error) {
	id, ok := r.names.find(name)
	if ok {
		return id, nil
	}
	if id >= 1<<31 {
		return 0, programError("more than 2^31 channels")
	}
	n := r.code.network
	o := origin{src: name[1], lat: n.Latency(name[1], name[2]), port: port}
	if o.lat < 0 || o.lat > largest {
		return 0, programError("the latency from process %d to %d is longer than 13 days", o.src, name[2])
	}
	r.chains = append(r.chains, chain{dst: name[2], class: n.Class(o.src, name[2]), unwaited: true})
	r.origins = append(r.origins, o)
	return id, nil
}

// chainNames is a hash table of names with open addressing. Numbers are those of the chains.
type chainNames struct {
	names []chainName
	slots []chainSlot // a power of two, at most half full
}

type chainSlot struct{ hash, id uint32 }

// find returns the number of a name, which it gets if it has none; ok tells that it had.
func (t *chainNames) find(name chainName) (id uint32, ok bool) {
	if 2*len(t.names) >= len(t.slots) {
		t.grow()
	}
	h := name.hash()
	mask := uint32(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		switch {
		case s.id == 0:
			*s = chainSlot{h, uint32(len(t.names))}
			t.names = append(t.names, name)
			return s.id, false
		case s.hash == h && t.names[s.id] == name:
			return s.id, true
		}
	}
}

func (t *chainNames) grow() {
	old := t.slots
	t.slots = make([]chainSlot, max(2*len(old), 64))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := s.hash & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// hash mixes by multiplication; each step lets all bits reach the high ones, of which some come back.
func (n chainName) hash() uint32 {
	const odd = 0x9E3779B97F4A7C15
	h := (uint64(n[0])<<32 | uint64(n[1])) * odd
	h = (h ^ h>>29 ^ uint64(n[2])<<32 ^ uint64(n[3])) * odd
	h = (h ^ h>>32) * odd
	return uint32(h >> 32)
}

// limitChains takes what has no partner out: ports whose other end never posts, and posts beyond those of the other end.
func (r *eventRun) limitChains(counts [][2]uint64) {
	for id, n := range counts {
		few, many := min(n[0], n[1]), max(n[0], n[1])
		r.unmatched += many - few
		if few != many && few > 0 {
			r.chains[id].limited = true
			r.origins[id].limit.limit = few
		}
	}
	for _, ends := range [2][]uint32{r.sendChains, r.recvChains} {
		for i, id := range ends {
			if n := counts[id]; min(n[0], n[1]) == 0 {
				ends[i] = 0
			}
		}
	}
}
