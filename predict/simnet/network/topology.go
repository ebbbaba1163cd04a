package network

import (
	"fmt"
	"math/bits"
)

// maxLinks is the limit on the links of a topology.
const maxLinks = 1 << 30

// product returns the product of factors; ok is false if it is above limit.
func product(limit uint64, factors ...uint32) (p uint64, ok bool) {
	p = 1
	for _, f := range factors {
		hi, lo := bits.Mul64(p, uint64(f))
		if hi != 0 || lo > limit {
			return 0, false
		}
		p = lo
	}
	return p, true
}

// TorusNet is a torus of any number of dimensions. Node numbers vary fastest in the first dimension. A message goes along one dimension
// after the other, the shorter way around; if both are equally long, upward.
type TorusNet struct {
	dims  []uint32
	nodes uint64
}

// NewTorus returns a torus. Each size is at least 1.
func NewTorus(dims []uint32) (*TorusNet, error) {
	nodes, ok := product(maxLinks, dims...)
	if !ok || nodes == 0 || nodes > maxLinks/uint64(max(2*len(dims), 1)) {
		return nil, fmt.Errorf("simnet: a torus of sizes %d: sizes are at least 1, and links at most 2^30 in all", dims)
	}
	return &TorusNet{dims: dims, nodes: nodes}, nil
}

// Nodes returns the number of nodes.
func (t *TorusNet) Nodes() uint64 { return t.nodes }

// Links returns the number of links: two for each node and dimension.
func (t *TorusNet) Links() int { return int(t.nodes) * 2 * len(t.dims) }

// way returns how far and in which direction a message goes in a dimension.
func way(from, to, size uint32) (steps uint32, down bool) {
	up := to - from
	if to < from {
		up = size - from + to
	}
	if up > size-up {
		return size - up, true
	}
	return up, false
}

// Hops implements [Topology].
func (t *TorusNet) Hops(a, b uint32) int {
	n := uint32(0)
	for _, size := range t.dims {
		steps, _ := way(a%size, b%size, size)
		n += steps
		a, b = a/size, b/size
	}
	return int(n)
}

// Route implements [Topology]. Link 2·dims·node + 2·dimension goes upward from a node, the next one downward.
func (t *TorusNet) Route(dst []uint32, a, b uint32) []uint32 {
	at, stride := a, uint32(1)
	for d, size := range t.dims {
		x, y := a/stride%size, b/stride%size
		steps, down := way(x, y, size)
		for range steps {
			link := (at*uint32(len(t.dims)) + uint32(d)) * 2
			next := x + 1
			if down {
				link++
				next = x + size - 1
			}
			dst = append(dst, link)
			next %= size
			at += next*stride - x*stride
			x = next
		}
		stride *= size
	}
	return dst
}

// DragonflyNet is a dragonfly (Kim, Dally, Scott, Abts 2008): the routers of a group are connected with each other, and any two groups by
// one link. The links of a group to the groups after it are assigned to its routers in order, equally many to each. A message takes the
// shortest route: to the router with the link, over it, to the router of the node.
type DragonflyNet struct {
	groups, routers, ports uint32
	each                   uint32 // links of a router to other groups
}

// NewDragonfly returns a dragonfly: groups of routers with ports for nodes.
func NewDragonfly(groups, routers, ports uint32) (*DragonflyNet, error) {
	nodes, ok := product(1<<32-1, groups, routers, ports)
	local, okLocal := product(maxLinks, groups, routers, routers)
	global, okGlobal := product(maxLinks, groups, groups)
	if !ok || nodes == 0 || !okLocal || !okGlobal || local+global > maxLinks {
		return nil, fmt.Errorf("simnet: a dragonfly of %d groups, %d routers and %d ports: each is at least 1, and links at most 2^30 in all",
			groups, routers, ports)
	}
	return &DragonflyNet{groups: groups, routers: routers, ports: ports, each: max((groups-1+routers-1)/routers, 1)}, nil
}

// Nodes returns the number of nodes.
func (t *DragonflyNet) Nodes() uint64 { return uint64(t.groups) * uint64(t.routers) * uint64(t.ports) }

// Links returns the number of links, one for each direction: between routers of a group, then between groups.
func (t *DragonflyNet) Links() int {
	return int(t.groups*t.routers*t.routers + t.groups*t.groups)
}

// gate returns the router of a group that has the link to another group.
func (t *DragonflyNet) gate(group, other uint32) uint32 {
	distance := other - group
	if other < group {
		distance += t.groups
	}
	return (distance - 1) / t.each
}

// place returns the group and the router of a node.
func (t *DragonflyNet) place(node uint32) (group, router uint32) {
	r := node / t.ports
	return r / t.routers, r % t.routers
}

// Hops implements [Topology].
func (t *DragonflyNet) Hops(a, b uint32) int {
	var way [3]uint32
	return len(t.Route(way[:0], a, b))
}

// Route implements [Topology].
func (t *DragonflyNet) Route(dst []uint32, a, b uint32) []uint32 {
	ga, ra := t.place(a)
	gb, rb := t.place(b)
	if ga == gb {
		return t.within(dst, ga, ra, rb)
	}
	dst = t.within(dst, ga, ra, t.gate(ga, gb))
	dst = append(dst, t.groups*t.routers*t.routers+ga*t.groups+gb)
	return t.within(dst, gb, t.gate(gb, ga), rb)
}

// within appends the link between two routers of a group, unless they are the same.
func (t *DragonflyNet) within(dst []uint32, group, from, to uint32) []uint32 {
	if from == to {
		return dst
	}
	return append(dst, (group*t.routers+from)*t.routers+to)
}
