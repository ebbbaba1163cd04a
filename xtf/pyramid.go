package xtf

import "math/bits"

// Keys of TIMEBIN and TILE are group<<60 | level<<52 | bin. Bin b of a level has the ticks from b * 4^level to (b+1) * 4^level - 1.
const (
	binBits   = 52
	groupBits = 60
	topLevel  = 32 // a bin of 4^32 ticks has all times
)

// Pyramid finds rows of TIMEBIN, or rows of TILE for one size of groups, by level and time. It can be used by several goroutines if the
// array can.
type Pyramid struct {
	a      *Array
	group  uint64
	Finest uint8 // level of the narrowest bins
	Top    uint8 // level of the widest ones; without rows both are 0
}

// Pyramid returns the rows of an array with this group in their key: 0 for TIMEBIN, f for tiles of 16^f locations. It costs two descents
// and the reading of two keys.
func (a *Array) Pyramid(group uint8) (*Pyramid, error) {
	p := &Pyramid{a: a, group: uint64(group&15) << groupBits}
	first, err := a.Rank(p.group)
	if err != nil {
		return nil, err
	}
	end, err := a.RankAfter(p.group | (1<<groupBits - 1))
	if err != nil || first >= end {
		return p, err
	}
	low, err := a.At(first)
	if err != nil {
		return nil, err
	}
	high, err := a.At(end - 1)
	if err != nil {
		return nil, err
	}
	p.Finest, p.Top = BinLevel(low), BinLevel(high)
	if p.Top > topLevel {
		return nil, a.where(corrupt("a bin of level %d", p.Top), "page", (end-1)/uint64(a.typ.PageRows))
	}
	return p, nil
}

// BinLevel returns the level in a key of TIMEBIN or TILE.
func BinLevel(key uint64) uint8 { return uint8(key &^ (15 << groupBits) >> binBits) }

// BinSpan returns the first and the last tick of the bin of a key. The level must be at most 32.
func BinSpan(key uint64) (first, last uint64) {
	shift := 2 * BinLevel(key)
	bin := key & (1<<binBits - 1)
	return bin << shift, (bin+1)<<shift - 1
}

// Level returns the level for a picture of [t1, t2) that is width pixels wide: that of the widest bins that are not wider than a pixel, or
// Finest.
func (p *Pyramid) Level(t1, t2 uint64, width int) uint8 {
	pixel := (t2 - min(t1, t2)) / uint64(max(width, 1)) // ticks, rounded down
	level := uint8(max(bits.Len64(pixel)-1, 0) / 2)
	return min(max(level, p.Finest), p.Top)
}

// Find returns the rows n1 to n2-1: those of a level whose bins overlap [t1, t2). It costs two descents, whatever the length.
func (p *Pyramid) Find(level uint8, t1, t2 uint64) (n1, n2 uint64, err error) {
	if t1 >= t2 || level > topLevel {
		return 0, 0, nil
	}
	most := uint64(1<<binBits - 1)
	first, last := t1>>(2*level), (t2-1)>>(2*level)
	if first > most {
		return 0, 0, nil
	}
	if n1, err = p.a.Rank(p.group | BinKey(level, first)); err != nil {
		return 0, 0, err
	}
	n2, err = p.a.RankAfter(p.group | BinKey(level, min(last, most)))
	return n1, n2, err
}
