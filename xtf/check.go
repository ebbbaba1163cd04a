package xtf

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// Problem is a finding of Check.
type Problem struct {
	P     Proc   // location; WholeRun also for parts of the file outside regions
	Type  TypeID // 0 outside arrays
	First uint64 // the rows from First to First+Rows-1 cannot be read because of it
	Rows  uint64
	Err   error
}

func (p Problem) String() string {
	if p.Rows > 0 {
		return fmt.Sprintf("%v (rows %d to %d are lost)", p.Err, p.First, p.First+p.Rows-1)
	}
	return p.Err.Error()
}

// CheckResult says which parts of a file are intact.
type CheckResult struct {
	Problems []Problem // the first MaxProblems
	Found    uint64    // number of all problems
	Regions  uint64    // regions whose head can be read
	Lost     uint64    // regions whose head cannot be read
	Arrays   uint64
	Pages    uint64 // intact pages of all kinds
	Rows     uint64 // rows that can be read
	LostRows uint64
	Bytes    uint64 // in intact pages and sections
}

// MaxProblems limits CheckResult.Problems.
const MaxProblems = 1000

func (c *CheckResult) add(p Problem) {
	c.Found++
	c.LostRows += p.Rows
	if len(c.Problems) < MaxProblems {
		c.Problems = append(c.Problems, p)
	}
}

// Check verifies the whole file: checksums, positions, links, the fill of pages, parents, order, sums and the bounds of regions. Damage is
// in the result. The error is for storage that cannot be read. Check calls pass, unless it is nil, with the number of bytes that it has
// found intact. Memory: one region head, a read-ahead buffer, and for each page of one array 64 bytes and 16 for each sum.
func Check(f *File, pass func(bytes uint64)) (*CheckResult, error) {
	c := &checker{f: f, res: &CheckResult{}, pass: pass}
	for _, s := range f.parts {
		if s.Kind != KindDirectory {
			c.note(Problem{P: WholeRun, Err: c.content(s, fmt.Sprintf("xtf: section of kind %d", s.Kind))})
		}
	}
	c.array(f.dir)
	at := uint64(FirstRegion(f.types))
	for n := range f.dir.desc.rows {
		p := Proc(n)
		if n+1 == f.dir.desc.rows {
			p = WholeRun
		}
		at = c.region(p, at)
		if c.io != nil {
			return c.res, c.io
		}
	}
	return c.res, c.io
}

type checker struct {
	f    *File
	res  *CheckResult
	last *DirRow // of the location before
	pass func(bytes uint64)
	io   error // storage failed
}

func (c *checker) sound(bytes uint64) {
	c.res.Bytes += bytes
	if c.pass != nil {
		c.pass(bytes)
	}
}

// note records err as damage, or keeps it in c.io if the storage failed.
func (c *checker) note(p Problem) {
	if p.Err == nil {
		return
	}
	if !errors.Is(p.Err, ErrCorrupt) && !errors.Is(p.Err, ErrNoProc) {
		c.io = p.Err
		return
	}
	c.res.add(p)
}

// content reads a whole section or blob and compares its checksum.
func (c *checker) content(s SectionInfo, where string) error {
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.NewSectionReader(c.f.r, s.Offset, s.Size))
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if n != s.Size || sum.Sum32() != s.CRC {
		return fmt.Errorf("%s: %w", where, corrupt("checksum mismatch in %d bytes at %d", s.Size, s.Offset))
	}
	c.sound(uint64(s.Size))
	return nil
}

// region checks the region of p, which should begin at offset at. It returns the offset at which the next one should begin.
func (c *checker) region(p Proc, at uint64) uint64 {
	d, err := c.f.Dir(p)
	if err == nil && d.HeadOff != at {
		c.note(Problem{P: p, Err: fmt.Errorf("xtf: proc %d: %w", p, corrupt("region begins at %d, expected %d", d.HeadOff, at))})
	}
	if err == nil && d.HeadOff < at { // it overlaps another region: its bytes are not read again
		c.res.Lost++
		return at
	}
	var reg *region
	if err == nil {
		at = d.HeadOff + d.RegionBytes
		reg, err = c.f.region(p)
	}
	if err != nil {
		c.res.Lost++
		c.note(Problem{P: p, Err: err})
		return at
	}
	c.res.Regions++
	c.row(&d, reg)
	for i := range reg.arrays {
		c.array(reg.array(c.f, reg.arrays[i].typ))
	}
	for _, b := range reg.blobs {
		c.note(Problem{P: p, Err: c.content(b, fmt.Sprintf("xtf: proc %d blob of kind %d", p, b.Kind))})
	}
	return at
}

// row compares a directory row with its region and with the row before it.
func (c *checker) row(d *DirRow, reg *region) {
	first, last := Never, uint64(0)
	for i := range reg.arrays {
		if a := &reg.arrays[i]; c.f.types.Lookup(a.typ).Role == RoleT {
			first, last = min(first, a.first), max(last, a.last, endOrZero(a.maxEnd))
		}
	}
	if first == Never {
		first = 0
	}
	if d.First != first || d.Last != last {
		c.note(Problem{P: d.P, Err: fmt.Errorf("xtf: directory row of proc %d: %w", d.P, corrupt("times %d to %d, its region has %d to %d", d.First, d.Last, first, last))})
	}
	if d.P == WholeRun {
		return
	}
	if p := c.last; p != nil && (d.Process < p.Process || (d.Process == p.Process && d.Thread <= p.Thread)) {
		c.note(Problem{P: d.P, Err: fmt.Errorf("xtf: directory row of proc %d: %w", d.P, corrupt("process %d thread %d after process %d thread %d", d.Process, d.Thread, p.Process, p.Thread))})
	}
	c.last = d
}

// arrayCheck checks an array level by level, from the data pages upwards.
type arrayCheck struct {
	*checker
	a    *Array
	kids []child  // pages of the level read last; len is 0 for a page that cannot be read
	ends []uint64 // the greatest End below each of them
	sums *sumBuilder
	refs []pageRef     // first keys, for the sums
	want *ArraySummary // sums computed from the rows; nil if that is impossible

	untold bool // there are views and no source of their times, so their rows are not known
}

func (c *checker) array(a *Array) {
	c.res.Arrays++
	k := &arrayCheck{checker: c, a: a}
	if a.HasSums() {
		k.sums = newSumBuilder(a.typ)
	}
	k.data()
	k.totals()
	for lv := 1; lv < len(a.desc.levels) && c.io == nil; lv++ {
		k.aux(lv)
		k.index(lv)
	}
	if a.typ.End >= 0 && len(k.ends) == 1 && len(k.kids) == 1 && k.kids[0].len > 0 && k.ends[0] != a.desc.maxEnd && c.res.LostRows == 0 && !k.untold {
		k.bad("descriptor", 0, corrupt("largest end is %d, not %d", k.ends[0], a.desc.maxEnd))
	}
}

func (k *arrayCheck) bad(what string, ord uint64, err error) {
	k.note(Problem{P: k.a.proc, Type: k.a.typ.ID, Err: k.a.where(err, what, ord)})
}

// data reads all data pages in order.
func (k *arrayCheck) data() {
	a := k.a
	pages := uint64(a.desc.levels[0].pages)
	k.kids = make([]child, pages)
	k.ends = make([]uint64, pages)
	src := newFileSource(a)
	src.rising = true
	dec := a.f.decoder()
	defer a.f.decoders.Put(dec)
	var rows []byte
	st := dataState{end: a.base}
	for ord := range pages {
		pg, off, err := src.page(ord)
		if err == nil {
			n := int(pg.count)
			rows = growBytes(rows[:0], n*a.typ.RowBytes)
			err = dec.rows(rows, a.typ, pg.codec, pg.bytes, n, pg.firstN)
		}
		if err == nil {
			err = a.checkAmounts(rows) // readers refuse such rows
		}
		if err == nil {
			err = k.page(pg, off, rows, &st)
		}
		if errors.Is(err, ErrNoTimes) {
			st.known, k.untold, err = false, true, nil
		}
		if err != nil {
			st.known = false
			k.note(Problem{
				P: a.proc, Type: a.typ.ID, Err: a.where(err, "page", ord),
				First: ord * uint64(a.typ.PageRows), Rows: uint64(a.desc.pageRows(ord, a.typ.PageRows)),
			})
			if k.io != nil {
				return
			}
			continue
		}
		k.res.Pages++
		k.res.Rows += uint64(pg.count)
		k.sound(uint64(pg.stored) + pageHeader)
	}
}

// dataState is what is known from the page before.
type dataState struct {
	known bool   // the page before was sound
	end   int64  // where this page should begin
	prev  uint64 // offset of the page before, from the base
	last  uint64 // its last key
}

// page checks the position, links and rows of a data page whose checksum is right.
func (k *arrayCheck) page(pg *page, off int64, rows []byte, st *dataState) error {
	a, ord := k.a, pg.ordinal
	size := pageHeader + int64(pg.stored)
	next := alignUp(off+size, a.f.types.align)
	if a.desc.codec == CodecRaw {
		next = off + pageStride(a.typ, CodecRaw, 0, a.f.types.align)
	}
	wantPrev, wantNext := Never, Never
	if ord > 0 {
		wantPrev = st.prev
	}
	if ord+1 < uint64(a.desc.levels[0].pages) {
		wantNext = uint64(next - a.base)
	}
	var err error
	switch {
	case (st.known || ord == 0) && off != st.end:
		err = corrupt("page begins at %d, expected %d", off, st.end)
	case (st.known || ord == 0) && pg.prev != wantPrev, pg.next != wantNext:
		err = corrupt("links say %d and %d, expected %d and %d", pg.prev, pg.next, wantPrev, wantNext)
	case st.known && a.typ.Role != RoleNone && pg.key(a.typ, 0) < st.last:
		err = corrupt("first key is before the last one of the page before")
	}
	if err != nil {
		return err
	}
	*st = dataState{true, next, uint64(off - a.base), pg.key(a.typ, int(pg.count)-1)}
	t0 := uint64(0)
	if a.typ.Role != RoleNone {
		t0 = pg.key(a.typ, 0)
	}
	k.refs = append(k.refs, pageRef{t0: t0})
	if uint64(len(k.refs)) == ord+1 {
		k.sums.page(ord, rows, k.refs)
	}
	k.kids[ord] = child{t0, uint64(off - a.base), uint32(size), pg.crc}
	if a.typ.End >= 0 {
		end := &a.typ.Columns[a.typ.End]
		for row := range slices.Chunk(rows, a.typ.RowBytes) {
			k.ends[ord] = max(k.ends[ord], end.Value(row))
		}
	}
	if err := k.parents(rows, pg.firstN); err != nil {
		k.bad("page", ord, err)
	}
	return nil
}

// totals compares the totals of the array with its rows, unless pages are damaged.
func (k *arrayCheck) totals() {
	if k.sums == nil || len(k.refs) != len(k.kids) {
		return
	}
	k.want = &ArraySummary{pages: k.refs}
	k.sums.finish(k.want)
	for i, v := range k.want.totals {
		if k.a.desc.totals[i] != v {
			k.bad("descriptor", 0, corrupt("total of sum %s is %d, not %d", k.a.typ.Sums[i].Name, v, k.a.desc.totals[i]))
		}
	}
}

// prefixSums compares the sums in an aux page of level 1 with the rows.
func (k *arrayCheck) prefixSums(pg *page) error {
	if k.want == nil {
		return nil
	}
	n, first := int(pg.count), int(pg.ordinal)*k.a.typ.Fanout
	for s := range k.want.k {
		for i := range n {
			got, want := le.Uint64(pg.bytes[8*((1+s)*n+i):]), k.want.ps[(first+i)*k.want.k+s]
			if got != want {
				return corrupt("entry %d of sum %s is %d, not %d", i, k.a.typ.Sums[s].Name, got, want)
			}
		}
	}
	return nil
}

// parents checks that each call has a lower number than the calls that it makes.
func (k *arrayCheck) parents(rows []byte, n uint64) error {
	if k.a.typ.ID != TypeCall {
		return nil
	}
	for o := 0; o < len(rows); o, n = o+k.a.typ.RowBytes, n+1 {
		if p := U64(rows[o:], CallParent); p != Never && p >= n {
			return corrupt("row %d has row %d as parent", n, p)
		}
	}
	return nil
}

// index compares the pages of a level with the pages below them.
func (k *arrayCheck) index(lv int) {
	a, l := k.a, k.a.desc.levels[lv]
	stride := pageStride(a.typ, a.desc.codec, lv, a.f.types.align)
	up := make([]child, l.pages)
	for ord := range uint64(l.pages) {
		pg, err := a.loadIndex(lv, ord)
		if err == nil {
			err = k.indexPage(pg, lv, ord, stride)
		}
		if err != nil {
			k.bad(fmt.Sprintf("level %d index page", lv), ord, err)
			continue
		}
		k.res.Pages++
		k.sound(uint64(len(pg.bytes)) + pageHeader)
		up[ord] = child{le.Uint64(pg.bytes), l.start + ord*uint64(stride), uint32(len(pg.bytes) + pageHeader), pg.crc}
	}
	k.kids = up
}

func (k *arrayCheck) indexPage(pg *page, lv int, ord uint64, stride int64) error {
	if err := pg.checkLinks(k.a.desc.levels[lv].start, stride, ord, uint64(k.a.desc.levels[lv].pages)); err != nil {
		return err
	}
	first := ord * uint64(k.a.typ.Fanout)
	for i := range int(pg.count) {
		kid := k.kids[first+uint64(i)]
		if got := indexChild(pg.bytes, int(pg.count), i); kid.len > 0 && got != kid {
			return corrupt("entry %d says %+v, the page below is %+v", i, got, kid)
		}
	}
	return nil
}

// checkLinks checks the links of page ord of n pages at equal distance.
func (h *header) checkLinks(start uint64, stride int64, ord, n uint64) error {
	var want header
	want.chain(start, stride, ord, n)
	if h.prev != want.prev || h.next != want.next {
		return corrupt("links say %d and %d, expected %d and %d", h.prev, h.next, want.prev, want.next)
	}
	return nil
}

// aux checks the greatest ends in the aux pages of a level.
func (k *arrayCheck) aux(lv int) {
	a, l := k.a, k.a.desc.levels[lv]
	if a.typ.End < 0 {
		return
	}
	sums := len(a.desc.totals)
	stride := auxStride(a.typ, sums, lv, a.f.types.align)
	up := make([]uint64, l.pages)
	for ord := range uint64(l.pages) {
		pg, err := a.loadAux(lv, ord)
		first := ord * uint64(a.typ.Fanout)
		n := childCount(uint64(a.desc.levels[lv-1].pages), a.typ.Fanout, ord)
		for i := range n {
			up[ord] = max(up[ord], k.ends[first+uint64(i)])
			if kid := k.kids[first+uint64(i)]; err == nil && kid.len > 0 && k.complete(lv) && le.Uint64(pg.bytes[8*i:]) != k.ends[first+uint64(i)] {
				err = corrupt("entry %d says the largest end is %d, it is %d", i, le.Uint64(pg.bytes[8*i:]), k.ends[first+uint64(i)])
			}
		}
		if err == nil {
			err = pg.checkLinks(l.auxStart, stride, ord, uint64(l.pages))
		}
		if err == nil && lv == 1 {
			err = k.prefixSums(pg)
		}
		if err != nil {
			k.bad(fmt.Sprintf("level %d aux page", lv), ord, err)
			continue
		}
		k.res.Pages++
		k.sound(uint64(len(pg.bytes)) + pageHeader)
	}
	k.ends = up
}

// complete returns whether the greatest ends of this level are known for all pages. Above pages that cannot be read they are not, and so
// cannot be compared.
func (k *arrayCheck) complete(lv int) bool { return lv == 1 || k.res.LostRows == 0 && !k.untold }
