package network

import "fmt"

// FatTreeNet is an extended generalized fat tree (Öhring, Ibel, Das, Kumar 1995): a switch of level l has down[l-1] children; a vertex of
// level l (nodes are level 0) has up[l] parents. The upward path depends only on the destination (D-mod-k; Zahavi 2012), so all messages to
// a node come down the same path.
type FatTreeNet struct {
	down, up []uint32
	below    []uint64 // nodes below a switch of each level
	wide     []uint64 // product of up for the levels below
	first    []uint64 // number of the first link between each level and the next
	links    uint64
}

// NewFatTree returns a fat tree with len(down) levels of switches. up has as many numbers, that of nodes first. All are at least 1.
func NewFatTree(down, up []uint32) (*FatTreeNet, error) {
	bad := fmt.Errorf("simnet: a fat tree with children %d and parents %d: as many of both, each at least 1, at most 2^30 links in all",
		down, up)
	if len(down) == 0 || len(down) != len(up) {
		return nil, bad
	}
	t := &FatTreeNet{down: down, up: up}
	nodes, ok := product(maxLinks, down...)
	if !ok || nodes == 0 {
		return nil, bad
	}
	below, wide := uint64(1), uint64(1)
	for l := range down {
		t.below, t.wide, t.first = append(t.below, below), append(t.wide, wide), append(t.first, t.links)
		here := nodes / below * wide // vertices of the level
		edges := here * uint64(up[l])
		if up[l] == 0 || here > maxLinks || edges > maxLinks {
			return nil, bad
		}
		if l > 0 {
			t.links += 2 * edges
		}
		if t.links > maxLinks {
			return nil, bad
		}
		below, wide = below*uint64(down[l]), wide*uint64(up[l])
	}
	return t, nil
}

// Nodes returns the number of nodes.
func (t *FatTreeNet) Nodes() uint64 {
	h := len(t.down) - 1
	return t.below[h] * uint64(t.down[h])
}

// Links returns the number of links, one for each direction.
func (t *FatTreeNet) Links() int { return int(t.links) }

// top returns the level of the lowest switches above both nodes, at least 1.
func (t *FatTreeNet) top(a, b uint32) int {
	l := 1
	for l < len(t.down) && uint64(a)/t.below[l] != uint64(b)/t.below[l] {
		l++
	}
	return l
}

// Hops implements [Topology].
func (t *FatTreeNet) Hops(a, b uint32) int { return 2 * (t.top(a, b) - 1) }

// Route implements [Topology].
func (t *FatTreeNet) Route(dst []uint32, a, b uint32) []uint32 {
	top := t.top(a, b)
	for l := 1; l < top; l++ {
		dst = append(dst, uint32(t.edge(l, a, b)))
	}
	for l := top - 1; l > 0; l-- {
		dst = append(dst, uint32(t.edge(l, b, b))+1)
	}
	return dst
}

// edge returns the upward link between level l and the next one, above a node, on the path to another node. The downward link has the next
// number. The place of its nodes, and the parents that were taken on lower levels, identify a switch.
func (t *FatTreeNet) edge(l int, node, to uint32) uint64 {
	taken := uint64(to) % t.wide[l] // digits of the destination in the bases up[0], up[1], ...
	parent := uint64(to) / t.wide[l] % uint64(t.up[l])
	vertex := uint64(node)/t.below[l]*t.wide[l] + taken
	return t.first[l] + 2*(vertex*uint64(t.up[l])+parent)
}
