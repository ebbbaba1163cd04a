package column

import (
	"encoding/binary"
	"math/bits"
)

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
