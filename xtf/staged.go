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
// A row is a control word u32 and the bytes that its wide columns have left after what is expected of them is taken off: 3 bits
// of the word for each column say how many, 7 for 8. What does not change from operation to operation of a kind (partner, tag,
// region, ...) is kept in one of stagedKinds places; a row names its place, and has these bytes before the others where the
// place had something else.
//
// Memory: a block of rows, and what it is packed to.
type StagedRows struct {
	form  *stagedForm
	sink  Sink
	size  int64 // of the rows appended here
	kinds [stagedKinds]stagedKind
	pack  []byte // a block in the sink
	block []byte // its rows
	first int64  // offset of the first of them
	at    int64  // of the next block in the sink
}

// stagedForm says how rows of a type are kept.
type stagedForm struct {
	row        int // bytes
	wide       []stagedColumn
	kind, next int   // the columns of 4 bytes begin here, and end here
	unknown    []int // offsets of columns that are not kept
}

// stagedColumn is a column of 8 bytes.
type stagedColumn struct {
	offset int
	expect stagedRule
}

// stagedRule is what is expected of a column.
type stagedRule uint8

const (
	asBefore stagedRule = iota // in the row before: it grows
	fromT                      // the first column: it is later
	toT                        // the first column: it is earlier
	atEnd                      // the column after the first, or Never
	asKind                     // in the newest row of the kind
)

var (
	stagedP2P = stagedForm{
		row: P2PRowBytes, kind: P2PRegion, next: P2PMateT, unknown: matched[TypeP2P],
		wide: []stagedColumn{{P2PT, asBefore}, {P2PEnd, fromT}, {P2PPost, toT}, {P2PDone, atEnd}, {P2PCallN, asBefore}, {P2PBytes, asKind}},
	}
	stagedColl = stagedForm{
		row: CollRowBytes, kind: CollRegion, next: CollRowBytes, unknown: matched[TypeColl],
		wide: []stagedColumn{{CollT, asBefore}, {CollEnd, fromT}, {CollPost, toT}, {CollCallN, asBefore}, {CollSent, asKind}, {CollReceived, asKind}, {CollOrdinal, asKind}},
	}
)

// A control word has 3 bits for each wide column from the lowest on, then these.
const (
	stagedWide  = 7
	stagedNever = 1 << 21 // the column that is expected at the end is Never
	stagedNew   = 1 << 22 // the place of the kind had another one
	stagedPlace = 23      // from here on: the place
	stagedBits  = 6
	stagedKinds = 1 << stagedBits
	mostStaged  = 4 + 24 + 8*stagedWide
)

// stagedKind is the columns of 4 bytes, and of each wide one the value in the newest row that had them.
type stagedKind struct {
	words  [3]uint64
	newest [stagedWide]uint64
}

// NewStagedRows returns the rows of an array of a type, P2P or COLL, in a sink.
func NewStagedRows(t *Type, sink Sink) *StagedRows {
	s := &StagedRows{form: &stagedP2P, sink: sink}
	if t.ID == TypeColl {
		s.form = &stagedColl
	}
	return s
}

// Append adds rows.
func (s *StagedRows) Append(rows []byte) (off int64, err error) {
	off, s.size = s.size, s.size+int64(len(rows))
	for block := range slices.Chunk(rows, stagedBlock*s.form.row) {
		n := len(block) / s.form.row
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
	f, noRow := s.form, make([]byte, s.form.row)
	for last := noRow; len(rows) > 0; rows = rows[f.row:] {
		row := rows[:f.row]
		var words [3]uint64
		hash := uint64(0)
		for i, at := 0, f.kind; at < f.next; i, at = i+1, at+8 {
			words[i] = le.Uint64(row[at:])
			hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15
		}
		place := hash >> (64 - stagedBits)
		kind := &s.kinds[place]
		control := uint32(place) << stagedPlace
		head := size
		size += 4
		if kind.words != words {
			kind.words = words
			control |= stagedNew
			size += copy(b[size:], row[f.kind:f.next])
		}
		t, end := le.Uint64(row), le.Uint64(row[8:])
		for i, c := range f.wide {
			v := le.Uint64(row[c.offset:])
			switch c.expect {
			case asBefore:
				v -= le.Uint64(last[c.offset:])
			case fromT:
				v -= t
			case toT:
				v = t - v
			case atEnd:
				if v == Never {
					control |= stagedNever
					v = end
				}
				v -= end
			case asKind:
				v, kind.newest[i] = v^kind.newest[i], v
			}
			le.PutUint64(b[size:], v)
			n := min((bits.Len64(v)+7)/8, 7)
			control |= uint32(n) << (3 * i)
			size += n + n/7
		}
		le.PutUint32(b[head:], control)
		last = row
	}
	return size
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
	if count == 0 || count > stagedBlock || size > count*mostStaged {
		return corrupt("block of %d staged rows in %d bytes", count, size)
	}
	s.pack = slices.Grow(s.pack[:0], size+mostStaged+8)[:size+mostStaged+8]
	if n, err := s.sink.ReadAt(s.pack[:size], s.at+stagedHead); n < size {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	s.first, s.at = s.first+int64(len(s.block)), s.at+stagedHead+int64(size)
	s.block = slices.Grow(s.block[:0], count*s.form.row)[:count*s.form.row]
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
	f, noRow := s.form, make([]byte, s.form.row)
	for last, rows := noRow, s.block; len(rows) > 0; rows = rows[f.row:] {
		if at >= size {
			return -1
		}
		row := rows[:f.row]
		control := le.Uint32(b[at:])
		at += 4
		kind := &s.kinds[control>>stagedPlace%stagedKinds]
		if control&stagedNew != 0 {
			for i, o := 0, f.kind; o < f.next; i, o = i+1, o+8 {
				kind.words[i] = le.Uint64(b[at:])
				at += 8
			}
		}
		for i, o := 0, f.kind; o < f.next; i, o = i+1, o+8 {
			le.PutUint64(row[o:], kind.words[i])
		}
		var t, end uint64
		for i, c := range f.wide {
			n := int(control >> (3 * i) & 7)
			n += n / 7
			v := le.Uint64(b[at:]) & (math.MaxUint64 >> (64 - 8*n))
			at += n
			switch c.expect {
			case asBefore:
				v += le.Uint64(last[c.offset:])
			case fromT:
				v += t
			case toT:
				v = t - v
			case atEnd:
				if v += end; control&stagedNever != 0 {
					v = Never
				}
			case asKind:
				v ^= kind.newest[i]
				kind.newest[i] = v
			}
			switch c.offset {
			case 0:
				t = v
			case 8:
				end = v
			}
			le.PutUint64(row[c.offset:], v)
		}
		for _, o := range f.unknown {
			le.PutUint64(row[o:], Never)
		}
		last = row
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
