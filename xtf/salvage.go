package xtf

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Salvaged is a region that was found in a damaged file.
type Salvaged struct {
	P      Proc
	Offset int64
	Arrays []SalvagedArray
}

// SalvagedArray says how much of an array can be read.
type SalvagedArray struct {
	Type     TypeID
	Name     string
	Rows     uint64 // according to its descriptor
	Readable uint64 // rows in intact pages
}

// SalvageResult says what can be read of a file that does not open.
type SalvageResult struct {
	CheckResult
	Parts []Salvaged // regions and the directory; at most MaxProblems
}

// voters is the number of pages that must agree on the file's identity before the search stops.
const voters = 8

// Salvage looks for regions in a file that does not open, because its superblock, footer, directory or end is missing or damaged. It finds
// region heads by their magic and verifies the pages below. If the superblock is lost, it computes the file's identity, on which all
// checksums depend, from the pages: a CRC can be run backwards, and two or more pages must agree. If the type table is lost, it tries the
// standard types. The head itself is not verified, since its checksum is in the directory.
//
// Cost: the file is read up to four times. Memory: as for Check. The error is for storage that cannot be read, or ErrNotXTF if there is no
// region.
func Salvage(r io.ReaderAt, size int64) (*SalvageResult, error) {
	f := &File{r: r, size: size, cache: newCache(1 << 20)}
	f.decoders.New = func() any { return newDecoder() }
	s := &salvage{checker: checker{f: f, res: &CheckResult{}}, budget: 8*size + 4*maxRaw, tries: 1000}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	if err := s.scan(regionMagic, s.region); err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	if s.res.Regions == 0 {
		return nil, fmt.Errorf("xtf: %w: no region was found", ErrNotXTF)
	}
	return &SalvageResult{*s.res, s.found}, nil
}

type salvage struct {
	checker
	found  []Salvaged
	tables []*TypeTable // possible type tables of the file; one, as soon as a region fits it
	known  bool         // the identity is known
	budget int64        // bytes of heads and arrays that may still be read; a forged file could make them overlap
	tries  int          // number of places that may still be tried as a type table
}

// prepare finds the types and the identity of the file.
func (s *salvage) prepare() error {
	f := s.f
	head, err := f.read(0, min(f.size, SuperblockSize))
	if err != nil {
		return err
	}
	if sb, err := parseSuperblock(head, max(f.size, claimedEnd(head))); err == nil {
		f.super, s.known = sb, true
		f.idSum = crc32.Checksum(sb.FileID[:], castagnoli)
	}
	err = s.scan(nil, func(off int64, b []byte) (int64, error) {
		if tt := s.typesAt(off, b); tt != nil {
			s.tables = []*TypeTable{tt}
			return f.size, nil
		}
		return off + smallAlign, nil
	})
	if err != nil {
		return err
	}
	if s.tables == nil {
		for _, p := range []Profile{Packed, Raw4K, Raw16K, Raw64K} {
			s.tables = append(s.tables, StandardTypes(p))
		}
	}
	if s.known {
		return nil
	}
	return s.identify()
}

// claimedEnd returns the length of the whole file according to the superblock, or 0.
func claimedEnd(head []byte) int64 {
	if len(head) < superblockBytes {
		return 0
	}
	return int64(min(le.Uint64(head[56:]), 1<<62))
}

// scan calls visit for each multiple of smallAlign at which the bytes begin with magic (nil: for each). visit returns the offset at which
// to continue.
func (s *salvage) scan(magic []byte, visit func(off int64, b []byte) (int64, error)) error {
	const window, tail = 1 << 20, 64
	var buf []byte
	for at := int64(SuperblockSize); at < s.f.size; {
		n := min(window+tail, s.f.size-at)
		var err error
		if buf, err = s.f.read(at, n); err != nil {
			return err
		}
		next := at + min(n, window)
		for off := at; off < at+min(n, window); {
			b := buf[off-at:]
			if !bytes.HasPrefix(b, magic) {
				off += smallAlign
				continue
			}
			if off, err = visit(off, b[:min(len(b), tail)]); err != nil {
				return err
			}
			next = max(next, off)
		}
		at = next
	}
	return nil
}

// typesAt returns the type table at off, or nil. Type tables have no magic. Bytes that can be parsed as one and have a directory type are
// taken for one.
func (s *salvage) typesAt(off int64, b []byte) *TypeTable {
	if len(b) < 12 {
		return nil
	}
	count, align, first := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])
	if count == 0 || count > maxTypes || align < smallAlign || align > maxRaw || align&(align-1) != 0 || first < typeEntryHead || first > 1<<16 || s.tries == 0 {
		return nil
	}
	s.tries--
	raw, err := s.f.read(off, min(1<<20, s.f.size-off))
	if err != nil {
		return nil
	}
	tt, err := parseTypes(raw)
	if err != nil || tt.Lookup(TypeDirectory) == nil {
		return nil
	}
	return tt
}

// head parses the region head at off with the possible type tables. The arrays of the region may extend beyond the end of the file.
func (s *salvage) head(off int64, b []byte) *region {
	if len(b) < regionHead {
		return nil
	}
	used := regionHead + int64(le.Uint32(b[16:]))
	s.budget -= used + int64(le.Uint32(b[12:]))
	if used > maxRaw || used > s.f.size-off || s.budget < 0 {
		return nil
	}
	raw, err := s.f.read(off, used)
	if err != nil {
		return nil
	}
	p := Proc(le.Uint32(b[4:]))
	row := DirRow{
		P: p, HeadOff: uint64(off), RegionBytes: 1<<62 - uint64(off), HeadLen: uint32(used),
		HeadCRC: crc32.Update(seedOf(s.f.idSum, p, 0), castagnoli, raw),
	}
	for _, tt := range s.tables {
		s.f.types = tt
		reg, err := s.f.parseRegion(raw, row)
		if err != nil || off%tt.align != 0 {
			continue
		}
		if len(reg.arrays) > 0 {
			s.tables = []*TypeTable{tt}
		}
		return reg
	}
	return nil
}

// identify finds the checksum of the file's identity by a vote of the pages.
func (s *salvage) identify() error {
	undo := backwards()
	votes := map[uint32]int{}
	var best uint32
	err := s.scan(regionMagic, func(off int64, b []byte) (int64, error) {
		reg := s.head(off, b)
		if reg == nil {
			return off + smallAlign, nil
		}
		for i := range reg.arrays {
			id, ok := s.vote(reg.array(s.f, reg.arrays[i].typ), undo)
			if !ok || len(votes) >= MaxProblems {
				continue
			}
			votes[id]++
			if n := votes[id]; n > votes[best] || (n == votes[best] && id < best) {
				best = id
			}
			if votes[best] >= voters {
				return s.f.size, nil
			}
		}
		return off + smallAlign, nil
	})
	s.f.idSum, s.known = best, votes[best] >= 2
	return err
}

// vote returns the checksum of the identity with which the checksum of the array's first page is right.
func (s *salvage) vote(a *Array, undo *[256]byte) (idSum uint32, ok bool) {
	b, err := s.f.read(a.base, pageHeader)
	var h header
	if err != nil || h.parse(b) != nil || h.typ != a.typ.ID || h.proc != a.proc || h.stored > maxRaw {
		return 0, false
	}
	if b, err = s.f.read(a.base, pageHeader+int64(h.stored)); err != nil {
		return 0, false
	}
	at := placeBytes(a.proc, a.typ.ID)
	return rewind(rewind(h.crc, b[8:], undo), at[:], undo), true
}

// backwards returns the index of the CRC table's entry for each highest byte.
func backwards() *[256]byte {
	var undo [256]byte
	for i, v := range castagnoli {
		undo[v>>24] = byte(i)
	}
	return &undo
}

// rewind returns the checksum before b was added. It is the inverse of crc32.Update.
func rewind(crc uint32, b []byte, undo *[256]byte) uint32 {
	crc = ^crc
	for i := len(b) - 1; i >= 0; i-- {
		k := undo[crc>>24]
		crc = (crc^castagnoli[k])<<8 | uint32(k^b[i])
	}
	return ^crc
}

// region checks the region whose head is at off.
func (s *salvage) region(off int64, b []byte) (int64, error) {
	reg := s.head(off, b)
	if reg == nil {
		s.res.Lost++
		s.note(Problem{P: WholeRun, Err: fmt.Errorf("xtf: region head at %d: %w", off, corrupt("cannot be read"))})
		return off + smallAlign, nil
	}
	s.res.Regions++
	x := Salvaged{P: reg.proc, Offset: off}
	next := off + smallAlign
	for i := range reg.arrays {
		a := reg.array(s.f, reg.arrays[i].typ)
		before := s.res.Rows
		s.examine(a)
		if s.io != nil {
			return 0, s.io
		}
		readable := s.res.Rows - before
		if readable > 0 {
			next = max(next, alignUp(a.base+int64(min(a.desc.bytes, uint64(max(s.f.size-a.base, 0)))), smallAlign))
		}
		x.Arrays = append(x.Arrays, SalvagedArray{a.typ.ID, a.typ.Name, a.desc.rows, readable})
	}
	if len(s.found) < MaxProblems {
		s.found = append(s.found, x)
	}
	return next, nil
}

var errUnknownID = errors.New("the identity of the file is lost: its pages cannot be verified")

// examine checks an array: all of it if it is inside the file, else the pages before the end of the file.
func (s *salvage) examine(a *Array) {
	room := uint64(max(s.f.size-a.base, 0))
	switch {
	case !s.known:
		s.lost(a, 0, fmt.Errorf("%w: %w", ErrCorrupt, errUnknownID))
	case s.budget < 0:
		s.lost(a, 0, corrupt("overlaps what was read before"))
	case a.desc.bytes <= room:
		s.budget -= int64(a.desc.bytes)
		s.array(a)
	default:
		s.budget -= int64(room)
		s.front(a)
	}
}

// lost notes that the rows of an array from n on cannot be read.
func (s *salvage) lost(a *Array, n uint64, err error) {
	s.note(Problem{P: a.proc, Type: a.typ.ID, First: n, Rows: a.desc.rows - n, Err: a.where(err, "page", n/uint64(a.typ.PageRows))})
}

// front reads the data pages of an array that extends beyond the end of the file. Each page has its own length, so that no index is needed.
func (s *salvage) front(a *Array) {
	s.res.Arrays++
	off := a.base
	for ord := range uint64(a.desc.levels[0].pages) {
		b, err := s.f.read(off, pageHeader)
		var h header
		if err == nil {
			err = h.parse(b)
		}
		if err == nil && h.stored > maxRaw {
			err = corrupt("payload of %d bytes", h.stored)
		}
		if err == nil {
			b, err = s.f.read(off, pageHeader+int64(h.stored))
		}
		var pg *page
		if err == nil {
			pg, err = a.openData(b, ord)
		}
		if err == nil && !pg.isView(a.typ.ID) {
			err = a.checkKeys(pg, ord)
		}
		if err != nil {
			s.lost(a, ord*uint64(a.typ.PageRows), err)
			return
		}
		s.res.Pages++
		s.res.Rows += uint64(pg.count)
		s.res.Bytes += uint64(len(b))
		off = alignUp(off+int64(len(b)), s.f.types.align)
	}
}
