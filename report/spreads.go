package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// Spread is the distribution of an item over the processes that executed an
// interval.
type Spread struct {
	Item      xtf.Item
	Sum       Sum
	Min, Max  uint64
	MinP      uint32 // the lowest process with the least value
	MaxP      uint32
	Mean      Ratio
	Deviation Ratio // population standard deviation
}

// Spreads are listed by ascending item.
type Spreads []Spread

// MarshalJSON writes an object with the items' names as keys, in their order.
func (s Spreads) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range s {
		x := &s[i]
		line := struct {
			Sum    Sum       `json:"sum"`
			Min    [2]uint64 `json:"min"`
			Max    [2]uint64 `json:"max"`
			Mean   Ratio     `json:"mean"`
			StdDev Ratio     `json:"stddev"`
		}{x.Sum, [2]uint64{x.Min, uint64(x.MinP)}, [2]uint64{x.Max, uint64(x.MaxP)}, x.Mean, x.Deviation}
		v, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", x.Item, v)
	}
	return append(b, '}'), nil
}

// item returns the distribution of an item; one that the file does not have is 0
// everywhere.
func (s Spreads) item(i xtf.Item) *Spread {
	k, ok := slices.BinarySearchFunc(s, i, func(x Spread, i xtf.Item) int { return int(x.Item) - int(i) })
	if ok {
		return &s[k]
	}
	return &Spread{Item: i}
}

// has reports whether a value of the item is not 0.
func (s Spreads) has(i xtf.Item) bool {
	return s.item(i).Sum > 0
}

// spreadOf completes a row of STAT over a number of processes.
func spreadOf(x *xtf.Stat, processes uint64) Spread {
	d := Spread{Item: xtf.Item(uint32(x.Key)), Sum: integer(x.Sum0), Min: x.Min, Max: x.Max, MinP: x.MinP, MaxP: x.MaxP, Mean: ratio64(x.Sum0, processes)}
	v := variance(processes, x.Sum0, x.Square1, x.Square0)
	d.Deviation = Ratio{math.Sqrt(max(v.Value, 0)), v.Defined}
	return d
}

// nodeStats reads the distributions of one node's items.
func (r *Run) nodeStats(n uint32, participants uint64) (Spreads, error) {
	a, err := r.File.Array(xtf.WholeRun, xtf.TypeStat)
	var first, end uint64
	if err == nil {
		first, err = a.Rank(xtf.NodeKey(n, 0))
	}
	if err == nil {
		end, err = a.RankAfter(xtf.NodeKey(n, math.MaxUint32))
	}
	list := Spreads{}
	if err == nil {
		err = eachRow(a, first, end, func(x *xtf.Stat) {
			if uint32(x.Key) < uint32(xtf.NumItems) && x.Key>>32 == uint64(n) {
				list = append(list, spreadOf(x, participants))
			}
		})
	}
	if err == nil && !slices.IsSortedFunc(list, func(a, b Spread) int { return int(a.Item) - int(b.Item) }) {
		err = xtf.ErrCorrupt
	}
	if err != nil {
		return nil, fmt.Errorf("%s: sums over processes: %w", r.Name, err)
	}
	return list, nil
}

// gathered adds up the values of processes as STAT rows do, of one node.
type gathered struct {
	count uint64
	items [xtf.NumItems]xtf.Stat
}

// add takes what a process has of the node.
func (g *gathered) add(x *processItems, n uint32) {
	for i := range xtf.NumItems {
		addStat(&g.items[i], x.at(n, i), x.rank, g.count == 0)
	}
	g.count++
}

// addStat adds the value of a process; processes come in ascending order.
func addStat(s *xtf.Stat, v uint64, rank uint32, first bool) {
	var carry uint64
	s.Sum0 += v
	high, low := bits.Mul64(v, v)
	s.Square0, carry = bits.Add64(s.Square0, low, 0)
	s.Square1 += high + carry
	if first || v < s.Min {
		s.Min, s.MinP = v, rank
	}
	if first || v > s.Max {
		s.Max, s.MaxP = v, rank
	}
}

// spreads completes the distributions of items that are not 0 everywhere.
func (g *gathered) spreads() Spreads {
	list := Spreads{}
	for i := range xtf.NumItems {
		x := &g.items[i]
		switch x.Key = uint64(i); {
		case x.Max > 0:
			list = append(list, spreadOf(x, g.count))
		}
	}
	return list
}
