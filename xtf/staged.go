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
// their size. Rows are appended whole, and read whole and in order; a read of earlier ones begins anew. The bytes of
// several, one after the other, are those of all their rows. It is a Sink whose offsets are those of plain rows.
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
	block []byte // its rows
	first int64  // offset of the first of them
	at    int64  // of the next block in the sink
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

// ReadAt reads rows.
func (s *StagedRows) ReadAt(p []byte, off int64) (n int, err error) {
	if off < s.first {
		s.block, s.first, s.at = s.block[:0], 0, 0
	}
	for n < len(p) {
		skip := off + int64(n) - s.first
		if skip < int64(len(s.block)) {
			n += copy(p[n:], s.block[skip:])
		} else if err := s.next(); err != nil {
			return n, err
		}
	}
	return n, nil
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
	count, size := int(rows), int(bytes)
	s.pack = slices.Grow(s.pack[:0], size+mostStaged+8)[:size+mostStaged+8]
	if n, err := s.sink.ReadAt(s.pack[:size], s.at+stagedHead); n < size {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	s.first, s.at = s.first+int64(len(s.block)), s.at+stagedHead+int64(size)
	s.block = slices.Grow(s.block[:0], count*stagedRow)[:count*stagedRow]
	if s.decode(s.pack, size) != size {
		s.block = s.block[:0]
		return corrupt("%d staged rows are not %d bytes", count, size)
	}
	return nil
}

// decode makes the rows of the block from b, which has size bytes of them and as many more as one row may take. It returns how many
// bytes the rows had.
func (s *StagedRows) decode(b []byte, size int) (at int) {
	clear(s.kinds[:])
	unknown := matched[TypeP2P]
	if s.coll {
		unknown = matched[TypeColl]
	}
	var before stagedBefore
	for rows := s.block; len(rows) > 0 && at < size; rows = rows[stagedRow:] {
		row := rows[:stagedRow]
		control := le.Uint32(b[at:])
		at += 4
		kind := &s.kinds[control>>stagedPlace]
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
		at += next
		t, callN = before.t+t, before.callN+callN
		end += t
		if done += end; control&stagedNever != 0 {
			done = Never
		}
		before = stagedBefore{t, callN}
		own := &kind.newest
		own0, own1, own2 = own[0]^own0, own[1]^own1, own[2]^own2
		own[0], own[1], own[2] = own0, own1, own2
		le.PutUint64(row[P2PT:], t)
		le.PutUint64(row[P2PEnd:], end)
		le.PutUint64(row[P2PPost:], t-post)
		if s.coll {
			le.PutUint64(row[CollCallN:], callN)
			le.PutUint64(row[CollSent:], own0)
			le.PutUint64(row[CollReceived:], own1)
			le.PutUint64(row[CollOrdinal:], own2)
			le.PutUint64(row[CollRegion:], kind.words[0])
			le.PutUint64(row[CollRoot:], kind.words[1])
		} else {
			le.PutUint64(row[P2PDone:], done)
			le.PutUint64(row[P2PCallN:], callN)
			le.PutUint64(row[P2PBytes:], own0)
			le.PutUint64(row[P2PRegion:], kind.words[0])
			le.PutUint64(row[P2PComm:], kind.words[1]&lowHalf|own1<<32)
			le.PutUint64(row[P2PKind:], kind.words[2])
		}
		for _, o := range unknown {
			le.PutUint64(row[o:], Never)
		}
	}
	return at
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
