package column

import (
	"encoding/binary"
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

// appendHuffman appends the block as planned; see [huffman.plan].
func (e *Encoder) appendHuffman(dst []byte, v []uint64, base uint64) []byte {
	h := e.huffman
	dst = binary.AppendUvarint(dst, base)
	w := bitWriter{dst: grow(dst, h.bits/8+1)[:len(dst)]}
	h.appendTable(&w)
	numbers := e.aux[:len(v)]
	if h.precision <= tablePrecision {
		h.numberBySymbol(numbers, v, base)
	} else {
		e.distinct.numbers(numbers, v)
		h.numberByValue(numbers)
	}
	for i, x := range v {
		s := &h.symbols[numbers[i]]
		low := uint(s.low)
		if n := uint(s.length) + low; n <= 32 {
			w.put(uint64(s.code)<<low|(x-base)&mask(low), n)
			continue
		}
		w.put(uint64(s.code), uint(s.length))
		w.putLong((x-base)&mask(low), low)
	}
	return w.finish()
}

// numberBySymbol fills numbers with the positions of v's symbols in the table.
func (h *huffman) numberBySymbol(numbers, v []uint64, base uint64) {
	for i := range h.symbols {
		h.numbers[h.symbols[i].number] = uint16(i)
	}
	for i, x := range v {
		n, _ := symbolOf(x-base, h.precision)
		numbers[i] = uint64(h.numbers[n])
	}
}

// numberByValue replaces the numbers of distinct values by those of their
// symbols, which are ranges of values.
func (h *huffman) numberByValue(numbers []uint64) {
	at := 0
	for i := range h.values {
		if n, _ := symbolOf(h.values[i].start, h.precision); h.symbols[at].number != n {
			at++
		}
		h.numbers[i] = uint16(at)
	}
	for i, n := range numbers {
		numbers[i] = uint64(h.numbers[n])
	}
}

// appendTable appends what codes follow from.
func (h *huffman) appendTable(w *bitWriter) {
	w.put(uint64(h.precision-1), 6)
	w.put(uint64(h.golomb), 6)
	w.put(uint64(len(h.symbols)-2), 9)
	last, length := uint64(0), startBits
	for i := range h.symbols {
		s := &h.symbols[i]
		if i > 0 {
			w.putGolomb(s.number-last-1, h.golomb)
		}
		w.putUnary(uint(ZigZag(int64(s.length) - int64(length))))
		last, length = s.number, int(s.length)
	}
}

// codeTable decodes: an entry holds the number of a symbol, its low bits and the
// length of its code, and serves all bits that begin with that code.
type codeTable struct {
	entries [1 << codeBits]uint32
	start   [maxSymbols]uint64 // smallest value of a symbol
	lengths [maxSymbols]uint8
	lows    [maxSymbols]uint8
	symbols int
	shift   uint // 64 - length of the longest code
	widest  uint // most low bits
}

// An entry: number of the symbol, 9 bits | low bits, 7 | bits of the code, 4 |
// both together modulo 64, 6.
const (
	entryCode   = 6
	entryLow    = 10
	entrySymbol = 17
)

// read reads the table of a block of n values.
func (t *codeTable) read(r *bitReader, n int) bool {
	precision := uint(r.get(6)) + 1
	k := uint(r.get(6))
	t.symbols = int(r.get(9)) + 2
	if t.symbols > min(n, maxSymbols) {
		return false
	}
	var of [codeBits + 1]int // number of codes by length
	number, length := uint64(0), startBits
	for i := range t.symbols {
		var d uint64
		var u uint
		var ok bool
		if i == 0 {
			u, ok = r.unary(maxSpread)
		} else if d, u, ok = r.entry(k, maxSpread); number+d+1 > number {
			number += d + 1
		} else {
			return false
		}
		start, low, exists := symbolStart(number, precision)
		length += int(UnZigZag(uint64(u)))
		if !ok || !exists || length < 1 || length > codeBits {
			return false
		}
		t.start[i], t.lows[i], t.lengths[i] = start, uint8(low), uint8(length)
		t.widest = max(t.widest, low)
		of[length]++
	}
	return t.fill(&of)
}

// fill makes the entries; false if the lengths are not those of a complete code.
func (t *codeTable) fill(of *[codeBits + 1]int) bool {
	longest := codeBits
	for of[longest] == 0 {
		longest--
	}
	t.shift = uint(64 - longest)
	var next [codeBits + 1]int // entry of the next code of a length
	total := 0
	for l := 1; l <= longest; l++ {
		next[l] = total
		total += of[l] << (longest - l)
	}
	if total != 1<<longest {
		return false
	}
	for i := range t.symbols {
		l := int(t.lengths[i])
		span := 1 << (longest - l)
		low := int(t.lows[i])
		e := uint32(i)<<entrySymbol | uint32(low)<<entryLow | uint32(l)<<entryCode | uint32(l+low)&63
		same := t.entries[next[l] : next[l]+span]
		for j := range same {
			same[j] = e
		}
		next[l] += span
	}
	return true
}

func decodeHuffman(dst []uint64, src []byte) ([]byte, error) {
	base, src, ok := varint(src)
	if !ok {
		return nil, corrupt(Huffman, "cut")
	}
	var t codeTable
	r := bitReader{src: src}
	if !t.read(&r, len(dst)) {
		return nil, corrupt(Huffman, "bad table of codes")
	}
	n := 0
	if t.widest+codeBits <= 56 {
		n = t.decode(dst, &r, base)
	}
	for i := n; i < len(dst); i++ {
		r.refill()
		e := t.entries[r.acc>>t.shift]
		r.get(uint(e >> entryCode & 15))
		dst[i] = base + t.start[e>>entrySymbol&(maxSymbols-1)] + r.getLong(uint(e>>entryLow&127))
	}
	if src, ok = r.rest(); !ok {
		return nil, corrupt(Huffman, "codes cut")
	}
	return src, nil
}

// decode decodes as long as 8 bytes can be loaded, and returns how many values.
func (t *codeTable) decode(dst []uint64, r *bitReader, base uint64) int {
	acc, have, next, src := r.acc, r.have, r.next, r.src
	shift := t.shift & 63
	refill := func() {
		acc |= binary.BigEndian.Uint64(src[next:]) >> (have & 63)
		next += int((63 - have) >> 3)
		have |= 56
	}
	value := func() uint64 {
		e := t.entries[acc>>shift&(1<<codeBits-1)]
		low := acc << (e >> entryCode & 15) >> 1 >> (^(e >> entryLow) & 63)
		acc <<= e & 63
		have -= uint(e & 63)
		return base + t.start[e>>entrySymbol&(maxSymbols-1)] + low
	}
	i := 0
	if t.widest+codeBits <= 28 {
		for ; i+2 <= len(dst) && next+8 <= len(src); i += 2 {
			refill()
			dst[i] = value()
			dst[i+1] = value()
		}
	}
	for ; i < len(dst) && next+8 <= len(src); i++ {
		refill()
		dst[i] = value()
	}
	r.acc, r.have, r.next = acc, have, next
	return i
}
