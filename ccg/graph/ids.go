package graph

import "github.com/coppice-hpc/coppice/trace"

// Ids of operations in progress are stored as differences and distances. Writers count them up, so otherwise no two iterations would be
// equal.

const (
	nearPost = 15   // largest difference of a post that is hard
	nearUse  = 4095 // largest distance of another record that is hard
	nearScan = 12   // posts that are examined before the hash is used
	ringSize = 4096 // posts that are remembered
)

// postings are the latest ids that were posted in one family (MPI requests, RMA, I/O).
type postings struct {
	*latest        // nil before the first post
	n       uint64 // number of posts
	last    uint64 // the id posted last
}

// latest has the posts that are remembered.
type latest struct {
	ring [ringSize]uint64 // id of post n, at n % ringSize
	prev [ringSize]uint64 // 1 + number of the previous post with the same hash, 0 if none
	head [ringSize]uint64 // of each hash: 1 + number of the newest post
}

func (p *postings) reset() {
	p.n, p.last = 0, 0
	if p.latest != nil {
		clear(p.head[:])
	}
}

func hashID(id uint64) uint64 { return id * 0x9E3779B97F4A7C15 >> 52 }

// post records an id and returns its tuple word. If far, the id is a value.
func (p *postings) post(id uint64) (word uint64, far bool) {
	d := id - p.last
	p.Record(id)
	if d <= nearPost {
		return d << 1, false
	}
	return 1, true
}

func (p *postings) Record(id uint64) {
	if p.latest == nil {
		p.latest = new(latest)
	}
	h := hashID(id)
	p.ring[p.n%ringSize], p.prev[p.n%ringSize] = id, p.head[h]
	p.n++
	p.head[h] = p.n
	p.last = id
}

// use returns the tuple word of a record that refers to id. If far, the id is a value.
func (p *postings) use(id uint64) (word uint64, far bool) {
	if p.n == 0 {
		return 1, true
	}
	for d := range min(p.n, nearScan) { // most are recent
		if p.ring[(p.n-1-d)%ringSize] == id {
			return d << 1, false
		}
	}
	for at := p.head[hashID(id)]; at != 0 && p.n-at <= nearUse; at = p.prev[(at-1)%ringSize] {
		if p.ring[(at-1)%ringSize] == id {
			return (p.n - at) << 1, false
		}
	}
	return 1, true
}

// Posted returns the id for the word of a near post.
func (p *postings) Posted(word uint64) uint64 { return p.last + word>>1 }

// Used returns the id for the word of a near use; false if there is no such post.
func (p *postings) Used(word uint64) (uint64, bool) {
	d := word >> 1
	if d > nearUse || d >= p.n {
		return 0, false
	}
	return p.ring[(p.n-1-d)%ringSize], true
}

// History is what fields of a record may refer to: posted ids and the last values of metrics. Building and expanding maintain the same one.
type History struct {
	Families [3]postings // MPI, RMA, I/O
	Counters counters
}

// Reset prepares for another location.
func (h *History) Reset() {
	for i := range h.Families {
		h.Families[i].reset()
	}
	clear(h.Counters.last)
	h.Counters.Vals = nil
}

// Family returns the family of an id field, and whether the field posts.
func Family(p trace.Place) (f int, posts bool) {
	return int(p-trace.PostMpi) / 2, (p-trace.PostMpi)%2 == 0
}

// Identifier returns the tuple word of an id. If far, the id is a value.
func (h *History) Identifier(p trace.Place, id uint64) (word uint64, far bool) {
	if f, posts := Family(p); posts {
		return h.Families[f].post(id)
	} else {
		return h.Families[f].use(id)
	}
}

// counters have the last values of each metric of a location.
type counters struct {
	modes map[uint32][]uint8 // metric class or instance -> mode of each member
	last  map[uint32][]uint64
	ref   uint32 // metric used last
	mode  []uint8
	Vals  []uint64
}

// Modes of a metric member (OTF2 MetricMode, low nibble).
const (
	modeAccumulated = 0
	modeAbsolute    = 1
	modeUnknown     = 0xFF
)

// NewCounters returns the counters of a location's metrics.
func NewCounters(defs *trace.Definitions) counters {
	c := counters{modes: map[uint32][]uint8{}, last: map[uint32][]uint64{}}
	members := map[uint32]uint8{}
	for i := range defs.MetricMembers {
		m := &defs.MetricMembers[i]
		if _, ok := members[m.Ref]; !ok {
			members[m.Ref] = m.Mode & 0x0F
		}
	}
	for i := range defs.MetricClasses {
		k := &defs.MetricClasses[i]
		if _, ok := c.modes[k.Ref]; ok {
			continue
		}
		list := make([]uint8, len(k.Members))
		for j, ref := range k.Members {
			mode, ok := members[ref]
			if list[j] = mode; !ok {
				list[j] = modeUnknown
			}
		}
		c.modes[k.Ref] = list
	}
	for i := range defs.MetricInstances {
		m := &defs.MetricInstances[i]
		if _, ok := c.modes[m.Ref]; !ok {
			c.modes[m.Ref] = c.modes[m.Class]
		}
	}
	return c
}

// Use makes metric ref, with n values, the current one.
func (c *counters) Use(ref uint32, n int) {
	if c.Vals != nil && c.ref == ref && len(c.Vals) >= n {
		return
	}
	v := c.last[ref]
	if len(v) < n {
		v = append(v, make([]uint64, n-len(v))...)
		c.last[ref] = v
	}
	c.ref, c.mode, c.Vals = ref, c.modes[ref], v
}

// Transform returns how value i (of type t) of the current metric is stored.
func (c *counters) Transform(i int, t trace.ValueType) transform {
	mode := uint8(modeUnknown)
	if i < len(c.mode) {
		mode = c.mode[i]
	}
	switch {
	case t == trace.TypeFloat || t == trace.TypeDouble:
		return XorLast
	case mode == modeAccumulated:
		return Increment
	case t >= trace.TypeInt8 && t <= trace.TypeInt64:
		return ZigZag
	}
	return plain
}

// transform is an invertible mapping that makes values small.
type transform uint8

const (
	plain     transform = iota
	ZigZag              // two's complement
	Increment           // signed difference from the last value
	XorLast             // bits that differ from the last value: for floating point
)
