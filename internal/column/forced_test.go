package column

import "math/bits"

const (
	noBound = never - 8*BlockSize       // a size that no block reaches
	noLimit = 64 * codeBits * BlockSize // bits that no block has
)

// appendBlockBy appends v by pipeline p; false if p does not apply to v.
func (e *Encoder) appendBlockBy(dst []byte, v []uint64, p Pipeline) ([]byte, bool) {
	s := &e.stats
	s.measure(v)
	c := choice{p: p}
	ok := p < numPipelines
	switch p {
	case Const:
		ok = s.min == s.max
	case For:
		c.width = s.width()
	case Pfor:
		x := s.offset.pforCodes(s.n, int(s.width()))
		c.width, c.exceptions = x.width, x.exceptions
	case DeltaFor, DeltaPfor, Stride:
		ok = e.difference(v) && e.forceDelta(v, &c)
	case Dict:
		if ok = len(v) > 3 && e.findDistinct(v, noBound); ok {
			c.width = uint(bits.Len(uint(e.distinct.n - 1)))
		}
	case RLE:
		if ok = 2*s.runs <= len(v); ok {
			e.tokenizeRuns(v)
		}
	case Huffman:
		ok = e.planHuffman(v, e.findDistinct(v, noBound), noLimit)
	}
	if !ok {
		return dst, false
	}
	return e.append(dst, v, &c), true
}

// forceDelta sets the parameters of a pipeline on differences.
func (e *Encoder) forceDelta(v []uint64, c *choice) bool {
	c.step = uint64(e.least)
	c.width = uint(bits.Len64(uint64(e.most) - uint64(e.least)))
	switch c.p {
	case DeltaPfor:
		d := e.deltas[:len(v)-1]
		var h histogram
		h.count(d, c.step)
		x := h.pforCodes(len(d), int(c.width))
		c.width, c.exceptions = x.width, x.exceptions
	case Stride:
		c.slope = slope(v)
		return e.monotone()
	}
	return true
}
