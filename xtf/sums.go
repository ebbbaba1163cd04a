package xtf

import (
	"math/bits"
	"slices"
	"sort"
)

// sumBuilder collects the prefix sums of an array while its pages are encoded, in
// any order. PS[j][k] is what the rows before page j have contributed to sum k by
// T0[j]: with RuleAtT the values of all of them (those with T = T0[j] too, so that
// a run of equal T across a border needs no second look), with RuleAtEnd of those
// with End <= T0[j], with RuleSpan min(End, T0[j]) - T. As a function of j, a row
// is nothing up to its own page, then for a span T0[j] - T while it lasts, then
// its full value; additions to two difference arrays describe it:
//
//	PS[j] = sum of a[..j] + T0[j] * sum of c[..j]     (modulo 2^64)
//
// Where the first page after a row's end is not known yet, the row waits. That
// are rows reaching over the end of their page: as many as calls are open there.
type sumBuilder struct {
	typ    *Type
	k      int
	filter []Column // that filters read
	from   []Column // by sum, what is added, and ...
	less   []Column // ... taken off; without a width: nothing
	keyAt  int      // where they are in a row: the key of an entry is 8 bytes from here on ...
	mask   uint64   // ... but for these bits; 0 without filters, and where they do not fit
	memo   [memoSize]passes
	a, c   []uint64 // k per page, one page more than sealed
	totals []uint64
	acc    []uint64 // of the page in hand
	wait   []waiting
	limit  int // of wait before it is swept
}

// passes remembers which sums a combination of filter columns contributes to, and
// gathers counts and durations of the rows that have it: the sums themselves are
// added once a page.
type passes struct {
	key   uint64
	mask  uint32 // sums that pass
	other uint32 // those of them that need more of the row than T and End
	rows  uint64
	ticks uint64
}

// waiting is a row whose first page with T0 >= end is not known yet.
type waiting struct {
	page uint64
	t    uint64
	end  uint64
	mask uint32   // the RuleSpan and RuleAtEnd sums it contributes to
	full []uint64 // its values of RuleAtEnd sums, nil if there are none
}

const memoSize = 64

// newSumBuilder returns nil for types without sums or without an End.
func newSumBuilder(t *Type) *sumBuilder {
	if len(t.Sums) == 0 || t.End < 0 {
		return nil
	}
	s := &sumBuilder{typ: t, k: len(t.Sums), limit: 1024}
	s.totals, s.acc = make([]uint64, s.k), make([]uint64, s.k)
	s.from, s.less = make([]Column, s.k), make([]Column, s.k)
	for k, sum := range t.Sums {
		if sum.Column >= 0 {
			s.from[k] = t.Columns[sum.Column]
		}
		if sum.Minus >= 0 {
			s.less[k] = t.Columns[sum.Minus]
		}
		for _, f := range sum.Filter {
			if c := t.Columns[f.Column]; !slices.Contains(s.filter, c) {
				s.filter = append(s.filter, c)
			}
		}
	}
	s.place()
	zero := make([]byte, t.RowBytes)
	for i := range s.memo { // an entry of any key is right for it
		s.replace(&s.memo[i], 0, zero)
	}
	return s
}

// place finds where the filter columns are in a row.
func (s *sumBuilder) place() {
	first, end, bytes := s.typ.RowBytes, 0, 0 // they fit where there is nothing between them
	for _, c := range s.filter {
		first, end, bytes = min(first, c.Offset), max(end, c.Offset+c.Width), bytes+c.Width
	}
	if bytes > 0 && bytes <= 8 && end-first == bytes {
		s.keyAt = min(first, s.typ.RowBytes-8)
		s.mask = ^uint64(0) >> (64 - 8*bytes) << (8 * (first - s.keyAt))
	}
}

// find returns the entry of a row with a key.
func (s *sumBuilder) find(key uint64, row []byte) *passes {
	p := &s.memo[key*0x9E3779B97F4A7C15>>58]
	if p.key != key || s.mask == 0 && len(s.filter) > 0 {
		s.flush(p)
		s.replace(p, key, row)
	}
	return p
}

// replace makes p, whose sums are flushed, the entry of a row.
func (s *sumBuilder) replace(p *passes, key uint64, row []byte) {
	*p = passes{key: key, mask: s.evaluate(row)}
	for k := range s.typ.Sums {
		if m := &s.typ.Sums[k]; m.Rule != RuleSpan && m.Column >= 0 {
			p.other |= p.mask & (1 << k)
		}
	}
}

// flush adds what an entry gathered to the sums of the page.
func (s *sumBuilder) flush(p *passes) {
	if p.rows == 0 {
		return
	}
	for m := p.mask &^ p.other; m != 0; m &= m - 1 {
		k := bits.TrailingZeros32(m)
		if s.typ.Sums[k].Rule == RuleSpan {
			s.acc[k] += p.ticks
		} else {
			s.acc[k] += p.rows
		}
	}
	p.rows, p.ticks = 0, 0
}

func (s *sumBuilder) evaluate(row []byte) uint32 {
	var mask uint32
	for k := range s.typ.Sums {
		if s.typ.Sums[k].matches(s.typ, row) {
			mask |= 1 << k
		}
	}
	return mask
}

// matches says whether a row passes the sum's filter.
func (m *Sum) matches(t *Type, row []byte) bool {
	for _, f := range m.Filter {
		c := t.Columns[f.Column]
		if loadValue(row[c.Offset:], c.Width)&f.Mask != f.Value {
			return false
		}
	}
	return true
}

// value is the full value of a row that passes the filter.
func (m *Sum) value(t *Type, row []byte) uint64 {
	load := func(i int) uint64 {
		c := t.Columns[i]
		return loadValue(row[c.Offset:], c.Width)
	}
	switch {
	case m.Rule == RuleSpan:
		at, end := load(0), load(t.End)
		if end == Never || end < at {
			return 0
		}
		return end - at
	case m.Rule == RuleAtEnd && load(t.End) == Never:
		return 0
	case m.Column < 0:
		return 1
	}
	v := load(m.Column)
	if m.Minus < 0 {
		return v
	}
	if less := load(m.Minus); less < v {
		return v - less
	}
	return 0
}

// page takes the rows of an encoded page.
func (s *sumBuilder) page(ord uint64, rows []byte, pages []pageRef) {
	if s == nil {
		return
	}
	s.grow(len(pages) + 1)
	t, r := s.typ, s.typ.RowBytes
	end := t.Columns[t.End].Offset
	last := le.Uint64(rows[len(rows)-r:])
	p, same := &s.memo[0], s.mask != 0 || len(s.filter) == 0
	clear(s.acc)
	for o := 0; o < len(rows); o += r {
		row := rows[o : o+r : o+r]
		if key := le.Uint64(row[s.keyAt:]) & s.mask; key != p.key || !same {
			p = s.find(key, row)
		}
		at, e := le.Uint64(row), le.Uint64(row[end:])
		if e > last || e == Never {
			s.late(ord, row, p.mask)
			continue
		}
		p.rows++
		if e > at {
			p.ticks += e - at
		}
		for m := p.other; m != 0; m &= m - 1 { // their column minus another, the End is known
			k := bits.TrailingZeros32(m)
			v, less := loadValue(row[s.from[k].Offset:], s.from[k].Width), uint64(0)
			if c := &s.less[k]; c.Width > 0 {
				less = loadValue(row[c.Offset:], c.Width)
			}
			s.acc[k] += v - min(v, less)
		}
	}
	for i := range s.memo {
		s.flush(&s.memo[i])
	}
	next := s.a[(ord+1)*uint64(s.k):]
	for k, v := range s.acc {
		next[k] += v
		s.totals[k] += v
	}
	if len(s.wait) > s.limit {
		s.sweep(pages, false)
		s.limit = max(1024, 2*len(s.wait))
	}
}

// late files a row that reaches over the end of its page.
func (s *sumBuilder) late(ord uint64, row []byte, mask uint32) {
	t := s.typ
	c := t.Columns[t.End]
	w := waiting{page: ord, t: le.Uint64(row), end: le.Uint64(row[c.Offset:])}
	for m := mask; m != 0; m &= m - 1 {
		k := bits.TrailingZeros32(m)
		sum := &t.Sums[k]
		v := sum.value(t, row)
		if v == 0 {
			continue
		}
		switch sum.Rule {
		case RuleAtT:
			s.acc[k] += v
			continue
		case RuleAtEnd:
			if w.full == nil {
				w.full = make([]uint64, s.k)
			}
			w.full[k] = v
		}
		s.totals[k] += v
		w.mask |= 1 << k
	}
	if w.mask != 0 {
		s.wait = append(s.wait, w)
	}
}

func (s *sumBuilder) grow(pages int) {
	for n := pages * s.k; len(s.a) < n; {
		s.a = append(s.a, make([]uint64, s.k)...)
		s.c = append(s.c, make([]uint64, s.k)...)
	}
}

// sweep settles the rows whose place is known: all of them once all pages are.
func (s *sumBuilder) sweep(pages []pageRef, all bool) {
	kept := s.wait[:0]
	newest := pages[len(pages)-1].t0
	for _, w := range s.wait {
		if !all && w.end >= newest {
			kept = append(kept, w)
			continue
		}
		s.settle(&w, pages)
	}
	clear(s.wait[len(kept):])
	s.wait = kept
}

// settle enters a waiting row into the difference arrays.
func (s *sumBuilder) settle(w *waiting, pages []pageRef) {
	from := int(w.page) + 1
	j := (from + sort.Search(len(pages)-from, func(i int) bool { return pages[from+i].t0 >= w.end })) * s.k
	at := from * s.k
	for m := w.mask; m != 0; m &= m - 1 {
		k := bits.TrailingZeros32(m)
		if s.typ.Sums[k].Rule == RuleAtEnd {
			s.a[j+k] += w.full[k]
			continue
		}
		s.a[at+k] -= w.t
		s.c[at+k]++
		s.a[j+k] += w.end
		s.c[j+k]--
	}
}

// finish turns the differences into the prefix sums of the summary.
func (s *sumBuilder) finish(sum *ArraySummary) {
	if s == nil || len(sum.pages) == 0 {
		return
	}
	s.grow(len(sum.pages) + 1)
	s.sweep(sum.pages, true)
	for j := 1; j < len(sum.pages); j++ {
		for k := range s.k {
			s.a[j*s.k+k] += s.a[(j-1)*s.k+k]
			s.c[j*s.k+k] += s.c[(j-1)*s.k+k]
		}
	}
	for j := range sum.pages {
		for k := range s.k {
			s.a[j*s.k+k] += s.c[j*s.k+k] * sum.pages[j].t0
		}
	}
	sum.k, sum.ps, sum.totals = s.k, s.a[:len(sum.pages)*s.k:len(sum.pages)*s.k], s.totals
	s.a, s.c, s.wait = nil, nil, nil
}
