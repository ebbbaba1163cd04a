package column

import (
	"encoding/binary"
	"math/bits"
)

// ZigZag maps signed values to unsigned ones, small magnitudes to small values.
func ZigZag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// UnZigZag is the inverse of ZigZag.
func UnZigZag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// varLen returns the length in bytes of v as a varint.
func varLen(v uint64) int { return int(varBytes[bits.Len64(v)]) }

// varBytes is the length of a varint by the bit length of its value.
var varBytes = [65]uint8{
	1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5,
	6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 10,
}

// packedLen returns the bytes of n codes of w bits.
func packedLen(n int, w uint) int { return (n*int(w) + 7) / 8 }

func mask(w uint) uint64 { return 1<<w - 1 } // w = 64: the shift gives 0, minus 1 all ones

// pack appends the low w bits of each value minus base.
func pack(dst []byte, v []uint64, base uint64, w uint) []byte {
	if w == 0 {
		return dst
	}
	n, start := packedLen(len(v), w), len(dst)
	dst = grow(dst, n+8)
	out, m := dst[start:], mask(w)
	if w > 56 {
		packWide(out, v, base, w)
		return dst[:start+n]
	}
	// every word is stored with what is below it: no branch, up to 7 bits stay
	var acc uint64
	var have uint
	o := 0
	put := func(x uint64, w uint) {
		acc |= x << (have & 7)
		binary.LittleEndian.PutUint64(out[o:], acc)
		have += w
		o += int(have >> 3)
		acc >>= have &^ 7 & 63
		have &= 7
	}
	switch i := 0; {
	case w <= 14: // four codes at once
		for ; i+4 <= len(v); i += 4 {
			put((v[i]-base)&m|(v[i+1]-base)&m<<w|(v[i+2]-base)&m<<(2*w)|(v[i+3]-base)&m<<(3*w), 4*w)
		}
		v = v[i:]
	case w <= 28:
		for ; i+2 <= len(v); i += 2 {
			put((v[i]-base)&m|(v[i+1]-base)&m<<w, 2*w)
		}
		v = v[i:]
	}
	for _, x := range v {
		put((x-base)&m, w)
	}
	return dst[:start+n]
}

// packWide is pack for any width.
func packWide(out []byte, v []uint64, base uint64, w uint) {
	var acc uint64
	var have uint // bits in acc, below 64
	o := 0
	for _, x := range v {
		x = (x - base) & mask(w)
		acc |= x << (have & 63)
		have += w
		if have >= 64 {
			binary.LittleEndian.PutUint64(out[o:], acc)
			o += 8
			have -= 64
			acc = x >> (w - have)
		}
	}
	binary.LittleEndian.PutUint64(out[o:], acc)
}

// grow returns dst, n bytes longer.
func grow(dst []byte, n int) []byte {
	if len(dst)+n <= cap(dst) {
		return dst[:len(dst)+n]
	}
	bigger := make([]byte, len(dst)+n, 2*len(dst)+n+64)
	copy(bigger, dst)
	return bigger
}

// unpack reads len(dst) codes of w bits from src and adds base to each. src
// holds at least packedLen(len(dst), w) bytes; bytes after them make it faster.
func unpack(dst []uint64, src []byte, base uint64, w uint) {
	switch {
	case w == 0:
		fill(dst, base)
	case w <= 56:
		n := unpackFast(dst, src, base, w)
		unpackTail(dst[n:], src, base, w, n)
	default:
		unpackTail(dst, src, base, w, 0)
	}
}

// unpackFast decodes groups of 8 codes, each by one unaligned 8-byte load, as
// long as the loads stay inside src, and returns how many it decoded.
func unpackFast(dst []uint64, src []byte, base uint64, w uint) int {
	m, i := mask(w), 0
	for o := 0; i+8 <= len(dst) && o+int(w)+8 <= len(src); o += int(w) {
		p, d := src[o:o+int(w)+8], dst[i:i+8:i+8]
		d[0] = base + binary.LittleEndian.Uint64(p)&m
		d[1] = base + binary.LittleEndian.Uint64(p[w>>3:])>>(w&7)&m
		d[2] = base + binary.LittleEndian.Uint64(p[2*w>>3:])>>(2*w&7)&m
		d[3] = base + binary.LittleEndian.Uint64(p[3*w>>3:])>>(3*w&7)&m
		d[4] = base + binary.LittleEndian.Uint64(p[4*w>>3:])>>(4*w&7)&m
		d[5] = base + binary.LittleEndian.Uint64(p[5*w>>3:])>>(5*w&7)&m
		d[6] = base + binary.LittleEndian.Uint64(p[6*w>>3:])>>(6*w&7)&m
		d[7] = base + binary.LittleEndian.Uint64(p[7*w>>3:])>>(7*w&7)&m
		i += 8
	}
	return i
}

// unpackTail decodes the codes from number first on, for any width, without
// reading after src.
func unpackTail(dst []uint64, src []byte, base uint64, w uint, first int) {
	m := mask(w)
	for i := range dst {
		bit := (first + i) * int(w)
		o, s := bit>>3, uint(bit&7)
		v := loadLE(src, o) >> s
		if s+w > 64 {
			v |= uint64(src[o+8]) << (64 - s)
		}
		dst[i] = base + v&m
	}
}

// loadLE loads up to 8 bytes at o, zeros after the end of src.
func loadLE(src []byte, o int) uint64 {
	if o+8 <= len(src) {
		return binary.LittleEndian.Uint64(src[o:])
	}
	var v uint64
	for i := len(src) - 1; i >= o; i-- {
		v = v<<8 | uint64(src[i])
	}
	return v
}

// bitWriter appends bits, the most significant first.
type bitWriter struct {
	dst  []byte
	acc  uint64 // pending bits at the top
	have uint   // their number, below 32
}

// put appends the n low bits of v, 32 at most; the others are 0.
func (w *bitWriter) put(v uint64, n uint) {
	w.have += n
	w.acc |= v << (64 - w.have)
	if w.have >= 32 {
		w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(w.acc>>32))
		w.acc <<= 32
		w.have -= 32
	}
}

// putLong is put for any n up to 64.
func (w *bitWriter) putLong(v uint64, n uint) {
	if n > 32 {
		w.put(v>>32, n-32)
		v, n = v&mask(32), 32
	}
	w.put(v, n)
}

// putGolomb appends v by an exponential Golomb code of order k.
func (w *bitWriter) putGolomb(v uint64, k uint) {
	q := v>>k + 1
	n := uint(bits.Len64(q))
	w.putLong(0, n-1)
	w.putLong(q, n)
	w.putLong(v&mask(k), k)
}

// golombLen returns the bits of putGolomb.
func golombLen(v uint64, k uint) int { return 2*bits.Len64(v>>k+1) - 1 + int(k) }

// putUnary appends n ones and a zero.
func (w *bitWriter) putUnary(n uint) { w.put(mask(n)<<1, n+1) }

// finish returns the bytes, the last one filled with zeros.
func (w *bitWriter) finish() []byte {
	for n := 0; n < int(w.have); n += 8 {
		w.dst = append(w.dst, byte(w.acc>>56))
		w.acc <<= 8
	}
	return w.dst
}

// bitReader reads what a bitWriter wrote. After the end of src come zeros; rest
// tells whether they were used.
type bitReader struct {
	src  []byte
	next int    // first byte that is not wholly in acc
	acc  uint64 // bits read ahead, at the top; those after the first have may be set
	have uint
}

// refill makes at least 56 bits available.
func (r *bitReader) refill() {
	var x uint64
	if r.next+8 <= len(r.src) {
		x = binary.BigEndian.Uint64(r.src[r.next:])
	} else if r.next < len(r.src) {
		var b [8]byte
		copy(b[:], r.src[r.next:])
		x = binary.BigEndian.Uint64(b[:])
	}
	r.acc |= x >> r.have
	r.next += int((63 - r.have) >> 3)
	r.have |= 56
}

// get returns the next n bits, 32 at most.
func (r *bitReader) get(n uint) uint64 {
	if r.have < n {
		r.refill()
	}
	v := r.acc >> 1 >> (63 - n)
	r.acc <<= n
	r.have -= n
	return v
}

// getLong is get for any n up to 64.
func (r *bitReader) getLong(n uint) uint64 {
	if n > 32 {
		high := r.get(n - 32)
		return high<<32 | r.get(32)
	}
	return r.get(n)
}

// entry reads an exponential Golomb code of order k and a unary code, as golomb
// and unary do: by one refill, unless they are long.
func (r *bitReader) entry(k, limit uint) (v uint64, n uint, ok bool) {
	r.refill()
	z := uint(bits.LeadingZeros64(r.acc))
	size := 2*z + 1 + k
	n = uint(bits.LeadingZeros64(^(r.acc << size)))
	if size+n+1 > 56 {
		if v, ok = r.golomb(k); ok {
			n, ok = r.unary(limit)
		}
		return v, n, ok
	}
	v = (r.acc<<z>>(63-z)-1)<<k | r.acc<<(2*z+1)>>1>>(63-k)
	r.acc <<= size + n + 1
	r.have -= size + n + 1
	return v, n, n <= limit
}

// golomb reads an exponential Golomb code of order k.
func (r *bitReader) golomb(k uint) (uint64, bool) {
	zeros := uint(0)
	for {
		r.refill()
		z := min(uint(bits.LeadingZeros64(r.acc)), 32)
		if zeros += z; zeros > 63 {
			return 0, false
		}
		r.acc <<= z
		r.have -= z
		if z < 32 {
			break
		}
	}
	q := r.getLong(zeros+1) - 1
	if bits.Len64(q)+int(k) > 64 {
		return 0, false
	}
	return q<<k | r.getLong(k), true
}

// unary reads ones up to a zero; more than limit are refused.
func (r *bitReader) unary(limit uint) (uint, bool) {
	r.refill()
	n := uint(bits.LeadingZeros64(^r.acc))
	if n > limit { // limit + 1 is below 56
		return 0, false
	}
	r.acc <<= n + 1
	r.have -= n + 1
	return n, true
}

// rest returns the bytes after the last one begun, false if that is after the
// end or its unused bits are not zeros.
func (r *bitReader) rest() ([]byte, bool) {
	used := 8*r.next - int(r.have)
	end := (used + 7) / 8
	if end > len(r.src) || end > 0 && r.src[end-1]&byte(mask(uint(8*end-used))) != 0 {
		return nil, false
	}
	return r.src[end:], true
}
