package stats

import "encoding/binary"

// resultBytes is the size of a result for one staged row.
//
//	0 location P, 4 row, 12 kind             big-endian u32, u64, u32; rows of COLL
//	                                         with the top bit, so after those of P2P
//	16 mateP u32, 20 flags u32               little-endian
//	24 mateN | 32 t | 40 a | 48 b | 56 c     little-endian u64
const (
	resultBytes = 64
	resultKey   = 16
	collRow     = 1 << 63
)

// Result kinds.
const (
	resultDone      uint32 = iota // completion of a send: a, t = enter and leave of the call, mateN = its number, mateP = its path, flags = its region
	resultCancelled               // the send was cancelled
	resultMate                    // P2P: mateP, mateN, t = the mate's T, a = place in the channel; receives: b = the mate's End, c = its bytes; sends: b, c = what matcher.received returns
	resultColl                    // COLL: t = last enter, a = ordinal, b = first leave, c = last leave; flags of the row and resultLowest; mateN, mateP = the enter waited for
	resultCause                   // COLL: t, mateP = the enter waited for; a, b = the last one needed
)

// resultLowest marks the member that reports what is wrong with an instance.
const resultLowest uint32 = 1 << 31

type result struct {
	p       uint32
	row     uint64
	kind    uint32
	mateP   uint32
	mateN   uint64
	t       uint64
	a, b, c uint64
	flags   uint32
}

func (r *result) put(dst []byte) {
	_ = dst[resultBytes-1]
	binary.BigEndian.PutUint32(dst[0:], r.p)
	row := r.row
	if r.kind >= resultColl {
		row |= collRow
	}
	binary.BigEndian.PutUint64(dst[4:], row)
	binary.BigEndian.PutUint32(dst[12:], r.kind)
	binary.LittleEndian.PutUint32(dst[16:], r.mateP)
	binary.LittleEndian.PutUint32(dst[20:], r.flags)
	binary.LittleEndian.PutUint64(dst[24:], r.mateN)
	binary.LittleEndian.PutUint64(dst[32:], r.t)
	binary.LittleEndian.PutUint64(dst[40:], r.a)
	binary.LittleEndian.PutUint64(dst[48:], r.b)
	binary.LittleEndian.PutUint64(dst[56:], r.c)
}

func (r *result) load(b []byte) {
	_ = b[resultBytes-1]
	r.p = binary.BigEndian.Uint32(b[0:])
	r.row = binary.BigEndian.Uint64(b[4:]) &^ collRow
	r.kind = binary.BigEndian.Uint32(b[12:])
	r.mateP = binary.LittleEndian.Uint32(b[16:])
	r.flags = binary.LittleEndian.Uint32(b[20:])
	r.mateN = binary.LittleEndian.Uint64(b[24:])
	r.t = binary.LittleEndian.Uint64(b[32:])
	r.a = binary.LittleEndian.Uint64(b[40:])
	r.b = binary.LittleEndian.Uint64(b[48:])
	r.c = binary.LittleEndian.Uint64(b[56:])
}
