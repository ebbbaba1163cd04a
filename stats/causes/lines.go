package causes

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// The time line of a location in a slab is encoded as varints, a head and then pieces of time, in order:
//
//	head   waits that are over | ticks in waits before | count | count times key, node, ticks before the slab
//	piece  number<<1 | pieceWaits | key and node, of a new number | ticks
//
// A number stands for a slot, a key and node: 0 for waits, then in the order of the head, then as they come. Two records are no pieces:
// 0 | begin of a wait that goes on after the slab; and pieceWaits | region of the innermost call in the pieces after it, where that is
// not the region of their paths; undefined where it is again.
const (
	pieceWaits uint32 = 1 << iota // the piece is in a wait; the number is what it would be without
	pieceBits         = iota
)

// waitSlot is the slot of time in waits.
var waitSlot = slotKey{termKey(0, xtf.ActivityWait), 0}

// lineSlab is the time line of a location in a slab. Memory: 200 bytes, 24 for each key, 12 for each piece, and 8 for each total at every
// block of pieces.
type lineSlab struct {
	start  uint64    // the slab begins after this instant
	done   uint64    // waits that are over at start
	begun  uint64    // begin of a wait that goes on after the slab; else Never
	keys   []slotKey // by number; after order sorted
	base   []uint64  // ticks before the slab, by key
	ends   []uint64  // of the pieces
	ids    []uint32  // number of the key, after sum its index in keys; and flags
	wait   uint32    // index of waitSlot in keys
	block  int       // pieces between two rows of sums
	sums   []uint64  // ticks in the slab, by block and key
	near   [2]int    // where find begins to look for the begin and the end of a span
	others []otherRegion
}

// lineOrder is the memory of order and sum.
type lineOrder struct {
	keys  []slotKey // by number
	base  []uint64
	list  []uint32 // numbers by index
	place []uint32 // indexes by number
	now   []uint64
}

// otherRegion is the region of the innermost call from a piece on; undefined: that of the path.
type otherRegion struct {
	from   int
	region uint32
}

// leastBlock is the least number of pieces of a block.
const leastBlock = 32

// pieceBytes is about the length of a piece.
const pieceBytes = 3

// parse reads a time line and makes its sums.
func (x *lineSlab) parse(b []byte, start uint64, o *lineOrder) error {
	err := x.read(b, start)
	x.order(o)
	x.sum(o)
	return err
}

// read reads a time line.
func (x *lineSlab) read(b []byte, start uint64) error {
	r := varint.Read(b)
	x.start, x.done, x.begun = start, r.Next(), xtf.Never
	x.ends, x.ids, x.others = x.ends[:0], x.ids[:0], x.others[:0]
	x.keys, x.base = append(x.keys[:0], waitSlot), append(x.base[:0], r.Next())
	for range r.Count(3) {
		x.key(&r)
		x.base[len(x.base)-1] = r.Next()
	}
	ends, ids := slices.Grow(x.ends, r.Len()/pieceBytes), slices.Grow(x.ids, r.Len()/pieceBytes)
	for at := start; r.Len() > 0; {
		list, i, most := r.Rest(), 0, byte(min(len(x.keys)<<pieceBits, 0x80))
		for ; i+2 < len(list) && list[i] < most && list[i] >= 1<<pieceBits && list[i+1]&list[i+2] < 0x80; i += 2 { // fast path: a known number and few ticks
			ids = append(ids, uint32(list[i]))
			at += uint64(list[i+1] & 0x7F)
			if list[i+1] >= 0x80 {
				i++
				at += uint64(list[i+1]) << 7
			}
			ends = append(ends, at)
		}
		if r.Bytes(uint64(i)); r.Len() == 0 {
			break
		}
		h := r.Next()
		switch n := h >> pieceBits; {
		case h == 0:
			x.begun = r.Next()
			continue
		case h == uint64(pieceWaits):
			x.others = append(x.others, otherRegion{len(ids), r.Uint32()})
			continue
		case n == uint64(len(x.keys)):
			x.key(&r)
		case n > uint64(len(x.keys)):
			r.Fail()
		}
		if at += r.Next(); !r.Failed() {
			ends, ids = append(ends, at), append(ids, uint32(h))
		}
	}
	x.ends, x.ids, x.near = ends, ids, [2]int{}
	return failure(&r)
}

// key reads a new key.
func (x *lineSlab) key(r *varint.Reader) {
	k := slotKey{r.Next(), r.Uint32()}
	if activityOf(k.key) >= xtf.NumActivities {
		r.Fail()
	}
	x.keys, x.base = append(x.keys, k), append(x.base, 0)
}

// order sorts the keys.
func (x *lineSlab) order(o *lineOrder) {
	o.keys, o.base = append(o.keys[:0], x.keys...), append(o.base[:0], x.base...)
	o.list, o.place = o.list[:0], slices.Grow(o.place[:0], len(x.keys))[:len(x.keys)]
	for i := range x.keys {
		o.list = append(o.list, uint32(i))
	}
	slices.SortFunc(o.list, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(o.keys[a].key, o.keys[b].key), cmp.Compare(o.keys[a].node, o.keys[b].node))
	})
	for n, i := range o.list {
		o.place[i] = uint32(n)
		x.keys[n], x.base[n] = o.keys[i], o.base[i]
	}
	x.wait = o.place[0]
}

// sum makes a row of sums for each block of pieces, and replaces the numbers of pieces by indexes of the sorted keys.
func (x *lineSlab) sum(o *lineOrder) {
	n := len(x.keys)
	x.block = max(leastBlock, n)
	x.sums = slices.Grow(x.sums[:0], (len(x.ends)+x.block-1)/x.block*n)
	o.now = slices.Grow(o.now[:0], n)[:n]
	clear(o.now)
	now, place, at := o.now, o.place, x.start
	for ends, ids := x.ends, x.ids; len(ends) > 0; {
		x.sums = append(x.sums, now...)
		block := min(x.block, len(ends))
		for i, id := range ids[:block] {
			of := place[id>>pieceBits]
			ids[i] = of<<pieceBits | id&pieceWaits
			if id&pieceWaits != 0 {
				of = x.wait
			}
			now[of] += ends[i] - at
			at = ends[i]
		}
		ends, ids = ends[block:], ids[block:]
	}
}

// from returns the begin of a piece.
func (x *lineSlab) from(i int) uint64 {
	if i == 0 {
		return x.start
	}
	return x.ends[i-1]
}

// last returns the end of the last piece.
func (x *lineSlab) last() uint64 {
	if len(x.ends) == 0 {
		return x.start
	}
	return x.ends[len(x.ends)-1]
}

// find returns the first piece that ends after an instant. It searches from near on, where it was found before.
func (x *lineSlab) find(near *int, t uint64) int {
	lo, hi := *near, *near
	for step := 1; lo > 0 && x.ends[lo-1] > t; step *= 2 {
		lo, hi = max(lo-step, 0), lo-1
	}
	for step := 1; hi < len(x.ends) && x.ends[hi] <= t; step *= 2 {
		lo, hi = hi+1, min(hi+step, len(x.ends))
	}
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); x.ends[m] > t {
			hi = m
		} else {
			lo = m + 1
		}
	}
	*near = lo
	return lo
}

// regionOf returns the region of the innermost call in a piece; undefined if it is that of the path.
func (x *lineSlab) regionOf(i int) uint32 {
	n := sort.Search(len(x.others), func(k int) bool { return x.others[k].from > i })
	if n == 0 {
		return trace.Undefined
	}
	return x.others[n-1].region
}

// tally adds up ticks by index of keys.
type tally struct {
	ticks []uint64
	set   []uint64 // bits of indexes with ticks
}

func (a *tally) add(i uint32, ticks uint64) {
	a.set[i/64] |= 1 << (i % 64)
	a.ticks[i] += ticks
}

// begin makes room for n keys.
func (a *tally) begin(n int) {
	if len(a.ticks) < n {
		a.ticks, a.set = make([]uint64, n), make([]uint64, n/64+1)
	}
}

// span adds the time in [a, b) of the slab.
func (x *lineSlab) span(t *tally, a, b uint64) {
	if a >= b {
		return
	}
	end := min(x.find(&x.near[1], b-1), max(len(x.ends), 1)-1) // the piece that holds b, or the last one
	i := x.find(&x.near[0], a)
	if first, last := i/x.block+1, end/x.block; last > first {
		x.pieces(t, i, first*x.block, a, b)
		n := len(x.keys)
		was, is := x.sums[first*n:(first+1)*n], x.sums[last*n:(last+1)*n]
		for k, v := range is {
			if v > was[k] {
				t.add(uint32(k), v-was[k])
			}
		}
		i = last * x.block
		a = x.from(i)
	}
	x.pieces(t, i, len(x.ends), a, b)
}

// pieces adds the time of pieces i to end-1 in [a, b).
func (x *lineSlab) pieces(t *tally, i, end int, a, b uint64) {
	ends, ids := x.ends[:end], x.ids[:end]
	for ; i < len(ends) && a < b; i++ {
		e, place := min(ends[i], b), ids[i]>>pieceBits
		if ids[i]&pieceWaits != 0 {
			place = x.wait
		}
		if a < e {
			t.add(place, e-a)
		}
		a = e
	}
}

// before adds the time before the slab.
func (x *lineSlab) before(t *tally) {
	for i, v := range x.base {
		if v > 0 {
			t.add(uint32(i), v)
		}
	}
}

// take appends the terms of the tally, in the order of the keys, and clears it.
func (x *lineSlab) take(t *tally, dst []term) []term {
	for k, set := range t.set[:len(x.keys)/64+1] {
		t.set[k] = 0
		for ; set != 0; set &= set - 1 {
			i := k*64 + bits.TrailingZeros64(set)
			if v := t.ticks[i]; v > 0 {
				dst = append(dst, term{x.keys[i].key, x.keys[i].node, v})
			}
			t.ticks[i] = 0
		}
	}
	return dst
}

// on returns the slot of the piece that ends at an instant or holds it; in a wait the slot that it would have without.
func (x *lineSlab) on(t uint64) (k slotKey) {
	if i := x.find(&x.near[1], t-1); i < len(x.ids) {
		k = x.keys[x.ids[i]>>pieceBits]
	}
	return k
}
