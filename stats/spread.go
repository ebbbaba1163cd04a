package stats

import (
	"encoding/binary"
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtf"
)

// Spread is the distribution of one item over the processes that executed a node.
type Spread struct {
	Sum        uint64    // less than 2^63, see xtf.Most
	Squares    [2]uint64 // 128 bits, low word first: no more than the square of the sum
	Min, Max   uint64
	MinP, MaxP uint32 // the lowest process with that value
}

// add puts the value of a process into s; processes come in ascending order.
func (s *Spread) add(v uint64, process uint32, first bool) {
	hi, lo := bits.Mul64(v, v)
	s.sum(v, [2]uint64{lo, hi})
	if first || v < s.Min {
		s.Min, s.MinP = v, process
	}
	if first || v > s.Max {
		s.Max, s.MaxP = v, process
	}
}

func (s *Spread) sum(v uint64, squares [2]uint64) {
	var carry uint64
	s.Sum += v
	s.Squares[0], carry = bits.Add64(s.Squares[0], squares[0], 0)
	s.Squares[1] += squares[1] + carry
}

// merge joins the distribution over higher processes into s.
func (s *Spread) merge(o *Spread) {
	s.sum(o.Sum, o.Squares)
	if o.Min < s.Min {
		s.Min, s.MinP = o.Min, o.MinP
	}
	if o.Max > s.Max {
		s.Max, s.MaxP = o.Max, o.MaxP
	}
}

// NodeSpread is the distributions of all items of one node.
type NodeSpread struct {
	Processes uint64                // that executed the node
	lowest    uint32                // the lowest of these
	items     [xtf.NumItems]*Spread // nil: 0 on all processes
}

// Item returns the distribution of an item. present is false if it is 0 on all processes.
func (n *NodeSpread) Item(i xtf.Item) (s Spread, present bool) {
	if n.items[i] == nil {
		return Spread{MinP: n.lowest, MaxP: n.lowest}, false
	}
	return *n.items[i], true
}

// spread returns the distribution of an item, and makes it if it was 0 on all processes so far.
func (n *NodeSpread) spread(i int) *Spread {
	if n.items[i] == nil {
		n.items[i] = &Spread{MinP: n.lowest, MaxP: n.lowest}
	}
	return n.items[i]
}

// add adds a process that executed the node; processes come in ascending order.
func (n *NodeSpread) add(v *interval.Items, process uint32) {
	first := n.Processes == 0
	if first {
		n.lowest = process
	}
	for i, x := range v {
		if x != 0 || n.items[i] != nil {
			n.spread(i).add(x, process, first)
		}
	}
	n.Processes++
}

// merge joins the distribution over higher processes into n.
func (n *NodeSpread) merge(o *NodeSpread) {
	if n.Processes == 0 {
		*n = *o
		return
	}
	if o.Processes == 0 {
		return
	}
	for i := range n.items {
		if n.items[i] != nil || o.items[i] != nil {
			n.spread(i).merge(o.spread(i))
		}
	}
	n.Processes += o.Processes
}

// Spreads are the distributions over the processes, by node.
type Spreads []NodeSpread

// encode encodes s as variable-length integers: for each node the number of processes; if that is not 0 the lowest process, for each item
// that is present its distance to the item before (the first from item -1) and its words, and 0.
func (s Spreads) encode() ([]byte, error) {
	var b []byte
	for i := range s {
		n := &s[i]
		if b = binary.AppendUvarint(b, n.Processes); n.Processes == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(n.lowest))
		next := 0
		for k, x := range n.items {
			if x == nil {
				continue
			}
			b = binary.AppendUvarint(b, uint64(1+k-next))
			for _, w := range [7]uint64{x.Sum, x.Squares[0], x.Squares[1], x.Min, x.Max, uint64(x.MinP), uint64(x.MaxP)} {
				b = binary.AppendUvarint(b, w)
			}
			next = k + 1
		}
		b = append(b, 0)
	}
	return b, nil
}

// decodeSpreads decodes the distributions of so many nodes.
func decodeSpreads(nodes int, b []byte) (Spreads, error) {
	s := make(Spreads, nodes)
	r := reader{varint.Read(b)}
	for i := range s {
		n := &s[i]
		if n.Processes = r.Next(); n.Processes == 0 {
			continue
		}
		n.lowest = uint32(r.Next())
		end := uint64(0)
		for d := r.Next(); d > 0; d = r.Next() {
			if d > uint64(len(n.items))-end {
				return nil, errSummary
			}
			end += d
			n.items[end-1] = &Spread{
				Sum: r.Next(), Squares: [2]uint64{r.Next(), r.Next()},
				Min: r.Next(), Max: r.Next(), MinP: uint32(r.Next()), MaxP: uint32(r.Next()),
			}
		}
	}
	if !r.Done() {
		return nil, errSummary
	}
	return s, nil
}

func mergeSpreads(a, b Spreads) (Spreads, error) {
	for i := range a {
		a[i].merge(&b[i])
	}
	return a, nil
}
