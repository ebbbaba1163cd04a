package results

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Components reads the items of location p.
func (r *Run) Components(p trace.P) (interval.Items, error) {
	var v interval.Items
	err := Load(r, xtf.Proc(p), func(x *xtf.Comp) {
		if x.Key < uint64(xtf.NumItems) { // node 0
			v[x.Key] = x.Value
		}
	})
	return v, r.Failed(xtf.Proc(p), "components", err)
}

// ProcessItems are the components of one process, of all interval nodes.
type ProcessItems struct {
	Rank   uint32
	Values map[uint64]uint64 // by node and item, as xtf.NodeKey has them; 0 is absent
}

// At is the value of an item of a node.
func (x *ProcessItems) At(n uint32, i xtf.Item) uint64 { return x.Values[xtf.NodeKey(n, uint32(i))] }

// Took reports whether the process executed the node.
func (x *ProcessItems) Took(n uint32) bool {
	if n == 0 {
		return x.At(0, xtf.ItemEvents) > 0 || x.At(0, xtf.ItemTime) > 0
	}
	return x.At(n, xtf.ItemExecutions) > 0
}

// Useful is the process's useful time.
func (x *ProcessItems) Useful(n uint32, rules Rules) uint64 {
	if rules.IO {
		return x.At(n, xtf.ItemCPU) + x.At(n, xtf.ItemIO)
	}
	return x.At(n, xtf.ItemCPU)
}

// Keys are those of all values, ascending.
func (x *ProcessItems) Keys() []uint64 {
	list := make([]uint64, 0, len(x.Values))
	for k := range x.Values {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// EachProcess calls f with the components of every chosen process, one after
// another. A process that cannot be read is returned as lost.
func (r *Run) EachProcess(ranks Ranks, section string, f func(x *ProcessItems)) ([]table.Lost, error) {
	return r.each(ranks, section, func(rank uint32, p trace.Process) error {
		x, err := r.ProcessItems(rank, p)
		if err == nil {
			f(x)
		}
		return err
	})
}

// ProcessItems reads the components of a process, its locations joined.
func (r *Run) ProcessItems(rank uint32, p trace.Process) (*ProcessItems, error) {
	x := &ProcessItems{Rank: rank, Values: map[uint64]uint64{}}
	most := xtf.Most(r.Defs.NumLocations()) * uint64(p.Count)
	begun := map[uint64]bool{} // nodes that an earlier location executed, or has events of
	for i := range trace.P(p.Count) {
		at := p.First + i
		metric := r.Defs.Location(at).Type == trace.MetricLocation
		var own []xtf.Comp
		err := Load(r, xtf.Proc(at), func(c *xtf.Comp) {
			if uint32(c.Key) < uint32(xtf.NumItems) && (!metric || c.Key == uint64(xtf.ItemEvents)) {
				own = append(own, *c)
			}
		})
		if err != nil {
			return nil, r.Failed(xtf.Proc(at), "components", err)
		}
		if !metric {
			own = withZeros(own)
		}
		for _, c := range own {
			if v := x.Join(c, i == 0, begun[c.Key>>32]); v > most {
				return nil, fmt.Errorf("%s: process %d: %s of %d, where sums hold %d: %w", r.Name, rank, xtf.Item(uint32(c.Key)), v, most, xtf.ErrCorrupt)
			}
		}
		for _, c := range own {
			if item := xtf.Item(uint32(c.Key)); !metric && (item == xtf.ItemExecutions || item == xtf.ItemEvents) {
				begun[c.Key>>32] = true
			}
		}
	}
	if p.Count > 1 && !r.Kept.Has("init=exclude") {
		x.spanTime()
	}
	return x, nil
}

// withZeros adds the rows of first instants that are 0, which the file leaves
// out, to the ascending rows of a location.
func withZeros(own []xtf.Comp) []xtf.Comp {
	var zeros []xtf.Comp
	for i := 0; i < len(own); {
		n := uint32(own[i].Key >> 32)
		missing := []xtf.Item{xtf.ItemFirst, xtf.ItemIdealFirst}
		for ; i < len(own) && uint32(own[i].Key>>32) == n; i++ {
			missing = slices.DeleteFunc(missing, func(x xtf.Item) bool { return x == xtf.Item(uint32(own[i].Key)) })
		}
		for _, x := range missing {
			zeros = append(zeros, xtf.Comp{Key: xtf.NodeKey(n, uint32(x))})
		}
	}
	return append(own, zeros...)
}

// Join adds a value of one location of the process, the first one or not; begun
// says whether an earlier one executed the node. Counts and messages add up.
// Other items are those of the first location that executed the node; those of the
// whole program are of the first location, the one that calls MPI. It returns the process's value.
func (x *ProcessItems) Join(c xtf.Comp, first, begun bool) uint64 {
	old := x.Values[c.Key]
	whole := c.Key>>32 == 0
	switch i := xtf.Item(uint32(c.Key)); {
	case whole && i == xtf.ItemFirst:
		if begun {
			c.Value = min(c.Value, old)
		}
	case whole && (i == xtf.ItemLast || i == xtf.ItemExecutions):
		c.Value = max(c.Value, old)
	case i.Adds():
		c.Value += old
	case whole && !first || !whole && begun:
		return old
	}
	x.Values[c.Key] = c.Value
	return c.Value
}

// spanTime takes the whole program's time from the first to the last event of
// all locations.
func (x *ProcessItems) spanTime() {
	first, last := x.At(0, xtf.ItemFirst), x.At(0, xtf.ItemLast)
	if x.At(0, xtf.ItemEvents) == 0 || last < first {
		return
	}
	var v interval.Items
	for i := range v {
		v[i] = x.At(0, xtf.Item(i))
	}
	v[xtf.ItemTime] = last - first
	v.Derive()
	for _, i := range [...]xtf.Item{xtf.ItemTime, xtf.ItemCPU, xtf.ItemMeasured} {
		x.Values[uint64(i)] = v[i]
	}
}
