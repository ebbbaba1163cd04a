package xtf

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestTileShares compares shares with big integers, and adds them up.
func TestTileShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	classes := []uint32{0, ClassMPI | ClassP2P, ClassMPI | ClassColl | ClassNxN, ClassMPI | ClassColl | ClassBarrier, ClassMPI | ClassRMA, ClassMPI | ClassMgmt, ClassIO, ClassMPI | ClassP2P | ClassStart}
	for range 2000 {
		level := uint8(rng.IntN(33))
		left := uint64(1)<<(2*level) - 1 // one tick less than the bin, so that it fits
		if rng.IntN(3) > 0 {
			left = rng.Uint64() % max(left, 1)
		}
		locations := 1 + rng.Uint64N(3)*rng.Uint64N(1000)
		var s TileSums
		var want [8]uint8
		most, region := uint64(0), uint32(0)
		for share, class := range classes {
			ticks := left
			if share < 7 && left > 0 {
				ticks = rng.Uint64N(left)
			}
			left -= ticks
			s.Add(&TimeBin{Region: uint32(share), Class: class, Count: 1 << 30, Exclusive: ticks})
			x := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(255))
			x.Rsh(x.Div(x, new(big.Int).SetUint64(locations)), uint(2*level))
			want[share] = uint8(x.Uint64())
			if ticks > most {
				most, region = ticks, uint32(share)
			}
		}
		got := s.Tile(TileKey(2, level, 5), locations, 7)
		if got.Share != want || got.Region != region || got.Rows != 1<<32-1 || got.Key != 2<<60|BinKey(level, 5) || got.Longest != 7 {
			t.Fatalf("level %d: %+v, want shares %v of region %d", level, got, want, region)
		}
	}
}
