package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// groupFactor is how many groups, or locations, make a group of the next size.
const groupFactor = 16

// groupRows is the most rows of bins of a group. Memory: 48 bytes each.
const groupRows = 1 << 12

// TileGroups makes the tiles of groups of neighbouring locations: 16, 256, and so on, up to all. The rank that holds the first location of
// a group writes its tiles; other ranks send it their parts. After Add of all locations comes Join.
//
// Memory: for each size three times groupRows rows, and an encoded part.
type TileGroups struct {
	t      *Tables
	levels Levels
	ranges []partition.Range
	rank   int
	total  int      // locations of the run
	open   []group  // by size, smallest first: the newest group
	away   [][]byte // by size: this rank's part of a group that begins on a lower rank, encoded
}

// group is a group of locations in progress.
type group struct {
	head trace.P
	sum  *binSum
	long []LongCall // with the location as N
}

// NewTileGroups prepares the groups of one rank, which adds its locations in
// ascending order.
func NewTileGroups(t *Tables, ranges []partition.Range, rank int, levels Levels) *TileGroups {
	g := &TileGroups{t: t, levels: levels, ranges: ranges, rank: rank, total: t.Defs.NumLocations()}
	g.levels.Finest = max(levels.Finest, levels.Tile)
	for size := 1; size < g.total; size *= groupFactor {
		g.open = append(g.open, group{})
	}
	g.away = make([][]byte, len(g.open))
	return g
}

// groupSize returns 16^f, the number of locations of a group of size f.
func groupSize(f int) trace.P { return 1 << (4 * f) }

// span returns the locations [head, end) of the group of size f that has location p.
func (g *TileGroups) span(f int, p trace.P) (head, end trace.P) {
	head = p / groupSize(f) * groupSize(f)
	return head, min(head+groupSize(f), trace.P(g.total))
}

// Groups returns how many groups begin with location p.
func (g *TileGroups) Groups(p trace.P) (n int) {
	for n < len(g.open) && p%groupSize(n+1) == 0 {
		n++
	}
	return n
}

// Add takes a finished location. It writes groups that are complete with it to the array of tiles of their first location.
func (g *TileGroups) Add(l *Loaded, tiles func(head trace.P) *xtf.ArrayBuilder) {
	for i := range g.open {
		o := &g.open[i]
		head, end := g.span(i+1, l.P)
		if o.sum == nil || o.head != head {
			g.setAway(i)
			*o = group{head: head, sum: newBinSum(g.t, g.levels, groupRows)}
		}
		long := make([]LongCall, len(l.Long))
		for k, c := range l.Long {
			long[k] = LongCall{c.Bin, c.Ticks, uint64(l.P)}
		}
		o.add(&l.Bins, long)
		if l.P+1 == end && head >= g.ranges[g.rank].First {
			g.write(i, tiles(head))
		}
	}
}

// setAway encodes the newest group of a size for a lower rank, if it begins there.
func (g *TileGroups) setAway(i int) {
	if o := &g.open[i]; o.sum != nil && o.head < g.ranges[g.rank].First {
		g.away[i] = appendLong(o.sum.bins.AppendBinary(nil), o.long)
		o.sum = nil
	}
}

// add adds bins and the longest calls in them.
func (o *group) add(b *Bins, long []LongCall) {
	level := o.sum.bins.Level
	o.sum.add(b)
	for ; level < o.sum.bins.Level; level++ {
		o.long = widened(o.long)
	}
	for level := b.Level; level < o.sum.bins.Level; level++ {
		long = widened(long)
	}
	o.long = totals.Union(o.long, long, func(x, y *LongCall) int { return cmp.Compare(x.Bin, y.Bin) }, func(x, y *LongCall) { x.add(y.Ticks, y.N) })
}

// write writes a complete group.
func (g *TileGroups) write(i int, out *xtf.ArrayBuilder) {
	o := &g.open[i]
	_, end := g.span(i+1, o.head)
	w := tileWriter{t: g.t, f: uint8(i + 1), locations: uint64(end - o.head), out: out}
	w.write(&o.sum.bins, o.long, o.sum.bins.Level, g.levels.Top)
	o.sum = nil
}

// Join sends the parts of groups that ranks share to the ranks on which they begin, which write them. Parts are joined on their way in a
// binomial tree of the group's ranks, so that one of n ranks receives at most log2 n times. It comes after Add of all locations.
// Collective.
func (g *TileGroups) Join(c mpi.Comm, tiles func(head trace.P) *xtf.ArrayBuilder) error {
	own := g.ranges[g.rank]
	if own.First >= own.End {
		return nil
	}
	var sent []*mpi.Request
	var failed error
	for i := range g.open {
		head, end := g.span(i+1, own.First)
		if head >= own.First {
			continue
		}
		members := g.members(head, end)
		if err := g.collect(c, i, members, &failed); err != nil {
			return err
		}
		if g.setAway(i); failed != nil {
			g.away[i] = nil // a damaged part, so that the receiver fails too
		}
		at := slices.Index(members, g.rank)
		r, err := c.Isend(g.away[i], members[at&(at-1)], tagTiles+i)
		if err != nil {
			return err
		}
		sent = append(sent, r)
	}
	for i := range g.open {
		head, end := g.span(i+1, own.End-1)
		if head < own.First || end <= own.End {
			continue
		}
		if err := g.collect(c, i, g.members(head, end), &failed); err != nil {
			return err
		}
		if failed == nil {
			g.write(i, tiles(head))
		}
	}
	if err := c.Wait(sent...); err != nil {
		return err
	}
	return failed
}

// members returns the ranks with locations in [head, end), ascending.
func (g *TileGroups) members(head, end trace.P) (list []int) {
	first := sort.Search(len(g.ranges), func(r int) bool { return g.ranges[r].End > head })
	for r := first; r < len(g.ranges) && g.ranges[r].First < end; r++ {
		if g.ranges[r].First < g.ranges[r].End {
			list = append(list, r)
		}
	}
	return list
}

// collect receives the parts of the newest group of a size from this rank's children in the tree. It keeps the error of a damaged part in
// failed, and receives the others.
func (g *TileGroups) collect(c mpi.Comm, i int, members []int, failed *error) error {
	_, children := mpi.Tree(slices.Index(members, g.rank), len(members))
	for _, child := range children {
		b, _, err := c.Recv(members[child], tagTiles+i)
		if err != nil {
			return err
		}
		if *failed == nil {
			*failed = g.receive(i, b)
		}
	}
	return nil
}

// receive adds the part of another rank.
func (g *TileGroups) receive(i int, part []byte) error {
	r := reader{varint.Read(part)}
	b, err := r.bins(len(g.t.class))
	if err != nil {
		return err
	}
	long, err := r.long()
	if err != nil || r.Failed() || b.Level > g.levels.Top || g.open[i].sum == nil {
		return fmt.Errorf("tiles of groups: %w", errSummary)
	}
	g.open[i].add(&b, long)
	return nil
}

// appendLong appends the longest calls as variable-length integers.
func appendLong(dst []byte, list []LongCall) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	last := uint64(0)
	for _, c := range list {
		dst = varint.Append(dst, c.Bin-last, c.Ticks, c.N)
		last = c.Bin
	}
	return dst
}
