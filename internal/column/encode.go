package column

import (
	"encoding/binary"
)

// Encoder encodes blocks. The zero value is ready; it belongs to one goroutine.
type Encoder struct {
	// Entropy permits the Huffman pipeline, where it saves a share worth its
	// slower decoding.
	Entropy bool

	stats, inner numbers
	deltas, aux  [BlockSize]uint64
	runValues    [BlockSize / 2]uint64
	runLengths   [BlockSize / 2]uint64
	runs         int
	least, most  int64 // of deltas
	distinct     distinctValues
	huffman      *huffman // made when first needed
}

// AppendBlock appends v, 1 to BlockSize values, by the smallest pipeline.
func (e *Encoder) AppendBlock(dst []byte, v []uint64) []byte {
	c := e.choose(v)
	return e.append(dst, v, &c)
}

// append writes v as chosen; the scratch memory is as choose left it.
func (e *Encoder) append(dst []byte, v []uint64, c *choice) []byte {
	dst = append(dst, byte(c.p))
	switch c.p {
	case Const, For, Pfor, Varbyte:
		return e.appendInner(dst, v, &e.stats, c)
	case DeltaFor, DeltaPfor:
		dst = binary.AppendUvarint(dst, v[0])
		dst = binary.AppendUvarint(dst, ZigZag(int64(c.step)))
		dst = append(dst, byte(c.width))
		d := e.deltas[:len(v)-1]
		if c.p == DeltaPfor {
			dst = appendExceptions(dst, d, c.step, c)
		}
		return pack(dst, d, c.step, c.width)
	case Dict:
		return e.appendDict(dst, v, c.width)
	case RLE:
		dst = binary.AppendUvarint(dst, uint64(e.runs))
		dst = e.appendNested(dst, e.runValues[:e.runs])
		return e.appendNested(dst, e.runLengths[:e.runs])
	case Huffman:
		return e.appendHuffman(dst, v, e.stats.min)
	case Stride:
		dst = binary.AppendUvarint(dst, v[0])
		dst = binary.AppendUvarint(dst, ZigZag(c.slope))
		e.residuals(v, c.slope)
		return e.appendNested(dst, e.aux[:len(v)])
	}
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	return dst
}

// appendNested appends v by the best of the inner pipelines.
func (e *Encoder) appendNested(dst []byte, v []uint64) []byte {
	e.inner.measure(v)
	c := inner(&e.inner, v)
	return e.appendInner(append(dst, byte(c.p)), v, &e.inner, &c)
}

func (e *Encoder) appendInner(dst []byte, v []uint64, s *numbers, c *choice) []byte {
	switch c.p {
	case Const:
		return binary.AppendUvarint(dst, v[0])
	case Varbyte:
		for _, x := range v {
			dst = binary.AppendUvarint(dst, x)
		}
		return dst
	}
	dst = binary.AppendUvarint(dst, s.min)
	dst = append(dst, byte(c.width))
	if c.p == Pfor {
		dst = appendExceptions(dst, v, s.min, c)
	}
	return pack(dst, v, s.min, c.width)
}

// appendExceptions appends the number of codes wider than w bits, and for each
// its index and what is above the low w bits.
func appendExceptions(dst []byte, v []uint64, base uint64, c *choice) []byte {
	w, count := c.width, c.exceptions
	dst = binary.AppendUvarint(dst, uint64(count))
	short := indexLen(len(v)) == 1
	for i := 0; count > 0; i++ {
		high := (v[i] - base) >> w
		if high == 0 {
			continue
		}
		count--
		dst = append(dst, byte(i))
		if !short {
			dst = append(dst, byte(i>>8))
		}
		dst = binary.AppendUvarint(dst, high)
	}
	return dst
}

// appendDict appends the distinct values, as chosen, and the indices of v.
func (e *Encoder) appendDict(dst []byte, v []uint64, w uint) []byte {
	d := e.distinct.list()
	dst = binary.AppendUvarint(dst, uint64(len(d)))
	last := uint64(0)
	for _, x := range d {
		dst = binary.AppendUvarint(dst, x-last)
		last = x
	}
	e.distinct.numbers(e.aux[:len(v)], v)
	return pack(dst, e.aux[:len(v)], 0, w)
}
