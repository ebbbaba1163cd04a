package xtf

import (
	"fmt"
	"hash/crc32"
	"io"
	"sort"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sink keeps encoded pages. Bytes are only appended and can be read back.
type Sink interface {
	// Append stores b, which the caller reuses, and returns the offset of its
	// first byte.
	Append(b []byte) (off int64, err error)
	io.ReaderAt
}

// openPage is a page that still takes rows, or that has open rows.
type openPage struct {
	ordinal uint64
	count   int
	open    int      // rows not closed
	bitmap  []uint64 // the open rows; nil while there have been none
	rows    []byte   // Z*R bytes; nil if they are in the scratch space
	off     int64    // offset in the scratch space

	event uint64   // for a view: number of the event with which the first row begins
	whole bool     // must not become a view
	late  []uint64 // rows that were closed after the events of the page; nil if there are none
}

// ArrayBuilder builds one array. The caller fills rows in place. A page is encoded when it is full and its last open row is closed, so
// pages are encoded in any order. After an error (of the sink, or of rows out of order) all calls have no effect, and Finish returns the
// error.
//
// Memory: (pinned + 1) * Z * R bytes, where pinned is the number of full pages with an open row, at most the number of open rows; and for
// each page 32 bytes and 16 for each sum of the type. SpillPinned limits the pages in memory. A page beyond the limit takes Z/8 bytes.
type ArrayBuilder struct {
	enc  *Encoder
	sink Sink
	typ  *Type
	sum  *ArraySummary

	rows   []byte // the current page's rows
	used   int    // bytes of rows in use
	end    int    // Z*R
	n      uint64 // rows before the current page
	next   uint64 // number of the next row
	cur    *openPage
	pinned []*openPage // ascending ordinal; the first spill.count are in the scratch space
	spill  spill
	free   []*openPage
	lastT  uint64 // last key of the page before the current one
	sums   *sumBuilder
	err    error
	peak   int // greatest number of pages in memory
	held   int
	viewer *viewer // makes views; nil if pages are not to be views

	follower *follower // makes following pages; nil if pages are not to follow
}

// NewArrayBuilder returns a builder for the array of type t and location p. Its pages go to sink. Builders of one goroutine may share enc.
func NewArrayBuilder(enc *Encoder, t *Type, p Proc, sink Sink) *ArrayBuilder {
	b := &ArrayBuilder{
		enc: enc, sink: sink, typ: t, end: t.PageRows * t.RowBytes, sums: newSumBuilder(t),
		sum: &ArraySummary{typ: t.ID, proc: p, rowBytes: t.RowBytes, pageRows: t.PageRows, codec: t.Codec},
	}
	if followers[t.ID].call == noCalls {
		b.follower = enc.follower(t)
	}
	b.newPage(0)
	return b
}

// Append adds a complete row. The caller must fill all of it before the next call on b.
func (b *ArrayBuilder) Append() (row []byte, n uint64) {
	if b.used == b.end {
		b.turn()
	}
	at := b.used
	b.used += b.typ.RowBytes
	n = b.next
	b.next++
	return b.rows[at:b.used:b.used], n
}

// Open adds a row that stays open until Close(n). The caller must fill its key before the next Append or Open, and the other columns before
// Close(n).
func (b *ArrayBuilder) Open() (row []byte, n uint64) {
	row, n = b.Append()
	b.Hold()
	return row, n
}

// Hold opens the newest row, so that it must be closed.
func (b *ArrayBuilder) Hold() { b.cur.markOpen(int(b.next-1-b.n), b.typ.PageRows) }

// Row returns the bytes of row n, which must be open. They are valid until the next call on b.
func (b *ArrayBuilder) Row(n uint64) []byte {
	r := b.typ.RowBytes
	if n >= b.n {
		at := int(n-b.n) * r
		return b.rows[at : at+r : at+r]
	}
	pg, slot := b.locate(n)
	if pg.rows == nil {
		return b.spilledRow(pg, slot)
	}
	return pg.rows[slot*r : (slot+1)*r : (slot+1)*r]
}

// LeaveTimes lets pages of calls become views where possible: their times are left to the call graph, which must be exact. The caller must
// then use At, Whole and CloseLate to say how the rows follow from events. Call it before the first row, on a builder of packed CALL rows.
func (b *ArrayBuilder) LeaveTimes() { b.viewer = newViewer(b.typ) }

// At sets the number of the event with which the newest row begins.
func (b *ArrayBuilder) At(event uint64) {
	if b.used == b.typ.RowBytes {
		b.cur.event = event
	}
}

// Whole says that the events between the begin of the newest row and that of the next one change calls in a way that cannot be derived from
// the events and the rows of the page. So the page keeps all columns.
func (b *ArrayBuilder) Whole() {
	if b.next > 0 {
		b.cur.whole = true
	}
}

// Close closes an open row. It panics if row n is not open.
func (b *ArrayBuilder) Close(n uint64) {
	z := uint64(b.typ.PageRows)
	b.close(n, b.next > (n/z+1)*z) // whether the newest row is on a later page
}

// CloseLate closes an open row whose end is not an event.
func (b *ArrayBuilder) CloseLate(n uint64) { b.close(n, true) }

func (b *ArrayBuilder) close(n uint64, late bool) {
	pg, slot := b.locate(n)
	if pg.rows == nil {
		b.storeRow()
	}
	if late && b.viewer != nil {
		if pg.late == nil {
			pg.late = make([]uint64, (b.typ.PageRows+63)/64)
		}
		pg.late[slot>>6] |= 1 << (slot & 63)
	}
	pg.bitmap[slot>>6] &^= 1 << (slot & 63)
	pg.open--
	if pg.open == 0 && pg != b.cur {
		b.unpin(pg)
	}
}

// unpin encodes a full page after its last open row was closed.
func (b *ArrayBuilder) unpin(pg *openPage) {
	if pg.rows == nil {
		b.load(pg)
	}
	b.encode(pg)
	i := b.findPinned(pg.ordinal)
	b.pinned = append(b.pinned[:i], b.pinned[i+1:]...)
	b.recycle(pg)
}

// Len returns the number of rows added.
func (b *ArrayBuilder) Len() uint64 { return b.next }

// Err returns the first error.
func (b *ArrayBuilder) Err() error { return b.err }

// Finish encodes the remaining rows and returns the page table of the array. The builder must not be used after it. The error is
// ErrOpenRows if rows are open.
func (b *ArrayBuilder) Finish() (*ArraySummary, error) {
	if b.err == nil && (len(b.pinned) > 0 || b.cur.open > 0) {
		return nil, fmt.Errorf("xtf: proc %d array %s: %w: first is row %d",
			b.sum.proc, b.typ.Name, ErrOpenRows, b.firstOpen())
	}
	if b.used > 0 {
		b.seal()
		b.encode(b.cur)
	}
	if b.err != nil {
		return nil, fmt.Errorf("xtf: proc %d array %s: %w", b.sum.proc, b.typ.Name, b.err)
	}
	b.sum.rows = b.n
	if len(b.sum.pages) > 0 {
		b.sum.first, b.sum.last = b.sum.pages[0].t0, b.lastT
	}
	b.sums.finish(b.sum)
	b.release()
	return b.sum, nil
}

// release gives the pages of a finished array back to the encoder, for the next builder.
func (b *ArrayBuilder) release() {
	for _, pg := range append(b.free, b.cur) {
		b.enc.keep(pg.rows)
	}
	if b.follower != nil {
		b.enc.followers[b.typ] = b.follower
	}
	b.free, b.cur, b.rows, b.held, b.follower = nil, nil, nil, 0, nil
}

// turn ends the full current page and begins the next one.
func (b *ArrayBuilder) turn() {
	b.seal()
	if b.cur.open > 0 {
		b.pinned = append(b.pinned, b.cur)
		b.spillOldest()
	} else {
		b.encode(b.cur)
		b.recycle(b.cur)
	}
	b.newPage(uint64(len(b.sum.pages)))
}

// seal adds the current page to the page table. Its keys are final.
func (b *ArrayBuilder) seal() {
	pg := b.cur
	pg.count = b.used / b.typ.RowBytes
	b.n += uint64(pg.count)
	ref := pageRef{}
	if b.typ.Role != RoleNone {
		c := &b.typ.Columns[0]
		ref.t0 = c.Value(pg.rows)
		if len(b.sum.pages) > 0 && ref.t0 < b.lastT {
			b.orderError(b.n - uint64(pg.count))
		}
		b.lastT = c.Value(pg.rows[(pg.count-1)*b.typ.RowBytes:])
	}
	b.sum.pages = append(b.sum.pages, ref)
	b.used = 0
}

// encode stores a sealed page without open rows in the sink.
func (b *ArrayBuilder) encode(pg *openPage) {
	t := b.typ
	rows := pg.rows[:pg.count*t.RowBytes]
	firstN := pg.ordinal * uint64(t.PageRows)
	single := pg.ordinal == 0 && pg.count < t.PageRows
	payload, size, codec, err := b.enc.payload(b.viewer, b.follower, t, pg, rows, firstN, single)
	if b.err == nil {
		b.err = err
	}
	if t.Role != RoleNone {
		if slot := unsorted(b.enc.keys); slot >= 0 {
			b.orderError(firstN + uint64(slot))
		}
	}
	if b.err != nil {
		return
	}
	off, err := b.sink.Append(payload)
	if err != nil {
		b.err = err
		return
	}
	ref := &b.sum.pages[pg.ordinal]
	ref.off, ref.stored, ref.crc = off, uint32(size), crc32.Checksum(payload[:size], castagnoli)
	if t.End >= 0 {
		for _, end := range b.enc.ends {
			ref.maxEnd = max(ref.maxEnd, end)
		}
		b.sum.maxEnd = max(b.sum.maxEnd, ref.maxEnd)
	}
	b.sum.codec = codec
	b.sums.page(pg.ordinal, rows, b.sum.pages)
}

// orderError keeps the smallest number of a row whose key is below that of the row before.
func (b *ArrayBuilder) orderError(n uint64) {
	if b.err == nil || (b.sum.badRow > n && b.sum.ordered) {
		b.err = fmt.Errorf("%w: row %d is before its predecessor", ErrOrder, n)
		b.sum.badRow, b.sum.ordered = n, true
	}
}

func (b *ArrayBuilder) newPage(ordinal uint64) {
	b.cur = b.blankPage()
	b.cur.ordinal, b.cur.count, b.cur.open, b.cur.event, b.cur.whole, b.cur.late = ordinal, 0, 0, 0, false, nil
	b.rows = b.cur.rows
}

// blankPage returns a page with room for rows.
func (b *ArrayBuilder) blankPage() *openPage {
	if n := len(b.free); n > 0 {
		pg := b.free[n-1]
		b.free = b.free[:n-1]
		return pg
	}
	b.held++
	b.peak = max(b.peak, b.held)
	return &openPage{rows: b.enc.page(b.end)}
}

// recycle keeps a few pages for reuse, and gives the memory of the others back to the encoder.
func (b *ArrayBuilder) recycle(pg *openPage) {
	if len(b.free) < b.spill.spares() {
		b.free = append(b.free, pg)
		return
	}
	b.enc.keep(pg.rows)
	b.held--
}

func (pg *openPage) markOpen(slot, z int) {
	if pg.bitmap == nil {
		pg.bitmap = make([]uint64, (z+63)/64)
	}
	pg.bitmap[slot>>6] |= 1 << (slot & 63)
	pg.open++
}

// locate finds the page and slot of an open row.
func (b *ArrayBuilder) locate(n uint64) (*openPage, int) {
	pg := b.cur
	if n < b.n {
		i := b.findPinned(n / uint64(b.typ.PageRows))
		if i == len(b.pinned) {
			panic(fmt.Sprintf("xtf: row %d of array %s is not open", n, b.typ.Name))
		}
		pg = b.pinned[i]
	}
	slot := n - pg.ordinal*uint64(b.typ.PageRows)
	if slot >= uint64(b.typ.PageRows) || pg.bitmap == nil || pg.bitmap[slot>>6]>>(slot&63)&1 == 0 {
		panic(fmt.Sprintf("xtf: row %d of array %s is not open", n, b.typ.Name))
	}
	return pg, int(slot)
}

// findPinned returns the index of the first pinned page at or after ordinal.
func (b *ArrayBuilder) findPinned(ordinal uint64) int {
	if k := len(b.pinned); k > 0 && b.pinned[k-1].ordinal == ordinal {
		return k - 1
	}
	return sort.Search(len(b.pinned), func(i int) bool { return b.pinned[i].ordinal >= ordinal })
}

func (b *ArrayBuilder) firstOpen() uint64 {
	pg := b.cur
	if len(b.pinned) > 0 {
		pg = b.pinned[0]
	}
	for slot := range b.typ.PageRows {
		if pg.bitmap[slot>>6]>>(slot&63)&1 == 1 {
			return pg.ordinal*uint64(b.typ.PageRows) + uint64(slot)
		}
	}
	return Never
}

// unsorted returns the first slot with a key below the one before it, or -1.
func unsorted(keys []uint64) int {
	for i := 1; i < len(keys); i++ {
		if keys[i] < keys[i-1] {
			return i
		}
	}
	return -1
}
