package stats

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// callsPerTile is the least average number of calls in a bin of the finest level of tiles, on the location with most calls.
const callsPerTile = 256

// LongCall is the longest call that begins in a bin. Memory: 24 bytes.
type LongCall struct {
	Bin   uint64
	Ticks uint64
	N     uint64 // row in CALL, the lowest of equally long ones
}

func (c *LongCall) add(ticks, n uint64) {
	if ticks > c.Ticks || ticks == c.Ticks && n < c.N {
		c.Ticks, c.N = ticks, n
	}
}

// began makes room for the longest call that begins in the current bin.
func (b *binner) began() {
	if n := len(b.long); n == 0 || b.long[n-1].Bin != b.bin {
		b.long = append(b.long, LongCall{Bin: b.bin, N: xtf.Never})
	}
}

// ended takes a call that began at enter.
func (b *binner) ended(enter, ticks, n uint64) {
	bin := enter >> (2 * b.bins.Level)
	i := len(b.long) - 1
	if b.long[i].Bin != bin {
		i, _ = slices.BinarySearchFunc(b.long, bin, func(c LongCall, bin uint64) int { return cmp.Compare(c.Bin, bin) })
	}
	b.long[i].add(ticks, n)
}

// widened returns the longest calls at the next coarser level, in place.
func widened(list []LongCall) []LongCall {
	out := list[:0]
	for _, c := range list {
		c.Bin >>= 2
		if n := len(out); n > 0 && out[n-1].Bin == c.Bin {
			out[n-1].add(c.Ticks, c.N)
		} else {
			out = append(out, c)
		}
	}
	return out
}

// long decodes what appendLong wrote.
func (r *reader) long() ([]LongCall, error) {
	n := r.Next()
	if n > uint64(r.Len())/3 {
		return nil, fmt.Errorf("longest calls: %w", errSummary)
	}
	var list []LongCall
	last := uint64(0)
	for range n {
		c := LongCall{last + r.Next(), r.Next(), r.Next()}
		if len(list) > 0 && c.Bin <= last {
			return nil, fmt.Errorf("longest calls: %w", errSummary)
		}
		last = c.Bin
		list = append(list, c)
	}
	return list, nil
}

// tileWriter writes the tiles of a location, or of a group of locations.
type tileWriter struct {
	t         *Tables
	f         uint8 // size of the group, 0 for a location
	locations uint64
	out       *xtf.ArrayBuilder
	buf       []BinRow
	place     []int32 // for coarsened
}

// write writes the tiles from level first to top. The level of b must not be above first. It changes neither b nor long.
func (w *tileWriter) write(b *Bins, long []LongCall, first, top uint8) {
	if w.place == nil {
		w.place = make([]int32, len(w.t.class))
	}
	rows := b.Rows
	long = slices.Clone(long)
	for level := b.Level; level <= top; level++ {
		if level >= first {
			w.writeLevel(level, rows, long)
		}
		w.buf = coarsened(w.buf[:0], rows, w.place)
		rows, long = w.buf, widened(long)
	}
}

func (w *tileWriter) writeLevel(level uint8, rows []BinRow, long []LongCall) {
	for len(rows) > 0 {
		var sums xtf.TileSums
		bin := rows[0].Bin
		for len(rows) > 0 && rows[0].Bin == bin {
			r := w.t.timeBin(int(rows[0].Region), 0, &rows[0].BinSums)
			sums.Add(&r)
			rows = rows[1:]
		}
		longest := xtf.Never
		if len(long) > 0 && long[0].Bin == bin {
			longest, long = long[0].N, long[1:]
		}
		row, _ := w.out.Append()
		x := sums.Tile(xtf.TileKey(w.f, level, bin), w.locations, longest)
		x.Put(row)
	}
}
