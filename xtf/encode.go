package xtf

import (
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// Sizes of the packed payload's fixed parts.
const (
	keyBlockHead  = 16 // base u64, width u8, 7 zero
	keyBlockSpare = 8  // readable bytes after the last value
	coldHead      = 8  // flags u8, 7 zero
	coldPlain     = 1  // flag: the cold block is stored plain
	leastFrame    = 64 // bytes of a cold block that may be smaller in a frame
	maxKeyBits    = 57 // a value of up to 57 bits lies in one unaligned 8-byte load
)

// Encoder encodes rows as page payloads. It has a zstd coder and scratch space of about 2 MiB. All builders of one goroutine should share
// it. For the next builder it also keeps the memory of finished ones: up to sparePages pages, and half a MiB for each type whose pages
// follow calls.
type Encoder struct {
	zstd   *zstd.Encoder
	vals   []uint64 // transformed values of one column
	keys   []uint64 // first column
	ends   []uint64 // End column, if there is one
	begins []uint64 // begins of the calls of the rows
	leaves []uint64 // ends of these calls
	cold   []byte   // byte planes before compression
	raw    []byte   // planes of a following page that compression does not make smaller
	out    []byte   // the payload that is being made
	alt    []byte   // the page with another codec

	spare     [][]byte            // pages for the next builder
	followers map[*Type]*follower // of finished builders
}

// sparePages is the number of arrays that a location fills at a time.
const sparePages = 16

// page returns n bytes with undefined content.
func (e *Encoder) page(n int) []byte {
	for i := len(e.spare) - 1; i >= 0; i-- {
		if b := e.spare[i]; len(b) == n {
			last := len(e.spare) - 1
			e.spare[i] = e.spare[last]
			e.spare[last] = nil
			e.spare = e.spare[:last]
			return b
		}
	}
	return make([]byte, n)
}

// keep takes back a page that is no longer used.
func (e *Encoder) keep(rows []byte) {
	if rows != nil && len(e.spare) < sparePages {
		e.spare = append(e.spare, rows)
	}
}

// NewEncoder returns an encoder. What it encodes depends on the rows only: level 1, one thread, no frame checksum.
func NewEncoder() *Encoder {
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(1<<20),
		zstd.WithZeroFrames(true))
	if err != nil {
		panic(fmt.Sprintf("xtf: zstd options: %v", err)) // constants above
	}
	return &Encoder{zstd: z, followers: map[*Type]*follower{}}
}

// payload returns the payload of a page with its codec. size is the number of bytes of the page; after them, b has what only the segment
// keeps. v is nil if the page cannot become a view, f if it cannot follow.
func (e *Encoder) payload(v *viewer, f *follower, t *Type, pg *openPage, rows []byte, firstN uint64, single bool) (b []byte, size int, c Codec, err error) {
	if v != nil && !pg.whole && !single {
		e.gather(t, rows)
		if size, ok := e.view(v, rows, firstN, pg.event, pg.late); ok {
			return e.out, size, CodecPacked, nil
		}
	}
	if f != nil && (!single || len(rows) > leastFollowing) {
		e.gather(t, rows)
		err = e.follow(f, rows, firstN)
		return e.out, len(e.out), CodecPacked, err
	}
	b, c = e.encodePage(t, rows, firstN, single)
	return b, len(b), c, nil
}

// gather sets e.keys and e.ends to the keys and ends of a page.
func (e *Encoder) gather(t *Type, rows []byte) {
	count := len(rows) / t.RowBytes
	e.keys = grow64(e.keys, count)
	loadColumn(e.keys, rows, t.RowBytes, t.Columns[0])
	e.ends = e.ends[:0]
	if t.End > 0 {
		e.ends = grow64(e.ends, count)
		loadColumn(e.ends, rows, t.RowBytes, t.Columns[t.End])
	}
}

// encodePage returns the payload of a page and its codec. The payload is valid until the next call. It also sets e.keys and e.ends. single
// says that the page is the only one of its array and not full. Such a page may be smaller as plain rows in one frame.
func (e *Encoder) encodePage(t *Type, rows []byte, firstN uint64, single bool) ([]byte, Codec) {
	e.gather(t, rows)
	if t.Codec == CodecRaw {
		return rows, CodecRaw
	}
	e.packed(t, rows, firstN)
	if single && plainMayWin(t, len(rows)) {
		e.alt = e.zstd.EncodeAll(rows, e.alt[:0])
		if len(e.alt) < len(e.out) {
			return e.alt, CodecRows
		}
	}
	return e.out, CodecPacked
}

// leastFollowing: the only page of an array follows if it is larger than this, in bytes. In 45 archives such pages were always smaller than
// in the other forms (CHAN down to a twelfth) and were made in less time; some smaller pages were larger.
const leastFollowing = 1024

// plainAlways is the greatest size in bytes of a page that is always tried as plain rows too.
const plainAlways = 4096

// plainMayWin returns whether rows in one frame may be smaller than packed columns. This happens if hardly any column has a transform, or
// if the page is so small that the head of a packed page matters. Of thousands of other pages of traces none was smaller, and the attempt
// takes longer than packing.
func plainMayWin(t *Type, raw int) bool {
	if raw <= plainAlways {
		return true
	}
	transformed := 0
	for i := range t.Columns {
		if t.Columns[i].Transform != TransformNone {
			transformed++
		}
	}
	return transformed <= 1
}

// packed sets e.out to the key block and the cold block.
func (e *Encoder) packed(t *Type, rows []byte, firstN uint64) {
	e.out = appendKeyBlock(e.out[:0], e.keys, t.Role != RoleNone)
	e.planes(t, rows, firstN)
	e.appendCold(true)
}

// appendCold appends e.cold to e.out as a cold block. The block is stored plain if compress is false or compression does not make it
// smaller.
func (e *Encoder) appendCold(compress bool) {
	head := len(e.out)
	if compress = compress && len(e.cold) >= leastFrame; compress {
		e.out = append(e.out, 0, 0, 0, 0, 0, 0, 0, 0)
		e.out = e.zstd.EncodeAll(e.cold, e.out)
	}
	if !compress || len(e.out)-head-coldHead >= len(e.cold) {
		e.out = append(e.out[:head], coldPlain, 0, 0, 0, 0, 0, 0, 0)
		e.out = append(e.out, e.cold...)
	}
}

// planes sets e.cold to the byte planes of all columns but the first.
func (e *Encoder) planes(t *Type, rows []byte, firstN uint64) {
	e.cold = e.cold[:0]
	e.vals = grow64(e.vals, len(e.keys))
	for _, c := range t.Columns[1:] {
		e.cold = appendColumn(e.cold, e.vals, e.column(t, c, rows, firstN))
	}
}

// column loads a column into e.vals, transforms it, and returns the bitwise or of the results.
func (e *Encoder) column(t *Type, c Column, rows []byte, firstN uint64) uint64 {
	switch c.Width {
	case 8:
		return e.column8(rows[c.Offset:], t.RowBytes, c.Transform, firstN)
	case 4:
		return e.column4(rows[c.Offset:], t.RowBytes, c.Transform, firstN)
	}
	loadColumn(e.vals, rows, t.RowBytes, c)
	return e.transform(c, firstN)
}

// loadColumn loads one column of the rows into dst, which has one value for each row.
func loadColumn(dst []uint64, rows []byte, r int, c Column) {
	switch c.Width {
	case 8:
		for i, o := 0, c.Offset; i < len(dst); i, o = i+1, o+r {
			dst[i] = le.Uint64(rows[o:])
		}
	case 4:
		for i, o := 0, c.Offset; i < len(dst); i, o = i+1, o+r {
			dst[i] = uint64(le.Uint32(rows[o:]))
		}
	case 2:
		for i, o := 0, c.Offset; i < len(dst); i, o = i+1, o+r {
			dst[i] = uint64(le.Uint16(rows[o:]))
		}
	default:
		for i, o := 0, c.Offset; i < len(dst); i, o = i+1, o+r {
			dst[i] = uint64(rows[o])
		}
	}
}

// column8 loads and transforms an 8-byte column that begins at rows[0] in one pass. It returns the bitwise or of the results.
func (e *Encoder) column8(rows []byte, r int, tr Transform, firstN uint64) uint64 {
	v, base := e.vals, e.keys
	switch tr {
	case transformBegin:
		tr, base = TransformMinusT, e.begins
	case transformEnd:
		tr, base = TransformMinusT, e.leaves
	}
	base = base[:len(v)]
	var mix uint64
	o := 0
	switch tr {
	case TransformDelta:
		var prev uint64
		for i := range v {
			x := le.Uint64(rows[o:])
			o += r
			d := zigzag8(x - prev)
			prev = x
			v[i] = d
			mix |= d
		}
	case TransformMinusT:
		for i := range v {
			d := zigzag8(le.Uint64(rows[o:]) - base[i])
			o += r
			v[i] = d
			mix |= d
		}
	case TransformMinusN:
		for i := range v {
			d := firstN + uint64(i) - le.Uint64(rows[o:])
			o += r
			v[i] = d
			mix |= d
		}
	case TransformMinusSpan:
		ends := e.ends[:len(v)]
		for i := range v {
			d := ends[i] - base[i] - le.Uint64(rows[o:])
			o += r
			v[i] = d
			mix |= d
		}
	default:
		for i := range v {
			d := le.Uint64(rows[o:])
			o += r
			v[i] = d
			mix |= d
		}
	}
	return mix
}

// column4 is column8 for 4-byte columns.
func (e *Encoder) column4(rows []byte, r int, tr Transform, firstN uint64) uint64 {
	v := e.vals
	o := 0
	if tr == TransformNone {
		var mix uint32
		for i := range v {
			d := le.Uint32(rows[o:])
			o += r
			v[i] = uint64(d)
			mix |= d
		}
		return uint64(mix)
	}
	if tr == TransformDelta {
		var prev, mix uint32
		for i := range v {
			x := le.Uint32(rows[o:])
			o += r
			d := (x-prev)<<1 ^ uint32(int32(x-prev)>>31)
			prev = x
			v[i] = uint64(d)
			mix |= d
		}
		return uint64(mix)
	}
	for i := range v {
		v[i] = uint64(le.Uint32(rows[o:]))
		o += r
	}
	return e.transform(Column{Width: 4, Transform: tr}, firstN)
}

// transform applies the column's transform to e.vals in place. It returns the bitwise or of the results.
func (e *Encoder) transform(c Column, firstN uint64) uint64 {
	v, keys := e.vals, e.keys[:len(e.vals)]
	mask := ^uint64(0) >> (64 - 8*c.Width)
	var mix, prev uint64
	for i, x := range v {
		d := x
		switch c.Transform {
		case TransformDelta:
			d = zigzag(x-prev, c.Width)
			prev = x
		case TransformMinusT:
			d = zigzag(x-keys[i], c.Width)
		case TransformMinusN:
			d = firstN + uint64(i) - x
		case TransformMinusSpan:
			d = e.ends[i] - keys[i] - x
		}
		d &= mask
		v[i] = d
		mix |= d
	}
	return mix
}

// zigzag8 is zigzag for 8 bytes.
func zigzag8(x uint64) uint64 { return x<<1 ^ uint64(int64(x)>>63) }

// zigzag maps the signed number in the low width bytes of x to an unsigned one.
func zigzag(x uint64, width int) uint64 {
	shift := uint(64 - 8*width)
	s := int64(x<<shift) >> shift
	return uint64(s<<1) ^ uint64(s>>63)
}

func unzigzag(x uint64) uint64 { return x>>1 ^ -(x & 1) }

// rawPlanes is the shift of the number of raw planes in the byte before the planes of a column. The raw planes are the lowest ones.
const rawPlanes = 4

// repeats stands for the number of raw planes if the column repeats. The period and the first value follow as variable-length integers, and
// then the planes of as many values as the period has.
const (
	repeats       = 1<<rawPlanes - 1
	repeatsHead   = 16 // more than the bytes before the planes of a column
	leastRepeated = 16 // values of a column
)

// appendColumn appends a column in one of its two forms. mix is the bitwise or of its values.
func appendColumn(dst []byte, v []uint64, mix uint64) []byte {
	if dst, ok := appendRepeating(dst, v, mix); ok {
		return dst
	}
	return appendPlanes(dst, v, mix)
}

// appendRepeating appends a column whose values after the first one repeat with a period. It returns false if they do not.
func appendRepeating(dst []byte, v []uint64, mix uint64) ([]byte, bool) {
	if mix == 0 || len(v) < leastRepeated {
		return dst, false
	}
	p := period(v[1:])
	if p == 0 {
		return dst, false
	}
	at := len(dst)
	dst = varint.Append(append(dst, 0), uint64(p), v[0])
	planes := len(dst)
	v, mix = v[1:][:p], 0
	for _, x := range v {
		mix |= x
	}
	dst = appendPlanes(dst, v, mix)
	dst[at] = repeats<<rawPlanes | dst[planes]
	return append(dst[:planes], dst[planes+1:]...), true
}

// period returns the number of values after which v repeats. It returns 0 if that is more than half of them, or if the search takes too
// long.
func period(v []uint64) int {
	last := len(v) - 1
	for p, left := 1, 4*len(v); 2*p <= len(v) && left > 0; p++ {
		if v[p] != v[0] || v[last] != v[last-p] {
			continue
		}
		k := p + 1
		for k < last && v[k] == v[k-p] {
			k++
		}
		if k >= last {
			return p
		}
		left -= k - p
	}
	return 0
}

// appendPlanes appends the number of bytes that are not 0 in all values, and then that many byte planes: the lowest byte of all values, the
// second byte of all values, and so on. Real traces are 20 to 30 % smaller this way than value by value, and the compressor has a fraction
// of the bytes to read.
func appendPlanes(dst []byte, v []uint64, mix uint64) []byte {
	planes := (bits.Len64(mix) + 7) / 8
	dst = append(dst, byte(planes))
	at := len(dst)
	dst = growBytes(dst, planes*len(v))
	out := dst[at:]
	k := 0
	for ; k+1 < planes; k += 2 {
		p, q := out[k*len(v):][:len(v)], out[(k+1)*len(v):][:len(v)]
		shift := uint(8*k) & 63
		for i, x := range v {
			x >>= shift
			p[i], q[i] = byte(x), byte(x>>8)
		}
	}
	if k < planes {
		p := out[k*len(v):][:len(v)]
		shift := uint(8*k) & 63
		for i, x := range v {
			p[i] = byte(x >> shift)
		}
	}
	return dst
}

// appendKeyBlock appends the base, the width, and the keys minus the base as bit-packed values.
func appendKeyBlock(dst []byte, keys []uint64, sorted bool) []byte {
	base, top := keys[0], keys[len(keys)-1]
	if !sorted {
		for _, k := range keys {
			base, top = min(base, k), max(top, k)
		}
	}
	w := bits.Len64(top - base)
	if w > maxKeyBits {
		w = 64
	}
	dst = le.AppendUint64(dst, base)
	dst = append(dst, byte(w), 0, 0, 0, 0, 0, 0, 0)
	at := len(dst)
	body := keyBits(len(keys), w)
	dst = growBytes(dst, body+keyBlockSpare)
	out := dst[at:]
	clear(out[max(0, body-8):])
	packBits(out, keys, base, uint(w))
	return dst
}

// keyBits returns the length in bytes of count values of w bits.
func keyBits(count, w int) int { return (count*w + 7) / 8 }

// packBits writes keys[i]-base as w-bit values, lowest bit first. out needs 8 bytes after the last value.
func packBits(out []byte, keys []uint64, base uint64, w uint) {
	if w == 64 {
		for i, k := range keys {
			le.PutUint64(out[8*i:], k-base)
		}
		return
	}
	var acc uint64
	var have uint
	pos := 0
	for _, k := range keys {
		acc |= (k - base) << have
		have += w
		le.PutUint64(out[pos:], acc)
		full := have >> 3
		pos += int(full)
		acc >>= full * 8
		have &= 7
	}
	le.PutUint64(out[pos:], acc)
}

// grow64 returns a slice of n values. It reuses v if v is large enough.
func grow64(v []uint64, n int) []uint64 {
	if cap(v) < n {
		return make([]uint64, n)
	}
	return v[:n]
}

// growBytes extends b by n bytes with undefined content.
func growBytes(b []byte, n int) []byte {
	if need := len(b) + n; need <= cap(b) {
		return b[:need]
	}
	c := make([]byte, len(b)+n, 2*len(b)+n+1024)
	copy(c, b)
	return c
}
