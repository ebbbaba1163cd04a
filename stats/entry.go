package stats

import (
	"cmp"
	"encoding/binary"
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
	entryFlags       = 1<<iota - 1
)

// Entries are kept in blocks, each some operations of one channel of one location:
//
//	block      peer u32 | communicator u32 | tag u32 | direction u32 | location u32 | operations u16 | bytes of them u16
//	operation  control u32 | differences to the operation before in the block, of as many bytes as control says
//
// Integers are little-endian. Control has 3 bits for each difference: so many bytes, 7 for 8. Above them is controlPost for one
// whose post is that of the operation before, and the flags.
const (
	blockBytes    = 512
	blockHead     = 24
	mostOperation = 4 + 8*differences

	differences = 7
	controlPost = 1 << (3 * differences)
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

// first is what the first operation of a block differs from.
var first = operation{stay: xtf.Never}

// add adds an operation to a block that is not full; last is the one before.
func (b block) add(o, last *operation) block {
	post, control := o.t-o.post, o.flags<<(3*differences+1)
	if o.post == last.post {
		post, control = 0, control|controlPost
	}
	at := len(b)
	next := at + 4
	b = b[:at+mostOperation]
	for i, v := range [differences]uint64{o.posting - last.posting, o.row - last.row, o.t - last.t, o.end - o.t, o.bytes ^ last.bytes, post, o.stay - last.stay} {
		n := (bits.Len64(v) + 7) / 8
		if n >= 7 {
			n = 8
		}
		binary.LittleEndian.PutUint64(b[next:], v)
		control |= uint32(min(n, 7)) << (3 * i)
		next += n
	}
	binary.LittleEndian.PutUint32(b[at:], control)
	binary.LittleEndian.PutUint16(b[20:], uint16(b.operations()+1))
	binary.LittleEndian.PutUint16(b[22:], uint16(next-blockHead))
	return b[:next]
}

// take makes o, the operation before, the one that b begins with, and returns its bytes in b; 0 if b ends before.
func (o *operation) take(b []byte) int {
	left := len(b)
	if cap(b) < mostOperation {
		b = append(make([]byte, 0, mostOperation), b...)
	}
	b = b[:mostOperation]
	control := binary.LittleEndian.Uint32(b)
	next := 4
	var v [differences]uint64
	for i := range v {
		n := int(control >> (3 * i) & 7)
		v[i] = binary.LittleEndian.Uint64(b[next:])
		if n == 7 {
			n = 8
		} else {
			v[i] &= 1<<(8*n) - 1
		}
		next += n
	}
	if next > left {
		return 0
	}
	o.posting += v[0]
	o.row += v[1]
	o.t += v[2]
	o.end = o.t + v[3]
	o.bytes ^= v[4]
	if control&controlPost == 0 {
		o.post = o.t - v[5]
	}
	o.stay += v[6]
	o.flags = control >> (3*differences + 1) & entryFlags
	return next
}

// each calls f for the operations of a whole block.
func (b block) each(f func(o *operation)) {
	o := first
	for body := b[blockHead:]; len(body) > 0; {
		n := o.take(body)
		if n == 0 {
			return
		}
		f(&o)
		body = body[n:]
	}
}
