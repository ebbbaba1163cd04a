package xtf

import (
	"fmt"
	"hash/crc32"
	"io"
	"sort"
	"sync"
)

// FinishedArray is a finished array and where its pages are stored.
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

// level is one level of an array as its descriptor tells it.
//
//xtf:form levelEntry
type level struct {
	start    uint64 // of the first page, from the array's base
	auxStart uint64 // of the first aux page, Never if there are none
	pages    uint32
	zero     uint32
}

// descriptor is the array descriptor of a region head.
type descriptor struct {
	typ         TypeID
	rows        uint64
	first, last uint64
	maxEnd      uint64
	base        uint64 // from the region's body
	bytes       uint64
	codec       Codec
	totals      []uint64 // K
	levels      []level
}

const (
	descriptorHead = 64
	regionHead     = 64
)

// arrayPlan is the layout of one array.
type arrayPlan struct {
	desc   descriptor
	typ    *Type
	sum    *ArraySummary
	data   io.ReaderAt
	stride []int64 // of full pages, per level; level 0 of packed arrays: 0
	aux    []int64 // stride of aux pages per level
}

// RegionPlan is the layout of one region: its exact size is known before any
// offset is. It holds the head and the page tables of its arrays.
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

// PlanRegion lays out the region of p from its finished arrays, in any order,
// and its blobs, in the given order. Arrays without rows leave no trace.
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

// endOrZero leaves ends that never came out of a region's time span.
func endOrZero(end uint64) uint64 {
	if end == Never {
		return 0
	}
	return end
}

// planArray computes where the pages of an array stand, from its own base.
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

// entries is the number of children of index page ord of a level.
func (p *arrayPlan) entries(lv int, ord uint64) int {
	return childCount(uint64(p.desc.levels[lv-1].pages), p.typ.Fanout, ord)
}

// childCount is the number of entries of index page ord above so many children.
func childCount(children uint64, s int, ord uint64) int {
	return int(min(uint64(s), children-ord*uint64(s)))
}

// pageStride is the distance of full pages of a level, 0 where it varies.
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

// auxEntry is the bytes an aux page has for each child: MaxEnd, and at level 1
// the prefix sums.
func auxEntry(k, lv int) int64 {
	if lv == 1 {
		return 8 * int64(1+k)
	}
	return 8
}

// headCoder compresses heads: making a coder takes longer than all else of a small
// region. Its EncodeAll serves any number of goroutines and keeps no state.
var headCoder = sync.OnceValue(NewEncoder)

// place assigns array bases and blob offsets and builds the head.
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

// Size is the number of bytes WriteTo will write: a multiple of the alignment.
func (r *RegionPlan) Size() int64 { return r.size }

// DirRow is the region's row of the directory once it is written at off with the
// given file id; process, thread and input events are the caller's to fill.
func (r *RegionPlan) DirRow(off int64, id [16]byte) DirRow {
	return DirRow{
		P: r.proc, HeadOff: uint64(off), RegionBytes: uint64(r.size),
		HeadLen: uint32(r.used), HeadCRC: r.headCRC(id), First: r.first, Last: r.last,
	}
}

func (r *RegionPlan) headCRC(id [16]byte) uint32 {
	return crc32.Update(pageSeed(id, r.proc, 0), castagnoli, r.head[:r.used])
}
