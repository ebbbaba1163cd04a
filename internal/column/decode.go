package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrCorrupt says that bytes are not what an Encoder wrote.
var ErrCorrupt = errors.New("corrupt column")

func corrupt(p Pipeline, what string) error {
	return fmt.Errorf("%s block: %s: %w", p, what, ErrCorrupt)
}

// DecodeBlock reads len(dst) values, at most BlockSize, from the block at the
// start of src and returns the bytes after it. Bytes after the block in src
// make decoding faster.
func DecodeBlock(dst []uint64, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return nil, fmt.Errorf("block: no bytes: %w", ErrCorrupt)
	}
	if len(dst) == 0 || len(dst) > BlockSize {
		return nil, fmt.Errorf("block of %d values: %w", len(dst), ErrCorrupt)
	}
	p, src := Pipeline(src[0]), src[1:]
	switch p {
	case DeltaFor, DeltaPfor:
		return decodeDelta(dst, src, p)
	case Dict:
		return decodeDict(dst, src)
	case RLE:
		return decodeRuns(dst, src)
	case Stride:
		return decodeStride(dst, src)
	case Huffman:
		return decodeHuffman(dst, src)
	case Raw:
		if len(src) < 8*len(dst) {
			return nil, corrupt(p, "cut")
		}
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
		return src[8*len(dst):], nil
	}
	return decodeInner(dst, src, p)
}

// decodeNested decodes a block inside another one.
func decodeNested(dst []uint64, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return nil, fmt.Errorf("inner block: no bytes: %w", ErrCorrupt)
	}
	return decodeInner(dst, src[1:], Pipeline(src[0]))
}

func decodeInner(dst []uint64, src []byte, p Pipeline) ([]byte, error) {
	switch p {
	case Const:
		v, src, ok := varint(src)
		if !ok {
			return nil, corrupt(p, "cut")
		}
		fill(dst, v)
		return src, nil
	case For, Pfor:
		base, src, ok := varint(src)
		if !ok {
			return nil, corrupt(p, "cut")
		}
		return decodeCodes(dst, src, base, p, p == Pfor)
	case Varbyte:
		return decodeVarbyte(dst, src)
	}
	return nil, fmt.Errorf("block: pipeline %d does not exist here: %w", p, ErrCorrupt)
}

func fill(dst []uint64, v uint64) {
	for i := range dst {
		dst[i] = v
	}
}

func decodeVarbyte(dst []uint64, src []byte) ([]byte, error) {
	for i := range dst {
		if len(src) > 0 && src[0] < 0x80 {
			dst[i] = uint64(src[0])
			src = src[1:]
			continue
		}
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, corrupt(Varbyte, "cut")
		}
		dst[i], src = v, src[n:]
	}
	return src, nil
}

// varint reads a varint from the start of src.
func varint(src []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, false
	}
	return v, src[n:], true
}

// decodeCodes reads width, exceptions if there are any, and packed codes.
func decodeCodes(dst []uint64, src []byte, base uint64, p Pipeline, exceptions bool) ([]byte, error) {
	if len(src) == 0 {
		return nil, corrupt(p, "cut")
	}
	w, src := uint(src[0]), src[1:]
	if w > 64 {
		return nil, corrupt(p, "codes wider than 64 bits")
	}
	count, list := uint64(0), []byte(nil)
	if exceptions {
		var ok bool
		if count, list, ok = varint(src); !ok || count > uint64(len(dst)) {
			return nil, corrupt(p, "more exceptions than values")
		}
		var err error
		if src, err = skipExceptions(list, int(count), len(dst), w, p); err != nil {
			return nil, err
		}
	}
	n := packedLen(len(dst), w)
	if len(src) < n {
		return nil, corrupt(p, "codes cut")
	}
	unpack(dst, src, base, w)
	index := indexLen(len(dst))
	for range count {
		i := int(list[0])
		if index == 2 {
			i |= int(list[1]) << 8
		}
		high, k := binary.Uvarint(list[index:])
		dst[i] += high << w
		list = list[index+k:]
	}
	return src[n:], nil
}

// skipExceptions validates a list of exceptions and returns what is after it.
func skipExceptions(src []byte, count, n int, w uint, p Pipeline) ([]byte, error) {
	index, last := indexLen(n), -1
	for range count {
		if len(src) <= index {
			return nil, corrupt(p, "exceptions cut")
		}
		i := int(src[0])
		if index == 2 {
			i |= int(src[1]) << 8
		}
		high, k := binary.Uvarint(src[index:])
		if k <= 0 || i <= last || i >= n || w > 0 && high>>(64-w) != 0 {
			return nil, corrupt(p, "bad exception")
		}
		last, src = i, src[index+k:]
	}
	return src, nil
}

func decodeDelta(dst []uint64, src []byte, p Pipeline) ([]byte, error) {
	first, src, ok := varint(src)
	if !ok {
		return nil, corrupt(p, "cut")
	}
	least, src, ok := varint(src)
	if !ok {
		return nil, corrupt(p, "cut")
	}
	src, err := decodeCodes(dst[1:], src, uint64(UnZigZag(least)), p, p == DeltaPfor)
	if err != nil {
		return nil, err
	}
	dst[0] = first
	for i := 1; i < len(dst); i++ {
		first += dst[i]
		dst[i] = first
	}
	return src, nil
}

func decodeDict(dst []uint64, src []byte) ([]byte, error) {
	n, src, ok := varint(src)
	if !ok || n == 0 || n > uint64(len(dst)/2) || n > BlockSize/2 {
		return nil, corrupt(Dict, "bad dictionary size")
	}
	var d [BlockSize / 2]uint64
	last := uint64(0)
	for i := range int(n) {
		x, rest, ok := varint(src)
		if !ok {
			return nil, corrupt(Dict, "dictionary cut")
		}
		last += x
		d[i], src = last, rest
	}
	w := uint(bits.Len(uint(n - 1)))
	size := packedLen(len(dst), w)
	if len(src) < size {
		return nil, corrupt(Dict, "codes cut")
	}
	unpack(dst, src, 0, w)
	for i, x := range dst {
		if x >= n {
			return nil, corrupt(Dict, "index outside the dictionary")
		}
		dst[i] = d[x]
	}
	return src[size:], nil
}

func decodeRuns(dst []uint64, src []byte) ([]byte, error) {
	n, src, ok := varint(src)
	if !ok || n == 0 || n > uint64(len(dst)/2) || n > BlockSize/2 {
		return nil, corrupt(RLE, "bad number of runs")
	}
	var values, lengths [BlockSize / 2]uint64
	src, err := decodeNested(values[:n], src)
	if err != nil {
		return nil, err
	}
	if src, err = decodeNested(lengths[:n], src); err != nil {
		return nil, err
	}
	at := 0
	for i, l := range lengths[:n] {
		if l >= uint64(len(dst)-at) {
			return nil, corrupt(RLE, "runs longer than the block")
		}
		for range l + 1 {
			dst[at] = values[i]
			at++
		}
	}
	if at != len(dst) {
		return nil, corrupt(RLE, "runs shorter than the block")
	}
	return src, nil
}

func decodeStride(dst []uint64, src []byte) ([]byte, error) {
	first, src, ok := varint(src)
	if !ok {
		return nil, corrupt(Stride, "cut")
	}
	slope, src, ok := varint(src)
	if !ok {
		return nil, corrupt(Stride, "cut")
	}
	src, err := decodeNested(dst, src)
	if err != nil {
		return nil, err
	}
	step := uint64(UnZigZag(slope))
	for i, x := range dst {
		dst[i] = first + uint64(UnZigZag(x))
		first += step
	}
	return src, nil
}
