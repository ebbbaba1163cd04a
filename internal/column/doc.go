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
//	10  huffman     value         codes of the symbols   code, low bits     header, codes and low bits
//
// A symbol of 10 is the position of the leading bit of v - min and the s leading
// bits: s, the precision, is a parameter too. Entropy coding of bit lengths is 10
// with s = 1, a Huffman code over a dictionary of values is 10 with s = 64.
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
//	10 min v | bits: s - 1 (6), order k (6), symbols - 2 (9), table, values
//
// The bits of 10 come with the most significant one of a byte first. A value x
// below 2^s is symbol x; another one of n bits loses its e = n - s low bits and
// is symbol e * 2^(s-1) + x / 2^e, the low bits follow the code. The table lists
// the symbols in ascending order: the first is 0 and has no number, another one is
// the difference to the one before, minus 1, in an exponential Golomb code of
// order k; then the code's length as zig-zag difference to the length before
// (first: 5), so many ones and a zero. Codes are canonical and complete, 1 to 10
// bits; there are 2 to 512 symbols.
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
// A bare column leaves the count out, where its reader knows it. A block of equal
// values has no bytes if it has a head.
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
//   - rle applies where there are at most half as many runs as values;
//   - huffman applies where the encoder permits it, and only where it is smaller
//     than the best of the others by a sixteenth. Its precision is the one with the
//     smallest estimate, the entropy in 256ths of a bit plus low bits and table,
//     out of 64, 12, 10, 8 to 4, 2 and 1; above 8 only where at most a quarter of
//     the values are distinct.
//
// # Hostile input
//
// Decoders check each length before use and return an error that wraps
// [ErrCorrupt]. They allocate nothing for a block, and for a column's heads no
// more than a small multiple of the bytes given.
//
// # Memory and concurrency
//
// An [Encoder] holds 66 KiB, 160 KiB with entropy coding, a [Writer] what it has written, a [Cursor] up to 8 KiB.
// All belong to one goroutine; a [Column] is read-only. Nothing is
// allocated per block once buffers have grown.
//
//	var w column.Writer
//	w.Init(&enc, uint64(len(values)))
//	for block := range slices.Chunk(values, column.BlockSize) {
//		w.Add(block)
//	}
//	data := w.AppendTo(nil)
//
//	c, err := column.Parse(data)
//	n, err := c.Decode(0, buf[:])
package column
