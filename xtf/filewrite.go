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

// FirstRegion is the offset of the first region.
func FirstRegion(tt *TypeTable) int64 { return alignUp(SuperblockSize, tt.align) }
