package stats

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/xtf"
)

// channelKey is what a channel is known by in one location, in the order of entries.
type channelKey struct{ peer, comm, tag, direction uint32 }

func (k *channelKey) compare(o *channelKey) int {
	return cmp.Or(cmp.Compare(k.peer, o.peer), cmp.Compare(k.comm, o.comm), cmp.Compare(k.tag, o.tag), cmp.Compare(k.direction, o.direction))
}

// entry is one operation of a location: where it belongs and what the other side needs to know of it. Entries come in the
// channel order of the file: (peer, communicator, tag, direction, posting).
type entry struct {
	channelKey
	p uint32
	operation
}

// operation is an entry but for its channel and location.
type operation struct {
	posting uint64 // order of posting in the location's stream
	row     uint64 // N of the staged row
	t, end  uint64 // T and End of the row; collectives: post and End
	bytes   uint64
	post    uint64 // instant of posting; collectives: operation<<32 | root
	stay    uint64 // receives: see pendingOp.stay
	flags   uint32 // see below
}

// Flags of entries. A result has those of both sides.
const (
	entryShared      uint32 = 1 << iota // of a channel that several locations use
	entryBlocking                       // a blocking send
	entrySynchronous                    // a send that the call makes synchronous
	entryClock                          // the receive ended before the send began
	entryTakes                          // a member of a collective that gets bytes
	entryPosted                         // the receive was posted when the send began
	entryExclusive                      // the release of a lock that nobody else could hold
	entryFlags       = 1<<iota - 1
)

// Entries are kept in blocks, each some operations of one channel of one location:
//
//	block      peer u32 | communicator u32 | tag u32 | direction u32 | location u32 | operations u16 | bytes of them u16
//	operation  control u32 | posting | row | t | end, and if control says so: bytes | post | stay
//
// Integers are little-endian. Those of an operation are differences, mostly to the operation before in the block, and take 1 to
// 8 bytes: control has 3 bits for each, from the lowest on, and above them the flags and which of the last three there are.
const (
	blockBytes    = 512
	blockHead     = 24
	mostOperation = 4 + 7*8

	controlFlags = 21
	controlPost  = 1 << 30 // the post is that of the operation before
	controlMore  = 1 << 31
)

// block is entries as they are kept.
type block []byte

// beginBlock begins a block in memory of blockBytes.
func beginBlock(b block, k *channelKey, p uint32) block {
	b = b[:blockHead]
	for i, v := range [...]uint32{k.peer, k.comm, k.tag, k.direction, p, 0} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

func (b block) key() channelKey {
	u := binary.LittleEndian.Uint32
	return channelKey{u(b), u(b[4:]), u(b[8:]), u(b[12:])}
}

func (b block) location() uint32   { return binary.LittleEndian.Uint32(b[16:]) }
func (b block) operations() uint64 { return uint64(binary.LittleEndian.Uint16(b[20:])) }

// size is that of the whole block.
func (b block) size() int { return blockHead + int(binary.LittleEndian.Uint16(b[22:])) }

// full reports whether there is no room for any operation more.
func (b block) full() bool { return len(b)+mostOperation > blockBytes }

// noOperation is what the first operation of a block differs from.
var noOperation = operation{stay: xtf.Never}

// add adds an operation to a block that is not full; last is the one before, and then this one. Fields are set one by one: a
// copy would read them in wider words than they were written in just now.
func (b block) add(o, last *operation) block {
	post, bytes, stay := o.t-o.post, o.bytes^last.bytes, o.stay-last.stay
	control := o.flags << controlFlags
	if o.post == last.post {
		post, control = 0, control|controlPost
	}
	at := len(b)
	p := b[at:blockBytes]
	_ = p[mostOperation-1]
	next, code := putBytes(p, 4, o.posting-last.posting)
	control |= code
	next, code = putBytes(p, next, o.row-last.row)
	control |= code << 3
	next, code = putBytes(p, next, o.t-last.t)
	control |= code << 6
	next, code = putBytes(p, next, o.end-o.t)
	control |= code << 9
	if bytes|post|stay != 0 {
		control |= controlMore
		next, code = putBytes(p, next, bytes)
		control |= code << 12
		next, code = putBytes(p, next, post)
		control |= code << 15
		next, code = putBytes(p, next, stay)
		control |= code << 18
	}
	last.posting, last.row, last.t, last.bytes, last.post, last.stay = o.posting, o.row, o.t, o.bytes, o.post, o.stay
	binary.LittleEndian.PutUint32(p, control)
	binary.LittleEndian.PutUint32(b[20:], binary.LittleEndian.Uint32(b[20:])+uint32(next)<<16+1)
	return b[:at+next]
}

// putBytes puts the bytes that a number has, one at least. It returns what is next in b, and the number of bytes less one.
func putBytes(b []byte, at int, v uint64) (next int, code uint32) {
	binary.LittleEndian.PutUint64(b[at:], v)
	n := (bits.Len64(v|1) - 1) / 8
	return at + n + 1, uint32(n)
}

// takeBytes is the inverse of putBytes, with the code in the lowest bits of control.
func takeBytes(b []byte, at int, control uint32) (next int, v uint64) {
	n := int(control & 7)
	return at + n + 1, binary.LittleEndian.Uint64(b[at:]) & (math.MaxUint64 >> (56 - 8*n))
}

// take makes o, the operation before, the one that b begins with, and returns its bytes in b; 0 if b ends before.
func (o *operation) take(b []byte) int {
	left := len(b)
	if cap(b) < mostOperation {
		b = append(make([]byte, 0, mostOperation), b...)
	}
	b = b[:mostOperation]
	control := binary.LittleEndian.Uint32(b)
	next, v := takeBytes(b, 4, control)
	o.posting += v
	next, v = takeBytes(b, next, control>>3)
	o.row += v
	next, v = takeBytes(b, next, control>>6)
	o.t += v
	next, v = takeBytes(b, next, control>>9)
	o.end = o.t + v
	post := uint64(0)
	if control&controlMore != 0 {
		next, v = takeBytes(b, next, control>>12)
		o.bytes ^= v
		next, post = takeBytes(b, next, control>>15)
		next, v = takeBytes(b, next, control>>18)
		o.stay += v
	}
	if control&controlPost == 0 {
		o.post = o.t - post
	}
	o.flags = control >> controlFlags & entryFlags
	if next > left {
		return 0
	}
	return next
}

// each calls f for the operations of a whole block.
func (b block) each(f func(o *operation)) {
	o := noOperation
	for body := b[blockHead:]; len(body) > 0; {
		n := o.take(body)
		if n == 0 {
			return
		}
		f(&o)
		body = body[n:]
	}
}
