package xtf

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
)

// child is what an index page says about a page below it.
type child struct {
	t0  uint64
	off uint64
	len uint32
	crc uint32
}

// regionWriter streams one region and counts what it wrote.
type regionWriter struct {
	w    io.Writer
	id   [16]byte
	proc Proc
	at   int64 // written so far, from the region's start
	page []byte
	zero []byte
}

// WriteTo writes the region's Size bytes to w, page after page; give it a w that
// buffers. The bytes depend on the rows and on id alone. A segment that changed
// since its array was finished is ErrCorrupt.
func (r *RegionPlan) WriteTo(w io.Writer, id [16]byte) error {
	rw := &regionWriter{w: w, id: id, proc: r.proc, zero: make([]byte, r.align)}
	if err := rw.put(r.head); err != nil {
		return err
	}
	body := rw.at
	for i := range r.arrays {
		a := &r.arrays[i]
		if err := rw.padTo(body + int64(a.desc.base)); err != nil {
			return err
		}
		if err := rw.array(a); err != nil {
			return fmt.Errorf("xtf: proc %d array %s: %w", r.proc, a.typ.Name, err)
		}
	}
	for i := range r.blobs {
		b := &r.blobs[i]
		if err := rw.padTo(alignUp(rw.at, smallAlign)); err != nil {
			return err
		}
		if err := copyChecked(rw, b); err != nil {
			return fmt.Errorf("xtf: proc %d blob %d: %w", r.proc, b.Kind, err)
		}
	}
	return rw.padTo(r.size)
}

// Write lets blobs be copied through the counter.
func (rw *regionWriter) Write(b []byte) (int, error) {
	n, err := rw.w.Write(b)
	rw.at += int64(n)
	return n, err
}

func (rw *regionWriter) put(b []byte) error {
	_, err := rw.Write(b)
	return err
}

func (rw *regionWriter) padTo(at int64) error {
	for rw.at < at {
		if err := rw.put(rw.zero[:min(int64(len(rw.zero)), at-rw.at)]); err != nil {
			return err
		}
	}
	return nil
}

// copyChecked copies a blob and compares its checksum.
func copyChecked(w io.Writer, b *Blob) error {
	sum := crc32.New(castagnoli)
	n, err := io.CopyN(io.MultiWriter(w, sum), io.NewSectionReader(b.Data, 0, b.Size), b.Size)
	if err != nil {
		return fmt.Errorf("copied %d of %d bytes: %w", n, b.Size, err)
	}
	if sum.Sum32() != b.CRC {
		return corrupt("checksum of %d bytes changed since they were stored", b.Size)
	}
	return nil
}

// array writes data pages, index levels, aux levels.
func (rw *regionWriter) array(a *arrayPlan) error {
	base := rw.at
	seed := pageSeed(rw.id, rw.proc, a.typ.ID)
	kids, err := rw.dataPages(a, base, seed)
	if err != nil {
		return err
	}
	for lv := 1; lv < len(a.desc.levels); lv++ {
		if kids, err = rw.indexPages(a, base, lv, kids, seed); err != nil {
			return err
		}
	}
	if a.typ.End < 0 {
		return nil
	}
	ends := make([]uint64, len(a.sum.pages))
	for i := range ends {
		ends[i] = a.sum.pages[i].maxEnd
	}
	for lv := 1; lv < len(a.desc.levels); lv++ {
		if ends, err = rw.auxPages(a, base, lv, ends, seed); err != nil {
			return err
		}
	}
	return nil
}

func (rw *regionWriter) dataPages(a *arrayPlan, base int64, seed uint32) ([]child, error) {
	s, t := a.sum, a.typ
	kids := make([]child, len(s.pages))
	prev, at := Never, int64(0)
	for i := range s.pages {
		p := &s.pages[i]
		size := pageHeader + int(p.stored)
		next := at + alignUp(int64(size), int64(len(rw.zero)))
		rw.page = growBytes(rw.page[:0], size)
		if n, err := a.data.ReadAt(rw.page[pageHeader:], p.off); err != nil && (n != int(p.stored) || err != io.EOF) {
			return nil, fmt.Errorf("page %d: %d bytes at %d of the segment: %w", i, p.stored, p.off, err)
		}
		if crc32.Checksum(rw.page[pageHeader:], castagnoli) != p.crc {
			return nil, fmt.Errorf("page %d: %w", i, corrupt("segment changed since it was stored"))
		}
		count := t.PageRows
		if i == len(s.pages)-1 {
			count = int(s.rows - uint64(i)*uint64(t.PageRows))
		}
		h := header{
			kind: pageData, codec: s.codec, typ: t.ID, proc: rw.proc, count: uint32(count),
			stored: p.stored, raw: uint32(count * t.RowBytes), ordinal: uint64(i),
			firstN: uint64(i) * uint64(t.PageRows), prev: prev, next: uint64(next),
		}
		if i == len(s.pages)-1 {
			h.next = Never
		}
		kids[i] = child{p.t0, uint64(at), uint32(size), rw.seal(&h, seed)}
		if err := rw.putPadded(base + next); err != nil {
			return nil, err
		}
		prev, at = uint64(at), next
	}
	return kids, nil
}

// seal completes the page in rw.page and returns its checksum.
func (rw *regionWriter) seal(h *header, seed uint32) uint32 {
	h.magic = pageMagic
	h.Put(rw.page)
	return sealPage(rw.page, rw.page[pageHeader:], seed)
}

// putPadded writes rw.page and zeros up to the next page.
func (rw *regionWriter) putPadded(next int64) error {
	if err := rw.put(rw.page); err != nil {
		return err
	}
	return rw.padTo(next)
}

// chain fills the position and links of page ord of n pages with equal stride.
func (h *header) chain(start uint64, stride int64, ord, n uint64) {
	h.ordinal, h.prev, h.next = ord, Never, Never
	if ord > 0 {
		h.prev = start + (ord-1)*uint64(stride)
	}
	if ord+1 < n {
		h.next = start + (ord+1)*uint64(stride)
	}
}

// above writes the index or the aux pages of a level: fill makes the payload of one, which has n children from number first on.
// It returns where the pages are.
func (rw *regionWriter) above(a *arrayPlan, kind uint8, lv int, base int64, seed uint32, fill func(b []byte, first, n int)) ([]child, error) {
	l := &a.desc.levels[lv]
	start, stride, entry := l.start, a.stride[lv], int64(indexEntry)
	if kind == pageAux {
		start, stride, entry = l.auxStart, a.aux[lv], auxEntry(a.sum.k, lv)
	}
	pages := make([]child, l.pages)
	for ord := range uint64(l.pages) {
		n := a.entries(lv, ord)
		rw.page = growBytes(rw.page[:0], pageHeader+n*int(entry))
		b := rw.page[pageHeader:]
		fill(b, int(ord)*a.typ.Fanout, n)
		h := header{
			kind: kind, level: uint8(lv), typ: a.typ.ID, proc: rw.proc, count: uint32(n),
			stored: uint32(len(b)), raw: uint32(len(b)), firstN: ord * levelRows(a.typ, lv),
		}
		h.chain(start, stride, ord, uint64(l.pages))
		off := start + ord*uint64(stride)
		pages[ord] = child{off: off, len: uint32(len(rw.page)), crc: rw.seal(&h, seed)}
		if err := rw.putPadded(base + alignUp(int64(off)+int64(len(rw.page)), int64(len(rw.zero)))); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (rw *regionWriter) indexPages(a *arrayPlan, base int64, lv int, kids []child, seed uint32) ([]child, error) {
	up, err := rw.above(a, pageIndex, lv, base, seed, func(b []byte, first, n int) {
		for i, c := range kids[first:][:n] {
			le.PutUint64(b[8*i:], c.t0)
			le.PutUint64(b[8*(n+i):], c.off)
			le.PutUint32(b[16*n+4*i:], c.len)
			le.PutUint32(b[20*n+4*i:], c.crc)
		}
	})
	for ord := range up {
		up[ord].t0 = kids[ord*a.typ.Fanout].t0
	}
	return up, err
}

// levelRows is the number of rows below a full page of a level.
func levelRows(t *Type, lv int) uint64 {
	n := uint64(t.PageRows)
	for range lv {
		n *= uint64(t.Fanout)
	}
	return n
}

func (rw *regionWriter) auxPages(a *arrayPlan, base int64, lv int, ends []uint64, seed uint32) ([]uint64, error) {
	up := make([]uint64, 0, a.desc.levels[lv].pages)
	_, err := rw.above(a, pageAux, lv, base, seed, func(b []byte, first, n int) {
		for i, v := range ends[first:][:n] {
			le.PutUint64(b[8*i:], v)
		}
		up = append(up, slices.Max(ends[first:][:n]))
		if lv == 1 {
			for k := range a.sum.k {
				for i := range n {
					le.PutUint64(b[8*((1+k)*n+i):], a.sum.ps[(first+i)*a.sum.k+k])
				}
			}
		}
	})
	return up, err
}

// BlockBytes is the size of the writes that a BlockWriter issues.
const BlockBytes = 4 << 20

// BlockWriter gathers small writes into BlockBytes writes at rising offsets.
type BlockWriter struct {
	w   io.WriterAt
	off int64 // of the first byte in buf
	buf []byte
	// Block, if set, is called with the offset and bytes of each write.
	Block func(off int64, b []byte)
}

// smallBytes hold what most parts of small files write; for more it is four times as much, until it is a whole block.
const smallBytes = BlockBytes >> 6

// NewBlockWriter writes to w from off on. It holds BlockBytes once that much is
// written.
func NewBlockWriter(w io.WriterAt, off int64) *BlockWriter {
	return &BlockWriter{w: w, off: off, buf: make([]byte, 0, smallBytes)}
}

// Write implements io.Writer.
func (b *BlockWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := copy(b.buf[len(b.buf):cap(b.buf)], p[n:])
		b.buf = b.buf[:len(b.buf)+k]
		n += k
		if len(b.buf) < cap(b.buf) {
			continue
		}
		if cap(b.buf) < BlockBytes {
			b.buf = append(make([]byte, 0, 4*cap(b.buf)), b.buf...)
		} else if err := b.Flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Offset is where the next byte goes.
func (b *BlockWriter) Offset() int64 { return b.off + int64(len(b.buf)) }

// Flush writes what is gathered.
func (b *BlockWriter) Flush() error {
	if len(b.buf) == 0 {
		return nil
	}
	n, err := b.w.WriteAt(b.buf, b.off)
	if err == nil && n != len(b.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write of %d bytes at %d: %w", len(b.buf), b.off, err)
	}
	if b.Block != nil {
		b.Block(b.off, b.buf)
	}
	b.off += int64(len(b.buf))
	b.buf = b.buf[:0]
	return nil
}

// BytesBlob makes a blob or section of bytes in memory.
func BytesBlob(kind, version, flags uint32, b []byte) Blob {
	return Blob{
		Kind: kind, Version: version, Flags: flags, Size: int64(len(b)),
		CRC: crc32.Checksum(b, castagnoli), Data: bytes.NewReader(b),
	}
}

// Tail is what follows the last region: sections, types, directory, footer.
type Tail struct {
	Types    *TypeTable
	FileID   [16]byte
	Sections []Blob        // definitions, provenance, CCG, user; types are added
	Dir      FinishedArray // the finished directory array
}

// tailOrder is the place of a section in the file: the directory follows them.
func tailOrder(kind uint32) uint32 {
	if kind == KindDirectory {
		return ^uint32(0)
	}
	return kind
}

// WriteTo writes the tail at offset off, a multiple of the alignment, to w and
// returns the superblock that completes the file.
func (t *Tail) WriteTo(w io.Writer, off int64) (Superblock, error) {
	sb := Superblock{Major: Major, Minor: Minor, Size: superblockBytes, FileID: t.FileID}
	if t.Types.align == smallAlign {
		sb.Incompat = features
	}
	rw := &regionWriter{w: w, id: t.FileID, proc: WholeRun, at: off, zero: make([]byte, t.Types.align)}
	sections := append([]Blob{BytesBlob(KindTypes, 1, SectionCritical, t.Types.Encode())}, t.Sections...)
	sort.SliceStable(sections, func(i, j int) bool { return tailOrder(sections[i].Kind) < tailOrder(sections[j].Kind) })
	footer := le.AppendUint32(nil, uint32(len(sections)+1))
	footer = le.AppendUint32(footer, footerEntry)
	for i := range sections {
		s := &sections[i]
		if err := rw.padTo(alignUp(rw.at, smallAlign)); err != nil {
			return sb, err
		}
		footer = s.appendEntry(footer, rw.at)
		if err := copyChecked(rw, s); err != nil {
			return sb, fmt.Errorf("xtf: section %d: %w", s.Kind, err)
		}
	}
	dir, err := PlanRegion(t.Types, WholeRun, []FinishedArray{t.Dir}, nil)
	if err != nil {
		return sb, err
	}
	if err := rw.padTo(alignUp(rw.at, t.Types.align)); err != nil {
		return sb, err
	}
	entry := SectionInfo{KindDirectory, 1, rw.at, dir.Size(), dir.headCRC(t.FileID), SectionCritical}
	footer = entry.Append(footer)
	if err := dir.WriteTo(rw, t.FileID); err != nil {
		return sb, err
	}
	sb.FooterOff, sb.FooterLen = uint64(rw.at), uint64(len(footer))
	sb.FooterCRC = crc32.Checksum(footer, castagnoli)
	sb.FileEnd = sb.FooterOff + sb.FooterLen
	return sb, rw.put(footer)
}

// FirstRegion is the offset of the first region.
func FirstRegion(tt *TypeTable) int64 { return alignUp(SuperblockSize, tt.align) }
