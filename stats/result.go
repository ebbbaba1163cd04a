package stats

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

// Result kinds.
const (
	resultDone      uint32 = iota // completion of a send: a, t = enter and leave of the call, mateN = its number, mateP = its path, flags = its region
	resultCancelled               // the send was cancelled
	resultMate                    // P2P: mateP, mateN, t = the mate's T, a = place in the channel; receives: b = the mate's End, c = its bytes; sends: b, c = what matcher.received returns
	resultHolder                  // P2P, of a lock: mateP, mateN, t = the mate's T; flags as of a mate
	resultColl                    // COLL: t = last enter, a = ordinal, b = first leave, c = last leave; flags of the row and resultLowest; mateN, mateP = the enter waited for
	resultCause                   // COLL: t, mateP = the enter waited for; a, b = the last one needed
)

// resultLowest marks the member that reports what is wrong with an instance.
const resultLowest uint32 = 1 << 31

// result is what Match, or the load itself, found out about a staged row.
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

// A result is kept as differences to the one before, which are small in a channel, as those of operations are (entry.go):
//
//	control u32 | row | mateN | t | a | b | c, and if control says so: kind u32 | mateP u32 | flags u32
const (
	controlOther = 1 << 31 // kind, mateP or flags are not those of the result before
	mostResult   = 4 + 6*8 + 3*4
)

// append appends the result after the last one, which it is then.
func (r *result) append(b []byte, last *result) []byte {
	at := len(b)
	b = slices.Grow(b, mostResult)[:at+mostResult]
	next, control := putBytes(b, at+4, zigzag(r.row-last.row))
	next, n := putBytes(b, next, zigzag(r.mateN-last.mateN))
	control |= n << 3
	next, n = putBytes(b, next, zigzag(r.t-last.t))
	control |= n << 6
	next, n = putBytes(b, next, zigzag(r.a-last.a))
	control |= n << 9
	next, n = putBytes(b, next, zigzag(r.b-last.b))
	control |= n << 12
	next, n = putBytes(b, next, zigzag(r.c-last.c))
	control |= n << 15
	if r.kind != last.kind || r.mateP != last.mateP || r.flags != last.flags {
		control |= controlOther
		for _, v := range [...]uint32{r.kind, r.mateP, r.flags} {
			binary.LittleEndian.PutUint32(b[next:], v)
			next += 4
		}
	}
	binary.LittleEndian.PutUint32(b[at:], control)
	last.row, last.mateN, last.t, last.a, last.b, last.c = r.row, r.mateN, r.t, r.a, r.b, r.c
	last.kind, last.mateP, last.flags = r.kind, r.mateP, r.flags
	return b[:next]
}

// take makes r, the result before, the one that b begins with, and returns its bytes there; 0 if b ends before.
func (r *result) take(b []byte) int {
	left := len(b)
	if cap(b) < mostResult {
		b = append(make([]byte, 0, mostResult), b...)
	}
	b = b[:mostResult]
	control := binary.LittleEndian.Uint32(b)
	next, v := takeBytes(b, 4, control)
	r.row += unzigzag(v)
	next, v = takeBytes(b, next, control>>3)
	r.mateN += unzigzag(v)
	next, v = takeBytes(b, next, control>>6)
	r.t += unzigzag(v)
	next, v = takeBytes(b, next, control>>9)
	r.a += unzigzag(v)
	next, v = takeBytes(b, next, control>>12)
	r.b += unzigzag(v)
	next, v = takeBytes(b, next, control>>15)
	r.c += unzigzag(v)
	if control&controlOther != 0 {
		r.kind, r.mateP, r.flags = binary.LittleEndian.Uint32(b[next:]), binary.LittleEndian.Uint32(b[next+4:]), binary.LittleEndian.Uint32(b[next+8:])
		next += 12
	}
	if next > left {
		return 0
	}
	return next
}

func zigzag(v uint64) uint64   { return column.ZigZag(int64(v)) }
func unzigzag(v uint64) uint64 { return uint64(column.UnZigZag(v)) }

// A completion of a send, or its cancellation, waits in the sink Outputs.Late until Match:
//
//	row | leave | enter | number of the call | path | region u64, little-endian
//
// Of a cancellation leave is never.
const lateBytes = 48

// eachLate calls f for the late results of a location.
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
			if r.t == xtf.Never {
				r.kind = resultCancelled
			}
			f(&r)
		}
	}
	return nil
}

var errResults = errors.New("damaged results")

// resultBlock is the number of staged rows whose results lie together.
const resultBlock = 4096

// Results are what was found out about the staged rows of a rank's locations: those of a block of rows lie together, in no
// order.
//
// Memory: resultPiece bytes and 96 for each resultBlock rows.
type Results struct {
	first     trace.P
	locations []rowResults
}

// rowResults are the results of a location.
type rowResults struct {
	sink      Scratch
	p2p, coll []resultList // by block of rows
}

// newResults prepares the results of units, which are neighbours.
func newResults(units []Unit, scratch func() Scratch) *Results {
	r := &Results{}
	for i, u := range units {
		if i == 0 {
			r.first = u.P
		}
		r.locations = append(r.locations, rowResults{scratch(), newResultLists(u.P2PRows), newResultLists(u.CollRows)})
	}
	return r
}

func newResultLists(rows uint64) []resultList {
	return make([]resultList, (rows+resultBlock-1)/resultBlock)
}

// of returns the results of a location.
func (r *Results) of(p trace.P) *rowResults { return &r.locations[p-r.first] }

// add adds a result.
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

// resultList is the results of a block of rows, in pieces. The newest one lies in memory. A piece begins with its length and the
// place of the one before it plus 1, 0 for the first.
type resultList struct {
	piece []byte
	last  result // of the piece
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
		binary.LittleEndian.PutUint64(l.piece, uint64(len(l.piece)))
		at, err := sink.Append(l.piece[:resultPiece])
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		l.piece = l.piece[:pieceHead]
		binary.LittleEndian.PutUint64(l.piece[8:], uint64(at)+1)
	}
	if len(l.piece) == pieceHead {
		l.last = result{row: x.row - x.row%resultBlock}
	}
	l.piece = x.append(l.piece, &l.last)
	return nil
}

// each calls f for the results, the newest piece first. Their rows are counted from the begin of the block.
func (l *resultList) each(sink xtf.Sink, f func(r *result) error) error {
	piece, store := l.piece, []byte(nil)
	for len(piece) > 0 {
		var r result
		for b := piece[pieceHead:]; len(b) > 0; {
			n := r.take(b)
			if n == 0 {
				return errResults
			}
			if err := f(&r); err != nil {
				return err
			}
			b = b[n:]
		}
		before := binary.LittleEndian.Uint64(piece[8:])
		if before == 0 {
			break
		}
		if store == nil {
			store = make([]byte, resultPiece)
		}
		if _, err := sink.ReadAt(store, int64(before-1)); err != nil {
			return fmt.Errorf("results: %w", err)
		}
		n := binary.LittleEndian.Uint64(store)
		if n < pieceHead || n > resultPiece || binary.LittleEndian.Uint64(store[8:]) >= before {
			return errResults
		}
		piece = store[:n]
	}
	return nil
}
