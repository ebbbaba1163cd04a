// Package column packs sequences of unsigned 64-bit integers.
//
// It follows the modular scheme of lightweight compression: a tokenizer cuts
// the input into units, a parameter calculator describes a unit, an encoder
// writes its values given the parameters, a combiner lays both out; instead of
// an encoder a unit may be passed on to a whole inner scheme. The classical
// methods are instances of it. This package builds a closed set of them, named
// by a byte and chosen per block:
//
//	id  pipeline    tokenizer     parameters             encoder            combiner
//	 0  const       block         the value              none               value
//	 1  for         block         min, width             v - min, low bits  header, codes
//	 2  pfor        block         min, width, exceptions v - min, low bits  header, exceptions, codes
//	 3  delta+for   block         first, min, width      differences by 1   header, codes
//	 4  delta+pfor  block         as 2                   differences by 2   header, exceptions, codes
//	 5  dict        block         sorted distinct values index, low bits    dictionary, codes
//	 6  rle         run           value, length          two columns, each by an inner 0, 1, 2 or 7
//	 7  varbyte     value         byte count             cut leading zeros  length bits inside
//	 8  stride      block         first, slope           residual, zig-zag  header, inner 0, 1, 2 or 7
//	 9  raw         block         none                   8 bytes            codes
//
// Null suppression and varbyte are 7, frame of reference and plain bit packing
// are 1 (min 0), delta coding is 3, PFOR is 2. Simple-8b would be a greedy
// tokenizer with a selector as parameter; PFOR is smaller on all but one of the
// columns measured, so it is not built. Signed values are mapped by [ZigZag].
//
// # Layout of a block
//
// A block holds up to 1 024 values; its value count comes from outside. v is a
// LEB128 varint, z a zig-zag varint, packed codes are w bits each, least
// significant first, without padding.
//
//	id u8, then
//	0  value v
//	1  min v | w u8 | packed
//	2  min v | w u8 | n v | n x (index u8 or u16, high part v) | packed
//	3  first v | min difference z | w u8 | packed (one code fewer than values)
//	4  first v | min difference z | w u8 | n v | exceptions | packed
//	5  d v | first value v, d-1 differences v | packed, w = bits of d-1
//	6  runs v | block of values | block of lengths - 1
//	7  each value v
//	8  first v | slope z | block of zig-zag residuals
//	9  8 bytes each
//
// An exception's index takes one byte in blocks of up to 256 values, two in
// longer ones. Differences and offsets wrap modulo 2^64.
//
// # Layout of a column
//
//	count v | heads | blocks
//	head, in columns of 64 values and more: bytes v, first - min v (these two only
//	if there are several blocks) | min v | max - min v | sum of (value - min),
//	128-bit v
//
// A bare column leaves the count out, where its reader knows it.
//
// Blocks are cut by value number only, so a column written in parts has the
// bytes of one written whole. Readers take sums, extremes and positions from
// the block heads without touching a value.
//
// # Choice
//
// The encoder computes the exact size of each pipeline that applies and takes
// the smallest, ties to the lower id: integers only, so equal values give equal
// bytes everywhere. Equal values are always const, and nothing else is. To spare
// blocks of noise the search for what they do not have,
//
//   - the pipelines on differences apply where these add up to less than half of
//     the sum of value - min, and stride also needs a monotone block;
//   - dict applies where at most half of the values are distinct;
//   - rle applies where there are at most half as many runs as values.
//
// # Hostile input
//
// Decoders check each length before use and return an error that wraps
// [ErrCorrupt]. They allocate nothing for a block, and for a column's heads no
// more than a small multiple of the bytes given.
//
// # Memory and concurrency
//
// An [Encoder] holds 48 KiB, a [Writer] up to 8 KiB of pending values plus what
// it has written, a [Cursor] and a [Sums] up to 8 KiB, a Sums 16 bytes per block
// besides. All belong to one goroutine; a [Column] is read-only. Nothing is
// allocated per block once buffers have grown.
//
//	var w column.Writer
//	w.Init(&enc)
//	for _, v := range values {
//		w.Add(v)
//	}
//	data := w.AppendTo(nil)
//
//	c, err := column.Parse(data)
//	n, err := c.Decode(0, buf[:])
package column
