package stats

import (
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// A binner keeps the finest level with at most Tables.leastBins rows and one for each eventsPerBin events so far. leastBins is one row for
// each announcedPerBin events of an average location, by the definitions. It is for locations with few events: all locations share the
// coarsest level of any.
const (
	fewestBins      = 64
	mostLeastBins   = 4096
	announcedPerBin = 16
	eventsPerBin    = 32
)

// leastBins returns how many rows a location may have, however few events it has.
func leastBins(d *trace.Definitions) uint64 {
	announced, n := uint64(0), uint64(max(d.NumLocations(), 1))
	for p := range trace.P(d.NumLocations()) {
		announced += min(d.Location(p).Events, 1<<40)
	}
	return min(max(announced/n/announcedPerBin, fewestBins), mostLeastBins)
}

// binner cuts the profile of a location at the borders of time bins, as events come. At a border it writes a row for each region that was
// open since the last one, with the growth of its profile. When there are too many rows, four bins become one.
//
// Cost: O(regions open in the bin) at a border; between borders only that of the longest call. Memory: 48 bytes for each row, 24 for each
// bin, 80 for each region.
type binner struct {
	bins    Bins
	bin     uint64 // the current one
	last    uint64 // its last tick
	regions []binState
	open    []int32 // regions with an open call, outermost first
	left    []int32 // regions whose calls ended in the bin, or whose row widen took back
	order   []int32
	long    []LongCall // by bin; only with rows
	place   []int32    // for coarsened
	used    []int32    // regions that were called
}

// binState is the state of a region.
type binState struct {
	since  uint64  // enter of the outermost open call
	before BinSums // sums of the bins before the current one
	left   bool    // it is in binner.left
	used   bool    // it is in binner.used
}

// regionSums is the profile of the location, and its bins.
type regionSums struct {
	at      *location
	profile []RegionProfile
	bins    binner
	spent   uint64 // exclusive times in the profile are complete up to this instant
}

// again returns the sums of another location, and reuses the memory: only the regions that were called are cleared.
func (s *regionSums) again(regions int) regionSums {
	if s.profile == nil {
		s.profile, s.bins.regions, s.bins.place = make([]RegionProfile, regions), make([]binState, regions), make([]int32, regions)
	}
	for _, i := range s.bins.used {
		s.profile[i], s.bins.regions[i] = RegionProfile{}, binState{}
	}
	bins := binner{regions: s.bins.regions, place: s.bins.place, used: s.bins.used[:0]}
	bins.bins.Rows, bins.long = s.bins.bins.Rows[:0], s.bins.long[:0]
	return regionSums{profile: s.profile, bins: bins}
}

// called returns the profile of the regions that were called.
func (s *regionSums) called() []RegionProfile {
	slices.Sort(s.bins.used)
	list := make([]RegionProfile, len(s.bins.used))
	for k, i := range s.bins.used {
		list[k] = s.profile[i]
		list[k].Region = i
	}
	return list
}

// use notes that a region was called.
func (b *binner) use(region int32) *binState {
	s := &b.regions[region]
	if !s.used {
		s.used = true
		b.used = append(b.used, region)
	}
	return s
}

// opened takes the begin of the outermost call of a region.
func (b *binner) opened(region int32, now uint64) {
	b.use(region).since = now
	b.open = append(b.open, region)
}

// closed takes the end of the outermost call of a region. Calls are nested, so it is the one opened last.
func (b *binner) closed(region int32) {
	b.open = b.open[:len(b.open)-1]
	b.leave(region)
}

func (b *binner) leave(region int32) {
	if s := b.use(region); !s.left {
		s.left = true
		b.left = append(b.left, region)
	}
}

// nextBin ends the bins before that of now. It runs before the event at now, if now is after b.last.
func (s *regionSums) nextBin() {
	b := &s.bins
	for s.at.now > b.last {
		s.endBin(b.last + 1)
		b.bin++
		if len(b.open) == 0 {
			b.bin = s.at.now >> (2 * b.bins.Level)
		}
		for b.bin >= 1<<binBits || b.bin > 0 && uint64(len(b.bins.Rows)) > s.at.t.leastBins+s.at.totals.Events/eventsPerBin {
			b.widen()
		}
		b.last = (b.bin+1)<<(2*b.bins.Level) - 1
	}
}

// endBin writes the rows of the current bin, which ends at border.
func (s *regionSums) endBin(border uint64) {
	s.spend(border)
	b := &s.bins
	b.order = append(b.order[:0], b.open...)
	for _, i := range b.left {
		b.regions[i].left = false
		if s.profile[i].open == 0 {
			b.order = append(b.order, i)
		}
	}
	b.left = b.left[:0]
	slices.Sort(b.order)
	if rows := b.bins.Rows; cap(rows)-len(rows) < len(b.order) {
		b.bins.Rows = slices.Grow(rows, max(len(b.order), cap(rows))) // as Builder.addGaps in ccg
	}
	for _, i := range b.order {
		r, p := &b.regions[i], &s.profile[i]
		now := BinSums{p.Calls + uint64(p.open), p.Inclusive, p.Exclusive, p.Bytes}
		if p.open > 0 {
			now.Inclusive += border - r.since
		}
		gained := now
		if gained.sub(&r.before); gained != (BinSums{}) {
			b.bins.Rows = append(b.bins.Rows, BinRow{b.bin, i, gained})
			r.before = now
		}
	}
}

// widen makes bins four times as wide. It takes back the rows of the current bin, which endBin then writes anew.
func (b *binner) widen() {
	b.bins.raise(b.bins.Level+1, b.place)
	b.long = widened(b.long)
	b.bin >>= 2
	n := len(b.bins.Rows)
	for ; n > 0 && b.bins.Rows[n-1].Bin == b.bin; n-- {
		r := &b.bins.Rows[n-1]
		b.regions[r.Region].before.sub(&r.BinSums)
		b.leave(r.Region)
	}
	b.bins.Rows = b.bins.Rows[:n]
}

// spend adds the time since the newest enter, leave or border to the innermost region.
func (s *regionSums) spend(now uint64) {
	if top := len(s.at.stack) - 1; top >= 0 {
		s.profile[s.at.stack[top].index].Exclusive += now - s.spent
	}
	s.spent = now
}
