package ccg

import (
	"fmt"
	"sort"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Index answers queries about one location and keeps between them what makes
// the next one fast: event counts of nodes, sums of column prefixes, decoded
// blocks.
//
// An Index and the Cursors of it belong to one goroutine; any number of them may
// read one Location.
type Index struct {
	loc         *Location
	events      []uint64 // by node: events of one instance
	scout       *Cursor  // finds times of events for others
	left        *Cursor  // begin and end of the interval asked for last
	right       *Cursor
	flat        *ledger // by region
	open        *ledger // by the set of open regions
	roster      *roster
	counted     map[uint32]tally // calls by region
	blocks      blockCache
	done        []uint64 // by node, see sweep
	near        uint64   // steps that cost as much as finding a position
	sampleWords int      // of one ledger
	tickWords   uint64   // likewise
	visits      uint64   // nodes and slots that positions were computed from
}

// Index returns an index of the location: O(nodes), 8 bytes per node.
func (l *Location) Index() *Index {
	x := &Index{loc: l, sampleWords: maxSampleWords, tickWords: maxTickWords}
	v := l.view
	x.events = v.count(func(id uint32) uint64 { return v.shapeOf(id).events() })
	x.near = markEvery/2 + uint64(len(v.order)+len(v.column))/8 + 4*uint64(len(v.cols))
	return x
}

// scratch returns a number per node.
func (x *Index) scratch() []uint64 {
	if x.done == nil {
		x.done = make([]uint64, x.loc.view.nodes.len()+1)
	}
	return x.done
}

// count adds up, per node, what own says of each node in one instance of it:
// O(edges). The sums of what occurs at most once an event cannot overflow.
func (v *view) count(own func(id uint32) uint64) []uint64 {
	s := v.nodes
	n := make([]uint64, s.len()+1)
	for _, id := range v.order {
		n[id] = own(id)
		if s.kind(id) == kindRepeat {
			n[id] += n[s.pool[s.off[id]]] * s.count(id)
			continue
		}
		for _, c := range s.words(id) {
			n[id] += n[c]
		}
	}
	return n
}

// damaged wraps what is wrong with the location's columns.
func (x *Index) damaged(what string) error {
	return fmt.Errorf("call graph: location %d: %s: %w", x.loc.p, what, ErrCorrupt)
}

func (x *Index) columnError(c int32, err error) error { return x.loc.columnError(int(c), err) }

// ownCursor returns a cursor for the index itself, which reads its blocks.
func (x *Index) ownCursor() *Cursor {
	c := x.Cursor()
	c.cached = true
	return c
}

// markTime returns the time of mark j: of event j*markEvery, or the first one.
func (x *Index) markTime(j uint64) (trace.Time, error) {
	if j == 0 {
		return x.loc.first, nil
	}
	ticks, err := x.sumBefore(int32(x.loc.view.marks), j)
	if err != nil {
		return 0, err
	}
	t := x.loc.first + trace.Time(ticks)
	if t < x.loc.first {
		return 0, x.damaged("time overflows")
	}
	return t, nil
}

// markBefore returns the last mark whose time is below t, 0 if there is none:
// first among the blocks of marks, whose sums are known, then inside one.
func (x *Index) markBefore(t trace.Time) (uint64, error) {
	n := x.loc.view.markCount()
	var err error
	below := func(j uint64) bool {
		at, e := x.markTime(j)
		if e != nil {
			err = e
		}
		return e == nil && at < t
	}
	whole := sort.Search(int(n/column.BlockSize), func(i int) bool {
		return !below(uint64(i+1) * column.BlockSize)
	})
	from := uint64(whole) * column.BlockSize
	inside := sort.Search(int(min(n-from, column.BlockSize)), func(i int) bool {
		return !below(from + uint64(i+1))
	})
	return from + uint64(inside), err
}
