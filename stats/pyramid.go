package stats

import (
	"math"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// eventsPerRow is the least number of events for each TIMEBIN row below the top level, over all locations.
const eventsPerRow = 64

// wholeRows is the most rows of bins of the sum over all locations. Memory: 48 bytes each.
const wholeRows = 1 << 16

// Levels are the levels of bins that all locations have: TIMEBIN rows from Finest to Top, TILE rows from Tile to Top. Top has a single bin,
// the profile.
type Levels struct{ Finest, Tile, Top uint8 }

// LevelCounts counts the rows that locations would have at each level.
type LevelCounts struct {
	Rows  [BinLevels]int64
	Least int64 // the coarsest of the locations' finest levels
	Calls int64 // of the location with most calls
	place []int32
}

// Add counts the rows of a location. It destroys b.
func (c *LevelCounts) Add(t *Tables, b *Bins) {
	if c.place == nil {
		c.place = make([]int32, len(t.class))
	}
	c.Least = max(c.Least, int64(b.Level))
	calls := uint64(0)
	for i := range b.Rows {
		calls += b.Rows[i].Calls
	}
	c.Calls = max(c.Calls, int64(calls))
	for level := b.Level; level < BinLevels; level++ {
		c.Rows[level] += int64(len(b.Rows))
		if n := len(b.Rows); n > 0 && b.Rows[n-1].Bin > 0 {
			b.raise(level+1, c.place)
		}
	}
}

// Levels chooses for TIMEBIN the finest level that has, together with the levels above it, at most one row for eventsPerRow events of all
// locations; for TILE the finest level with callsPerTile calls in a bin. last is the run's last event.
func (c *LevelCounts) Levels(last, events uint64) Levels {
	l := Levels{Top: Level(last)}
	l.Finest, l.Tile = l.Top, l.Top
	for l.Tile > 0 && int64(l.Tile) > c.Least && uint64(c.Calls)/callsPerTile > last>>(2*(l.Tile-1)) {
		l.Tile--
	}
	rows := uint64(0)
	for l.Finest > 0 && int64(l.Finest) > c.Least {
		rows += uint64(c.Rows[l.Finest-1])
		if rows > events/eventsPerRow {
			break
		}
		l.Finest--
	}
	return l
}

// Reduce adds up the counts and events of all ranks, and sets last to the greatest one. Collective.
func (c *LevelCounts) Reduce(comm mpi.Comm, last, events *uint64) error {
	most, sums := []int64{c.Least, c.Calls, int64(min(*last, math.MaxInt64))}, append(c.Rows[:], int64(*events))
	if err := comm.AllreduceInt64(sums, mpi.Sum); err != nil {
		return err
	}
	*events = uint64(sums[copy(c.Rows[:], sums)])
	err := comm.AllreduceInt64(most, mpi.Max)
	c.Least, c.Calls, *last = most[0], most[1], uint64(most[2])
	return err
}

// writePyramid writes the rows of the levels below the top, finest first, and then the profile as the top. It does not change b. place is
// as for coarsened.
func writePyramid(t *Tables, b *Bins, profile []RegionProfile, top uint8, place []int32, out *xtf.ArrayBuilder) {
	var buf []BinRow
	rows := b.Rows
	for level := b.Level; level < top; level++ {
		for i := range rows {
			r := &rows[i]
			row, _ := out.Append()
			x := t.timeBin(int(r.Region), xtf.BinKey(level, r.Bin), &r.BinSums)
			x.Put(row)
		}
		buf = coarsened(buf[:0], rows, place)
		rows = buf
	}
	for i := range profile {
		if p := &profile[i]; p.Calls > 0 {
			row, _ := out.Append()
			x := t.timeBin(int(p.Region), xtf.BinKey(top, 0), &BinSums{p.Calls, p.Inclusive, p.Exclusive, p.Bytes})
			x.Put(row)
		}
	}
}

// timeBin returns the TIMEBIN row of a region.
func (t *Tables) timeBin(region int, key uint64, s *BinSums) xtf.TimeBin {
	r := xtf.TimeBin{
		Key: key, Region: trace.Undefined, Class: uint32(t.class[region]),
		Count: s.Calls, Inclusive: s.Inclusive, Exclusive: s.Exclusive, Bytes: s.Bytes,
	}
	if region < len(t.Defs.Regions) {
		r.Region = t.Defs.Regions[region].Ref
	}
	return r
}

// binSum adds up the bins of locations, at the finest level with at most most rows. A part of the locations never has more rows than all,
// so the level of the whole sum depends neither on their order nor on how they are distributed over ranks.
type binSum struct {
	bins  Bins
	top   uint8
	most  int
	spare []BinRow
	own   []BinRow
	place []int32
}

func newBinSum(t *Tables, levels Levels, most int) *binSum {
	return &binSum{bins: Bins{Level: levels.Finest}, top: levels.Top, most: most, place: make([]int32, len(t.class))}
}

// add adds bins of any level up to the top. It does not change b.
func (s *binSum) add(b *Bins) {
	s.bins.raise(b.Level, s.place)
	rows := b.Rows
	for level := b.Level; level < s.bins.Level; level++ {
		s.own = coarsened(s.own[:0], rows, s.place)
		rows = s.own
	}
	sum := merged(s.spare[:0], s.bins.Rows, rows)
	s.spare, s.bins.Rows = s.bins.Rows, sum
	for len(s.bins.Rows) > s.most && s.bins.Level < s.top {
		s.bins.raise(s.bins.Level+1, s.place)
	}
}
