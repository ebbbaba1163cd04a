package column

import "encoding/binary"

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
