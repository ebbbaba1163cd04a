package xtf

import "sync/atomic"

// slots has a place for each index page of an array, or for its only page. There lookups find the pages that are in the cache. The places
// of data pages below an index page are in page.kids of that page.
type slots struct {
	first [maxLevels]uint64 // by level: index in pages of its first page
	pages []atomic.Pointer[page]
}

// maxSlots limits the slots of an array to 512 KiB. The index pages of a larger array are found through the keys of the cache only.
const maxSlots = 1 << 16

// newSlots makes the slots for an array with this descriptor.
func newSlots(d *descriptor) *slots {
	s := &slots{}
	n := uint64(0)
	for lv := range d.levels {
		if lv > 0 || len(d.levels) == 1 {
			s.first[lv] = n
			n += uint64(d.levels[lv].pages)
		}
	}
	if n <= maxSlots {
		s.pages = make([]atomic.Pointer[page], n)
	}
	return s
}

// slot returns the slot of page ord of a level, or nil if it has none.
func (a *pages) slot(lv int, ord uint64) *atomic.Pointer[page] {
	s := a.slots.Load()
	if s == nil {
		s = newSlots(a.desc)
		a.slots.Store(s) // of two goroutines at once, one loses the slots that it has filled
	}
	if i := s.first[lv] + ord; i < uint64(len(s.pages)) {
		return &s.pages[i]
	}
	return nil
}

// index loads index page ord of a level. crc is the checksum its parent holds,
// ignored with root (no parent was visited).
func (a *pages) index(lv int, ord uint64, crc uint32, root bool, t *Stats) (*page, error) {
	slot := a.slot(lv, ord)
	if pg := resident(slot); pg != nil && (root || pg.crc == crc) {
		t.Hits++
		return pg, nil
	}
	pg, err := a.indexAt(lv, ord, crc, root, slot, t)
	if err != nil {
		return nil, a.where(err, "index page", ord)
	}
	return pg, nil
}

// indexAt is index for a page that is not in its slot; damage is not remembered.
func (a *pages) indexAt(lv int, ord uint64, crc uint32, root bool, slot *atomic.Pointer[page], t *Stats) (*page, error) {
	off := a.pageOffset(lv, ord)
	at := place{header: a.identity(pageIndex, lv, ord), vouched: !root, slot: slot}
	at.crc = crc
	pg, hit, err := a.f.cache.get(off, at, func() (*page, error) { return a.loadIndex(lv, ord) })
	t.page(hit)
	if err == nil && !pg.fits(&at) {
		err = corrupt("page differs from what its parent says")
	}
	return pg, err
}

// identity returns the fields that the header of a page must have.
func (a *pages) identity(kind uint8, lv int, ord uint64) header {
	return header{kind: kind, level: uint8(lv), typ: a.desc.typ, proc: a.proc, ordinal: ord}
}

// page counts a page, found in the cache or read.
func (t *Stats) page(hit bool) {
	if hit {
		t.Hits++
	} else {
		t.PageReads++
	}
}

// loadAbove reads and verifies an index or aux page of a level. It is at file offset off and has entry bytes for each child.
func (a *pages) loadAbove(kind uint8, lv int, ord uint64, off, entry int64) (*page, error) {
	n := childCount(uint64(a.desc.levels[lv-1].pages), a.typ.Fanout, ord)
	size := n * int(entry)
	b, err := a.f.read(off, int64(pageHeader+size))
	if err != nil {
		return nil, err
	}
	h, err := a.checkPage(b, header{
		kind: kind, level: uint8(lv), ordinal: ord, count: uint32(n), firstN: ord * levelRows(a.typ, lv), raw: uint32(size),
	}, size)
	if err != nil {
		return nil, err
	}
	return &page{header: h, bytes: b[pageHeader:]}, nil
}

func (a *pages) loadIndex(lv int, ord uint64) (*page, error) {
	pg, err := a.loadAbove(pageIndex, lv, ord, a.pageOffset(lv, ord), indexEntry)
	if err != nil {
		return nil, err
	}
	n := int(pg.count)
	for i := 1; i < n; i++ {
		if le.Uint64(pg.bytes[8*i:]) < le.Uint64(pg.bytes[8*(i-1):]) {
			return nil, corrupt("key of entry %d is before its predecessor", i)
		}
	}
	if lv == 1 {
		pg.kids = make([]atomic.Pointer[page], n)
	}
	return pg, nil
}

// pageRows returns the number of rows of data page ord, if pages have z rows.
func (d *descriptor) pageRows(ord uint64, z int) int {
	return int(min(uint64(z), d.rows-ord*uint64(z)))
}

// place returns the offset and the length of data page ord: from its index entry, from the fixed distance of pages, or, for the only page,
// from the descriptor.
func (a *pages) place(ord uint64, from child) (off, size int64, err error) {
	d := a.desc
	switch {
	case d.codec == CodecRaw:
		return a.pageOffset(0, ord), int64(pageHeader + a.desc.pageRows(ord, a.typ.PageRows)*a.typ.RowBytes), nil
	case len(d.levels) == 1:
		return a.base, int64(min(d.bytes, maxRaw+pageHeader)), nil
	}
	end := d.levels[1].start
	if from.len <= pageHeader || from.len > maxRaw+pageHeader || from.off > end || uint64(from.len) > end-from.off {
		return 0, 0, corrupt("entry says %d bytes at %d of %d", from.len, from.off, end)
	}
	return a.base + int64(from.off), int64(from.len), nil
}

// dataAt loads data page ord, which its index entry describes; slot is its place.
func (a *pages) dataAt(ord uint64, from child, slot *atomic.Pointer[page], t *Stats) (*page, error) {
	off, size, err := a.place(ord, from)
	if err != nil {
		return nil, a.where(err, "page", ord)
	}
	at := place{header: a.identity(pageData, 0, ord), vouched: from.len != 0, slot: slot}
	at.crc = from.crc
	pg, hit, err := a.f.cache.get(off, at, func() (*page, error) {
		b, err := a.f.read(off, size)
		if err != nil {
			return nil, err
		}
		pg, err := a.openData(b, ord)
		if err == nil {
			err = a.openView(pg)
		}
		if err == nil {
			pg.key0 = off
			err = a.checkKeys(pg, ord)
		}
		return pg, err
	})
	t.page(hit)
	if err == nil && !pg.fits(&at) {
		err = corrupt("page differs from what its parent says")
	}
	if err != nil {
		return nil, a.where(err, "page", ord)
	}
	return pg, nil
}

// below loads the data page that entry i of a level 1 page describes.
func (a *pages) below(pg *page, i int, ord uint64, t *Stats) (*page, error) {
	slot := &pg.kids[i]
	if kid := resident(slot); kid != nil {
		t.Hits++
		return kid, nil
	}
	return a.dataAt(ord, indexChild(pg.bytes, int(pg.count), i), slot, t)
}

// data loads data page ord: through its level 1 entry, or at once where the
// stride is fixed.
func (a *pages) data(ord uint64, t *Stats) (*page, error) {
	if len(a.desc.levels) == 1 {
		return a.only(t)
	}
	s := uint64(a.typ.Fanout)
	if a.desc.codec == CodecRaw {
		if up := resident(a.slot(1, ord/s)); up != nil {
			return a.below(up, int(ord%s), ord, t)
		}
		return a.dataAt(ord, child{}, nil, t)
	}
	pg, err := a.index(1, ord/s, 0, true, t)
	if err != nil {
		return nil, err
	}
	return a.below(pg, int(ord%s), ord, t)
}

// only loads the page of an array that has no other.
func (a *pages) only(t *Stats) (*page, error) {
	slot := a.slot(0, 0)
	if pg := resident(slot); pg != nil {
		t.Hits++
		return pg, nil
	}
	return a.dataAt(0, child{}, slot, t)
}

// openData verifies the bytes of data page ord and prepares access to its keys.
func (a *pages) openData(b []byte, ord uint64) (*page, error) {
	count := a.desc.pageRows(ord, a.typ.PageRows)
	size := -1
	if len(a.desc.levels) > 1 || a.desc.codec == CodecRaw {
		size = len(b) - pageHeader
	}
	h, err := a.checkPage(b, header{
		kind: pageData, ordinal: ord, count: uint32(count), codec: a.desc.codec,
		firstN: ord * uint64(a.typ.PageRows), raw: uint32(count * a.typ.RowBytes),
	}, size)
	if err != nil {
		return nil, err
	}
	pg := &page{header: h, bytes: b[pageHeader : pageHeader+int(h.stored)]}
	switch h.codec {
	case CodecPacked:
		if pg.isView(a.typ.ID) {
			break
		}
		if pg.keys, _, err = parseKeyBlock(pg.bytes, count); err != nil {
			return nil, err
		}
	case CodecRows:
		if _, err = a.decoded(pg); err != nil {
			return nil, err
		}
	}
	return pg, nil
}

// openView decodes the rows of a view or following page, for the cache.
func (a *pages) openView(pg *page) (err error) {
	if !pg.isView(a.typ.ID) {
		return nil
	}
	rows := make([]byte, int(pg.count)*a.typ.RowBytes)
	u := unfolder{a: a}
	if err = u.unfold(pg, rows); err == nil {
		u.close()
	}
	return err
}

// isView returns whether the page is a view or a following page: its rows depend on the call graph or on other rows.
func (p *page) isView(of TypeID) bool {
	return p.codec == CodecPacked && (of == TypeCall && isView(p.bytes) || isFollowing(p.bytes))
}

// unfolder decodes views and following pages of an array to plain rows.
type unfolder struct {
	a     *pages
	ahead int64      // bytes to read ahead, see pages.calls
	times CallReader // for views; set when the first one is read
	calls *callSpans // for pages that follow calls; set when the first one is read
}

func (u *unfolder) unfold(pg *page, rows []byte) (err error) {
	a, dec := u.a, u.a.f.decoder()
	defer a.f.decoders.Put(dec)
	switch {
	case isFollowing(pg.bytes):
		if followsCalls(a.typ.ID) {
			if u.calls == nil {
				if u.calls, err = a.calls(u.ahead); err != nil {
					return err
				}
			}
		}
		err = dec.following(rows, a.typ, pg.bytes, int(pg.count), pg.firstN, u.calls)
	default:
		if u.times == nil {
			if u.times, err = a.f.times.take(a.proc); err != nil {
				return err
			}
		}
		err = dec.view(rows, dec.viewerOf(a.typ), pg.bytes, int(pg.count), pg.firstN, u.times)
	}
	if err == nil {
		pg.bytes, pg.codec = rows, CodecRaw
	}
	return err
}

// close gives the reader of calls back to the file. After an error it must not be called.
func (u *unfolder) close() {
	if u.times != nil {
		u.a.f.times.give(u.a.proc, u.times)
	}
	if u.calls != nil {
		u.calls.close()
	}
	u.times, u.calls = nil, nil
}

// checkKeys returns an error if the keys of a page do not ascend or are outside of the array's bounds.
func (a *pages) checkKeys(pg *page, ord uint64) error {
	if a.typ.Role == RoleNone {
		return nil
	}
	dec := a.f.decoder()
	defer a.f.decoders.Put(dec)
	dec.keys = grow64(dec.keys, int(pg.count))
	if pg.codec == CodecPacked {
		pg.keys.load(dec.keys)
	} else {
		loadColumn(dec.keys, pg.plain(), a.typ.RowBytes, a.typ.Columns[0])
	}
	first := dec.keys[0]
	prev := first
	for i, k := range dec.keys {
		if k < prev {
			return corrupt("key of slot %d is before its predecessor", i)
		}
		prev = k
	}
	d := a.desc
	if first < d.first || prev > d.last || (ord == 0 && first != d.first) ||
		(ord+1 == uint64(d.levels[0].pages) && prev != d.last) {
		return corrupt("keys %d to %d in an array of %d to %d", first, prev, d.first, d.last)
	}
	return nil
}

// loadAux reads aux page ord of a level without the cache.
func (a *pages) loadAux(lv int, ord uint64) (*page, error) {
	return a.loadAbove(pageAux, lv, ord, a.auxOffset(lv, ord), auxEntry(len(a.desc.totals), lv))
}

// pageOffset returns the file offset of page ord of a level whose pages are at a fixed distance.
func (a *pages) pageOffset(lv int, ord uint64) int64 {
	return a.base + int64(a.desc.levels[lv].start) + int64(ord)*pageStride(a.typ, a.desc.codec, lv, a.f.types.align)
}

// auxOffset returns the file offset of aux page ord of a level.
func (a *pages) auxOffset(lv int, ord uint64) int64 {
	return a.base + int64(a.desc.levels[lv].auxStart) + int64(ord)*auxStride(a.typ, len(a.desc.totals), lv, a.f.types.align)
}
