package xtf

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// sumBuilder computes the prefix sums of an array while its pages are encoded, in any order. PS[j][k] is what the rows before page j have
// contributed to sum k by T0[j]: with RuleAtT the values of all of them (also of those with T = T0[j], so that a run of equal T across a
// border needs no special case), with RuleAtEnd of those with End <= T0[j], with RuleSpan min(End, T0[j]) - T. As a function of j, a row
// contributes nothing up to its own page, then for a span T0[j] - T while it lasts, and then its full value. So it is enough to add to two
// difference arrays:
//
//	PS[j] = sum of a[..j] + T0[j] * sum of c[..j]     (modulo 2^64)
//
// A row whose first page after its end is not known yet has to wait. These are the rows that end after their page: as many as calls are
// open there.
type sumBuilder struct {
	typ    *Type
	k      int
	filter []Column // columns of filters
	from   []Column // by sum: the column that is added
	less   []Column // by sum: the column that is subtracted; width 0: none
	keyAt  int      // offset in a row of 8 bytes with the filter columns, which are the key of a passes
	mask   uint64   // bits of these bytes that count; 0 without filters, or if the columns do not fit
	memo   [memoSize]passes
	a, c   []uint64 // k for each page, and for one page more than are sealed
	totals []uint64
	acc    []uint64 // of the current page
	wait   []waiting
	limit  int // length of wait at which it is swept
}

// passes has the sums to which rows with certain filter columns contribute, and the number and the duration of these rows on the current
// page. So the sums are added once for each page only.
type passes struct {
	key   uint64
	mask  uint32 // sums to which the rows contribute
	other uint32 // of these, sums that need more of the row than T and End
	rows  uint64
	ticks uint64
}

// waiting is a row whose first page with T0 >= end is not yet known.
type waiting struct {
	page uint64
	t    uint64
	end  uint64
	mask uint32   // RuleSpan and RuleAtEnd sums to which it contributes
	full []uint64 // its values for RuleAtEnd sums; nil if there are none
}

const memoSize = 64

// newSumBuilder returns nil for types without sums or without End.
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
	for i := range s.memo { // an entry may have any key, as long as it is right for it
		s.replace(&s.memo[i], 0, zero)
	}
	return s
}

// place finds the filter columns in a row.
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

// find returns the entry for a row with a key.
func (s *sumBuilder) find(key uint64, row []byte) *passes {
	p := &s.memo[key*0x9E3779B97F4A7C15>>58]
	if p.key != key || s.mask == 0 && len(s.filter) > 0 {
		s.flush(p)
		s.replace(p, key, row)
	}
	return p
}

// replace makes p the entry for a row. p must have been flushed.
func (s *sumBuilder) replace(p *passes, key uint64, row []byte) {
	*p = passes{key: key, mask: s.evaluate(row)}
	for k := range s.typ.Sums {
		if m := &s.typ.Sums[k]; m.Rule != RuleSpan && m.Column >= 0 {
			p.other |= p.mask & (1 << k)
		}
	}
}

// flush adds what an entry has counted to the sums of the page.
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

// matches returns whether a row passes the filter of the sum.
func (m *Sum) matches(t *Type, row []byte) bool {
	for _, f := range m.Filter {
		if t.Columns[f.Column].Value(row)&f.Mask != f.Value {
			return false
		}
	}
	return true
}

// value returns the full value of a row that passes the filter.
func (m *Sum) value(t *Type, row []byte) uint64 {
	load := func(i int) uint64 { return t.Columns[i].Value(row) }
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

// page adds the rows of an encoded page.
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
			v, less := s.from[k].Value(row), uint64(0)
			if c := &s.less[k]; c.Width > 0 {
				less = c.Value(row)
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

// late adds a row that ends after its page: to the totals, and if necessary to wait.
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

// sweep settles the waiting rows whose page is known. With all, every page is known.
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

// settle adds a waiting row to the difference arrays.
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

// finish computes the prefix sums of the summary from the differences.
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

// Overlapping calls visit for the rows with T < t2 and End > t1, in ascending order, until visit returns false. It skips subtrees whose
// greatest End is not above t1, so it costs O(log N + rows). visit must not keep the row. Arrays without End have no such rows.
func (a *Array) Overlapping(t1, t2 uint64, visit func(n uint64, row []byte) bool) error {
	if a.typ.End < 0 || a.desc.rows == 0 || t1 >= a.desc.maxEnd {
		return nil
	}
	n2, err := a.Rank(t2)
	if err != nil {
		return err
	}
	return a.reaching(n2, t1, visit)
}

// reaching visits the rows below row n2 with End > t1.
func (a *Array) reaching(n2, t1 uint64, visit func(n uint64, row []byte) bool) error {
	if n2 == 0 || t1 >= a.desc.maxEnd {
		return nil
	}
	w := walk{a: a, n2: n2, t1: t1, visit: visit}
	_, err := w.level(len(a.desc.levels)-1, 0)
	a.count(w.cost)
	return err
}

type walk struct {
	a      *Array
	n2, t1 uint64
	visit  func(n uint64, row []byte) bool
	cost   Stats
}

// level visits the rows below page ord of a level. more is false if visit returned false or n2 is reached.
func (w *walk) level(lv int, ord uint64) (more bool, err error) {
	if lv == 0 {
		return w.rows(ord)
	}
	pg, err := w.a.auxPage(lv, ord, &w.cost)
	if err != nil {
		return false, err
	}
	span := levelRows(w.a.typ, lv-1)
	for i := range int(pg.count) {
		kid := ord*uint64(w.a.typ.Fanout) + uint64(i)
		if kid*span >= w.n2 {
			return false, nil
		}
		if le.Uint64(pg.bytes[8*i:]) <= w.t1 {
			continue
		}
		if more, err = w.level(lv-1, kid); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

func (w *walk) rows(ord uint64) (bool, error) {
	a := w.a
	rows, err := a.pageData(ord, &w.cost)
	if err != nil {
		return false, err
	}
	n, r := ord*uint64(a.typ.PageRows), a.typ.RowBytes
	end := a.typ.Columns[a.typ.End].Offset
	for ; len(rows) > 0 && n < w.n2; rows, n = rows[r:], n+1 {
		if le.Uint64(rows[end:]) > w.t1 && !w.visit(n, rows[:r:r]) {
			return false, nil
		}
	}
	return n < w.n2, nil
}

func (a *pages) pageData(ord uint64, t *Stats) ([]byte, error) {
	pg, err := a.data(ord, t)
	if err != nil {
		return nil, err
	}
	rows, err := a.decoded(pg)
	if err != nil {
		return nil, a.where(err, "page", ord)
	}
	return rows, nil
}

// auxPage loads an aux page through the cache.
func (a *pages) auxPage(lv int, ord uint64, t *Stats) (*page, error) {
	at := place{header: a.identity(pageAux, lv, ord)}
	pg, hit, err := a.f.cache.get(a.auxOffset(lv, ord), at, func() (*page, error) { return a.loadAux(lv, ord) })
	t.page(hit)
	if err == nil && !pg.fits(&at) {
		err = corrupt("page of another place")
	}
	if err != nil {
		return nil, a.where(err, "aux page", ord)
	}
	return pg, nil
}

// Sums gives the sums of the type over the rows of an array, at any time.
type Sums struct{ a *Array }

// Sums returns the sums of the array; see HasSums.
func (a *Array) Sums() Sums { return Sums{a} }

// HasSums returns whether the array has the prefix sums of its type.
func (a *Array) HasSums() bool { return len(a.desc.totals) > 0 }

// Totals returns the sums over all rows, in the order of Type().Sums, or nil if the array has none.
func (x Sums) Totals() []uint64 { return append([]uint64(nil), x.a.desc.totals...) }

// prefix returns PS[j], for j up to the number of pages.
func (a *pages) prefix(j uint64, t *Stats) ([]uint64, error) {
	ps := make([]uint64, len(a.desc.totals))
	pages := uint64(a.desc.levels[0].pages)
	switch {
	case j >= pages:
		copy(ps, a.desc.totals)
	case pages > 1:
		s := uint64(a.typ.Fanout)
		pg, err := a.auxPage(1, j/s, t)
		if err != nil {
			return nil, err
		}
		n, i := int(pg.count), int(j%s)
		for k := range ps {
			ps[k] = le.Uint64(pg.bytes[8*((1+k)*n+i):])
		}
	}
	return ps, nil
}

// at returns F(t) for each sum of the type: exactly what the rows have contributed by time t. It costs one descent, one aux page, the page
// around t and the pages of rows that are open then, whatever t is.
func (x Sums) at(t uint64) ([]uint64, error) {
	a := x.a
	f := make([]uint64, len(a.desc.totals))
	if a.desc.rows == 0 || len(f) == 0 {
		return f, nil
	}
	lo, err := a.Rank(t)
	if err != nil {
		return nil, err
	}
	hi, err := a.RankAfter(t)
	if err != nil {
		return nil, err
	}
	early, err := x.upTo(lo, t)
	if err != nil {
		return nil, err
	}
	late := early
	if hi != lo {
		if late, err = x.upTo(hi, t); err != nil {
			return nil, err
		}
	}
	for k := range f {
		if a.typ.Sums[k].Rule == RuleAtEnd {
			f[k] = late[k]
		} else {
			f[k] = early[k]
		}
	}
	return f, nil
}

// upTo returns the sums of the rows below row n at time t. T < t, or T <= t for RuleAtEnd, must be true for exactly these rows.
func (x Sums) upTo(n, t uint64) ([]uint64, error) {
	a := x.a
	if n == 0 {
		return make([]uint64, len(a.desc.totals)), nil
	}
	var cost Stats
	defer func() { a.count(cost) }()
	z := uint64(a.typ.PageRows)
	j := (n - 1) / z
	f, err := a.prefix(j, &cost)
	if err != nil {
		return nil, err
	}
	rows, err := a.pageData(j, &cost)
	if err != nil {
		return nil, err
	}
	c := a.typ.Columns
	t0 := le.Uint64(rows[c[0].Offset:])
	end := c[a.typ.End].Offset
	err = a.reaching(j*z, t0, func(_ uint64, row []byte) bool {
		x.add(f, row, t, t0, le.Uint64(row), le.Uint64(row[end:]), false)
		return true
	})
	r := uint64(a.typ.RowBytes)
	for o := uint64(0); o < (n-j*z)*r; o += r {
		row := rows[o : o+r]
		x.add(f, row, t, 0, le.Uint64(row), le.Uint64(row[end:]), true)
	}
	return f, err
}

// add adds what a row has contributed by t. For a row of the page around t (own) that is everything, for others what was after t0.
func (x Sums) add(f []uint64, row []byte, t, t0, at, end uint64, own bool) {
	a := x.a
	for k := range f {
		sum := &a.typ.Sums[k]
		if (sum.Rule == RuleAtT && !own) || (sum.Rule == RuleAtEnd && end > t) || !sum.matches(a.typ, row) {
			continue
		}
		switch {
		case sum.Rule != RuleSpan:
			f[k] += sum.value(a.typ, row)
		case end == Never || end < at:
		case own:
			f[k] += min(end, t) - at
		default:
			f[k] += min(end, t) - t0
		}
	}
}

// Between returns F(t2) - F(t1), which are the exact sums of [t1, t2). The cost does not depend on the length.
func (x Sums) Between(t1, t2 uint64) ([]uint64, error) {
	f1, err := x.at(min(t1, t2))
	if err != nil {
		return nil, err
	}
	f2, err := x.at(t2)
	if err != nil {
		return nil, err
	}
	for k := range f2 {
		f2[k] -= f1[k]
	}
	return f2, nil
}

// edge is what index and aux pages say about F at an instant: below <= F <= above.
type edge struct {
	t0, t1       uint64 // first keys of the page around the instant and of the next
	below, above []uint64
}

// bound sets lower and upper limits of F at to minus F at e.
func (e *edge) bound(to *edge, lower, upper []uint64) {
	for k := range lower {
		if to.below[k] > e.above[k] {
			lower[k] = to.below[k] - e.above[k]
		}
		if to.above[k] > e.below[k] {
			upper[k] = to.above[k] - e.below[k]
		}
	}
}

// around returns the prefix sums on both sides of t: of the page with the row before lo(t), and of the page with the row before hi(t).
func (x Sums) around(t uint64) (*edge, error) {
	a := x.a
	var cost Stats
	defer func() { a.count(cost) }()
	e := &edge{t0: a.desc.first, t1: a.desc.first}
	lo, hi := leaf{}, leaf{}
	var err error
	if t > a.desc.first {
		if lo, err = a.leaf(t, false, &cost); err != nil {
			return nil, err
		}
		if e.t0, e.t1 = lo.first(a), lo.sep; lo.ord+1 == uint64(a.desc.levels[0].pages) {
			e.t1 = max(a.desc.maxEnd, a.desc.last)
		}
	}
	if e.below, err = a.prefix(lo.ord, &cost); err != nil {
		return nil, err
	}
	e.above = e.below // before the first row, both are PS[0] = 0
	if t >= a.desc.first {
		if hi, err = a.leaf(t, true, &cost); err == nil {
			e.above, err = a.prefix(hi.ord+1, &cost)
		}
	}
	return e, err
}

// Limits returns limits of Between, and an estimate between them that is linear in time between the first keys of the pages around t1 and
// t2. It reads index and aux pages only.
func (x Sums) Limits(t1, t2 uint64) (lower, about, upper []uint64, err error) {
	a := x.a
	k := len(a.desc.totals)
	f := make([]uint64, 3*k)
	lower, about, upper = f[:k:k], f[k:2*k:2*k], f[2*k:]
	if t1 >= t2 || a.desc.rows == 0 || k == 0 {
		return lower, about, upper, nil
	}
	e1, err := x.around(t1)
	if err != nil {
		return nil, nil, nil, err
	}
	e2, err := x.around(t2)
	if err != nil {
		return nil, nil, nil, err
	}
	f1, f2 := e1.about(t1), e2.about(t2)
	e1.bound(e2, lower, upper)
	for k := range about {
		if f2[k] > f1[k] {
			about[k] = f2[k] - f1[k]
		}
		about[k] = min(max(about[k], lower[k]), upper[k])
	}
	return lower, about, upper, nil
}

// about interpolates F(t) between the prefix sums around t.
func (e *edge) about(t uint64) []uint64 {
	if t <= e.t0 {
		return e.below
	}
	if t >= e.t1 {
		return e.above
	}
	f := make([]uint64, len(e.below))
	for k := range f {
		q, _ := exact.MulDiv(e.above[k]-e.below[k], t-e.t0, e.t1-e.t0)
		f[k] = e.below[k] + q
	}
	return f
}
