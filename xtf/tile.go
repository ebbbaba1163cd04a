package xtf

import (
	"math"
	"math/bits"
)

// Indices of TILE.share.
const (
	ShareOwn = iota // outside of MPI and file I/O
	ShareP2P        // calls that may wait
	ShareColl
	ShareBarrier
	ShareRMA
	ShareOther // the rest of MPI
	ShareIO    // file I/O, in MPI too
	ShareStart // point-to-point calls that do not wait
	NumShares
)

// TileKey returns the key of a TILE row of 16^f locations.
func TileKey(f, level uint8, bin uint64) uint64 { return uint64(f)<<groupBits | BinKey(level, bin) }

// TileSums computes a tile from the TIMEBIN rows of its bin, which are added in their order. The zero value is an empty bin.
type TileSums struct {
	ticks  [NumShares]uint64
	calls  uint64
	most   uint64 // exclusive ticks of region
	region uint32
	any    bool
}

// Add adds a row of the bin. The region of the tile is that with most exclusive ticks; of equal ones it is the first.
func (s *TileSums) Add(r *TimeBin) {
	share := &s.ticks[ShareOf(r.Class)]
	if *share += r.Exclusive; *share < r.Exclusive {
		*share = Never // limited as in a row
	}
	s.calls += r.Count
	if !s.any || r.Exclusive > s.most {
		s.any, s.most, s.region = true, r.Exclusive, r.Region
	}
}

// Tile returns the tile with this key for a number of locations, at least one. Shares are parts of the bin's width times the locations,
// rounded down. Rows stops at its greatest value.
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
