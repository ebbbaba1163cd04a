package xtf

import "io"

// Scratch is storage whose bytes may be changed, for pages that wait for the ends
// of their rows.
type Scratch interface {
	Sink
	io.WriterAt // over bytes that were appended
}

// spill is where a builder puts pinned pages beyond those it may hold. A page
// goes there plain; a row of it that ends late is read, changed and written back
// alone; once its last row is closed the page comes back, is encoded, and its
// place is used again. The page pinned longest goes first: it waits for the
// outermost calls, so the pages in the scratch space are always the first ones of
// the pinned, and rows that end soon stay in memory.
type spill struct {
	to    Scratch
	limit int     // pages held at most, 0: no limit
	count int     // pages in the scratch space: the first ones of pinned
	gaps  []int64 // places of pages that came back

	row   []byte // of a page in the scratch space, handed out by Row
	at    int64  // where it belongs
	dirty bool   // it is handed out and was not written back
}

// leastHeld is the current page, and one that is being encoded.
const leastHeld = 2

// SpillPinned lets the builder hold at most limit pages (at least 2) in memory;
// pinned ones beyond that wait in to. The encoded pages are the same. Call it
// before the first row.
func (b *ArrayBuilder) SpillPinned(to Scratch, limit int) {
	b.spill.to, b.spill.limit = to, max(limit, leastHeld)
}

// spares is how many blank pages are worth keeping.
func (s *spill) spares() int {
	if s.limit > 0 {
		return 1
	}
	return 4
}

// spillOldest keeps within the limit, before a new current page is made.
func (b *ArrayBuilder) spillOldest() {
	s := &b.spill
	if s.limit == 0 || len(b.pinned)-s.count <= s.limit-leastHeld || b.err != nil {
		return
	}
	pg := b.pinned[s.count]
	if n := len(s.gaps); n > 0 {
		pg.off = s.gaps[n-1]
		s.gaps = s.gaps[:n-1]
		_, b.err = s.to.WriteAt(pg.rows, pg.off)
	} else {
		pg.off, b.err = s.to.Append(pg.rows)
	}
	if b.err != nil {
		return
	}
	s.count++
	b.recycle(&openPage{rows: pg.rows})
	pg.rows = nil
}

// spilledRow returns a copy of a row in the scratch space that storeRow writes
// back.
func (b *ArrayBuilder) spilledRow(pg *openPage, slot int) []byte {
	s := &b.spill
	at := pg.off + int64(slot*b.typ.RowBytes)
	if s.dirty && s.at == at {
		return s.row
	}
	b.storeRow()
	if s.row == nil {
		s.row = make([]byte, b.typ.RowBytes)
	}
	b.readBack(s.row, at)
	s.at, s.dirty = at, true
	return s.row
}

// storeRow writes back the row that Row handed out.
func (b *ArrayBuilder) storeRow() {
	s := &b.spill
	if !s.dirty {
		return
	}
	s.dirty = false
	if _, err := s.to.WriteAt(s.row, s.at); err != nil && b.err == nil {
		b.err = err
	}
}

// load brings a page back from the scratch space.
func (b *ArrayBuilder) load(pg *openPage) {
	pg.rows = b.blankPage().rows
	b.readBack(pg.rows, pg.off)
	b.spill.gaps = append(b.spill.gaps, pg.off)
	b.spill.count--
}

// readBack fills p from the scratch space.
func (b *ArrayBuilder) readBack(p []byte, off int64) {
	n, err := b.spill.to.ReadAt(p, off)
	if n == len(p) {
		return
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	if b.err == nil {
		b.err = err
	}
	clear(p)
}
