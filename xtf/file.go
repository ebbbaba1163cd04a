package xtf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Options are options of Open and OpenFile.
type Options struct {
	CacheBytes int64 // budget of the page cache; 0: 64 MiB
}

// Stats counts the cost of reading: pages read from the file, pages found in the cache, and comparisons of keys.
type Stats struct {
	PageReads   uint64 `json:"page_reads"`
	Hits        uint64 `json:"hits"`
	Comparisons uint64 `json:"comparisons"`
}

// Add adds a cost.
func (s *Stats) Add(t Stats) {
	s.PageReads += t.PageReads
	s.Hits += t.Hits
	s.Comparisons += t.Comparisons
}

// File is an open XTF file, safe for concurrent use.
type File struct {
	r      io.ReaderAt
	size   int64
	closer io.Closer
	super  Superblock
	idSum  uint32 // CRC-32C of FileID, for the seeds of page checksums
	types  *TypeTable
	parts  []SectionInfo
	dir    *Array
	cache  *cache

	decoders sync.Pool
	times    callReaders
	// unchecked turns checksums off, so that fuzzing reaches the code after them.
	unchecked bool
	reads     atomic.Uint64
	hits      atomic.Uint64
	compares  atomic.Uint64

	damageLock sync.Mutex
	damage     map[Proc]error // the first error of each location
}

// OpenFile opens the file at path.
func OpenFile(path string, o Options) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w: a folder or a device", path, ErrNotXTF)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("xtf: %w", err), f.Close())
	}
	x, err := Open(f, st.Size(), o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	x.closer = f
	return x, nil
}

// Open reads the superblock, the footer, the types and the head of the directory, in four reads.
func Open(r io.ReaderAt, size int64, o Options) (*File, error) {
	f := &File{r: r, size: size, cache: newCache(o.CacheBytes)}
	f.decoders.New = func() any { return newDecoder() }
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("xtf: %w", err)
	}
	return f, nil
}

func (f *File) open() error {
	head, err := f.read(0, min(f.size, SuperblockSize))
	if err != nil {
		return err
	}
	f.super, err = parseSuperblock(head, f.size)
	if errors.Is(err, errBlank) {
		return fmt.Errorf("%w: %w", ErrNotCommitted, errBlank)
	}
	if errors.Is(err, ErrNotXTF) && f.hasRegion(head) {
		return fmt.Errorf("%w: superblock is damaged", ErrNotCommitted)
	}
	if err != nil {
		return err
	}
	f.idSum = crc32.Checksum(f.super.FileID[:], castagnoli)
	s := &f.super
	if s.FooterLen > maxRaw || s.FooterOff > s.FileEnd || s.FooterLen != s.FileEnd-s.FooterOff {
		return corrupt("footer of %d bytes at %d", s.FooterLen, s.FooterOff)
	}
	footer, err := f.readSum(int64(s.FooterOff), int64(s.FooterLen), s.FooterCRC)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if f.parts, err = parseFooter(footer, int64(s.FooterOff)); err != nil {
		return err
	}
	for _, p := range f.parts {
		if p.Kind > KindNames && p.Kind < KindUser && p.Flags&SectionCritical != 0 {
			return fmt.Errorf("%w: critical section of kind %d is unknown", ErrVersion, p.Kind)
		}
	}
	raw, err := f.SectionBytes(KindTypes)
	if err != nil {
		return err
	}
	if f.types, err = parseTypes(raw); err != nil {
		return err
	}
	return f.openDirectory()
}

// hasRegion returns whether a region begins at the place of the first one.
func (f *File) hasRegion(head []byte) bool {
	for _, p := range []Profile{Packed, Raw16K, Raw64K} {
		b, err := f.read(FirstRegion(StandardTypes(p)), 4)
		if err == nil && bytes.Equal(b, regionMagic) {
			return true
		}
	}
	return len(head) > 4 && bytes.Equal(head[1:4], fileMagic[1:4])
}

func (f *File) openDirectory() error {
	s, err := f.section(KindDirectory)
	if err != nil {
		return err
	}
	b, err := f.read(s.Offset, min(s.Size, SuperblockSize))
	if err != nil {
		return err
	}
	if len(b) < regionHead {
		return corrupt("directory of %d bytes", len(b))
	}
	used := regionHead + int64(le.Uint32(b[16:]))
	if used > int64(len(b)) {
		return corrupt("directory head of %d bytes", used)
	}
	row := DirRow{P: WholeRun, HeadOff: uint64(s.Offset), RegionBytes: uint64(s.Size), HeadLen: uint32(used), HeadCRC: s.CRC}
	reg, err := f.parseRegion(b[:used], row)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	f.dir = reg.array(f, TypeDirectory)
	if f.dir == nil || f.dir.typ.RowBytes < DirRowBytes || f.dir.typ.Codec != CodecRaw || f.dir.desc.rows > 1<<32 {
		return corrupt("directory without rows")
	}
	return nil
}

// Close closes the file after reads in progress. Pages in the cache can still be read; other reads fail with os.ErrClosed.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// FileID identifies input and options. Files that must be equal have the same one.
func (f *File) FileID() [16]byte { return f.super.FileID }

// Types returns the type table of the file.
func (f *File) Types() *TypeTable { return f.types }

// Procs returns the number of locations, without the whole run.
func (f *File) Procs() uint32 { return uint32(f.dir.desc.rows - 1) }

// Stats returns the cost of everything read since the file was opened.
func (f *File) Stats() Stats {
	return Stats{f.reads.Load(), f.hits.Load(), f.compares.Load()}
}

// Damage is a damaged part of a file.
type Damage struct {
	P   Proc  // the location; WholeRun: the region about all locations
	Err error // the first error there
}

// Damage lists the parts that were found damaged since the file was opened, by location, WholeRun last. Every call that returns ErrCorrupt
// adds to it. A caller that continues without the damaged part can report it from this list.
func (f *File) Damage() []Damage {
	f.damageLock.Lock()
	defer f.damageLock.Unlock()
	list := make([]Damage, 0, len(f.damage))
	for p, err := range f.damage {
		list = append(list, Damage{p, err})
	}
	slices.SortFunc(list, func(a, b Damage) int { return cmp.Compare(a.P, b.P) })
	return list
}

// Damaged adds to Damage what a reader found wrong in rows, blobs or sections of p and no checksum shows.
func (f *File) Damaged(p Proc, err error) {
	f.damageLock.Lock()
	defer f.damageLock.Unlock()
	if f.damage == nil {
		f.damage = map[Proc]error{}
	}
	if f.damage[p] == nil {
		f.damage[p] = err
	}
}

// errorf is fmt.Errorf for errors about p. If the error is ErrCorrupt, it is added to Damage.
func (f *File) errorf(p Proc, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, ErrCorrupt) {
		f.Damaged(p, err)
	}
	return err
}

// Dir returns the directory row of p.
func (f *File) Dir(p Proc) (DirRow, error) { return f.dirRow(p, nil) }

func (f *File) dirRow(p Proc, st *Stats) (DirRow, error) {
	n := uint64(p)
	if p == WholeRun {
		n = f.dir.desc.rows - 1
	} else if n >= f.dir.desc.rows-1 {
		return DirRow{}, fmt.Errorf("xtf: proc %d of %d: %w", p, f.Procs(), ErrNoProc)
	}
	b, err := f.dir.Counted(st).Row(n, nil)
	if err != nil {
		return DirRow{}, err
	}
	var d DirRow
	d.Load(b)
	limit := int64(f.super.FooterOff)
	if d.P != p || d.HeadOff > uint64(limit) || d.RegionBytes > uint64(limit)-d.HeadOff ||
		uint64(d.HeadLen) > d.RegionBytes || d.HeadLen < regionHead || d.HeadLen > maxRaw ||
		d.HeadOff%uint64(f.types.align) != 0 {
		return d, f.errorf(WholeRun, "xtf: directory row %d: %w", n, corrupt("region of proc %d, %d bytes at %d", d.P, d.RegionBytes, d.HeadOff))
	}
	return d, nil
}

// Sections returns the sections in the footer.
func (f *File) Sections() []SectionInfo { return f.parts }

func (f *File) section(kind uint32) (SectionInfo, error) {
	for _, s := range f.parts {
		if s.Kind == kind {
			return s, nil
		}
	}
	return SectionInfo{}, fmt.Errorf("xtf: section of kind %d: %w", kind, ErrNoSection)
}

// SectionBytes reads a section and checks its checksum.
func (f *File) SectionBytes(kind uint32) ([]byte, error) {
	s, err := f.section(kind)
	if err != nil {
		return nil, err
	}
	b, err := f.readSum(s.Offset, s.Size, s.CRC)
	if err != nil {
		return nil, f.errorf(WholeRun, "xtf: section of kind %d: %w", kind, err)
	}
	return b, nil
}

// Definitions returns the definitions section.
func (f *File) Definitions() ([]byte, error) { return f.SectionBytes(KindDefinitions) }

// Provenance returns the provenance section, which is canonical JSON.
func (f *File) Provenance() ([]byte, error) { return f.SectionBytes(KindProvenance) }

// read returns n bytes at off. They must be inside the file; this limits the memory.
func (f *File) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > f.size-n {
		return nil, corrupt("%d bytes at %d of a file of %d", n, off, f.size)
	}
	f.reads.Add(1)
	b := make([]byte, n)
	if k, err := f.r.ReadAt(b, off); err != nil && (int64(k) != n || err != io.EOF) {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, corrupt("file ends inside %d bytes at %d", n, off)
		}
		return nil, fmt.Errorf("read of %d bytes at %d: %w", n, off, err)
	}
	return b, nil
}

func (f *File) readSum(off, n int64, crc uint32) ([]byte, error) {
	b, err := f.read(off, n)
	if err == nil && crc32.Checksum(b, castagnoli) != crc && !f.unchecked {
		err = corrupt("checksum mismatch in %d bytes at %d", n, off)
	}
	return b, err
}
