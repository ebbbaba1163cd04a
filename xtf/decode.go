package xtf

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// decoder turns page payloads into rows. It belongs to one goroutine at a time.
type decoder struct {
	zstd *zstd.Decoder
	cold []byte
	vals []uint64
	keys []uint64
	ends []uint64
	page []byte   // decoded page, which the next cursor takes over
	into *columns // destination of the columns of packed pages; nil: the rows

	viewer    *viewer // for CALL rows; set when the first view is read
	followers map[TypeID]*follower
}

func newDecoder() *decoder {
	z, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(2*maxRaw),
		zstd.WithDecoderMaxWindow(maxRaw),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(fmt.Sprintf("xtf: zstd options: %v", err)) // constants above
	}
	return &decoder{zstd: z}
}

// inflate decompresses a frame of at most limit bytes into the memory of dst.
func (d *decoder) inflate(dst, frame []byte, limit int) ([]byte, error) {
	if cap(dst) < limit {
		dst = make([]byte, 0, limit)
	}
	out, err := d.zstd.DecodeAll(frame, dst[:0:limit])
	if err != nil {
		return dst[:0], corrupt("frame of %d bytes: %v", len(frame), err)
	}
	return out, nil
}

// keyBlock is the first column of a packed page. Each key can be read without decoding the others.
type keyBlock struct {
	base uint64
	w    uint
	mask uint64
	bits []byte // count*w bits and keyBlockSpare bytes
}

// parseKeyBlock checks the key block at the start of payload. It returns its length in bytes.
func parseKeyBlock(payload []byte, count int) (keyBlock, int, error) {
	if len(payload) < keyBlockHead+keyBlockSpare {
		return keyBlock{}, 0, corrupt("key block of %d bytes", len(payload))
	}
	w := int(payload[8])
	if w > maxKeyBits && w != 64 {
		return keyBlock{}, 0, corrupt("key width of %d bits", w)
	}
	size := keyBlockHead + keyBits(count, w) + keyBlockSpare
	if size > len(payload) {
		return keyBlock{}, 0, corrupt("key block of %d bytes in a payload of %d", size, len(payload))
	}
	return keyBlock{
		base: le.Uint64(payload), w: uint(w), mask: 1<<uint(w) - 1,
		bits: payload[keyBlockHead:size],
	}, size, nil
}

// at returns key i. The caller checks that i is below the count of the block.
func (k *keyBlock) at(i int) uint64 {
	if k.w == 64 {
		return k.base + le.Uint64(k.bits[8*i:])
	}
	bit := uint(i) * k.w
	return k.base + le.Uint64(k.bits[bit>>3:])>>(bit&7)&k.mask
}

// load fills dst with the first len(dst) keys.
func (k *keyBlock) load(dst []uint64) {
	if k.w == 64 {
		for i := range dst {
			dst[i] = k.base + le.Uint64(k.bits[8*i:])
		}
		return
	}
	bit := uint(0)
	for i := range dst {
		dst[i] = k.base + le.Uint64(k.bits[bit>>3:])>>(bit&7)&k.mask
		bit += k.w
	}
}

// rows decodes the payload of a page of count rows into dst, which has
// count*R bytes.
func (d *decoder) rows(dst []byte, t *Type, codec Codec, payload []byte, count int, firstN uint64) error {
	return d.columns(dst, t, codec, payload, count, firstN, allColumns)
}

// columnSet is a set of columns of a type to be decoded. Bit i stands for column i.
type columnSet uint64

const allColumns = ^columnSet(0)

func (s columnSet) has(i int) bool { return i >= 64 || s>>i&1 != 0 }

// columnsAt returns the set of the columns with these offsets, the first column, and the End if one of them is relative to it.
func (t *Type) columnsAt(offsets []int) columnSet {
	set := columnSet(1)
	for i, c := range t.Columns {
		if i < 64 && slices.Contains(offsets, c.Offset) {
			set |= 1 << i
			if c.Transform == TransformMinusSpan {
				set |= 1 << t.End
			}
		}
	}
	return set
}

// columns decodes like rows, but leaves columns that are not in want undefined.
func (d *decoder) columns(dst []byte, t *Type, codec Codec, payload []byte, count int, firstN uint64, want columnSet) error {
	switch codec {
	case CodecRaw:
		if len(payload) != len(dst) {
			return corrupt("%d bytes of raw rows, expected %d", len(payload), len(dst))
		}
		copy(dst, payload)
		return nil
	case CodecRows:
		out, err := d.inflate(dst, payload, len(dst))
		if err == nil && len(out) != len(dst) {
			err = corrupt("%d bytes of rows, expected %d", len(out), len(dst))
		}
		return err
	case CodecPacked:
		if isFollowing(payload) {
			return d.following(dst, t, payload, count, firstN, nil)
		}
		return d.packed(dst, t, payload, count, firstN, want)
	}
	return corrupt("codec %d", codec)
}

func (d *decoder) packed(dst []byte, t *Type, payload []byte, count int, firstN uint64, want columnSet) error {
	kb, size, err := parseKeyBlock(payload, count)
	if err != nil {
		return err
	}
	cold, err := d.coldBlock(t, payload[size:], count)
	if err != nil {
		return err
	}
	d.keys = grow64(d.keys, count)
	kb.load(d.keys)
	d.put(dst, d.keys, t, t.Columns[0])
	return d.coldColumns(dst, t, cold, count, firstN, want)
}

// coldColumns decodes the columns after the first one from their byte planes. The values of the first column are in d.keys.
func (d *decoder) coldColumns(dst []byte, t *Type, cold []byte, count int, firstN uint64, want columnSet) error {
	d.vals = grow64(d.vals, count)
	r := planeReader{cold: cold, n: count}
	for i := 1; i < len(t.Columns); i++ {
		c := t.Columns[i]
		x, err := r.next(c.Width)
		if err != nil {
			return err
		}
		if !want.has(i) {
			continue
		}
		x.load(d.vals)
		d.undo(c, firstN)
		if i == t.End {
			d.ends = append(d.ends[:0], d.vals...)
		}
		d.put(dst, d.vals, t, c)
	}
	return r.end()
}

// put stores a column in the rows, or in d.into if that is set.
func (d *decoder) put(rows []byte, v []uint64, t *Type, c Column) {
	if d.into == nil {
		storeColumn(rows, v, t.RowBytes, c)
		return
	}
	d.into.got = true
	if i := slices.Index(d.into.offsets, c.Offset); i >= 0 {
		mask := ^uint64(0) >> (64 - 8*c.Width)
		to := grow64(d.into.values[i], len(v))
		for k, x := range v {
			to[k] = x & mask
		}
		d.into.values[i] = to
	}
}

// coldBlock returns the byte planes of all columns but the first, decompressed.
func (d *decoder) coldBlock(t *Type, b []byte, count int) ([]byte, error) {
	if len(b) < coldHead {
		return nil, corrupt("cold block of %d bytes", len(b))
	}
	if b[0]&^coldPlain != 0 {
		return nil, corrupt("cold block flags %#x", b[0])
	}
	if b[0] == coldPlain {
		return b[coldHead:], nil
	}
	if d.zstd == nil {
		return nil, corrupt("a frame in staged rows")
	}
	limit := 0
	for _, c := range t.Columns[1:] {
		limit += repeatsHead + c.Width*count
	}
	var err error
	d.cold, err = d.inflate(d.cold, b[coldHead:], limit)
	return d.cold, err
}

// planeReader reads the columns of a block of byte planes, one after another.
type planeReader struct {
	cold []byte // the rest of the block
	raw  []byte // the rest of the raw planes, which are outside of it
	n    int    // values of each column
}

// packedColumn is a column in the block. Its lowest planes may be raw.
type packedColumn struct {
	raw, cold    []byte
	lower, upper int    // numbers of planes
	period       int    // number of stored values, which repeat (see appendRepeating); 0: all are stored
	first        uint64 // the value before those that repeat
}

func (r *planeReader) next(width int) (c packedColumn, err error) {
	if len(r.cold) == 0 {
		return c, corrupt("column missing from a cold block")
	}
	head, n := r.cold[0], r.n
	c.lower, c.upper, r.cold = int(head>>rawPlanes), int(head&(1<<rawPlanes-1)), r.cold[1:]
	if c.lower == repeats {
		b := varint.Read(r.cold)
		period := b.Next()
		c.first = b.Next()
		if b.Failed() || period == 0 || period >= uint64(n) {
			return c, corrupt("a column of %d values that repeats after %d", n, period)
		}
		r.cold = b.Rest()
		c.lower, c.period, n = 0, int(period), int(period)
	}
	if c.lower+c.upper > width || c.lower*n > len(r.raw) || c.upper*n > len(r.cold) {
		return c, corrupt("%d and %d planes of %d bytes in %d and %d", c.lower, c.upper, n, len(r.raw), len(r.cold))
	}
	c.raw, r.raw = r.raw[:c.lower*n], r.raw[c.lower*n:]
	c.cold, r.cold = r.cold[:c.upper*n], r.cold[c.upper*n:]
	return c, nil
}

// end returns an error if some bytes were not read.
func (r *planeReader) end() error {
	if n := len(r.cold) + len(r.raw); n != 0 {
		return corrupt("%d bytes after the last column", n)
	}
	return nil
}

// zero returns whether all values are 0.
func (c *packedColumn) zero() bool { return c.lower+c.upper+c.period == 0 }

// load decodes the values.
func (c *packedColumn) load(dst []uint64) {
	if c.period == 0 {
		joinPlanes(dst, c.raw, c.lower, c.cold, c.upper)
		return
	}
	dst[0] = c.first
	dst = dst[1:]
	joinPlanes(dst[:c.period], nil, 0, c.cold, c.upper)
	for have := c.period; have < len(dst); have *= 2 {
		copy(dst[have:], dst[:have])
	}
}

// joinPlanes computes the values from their lower planes in raw and the other planes in cold. Nearly all values have at most three planes.
func joinPlanes(dst []uint64, raw []byte, lower int, cold []byte, upper int) {
	n, planes := len(dst), lower+upper
	plane := func(k int) []byte {
		if k < lower {
			return raw[k*n:][:n]
		}
		return cold[(k-lower)*n:][:n]
	}
	switch planes {
	case 0:
		clear(dst)
		return
	case 1:
		for i, x := range plane(0) {
			dst[i] = uint64(x)
		}
		return
	case 2:
		p, q := plane(0), plane(1)
		for i, x := range p {
			dst[i] = uint64(x) | uint64(q[i])<<8
		}
		return
	}
	p, q, r := plane(0), plane(1), plane(2)
	for i, x := range p {
		dst[i] = uint64(x) | uint64(q[i])<<8 | uint64(r[i])<<16
	}
	for k := 3; k < planes; k++ {
		shift := uint(8*k) & 63
		for i, x := range plane(k) {
			dst[i] |= uint64(x) << shift
		}
	}
}

// undo reverses the transform of a column on d.vals. Bits above the column's width are dropped when the column is stored.
func (d *decoder) undo(c Column, firstN uint64) {
	v := d.vals
	keys := d.keys[:len(v)]
	switch c.Transform {
	case TransformDelta:
		var prev uint64
		for i, x := range v {
			prev += unzigzag(x)
			v[i] = prev
		}
	case TransformMinusT:
		for i, x := range v {
			v[i] = keys[i] + unzigzag(x)
		}
	case TransformMinusN:
		for i, x := range v {
			v[i] = firstN + uint64(i) - x
		}
	case TransformMinusSpan:
		ends := d.ends[:len(v)]
		for i, x := range v {
			v[i] = ends[i] - keys[i] - x
		}
	}
}

// storeColumn stores v as one column of the rows.
func storeColumn(rows []byte, v []uint64, r int, c Column) {
	switch c.Width {
	case 8:
		for i, o := 0, c.Offset; i < len(v); i, o = i+1, o+r {
			le.PutUint64(rows[o:], v[i])
		}
	case 4:
		for i, o := 0, c.Offset; i < len(v); i, o = i+1, o+r {
			le.PutUint32(rows[o:], uint32(v[i]))
		}
	case 2:
		for i, o := 0, c.Offset; i < len(v); i, o = i+1, o+r {
			le.PutUint16(rows[o:], uint16(v[i]))
		}
	default:
		for i, o := 0, c.Offset; i < len(v); i, o = i+1, o+r {
			rows[o] = byte(v[i])
		}
	}
}
