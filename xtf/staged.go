package xtf

import (
	"io"
	"math"
	"math/bits"
	"slices"
)

// Rows that stages of an analysis hand to each other next to the file.

// stagedBlock is the most rows of a block of StagedRows.
const stagedBlock = 512

// stagedHead is the rows and the bytes of a block, u32 each.
const stagedHead = 8

// StagedRows keep P2P or COLL rows, in which only a match can fill what is about the other side, in a sink: a tenth of
// their size. Rows are appended whole, and read one after the other. The bytes of several, one after the other, are those of all
// their rows.
//
// A row is a control word u32 and the bytes that its values have left after what is expected of them is taken off: 3 bits
// of the word for each value say how many, 7 for 8. What operations of a kind have in common (partner, region, ...) is kept in
// one of stagedKinds places; a row names its place, and has these words before the values where the place had others.
//
// Memory: a block of rows, and what it is packed to.
type StagedRows struct {
	coll  bool
	sink  Sink
	size  int64 // of the rows appended here
	kinds [stagedKinds]stagedKind
	pack  []byte // a block in the sink
	row   StagedRow
	left  int   // rows of the block after that
	used  int   // bytes of those before
	bytes int   // of the block
	at    int64 // of the next block in the sink
}

// stagedRow is the bytes of a row, of either type.
const stagedRow = P2PRowBytes

// A control word has 3 bits for each value from the lowest on, then these.
const (
	stagedValues = 8
	stagedNever  = 1 << 24 // Done is Never
	stagedNew    = 1 << 25 // the place of the kind had another one
	stagedPlace  = 26      // from here on: the place
	stagedBits   = 6
	stagedKinds  = 1 << stagedBits
	mostStaged   = 4 + 24 + 8*stagedValues
)

// stagedKind is what operations of a kind have in common, and other columns of the newest one.
type stagedKind struct {
	words  [3]uint64
	newest [3]uint64
}

// lowHalf is the first of two columns of 4 bytes in a word.
const lowHalf = math.MaxUint32

// stagedBefore is what a row needs to know of the one before.
type stagedBefore struct{ t, callN uint64 }

// NewStagedRows returns the rows of an array of a type, P2P or COLL, in a sink.
func NewStagedRows(t *Type, sink Sink) *StagedRows {
	return &StagedRows{coll: t.ID == TypeColl, sink: sink}
}

// Append adds rows.
func (s *StagedRows) Append(rows []byte) (off int64, err error) {
	off, s.size = s.size, s.size+int64(len(rows))
	for block := range slices.Chunk(rows, stagedBlock*stagedRow) {
		n := len(block) / stagedRow
		if need := stagedHead + n*mostStaged + 8; cap(s.pack) < need {
			s.pack = make([]byte, need)
		}
		b := s.pack[:cap(s.pack)]
		size := s.encode(b[stagedHead:], block)
		le.PutUint32(b, uint32(n))
		le.PutUint32(b[4:], uint32(size))
		if _, err := s.sink.Append(b[:stagedHead+size]); err != nil {
			return off, err
		}
	}
	return off, nil
}

// encode puts rows into b, which has room for them and 8 bytes more.
func (s *StagedRows) encode(b, rows []byte) (size int) {
	clear(s.kinds[:])
	var before stagedBefore
	for ; len(rows) > 0; rows = rows[stagedRow:] {
		row := rows[:stagedRow]
		t, end := le.Uint64(row[P2PT:]), le.Uint64(row[P2PEnd:])
		callN, done := le.Uint64(row[P2PCallN:]), le.Uint64(row[P2PDone:])
		word0, word1, word2 := le.Uint64(row[P2PRegion:]), le.Uint64(row[P2PComm:]), le.Uint64(row[P2PKind:])
		own0, own1, own2 := le.Uint64(row[P2PBytes:]), word1>>32, uint64(0)
		word1 &= lowHalf
		if s.coll {
			callN, done = le.Uint64(row[CollCallN:]), end
			word0, word1, word2 = le.Uint64(row[CollRegion:]), le.Uint64(row[CollRoot:]), 0
			own0, own1, own2 = le.Uint64(row[CollSent:]), le.Uint64(row[CollReceived:]), le.Uint64(row[CollOrdinal:])
		}
		hash := (word0*0x9E3779B97F4A7C15 ^ word1) * 0xD6E8FEB86659FD93
		place := (hash ^ word2) * 0x9E3779B97F4A7C15 >> (64 - stagedBits)
		kind := &s.kinds[place]
		control, at := uint32(place)<<stagedPlace, size+4
		if w := &kind.words; w[0] != word0 || w[1] != word1 || w[2] != word2 {
			w[0], w[1], w[2] = word0, word1, word2
			control |= stagedNew
			for _, x := range w {
				le.PutUint64(b[at:], x)
				at += 8
			}
		}
		if done == Never {
			control |= stagedNever
			done = end
		}
		p := b[at : at+8*stagedValues+8]
		n, control := putValue(p, 0, control, t-before.t, 0)
		n, control = putValue(p, n, control, end-t, 1)
		n, control = putValue(p, n, control, t-le.Uint64(row[P2PPost:]), 2)
		n, control = putValue(p, n, control, done-end, 3)
		n, control = putValue(p, n, control, callN-before.callN, 4)
		n, control = putValue(p, n, control, own0^kind.newest[0], 5)
		n, control = putValue(p, n, control, own1^kind.newest[1], 6)
		n, control = putValue(p, n, control, own2^kind.newest[2], 7)
		le.PutUint32(b[size:], control)
		kind.newest[0], kind.newest[1], kind.newest[2] = own0, own1, own2
		before, size = stagedBefore{t, callN}, at+n
	}
	return size
}

// putValue puts the bytes that a value has, and their number as number i into a control word.
func putValue(b []byte, at int, control uint32, v uint64, i int) (next int, _ uint32) {
	le.PutUint64(b[at:], v)
	n := min((bits.Len64(v)+7)>>3, 7)
	return at + n + (n+1)>>3, control | uint32(n)<<(3*i)
}

// takeValue is the inverse of putValue.
func takeValue(b []byte, at int, control uint32, i int) (next int, v uint64) {
	n := int(control >> (3 * i) & 7)
	n += (n + 1) >> 3
	return at + n, le.Uint64(b[at:]) & (1<<(8*n) - 1)
}

// StagedRow is a row that waits for a match.
type StagedRow struct {
	t, end, post, done, callN uint64
	own, words                [3]uint64
}

// Next returns the next row, which is valid until the call after; io.EOF after the last one.
func (s *StagedRows) Next() (*StagedRow, error) {
	if s.left == 0 {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.left--
	if s.used < s.bytes {
		s.used += s.row.take(s.pack[s.used:], &s.kinds)
	} else {
		s.used = -1
	}
	if s.used > s.bytes || s.used < 0 || s.left == 0 && s.used != s.bytes {
		return nil, corrupt("staged rows are not %d bytes", s.bytes)
	}
	return &s.row, nil
}

// next reads a block.
func (s *StagedRows) next() error {
	var head [stagedHead]byte
	if n, err := s.sink.ReadAt(head[:], s.at); n < len(head) {
		return err
	}
	rows, bytes := uint64(le.Uint32(head[:])), uint64(le.Uint32(head[4:]))
	if rows == 0 || rows > stagedBlock || bytes > rows*mostStaged {
		return corrupt("block of %d staged rows in %d bytes", rows, bytes)
	}
	s.left, s.bytes, s.used = int(rows), int(bytes), 0
	room := s.bytes + mostStaged + 8 // as many more as one row may take
	s.pack = slices.Grow(s.pack[:0], room)[:room]
	if n, err := s.sink.ReadAt(s.pack[:s.bytes], s.at+stagedHead); n < s.bytes {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	s.at += stagedHead + int64(s.bytes)
	s.row.t, s.row.callN = 0, 0
	clear(s.kinds[:])
	return nil
}

// take makes r, the row before, the one that b begins with, and returns its bytes there.
func (r *StagedRow) take(b []byte, kinds *[stagedKinds]stagedKind) (size int) {
	control := le.Uint32(b)
	at := 4
	kind := &kinds[control>>stagedPlace]
	if control&stagedNew != 0 {
		for i := range kind.words {
			kind.words[i] = le.Uint64(b[at:])
			at += 8
		}
	}
	p := b[at : at+8*stagedValues+8]
	next, t := takeValue(p, 0, control, 0)
	next, end := takeValue(p, next, control, 1)
	next, post := takeValue(p, next, control, 2)
	next, done := takeValue(p, next, control, 3)
	next, callN := takeValue(p, next, control, 4)
	next, own0 := takeValue(p, next, control, 5)
	next, own1 := takeValue(p, next, control, 6)
	next, own2 := takeValue(p, next, control, 7)
	r.t += t
	r.callN += callN
	r.end, r.post = r.t+end, r.t-post
	if r.done = r.end + done; control&stagedNever != 0 {
		r.done = Never
	}
	own := &kind.newest
	own[0], own[1], own[2] = own[0]^own0, own[1]^own1, own[2]^own2
	r.own, r.words = *own, kind.words
	return at + next
}

// P2P makes a message of it.
func (r *StagedRow) P2P(x *P2P) {
	x.T, x.End, x.Post, x.Done, x.CallN, x.Bytes = r.t, r.end, r.post, r.done, r.callN, r.own[0]
	x.MateN, x.Seq, x.MateT = Never, Never, Never
	x.Region, x.Peer = uint32(r.words[0]), uint32(r.words[0]>>32)
	x.Comm, x.Tag = uint32(r.words[1]), uint32(r.own[1])
	x.Kind, x.MateP = uint32(r.words[2]), uint32(r.words[2]>>32)
}

// Coll makes a member of a collective operation of it.
func (r *StagedRow) Coll(x *Coll) {
	x.T, x.End, x.Post, x.CallN, x.Sent, x.Received, x.Ordinal = r.t, r.end, r.post, r.callN, r.own[0], r.own[1], r.own[2]
	x.LastEnter, x.FirstLeave, x.LastLeave = Never, Never, Never
	x.Region, x.Comm = uint32(r.words[0]), uint32(r.words[0]>>32)
	x.Root, x.Flags = uint32(r.words[1]), uint32(r.words[1]>>32)
}

// Message is a P2P row after the match.
type Message struct {
	P2P
	N    uint64 // number of the row
	Path uint32 // the location's own number of the call path of its call
	Late bool   // a send, and Call tells of a receiver that comes after it is entered
	Call SendCall
}

// Collective is a COLL row after the match.
type Collective struct {
	Coll
	N     uint64
	Path  uint32
	Cause CollCause
}

// CollCause says whom a member of a collective operation needed, by the class of
// the operation: all others (barrier, creation of a handle, all to all), the root (from one to all), the
// others (the root of all to one), those of lower rank (prefix). But for barriers
// and handles only members count that give bytes, and only one that gets bytes needs them.
// Non-blocking operations count from their initiation. Without such members, and for
// members that need nobody, it is what NoCollCause returns.
type CollCause struct {
	CauseT uint64 // enter that ends the wait, ticks: the last one needed; of a root of all to one the first
	LastT  uint64 // the last enter needed
	CauseP uint32 // location of CauseT, the lowest of several
	LastP  uint32 // location of LastT
}

// NoCollCause returns the cause of a member that needs nobody: times are Never,
// locations all ones.
func NoCollCause() CollCause { return CollCause{Never, Never, 0xFFFFFFFF, 0xFFFFFFFF} }

// SendCall is the call that completes a send, which of a blocking one is the call
// that begins it, and when the receiver was there. Ticks.
type SendCall struct {
	CallN  uint64 // of the call; Never outside of all MPI calls
	Enter  uint64 // of the call; it leaves at P2P.done
	Post   uint64 // enter of the call that posts the receive; where that is before the send began, its begin
	Out    uint64 // from here on the receiver is out of calls that make progress; 0: not known to be in one before
	Ready  uint64 // the first instant after that at which it is in one
	Path   uint32 // the location's own number of the call path of a non-blocking send's call
	Region uint32 // of the call
}
