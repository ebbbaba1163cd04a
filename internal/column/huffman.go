package column

import (
	"math/bits"
)

const (
	codeBits   = 10             // of the longest code
	maxSymbols = 512            // in a block
	startBits  = 5              // what the first code length is compared with
	headBits   = 6 + 6 + 9      // precision, order, number of symbols
	maxSpread  = 2*codeBits - 1 // zig-zag difference of two code lengths, at most

	tablePrecision = 8 // its symbols fit a tally: 2^8 + 56 * 2^7 = tallySize
)

// precisions are those tried, finest first. 64 is a dictionary of values, 1
// codes bit lengths.
var precisions = [...]uint{64, 12, 10, 8, 7, 6, 5, 4, 2, 1}

// symbolOf returns the symbol of x at precision s, its leading s bits and their
// position, and how many low bits remain.
func symbolOf(x uint64, s uint) (symbol uint64, low uint) {
	if n := uint(bits.Len64(x)); n > s {
		low = n - s
	}
	return uint64(low)<<((s-1)&63) + x>>(low&63), low // masks spare tests of the shifts
}

// symbolStart returns the smallest value of a symbol and its number of low bits;
// false if no value has it.
func symbolStart(symbol uint64, s uint) (start uint64, low uint, ok bool) {
	if symbol>>(s-1) < 2 {
		return symbol, 0, true
	}
	e := symbol>>(s-1) - 1
	if e > 64-uint64(s) {
		return 0, 0, false
	}
	return (symbol - e<<(s-1)) << e, uint(e), true
}

// symbol is a symbol of a block.
type symbol struct {
	start  uint64 // smallest value
	number uint64
	count  uint32
	code   uint16
	length uint8
	low    uint8 // bits after the code
}

// huffman is the scratch memory of the Huffman pipeline.
type huffman struct {
	weight    [BlockSize + 1]uint32 // c * log2(c), 256ths of a bit
	values    []symbol              // finest symbols of the block
	symbols   []symbol              // of the precision chosen
	scratch   []symbol
	order     []uint16 // symbols by count
	aux       []uint16
	depth     []uint32
	numbers   [tallySize]uint16 // while encoding: positions in symbols
	precision uint
	golomb    uint // order of the code for differences of symbols
	bits      int  // head, table and codes
}

func newHuffman() *huffman {
	h := &huffman{
		values: make([]symbol, 0, BlockSize), symbols: make([]symbol, 0, BlockSize), scratch: make([]symbol, 0, BlockSize),
		order: make([]uint16, maxSymbols), aux: make([]uint16, maxSymbols), depth: make([]uint32, maxSymbols),
	}
	for c := uint32(1); c <= BlockSize; c++ {
		h.weight[c] = c * log2(c)
	}
	return h
}

// log2 returns the logarithm of c in 256ths, by squaring the mantissa.
func log2(c uint32) uint32 {
	n := bits.Len32(c) - 1
	x, l := uint64(c)<<(31-n), uint32(n)
	for range 8 {
		x = x * x >> 31
		l = l<<1 | uint32(x>>32)
		x >>= x >> 32
	}
	return l
}

// load fills values from the distinct ones.
func (h *huffman) load(d *distinctValues) {
	h.values = h.values[:d.n]
	for i, x := range d.list() {
		h.values[i].start, h.values[i].count = x-d.base, uint32(d.counts[i])
	}
}

// count fills values with the symbols of v - base at tablePrecision.
func (h *huffman) count(t *tally, v []uint64, base uint64) {
	for _, x := range v {
		n, _ := symbolOf(x-base, tablePrecision)
		t.add(n)
	}
	list, k := h.values[:BlockSize], 0
	t.drain(func(n uint64, count uint16) {
		start, low, _ := symbolStart(n, tablePrecision)
		s := &list[k]
		s.start, s.number, s.count, s.low = start, n, uint32(count), uint8(low)
		k++
	})
	h.values = list[:k]
}

// gather fills values with the symbols at tablePrecision of what t has counted.
func (h *huffman) gather(t *tally) {
	list, k := h.values[:BlockSize], 0
	t.drain(func(x uint64, count uint16) {
		list[k].start, list[k].count = x, uint32(count)
		k++
	})
	h.values = coarsen(h.values, list[:k], tablePrecision)
}

// coarsen fills dst, whose memory may be that of finer, with the symbols of precision s.
// It takes no branch that the values decide.
func coarsen(dst, finer []symbol, s uint) []symbol {
	dst = dst[:len(finer)]
	k, last := -1, ^uint64(0)
	for i := range finer {
		f := &finer[i]
		start, count := f.start, f.count
		n, low := symbolOf(start, s)
		differs := n ^ last
		fresh := uint32((differs | -differs) >> 63)
		last = n
		k += int(fresh)
		d := &dst[k]
		d.start, d.number, d.low = start>>(low&63)<<(low&63), n, uint8(low)
		d.count = d.count&(fresh-1) + count
	}
	return dst[:k+1]
}

// plan finds the precision with the smallest estimate, the entropy of the
// symbols plus low bits and table, and the codes for it. It reports false if no
// precision has 2 to maxSymbols symbols, or the result has more bits than limit
// for sure.
func (h *huffman) plan(n int, exact bool, limit int) bool {
	h.precision = 0
	best, lower, most := uint64(1)<<63, uint64(0), uint64(limit+estimateError)<<8
	top := uint(bits.Len64(h.values[len(h.values)-1].start))
	list := h.values
	for i, s := range precisions {
		if !exact && s > tablePrecision || i+1 < len(precisions) && precisions[i+1] >= top {
			continue // the next one has the same symbols
		}
		if exact || s < tablePrecision {
			list = coarsen(h.scratch, list, s)
		}
		if len(list) < 2 {
			break
		}
		data := h.entropy(list, n)
		if data > best+2*uint64(n) || h.precision == 0 && data > most {
			break // it grows with the symbols
		}
		if len(list) > maxSymbols {
			continue
		}
		if e := data + table(list); e <= best {
			best, h.precision = e, s
			lower = e - uint64(len(list))*(perLength-256)
		}
	}
	if h.precision == 0 || lower > most {
		return false
	}
	h.symbols = coarsen(h.symbols, h.values, h.precision)
	h.golomb = golombOrder(h.symbols)
	h.lengths()
	h.codes()
	h.bits = h.size()
	return h.bits <= limit
}

const (
	perLength     = 640               // estimate for a code length, 2.5 bits; it takes 1 at least
	estimateError = BlockSize/256 + 1 // bits by which rounded logarithms may be too high
)

// golombOrder fits the code for differences to their mean.
func golombOrder(list []symbol) uint {
	mean := list[len(list)-1].number / uint64(len(list))
	return uint(max(0, bits.Len64(mean)-2))
}

// entropy returns the bits of n values, in 256ths: at a coarser precision there are at least as many. Rounded logarithms add or
// take away less than n.
func (h *huffman) entropy(list []symbol, n int) uint64 {
	weight, low := h.weight[n], uint32(0)
	for i := range list {
		s := &list[i]
		weight -= h.weight[s.count]
		low += s.count * uint32(s.low)
	}
	return uint64(weight) + uint64(low)<<8
}

// table returns an estimate of the bits of the table, in 256ths.
func table(list []symbol) uint64 {
	k := golombOrder(list)
	size := 0
	for i := 1; i < len(list); i++ {
		size += golombLen(list[i].number-list[i-1].number-1, k)
	}
	return uint64(size)<<8 + uint64(len(list))*perLength
}

// lengths computes optimal code lengths, cut to codeBits.
func (h *huffman) lengths() {
	n := len(h.symbols)
	order, a := h.order[:n], h.depth[:n]
	h.sort(order)
	for i, k := range order {
		a[i] = h.symbols[k].count
	}
	depths(a)
	var of [codeBits + 1]int // number of codes by length
	for _, d := range a {
		of[min(d, codeBits)]++
	}
	limit(&of)
	i := n
	for l := range of {
		for range of[l] {
			i--
			h.symbols[order[i]].length = uint8(l)
		}
	}
}

// sort fills order with the numbers of the symbols, by count and then by number:
// six bits of the counts at a time.
func (h *huffman) sort(order []uint16) {
	from, to := h.aux[:len(order)], order
	most := uint32(0)
	for i := range from {
		from[i] = uint16(i)
		most = max(most, h.symbols[i].count)
	}
	for shift := 0; most>>shift != 0; shift += 6 {
		var next [65]int
		for i := range h.symbols {
			next[h.symbols[i].count>>shift&63+1]++
		}
		for i := 1; i < len(next); i++ {
			next[i] += next[i-1]
		}
		for _, k := range from {
			class := h.symbols[k].count >> shift & 63
			to[next[class]] = k
			next[class]++
		}
		from, to = to, from
	}
	copy(order, from)
}

// depths replaces the weights a, ascending, by code lengths. Source: Moffat and
// Katajainen, In-Place Calculation of Minimum-Redundancy Codes, 1995.
func depths(a []uint32) {
	n := len(a)
	leaf, root := 0, 0
	take := func(next int) uint32 { // the lighter one of leaves and trees
		if leaf < n && (root >= next || a[leaf] <= a[root]) {
			leaf++
			return a[leaf-1]
		}
		w := a[root]
		a[root] = uint32(next) // its parent
		root++
		return w
	}
	for next := range n - 1 {
		w := take(next)
		w += take(next)
		a[next] = w
	}
	a[n-2] = 0
	for i := n - 3; i >= 0; i-- { // parents to depths of inner nodes
		a[i] = a[a[i]] + 1
	}
	next, free, inner := n-1, 1, n-2
	for depth := uint32(0); next >= 0; depth++ {
		trees := 0
		for inner >= 0 && a[inner] == depth {
			trees++
			inner--
		}
		for ; free > trees; free-- {
			a[next] = depth
			next--
		}
		free = 2 * trees
	}
}

// limit repairs the numbers of codes by length after long ones were cut: as long
// as codes are missing, it lengthens the longest of the shorter ones.
func limit(of *[codeBits + 1]int) {
	total := 0
	for l, k := range of {
		total += k << (codeBits - l)
	}
	for ; total > 1<<codeBits; total-- {
		l := codeBits - 1
		for of[l] == 0 {
			l--
		}
		of[l]--
		of[l+1] += 2
		of[codeBits]--
	}
}

// codes numbers the codes: shorter ones first, then by symbol.
func (h *huffman) codes() {
	var next [codeBits + 2]uint16
	for i := range h.symbols {
		next[h.symbols[i].length+1]++
	}
	for l := 1; l < len(next); l++ {
		next[l] = (next[l] + next[l-1]) << 1
	}
	for i := range h.symbols {
		s := &h.symbols[i]
		s.code = next[s.length]
		next[s.length]++
	}
}

// size returns the bits of head, table and codes.
func (h *huffman) size() int {
	n, last, length := headBits, uint64(0), startBits
	for i := range h.symbols {
		s := &h.symbols[i]
		if i > 0 {
			n += golombLen(s.number-last-1, h.golomb)
		}
		n += int(ZigZag(int64(s.length)-int64(length))) + 1
		n += int(s.count) * int(s.length+s.low)
		last, length = s.number, int(s.length)
	}
	return n
}
