package report

import "github.com/coppice-hpc/coppice/xtf"

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
	if err := c.longestCalls(tiles); err != nil {
		return err
	}
	low, _, ok := bins.Bounds()
	first, last, any := tiles.Bounds()
	if !ok || !any {
		if ok != any {
			c.add("TILE", nil, "%d rows, TIMEBIN has %d", tiles.Len(), bins.Len())
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
	list := tiles.Rows(n, tiles.Len())
	var sums xtf.TileSums
	key, any := low, false
	end := func() {
		var got xtf.Tile
		if !list.Next() {
			c.add("TILE", nil, "the tile of level %d, bin %d is missing", xtf.BinLevel(key), key&(1<<52-1))
			return
		}
		got.Load(list.Row())
		if want := sums.Tile(min(xtf.BinLevel(key), 32), key&(1<<52-1), got.Longest); got != want {
			c.at("TILE", list.N(), "is %+v, TIMEBIN says %+v", got, want)
		}
		sums = xtf.TileSums{}
	}
	err = eachRow(bins, from, bins.Len(), func(row []byte) {
		var x xtf.TimeBin
		if x.Load(row); x.Key != key && any {
			end()
		}
		key, any = x.Key, true
		sums.Add(&x)
	})
	if err != nil {
		return err
	}
	if end(); list.Next() {
		c.add("TILE", nil, "there are tiles behind the last bin of TIMEBIN, up to key %#x", last)
	}
	return list.Err()
}

// longestCalls checks that the calls that tiles name begin in their bins.
func (c *locationCheck) longestCalls(tiles *xtf.Array) error {
	calls, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeCall)
	if err != nil {
		return err
	}
	list := tiles.Rows(0, tiles.Len())
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
