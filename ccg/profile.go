package ccg

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/column"
	"github.com/coppice-hpc/coppice/trace"
)

// RegionTotal is the profile of one region over a set of locations.
type RegionTotal struct {
	Region    uint32 // reference; trace.Undefined: outside all calls
	Calls     uint64
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks, outermost calls only
}

// Profile is a flat profile; the zero value is empty. Any number of locations
// can be added.
type Profile struct {
	totals map[uint32]*RegionTotal
}

func (p *Profile) region(ref uint32) *RegionTotal {
	if p.totals == nil {
		p.totals = make(map[uint32]*RegionTotal)
	}
	t := p.totals[ref]
	if t == nil {
		t = &RegionTotal{Region: ref}
		p.totals[ref] = t
	}
	return t
}

// Add adds location l. Calls come from the multiplicities of nodes, times from
// the sums in the columns' heads: O(nodes), and of a lossy graph from its class
// tables and columns: O(rows). Inclusive times, if wanted, come
// from the same sums where every way to a column's slots has the same open
// regions; else they read the location's gaps: O(events).
func (p *Profile) Add(l *Location, inclusive bool) error {
	v := l.view
	for _, id := range v.order {
		if h := v.shapeOf(id); h.class == classCall {
			p.region(h.region(v.defs)).Calls += v.mult[id]
		}
	}
	var open contexts
	summed := inclusive && open.of(v)
	for i, c := range v.cols {
		if !c.gap {
			continue
		}
		hi, lo, err := l.cols[i].Sum()
		if err != nil {
			return fmt.Errorf("call graph: location %d, column %d: %w: %w", l.p, i, ErrCorrupt, err)
		}
		if err := p.region(c.region).exclusive(hi, lo); err != nil {
			return fmt.Errorf("call graph: location %d: %w", l.p, err)
		}
		if summed {
			p.include(&open, open.column[i], lo)
		}
	}
	if err := p.classes(l, &open, summed); err != nil {
		return err
	}
	if inclusive && !summed {
		return p.inclusive(l)
	}
	return nil
}

// include adds time to the regions that are open in context n.
func (p *Profile) include(open *contexts, n int32, ticks uint64) {
	for ; n > 1; n = open.list[n].parent {
		p.region(open.list[n].region).Inclusive += ticks
	}
}

// classes adds the times of nodes in class mode: O(rows).
func (p *Profile) classes(l *Location, open *contexts, summed bool) error {
	v := l.view
	if v.tables == nil {
		return nil
	}
	counts, err := l.rowCounts()
	if err != nil {
		return err
	}
	for _, id := range v.order {
		if v.tables[id] == nil {
			continue
		}
		hi, lo := v.tableTime(id, counts[id])
		if hi|lo == 0 {
			continue
		}
		if err := p.region(v.shapeOf(id).region(v.defs)).exclusive(hi, lo); err != nil {
			return fmt.Errorf("call graph: location %d: %w", l.p, err)
		}
		if summed {
			p.include(open, open.node[id], lo)
		}
	}
	return nil
}

func (t *RegionTotal) exclusive(hi, lo uint64) error {
	var carry uint64
	if t.Exclusive, carry = bits.Add64(t.Exclusive, lo, 0); carry != 0 || hi != 0 {
		return fmt.Errorf("time of region %d exceeds 64 bits: %w", t.Region, ErrLimit)
	}
	return nil
}

// contexts are the sets of open regions in which gaps lie, as paths: number 0 is
// unknown, 1 is "no call open".
type contexts struct {
	list   []context
	index  map[context]int32
	column []int32 // by gap column
	node   []int32 // by node: inside it
}

type context struct {
	parent int32
	region uint32
}

const mixed = -1

// enter returns the context inside a call of a region: the same if the region
// is open already.
func (x *contexts) enter(n int32, region uint32) int32 {
	for i := n; i > 1; i = x.list[i].parent {
		if x.list[i].region == region {
			return n
		}
	}
	k := context{n, region}
	m, ok := x.index[k]
	if !ok {
		m = int32(len(x.list))
		x.list = append(x.list, k)
		x.index[k] = m
	}
	return m
}

// of finds the context of each gap column; false if a column has several.
func (x *contexts) of(v *view) bool {
	x.list = make([]context, 2) // 0 and 1 have no region
	x.index = map[context]int32{}
	x.column = make([]int32, len(v.cols))
	x.node = make([]int32, v.nodes.len()+1)
	node := make([]int32, v.nodes.len()+1) // context around a node
	node[v.root] = 1
	for id := v.root; id > 0; id-- {
		n := node[id]
		h := v.shapeOf(id)
		if n == mixed {
			return false
		}
		if h.class == classCall {
			n = x.enter(n, h.region(v.defs))
		}
		x.node[id] = n
		children := v.nodes.children(id)
		for _, c := range children {
			if node[c] == 0 {
				node[c] = n
			} else if node[c] != n && v.nodes.kind(c) != kindEvent {
				node[c] = mixed
			}
		}
		gaps, _ := v.slots(id)
		for _, c := range v.column[v.slot[id] : v.slot[id]+gaps] {
			switch {
			case c < 0:
			case x.column[c] == 0:
				x.column[c] = n
			case x.column[c] != n:
				return false
			}
		}
	}
	return true
}

// inclusive walks through the gaps of a location.
func (p *Profile) inclusive(l *Location) error {
	v := l.view
	type visit struct {
		total *RegionTotal
		begin trace.Time
	}
	open := map[*RegionTotal]int{}
	region := make([]*RegionTotal, v.nodes.len()+1) // by Call
	for _, id := range v.order {
		if h := v.shapeOf(id); h.class == classCall {
			region[id] = p.region(h.region(v.defs))
		}
	}
	cursors := l.gapCursors()
	w := walker{cursors: cursors}
	w.init(v)
	var calls []visit
	now := l.first
	for {
		st, id, slot := w.next()
		if st == stepEnd {
			break
		}
		if st != stepCut {
			gap := w.gap
			if c := v.column[slot]; c >= 0 {
				gap = cursors[c].Next()
			}
			now += trace.Time(gap)
		}
		switch st {
		case stepOpen:
			calls = append(calls, visit{region[id], now})
			open[region[id]]++
		case stepClose, stepCut:
			top := calls[len(calls)-1]
			calls = calls[:len(calls)-1]
			if open[top.total]--; open[top.total] == 0 {
				top.total.Inclusive += uint64(now - top.begin)
			}
		}
	}
	if w.bad {
		return fmt.Errorf("call graph: location %d: a class that does not exist: %w", l.p, ErrCorrupt)
	}
	for i := range cursors {
		if cursors[i].Err() != nil {
			return fmt.Errorf("call graph: location %d, column %d: %w: %w", l.p, i, ErrCorrupt, cursors[i].Err())
		}
	}
	return nil
}

func (l *Location) gapCursors() []column.Cursor {
	cursors := make([]column.Cursor, len(l.cols))
	for i := range cursors {
		cursors[i].Init(&l.cols[i])
	}
	return cursors
}

// Regions returns the totals by ascending reference.
func (p *Profile) Regions() []RegionTotal {
	list := make([]RegionTotal, 0, len(p.totals))
	for _, ref := range slices.Sorted(maps.Keys(p.totals)) {
		list = append(list, *p.totals[ref])
	}
	return list
}
