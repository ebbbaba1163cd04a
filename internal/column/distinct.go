package column

import (
	"math/bits"
	"slices"
)

const (
	dictBits  = 10
	dictSlots = 1 << dictBits // twice the most distinct values that pay

	tallySize = 7424 // small enough for the first-level cache
)

// tally counts small numbers.
type tally struct {
	counts [tallySize]uint16
	used   [(tallySize + 63) / 64]uint64
}

func (t *tally) add(n uint64) {
	t.counts[n]++
	t.used[n/64] |= 1 << (n % 64)
}

// len returns how many numbers were added.
func (t *tally) len() int {
	n := 0
	for _, w := range t.used {
		n += bits.OnesCount64(w)
	}
	return n
}

// drain empties t and calls f for each number in ascending order.
func (t *tally) drain(f func(n uint64, count uint16)) {
	for i, w := range t.used {
		for ; w != 0; w &= w - 1 {
			n := uint64(64*i + bits.TrailingZeros64(w))
			f(n, t.counts[n])
			t.counts[n] = 0
		}
		t.used[i] = 0
	}
}

// distinctValues finds the distinct values of a block and numbers them: by a
// tally of value - base where these are small, otherwise by a hash table.
type distinctValues struct {
	base   uint64
	n      int
	values [BlockSize / 2]uint64 // the first n: ascending
	counts [BlockSize / 2]uint16
	small  bool
	tally  tally

	slots      [dictSlots]dictSlot
	generation uint32
	sorted     [BlockSize / 2]uint64
}

// dictSlot is a slot of an open-addressing table; it is free unless its
// generation is the current one.
type dictSlot struct {
	value      uint64
	generation uint32
	number     uint16
	count      uint16
}

// find finds the distinct values of v, which are base to base + span; false if
// there are more than limit, at most half of a block. Of small values the tally
// is then what it was counted to be.
func (d *distinctValues) find(v []uint64, base, span uint64, limit int) bool {
	d.base, d.n = base, 0
	t := &d.tally
	t.drain(func(uint64, uint16) {})
	if d.small = span < tallySize; !d.small {
		return d.hash(v, limit)
	}
	for _, x := range v {
		t.add(x - base)
	}
	if t.len() > limit {
		return false
	}
	t.drain(func(x uint64, count uint16) {
		d.values[d.n], d.counts[d.n] = base+x, count
		d.n++
	})
	return true
}

func (d *distinctValues) hash(v []uint64, limit int) bool {
	d.generation++
	if d.generation == 0 {
		d.slots = [dictSlots]dictSlot{}
		d.generation = 1
	}
	last, at := ^v[0], uint64(0)
	n, most := 0, uint64(0)
	for _, x := range v {
		if x == last {
			d.slots[at].count++
			continue
		}
		last = x
		if at = d.slot(x); d.slots[at].generation == d.generation {
			d.slots[at].count++
			continue
		}
		if n == limit {
			return false
		}
		d.slots[at] = dictSlot{value: x, generation: d.generation, count: 1}
		d.values[n] = x - d.base
		most |= x - d.base
		n++
	}
	d.n = n
	d.sort(uint(bits.Len64(most)))
	for i, x := range d.values[:n] {
		d.values[i] = x + d.base
		d.counts[i] = d.slots[d.slot(x+d.base)].count
	}
	return true
}

// sort sorts the values found, of w bits: many of them byte by byte.
func (d *distinctValues) sort(w uint) {
	from, to := d.values[:d.n], d.sorted[:d.n]
	if d.n < 96 {
		slices.Sort(from)
		return
	}
	passes := (w + 15) / 16 * 2 // even, so that the values end where they were
	for p := range passes {
		var next [257]uint16
		shift := 8 * p
		for _, x := range from {
			next[x>>shift&255+1]++
		}
		for i := 1; i < len(next); i++ {
			next[i] += next[i-1]
		}
		for _, x := range from {
			c := x >> shift & 255
			to[next[c]] = x
			next[c]++
		}
		from, to = to, from
	}
}

// slot returns the slot of x, or the free one where it belongs.
func (d *distinctValues) slot(x uint64) uint64 {
	i := x * 0x9E3779B97F4A7C15 >> (64 - dictBits)
	for d.slots[i].generation == d.generation && d.slots[i].value != x {
		i = (i + 1) % dictSlots
	}
	return i
}

// list returns the values found.
func (d *distinctValues) list() []uint64 { return d.values[:d.n] }

// numbers fills dst with the numbers of v among the values found.
func (d *distinctValues) numbers(dst, v []uint64) {
	if !d.small {
		for i, x := range d.list() {
			d.slots[d.slot(x)].number = uint16(i)
		}
		for i, x := range v {
			dst[i] = uint64(d.slots[d.slot(x)].number)
		}
		return
	}
	t := &d.tally.counts
	for i, x := range d.list() {
		t[x-d.base] = uint16(i)
	}
	for i, x := range v {
		dst[i] = uint64(t[x-d.base])
	}
	for _, x := range d.list() {
		t[x-d.base] = 0
	}
}
