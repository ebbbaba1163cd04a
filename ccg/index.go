package ccg

import (
	"sort"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Index answers queries about one location. It caches what makes further queries fast: event counts of nodes, sums of column prefixes,
// decoded blocks.
//
// An Index and its Cursors belong to one goroutine. Several may read the same Location.
type Index struct {
	loc         *Location
	events      []uint64 // of each node: events of one instance
	scout       *Cursor  // finds times of other events
	left        *Cursor  // begin and end of the last interval
	right       *Cursor
	flat        *ledger // by region
	open        *ledger // by set of open regions
	roster      *roster
	counted     map[uint32]tally // calls of regions
	sums        columnSums
	done        []uint64 // of each node, see sweep
	near        uint64   // steps that cost as much as computing a position
	sampleWords int      // limit for one ledger
	tickWords   uint64   // limit for one ledger
	visits      uint64   // nodes and slots read to compute positions
}

// Index returns an index of the location: O(nodes), 8 bytes for each node.
func (l *Location) Index() *Index {
	x := &Index{loc: l, sums: columnSums{loc: l}, sampleWords: maxSampleWords, tickWords: maxTickWords}
	v := l.view
	x.events = v.Count(func(id uint32) uint64 { return v.ShapeOf(id).Events() })
	x.near = graph.MarkEvery/2 + uint64(len(v.Order)+len(v.Column))/8 + 4*uint64(len(v.Cols))
	return x
}

// scratch returns an array with a number for each node.
func (x *Index) scratch() []uint64 {
	if x.done == nil {
		x.done = make([]uint64, x.loc.view.Nodes.Len()+1)
	}
	return x.done
}

func (x *Index) columnError(c int32, err error) error { return x.loc.columnError(int(c), err) }

// ownCursor returns a cursor for the index itself, which uses its decoded blocks.
func (x *Index) ownCursor() *Cursor {
	c := x.Cursor()
	c.cached = true
	return c
}

// markTime returns the time of mark j: of event j*MarkEvery, or of the first event.
func (x *Index) markTime(j uint64) (trace.Time, error) {
	if j == 0 {
		return x.loc.first, nil
	}
	ticks, err := x.sums.before(int32(x.loc.view.Marks), j)
	if err != nil {
		return 0, err
	}
	t := x.loc.first + trace.Time(ticks)
	if t < x.loc.first {
		return 0, x.loc.damaged("time overflows")
	}
	return t, nil
}

// markBefore returns the last mark whose time is before t, 0 if there is none. It searches the blocks of marks, whose sums are known, then
// one block.
func (x *Index) markBefore(t trace.Time) (uint64, error) {
	n := x.loc.view.MarkCount()
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
