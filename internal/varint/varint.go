// Package varint reads rows of variable-length integers, as encoding/binary writes them: what ranks send each other, and
// what segments and graphs consist of. Whoever reads need not look at every number: the first one that is cut, or larger
// than allowed, ends the reading, from there on everything is 0, and Failed tells.
//
//	r := varint.Read(b)
//	list := make([]pair, r.Count(2)) // no more than b can hold
//	for i := range list {
//		list[i] = pair{r.Uint32(), r.Next()}
//	}
//	if !r.Done() {
//		return errDamaged
//	}
package varint

import (
	"encoding/binary"
	"math"
)

// Append appends each value.
func Append(dst []byte, values ...uint64) []byte {
	for _, v := range values {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// Reader takes numbers and bytes from the front of a byte slice, without copying it. Its zero value is at the end.
type Reader struct {
	b   []byte // none after a failure
	at  int
	bad bool
}

// Read returns a reader of b.
func Read(b []byte) Reader { return Reader{b: b} }

// Next takes a number.
func (r *Reader) Next() uint64 {
	if i := r.at; i+1 < len(r.b) { // most are small
		x, y := uint64(r.b[i]), uint64(r.b[i+1])
		if x < 0x80 {
			r.at = i + 1
			return x
		}
		if y < 0x80 {
			r.at = i + 2
			return x&0x7F | y<<7
		}
	}
	v := uint64(0)
	for i, x := range r.b[r.at:] {
		if i == binary.MaxVarintLen64-1 && x > 1 {
			break // more than 64 bits
		}
		if x < 0x80 {
			r.at += i + 1
			return v | uint64(x)<<(7*i)
		}
		v |= uint64(x&0x7F) << (7 * i)
	}
	r.Fail()
	return 0
}

// AtMost takes a number that may not be larger than most.
func (r *Reader) AtMost(most uint64) uint64 {
	v := r.Next()
	if v > most {
		r.Fail()
		return 0
	}
	return v
}

// Uint32 takes a number of 32 bits.
func (r *Reader) Uint32() uint32 { return uint32(r.AtMost(math.MaxUint32)) }

// Count takes the length of a list of which every element takes at least so many bytes, so that a list of that length may
// be allocated.
func (r *Reader) Count(least int) int {
	n := r.Next()
	if n > uint64(r.Len()/least) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Byte takes a byte.
func (r *Reader) Byte() byte {
	if r.at == len(r.b) {
		r.Fail()
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// Bytes takes n bytes; they are the reader's own.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(r.Len()) {
		r.Fail()
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at : r.at]
}

// Block takes a length and that many bytes; they are the reader's own.
func (r *Reader) Block() []byte { return r.Bytes(r.Next()) }

// Text takes a length and a text of that many bytes.
func (r *Reader) Text() string { return string(r.Block()) }

// Len returns the number of bytes that are left.
func (r *Reader) Len() int { return len(r.b) - r.at }

// Rest returns the bytes that are left.
func (r *Reader) Rest() []byte { return r.b[r.at:] }

// Fail ends the reading: the caller saw a number that cannot be.
func (r *Reader) Fail() { r.b, r.at, r.bad = nil, 0, true }

// Failed tells whether something was cut, too large, or failed by the caller.
func (r *Reader) Failed() bool { return r.bad }

// Done tells whether all was read, and nothing failed.
func (r *Reader) Done() bool { return r.Len() == 0 && !r.bad }
