package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Spread is the distribution of an item over the processes that executed an
// interval.
type Spread struct {
	Item      xtf.Item
	Sum       *big.Int // nil: a process's own sum does not fit 64 bits, and nothing else is known either
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
			Sum    *big.Int   `json:"sum"`
			Min    *[2]uint64 `json:"min"`
			Max    *[2]uint64 `json:"max"`
			Mean   Ratio      `json:"mean"`
			StdDev Ratio      `json:"stddev"`
		}{Sum: x.Sum, Mean: x.Mean, StdDev: x.Deviation}
		if x.Sum != nil {
			line.Min, line.Max = &[2]uint64{x.Min, uint64(x.MinP)}, &[2]uint64{x.Max, uint64(x.MaxP)}
		}
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
	return &Spread{Item: i, Sum: new(big.Int)}
}

// has reports whether a value of the item is not 0.
func (s Spreads) has(i xtf.Item) bool {
	x := s.item(i)
	return x.Sum == nil || x.Sum.Sign() > 0
}

// spreadOf completes a row of STAT over a number of processes.
func spreadOf(x *xtf.Stat, processes uint64) Spread {
	d := Spread{Item: xtf.Item(uint32(x.Key))}
	if *x == (xtf.Stat{
		Key: x.Key, Sum0: xtf.Overflowed, Sum1: xtf.Overflowed, Square0: xtf.Overflowed, Square1: xtf.Overflowed, Square2: xtf.Overflowed,
		Min: xtf.Overflowed, Max: xtf.Overflowed, MinP: math.MaxUint32, MaxP: math.MaxUint32,
	}) {
		return d
	}
	p, sum, squares := integer(processes), words(x.Sum0, x.Sum1), words(x.Square0, x.Square1, x.Square2)
	d.Sum, d.Min, d.Max, d.MinP, d.MaxP, d.Mean = sum, x.Min, x.Max, x.MinP, x.MaxP, ratio(sum, p)
	// variance = (P * sum of squares - sum * sum) / (P * P)
	variance := ratio(sub(new(big.Int).Mul(p, squares), new(big.Int).Mul(sum, sum)), new(big.Int).Mul(p, p))
	d.Deviation = Ratio{math.Sqrt(max(variance.Value, 0)), variance.Defined}
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
		err = eachRow(a, first, end, func(row []byte) {
			var x xtf.Stat
			x.Load(row)
			if uint32(x.Key) < uint32(xtf.NumItems) && x.Key>>32 == uint64(n) {
				list = append(list, spreadOf(&x, participants))
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

// addStat adds the value of a process; processes come in ascending order. One that
// does not fit makes all unknown.
func addStat(s *xtf.Stat, v uint64, rank uint32, first bool) {
	if v == xtf.Overflowed || s.Min == xtf.Overflowed {
		const all = xtf.Overflowed
		*s = xtf.Stat{
			Key: s.Key, Sum0: all, Sum1: all, Square0: all, Square1: all, Square2: all, Min: all, Max: all,
			MinP: trace.Undefined, MaxP: trace.Undefined,
		}
		return
	}
	var carry uint64
	s.Sum0, carry = bits.Add64(s.Sum0, v, 0)
	s.Sum1 += carry
	high, low := bits.Mul64(v, v)
	s.Square0, carry = bits.Add64(s.Square0, low, 0)
	s.Square1, carry = bits.Add64(s.Square1, high, carry)
	s.Square2 += carry
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
		case x.Max == xtf.Overflowed:
			list = append(list, Spread{Item: i})
		case x.Max > 0:
			list = append(list, spreadOf(x, g.count))
		}
	}
	return list
}
