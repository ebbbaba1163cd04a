package xtf

import (
	"math"
	"math/bits"
)

// Indices of TILE.share.
const (
	ShareOwn = iota // outside of MPI and files
	ShareP2P        // calls that may wait
	ShareColl
	ShareBarrier
	ShareRMA
	ShareOther // the rest of MPI
	ShareIO    // of MPI too
	ShareStart // point-to-point calls that do not wait
	NumShares
)

// TileKey is the key of a TILE row of 16^f locations.
func TileKey(f, level uint8, bin uint64) uint64 { return uint64(f)<<groupBits | BinKey(level, bin) }

// TileSums makes a tile of the TIMEBIN rows of its bin, added in their order.
// The zero value is an empty bin.
type TileSums struct {
	ticks  [NumShares]uint64
	calls  uint64
	most   uint64 // exclusive ticks of region
	region uint32
	any    bool
}

// Add adds a row of the bin. The region with most exclusive ticks is the tile's,
// of equal ones the first.
func (s *TileSums) Add(r *TimeBin) {
	share := &s.ticks[ShareOf(r.Class)]
	if *share += r.Exclusive; *share < r.Exclusive {
		*share = Never // a row stops there as well
	}
	s.calls += r.Count
	if !s.any || r.Exclusive > s.most {
		s.any, s.most, s.region = true, r.Exclusive, r.Region
	}
}

// Tile returns the tile of a key that locations have together, at least one: shares
// are of the bin's width for all of them, rounded down, and rows stays at the
// largest number that it holds.
func (s *TileSums) Tile(key, locations, longest uint64) Tile {
	shift := 2 * min(BinLevel(key), topLevel)
	t := Tile{Key: key, Region: s.region, Rows: uint32(min(s.calls, math.MaxUint32)), Longest: longest}
	for i, ticks := range s.ticks {
		hi, lo := bits.Mul64(ticks, 255)
		lo, _ = bits.Div64(hi%locations, lo, locations)
		t.Share[i] = uint8(hi/locations<<(64-shift) | lo>>shift)
	}
	return t
}
