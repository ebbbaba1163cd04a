package xtf

import "io"

// Scratch is storage whose bytes can be changed. It takes pinned pages: full pages that have open rows.
type Scratch interface {
	Sink
	io.WriterAt // over bytes that were appended
}

// spill moves pinned pages to scratch storage if the builder holds too many. A page is stored there as plain rows. To close one of its
// rows, only that row is read, changed and written back. After its last open row is closed, the page is read back and encoded, and its
// place is used again. The page that has been pinned longest is moved first: it waits for the end of the outermost calls. So the pages in
// the scratch space are always the first of pinned, and rows that end soon stay in memory.
type spill struct {
	to    Scratch
	limit int     // pages held in memory at most; 0: no limit
	count int     // number of pages in the scratch space, the first ones of pinned
	gaps  []int64 // free places in the scratch space

	row   []byte // copy of a row in the scratch space, which Row has returned
	at    int64  // offset of that row
	dirty bool   // the row was returned and not yet written back
}

// leastHeld counts the current page and one that is being encoded.
const leastHeld = 2

// SpillPinned limits the pages that the builder holds in memory to limit (at least 2). More pinned pages are moved to to. The encoded pages
// are the same. Call it before the first row.
func (b *ArrayBuilder) SpillPinned(to Scratch, limit int) {
	b.spill.to, b.spill.limit = to, max(limit, leastHeld)
}

// spares returns how many blank pages a builder keeps.
func (s *spill) spares() int {
	if s.limit > 0 {
		return 1
	}
	return 4
}

// spillOldest moves a pinned page to the scratch space if the next current page would exceed the limit.
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

// spilledRow returns a copy of a row in the scratch space. storeRow writes it back.
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

// storeRow writes back the row that Row returned, if it is in the scratch space.
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

// load reads a page back from the scratch space and frees its place.
func (b *ArrayBuilder) load(pg *openPage) {
	pg.rows = b.blankPage().rows
	b.readBack(pg.rows, pg.off)
	b.spill.gaps = append(b.spill.gaps, pg.off)
	b.spill.count--
}

// readBack fills p with the bytes at off in the scratch space.
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
