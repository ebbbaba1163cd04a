package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// compareChannels checks that every row is in exactly one channel, its own.
func (c *locationCheck) compareChannels() error {
	var sum, entries uint64
	var bytes [3]uint64 // by direction
	rows := c.chans.Rows(0, c.chans.Len())
	for i := range c.channels {
		x := &c.channels[i]
		c.counts.channels++
		for k := uint64(0); k < x.Count && rows.Next(); k++ {
			n := xtf.U64(rows.Row(), 0)
			if m, ok := c.maybe[n]; ok && x.Direction == xtf.ChannelSend {
				c.entries += m.entry
				c.carried[xtf.ChannelSend] += m.bytes
				delete(c.maybe, n)
			}
			sum += spread(x.Key, uint64(x.Tag)<<2|uint64(x.Direction), n)
			entries++
		}
		bytes[min(x.Direction, xtf.ChannelColl)] += x.Bytes
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if entries != c.chans.Len() {
		c.add("CHANNEL", nil, "the channels have %d entries, CHAN has %d", entries, c.chans.Len())
	}
	if sum != c.entries {
		c.add("CHAN", nil, "the channels' entries are not the rows of P2P and COLL")
	}
	if bytes != c.carried {
		c.add("CHANNEL", nil, "channels carry %d bytes (sent, received, collective), the rows %d", bytes, c.carried)
	}
	return nil
}

func (c *locationCheck) compareSums() error {
	dir, err := c.r.File.Dir(xtf.Proc(c.p))
	if err != nil {
		return err
	}
	v := &c.sums
	v[xtf.ItemEvents] = dir.Events
	v[xtf.ItemFirst], v[xtf.ItemLast] = c.stored[xtf.ItemFirst], c.stored[xtf.ItemLast] // no row has them
	v[xtf.ItemTime] = v[xtf.ItemLast] - min(v[xtf.ItemFirst], v[xtf.ItemLast])
	if c.r.Kept.Has(withoutInit) {
		v[xtf.ItemTime] = c.program.clip(0, xtf.Never)
	}
	if stored := c.stored[xtf.ItemMarker]; v[xtf.ItemMarker] > 0 && stored > v[xtf.ItemMarker] {
		v[xtf.ItemMarker] = stored // markers of two calls reach from the first to the second
	}
	c.overhead()
	v.Derive()
	for i := range xtf.NumItems {
		if (i <= xtf.ItemLast || i >= xtf.ItemDeviceCall && i <= xtf.ItemThreadWait && c.stored[xtf.ItemMeasured] > 0) && v[i] != c.stored[i] {
			c.add("COMP", nil, "%s is %d, the rows add up to %d", i, c.stored[i], v[i])
		}
	}
	return nil
}

// overhead allows for overhead that comes from records: it has no rows, and is outside MPI.
func (c *locationCheck) overhead() {
	v := &c.sums
	told := c.stored[xtf.ItemOverhead] - min(c.stored[xtf.ItemOverhead], v[xtf.ItemOverhead])
	if told == 0 {
		return
	}
	v[xtf.ItemOverhead] += told
	for _, x := range xtf.States {
		if i := x.Item; x.Flag != 0 && c.stored[i] < v[i] { // such a record takes time from this call
			v[i] = c.stored[i]
		}
	}
}

// compareProfile compares TIMEBIN with the calls.
func (c *locationCheck) compareProfile() error {
	t := results.NewProfileTable(c.r)
	if err := t.Add(xtf.Proc(c.p)); err != nil {
		return err
	}
	last := len(t.Sums) - 1
	t.Sums[last].Sums[1] = c.profile[last].Sums[1] // inclusive time of unknown regions is not told apart
	eachUnlike(c.r, t.Sums, c.profile, func(what string, got, want uint64) {
		c.add("TIMEBIN", nil, "%s: %d, the rows add up to %d", what, got, want)
	})
	return nil
}

// eachUnlike calls f for sums of regions that differ from exact ones by more than their bounds.
func eachUnlike(r *results.Run, got, exact []results.RegionSum, f func(what string, got, exact uint64)) {
	for i := range got {
		region := "undefined regions"
		if i < len(r.Defs.Regions) {
			region = numbers.Clean(r.RegionName(r.Defs.Regions[i].Ref), 60)
		}
		off := [...]uint64{1: got[i].Off[0], 2: got[i].Off[1], 3: 0} // only times are off
		for k, what := range [...]string{"calls", "inclusive", "exclusive", "bytes"} {
			if a, b := got[i].Sums[k], exact[i].Sums[k]; max(a, b)-min(a, b) > off[k] {
				f(what+" of "+region, a, b)
			}
		}
	}
}

// instance is a collective operation, from its members' rows.
type instance struct {
	lastEnter, firstLeave, lastLeave uint64    // of the members
	said                             [3]uint64 // what the first member's row says
	members                          uint64
}

// maxInstances bounds the memory for collectives.
const maxInstances = 4 << 20

// collectives checks that the members of each operation agree about it, and that the times that they give are the latest and
// earliest of all.
func (v *Verified) collectives(r *results.Run) error {
	comms := map[uint32][]instance{}
	total := uint64(0)
	for p := range trace.P(r.Defs.NumLocations()) {
		a, err := r.File.Array(xtf.Proc(p), xtf.TypeColl)
		if err != nil {
			return err
		}
		if total += a.Len(); total > maxInstances {
			v.skip("collectives: more than %d rows, members are not compared", maxInstances)
			return nil
		}
		err = results.EachRow(a, 0, a.Len(), func(x *xtf.Coll) {
			if x.Ordinal < total && !r.Defs.IsSelf(x.Comm) {
				comms[x.Comm] = join(comms[x.Comm], x)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(comms)) {
		for i, x := range comms[ref] {
			if got := [3]uint64{x.lastEnter, x.firstLeave, x.lastLeave}; x.members > 0 && got != x.said {
				v.add("COLL", "communicator %d, collective %d: last enter, first and last leave are %d, the rows of its %d members say %d", ref, i, got, x.members, x.said)
			}
		}
	}
	return nil
}

func join(list []instance, x *xtf.Coll) []instance {
	for uint64(len(list)) <= x.Ordinal {
		list = append(list, instance{firstLeave: xtf.Never})
	}
	i := &list[x.Ordinal]
	said := [3]uint64{x.LastEnter, x.FirstLeave, x.LastLeave}
	if i.members == 0 {
		i.said = said
	} else if i.said != said {
		i.said = [3]uint64{xtf.Never, xtf.Never, xtf.Never} // members disagree: equal to nothing
	}
	i.members++
	i.lastEnter, i.firstLeave, i.lastLeave = max(i.lastEnter, x.Post), min(i.firstLeave, x.End), max(i.lastLeave, x.End)
	return list
}

// whole compares the rows of the whole run with those of the locations, or, without rows, with their graphs.
func (v *Verified) whole(r *results.Run, all *results.ProfileTable) error {
	if err := v.codes(r); err != nil {
		return err
	}
	if all.From == results.SourceGraph && all.Shared == nil {
		return nil // reported with the graph
	}
	t := results.NewProfileTable(r)
	if err := t.Add(xtf.WholeRun); err != nil {
		return err
	}
	var events uint64
	for p := range trace.P(r.Defs.NumLocations()) {
		if err := all.AddLocation(p); err != nil {
			return err
		}
		dir, err := r.File.Dir(xtf.Proc(p))
		if err != nil {
			return err
		}
		events += dir.Events
	}
	eachUnlike(r, all.Sums, t.Sums, func(what string, sum, row uint64) {
		v.add("TIMEBIN", "%s: the whole run's row has %d, the locations add up to %d", what, row, sum)
	})
	dir, err := r.File.Dir(xtf.WholeRun)
	if err == nil && dir.Events != events {
		v.add("DIRECTORY", "%d events in the whole run, %d in its locations", dir.Events, events)
	}
	return err
}

// codes compares the totals of diagnostics with those of the locations. Problems of the definitions are in the totals only.
func (v *Verified) codes(r *results.Run) error {
	whole, err := r.Codes()
	if err != nil {
		return err
	}
	sum := map[trace.Code]*results.CodeTotal{}
	for p := range xtf.Proc(r.File.Procs()) {
		err := results.Load(r, p, func(d *xtf.Diag) {
			if d.Detail != xtf.DiagTotal {
				return
			}
			t := sum[trace.Code(d.Code)]
			if t == nil {
				t = &results.CodeTotal{Code: trace.Code(d.Code)}
				sum[t.Code] = t
			}
			t.Count += d.Count
			t.Worst = max(t.Worst, d.Worst)
			t.Locations++
		})
		if err != nil {
			return fmt.Errorf("location %d: diagnostics: %w", r.Defs.Location(trace.P(p)).Ref, err)
		}
	}
	if !slices.IsSortedFunc(whole, func(a, b results.CodeTotal) int { return cmp.Compare(a.Code, b.Code) }) {
		v.add("DIAG", "codes of the whole run are not in order")
	}
	for _, w := range whole {
		got := sum[w.Code]
		if got == nil {
			got = &results.CodeTotal{}
		}
		if w.Locations != got.Locations || w.Count < got.Count || w.Worst < got.Worst || w.Locations > 0 && w.Count < w.Locations {
			v.add("DIAG", "%s: %d in %d locations, the locations have %d in %d", results.CodeName(w.Code), w.Count, w.Locations, got.Count, got.Locations)
		}
		delete(sum, w.Code)
	}
	if len(sum) > 0 {
		v.add("DIAG", "%d codes of locations are not in the whole run", len(sum))
	}
	return nil
}

// levelSums are sums over the rows of one level of TIMEBIN that do not depend on the order. Each value is weighted by its bin and
// region, modulo 2^64, so that sums of locations add up and different levels differ.
type levelSums struct {
	rows   uint64
	own    uint64 // by the rows' bins
	coarse uint64 // by the bins of the level above
}

func (s *levelSums) add(bin uint64, x *xtf.TimeBin) {
	s.rows++
	for i, v := range [...]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes} {
		s.own += v * spread(bin, uint64(x.Region), uint64(i))
		s.coarse += v * spread(bin>>2, uint64(x.Region), uint64(i))
	}
}

// pyramid is the sums of the levels of an array of TIMEBIN.
type pyramid struct {
	levels [256]levelSums
	found  []string // what is wrong
}

// runPyramid reads the time bins of p. Levels must follow one another without gaps up to one with a single bin, bins must ascend,
// a region must be in a bin only once, and each level must be the sum of the one below. O(rows).
func runPyramid(r *results.Run, p xtf.Proc) (*pyramid, error) {
	y := &pyramid{}
	a, err := r.File.Array(p, xtf.TypeTimeBin)
	if err != nil {
		return nil, err
	}
	place := func(ref uint32) int {
		if i, ok := r.Defs.RegionIndex(ref); ok {
			return i
		}
		return len(r.Defs.Regions)
	}
	var last xtf.TimeBin
	n := uint64(0)
	err = results.EachRow(a, 0, a.Len(), func(x *xtf.TimeBin) {
		level, bin := x.Key>>52, x.Key&(1<<52-1)
		switch order := cmp.Or(cmp.Compare(last.Key, x.Key), cmp.Compare(place(last.Region), place(x.Region))); {
		case level > 32:
			y.add("row %d is of level %d", n, level)
			level = 255
		case n > 0 && order >= 0:
			y.add("row %d is not after the one before", n)
		case n > 0 && level > last.Key>>52+1:
			y.add("level %d is missing", level-1)
		}
		y.levels[level].add(bin, x)
		last = *x
		n++
	})
	if err != nil || n == 0 {
		return y, err
	}
	if last.Key&(1<<52-1) != 0 {
		y.add("the top level has more than one bin")
	}
	finest, top := y.span()
	for l := finest; l < top; l++ {
		if y.levels[l].coarse != y.levels[l+1].own {
			y.add("level %d is not the sum of level %d", l+1, l)
		}
	}
	return y, nil
}

func (y *pyramid) add(format string, args ...any) {
	if len(y.found) < keptFindings {
		y.found = append(y.found, fmt.Sprintf(format, args...))
	}
}

// span returns the lowest level with rows, -1 if there is none, and the highest one, the profile.
func (y *pyramid) span() (finest, top int) {
	finest = -1
	for l := range y.levels {
		if y.levels[l].rows > 0 {
			if finest < 0 {
				finest = l
			}
			top = l
		}
	}
	return finest, top
}

// comparePyramid checks the levels of a location's time bins.
func (c *locationCheck) comparePyramid() error {
	y, err := runPyramid(c.r, xtf.Proc(c.p))
	if err != nil {
		return err
	}
	for _, what := range y.found {
		c.add("TIMEBIN", nil, "%s", what)
	}
	return nil
}

// pyramids checks that the whole run's time bins are the sum of the locations'.
func (v *Verified) pyramids(r *results.Run, rows bool) error {
	whole, err := runPyramid(r, xtf.WholeRun)
	if err != nil {
		return err
	}
	for _, what := range whole.found {
		v.add("TIMEBIN", "whole run: %s", what)
	}
	finest, top := whole.span()
	if !rows || finest < 0 {
		return nil
	}
	var sum uint64 // of the locations' rows, at the whole run's finest level
	for p := range xtf.Proc(r.File.Procs()) {
		y, err := runPyramid(r, p)
		if err != nil {
			return err
		}
		if low, high := y.span(); low >= 0 && (low > finest || high != top) {
			v.add("TIMEBIN", "location %d has levels %d to %d, the whole run %d to %d", p, low, high, finest, top)
			return nil
		}
		sum += y.levels[finest].own
	}
	if sum != whole.levels[finest].own {
		v.add("TIMEBIN", "level %d of the whole run is not the sum of the locations'", finest)
	}
	return nil
}

// compareTiles computes the tiles of the levels of TIMEBIN from its rows, and checks the calls that tiles name. O(rows).
func (c *locationCheck) compareTiles() error {
	tiles, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeTile)
	if err != nil {
		return err
	}
	bins, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeTimeBin)
	if err != nil {
		return err
	}
	own, err := tiles.RankAfter(xtf.TileKey(1, 0, 0) - 1) // without those of groups
	if err != nil {
		return err
	}
	if err := c.longestCalls(tiles, own); err != nil {
		return err
	}
	low, _, ok := bins.Bounds()
	first, _, _ := tiles.Bounds()
	if !ok || own == 0 {
		if ok != (own > 0) {
			c.add("TILE", nil, "%d rows, TIMEBIN has %d", own, bins.Len())
		}
		return nil
	}
	low = max(low, first) >> 52 << 52 // the finest level of both
	n, err := tiles.Rank(low)
	if err != nil {
		return err
	}
	from, err := bins.Rank(low)
	if err != nil {
		return err
	}
	return c.tilesFrom(bins, from, tiles.Rows(n, own))
}

// tilesFrom compares tiles with the rows of bins, from row from on.
func (c *locationCheck) tilesFrom(bins *xtf.Array, from uint64, list *xtf.Cursor) error {
	var sums xtf.TileSums
	key, any := uint64(0), false
	end := func() {
		var got xtf.Tile
		if !list.Next() {
			c.add("TILE", nil, "the tile of level %d, bin %d is missing", xtf.BinLevel(key), key&(1<<52-1))
			return
		}
		got.Load(list.Row())
		if want := sums.Tile(key, 1, got.Longest); got != want {
			c.at("TILE", list.N(), "is %+v, TIMEBIN says %+v", got, want)
		}
		sums = xtf.TileSums{}
	}
	err := results.EachRow(bins, from, bins.Len(), func(x *xtf.TimeBin) {
		if x.Key != key && any {
			end()
		}
		key, any = x.Key, true
		sums.Add(x)
	})
	if err != nil {
		return err
	}
	if end(); list.Next() {
		c.add("TILE", nil, "there are tiles after the last bin of TIMEBIN")
	}
	return list.Err()
}

// longestCalls checks that the calls that tiles name begin in their bins.
func (c *locationCheck) longestCalls(tiles *xtf.Array, own uint64) error {
	calls, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeCall)
	if err != nil {
		return err
	}
	list := tiles.Rows(0, own)
	for list.Next() {
		var x xtf.Tile
		if x.Load(list.Row()); (x.Longest == xtf.Never) != (x.Rows == 0) {
			c.at("TILE", list.N(), "%d calls begin, the longest is row %d", x.Rows, x.Longest)
		}
		if x.Longest == xtf.Never {
			continue
		}
		first, last := xtf.BinSpan(x.Key)
		if x.Longest >= calls.Len() {
			c.at("TILE", list.N(), "row %d of %d calls", x.Longest, calls.Len())
			continue
		}
		t, err := calls.At(x.Longest)
		if err != nil {
			return err
		}
		if t < first || t > last {
			c.at("TILE", list.N(), "call %d begins at tick %d, outside of [%d, %d]", x.Longest, t, first, last)
		}
	}
	return list.Err()
}

// tileGroups checks the tiles of groups of 16, 256, ... locations: the calls of a group are the sum of its locations' calls, and
// the location with the longest call is one of them. O(locations and rows), with 8 bytes for each location.
func (v *Verified) tileGroups(r *results.Run) error {
	calls := make([]uint64, r.File.Procs()) // in the top tile of each location
	arrays := func(p xtf.Proc, f uint8) (*xtf.Array, uint64, uint64, error) {
		a, err := r.File.Array(p, xtf.TypeTile)
		if err != nil {
			return nil, 0, 0, err
		}
		first, err := a.Rank(xtf.TileKey(f, 0, 0))
		if err != nil {
			return nil, 0, 0, err
		}
		end, err := a.RankAfter(xtf.TileKey(f+1, 0, 0) - 1)
		return a, first, end, err
	}
	for p := range calls {
		a, first, end, err := arrays(xtf.Proc(p), 0)
		if err != nil {
			return err
		}
		err = results.EachRow(a, max(end, first+1)-1, end, func(x *xtf.Tile) {
			calls[p] = uint64(x.Rows)
		})
		if err != nil {
			return err
		}
	}
	for f, size := uint8(1), 16; size < 16*len(calls) && f < 15; f, size = f+1, size*16 {
		for head := 0; head < len(calls); head += size {
			end := min(head+size, len(calls))
			a, n1, n2, err := arrays(xtf.Proc(head), f)
			if err != nil {
				return err
			}
			var want, got uint64
			for _, n := range calls[head:end] {
				want += n
			}
			err = results.EachRow(a, n1, n2, func(x *xtf.Tile) {
				got = uint64(x.Rows) // the last row is the top
				if x.Longest != xtf.Never && (x.Longest < uint64(head) || x.Longest >= uint64(end)) {
					v.add("TILE", "locations %d to %d: the longest call is one of location %d", head, end-1, x.Longest)
				}
			})
			if err != nil {
				return err
			}
			if got != min(want, math.MaxUint32) {
				v.add("TILE", "locations %d to %d: %d calls, the locations have %d", head, end-1, got, want)
			}
		}
	}
	return nil
}
