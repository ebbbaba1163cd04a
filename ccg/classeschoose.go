package ccg

import "math/bits"

// ClassModes says for each node of a shared graph whether it has a class table.
type ClassModes struct {
	table []bool // by node id
}

// classMargin is how many bits the classes of a node have to be rarer than its
// instances: 16 instances for each row of a table.
const classMargin = 4 << logBits

// unbounded is an entropy above all others.
const unbounded = 1 << 40

// Choose picks the nodes that get class tables: those below which the gaps have
// an entropy H of at most log2(N) - 4 bits per instance, of N instances in all
// locations, so that there is a row for about 16 instances or more. Slots are
// taken as independent, so 2^H is what the rows would be at most, typically. A
// node with a child in column mode is in column mode, and so is a Repeat of more
// than Fan iterations that could differ.
func (c *GapCounts) Choose() ClassModes {
	s := c.shared.graph.nodes
	own := c.entropies()
	total := make([]uint64, s.len()+1) // by node, bits per instance
	m := ClassModes{make([]bool, s.len()+1)}
	for id := uint32(1); int(id) <= s.len(); id++ {
		if s.kind(id) == kindEvent {
			continue
		}
		h, ok := uint64(0), true
		for i := c.first[id]; i < c.first[id+1]; i++ {
			h = min(h+own[i], unbounded)
		}
		for _, child := range s.children(id) {
			h = min(h+total[child], unbounded)
			ok = ok && (m.table[child] || s.kind(child) == kindEvent)
		}
		if s.kind(id) == kindRepeat {
			if n := s.count(id); n > uint64(c.shared.opt.Fan) && h > 0 {
				ok = false
			} else if h > 0 {
				h = min(h*n, unbounded)
			}
		}
		total[id] = h
		m.table[id] = ok && h+classMargin <= log2Fixed(c.instances[id])
	}
	return m
}

// entropies returns the entropy of each slot: bits per value, logBits of them
// fractional; unbounded where there were too many values.
func (c *GapCounts) entropies() []uint64 {
	h := make([]uint64, len(c.slots))
	sum := make([]uint64, len(c.slots)) // of counts
	for _, v := range c.values {
		sum[v.slot] += v.count
	}
	hi, lo := make([]uint64, len(c.slots)), make([]uint64, len(c.slots))
	for _, v := range c.values { // sum count * log2(sum/count)
		x, y := bits.Mul64(v.count, log2Fixed(sum[v.slot])-log2Fixed(v.count))
		var carry uint64
		lo[v.slot], carry = bits.Add64(lo[v.slot], y, 0)
		hi[v.slot] += x + carry
	}
	for i, s := range c.slots {
		switch {
		case s.distinct > c.limit || hi[i] != 0 && hi[i] >= sum[i]:
			h[i] = unbounded
		case sum[i] > 0:
			h[i], _ = bits.Div64(hi[i], lo[i], sum[i])
			if s.distinct > 1 {
				h[i] = max(h[i], 1) // not one value
			}
		}
	}
	return h
}
