package interval

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/xtf"
)

// Items are the values of one node.
type Items [xtf.NumItems]uint64

// Derive sets the items that follow from others: communication, the processor's own time, and the time without set-up.
func (x *Items) Derive() {
	x[xtf.ItemComm] = x[xtf.ItemP2P] + x[xtf.ItemColl] + x[xtf.ItemRMA]
	x[xtf.ItemCPU] = x[xtf.ItemTime]
	for _, i := range xtf.AsideItems {
		x[xtf.ItemCPU] -= min(x[xtf.ItemCPU], x[i])
	}
	x[xtf.ItemMeasured] = x[xtf.ItemTime] - min(x[xtf.ItemTime], x[xtf.ItemSetup])
}

// Components are the values of a location, or process, by node and item. The zero Components are all 0.
type Components struct {
	nodes []*Items // nil for nodes without values
}

// Len returns one more than the highest node with values.
func (c *Components) Len() int { return len(c.nodes) }

// Node returns the values of a node, which must be less than MaxNodes. The caller may change them.
func (c *Components) Node(node uint32) *Items {
	if uint64(node) >= uint64(len(c.nodes)) {
		c.nodes = append(c.nodes, make([]*Items, int(node)+1-len(c.nodes))...)
	}
	if c.nodes[node] == nil {
		c.nodes[node] = new(Items)
	}
	return c.nodes[node]
}

// Has reports whether the node has values.
func (c *Components) Has(node uint32) bool {
	return uint64(node) < uint64(len(c.nodes)) && c.nodes[node] != nil
}

// Value returns the value of a node's item.
func (c *Components) Value(node uint32, item xtf.Item) uint64 {
	if !c.Has(node) {
		return 0
	}
	return c.nodes[node][item]
}

// Add adds v to the item of a node.
func (c *Components) Add(node uint32, item xtf.Item, v uint64) {
	if v == 0 {
		return
	}
	c.Node(node)[item] += v
}

// Forget sets an item of all nodes to 0: not known.
func (c *Components) Forget(item xtf.Item) {
	for _, x := range c.nodes {
		if x != nil {
			x[item] = 0
		}
	}
}

// Each calls f for the values that are not 0, by ascending node, then item.
func (c *Components) Each(f func(node uint32, item xtf.Item, v uint64)) {
	for n, x := range c.nodes {
		if x == nil {
			continue
		}
		for i, v := range x {
			if v != 0 {
				f(uint32(n), xtf.Item(i), v)
			}
		}
	}
}

// Renumber gives node n the number table[n], which no two nodes share. It drops nodes with the number None.
func (c *Components) Renumber(table []uint32) error {
	var out Components
	for n, x := range c.nodes {
		if x == nil {
			continue
		}
		if n >= len(table) {
			return errDamaged
		}
		if table[n] != None {
			*out.Node(table[n]) = *x
		}
	}
	*c = out
	return nil
}

// AppendBinary appends c as variable-length integers: the number of nodes with values, then for each its distance to the node before, for
// each item that is not 0 its distance to the item before and its value, and 0. The distance of the first item is from item -1.
func (c *Components) AppendBinary(b []byte) []byte {
	count, last := uint64(0), 0
	for _, x := range c.nodes {
		if x != nil && *x != (Items{}) {
			count++
		}
	}
	b = binary.AppendUvarint(b, count)
	for n, x := range c.nodes {
		if x == nil || *x == (Items{}) {
			continue
		}
		b = binary.AppendUvarint(b, uint64(n-last))
		last = n
		next := 0
		for i, v := range x {
			if v != 0 {
				b = binary.AppendUvarint(b, uint64(1+i-next))
				b = binary.AppendUvarint(b, v)
				next = i + 1
			}
		}
		b = append(b, 0)
	}
	return b
}

// ParseComponents decodes components that take all of b.
func ParseComponents(b []byte) (*Components, error) {
	r := varint.Read(b)
	c := &Components{}
	node := uint64(0)
	for i := r.AtMost(MaxNodes); i > 0 && !r.Failed(); i-- {
		back := r.AtMost(MaxNodes)
		node += back
		if r.Failed() || node >= MaxNodes || back == 0 && len(c.nodes) > 0 {
			return nil, errDamaged
		}
		x := c.Node(uint32(node))
		end := uint64(0)
		for d := r.Next(); d > 0; d = r.Next() {
			if d > uint64(len(x))-end {
				return nil, errDamaged
			}
			end += d
			if x[end-1] = r.Next(); x[end-1] == 0 {
				return nil, errDamaged
			}
		}
		if end == 0 {
			return nil, errDamaged
		}
	}
	if !r.Done() {
		return nil, errDamaged
	}
	return c, nil
}
