package interval

import (
	"cmp"
	"slices"
)

// Fixed is a border of an interval of the sidecar file, whose time is known before the events.
type Fixed struct {
	T   uint64 // ticks since the origin
	Of  int    // index of the interval in Options.Given
	End bool
}

// SliceKey returns the key of slice k.
func SliceKey(k uint64) Key { return Key{ID: k, Name: "slice", Form: FormDerived} }

// SliceAt returns the number of the slice that holds t, and the end of that slice;
// ok is false if there are no slices. The last one has no end: xtf.Never.
func (p *Plan) SliceAt(t uint64) (k, end uint64, ok bool) {
	if p.width == 0 {
		return 0, 0, false
	}
	most := uint64(MaxSlices)
	if p.SliceCount != 0 {
		most = uint64(p.SliceCount)
	}
	k = t / p.width
	if k >= most-1 {
		return most - 1, 1<<64 - 1, true
	}
	return k, (k + 1) * p.width, true
}

// TooManySlices reports whether t is so late that the last slice is longer than asked for.
func (p *Plan) TooManySlices(t uint64) bool {
	return p.width != 0 && p.SliceCount == 0 && t/p.width >= MaxSlices
}

// Borders returns the borders that the sidecar file has for a process, by time. At one instant executions end before others begin, except
// those without length; of two nested ones the outer begins first and ends last. Memory: 24 bytes each.
func (p *Plan) Borders(process uint32) []Fixed {
	var list []given
	for _, q := range [...]uint32{process, AnyProcess} {
		first, _ := slices.BinarySearchFunc(p.Given, q, func(g Given, q uint32) int { return cmp.Compare(g.Process, q) })
		for i := first; i < len(p.Given) && p.Given[i].Process == q; i++ {
			b, e, _ := p.ticks(&p.Given[i])
			list = append(list, given{b, e, i})
		}
	}
	slices.SortStableFunc(list, func(x, y given) int {
		return cmp.Or(cmp.Compare(x.begin, y.begin), -cmp.Compare(x.end, y.end))
	})
	out := make([]Fixed, 0, 2*len(list))
	var open []given // by end, the earliest last
	until := func(t uint64) {
		for n := len(open); n > 0 && open[n-1].end <= t; n = len(open) {
			out = append(out, Fixed{T: open[n-1].end, Of: open[n-1].index, End: true})
			open = open[:n-1]
		}
	}
	for _, g := range list {
		until(g.begin)
		out = append(out, Fixed{T: g.begin, Of: g.index})
		at, _ := slices.BinarySearchFunc(open, g, func(x, y given) int { // after those that end later or with g
			if x.end >= y.end {
				return -1
			}
			return 1
		})
		open = slices.Insert(open, at, g)
	}
	until(1<<64 - 1)
	return out
}

// MemoryBytes returns the memory of the intervals of the sidecar file.
func (p *Plan) MemoryBytes() int64 { return 100 * int64(len(p.Given)) }

type given struct {
	begin, end uint64
	index      int
}
