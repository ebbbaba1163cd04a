package xtf

// index loads index page ord of a level. crc is the checksum its parent holds,
// ignored with root (no parent was visited).
func (a *Array) index(lv int, ord uint64, crc uint32, root bool, t *tally) (*page, error) {
	off := a.base + int64(a.desc.levels[lv].start) + int64(ord)*pageStride(a.typ, a.desc.codec, lv, a.f.types.align)
	pg, hit, err := a.f.cache.get(off, true, func() (*page, error) { return a.loadIndex(lv, ord, off) })
	t.add(hit)
	if err == nil && (pg.region != nil || pg.kind != pageIndex || pg.typ != a.desc.typ || pg.proc != a.proc ||
		int(pg.level) != lv || pg.ordinal != ord || (!root && pg.crc != crc)) {
		err = corrupt("page differs from what its parent says")
	}
	if err != nil {
		return nil, a.where(err, "index page", ord)
	}
	return pg, nil
}

func (t *tally) add(hit bool) {
	if hit {
		t.hits++
	} else {
		t.reads++
	}
}

func (a *Array) loadIndex(lv int, ord uint64, off int64) (*page, error) {
	n := childCount(uint64(a.desc.levels[lv-1].pages), a.typ.Fanout, ord)
	b, err := a.f.read(off, int64(pageHeader+n*indexEntry))
	if err != nil {
		return nil, err
	}
	h, err := a.checkPage(b, header{
		kind: pageIndex, level: uint8(lv), ordinal: ord, count: uint32(n),
		firstN: ord * levelRows(a.typ, lv), raw: uint32(n * indexEntry),
	}, n*indexEntry)
	if err != nil {
		return nil, err
	}
	body := b[pageHeader:]
	for i := 1; i < n; i++ {
		if le.Uint64(body[8*i:]) < le.Uint64(body[8*(i-1):]) {
			return nil, corrupt("key of entry %d lies before its predecessor", i)
		}
	}
	return &page{header: h, bytes: body}, nil
}

// pageRows is the number of rows of data page ord.
func (a *Array) pageRows(ord uint64) int {
	z := uint64(a.typ.PageRows)
	return int(min(z, a.desc.rows-ord*z))
}

// place returns where data page ord lies and how long it is: from its index
// entry, from the stride, or, for the only page, from the descriptor.
func (a *Array) place(ord uint64, from child) (off, size int64, err error) {
	d := a.desc
	switch {
	case d.codec == CodecRaw:
		stride := pageStride(a.typ, d.codec, 0, a.f.types.align)
		return a.base + int64(ord)*stride, int64(pageHeader + a.pageRows(ord)*a.typ.RowBytes), nil
	case len(d.levels) == 1:
		return a.base, int64(min(d.bytes, maxRaw+pageHeader)), nil
	}
	end := d.levels[1].start
	if from.len <= pageHeader || from.len > maxRaw+pageHeader || from.off > end || uint64(from.len) > end-from.off {
		return 0, 0, corrupt("entry says %d bytes at %d of %d", from.len, from.off, end)
	}
	return a.base + int64(from.off), int64(from.len), nil
}

// dataAt loads data page ord, which its index entry describes.
func (a *Array) dataAt(ord uint64, from child, t *tally) (*page, error) {
	off, size, err := a.place(ord, from)
	if err != nil {
		return nil, a.where(err, "page", ord)
	}
	pg, hit, err := a.f.cache.get(off, false, func() (*page, error) {
		b, err := a.f.read(off, size)
		if err != nil {
			return nil, err
		}
		pg, err := a.openData(b, ord)
		if err == nil {
			pg.key0 = off
		}
		return pg, err
	})
	t.add(hit)
	if err == nil && (pg.region != nil || pg.kind != pageData || pg.typ != a.desc.typ || pg.proc != a.proc ||
		pg.ordinal != ord || (from.len != 0 && pg.crc != from.crc)) {
		err = corrupt("page differs from what its parent says")
	}
	if err != nil {
		return nil, a.where(err, "page", ord)
	}
	return pg, nil
}

// openData verifies the bytes of data page ord and makes its keys addressable.
func (a *Array) openData(b []byte, ord uint64) (*page, error) {
	count := a.pageRows(ord)
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
		if pg.keys, _, err = parseKeyBlock(pg.bytes, count); err != nil {
			return nil, err
		}
	case CodecRows:
		if _, err = a.decoded(pg); err != nil {
			return nil, err
		}
	}
	return pg, a.checkKeys(pg, ord)
}

// checkKeys makes sure that the keys of a page rise, and stay within the array.
func (a *Array) checkKeys(pg *page, ord uint64) error {
	if a.typ.Role == RoleNone {
		return nil
	}
	n := int(pg.count)
	prev := a.key(pg, 0)
	first := prev
	if pg.codec == CodecPacked {
		for i := 1; i < n; i++ {
			k := pg.keys.at(i)
			if k < prev {
				return corrupt("key of slot %d lies before its predecessor", i)
			}
			prev = k
		}
	} else {
		for i := 1; i < n; i++ {
			k := a.key(pg, i)
			if k < prev {
				return corrupt("key of slot %d lies before its predecessor", i)
			}
			prev = k
		}
	}
	d := a.desc
	if first < d.first || prev > d.last || (ord == 0 && first != d.first) ||
		(ord+1 == uint64(d.levels[0].pages) && prev != d.last) {
		return corrupt("keys %d to %d in an array of %d to %d", first, prev, d.first, d.last)
	}
	return nil
}

// loadAux reads aux page ord of a level, beside the cache.
func (a *Array) loadAux(lv int, ord uint64) (*page, error) {
	n := childCount(uint64(a.desc.levels[lv-1].pages), a.typ.Fanout, ord)
	k := len(a.desc.totals)
	size := n * int(auxEntry(k, lv))
	off := a.base + int64(a.desc.levels[lv].auxStart) + int64(ord)*auxStride(a.typ, k, lv, a.f.types.align)
	b, err := a.f.read(off, int64(pageHeader+size))
	if err != nil {
		return nil, err
	}
	h, err := a.checkPage(b, header{
		kind: pageAux, level: uint8(lv), ordinal: ord, count: uint32(n),
		firstN: ord * levelRows(a.typ, lv), raw: uint32(size),
	}, size)
	if err != nil {
		return nil, err
	}
	return &page{header: h, bytes: b[pageHeader:]}, nil
}
