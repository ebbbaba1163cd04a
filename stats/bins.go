package stats

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

// Bins is the profile of one location, or of several, in bins of time. Bin b of level l is the ticks [b * 4^l, (b+1) * 4^l). A region
// without a row in a bin has only zeros there.
type Bins struct {
	Level uint8
	Rows  []BinRow // ascending (Bin, Region)
}

// BinRow is one region in one bin. Memory: 48 bytes.
type BinRow struct {
	Bin    uint64
	Region int32 // index in Tables
	BinSums
}

// BinSums are the values of a row. They add up to those of RegionProfile over
// the bins of a level.
type BinSums struct {
	Calls     uint64 // entered in the bin
	Inclusive uint64 // ticks of the bin in the region or in regions that it calls
	Exclusive uint64 // ticks of the bin in the region itself
	Bytes     uint64 // of operations whose record is in the bin
}

func (s *BinSums) add(o *BinSums) {
	s.Calls += o.Calls
	s.Inclusive += o.Inclusive
	s.Exclusive += o.Exclusive
	s.Bytes += o.Bytes
}

func (s *BinSums) sub(o *BinSums) {
	s.Calls -= o.Calls
	s.Inclusive -= o.Inclusive
	s.Exclusive -= o.Exclusive
	s.Bytes -= o.Bytes
}

// BinLevels is one more than the coarsest level, at which one bin has all times of 64 bits.
const BinLevels = 33

// binBits is the number of bits of the bin in a key of TIMEBIN.
const binBits = 52

// Level returns the finest level at which bin 0 has ticks 0 to last.
func Level(last uint64) uint8 { return uint8((bits.Len64(last) + 1) / 2) }

// coarsened appends to dst, which is empty, rows at the next coarser level; dst may be rows[:0]. place is scratch memory with an element
// for each region, with any content. O(rows), and a sort within each bin.
func coarsened(dst, rows []BinRow, place []int32) []BinRow {
	first := 0 // first row of the bin in progress
	for i := range rows {
		r := rows[i]
		r.Bin >>= 2
		if len(dst) > first && dst[first].Bin != r.Bin {
			sortRegions(dst[first:])
			first = len(dst)
		}
		if k := int(place[r.Region]); k >= first && k < len(dst) && dst[k].Region == r.Region {
			dst[k].add(&r.BinSums)
			continue
		}
		place[r.Region] = int32(len(dst))
		dst = append(dst, r)
	}
	sortRegions(dst[first:])
	return dst
}

func sortRegions(rows []BinRow) {
	slices.SortFunc(rows, func(a, b BinRow) int { return cmp.Compare(a.Region, b.Region) })
}

func compareBins(a, b BinRow) int {
	return cmp.Or(cmp.Compare(a.Bin, b.Bin), cmp.Compare(a.Region, b.Region))
}

// EachCall calls f for the MPI calls of each row: begin of the bin in which they were entered, its ticks, and number of calls.
func (t *Tables) EachCall(b *Bins, f func(at, ticks, calls uint64)) {
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Calls > 0 && t.class[r.Region]&trace.ClassMPI != 0 {
			f(r.Bin<<(2*b.Level), 1<<(2*b.Level), r.Calls)
		}
	}
}

// raise makes b coarser, up to a level, in place.
func (b *Bins) raise(level uint8, place []int32) {
	for ; b.Level < level; b.Level++ {
		b.Rows = coarsened(b.Rows[:0], b.Rows, place)
	}
}

// merged appends the sum of a and b, which have the same level, to dst, which must not overlap them.
func merged(dst, a, b []BinRow) []BinRow {
	for len(a) > 0 && len(b) > 0 {
		switch c := compareBins(a[0], b[0]); {
		case c < 0:
			dst, a = append(dst, a[0]), a[1:]
		case c > 0:
			dst, b = append(dst, b[0]), b[1:]
		default:
			r := a[0]
			r.add(&b[0].BinSums)
			dst, a, b = append(dst, r), a[1:], b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// AppendBinary appends the bins as variable-length integers: the level, the
// number of rows, and the rows with their bins as differences.
func (b *Bins) AppendBinary(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(b.Level))
	dst = binary.AppendUvarint(dst, uint64(len(b.Rows)))
	last := uint64(0)
	for i := range b.Rows {
		r := &b.Rows[i]
		dst = varint.Append(dst, r.Bin-last, uint64(r.Region), r.Calls, r.Inclusive, r.Exclusive, r.Bytes)
		last = r.Bin
	}
	return dst
}

// leastBinRow is the least number of bytes of an encoded row.
const leastBinRow = 6

// bins decodes Bins of so many regions.
func (r *reader) bins(regions int) (Bins, error) {
	level, n := r.Next(), r.Next()
	if level >= BinLevels || n > uint64(r.Len())/leastBinRow {
		return Bins{}, fmt.Errorf("bins of time: %w", errSummary)
	}
	b := Bins{Level: uint8(level), Rows: make([]BinRow, n)}
	last := uint64(0)
	for i := range b.Rows {
		bin, region := last+r.Next(), r.Next()
		b.Rows[i] = BinRow{bin, int32(region), BinSums{r.Next(), r.Next(), r.Next(), r.Next()}}
		ordered := i == 0 || bin > last || bin == last && int32(region) > b.Rows[i-1].Region
		if region >= uint64(regions) || bin < last || !ordered {
			return Bins{}, fmt.Errorf("bins of time: %w", errSummary)
		}
		last = bin
	}
	return b, nil
}
