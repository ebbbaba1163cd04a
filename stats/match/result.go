package match

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kinds of results. Each row gets one resultMate or resultColl, which also has the operation as the load knows it.
const (
	resultDone   uint32 = iota // completion of a send: a, t = enter and leave of the call, mateN = its number, mateP = its path, flags = its region
	resultMate                 // P2P: mateP, mateN, t = the mate's T, a = place in the channel; receives: b = the mate's End, c = its bytes; sends: b, c = what matcher.received returns
	resultHolder               // P2P, of a lock: mateP, mateN, t = the mate's T; flags as in resultMate
	resultColl                 // COLL: t = last enter, a = ordinal, b = first leave, c = last leave; flags of the row and resultLowest; mateN, mateP = the enter waited for
	resultCause                // COLL: t, mateP = the enter waited for; a, b = the last one needed
)

// resultLowest marks the member that reports the diagnostics of an instance.
const resultLowest uint32 = 1 << 31

// result is what Match, or LateSends, found out about a row.
type result struct {
	p       uint32
	row     uint64
	kind    uint32
	mateP   uint32
	mateN   uint64
	t       uint64
	a, b, c uint64
	flags   uint32
	of      *entry // the row's operation, nil for kinds without
}

// An encoded result is the operation of its row, and numbers as differences to those of the operation, to each other, or to
// those of the result before:
//
//	control u32 | if it says so kind u32 | mateP u32 | flags u32 | peer u32 | communicator u32 | tag u32, or the tag alone | operation | t | mateN | a | b | c
//
// The operation is encoded as in a block (entry.go), as differences to that of the result before; if the channel changed, to the
// operation with the least row so far, because the first rows of channels are near to each other. For a kind without operation it is
// the number of the row and all else of the operation before.
const (
	controlTag   = 1 << 30 // only the tag differs from that of the result before
	controlOther = 1 << 31 // kind, mateP, flags or the rest of the channel differ
	mostResult   = 4 + 5*8 + 6*4 + mostOperation
)

// resultCoder encodes or decodes a sequence of results.
type resultCoder struct {
	last  result
	own   entry     // the newest operation
	least Operation // that with the least row
	begun bool      // least is set
}

// reset begins a new sequence. base is a row near the first one.
func (k *resultCoder) reset(base uint64) {
	*k = resultCoder{own: entry{Operation: noOperation}}
	k.own.Row, k.last.row = base, base
}

// other begins another channel: the next operation differs from least, but for fields that are the same in most channels.
func (k *resultCoder) other() {
	if k.begun {
		o := &k.own.Operation
		flags, kind, region, path := o.Flags, o.Kind, o.Region, o.Path
		*o = k.least
		o.Flags, o.Kind, o.Region, o.Path = flags, kind, region, path
	}
}

// when returns the number that t of a result of the newest operation is a difference to.
func (k *resultCoder) when(kind uint32) uint64 {
	if kind != resultMate && kind != resultColl {
		return k.last.t
	}
	if !k.begun || k.own.Row < k.least.Row {
		k.least, k.begun = k.own.Operation, true
	}
	return k.own.T
}

// near returns the numbers that the other fields are differences to.
func (k *resultCoder) near(kind uint32, t uint64) (mateN, a, b, c uint64) {
	last, own := &k.last, &k.own
	switch {
	case kind == resultColl:
		return t, last.a, t, t
	case kind != resultMate:
		return last.mateN, last.a, last.b, last.c
	case own.Kind&xtf.P2PKindMask == xtf.P2PRecv:
		return last.mateN + own.Row - last.row, last.a, t, own.Bytes
	default:
		return last.mateN + own.Row - last.row, last.a, own.T, t
	}
}

func (k *resultCoder) append(b []byte, r *result) []byte {
	at, last, own, e := len(b), &k.last, &k.own, r.of
	if e == nil {
		copied := k.own
		copied.Row, e = r.row, &copied
	}
	b = slices.Grow(b, mostResult)[:at+mostResult]
	next, control := at+4, uint32(0)
	switch {
	case r.kind != last.kind || r.mateP != last.mateP || r.flags != last.flags || e.Peer != own.Peer || e.Comm != own.Comm:
		control = controlOther
		for _, v := range [...]uint32{r.kind, r.mateP, r.flags, e.Peer, e.Comm, e.Tag} {
			binary.LittleEndian.PutUint32(b[next:], v)
			next += 4
		}
		last.kind, last.mateP, last.flags, own.Peer, own.Comm, own.Tag = r.kind, r.mateP, r.flags, e.Peer, e.Comm, e.Tag
		k.other()
	case e.Tag != own.Tag:
		control = controlTag
		binary.LittleEndian.PutUint32(b[next:], e.Tag)
		next, own.Tag = next+4, e.Tag
		k.other()
	}
	next += e.put(b[next:], 0, &own.Operation)
	next, n := putBytes(b, next, zigzag(r.t-k.when(r.kind)))
	control |= n
	mateN, a, from, c := k.near(r.kind, r.t)
	next, n = putBytes(b, next, zigzag(r.mateN-mateN))
	control |= n << 3
	next, n = putBytes(b, next, zigzag(r.a-a))
	control |= n << 6
	next, n = putBytes(b, next, zigzag(r.b-from))
	control |= n << 9
	next, n = putBytes(b, next, zigzag(r.c-c))
	binary.LittleEndian.PutUint32(b[at:], control|n<<12)
	last.row, last.mateN, last.t, last.a, last.b, last.c = r.row, r.mateN, r.t, r.a, r.b, r.c
	return b[:next]
}

// take decodes the result at the start of b and returns its size there; nil if b ends too early.
func (k *resultCoder) take(b []byte) (r *result, size int) {
	left := len(b)
	if cap(b) < mostResult {
		b = append(make([]byte, 0, mostResult), b...)
	}
	b = b[:mostResult]
	r = &k.last
	u32 := binary.LittleEndian.Uint32
	control, next := u32(b), 4
	switch {
	case control&controlOther != 0:
		r.kind, r.mateP, r.flags = u32(b[next:]), u32(b[next+4:]), u32(b[next+8:])
		k.own.Peer, k.own.Comm, k.own.Tag = u32(b[next+12:]), u32(b[next+16:]), u32(b[next+20:])
		next += 24
		k.other()
	case control&controlTag != 0:
		k.own.Tag = u32(b[next:])
		next += 4
		k.other()
	}
	n := k.own.take(b[next:])
	if n == 0 {
		return nil, 0
	}
	next, v := takeBytes(b, next+n, control)
	r.t = k.when(r.kind) + unzigzag(v)
	mateN, a, from, c := k.near(r.kind, r.t)
	next, v = takeBytes(b, next, control>>3)
	r.mateN = mateN + unzigzag(v)
	next, v = takeBytes(b, next, control>>6)
	r.a = a + unzigzag(v)
	next, v = takeBytes(b, next, control>>9)
	r.b = from + unzigzag(v)
	next, v = takeBytes(b, next, control>>12)
	r.c = c + unzigzag(v)
	if next > left {
		return nil, 0
	}
	r.row, r.of = k.own.Row, nil
	if r.kind == resultMate || r.kind == resultColl {
		r.of = &k.own
	}
	return r, next
}

func zigzag(v uint64) uint64   { return column.ZigZag(int64(v)) }
func unzigzag(v uint64) uint64 { return uint64(column.UnZigZag(v)) }

// LateSends writes the completions of sends in other calls than those that began them (MPI_Isend, MPI_Wait), for Unit.Late:
//
//	row | leave | enter | number of the call | path | region u64, little-endian
type LateSends struct{ Stream }

const lateBytes = 48

// Completed adds the completion of the send of a row.
func (s *LateSends) Completed(row, leave, enter, call uint64, path, region uint32) {
	s.Add(row, leave, enter, call, uint64(path), uint64(region))
}

// eachLate calls f for the results of what LateSends wrote.
func eachLate(data Stored, f func(r *result)) error {
	size, store := data.Size(), make([]byte, min(data.Size(), 1024*lateBytes))
	for at := int64(0); at < size; at += int64(len(store)) {
		b := store[:min(int64(len(store)), size-at)]
		if _, err := data.ReadAt(b, at); err != nil && err != io.EOF {
			return fmt.Errorf("late results: %w", err)
		}
		for ; len(b) >= lateBytes; b = b[lateBytes:] {
			u64 := binary.LittleEndian.Uint64
			r := result{kind: resultDone, row: u64(b), t: u64(b[8:]), a: u64(b[16:]), mateN: u64(b[24:]), mateP: uint32(u64(b[32:])), flags: uint32(u64(b[40:]))}
			f(&r)
		}
	}
	return nil
}

var errResults = errors.New("damaged results")

// resultBlock is the number of rows in a block.
const resultBlock = 4096

// Results are the results of a rank's locations. Those of one block of rows are stored together, in any order.
//
// Memory: resultPiece bytes and 216 for each resultBlock rows.
type Results struct {
	first     trace.P
	locations []rowResults
}

// rowResults are the results of a location.
type rowResults struct {
	sink              Scratch
	p2pRows, collRows uint64
	p2p, coll         []resultList // by block of rows
}

// newResults prepares the results of units, whose locations are consecutive.
func newResults(units []Unit, scratch func() Scratch) *Results {
	r := &Results{}
	for i, u := range units {
		if i == 0 {
			r.first = u.P
		}
		r.locations = append(r.locations, rowResults{scratch(), u.P2PRows, u.CollRows, newResultLists(u.P2PRows), newResultLists(u.CollRows)})
	}
	return r
}

func newResultLists(rows uint64) []resultList {
	return make([]resultList, (rows+resultBlock-1)/resultBlock)
}

func (r *Results) of(p trace.P) *rowResults { return &r.locations[p-r.first] }

func (r *Results) add(x *result) error {
	i := int64(x.p) - int64(r.first)
	if i < 0 || i >= int64(len(r.locations)) {
		return fmt.Errorf("a result for location %d, which this rank does not hold", x.p)
	}
	l := &r.locations[i]
	lists := l.p2p
	if x.kind >= resultColl {
		lists = l.coll
	}
	block := x.row / resultBlock
	if block >= uint64(len(lists)) {
		return fmt.Errorf("a result for row %d of location %d, which has no more than %d", x.row, x.p, len(lists)*resultBlock)
	}
	return lists[block].add(l.sink, x)
}

// resultList is the results of a block of rows, in pieces of at most resultPiece bytes. The newest piece is in memory. A piece begins
// with the offset in the sink of the piece before it plus 1, or 0, and the length of that piece, u64 each.
type resultList struct {
	piece []byte
	coder resultCoder // of the piece
}

const (
	resultPiece = 1 << 10
	pieceHead   = 16
)

func (l *resultList) add(sink xtf.Sink, x *result) error {
	switch {
	case l.piece == nil:
		l.piece = make([]byte, pieceHead, resultPiece)
	case len(l.piece)+mostResult > resultPiece:
		at, err := sink.Append(l.piece)
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		binary.LittleEndian.PutUint64(l.piece, uint64(at)+1)
		binary.LittleEndian.PutUint64(l.piece[8:], uint64(len(l.piece)))
		l.piece = l.piece[:pieceHead]
	}
	if len(l.piece) == pieceHead {
		l.coder.reset(x.row - x.row%resultBlock)
	}
	l.piece = l.coder.append(l.piece, x)
	return nil
}

// each calls f for the results, the newest piece first. It counts rows from the start of the block.
func (l *resultList) each(sink xtf.Sink, f func(r *result) error) error {
	piece, store := l.piece, []byte(nil)
	var k resultCoder
	for len(piece) > 0 {
		k.reset(0)
		for b := piece[pieceHead:]; len(b) > 0; {
			r, n := k.take(b)
			if r == nil {
				return errResults
			}
			if err := f(r); err != nil {
				return err
			}
			b = b[n:]
		}
		before, n := binary.LittleEndian.Uint64(piece), binary.LittleEndian.Uint64(piece[8:])
		if before == 0 {
			break
		}
		if n < pieceHead || n > resultPiece {
			return errResults
		}
		if store == nil {
			store = make([]byte, resultPiece)
		}
		piece = store[:n]
		if _, err := sink.ReadAt(piece, int64(before-1)); err != nil {
			return fmt.Errorf("results: %w", err)
		}
		if binary.LittleEndian.Uint64(piece) >= before {
			return errResults
		}
	}
	return nil
}
