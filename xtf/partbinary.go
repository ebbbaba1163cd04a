package xtf

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/varint"
)

// AppendBinary appends the part as variable-length integers and bytes, for another rank.
func (p *Part) AppendBinary(b []byte) []byte {
	put := func(list ...uint64) { b = varint.Append(b, list...) }
	put(p.first, p.next-p.first, p.page0, uint64(p.codec), bit(p.whole), uint64(len(p.pages)))
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
		put(g.event, bit(g.whole), uint64(len(g.late)))
		put(g.late...)
	}
	put(uint64(len(p.ends)))
	for _, e := range p.ends {
		put(e.n, bit(e.late))
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

// ParsePart reads a part of an array of type t that AppendBinary wrote at the start of b, and returns the bytes after it.
func ParsePart(t *Type, b []byte) (p *Part, rest []byte, err error) {
	r := partReader{varint.Read(b), t}
	p = &Part{first: r.Next()}
	rows := r.Next()
	p.next, p.page0, p.codec, p.whole = p.first+rows, r.Next(), Codec(r.Next()), r.AtMost(1) == 1
	if p.next < p.first || p.page0 != p.first/uint64(t.PageRows) {
		r.Fail()
	}
	p.pages = make([]pageRef, r.Count(5))
	for i := range p.pages {
		p.pages[i] = pageRef{off: int64(r.Next()), stored: uint32(r.Next()), crc: uint32(r.Next()), t0: r.Next(), maxEnd: r.Next()}
		if p.pages[i].off < 0 || p.pages[i].stored > maxRaw {
			r.Fail()
		}
	}
	p.plain = make([]plainPage, r.Count(7))
	for i := range p.plain {
		p.plain[i] = r.plainPage()
	}
	p.ends = make([]rowEnd, r.Count(2+t.RowBytes))
	for i := range p.ends {
		e := &p.ends[i]
		e.n, e.late, e.row = r.Next(), r.AtMost(1) == 1, r.Bytes(uint64(t.RowBytes))
	}
	r.sums(p)
	if r.Failed() {
		return nil, nil, fmt.Errorf("xtf: part of array %s: %w", t.Name, ErrCorrupt)
	}
	return p, r.Rest(), nil
}

// partReader takes what a part consists of.
type partReader struct {
	varint.Reader
	typ *Type
}

func (r *partReader) values(n uint64) []uint64 {
	if n > uint64(r.Len()) {
		r.Fail()
		return nil
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = r.Next()
	}
	return v
}

// bitmap reads one bit for each of z rows, or nothing.
func (r *partReader) bitmap(z uint64) []uint64 {
	v := r.values(r.Next())
	if len(v) == 0 {
		return nil
	}
	if uint64(len(v)) != (z+63)/64 {
		r.Fail()
	}
	return v
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (r *partReader) plainPage() plainPage {
	g := plainPage{ordinal: r.Next()}
	slot := r.Next()
	g.rows = r.Block()
	z, w := uint64(r.typ.PageRows), uint64(r.typ.RowBytes)
	g.open = r.bitmap(z)
	g.event, g.whole = r.Next(), r.AtMost(1) == 1
	g.late = r.bitmap(z)
	if slot >= z || uint64(len(g.rows))%w != 0 || uint64(len(g.rows))/w > z-slot {
		r.Fail()
	}
	g.slot = int(slot)
	return g
}

func (r *partReader) sums(p *Part) {
	s := newSumBuilder(r.typ)
	if s == nil {
		return
	}
	n, k := uint64(r.Count(2)), uint64(s.k)
	if n%k != 0 || n/k > uint64(len(p.pages))+1 {
		r.Fail()
	}
	s.a, s.c, s.totals = r.values(n), r.values(n), r.values(k)
	s.wait = make([]waiting, r.Count(5))
	for i := range s.wait {
		w := waiting{page: r.Next(), t: r.Next(), end: r.Next(), mask: uint32(r.Next())}
		if w.full = r.values(r.Next()); len(w.full) == 0 {
			w.full = nil
		}
		if w.page >= uint64(len(p.pages)) || w.mask>>k != 0 || w.full != nil && uint64(len(w.full)) != k {
			r.Fail()
		}
		s.wait[i] = w
	}
	p.sums = s
}
