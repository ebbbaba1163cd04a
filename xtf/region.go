package xtf

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sort"
	"sync"
	"sync/atomic"
)

// FinishedArray is a finished array: its page table and the storage of its pages.
type FinishedArray struct {
	Summary *ArraySummary
	Data    io.ReaderAt // the Sink it was built into, or a copy of it
}

// Blob is an opaque part of a region or a section of the file.
type Blob struct {
	Kind, Version, Flags uint32
	Size                 int64
	CRC                  uint32 // CRC-32C of the content
	Data                 io.ReaderAt
}

// appendEntry appends the entry of a blob or section at off.
func (b *Blob) appendEntry(dst []byte, off int64) []byte {
	s := SectionInfo{b.Kind, b.Version, off, b.Size, b.CRC, b.Flags}
	return s.Append(dst)
}

// level is the entry of a level in an array descriptor.
//
//xtf:form levelEntry
type level struct {
	start    uint64 // of the first page, relative to the array's base
	auxStart uint64 // of the first aux page, relative to the same; Never if there are none
	pages    uint32
	zero     uint32
}

// descriptor describes an array in a region head.
type descriptor struct {
	typ         TypeID
	rows        uint64
	first, last uint64
	maxEnd      uint64
	base        uint64 // relative to the region's body
	bytes       uint64
	codec       Codec
	totals      []uint64 // K
	levels      []level
}

const (
	descriptorHead = 64
	regionHead     = 64
)

// arrayPlan is the layout of an array.
type arrayPlan struct {
	desc   descriptor
	typ    *Type
	sum    *ArraySummary
	data   io.ReaderAt
	stride []int64 // by level: distance of pages; 0 for data pages of packed arrays
	aux    []int64 // by level: distance of aux pages
}

// RegionPlan is the layout of a region. It gives the exact size of the region before its offset in the file is known. It holds the head and
// the page tables of the arrays.
type RegionPlan struct {
	proc   Proc
	align  int64
	arrays []arrayPlan
	blobs  []Blob
	head   []byte // padded to the alignment
	used   int    // bytes of head in use
	size   int64
	first  uint64
	last   uint64
}

// PlanRegion lays out the region of p. The finished arrays may be in any order; blobs are kept in order. Arrays without rows are left out.
func PlanRegion(tt *TypeTable, p Proc, arrays []FinishedArray, blobs []Blob) (*RegionPlan, error) {
	r := &RegionPlan{proc: p, align: tt.align, blobs: blobs, first: Never}
	for _, a := range arrays {
		s := a.Summary
		if s == nil || s.rows == 0 {
			continue
		}
		t := tt.Lookup(s.typ)
		if t == nil || t.RowBytes != s.rowBytes || t.PageRows != s.pageRows || s.proc != p || s.rows >= maxRows {
			return nil, fmt.Errorf("xtf: proc %d: array of type %d, proc %d, %d rows of %d bytes does not belong here", p, s.typ, s.proc, s.rows, s.rowBytes)
		}
		plan, err := planArray(t, s, a, tt.align)
		if err != nil {
			return nil, fmt.Errorf("xtf: proc %d array %s: %w", p, t.Name, err)
		}
		r.arrays = append(r.arrays, plan)
		if t.Role == RoleT {
			r.first, r.last = min(r.first, s.first), max(r.last, s.last, endOrZero(s.maxEnd))
		}
	}
	if r.first == Never {
		r.first = 0
	}
	sort.SliceStable(r.arrays, func(i, j int) bool { return r.arrays[i].desc.typ < r.arrays[j].desc.typ })
	for i := 1; i < len(r.arrays); i++ {
		if r.arrays[i].desc.typ == r.arrays[i-1].desc.typ {
			return nil, fmt.Errorf("xtf: proc %d: two arrays of type %s", p, r.arrays[i].typ.Name)
		}
	}
	return r, r.place()
}

// endOrZero returns end, or 0 for Never: open ends do not belong to the time span of a region.
func endOrZero(end uint64) uint64 {
	if end == Never {
		return 0
	}
	return end
}

// planArray computes the offsets of the pages of an array, relative to its base.
func planArray(t *Type, s *ArraySummary, a FinishedArray, align int64) (arrayPlan, error) {
	p := arrayPlan{typ: t, sum: s, data: a.Data}
	p.desc = descriptor{
		typ: t.ID, rows: s.rows, first: s.first, last: s.last,
		maxEnd: s.maxEnd, codec: s.codec, totals: s.totals,
	}
	geo := Geometry(s.rows, t.PageRows, t.Fanout)
	if len(geo) > maxLevels || geo[0] != uint64(len(s.pages)) {
		return p, fmt.Errorf("%w: %d levels, %d pages", ErrTooLarge, len(geo), len(s.pages))
	}
	at := int64(0)
	for lv, n := range geo {
		p.desc.levels = append(p.desc.levels, level{start: uint64(at), auxStart: Never, pages: uint32(n)})
		p.stride = append(p.stride, pageStride(t, s.codec, lv, align))
		p.aux = append(p.aux, auxStride(t, s.k, lv, align))
		if lv == 0 {
			for i := range s.pages {
				at += alignUp(pageHeader+int64(s.pages[i].stored), align)
			}
			continue
		}
		entries := p.entries(lv, n-1)
		at += int64(n-1)*p.stride[lv] + alignUp(pageHeader+int64(entries)*indexEntry, align)
	}
	if t.End >= 0 {
		for lv := 1; lv < len(geo); lv++ {
			n := geo[lv]
			p.desc.levels[lv].auxStart = uint64(at)
			entries := p.entries(lv, n-1)
			at += int64(n-1)*p.aux[lv] + alignUp(pageHeader+int64(entries)*auxEntry(s.k, lv), align)
		}
	}
	p.desc.bytes = uint64(at)
	return p, nil
}

// entries returns the number of children of index page ord of a level.
func (p *arrayPlan) entries(lv int, ord uint64) int {
	return childCount(uint64(p.desc.levels[lv-1].pages), p.typ.Fanout, ord)
}

// childCount returns the number of children of index page ord, if the level below has that many pages and s fit into one index page.
func childCount(children uint64, s int, ord uint64) int {
	return int(min(uint64(s), children-ord*uint64(s)))
}

// pageStride returns the distance of pages of a level in bytes, or 0 if it varies.
func pageStride(t *Type, codec Codec, lv int, align int64) int64 {
	switch {
	case lv > 0:
		return alignUp(pageHeader+int64(t.Fanout)*indexEntry, align)
	case codec == CodecRaw:
		return alignUp(pageHeader+int64(t.PageRows)*int64(t.RowBytes), align)
	}
	return 0
}

func auxStride(t *Type, k, lv int, align int64) int64 {
	return alignUp(pageHeader+int64(t.Fanout)*auxEntry(k, lv), align)
}

// auxEntry returns the number of bytes that an aux page has for each child: the greatest end and, at level 1, k prefix sums.
func auxEntry(k, lv int) int64 {
	if lv == 1 {
		return 8 * int64(1+k)
	}
	return 8
}

// headCoder compresses region heads. Making a coder takes longer than everything else for a small region. Its EncodeAll can be used by
// several goroutines and keeps no state.
var headCoder = sync.OnceValue(NewEncoder)

// place sets the bases of arrays and the offsets of blobs, and builds the head.
func (r *RegionPlan) place() error {
	at := int64(0)
	for i := range r.arrays {
		at = alignUp(at, r.align)
		r.arrays[i].desc.base = uint64(at)
		at += int64(r.arrays[i].desc.bytes)
	}
	var body []byte
	for i := range r.arrays {
		body = r.arrays[i].desc.append(body)
	}
	for i := range r.blobs {
		b := &r.blobs[i]
		at = alignUp(at, smallAlign)
		body = b.appendEntry(body, at)
		at += b.Size
	}
	if len(body) > maxRaw || len(r.blobs) > maxSections-1 {
		return fmt.Errorf("xtf: proc %d: %w: head of %d bytes", r.proc, ErrTooLarge, len(body))
	}
	stored := body
	if z := headCoder().zstd.EncodeAll(body, nil); len(z) < len(body) {
		stored = z
	}
	r.used = regionHead + len(stored)
	r.head = make([]byte, alignUp(int64(r.used), r.align))
	copy(r.head, regionMagic)
	le.PutUint32(r.head[4:], uint32(r.proc))
	le.PutUint16(r.head[8:], uint16(len(r.arrays)))
	le.PutUint16(r.head[10:], uint16(len(r.blobs)))
	le.PutUint32(r.head[12:], uint32(len(body)))
	le.PutUint32(r.head[16:], uint32(len(stored)))
	copy(r.head[regionHead:], stored)
	r.size = int64(len(r.head)) + alignUp(at, r.align)
	return nil
}

func (d *descriptor) append(b []byte) []byte {
	b = le.AppendUint32(b, uint32(d.typ))
	b = le.AppendUint32(b, 0)
	for _, v := range []uint64{d.rows, d.first, d.last, d.maxEnd, d.base, d.bytes} {
		b = le.AppendUint64(b, v)
	}
	b = append(b, byte(len(d.levels)), byte(d.codec), byte(len(d.totals)), 0, 0, 0, 0, 0)
	for _, v := range d.totals {
		b = le.AppendUint64(b, v)
	}
	for _, l := range d.levels {
		b = l.Append(b)
	}
	return b
}

// Size returns the number of bytes that WriteTo will write. It is a multiple of the alignment.
func (r *RegionPlan) Size() int64 { return r.size }

// DirRow returns the directory row of the region, if it is written at off with this file id. The caller sets process, thread and input
// events.
func (r *RegionPlan) DirRow(off int64, id [16]byte) DirRow {
	return DirRow{
		P: r.proc, HeadOff: uint64(off), RegionBytes: uint64(r.size),
		HeadLen: uint32(r.used), HeadCRC: r.headCRC(id), First: r.first, Last: r.last,
	}
}

func (r *RegionPlan) headCRC(id [16]byte) uint32 {
	return crc32.Update(pageSeed(id, r.proc, 0), castagnoli, r.head[:r.used])
}

// region is a parsed region head.
type region struct {
	proc   Proc
	body   int64 // file offset to which descriptors are relative
	arrays []descriptor
	slots  []atomic.Pointer[slots] // by array
	blobs  []SectionInfo
}

// arrayMemory is the memory of a parsed descriptor in bytes, with its place in the head and the slots of a small array.
const arrayMemory = 256

// memory returns about how many bytes the parsed head takes.
func (r *region) memory() int64 {
	n := int64(len(r.blobs)) * footerEntry
	for i := range r.arrays {
		n += arrayMemory + levelEntry*int64(len(r.arrays[i].levels)) + 8*int64(len(r.arrays[i].totals))
	}
	return n
}

// region returns the head of p's region, through the cache.
func (f *File) region(p Proc) (*region, error) { return f.regionOf(p, nil) }

// regionOf is region; it adds the cost to st unless that is nil.
func (f *File) regionOf(p Proc, st *Stats) (*region, error) {
	d, err := f.dirRow(p, st)
	if err != nil {
		return nil, err
	}
	pg, hit, err := f.cache.get(int64(d.HeadOff), place{header: header{kind: pageIndex}}, func() (*page, error) {
		b, err := f.read(int64(d.HeadOff), int64(d.HeadLen))
		if err != nil {
			return nil, err
		}
		reg, err := f.parseRegion(b, d)
		if err != nil {
			return nil, err
		}
		return &page{region: reg, bytes: b}, nil
	})
	if err == nil && pg.region == nil {
		err = corrupt("a page is where the region head should be")
	}
	if err != nil {
		return nil, f.errorf(p, "xtf: proc %d region head at %d: %w", p, d.HeadOff, err)
	}
	var t Stats
	t.page(hit)
	f.count(t, st)
	return pg.region, nil
}

// parseRegion parses and checks a region head.
func (f *File) parseRegion(b []byte, d DirRow) (*region, error) {
	if len(b) < regionHead || !bytes.Equal(b[:4], regionMagic) || Proc(le.Uint32(b[4:])) != d.P {
		return nil, corrupt("no region head of proc %d", d.P)
	}
	if crc32.Update(seedOf(f.idSum, d.P, 0), castagnoli, b) != d.HeadCRC && !f.unchecked {
		return nil, corrupt("checksum mismatch")
	}
	arrays, blobs := int(le.Uint16(b[8:])), int(le.Uint16(b[10:]))
	raw, stored := int64(le.Uint32(b[12:])), int64(le.Uint32(b[16:]))
	if raw > maxRaw || stored != int64(len(b)-regionHead) || stored > raw {
		return nil, corrupt("head of %d bytes stored in %d", raw, stored)
	}
	body := b[regionHead:]
	if stored < raw {
		dec := f.decoder()
		out, err := dec.inflate(nil, body, int(raw))
		f.decoders.Put(dec)
		if err != nil {
			return nil, err
		}
		body = out
	}
	if int64(len(body)) != raw {
		return nil, corrupt("head expands to %d bytes of %d", len(body), raw)
	}
	reg := &region{proc: d.P, body: int64(d.HeadOff) + alignUp(int64(d.HeadLen), f.types.align)}
	limit := int64(d.HeadOff + d.RegionBytes)
	if reg.body > limit {
		return nil, corrupt("head of %d bytes in a region of %d", d.HeadLen, d.RegionBytes)
	}
	r := byteReader{b: body}
	if err := f.parseDescriptors(reg, &r, arrays, uint64(limit-reg.body)); err != nil {
		return nil, err
	}
	reg.slots = make([]atomic.Pointer[slots], len(reg.arrays))
	from := reg.body
	if n := len(reg.arrays); n > 0 {
		from += int64(reg.arrays[n-1].base + reg.arrays[n-1].bytes)
	}
	for range blobs {
		e := r.take(footerEntry)
		if r.bad {
			break
		}
		s, err := parseSection(e, reg.body, from, limit)
		if err != nil {
			return nil, err
		}
		reg.blobs = append(reg.blobs, s)
		from = s.Offset + s.Size
	}
	if r.bad || len(r.b) != 0 {
		return nil, corrupt("head has %d bytes for %d arrays and %d blobs", raw, arrays, blobs)
	}
	return reg, nil
}

func (f *File) parseDescriptors(reg *region, r *byteReader, arrays int, room uint64) error {
	end := uint64(0)
	for range arrays {
		d := parseDescriptor(r)
		if r.bad {
			return corrupt("head ends inside a descriptor")
		}
		t := f.types.Lookup(d.typ)
		if t == nil {
			return corrupt("array of unknown type %d", d.typ)
		}
		if n := len(reg.arrays); n > 0 && reg.arrays[n-1].typ >= d.typ {
			return corrupt("array of type %d out of order", d.typ)
		}
		if d.base < end || d.base > room || d.bytes > room-d.base || d.base%uint64(f.types.align) != 0 {
			return corrupt("array %s: %d bytes at %d of %d", t.Name, d.bytes, d.base, room)
		}
		if err := d.validate(t, f.types.align); err != nil {
			return err
		}
		end = d.base + d.bytes
		reg.arrays = append(reg.arrays, d)
	}
	return nil
}

func parseDescriptor(r *byteReader) descriptor {
	d := descriptor{typ: TypeID(r.u32())}
	r.u32() // flags: version 1.0 has none
	d.rows, d.first, d.last, d.maxEnd, d.base, d.bytes = r.u64(), r.u64(), r.u64(), r.u64(), r.u64(), r.u64()
	levels, codec, k := r.u8(), r.u8(), r.u8()
	r.take(5)
	d.codec = Codec(codec)
	if levels > maxLevels || k > maxSums {
		r.bad = true
		return d
	}
	for range k {
		d.totals = append(d.totals, r.u64())
	}
	for range levels {
		var l level
		l.Load(r.take(levelEntry))
		d.levels = append(d.levels, l)
	}
	return d
}

// validate computes the geometry of the array again and checks it, and where its levels may be.
func (d *descriptor) validate(t *Type, align int64) error {
	fail := func(format string, args ...any) error {
		return corrupt("array %s: %s", t.Name, fmt.Sprintf(format, args...))
	}
	if d.rows == 0 || d.rows >= maxRows {
		return fail("%d rows", d.rows)
	}
	geo := Geometry(d.rows, t.PageRows, t.Fanout)
	if len(geo) != len(d.levels) {
		return fail("%d levels, expected %d", len(d.levels), len(geo))
	}
	if d.codec != t.Codec && (d.codec != CodecRows || len(geo) != 1 || t.Codec != CodecPacked) {
		return fail("codec %d", d.codec)
	}
	if len(d.totals) > 0 && (t.End < 0 || len(d.totals) != len(t.Sums)) {
		return fail("%d sums", len(d.totals))
	}
	if t.Role != RoleNone && d.first > d.last {
		return fail("first key %d above last %d", d.first, d.last)
	}
	at := uint64(0)
	for lv, n := range geo {
		l := d.levels[lv]
		if uint64(l.pages) != n {
			return fail("level %d has %d pages, expected %d", lv, l.pages, n)
		}
		if l.start < at || l.start > d.bytes || l.start%uint64(align) != 0 || (lv == 0 && l.start != 0) {
			return fail("level %d starts at %d", lv, l.start)
		}
		end, ok := d.levelEnd(t, lv, align)
		if !ok {
			return fail("level %d exceeds its %d bytes", lv, d.bytes)
		}
		at = end
	}
	return d.validateAux(t, geo, align, at, fail)
}

// levelEnd returns the lowest offset at which the next level may begin.
func (d *descriptor) levelEnd(t *Type, lv int, align int64) (uint64, bool) {
	n, start := uint64(d.levels[lv].pages), d.levels[lv].start
	least := n * uint64(smallAlign) // packed pages: at least a header each
	if s := pageStride(t, d.codec, lv, align); s > 0 {
		least = (n-1)*uint64(s) + pageHeader
	}
	if start > d.bytes || least > d.bytes-start {
		return 0, false
	}
	return start + least, true
}

func (d *descriptor) validateAux(t *Type, geo []uint64, align int64, at uint64, fail func(string, ...any) error) error {
	for lv := range geo {
		l := d.levels[lv]
		if lv == 0 || t.End < 0 {
			if l.auxStart != Never {
				return fail("level %d has aux pages", lv)
			}
			continue
		}
		least := (geo[lv]-1)*uint64(auxStride(t, len(d.totals), lv, align)) + pageHeader
		if l.auxStart < at || l.auxStart > d.bytes || least > d.bytes-l.auxStart || l.auxStart%uint64(align) != 0 {
			return fail("aux pages of level %d start at %d", lv, l.auxStart)
		}
		at = l.auxStart + least
	}
	return nil
}

// array returns a handle, or nil if the region has no rows of the type.
func (r *region) array(f *File, t TypeID) *Array {
	i := sort.Search(len(r.arrays), func(i int) bool { return r.arrays[i].typ >= t })
	if i == len(r.arrays) || r.arrays[i].typ != t {
		return nil
	}
	d := &r.arrays[i]
	return &Array{pages{
		f: f, proc: r.proc, typ: f.types.Lookup(t), desc: d, slots: &r.slots[i],
		base: r.body + int64(d.base), seed: seedOf(f.idSum, r.proc, t),
	}}
}

// Array returns the array of type t and location p. An array without rows has Len 0. A type that is not in the file is ErrNoSection.
func (f *File) Array(p Proc, t TypeID) (*Array, error) { return f.array(p, t, nil) }

// array is Array; it adds its cost and that of the handle to st unless that is nil.
func (f *File) array(p Proc, t TypeID, st *Stats) (*Array, error) {
	reg, err := f.regionOf(p, st)
	if err != nil {
		return nil, err
	}
	if a := reg.array(f, t); a != nil {
		a.cost = st
		return a, nil
	}
	typ := f.types.Lookup(t)
	if typ == nil {
		return nil, fmt.Errorf("xtf: type %d: %w", t, ErrNoSection)
	}
	return &Array{pages{f: f, proc: p, typ: typ, desc: &descriptor{typ: t, codec: typ.Codec}, cost: st}}, nil
}

// Arrays returns the types that have rows in the region of p, in ascending order.
func (f *File) Arrays(p Proc) ([]TypeID, error) {
	reg, err := f.region(p)
	if err != nil {
		return nil, err
	}
	ids := make([]TypeID, len(reg.arrays))
	for i := range reg.arrays {
		ids[i] = reg.arrays[i].typ
	}
	return ids, nil
}

// Blobs returns the blobs of the region of p.
func (f *File) Blobs(p Proc) ([]SectionInfo, error) {
	reg, err := f.region(p)
	if err != nil {
		return nil, err
	}
	return append([]SectionInfo(nil), reg.blobs...), nil
}

// BlobBytes reads a blob and checks its checksum.
func (f *File) BlobBytes(p Proc, kind uint32) ([]byte, error) {
	s, err := f.blob(p, kind)
	if err != nil {
		return nil, err
	}
	b, err := f.readSum(s.Offset, s.Size, s.CRC)
	if err != nil {
		return nil, f.errorf(p, "xtf: proc %d blob of kind %d: %w", p, kind, err)
	}
	return b, nil
}

func (f *File) blob(p Proc, kind uint32) (SectionInfo, error) {
	reg, err := f.region(p)
	if err != nil {
		return SectionInfo{}, err
	}
	for _, s := range reg.blobs {
		if s.Kind == kind {
			return s, nil
		}
	}
	return SectionInfo{}, fmt.Errorf("xtf: proc %d blob of kind %d: %w", p, kind, ErrNoSection)
}

func (f *File) decoder() *decoder { return f.decoders.Get().(*decoder) }
