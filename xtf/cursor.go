package xtf

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// readAhead is the number of bytes that a cursor reads with one system call.
const readAhead = 256 << 10

// Cursor iterates over rows without the page cache:
//
//	for c.Next() { use(c.Row()) }
//	err := c.Err()
//
// It holds one decoded page and a read-ahead buffer. One goroutine may use it.
type Cursor struct {
	src  pageSource
	typ  *Type
	n    uint64 // next row
	end  uint64
	rows []byte // decoded page
	at   int    // byte offset of the current row's end in rows
	dec  *decoder
	pool *sync.Pool // takes dec back at the end
	want columnSet
	into columns // destination of NextColumns
	err  error
}

// columns takes the columns of a page as values, instead of rows.
type columns struct {
	offsets []int // nil: decode to rows
	values  [][]uint64
	got     bool // the decoder has filled values
}

// segmentDecoders are the decoders of cursors over finished arrays.
var segmentDecoders = sync.Pool{New: func() any { return newDecoder() }}

// payload is the stored form of a data page with count rows. times has the times of a view in a segment.
type payload struct {
	b, times []byte
	codec    Codec
	count    int

	unfolded bool // b has plain rows, which the cursor uses without a copy
}

// pageSource returns the payloads of data pages in ascending order. The bytes are valid until the next call.
type pageSource interface {
	payload(ord uint64) (payload, error)
	fail(err error, ord uint64) error
}

// Rows iterates over rows [n1, n2).
func (a *Array) Rows(n1, n2 uint64) *Cursor {
	n2 = min(n2, a.desc.rows)
	return &Cursor{
		src: newFileSource(a), typ: a.typ, n: min(n1, n2), end: n2,
		dec: a.f.decoder(), pool: &a.f.decoders, want: allColumns,
	}
}

// ScanArray iterates over the rows of a finished array that is not yet in a file, from row n on. The zero FinishedArray has no rows.
func ScanArray(tt *TypeTable, a FinishedArray, n uint64) *Cursor {
	if a.Summary == nil {
		return &Cursor{}
	}
	t := tt.Lookup(a.Summary.typ)
	c := &Cursor{src: &segmentSource{a: a}, typ: t, n: n, end: a.Summary.rows, want: allColumns}
	if t == nil || t.RowBytes != a.Summary.rowBytes || t.PageRows != a.Summary.pageRows {
		c.err = fmt.Errorf("xtf: array of type %d does not belong to this type table", a.Summary.typ)
	}
	return c
}

// Only says that the caller reads only the key and the columns at these offsets, which is faster. Columns of rows that are decoded later
// are undefined otherwise. It returns c, which may be nil.
func (c *Cursor) Only(offsets ...int) *Cursor {
	if c != nil && c.typ != nil {
		c.want = c.typ.columnsAt(offsets)
	}
	return c
}

// Next moves to the next row. It returns false at the end or after an error.
func (c *Cursor) Next() bool {
	if c.at < len(c.rows) {
		c.at += c.typ.RowBytes
		c.n++
		return true
	}
	if !c.load() {
		return false
	}
	c.at += c.typ.RowBytes
	c.n++
	return true
}

// Seek makes row n the next one. The cursor decodes its page again if it has left it. After the last row of an array of a file it has no
// effect.
func (c *Cursor) Seek(n uint64) {
	c.n, c.rows, c.at = min(n, c.end), c.rows[:0], 0
}

// Row returns the current row. It is valid until the next call of Next or NextPage.
func (c *Cursor) Row() []byte { return c.rows[c.at-c.typ.RowBytes : c.at : c.at] }

// N returns the number of the current row.
func (c *Cursor) N() uint64 { return c.n - 1 }

// Err returns the error that ended the iteration, or nil.
func (c *Cursor) Err() error { return c.err }

// NextPage returns the remaining rows of a page at once. The first of them is row n. They are valid until the next call.
func (c *Cursor) NextPage() (rows []byte, n uint64, ok bool) {
	if c.at >= len(c.rows) && !c.load() {
		return nil, c.n, false
	}
	rows, n = c.rows[c.at:], c.n
	c.at = len(c.rows)
	c.n += uint64(len(rows) / c.typ.RowBytes)
	return rows, n, true
}

// NextColumns sets dst to the columns at these offsets, for the remaining rows of a page, and returns the number of the first row. A cursor
// that is read in this way must not be read in another way.
func (c *Cursor) NextColumns(dst [][]uint64, offsets []int) (n uint64, ok bool) {
	c.into = columns{offsets: offsets, values: dst}
	ok = c.Only(offsets...).load()
	if n = c.n; !ok {
		return n, false
	}
	r := c.typ.RowBytes
	skip, count := c.at/r, len(c.rows)/r
	for i, off := range offsets {
		if !c.into.got {
			dst[i] = grow64(dst[i], count)
			loadColumn(dst[i], c.rows, r, c.typ.Columns[columnAt(c.typ.Columns, off)])
		}
		dst[i] = dst[i][skip:count]
	}
	c.n, c.rows = c.n+uint64(count-skip), c.rows[:0]
	return n, true
}

// load decodes the page of row n and sets at to the byte offset of that row.
func (c *Cursor) load() bool {
	if c.err != nil || c.n >= c.end {
		c.release()
		return false
	}
	if c.dec == nil {
		c.dec = segmentDecoders.Get().(*decoder)
		c.rows, c.dec.page = c.dec.page, nil
	}
	z := uint64(c.typ.PageRows)
	ord := c.n / z
	p, err := c.src.payload(ord)
	if err == nil {
		r := c.typ.RowBytes
		if c.dec.into = nil; c.into.offsets != nil {
			c.dec.into = &c.into
		}
		switch {
		case p.unfolded:
			c.rows = p.b
		case p.times != nil:
			c.rows = growBytes(c.rows[:0], p.count*r)
			err = c.dec.staged(c.rows, c.typ, &p, ord*z, c.want)
		default:
			c.rows = growBytes(c.rows[:0], p.count*r)
			err = c.dec.columns(c.rows, c.typ, p.codec, p.b, p.count, ord*z, c.want)
		}
		c.dec.into = nil
		if s, ok := c.src.(*fileSource); ok && err == nil && c.into.offsets == nil {
			err = s.a.checkAmounts(c.rows)
		}
		if err == nil {
			c.at = int(c.n-ord*z) * r
			c.rows = c.rows[:min(uint64(p.count), c.end-ord*z)*uint64(r)]
			return true
		}
	}
	c.err = c.src.fail(err, ord)
	c.rows, c.at = nil, 0
	return false
}

// Close releases a cursor that was not read to its end.
func (c *Cursor) Close() {
	if c.dec != nil {
		c.release()
	}
}

// release gives the decoder back at the end. The array's file may be closed after that, so the cursor stays at its end.
func (c *Cursor) release() {
	switch {
	case c.pool != nil:
		if s, ok := c.src.(*fileSource); ok && c.err == nil {
			s.unfolder.close()
		}
		c.pool.Put(c.dec)
		c.pool, c.dec, c.end = nil, nil, c.n
	case c.dec != nil:
		c.dec.page, c.rows, c.at = c.rows[:0], nil, 0
		segmentDecoders.Put(c.dec)
		c.dec = nil
	}
}

// fileSource reads the pages of an array of a file in large pieces.
type fileSource struct {
	a      *Array
	buf    []byte
	off    int64  // file offset of buf
	rising bool   // refuse to read a page that begins before the end of the last one
	end    int64  // end of the last page
	next   uint64 // ordinal of the page after it
	link   uint64 // offset of that page from the base, according to the last page

	ahead int64 // bytes to read at once

	unfolder unfolder
	rows     []byte // of a decoded view or following page
}

func newFileSource(a *Array) *fileSource {
	return &fileSource{a: a, ahead: readAhead, unfolder: unfolder{a: &a.pages, ahead: readAhead}}
}

func (s *fileSource) fail(err error, ord uint64) error { return s.a.where(err, "page", ord) }

func (s *fileSource) payload(ord uint64) (payload, error) {
	pg, _, err := s.page(ord)
	if err != nil {
		return payload{}, err
	}
	return payload{b: pg.bytes, codec: pg.codec, count: int(pg.count), unfolded: pg.codec != s.a.desc.codec}, nil
}

// page reads and verifies data page ord, and returns it with its offset in the file. Views and following pages are decoded. The bytes are
// valid until the next call.
func (s *fileSource) page(ord uint64) (*page, int64, error) {
	a := s.a
	pg, off, from, indexed, err := s.stored(ord)
	if err == nil && pg.isView(a.typ.ID) {
		s.rows = growBytes(s.rows[:0], int(pg.count)*a.typ.RowBytes)
		err = s.unfolder.unfold(pg, s.rows)
	}
	if err == nil {
		err = a.checkKeys(pg, ord)
	}
	if err != nil {
		return pg, off, err
	}
	if indexed && (pg.crc != from.crc || (a.typ.Role != RoleNone && pg.key(a.typ, 0) != from.t0)) {
		return nil, 0, corrupt("page differs from what its parent says")
	}
	return pg, off, nil
}

// stored reads data page ord as it is stored, checks its checksum, and returns it with its offset and its index entry.
func (s *fileSource) stored(ord uint64) (pg *page, off int64, from child, indexed bool, err error) {
	a := s.a
	var t Stats
	if from, indexed, err = s.entry(ord, &t); err != nil {
		return nil, 0, from, indexed, err
	}
	off, size, err := a.place(ord, from)
	if err != nil {
		return nil, 0, from, indexed, err
	}
	if s.rising && off < s.end {
		return nil, 0, from, indexed, corrupt("page begins at %d, the one before ends at %d", off, s.end)
	}
	s.end = off + size
	if err := s.fill(off, size); err != nil {
		return nil, 0, from, indexed, err
	}
	t.PageReads++
	a.count(t)
	if pg, err = a.openData(s.buf[off-s.off:][:size], ord); err == nil {
		s.next, s.link = ord+1, pg.next
	}
	return pg, off, from, indexed, err
}

// entry is what the index says of data page ord. Where that is damaged, the link
// of the page before leads to it, and its own header says how long it is: no row is
// lost to who reads from the start.
func (s *fileSource) entry(ord uint64, t *Stats) (c child, indexed bool, err error) {
	a := s.a
	if len(a.desc.levels) == 1 {
		return c, false, nil
	}
	span := uint64(a.typ.Fanout)
	pg, err := a.indexAt(1, ord/span, 0, true, a.slot(1, ord/span), t)
	if err == nil {
		return indexChild(pg.bytes, int(pg.count), int(ord%span)), true, nil
	}
	var h header
	if errors.Is(err, ErrCorrupt) && ord == s.next && s.link < a.desc.bytes && s.fill(a.base+int64(s.link), pageHeader) == nil &&
		h.parse(s.buf[a.base+int64(s.link)-s.off:]) == nil && h.stored <= maxRaw {
		return child{off: s.link, len: h.stored + pageHeader}, false, nil
	}
	return c, false, a.where(err, "index page", ord/span)
}

// fill reads the bytes from off to off+size into the buffer, if they are not there.
func (s *fileSource) fill(off, size int64) error {
	if off >= s.off && off+size <= s.off+int64(len(s.buf)) {
		return nil
	}
	n := max(size, min(s.ahead, s.a.base+int64(s.a.desc.bytes)-off))
	if off < 0 || n > s.a.f.size-off {
		return corrupt("%d bytes at %d of a file of %d", n, off, s.a.f.size)
	}
	s.buf = growBytes(s.buf[:0], int(n))
	s.off = off
	s.a.f.reads.Add(1)
	if k, err := s.a.f.r.ReadAt(s.buf, off); err != nil && (int64(k) != n || err != io.EOF) {
		s.buf = s.buf[:0]
		return fmt.Errorf("read of %d bytes at %d: %w", n, off, err)
	}
	return nil
}

// segmentSource reads the pages of a finished array from its storage.
type segmentSource struct {
	a   FinishedArray
	buf []byte
}

func (s *segmentSource) fail(err error, ord uint64) error {
	return fmt.Errorf("xtf: proc %d array of type %d page %d: %w", s.a.Summary.proc, s.a.Summary.typ, ord, err)
}

func (s *segmentSource) payload(ord uint64) (p payload, err error) {
	sum := s.a.Summary
	ref := &sum.pages[ord]
	if s.buf, err = readStored(s.buf[:0], s.a.Data, *ref, sum.codec); err != nil {
		return p, err
	}
	p = payload{b: s.buf[:ref.stored], codec: sum.codec, count: int(min(uint64(sum.pageRows), sum.rows-ord*uint64(sum.pageRows)))}
	sound := crc32.Checksum(p.b, castagnoli) == ref.crc
	if behind := s.buf[ref.stored:]; len(behind) > 0 {
		p.times = behind[timesHead:]
		sound = sound && crc32.Checksum(p.times, castagnoli) == le.Uint32(behind[4:])
	}
	if !sound {
		return p, corrupt("segment changed since it was stored")
	}
	return p, nil
}

// readStored appends to b the payload of a page in a segment, and of a view also what follows: the size and the CRC of the times, and the
// times.
func readStored(b []byte, data io.ReaderAt, p pageRef, c Codec) ([]byte, error) {
	read := func(n int, off int64) error {
		at := len(b)
		b = growBytes(b, n)
		if k, err := data.ReadAt(b[at:], off); k < n {
			return fmt.Errorf("%d bytes at %d of the segment: %w", n, off, err)
		}
		return nil
	}
	err := read(int(p.stored), p.off)
	if err != nil || c != CodecPacked || !isView(b) {
		return b, err
	}
	behind := p.off + int64(p.stored)
	if err = read(timesHead, behind); err == nil {
		size := le.Uint32(b[p.stored:])
		if size > maxRaw {
			return b, corrupt("times of %d bytes", size)
		}
		err = read(int(size), behind+timesHead)
	}
	return b, err
}

// Form is a row type of version 1, as a Go struct.
type Form[T any] interface {
	*T
	Load(src []byte)
	form() (TypeID, func(row *T, src []byte)) // the type, and the function that loads a row
}

// Rows iterates over the rows of a cursor as Go structs. The zero value has no rows.
type Rows[T any] struct {
	Cursor *Cursor
	Row    T    // the current row
	More   bool // Row is valid
	load   func(row *T, src []byte)
}

// RowsOf returns the rows of a cursor over rows of type T. Call Next before Row is used.
func RowsOf[T any, P Form[T]](c *Cursor) Rows[T] {
	_, load := P(nil).form()
	return Rows[T]{Cursor: c, load: load}
}

// Next loads the next row. It returns false if there is none.
func (r *Rows[T]) Next() bool {
	if r.More = r.Cursor != nil && r.Cursor.Next(); r.More {
		r.load(&r.Row, r.Cursor.Row())
	}
	return r.More
}

// Err returns the error that ended the rows, or nil.
func (r *Rows[T]) Err() error {
	if r.Cursor == nil {
		return nil
	}
	return r.Cursor.Err()
}

// ArrayOf returns the array of the rows of type T of location p.
func ArrayOf[T any, P Form[T]](f *File, p Proc) (*Array, error) {
	id, _ := P(nil).form()
	return f.Array(p, id)
}

// Find returns the first row of type T with this key. ok is false if there is none.
func Find[T any, P Form[T]](a *Array, key uint64) (row T, ok bool, err error) {
	pos, ok, err := a.Search(key, First)
	if err != nil || !ok {
		return row, false, err
	}
	b, err := a.Row(pos.N, nil)
	if err == nil {
		P(&row).Load(b)
	}
	return row, err == nil, err
}

// Each calls visit for all rows of type T of location p in their order. It stops at the first error. visit must not keep the row.
func Each[T any, P Form[T]](f *File, p Proc, visit func(n uint64, row *T) error) error {
	a, err := ArrayOf[T, P](f, p)
	if err != nil {
		return err
	}
	rows := RowsOf[T, P](a.Rows(0, a.Len()))
	for rows.Next() {
		if err := visit(rows.Cursor.N(), &rows.Row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// At returns the key of row n; of an array without order, the first column. It reads at most two pages, and one if pages are not
// compressed.
func (a *Array) At(n uint64) (uint64, error) {
	pg, slot, err := a.row(n)
	if err != nil {
		return 0, err
	}
	return pg.key(a.typ, slot), nil
}

// Row copies row n into dst, which may grow, and returns it. The whole page is decoded and stays decoded in the cache.
func (a *Array) Row(n uint64, dst []byte) ([]byte, error) {
	pg, slot, err := a.row(n)
	if err != nil {
		return nil, err
	}
	rows, err := a.decoded(pg)
	if err != nil {
		return nil, a.where(err, "page", n/uint64(a.typ.PageRows))
	}
	r := a.typ.RowBytes
	return append(dst[:0], rows[slot*r:(slot+1)*r]...), nil
}

func (a *pages) row(n uint64) (*page, int, error) {
	if n >= a.desc.rows {
		return nil, 0, fmt.Errorf("xtf: proc %d array %s: row %d of %d does not exist", a.proc, a.typ.Name, n, a.desc.rows)
	}
	z := uint64(a.typ.PageRows)
	ord := n / z
	var t Stats
	pg, err := a.data(ord, &t)
	a.count(t)
	return pg, int(n - ord*z), err
}

// decoded returns the rows of a data page, which it decodes once.
func (a *pages) decoded(pg *page) ([]byte, error) {
	if pg.codec == CodecRaw {
		return pg.bytes, a.checkAmounts(pg.bytes)
	}
	if rows := pg.rows.Load(); rows != nil {
		return *rows, nil
	}
	pg.once.Lock()
	defer pg.once.Unlock()
	if rows := pg.rows.Load(); rows != nil {
		return *rows, nil
	}
	rows := make([]byte, int(pg.count)*a.typ.RowBytes)
	dec := a.f.decoder()
	err := dec.rows(rows, a.typ, pg.codec, pg.bytes, int(pg.count), pg.firstN)
	a.f.decoders.Put(dec)
	if err == nil {
		err = a.checkAmounts(rows)
	}
	if err != nil {
		return nil, err
	}
	pg.rows.Store(&rows)
	if pg.key0 > 0 {
		a.f.cache.grow(pg.key0, pg, int64(len(rows)))
	}
	return rows, nil
}

// checkAmounts returns ErrCorrupt if a row has a greater amount than Most allows, so that readers can add amounts without a check for
// overflow. An amount of several locations (of a process, or of everything that one location has caused) has the limit of all of them.
func (a *pages) checkAmounts(rows []byte) error {
	columns := amounts[a.typ.ID]
	if columns == nil {
		return nil
	}
	most := Most(1)
	if a.f.dir != nil && a.proc != WholeRun && a.typ.ID != TypeComp && a.typ.ID != TypeDelay {
		most = Most(int(a.f.Procs()))
	}
	for at := 0; at < len(rows); at += a.typ.RowBytes {
		for _, c := range columns {
			if v := le.Uint64(rows[at+c:]); v > most {
				return corrupt("%s of %d, where sums hold %d", a.typ.Columns[columnAt(a.typ.Columns, c)].Name, v, most)
			}
		}
	}
	return nil
}
