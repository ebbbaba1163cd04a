package xtf

import (
	"fmt"
	"io"
	"slices"
)

// A part is a run of rows of an array that is made apart from the rows before and
// after it, by somebody who knows only the number of its first row. Its full
// pages are encoded where it is made. Pages that it shares with a neighbour, and
// those in which a row is still open at its end, stay plain; so do the ends of
// rows that were opened before it. Who adds the parts in order (AddPart) makes
// these pages, and so the bytes of the array are those of one builder.

// Part is a finished part of an array, without the payloads of its pages, which
// lie in the sink. Memory: 32 bytes for each page and 32 for each sum of it, the
// plain pages, and an end for each row that was closed from an earlier part.
type Part struct {
	first, next uint64    // rows [first, next)
	pages       []pageRef // of the encoded pages; others have none stored
	page0       uint64    // ordinal of the first of pages
	codec       Codec
	plain       []plainPage // ascending ordinal
	ends        []rowEnd    // in the order of closing
	whole       bool        // the page of the row before the first cannot be a view
	sums        *sumBuilder
}

// plainPage is rows of a page that is not encoded.
type plainPage struct {
	ordinal uint64
	slot    int      // of the first row
	rows    []byte   // whole ones
	open    []uint64 // bitmap by slot of the page, nil if no row is open
	event   uint64   // with which the page begins, if slot is 0
	whole   bool     // it cannot be a view
	late    []uint64 // bitmap by slot of the rows closed after its events, nil if there are none
}

// rowEnd is what a part knows of a row that was opened before it.
type rowEnd struct {
	n    uint64
	row  []byte
	late bool // closed after the events of its page
}

// partState is what a builder of a part holds next to an ordinary one.
type partState struct {
	typ   *Type
	first uint64
	page0 uint64 // ordinal of the first page
	skip  int    // rows of that page before the first
	plain []plainPage
	open  []rowEnd // rows before first that were asked for
	ends  []rowEnd // those that are closed
	whole bool     // see Part
}

// NewPartBuilder returns a builder of a part of the array (t, p): its first row has
// the number first. Rows with lower numbers that are open there may be ended: Row
// gives a row of zeros, with an End of Never, whose bits AddPart adds. It ends with
// FinishPart.
func NewPartBuilder(enc *Encoder, t *Type, p Proc, first uint64, sink Sink) *ArrayBuilder {
	b := newBuilder(enc, t, p, sink)
	z := uint64(t.PageRows)
	b.part = &partState{typ: t, first: first, page0: first / z, skip: int(first % z)}
	b.n, b.next, b.used = first-first%z, first, b.part.skip*t.RowBytes
	b.newPage(b.part.page0)
	clear(b.rows[:b.used])
	return b
}

// row gives what is known of a row before the part.
func (s *partState) row(n uint64) []byte {
	for i := range s.open {
		if s.open[i].n == n {
			return s.open[i].row
		}
	}
	row := make([]byte, s.typ.RowBytes)
	if s.typ.End >= 0 {
		c := s.typ.Columns[s.typ.End]
		for i := range c.Width {
			row[c.Offset+i] = 0xFF
		}
	}
	s.open = append(s.open, rowEnd{n: n, row: row})
	return row
}

// close ends a row before the part.
func (s *partState) close(n uint64, late bool) {
	row := s.row(n)
	s.open = slices.DeleteFunc(s.open, func(e rowEnd) bool { return e.n == n })
	s.ends = append(s.ends, rowEnd{n, row, late})
}

// keep copies the rows of a page that is not encoded here.
func (s *partState) keep(pg *openPage) {
	slot := 0
	if pg.ordinal == s.page0 {
		slot = s.skip
	}
	r := s.typ.RowBytes
	if pg.count == slot {
		return
	}
	p := plainPage{ordinal: pg.ordinal, slot: slot, rows: slices.Clone(pg.rows[slot*r : pg.count*r]), event: pg.event, whole: pg.whole, late: slices.Clone(pg.late)}
	if pg.open > 0 {
		p.open = slices.Clone(pg.bitmap)
	}
	s.plain = append(s.plain, p)
}

// FinishPart ends the building of a part. The builder must not be used afterwards.
func (b *ArrayBuilder) FinishPart() (*Part, error) {
	s := b.part
	sealed := len(b.sum.pages)
	if b.used > 0 {
		b.seal()
		s.keep(b.cur)
	}
	for _, pg := range b.pinned {
		b.storeRow()
		if pg.rows == nil {
			b.load(pg)
		}
		pg.count = b.typ.PageRows
		s.keep(pg)
		b.enc.keep(pg.rows)
	}
	if b.err == nil && len(s.open) > 0 {
		b.err = fmt.Errorf("%w: row %d, which is not of this part", ErrOpenRows, s.open[0].n)
	}
	if b.err != nil {
		return nil, fmt.Errorf("xtf: proc %d array %s, rows from %d: %w", b.sum.proc, b.typ.Name, s.first, b.err)
	}
	slices.SortFunc(s.plain, func(x, y plainPage) int {
		if x.ordinal < y.ordinal {
			return -1
		}
		return 1
	})
	p := &Part{
		first: s.first, next: b.next, pages: b.sum.pages[:sealed], page0: s.page0, codec: b.sum.codec,
		plain: s.plain, ends: s.ends, sums: b.sums, whole: s.whole,
	}
	b.pinned = nil
	b.release()
	return p, nil
}

// AddPart adds the rows of a part, which begins where the rows so far end. data has
// what the part's sink was given.
func (b *ArrayBuilder) AddPart(p *Part, data io.ReaderAt) error {
	if b.err != nil {
		return b.err
	}
	if p.first != b.next {
		return fmt.Errorf("xtf: proc %d array %s: a part from row %d on, expected %d", b.sum.proc, b.typ.Name, p.first, b.next)
	}
	if p.whole {
		b.Whole()
	}
	plain := p.plain
	var buf []byte
	for i := range p.pages {
		ordinal := p.page0 + uint64(i)
		if len(plain) > 0 && plain[0].ordinal == ordinal {
			b.addPlain(&plain[0])
			plain = plain[1:]
			continue
		}
		ref := p.pages[i]
		var err error
		if buf, err = readStored(buf[:0], data, ref, p.codec); err != nil {
			return fmt.Errorf("xtf: proc %d array %s page %d: %w", b.sum.proc, b.typ.Name, ordinal, err)
		}
		b.addEncoded(ref, buf, p.codec)
	}
	for i := range plain {
		b.addPlain(&plain[i])
	}
	b.sums.add(p.sums, int(p.page0), len(b.sum.pages))
	for _, e := range p.ends {
		b.endRow(e)
	}
	return b.err
}

// addPlain adds rows one by one.
func (b *ArrayBuilder) addPlain(pg *plainPage) {
	r := b.typ.RowBytes
	for i := range len(pg.rows) / r {
		slot := pg.slot + i
		var row []byte
		if pg.open != nil && pg.open[slot>>6]>>(slot&63)&1 == 1 {
			row, _ = b.Open()
		} else {
			row, _ = b.Append()
		}
		copy(row, pg.rows[i*r:])
		if slot == 0 {
			b.At(pg.event)
		}
	}
	b.cur.whole = b.cur.whole || pg.whole
	if pg.late != nil && b.cur.late == nil {
		b.cur.late = make([]uint64, len(pg.late))
	}
	for i, w := range pg.late {
		b.cur.late[i] |= w
	}
}

// addEncoded adds a whole page. The order of its rows was looked at where it was made; the part ends with a plain page, so
// that the last key of this one is never asked for.
func (b *ArrayBuilder) addEncoded(ref pageRef, payload []byte, c Codec) {
	if b.used == b.end {
		b.turn()
	}
	if b.err != nil {
		return
	}
	if b.used != 0 {
		b.err = fmt.Errorf("a whole page after row %d", b.next)
		return
	}
	if b.typ.Role != RoleNone && len(b.sum.pages) > 0 && ref.t0 < b.lastT {
		b.orderError(b.n)
		return
	}
	if ref.off, b.err = b.sink.Append(payload); b.err != nil {
		return
	}
	b.sum.pages = append(b.sum.pages, ref)
	b.sum.codec, b.sum.maxEnd = c, max(b.sum.maxEnd, ref.maxEnd)
	b.n += uint64(b.typ.PageRows)
	b.next, b.lastT = b.n, ref.t0
	b.cur.ordinal = uint64(len(b.sum.pages))
}

// endRow closes a row of an earlier part.
func (b *ArrayBuilder) endRow(e rowEnd) {
	row := b.Row(e.n)
	if at := b.typ.End; at >= 0 {
		c := b.typ.Columns[at]
		clear(row[c.Offset : c.Offset+c.Width])
	}
	for i, v := range e.row {
		row[i] |= v
	}
	b.close(e.n, e.late)
}

// add adds what a part gathered, whose first page has the ordinal page0; the array
// has so many sealed pages.
func (s *sumBuilder) add(p *sumBuilder, page0, pages int) {
	if s == nil {
		return
	}
	s.grow(max(pages+1, page0+len(p.a)/s.k))
	for i := range p.a {
		s.a[page0*s.k+i] += p.a[i]
		s.c[page0*s.k+i] += p.c[i]
	}
	for k := range p.totals {
		s.totals[k] += p.totals[k]
	}
	for _, w := range p.wait {
		w.page += uint64(page0)
		s.wait = append(s.wait, w)
	}
}
