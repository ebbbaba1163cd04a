package xtf

import (
	"io"
	"slices"
)

// Rows that stages of an analysis hand to each other next to the file.

// stagedBlock is the number of rows of a block of StagedRows.
const stagedBlock = 512

// stagedHead is the rows and the bytes of a block, u32 each.
const stagedHead = 8

// StagedRows keep P2P or COLL rows, in which only a match can fill what is about the other side, in a sink: a fifth of
// their size. Rows are appended whole, and read whole and in order; a read of earlier ones begins anew. The bytes of
// several, one after the other, are those of all their rows. It is a Sink whose offsets are those of plain rows.
//
// Memory: a block of rows, and what it is packed to, for who reads.
type StagedRows struct {
	enc   *Encoder
	typ   Type // without the columns that are not known
	sink  Sink
	size  int64 // of the rows appended here
	dec   decoder
	block []byte // decoded
	first int64  // offset of its first row
	at    int64  // of the next block in the sink
}

// NewStagedRows returns the rows of an array of a type, P2P or COLL, in a sink.
func NewStagedRows(enc *Encoder, t *Type, sink Sink) *StagedRows {
	s := &StagedRows{enc: enc, typ: *t, sink: sink}
	s.typ.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return slices.Contains(matched[t.ID], c.Offset) })
	return s
}

// Append adds rows.
func (s *StagedRows) Append(rows []byte) (off int64, err error) {
	off, s.size = s.size, s.size+int64(len(rows))
	for block := range slices.Chunk(rows, stagedBlock*s.typ.RowBytes) {
		e, n := s.enc, len(block)/s.typ.RowBytes
		e.keys = grow64(e.keys, n)
		loadColumn(e.keys, block, s.typ.RowBytes, s.typ.Columns[0])
		e.planes(&s.typ, block, 0)
		e.out = le.AppendUint32(e.out[:0], uint32(n))
		e.out = appendKeyBlock(le.AppendUint32(e.out, 0), e.keys, false)
		e.appendCold(false)
		le.PutUint32(e.out[4:], uint32(len(e.out)-stagedHead))
		if _, err := s.sink.Append(e.out); err != nil {
			return off, err
		}
	}
	return off, nil
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
	count, size := int(le.Uint32(head[:])), int(le.Uint32(head[4:]))
	if count == 0 || count > stagedBlock || size > maxRaw {
		return corrupt("block of %d staged rows in %d bytes", count, size)
	}
	s.dec.page = slices.Grow(s.dec.page[:0], size)[:size]
	if n, err := s.sink.ReadAt(s.dec.page, s.at+stagedHead); n < size {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	s.first, s.at = s.first+int64(len(s.block)), s.at+stagedHead+int64(size)
	if rows := count * s.typ.RowBytes; rows != len(s.block) {
		s.block = slices.Grow(s.block[:0], rows)[:rows]
		for i := range s.block { // columns that are not there
			s.block[i] = 0xFF
		}
	}
	return s.dec.packed(s.block, &s.typ, s.dec.page, count, 0, allColumns)
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
