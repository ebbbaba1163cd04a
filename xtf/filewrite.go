package xtf

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sort"
)

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

// smallBytes hold what most parts of small files write; a whole block is made
// only for more.
const smallBytes = 64 << 10

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
			b.buf = append(make([]byte, 0, BlockBytes), b.buf...)
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
	sb := Superblock{Major: Major, Minor: Minor, FileID: t.FileID}
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

// FileWriter composes a file from one process: regions in ascending P, the whole
// run last, then Commit. Package xtfwriter does the same from many ranks, with
// the same bytes.
type FileWriter struct {
	w     io.WriterAt
	out   *BlockWriter
	types *TypeTable
	id    [16]byte
	dir   *ArrayBuilder
	sink  Sink
}

// NewFileWriter begins a file with this identity; the directory is gathered in
// dirSink until Commit.
func NewFileWriter(w io.WriterAt, tt *TypeTable, id [16]byte, dirSink Sink) *FileWriter {
	return &FileWriter{
		w: w, out: NewBlockWriter(w, FirstRegion(tt)), types: tt, id: id, sink: dirSink,
		dir: NewArrayBuilder(NewEncoder(), tt.Lookup(TypeDirectory), WholeRun, dirSink),
	}
}

// FirstRegion is the offset of the first region.
func FirstRegion(tt *TypeTable) int64 { return alignUp(SuperblockSize, tt.align) }

// Region writes the region of the next location.
func (f *FileWriter) Region(r *RegionPlan, process, thread uint32, events uint64) error {
	if r.proc != WholeRun && uint64(r.proc) != f.dir.Len() {
		return fmt.Errorf("xtf: region of proc %d where proc %d is due", r.proc, f.dir.Len())
	}
	d := r.DirRow(f.out.Offset(), f.id)
	d.Process, d.Thread, d.Events = process, thread, events
	row, _ := f.dir.Append()
	d.Put(row)
	return r.WriteTo(f.out, f.id)
}

// Commit writes sections, types, directory and footer, and the superblock last.
func (f *FileWriter) Commit(sections []Blob) error {
	sum, err := f.dir.Finish()
	if err != nil {
		return err
	}
	tail := Tail{f.types, f.id, sections, FinishedArray{Summary: sum, Data: f.sink}}
	sb, err := tail.WriteTo(f.out, f.out.Offset())
	if err != nil {
		return err
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	_, err = f.w.WriteAt(sb.Encode(), 0)
	return err
}

// MemorySink is a Scratch in memory, for small arrays and tests.
type MemorySink struct{ b []byte }

// Append implements Sink.
func (m *MemorySink) Append(b []byte) (int64, error) {
	off := len(m.b)
	m.b = append(m.b, b...)
	return int64(off), nil
}

// WriteAt implements io.WriterAt over bytes that were appended.
func (m *MemorySink) WriteAt(b []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b))-int64(len(b)) {
		return 0, io.ErrShortWrite
	}
	return copy(m.b[off:], b), nil
}

// ReadAt implements io.ReaderAt.
func (m *MemorySink) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
