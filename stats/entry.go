package stats

import "encoding/binary"

// entryBytes is the size of a channel entry.
//
//	0 peer | 4 communicator | 8 tag | 12 direction   big-endian u32
//	16 posting number                                big-endian u64
//	24 row number | 32 T | 40 End | 48 bytes | 56 post   little-endian u64
//	64 location P | 68 flags                         little-endian u32
//	72 stay                                          little-endian u64
//
// The first entryKey bytes compare like the channel order of the file:
// (peer, communicator, tag, direction, posting).
const (
	entryBytes   = 80
	entryKey     = 24
	channelBytes = 16
)

// entry is one operation of a location: where it belongs and what the other
// side needs to know of it.
type entry struct {
	peer, comm, tag, direction uint32
	posting                    uint64 // order of posting in the location's stream
	row                        uint64 // N of the staged row
	t, end                     uint64 // T and End of the row; collectives: post and End
	bytes                      uint64
	post                       uint64 // instant of posting; collectives: operation<<32 | root
	p                          uint32
	flags                      uint32 // see below
	stay                       uint64 // receives: see pendingOp.stay
}

// Flags of entries. A result has those of both sides.
const (
	entryShared      uint32 = 1 << iota // of a channel that several locations use
	entryBlocking                       // a blocking send
	entrySynchronous                    // a send that the call makes synchronous
	entryClock                          // the receive ended before the send began
	entryTakes                          // a member of a collective that gets bytes
	entryPosted                         // the receive was posted when the send began
)

func (e *entry) put(b []byte) {
	_ = b[entryBytes-1]
	binary.BigEndian.PutUint32(b[0:], e.peer)
	binary.BigEndian.PutUint32(b[4:], e.comm)
	binary.BigEndian.PutUint32(b[8:], e.tag)
	binary.BigEndian.PutUint32(b[12:], e.direction)
	binary.BigEndian.PutUint64(b[16:], e.posting)
	binary.LittleEndian.PutUint64(b[24:], e.row)
	binary.LittleEndian.PutUint64(b[32:], e.t)
	binary.LittleEndian.PutUint64(b[40:], e.end)
	binary.LittleEndian.PutUint64(b[48:], e.bytes)
	binary.LittleEndian.PutUint64(b[56:], e.post)
	binary.LittleEndian.PutUint32(b[64:], e.p)
	binary.LittleEndian.PutUint32(b[68:], e.flags)
	binary.LittleEndian.PutUint64(b[72:], e.stay)
}

func (e *entry) load(b []byte) {
	_ = b[entryBytes-1]
	e.peer = binary.BigEndian.Uint32(b[0:])
	e.comm = binary.BigEndian.Uint32(b[4:])
	e.tag = binary.BigEndian.Uint32(b[8:])
	e.direction = binary.BigEndian.Uint32(b[12:])
	e.posting = binary.BigEndian.Uint64(b[16:])
	e.row = binary.LittleEndian.Uint64(b[24:])
	e.t = binary.LittleEndian.Uint64(b[32:])
	e.end = binary.LittleEndian.Uint64(b[40:])
	e.bytes = binary.LittleEndian.Uint64(b[48:])
	e.post = binary.LittleEndian.Uint64(b[56:])
	e.p = binary.LittleEndian.Uint32(b[64:])
	e.flags = binary.LittleEndian.Uint32(b[68:])
	e.stay = binary.LittleEndian.Uint64(b[72:])
}

// entryDirection returns the direction of an encoded entry.
func entryDirection(row []byte) uint32 { return binary.BigEndian.Uint32(row[12:]) }

// Places of single values in an encoded entry.
const (
	entryRowAt   = 24
	entryBytesAt = 48
)

// entryValue returns the little-endian value at a place of an encoded entry.
func entryValue(row []byte, at int) uint64 { return binary.LittleEndian.Uint64(row[at:]) }

// entryPosting returns the number of the posting of an encoded entry.
func entryPosting(row []byte) uint64 { return binary.BigEndian.Uint64(row[16:]) }

// entryChannel returns the channel of an encoded entry.
func entryChannel(row []byte) channelKey {
	return channelKey{binary.BigEndian.Uint32(row), binary.BigEndian.Uint32(row[4:]), binary.BigEndian.Uint32(row[8:]), entryDirection(row)}
}

// channelID is the channel of an encoded entry, as it compares fastest.
type channelID [2]uint64

func channelOf(row []byte) channelID {
	return channelID{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])}
}
