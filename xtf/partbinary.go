package xtf

import (
	"encoding/binary"
	"fmt"
)

// AppendBinary appends the part as variable-length integers and bytes, for another rank.
func (p *Part) AppendBinary(b []byte) []byte {
	put := func(list ...uint64) {
		for _, v := range list {
			b = binary.AppendUvarint(b, v)
		}
	}
	put(p.first, p.next-p.first, p.page0, uint64(p.codec), uint64(len(p.pages)))
	for i := range p.pages {
		g := &p.pages[i]
		put(uint64(g.off), uint64(g.stored), uint64(g.crc), g.t0, g.maxEnd)
	}
	put(uint64(len(p.plain)))
	for i := range p.plain {
		g := &p.plain[i]
		put(g.ordinal, uint64(g.slot), uint64(len(g.rows)))
		b = append(b, g.rows...)
		put(uint64(len(g.open)))
		put(g.open...)
	}
	put(uint64(len(p.ends)))
	for _, e := range p.ends {
		put(e.n)
		b = append(b, e.row...)
	}
	if s := p.sums; s != nil {
		put(uint64(len(s.a)))
		put(s.a...)
		put(s.c...)
		put(s.totals...)
		put(uint64(len(s.wait)))
		for i := range s.wait {
			w := &s.wait[i]
			put(w.page, w.t, w.end, uint64(w.mask), uint64(len(w.full)))
			put(w.full...)
		}
	}
	return b
}

// ParsePart reads a part of an array of type t that AppendBinary wrote at the start of b, and returns the bytes behind it.
func ParsePart(t *Type, b []byte) (p *Part, rest []byte, err error) {
	r := partReader{b: b, typ: t}
	p = &Part{first: r.next()}
	rows := r.next()
	p.next, p.page0, p.codec = p.first+rows, r.next(), Codec(r.next())
	if p.next < p.first || p.page0 != p.first/uint64(t.PageRows) {
		r.bad = true
	}
	p.pages = make([]pageRef, r.count(5))
	for i := range p.pages {
		p.pages[i] = pageRef{off: int64(r.next()), stored: uint32(r.next()), crc: uint32(r.next()), t0: r.next(), maxEnd: r.next()}
		r.bad = r.bad || p.pages[i].off < 0 || p.pages[i].stored > maxRaw
	}
	p.plain = make([]plainPage, r.count(4))
	for i := range p.plain {
		p.plain[i] = r.plainPage()
	}
	p.ends = make([]rowEnd, r.count(1+t.RowBytes))
	for i := range p.ends {
		p.ends[i] = rowEnd{r.next(), r.bytes(uint64(t.RowBytes))}
	}
	r.sums(p)
	if r.bad {
		return nil, nil, fmt.Errorf("xtf: part of array %s: %w", t.Name, ErrCorrupt)
	}
	return p, r.b, nil
}

// partReader reads the bytes of a part; bad is set at the first damage, and everything is 0 from there on.
type partReader struct {
	b   []byte
	typ *Type
	bad bool
}

func (r *partReader) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads how many elements of at least so many bytes follow.
func (r *partReader) count(least int) uint64 {
	n := r.next()
	if n > uint64(len(r.b)/least) {
		r.bad = true
		return 0
	}
	return n
}

func (r *partReader) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *partReader) values(n uint64) []uint64 {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = r.next()
	}
	return v
}

func (r *partReader) plainPage() plainPage {
	g := plainPage{ordinal: r.next()}
	slot := r.next()
	g.rows = r.bytes(r.next())
	g.open = r.values(r.next())
	z, w := uint64(r.typ.PageRows), uint64(r.typ.RowBytes)
	if len(g.open) == 0 {
		g.open = nil
	} else if uint64(len(g.open)) != (z+63)/64 {
		r.bad = true
	}
	if slot >= z || uint64(len(g.rows))%w != 0 || uint64(len(g.rows))/w > z-slot {
		r.bad = true
	}
	g.slot = int(slot)
	return g
}

func (r *partReader) sums(p *Part) {
	s := newSumBuilder(r.typ)
	if s == nil {
		return
	}
	n, k := r.count(2), uint64(s.k)
	if n%k != 0 || n/k > uint64(len(p.pages))+1 {
		r.bad = true
	}
	s.a, s.c, s.totals = r.values(n), r.values(n), r.values(k)
	s.wait = make([]waiting, r.count(5))
	for i := range s.wait {
		w := waiting{page: r.next(), t: r.next(), end: r.next(), mask: uint32(r.next())}
		if w.full = r.values(r.next()); len(w.full) == 0 {
			w.full = nil
		}
		r.bad = r.bad || w.page >= uint64(len(p.pages)) || w.mask>>k != 0 || w.full != nil && uint64(len(w.full)) != k
		s.wait[i] = w
	}
	p.sums = s
}
