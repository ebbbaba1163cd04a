package column

import (
	"math"
	"math/bits"
)

// Pipeline names a method; the values are stored in files.
type Pipeline uint8

// The pipelines.
const (
	Const Pipeline = iota
	For
	Pfor
	DeltaFor
	DeltaPfor
	Dict
	RLE
	Varbyte
	Stride
	Raw
	Huffman
	numPipelines
)

var pipelineNames = [numPipelines]string{"const", "for", "pfor", "delta+for", "delta+pfor", "dict", "rle", "varbyte", "stride", "raw", "huffman"}

func (p Pipeline) String() string {
	if p < numPipelines {
		return pipelineNames[p]
	}
	return "unknown"
}

// BlockSize is the number of values in a block; only the last block of a column
// is shorter. 8 KiB decoded stay in the first-level cache.
const BlockSize = 1024

const never = math.MaxInt // the size of a pipeline that does not apply

// histogram counts values by bit length.
type histogram [65]uint16

// numbers are the statistics of a unit that sizes follow from.
type numbers struct {
	n        int
	min, max uint64
	runs     int
	hi, lo   uint64    // sum of v - min, 128 bits
	offset   histogram // of v - min; empty for equal values
}

// measure fills s.
func (s *numbers) measure(v []uint64) {
	last, least, most, runs := v[0], v[0], v[0], 1
	var hi, lo, carry uint64
	for _, x := range v {
		least, most = min(least, x), max(most, x)
		lo, carry = bits.Add64(lo, x, 0)
		hi, _ = bits.Add64(hi, 0, carry)
		if x != last {
			runs++
		}
		last = x
	}
	*s = numbers{n: len(v), min: least, max: most, runs: runs}
	if s.min == s.max {
		return
	}
	s.offset.count(v, s.min)
	baseHi, baseLo := bits.Mul64(s.min, uint64(s.n))
	s.lo, carry = bits.Sub64(lo, baseLo, 0)
	s.hi, _ = bits.Sub64(hi, baseHi, carry)
}

// count adds the values minus base. Neighbours are often equally long: two
// tables keep their increments from waiting for each other.
func (h *histogram) count(v []uint64, base uint64) {
	var even, odd [128]uint16
	i := 0
	for ; i+1 < len(v); i += 2 {
		even[bits.Len64(v[i]-base)&127]++
		odd[bits.Len64(v[i+1]-base)&127]++
	}
	if i < len(v) {
		even[bits.Len64(v[i]-base)&127]++
	}
	for b := range h {
		h[b] += even[b] + odd[b]
	}
}

// forSize and the other sizes count bytes without the pipeline's id.
func (s *numbers) forSize() int {
	return varLen(s.min) + 1 + packedLen(s.n, s.width())
}

func (s *numbers) width() uint { return uint(bits.Len64(s.max - s.min)) }

// varbyteSize returns the bytes of v as varints.
func (s *numbers) varbyteSize(v []uint64) int {
	size := 0
	if s.min == 0 {
		for b, c := range s.offset {
			size += int(c) * int(varBytes[b])
		}
		return size
	}
	for _, x := range v {
		size += int(varBytes[bits.Len64(x)])
	}
	return size
}

// pforCodes finds the width with the fewest bytes for exceptions and codes of n
// values with bit lengths h; an exception takes its index and the varint of its
// high part. Ties go to the smaller width.
func (h *histogram) pforCodes(n, top int) codes {
	index := indexLen(n)
	lo := 0
	for lo < top && h[lo] == 0 {
		lo++
	}
	best := codes{width: uint(top), size: packedLen(n, uint(top)) + 1}
	// going down by one bit, the high parts whose length is then 1, 8, 15 ...
	// bits need one byte more: class holds the counts by bit length modulo 7
	var class [7]int
	count, high := 0, 0
	for cut := top - 1; cut >= lo; cut-- {
		r := (cut + 1) % 7
		class[r] += int(h[cut+1])
		count += int(h[cut+1])
		high += class[r]
		if s := packedLen(n, uint(cut)) + varLen(uint64(count)) + count*index + high; s <= best.size {
			best = codes{uint(cut), count, s}
		}
	}
	return best
}

// codes are packed codes with exceptions.
type codes struct {
	width      uint
	exceptions int
	size       int // bytes
}

// indexLen returns the bytes of an exception's index in a block of n values.
func indexLen(n int) int {
	if n <= 256 {
		return 1
	}
	return 2
}

// choice is what the encoder decided about a block.
type choice struct {
	p          Pipeline
	size       int  // without the id
	width      uint // of packed codes
	exceptions int
	slope      int64
	step       uint64 // smallest difference
}

// offer takes p if it is smaller, or as small and of lower id.
func (c *choice) offer(p Pipeline, size int, width uint, exceptions int) {
	if size < c.size || size == c.size && p < c.p {
		c.p, c.size, c.width, c.exceptions = p, size, width, exceptions
	}
}

// inner chooses among the pipelines that need no scratch memory: these serve
// inside others.
func inner(s *numbers, v []uint64) choice {
	c := choice{p: numPipelines, size: never}
	if s.min == s.max {
		c.offer(Const, varLen(s.min), 0, 0)
		return c
	}
	c.offer(For, s.forSize(), s.width(), 0)
	x := s.offset.pforCodes(s.n, int(s.width()))
	c.offer(Pfor, varLen(s.min)+1+x.size, x.width, x.exceptions)
	if s.n*varLen(s.min) < c.size { // else the shortest varints are too long
		c.offer(Varbyte, s.varbyteSize(v), 0, 0)
	}
	return c
}

// choose computes the exact sizes of the pipelines that apply to v.
func (e *Encoder) choose(v []uint64) choice {
	s := &e.stats
	s.measure(v)
	c := inner(s, v)
	if c.p == Const {
		return c
	}
	c.offer(Raw, 8*len(v), 0, 0)
	if e.difference(v) {
		e.chooseDelta(v, &c)
	}
	if 2*s.runs <= len(v) {
		e.tokenizeRuns(v)
		c.offer(RLE, e.rleSize(), 0, 0)
	}
	if len(v) > 3 {
		e.chooseSymbols(v, &c)
	}
	return c
}

// exactShare: one part in it of the values may be distinct for symbols finer than
// those of tablePrecision; a table of more would not pay.
const exactShare = 4

// chooseSymbols offers the pipelines that need the distinct values.
func (e *Encoder) chooseSymbols(v []uint64, c *choice) {
	ok := e.findDistinct(v, c.size)
	if ok {
		d := e.distinct.list()
		c.offer(Dict, dictSize(d, len(v)), uint(bits.Len(uint(len(d)-1))), 0)
	}
	if !e.Entropy {
		return
	}
	most := c.size * (entropyGain - 1) / entropyGain
	if e.planHuffman(v, ok, 8*(most-varLen(e.stats.min))) {
		c.offer(Huffman, e.huffmanSize(), 0, 0)
	}
}

// The Huffman pipeline has to save one part in entropyGain.
const entropyGain = 16

// planHuffman finds codes for v, whose distinct values are known if exact, of
// limit bits at most.
func (e *Encoder) planHuffman(v []uint64, exact bool, limit int) bool {
	if e.huffman == nil {
		e.huffman = newHuffman()
	}
	h, d := e.huffman, &e.distinct
	switch {
	case exact:
		h.load(d)
		if exact = d.n <= len(v)/exactShare; !exact {
			h.values = coarsen(h.values, h.values, tablePrecision)
		}
	case d.small:
		h.gather(&d.tally)
	default:
		h.count(&d.tally, v, e.stats.min)
	}
	return h.plan(len(v), exact, limit)
}

func (e *Encoder) huffmanSize() int { return varLen(e.stats.min) + (e.huffman.bits+7)/8 }

// difference computes the differences and reports whether they apply: they are,
// all in all, below half of the values above the smallest. Noise is not.
func (e *Encoder) difference(v []uint64) bool {
	if len(v) < 2 {
		return false
	}
	const cap53 = 1 << 53 // 1 024 of these cannot overflow
	const part = 128
	d := e.deltas[:len(v)-1]
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	last, total := v[0], uint64(0)
	for first := 0; first < len(d); first += part {
		end := min(first+part, len(d))
		of, to := v[first+1:end+1], d[first:end]
		for i, x := range of {
			diff := int64(x - last)
			last = x
			to[i] = uint64(diff)
			least, most = min(least, diff), max(most, diff)
			total += min(uint64((diff^diff>>63)-diff>>63), cap53)
		}
		if total >= e.stats.lo/2 && e.stats.hi == 0 {
			return false
		}
	}
	e.least, e.most = least, most
	return true
}

// chooseDelta offers the pipelines on differences, and stride where the block
// is monotone.
func (e *Encoder) chooseDelta(v []uint64, c *choice) {
	d := e.deltas[:len(v)-1]
	var h histogram
	h.count(d, uint64(e.least))
	width := uint(bits.Len64(uint64(e.most) - uint64(e.least)))
	head := varLen(v[0]) + varLen(ZigZag(e.least)) + 1
	c.step = uint64(e.least)
	c.offer(DeltaFor, head+packedLen(len(d), width), width, 0)
	x := h.pforCodes(len(d), int(width))
	c.offer(DeltaPfor, head+x.size, x.width, x.exceptions)
	if e.monotone() {
		c.slope = slope(v)
		c.offer(Stride, e.strideSize(v, c.slope), 0, 0)
	}
}

// monotone reports whether the differences have one sign.
func (e *Encoder) monotone() bool { return e.least >= 0 || e.most <= 0 }

func slope(v []uint64) int64 { return int64(v[len(v)-1]-v[0]) / int64(len(v)-1) }

// strideSize fills residual and returns the bytes of a stride block.
func (e *Encoder) strideSize(v []uint64, slope int64) int {
	e.residuals(v, slope)
	e.inner.measure(e.aux[:len(v)])
	return varLen(v[0]) + varLen(ZigZag(slope)) + 1 + inner(&e.inner, e.aux[:len(v)]).size
}

func (e *Encoder) residuals(v []uint64, slope int64) {
	expect := v[0]
	for i, x := range v {
		e.aux[i] = ZigZag(int64(x - expect))
		expect += uint64(slope)
	}
}

// tokenizeRuns fills runValues and runLengths.
func (e *Encoder) tokenizeRuns(v []uint64) {
	n := 0
	for i := 0; i < len(v); {
		j := i + 1
		for j < len(v) && v[j] == v[i] {
			j++
		}
		e.runValues[n], e.runLengths[n] = v[i], uint64(j-i-1)
		n++
		i = j
	}
	e.runs = n
}

func (e *Encoder) rleSize() int {
	e.inner.measure(e.runValues[:e.runs])
	size := varLen(uint64(e.runs)) + 1 + inner(&e.inner, e.runValues[:e.runs]).size
	e.inner.measure(e.runLengths[:e.runs])
	return size + 1 + inner(&e.inner, e.runLengths[:e.runs]).size
}

// dictSize returns the bytes of a dictionary d (sorted) and its indices.
func dictSize(d []uint64, n int) int {
	size := varLen(uint64(len(d))) + varLen(d[0])
	for i := 1; i < len(d); i++ {
		size += varLen(d[i] - d[i-1])
	}
	return size + packedLen(n, uint(bits.Len(uint(len(d)-1))))
}

// findDistinct finds the distinct values of v; false if they are more than half
// of v or cannot pay: a dictionary of d values takes d bytes at least, and the
// indices.
func (e *Encoder) findDistinct(v []uint64, best int) bool {
	limit := 0
	for d := 2; d <= len(v)/2; d <<= 1 {
		// all of d+1..2d distinct values need as many index bits as 2d
		if packedLen(len(v), uint(bits.Len(uint(d-1))))+d > best {
			break
		}
		limit = min(2*d, len(v)/2)
	}
	if e.Entropy {
		limit = max(limit, len(v)/exactShare)
	}
	return e.distinct.find(v, e.stats.min, e.stats.max-e.stats.min, limit)
}
