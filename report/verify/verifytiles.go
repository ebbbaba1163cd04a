package verify

import (
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// compareTiles makes the tiles of the levels that TIMEBIN has from its rows, and
// looks at the calls that tiles name. O(rows).
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

// tilesFrom compares tiles with those of the rows of bins from number from on.
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
