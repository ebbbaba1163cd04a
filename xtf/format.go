package xtf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

var le = binary.LittleEndian

// SetU64 stores v at byte off of a row.
func SetU64(row []byte, off int, v uint64) { le.PutUint64(row[off:], v) }

// SetU32 stores v at byte off of a row.
func SetU32(row []byte, off int, v uint32) { le.PutUint32(row[off:], v) }

// U64 loads the value at byte off of a row.
func U64(row []byte, off int) uint64 { return le.Uint64(row[off:]) }

// U32 loads the value at byte off of a row.
func U32(row []byte, off int) uint32 { return le.Uint32(row[off:]) }

// Version of the format written here. A reader refuses another major version
// and reads a higher minor one.
const (
	Major = 1
	Minor = 0
)

// Kinds of footer sections and region blobs; from KindUser on they are free.
const (
	KindDefinitions uint32 = 1
	KindTypes       uint32 = 2
	KindDirectory   uint32 = 3
	KindProvenance  uint32 = 4
	KindCCG         uint32 = 5 // structure and class tables, tuples, codebook
	KindCCGColumns  uint32 = 6 // blob: timing columns of one location
	KindUser        uint32 = 0x8000
)

// SectionCritical marks a section that a reader must understand.
const SectionCritical uint32 = 1

// SuperblockSize is the room at the start of the file; regions follow it.
const (
	SuperblockSize  = 4096
	superblockBytes = 128
	maxSections     = 1 << 16
)

var (
	fileMagic   = []byte{0x89, 'X', 'T', 'F', '\r', '\n', 0x1a, '\n'}
	regionMagic = []byte("XTFr")
	pageMagic   = [4]uint8{'X', 'T', 'F', 'p'}
)

// Incompatible features of packed files.
const (
	featureViews   uint64 = 1 << iota // pages may be views, or follow others
	featureTimes                      // all times of following pages follow
	featureRepeats                    // columns may repeat
	features       = featureViews | featureTimes | featureRepeats
)

// Superblock is the first structure of a file, written last: after its magic, as it is here, and with a checksum at its end.
type Superblock struct {
	Major, Minor uint16
	Size         uint32 // superblockBytes, or more in a later minor version
	FileID       [16]byte
	FooterOff    uint64
	FooterLen    uint64
	FooterCRC    uint32
	_            uint32
	FileEnd      uint64
	Incompat     uint64
	Compat       uint64
}

// Encode returns the SuperblockSize bytes at the start of the file.
func (s *Superblock) Encode() []byte {
	b := make([]byte, SuperblockSize)
	copy(b, fileMagic)
	_, _ = binary.Encode(b[8:], le, s) // which has room
	le.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	return b
}

// errBlank marks bytes that could be the start of a file nobody committed.
var errBlank = errors.New("superblock was never written")

// parseSuperblock checks the first bytes of a file of the given size.
func parseSuperblock(b []byte, size int64) (Superblock, error) {
	var s Superblock
	if len(b) < superblockBytes || !bytes.Equal(b[:8], fileMagic) {
		if blank(b[:min(len(b), superblockBytes)]) && len(b) > 0 {
			return s, errBlank
		}
		return s, ErrNotXTF
	}
	_, _ = binary.Decode(b[8:], le, &s) // all of it is there
	if s.Major == 0 {                   // no version is
		return s, fmt.Errorf("%w: superblock is incomplete", ErrNotCommitted)
	}
	if s.Major != Major {
		return s, fmt.Errorf("%w: file has version %d.%d, this program reads %d.x", ErrVersion, s.Major, s.Minor, Major)
	}
	if s.Size < superblockBytes || uint64(s.Size) > uint64(len(b)) || crc32.Checksum(b[:124], castagnoli) != le.Uint32(b[124:]) {
		return s, fmt.Errorf("%w: superblock is incomplete or changed", ErrNotCommitted)
	}
	if unknown := s.Incompat &^ features; unknown != 0 {
		return s, fmt.Errorf("%w: incompatible feature bits %#x are unknown", ErrVersion, unknown)
	}
	if s.FileEnd != uint64(size) {
		return s, fmt.Errorf("%w: %d bytes of %d are there", ErrNotCommitted, size, s.FileEnd)
	}
	return s, nil
}

func blank(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// SectionInfo describes a footer section or a region's blob.
//
//xtf:form footerEntry
type SectionInfo struct {
	Kind    uint32
	Version uint32
	Offset  int64 // in the file
	Size    int64
	CRC     uint32
	Flags   uint32
}

// parseSection reads an entry; base is added to its offset, and the section must
// lie in [from, limit): after the one before it, so that no byte is in two.
func parseSection(b []byte, base, from, limit int64) (SectionInfo, error) {
	var s SectionInfo
	s.Load(b)
	off, size := uint64(s.Offset), uint64(s.Size)
	if off > uint64(limit) || size > uint64(limit) || base+int64(off) > limit-int64(size) || base+int64(off) < from {
		return s, corrupt("section of kind %d: %d bytes at %d of %d", s.Kind, size, off, limit)
	}
	s.Offset += base
	return s, nil
}

func parseFooter(b []byte, fileEnd int64) ([]SectionInfo, error) {
	if len(b) < 8 {
		return nil, corrupt("footer of %d bytes", len(b))
	}
	count, stride := int64(le.Uint32(b)), int64(le.Uint32(b[4:]))
	if stride < footerEntry || count > maxSections || 8+count*stride > int64(len(b)) {
		return nil, corrupt("footer of %d entries of %d bytes in %d", count, stride, len(b))
	}
	out, from := make([]SectionInfo, 0, count), int64(SuperblockSize)
	for i := range count {
		s, err := parseSection(b[8+i*stride:], 0, from, fileEnd)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		from = s.Offset + s.Size
	}
	return out, nil
}

// Kinds of pages.
const (
	pageData  = 0
	pageIndex = 1
	pageAux   = 2
)

// header is in front of every page.
//
//xtf:form pageHeader
type header struct {
	magic   [4]uint8
	crc     uint32
	kind    uint8
	level   uint8
	codec   Codec
	zero    uint8
	typ     TypeID
	count   uint32
	stored  uint32
	raw     uint32
	proc    Proc
	ordinal uint64
	firstN  uint64
	prev    uint64
	next    uint64
}

func (h *header) parse(b []byte) error {
	if len(b) < pageHeader || [4]uint8(b) != pageMagic {
		return corrupt("no page header")
	}
	h.Load(b)
	return nil
}

// seal computes and stores the CRC of a page made of head and payload.
func sealPage(head, payload []byte, seed uint32) uint32 {
	crc := crc32.Update(seed, castagnoli, head[8:pageHeader])
	crc = crc32.Update(crc, castagnoli, payload)
	le.PutUint32(head[4:], crc)
	return crc
}

// pageSeed makes a checksum depend on file, location and type, so that a stale
// or misplaced page fails.
func pageSeed(id [16]byte, p Proc, t TypeID) uint32 {
	return seedOf(crc32.Checksum(id[:], castagnoli), p, t)
}

// seedOf is pageSeed from the checksum of the file's identity.
func seedOf(idSum uint32, p Proc, t TypeID) uint32 {
	b := placeBytes(p, t)
	return crc32.Update(idSum, castagnoli, b[:])
}

func placeBytes(p Proc, t TypeID) (b [8]byte) {
	le.PutUint32(b[:], uint32(p))
	le.PutUint32(b[4:], uint32(t))
	return b
}

func alignUp(n, a int64) int64 { return (n + a - 1) / a * a }
