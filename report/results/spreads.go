package results

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// ComponentsOf are the components that processes have so much of, in the order of their numbers: all but instants.
func ComponentsOf(s Spreads) []ComponentLine {
	var list []ComponentLine
	for i := range s {
		if i := s[i].Item; i != xtf.ItemFirst && i != xtf.ItemLast && i != xtf.ItemIdealFirst && i != xtf.ItemIdealLast {
			list = append(list, ComponentLine{0, i})
		}
	}
	return list
}

// Spread is the distribution of an item over the processes that executed an
// interval.
type Spread struct {
	Item      xtf.Item
	Sum       numbers.Sum
	Min, Max  uint64
	MinP      uint32 // the lowest process with the least value
	MaxP      uint32
	Mean      numbers.Ratio
	Deviation numbers.Ratio // population standard deviation
}

// Spreads are listed by ascending item.
type Spreads []Spread

// MarshalJSON writes an object with the items' names as keys, in their order.
func (s Spreads) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range s {
		x := &s[i]
		line := struct {
			Sum    numbers.Sum   `json:"sum"`
			Min    [2]uint64     `json:"min"`
			Max    [2]uint64     `json:"max"`
			Mean   numbers.Ratio `json:"mean"`
			StdDev numbers.Ratio `json:"stddev"`
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

// Item returns the distribution of an item; one that the file does not have is 0
// everywhere.
func (s Spreads) Item(i xtf.Item) *Spread {
	k, ok := slices.BinarySearchFunc(s, i, func(x Spread, i xtf.Item) int { return int(x.Item) - int(i) })
	if ok {
		return &s[k]
	}
	return &Spread{Item: i}
}

// Has reports whether a value of the item is not 0.
func (s Spreads) Has(i xtf.Item) bool {
	return s.Item(i).Sum > 0
}

// spreadOf completes a row of STAT over a number of processes.
func spreadOf(x *xtf.Stat, processes uint64) Spread {
	d := Spread{Item: xtf.Item(uint32(x.Key)), Sum: numbers.Integer(x.Sum0), Min: x.Min, Max: x.Max, MinP: x.MinP, MaxP: x.MaxP, Mean: numbers.NewRatio(x.Sum0, processes)}
	v := numbers.Variance(processes, x.Sum0, x.Square1, x.Square0)
	d.Deviation = numbers.Ratio{Value: math.Sqrt(max(v.Value, 0)), Defined: v.Defined}
	return d
}

// NodeStats reads the distributions of one node's items.
func (r *Run) NodeStats(n uint32, participants uint64) (Spreads, error) {
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
		err = EachRow(a, first, end, func(x *xtf.Stat) {
			if uint32(x.Key) < uint32(xtf.NumItems) && x.Key>>32 == uint64(n) {
				list = append(list, spreadOf(x, participants))
			}
		})
	}
	if err == nil && !slices.IsSortedFunc(list, func(a, b Spread) int { return int(a.Item) - int(b.Item) }) {
		err = xtf.ErrCorrupt
	}
	return list, r.Failed(xtf.WholeRun, "sums over processes", err)
}

// Gathered adds up the values of processes as STAT rows do, of one node.
type Gathered struct {
	Count uint64
	Items [xtf.NumItems]xtf.Stat
}

// Add takes what a process has of the node.
func (g *Gathered) Add(x *ProcessItems, n uint32) {
	for i := range xtf.NumItems {
		AddStat(&g.Items[i], x.At(n, i), x.Rank, g.Count == 0)
	}
	g.Count++
}

// AddStat adds the value of a process; processes come in ascending order.
func AddStat(s *xtf.Stat, v uint64, rank uint32, first bool) {
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

// Spreads completes the distributions of items that are not 0 everywhere.
func (g *Gathered) Spreads() Spreads {
	list := Spreads{}
	for i := range xtf.NumItems {
		x := &g.Items[i]
		switch x.Key = uint64(i); {
		case x.Max > 0:
			list = append(list, spreadOf(x, g.Count))
		}
	}
	return list
}

// ComponentLine is a component in the list of all; parts of one are after it.
type ComponentLine struct {
	Level int
	Item  xtf.Item
}
