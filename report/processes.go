package report

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// components reads the items of location p.
func (r *Run) components(p trace.P) (interval.Items, error) {
	var v interval.Items
	err := load(r, xtf.Proc(p), func(x *xtf.Comp) {
		if x.Key < uint64(xtf.NumItems) { // node 0
			v[x.Key] = x.Value
		}
	})
	if err != nil {
		return v, fmt.Errorf("%s: location %d: components: %w", r.Name, r.Defs.Location(p).Ref, err)
	}
	return v, nil
}

// processItems are the components of one process, of all interval nodes.
type processItems struct {
	rank   uint32
	values map[uint64]uint64 // by node and item, as xtf.NodeKey has them; 0 is absent
}

func (x *processItems) at(n uint32, i xtf.Item) uint64 { return x.values[xtf.NodeKey(n, uint32(i))] }

// took reports whether the process executed the node.
func (x *processItems) took(n uint32) bool {
	if n == 0 {
		return x.at(0, xtf.ItemEvents) > 0 || x.at(0, xtf.ItemTime) > 0
	}
	return x.at(n, xtf.ItemExecutions) > 0
}

// useful is the process's useful time.
func (x *processItems) useful(n uint32, rules Rules) uint64 {
	if rules.IO {
		return x.at(n, xtf.ItemCPU) + x.at(n, xtf.ItemIO)
	}
	return x.at(n, xtf.ItemCPU)
}

// keys are those of all values, ascending.
func (x *processItems) keys() []uint64 {
	list := make([]uint64, 0, len(x.values))
	for k := range x.values {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// eachProcess calls f with the components of every chosen process, one after
// another. A process that cannot be read is returned as lost.
func (r *Run) eachProcess(ranks Ranks, section string, f func(x *processItems)) ([]Lost, error) {
	return r.each(ranks, section, func(rank uint32, p trace.Process) error {
		x, err := r.processItems(rank, p)
		if err == nil {
			f(x)
		}
		return err
	})
}

// processItems reads the components of a process, its locations joined.
func (r *Run) processItems(rank uint32, p trace.Process) (*processItems, error) {
	x := &processItems{rank: rank, values: map[uint64]uint64{}}
	most := xtf.Most(r.Defs.NumLocations()) * uint64(p.Count)
	begun := map[uint64]bool{} // nodes that an earlier location executed, or has events of
	for i := range trace.P(p.Count) {
		at := p.First + i
		metric := r.Defs.Location(at).Type == trace.MetricLocation
		var own []xtf.Comp
		err := load(r, xtf.Proc(at), func(c *xtf.Comp) {
			if uint32(c.Key) < uint32(xtf.NumItems) && (!metric || c.Key == uint64(xtf.ItemEvents)) {
				own = append(own, *c)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%s: location %d: components: %w", r.Name, r.Defs.Location(at).Ref, err)
		}
		if !metric {
			own = withZeros(own)
		}
		for _, c := range own {
			if v := x.join(c, i == 0, begun[c.Key>>32]); v > most {
				return nil, fmt.Errorf("%s: process %d: %s of %d, where sums hold %d: %w", r.Name, rank, xtf.Item(uint32(c.Key)), v, most, xtf.ErrCorrupt)
			}
		}
		for _, c := range own {
			if item := xtf.Item(uint32(c.Key)); !metric && (item == xtf.ItemExecutions || item == xtf.ItemEvents) {
				begun[c.Key>>32] = true
			}
		}
	}
	if p.Count > 1 {
		k, err := r.kept()
		if err != nil {
			return nil, err
		}
		if !k.has("init=exclude") {
			x.spanTime()
		}
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

// join adds a value of one location of the process, the first one or not; begun
// says whether an earlier one executed the node. Counts and messages add up.
// Other items are those of the first location that executed the node; those of the
// whole program are of the first location, the one that calls MPI. It returns the process's value.
func (x *processItems) join(c xtf.Comp, first, begun bool) uint64 {
	old := x.values[c.Key]
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
	x.values[c.Key] = c.Value
	return c.Value
}

// spanTime takes the whole program's time from the first to the last event of
// all locations.
func (x *processItems) spanTime() {
	first, last := x.at(0, xtf.ItemFirst), x.at(0, xtf.ItemLast)
	if x.at(0, xtf.ItemEvents) == 0 || last < first {
		return
	}
	var v interval.Items
	for i := range v {
		v[i] = x.at(0, xtf.Item(i))
	}
	v[xtf.ItemTime] = last - first
	v.Derive()
	for _, i := range [...]xtf.Item{xtf.ItemTime, xtf.ItemCPU, xtf.ItemMeasured} {
		x.values[uint64(i)] = v[i]
	}
}
