package verify

import (
	"math"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// tileGroups checks the tiles of groups of 16, 256, ... locations: all calls of a
// group are those of its locations, and the location with the longest call is one
// of them. O(locations and rows), with 8 bytes for each location.
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
