package otf2

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/trace"
)

// Archive is an OTF2 archive as a trace.Source. It is safe for concurrent use.
type Archive struct {
	path     string // of the anchor file
	dir      string // of the local files
	anchor   *Anchor
	defs     *trace.Definitions
	identity [32]byte
	window   int    // bytes read at once
	open     opener // of the locations' files
	windows  sync.Pool
	local    func() (bool, error)          // whether any location has local definitions
	cut      map[uint64][]trace.Diagnostic // of locations whose recording has no end of MPI
}

var _ trace.Source = (*Archive)(nil)

// window is the number of bytes that a chunk reader reads at once and, unless a
// record is longer, its memory. It fits the second level cache.
const window = 128 << 10

// OpenPath loads and opens an archive by its anchor file or directory.
func OpenPath(path string) (*Archive, error) {
	f, err := Load(path)
	if err != nil {
		return nil, err
	}
	return Open(f.Path, f.Anchor, f.Defs)
}

// Open makes an archive from the bytes of its anchor and definition file, which
// it does not read again. Path is that of the anchor file; the files of the
// locations lie in the folder of the same name without ".otf2".
func Open(path string, anchor, defs []byte) (*Archive, error) {
	a := &Archive{path: path, dir: strings.TrimSuffix(path, anchorSuffix), window: window, open: openRegular}
	a.local = sync.OnceValues(a.anyLocal)
	var err error
	if a.anchor, err = parseAnchor(path, anchor); err != nil {
		return nil, err
	}
	if a.defs, err = definitions(a.dir+".def", a.anchor, defs); err != nil {
		return nil, err
	}
	a.cut = cut(a.defs)
	h := sha256.New()
	fmt.Fprintf(h, "otf2 %d\n", len(anchor))
	h.Write(anchor)
	h.Write(defs)
	h.Sum(a.identity[:0])
	return a, nil
}

// cut finds the locations whose recording ended early or covers a part of the run, by their
// properties.
func cut(defs *trace.Definitions) map[uint64][]trace.Diagnostic {
	m := make(map[uint64][]trace.Diagnostic)
	for i := range defs.LocationProperties {
		q := &defs.LocationProperties[i]
		if code, ok := trace.CutBy(defs.Text(q.Name)); ok && q.Value.Type == trace.TypeString {
			m[q.Location] = append(m[q.Location], trace.Diagnostic{Code: code, Count: 1, Detail: defs.Text(uint32(q.Value.Bits))})
		}
	}
	return m
}

// Anchor returns the content of the anchor file.
func (a *Archive) Anchor() *Anchor { return a.anchor }

// Definitions returns the global definitions.
func (a *Archive) Definitions() *trace.Definitions { return a.defs }

// Format names the version of OTF2 that wrote the archive.
func (a *Archive) Format() string {
	v := a.anchor.Version
	return fmt.Sprintf("OTF2 %d.%d.%d", v[0], v[1], v[2])
}

// Identity is the SHA-256 of the anchor and the definition file.
func (a *Archive) Identity() [32]byte { return a.identity }

// Close releases the archive. Streams are closed by their users.
func (a *Archive) Close() error { return nil }

// file returns the path of a location's file.
func (a *Archive) file(p trace.P, suffix string) string {
	return filepath.Join(a.dir, strconv.FormatUint(a.defs.Location(p).Ref, 10)+suffix)
}

func (a *Archive) check(p trace.P) error {
	if uint64(p) >= uint64(a.defs.NumLocations()) {
		return fmt.Errorf("otf2: %s: no location with ordinal %d, there are %d", a.path, p, a.defs.NumLocations())
	}
	return nil
}

// Measure reads the first and the last chunk header of a location and its
// clock offsets.
func (a *Archive) Measure(p trace.P) (trace.Extent, error) {
	var x trace.Extent
	if err := a.check(p); err != nil {
		return x, err
	}
	f, size, l, err := a.openLocation(p)
	if f == nil || err != nil {
		return x, err
	}
	defer f.Close()
	chunk := int64(a.anchor.EventChunk)
	x.Bytes, x.Chunks = uint64(size), int((size+chunk-1)/chunk)
	if x.Chunks == 0 {
		return x, nil
	}
	b, err := readBorder(f, 0)
	if err != nil {
		return x, err
	}
	if b.timed {
		x.First, x.HasFirst = l.clock.correct(b.raw), true
	}
	if x.Chunks > 1 {
		if b, err = readBorder(f, int64(x.Chunks-1)*chunk); err != nil {
			return x, err
		}
	}
	if b.valid && b.last <= uint64(size)/2 { // an event has two bytes at least
		x.Events = b.last
	}
	return x, nil
}

// file is the open event file of a location.
type file interface {
	io.ReaderAt
	io.Closer
}

// opener opens a file and returns its size in bytes; f is nil where there is none.
type opener func(name string) (f file, size int64, err error)

// openRegular opens a file of the file system. What is not a regular file counts
// as none.
func openRegular(name string) (file, int64, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("otf2: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("otf2: %w", err)
	}
	if !st.Mode().IsRegular() {
		f.Close()
		return nil, 0, nil
	}
	return f, st.Size(), nil
}

// border is the start of a chunk: its header and its first time stamp.
type border struct {
	header
	valid bool
	timed bool
	raw   uint64

	start trace.Time // latest start of this chunk and those before
	base  uint64     // events in the chunks before
}

// events returns the number of events that the header announces.
func (b *border) events(chunk int64) (uint64, bool) {
	if !b.valid || b.last+1 < b.first || b.last+1-b.first > uint64(chunk)/2 {
		return 0, false
	}
	return b.last + 1 - b.first, true
}

func readBorder(r io.ReaderAt, at int64) (border, error) {
	var buf [headerSize + 9]byte
	n, err := r.ReadAt(buf[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return border{}, fmt.Errorf("otf2: %w", err)
	}
	h, err := parseHeader(buf[:n])
	if err != nil {
		return border{}, nil
	}
	b := border{header: h, valid: true}
	c := cursor{b: buf[headerSize:n], big: h.big}
	if c.u8() == idTime {
		b.raw = c.raw64()
		b.timed = c.state == fine
	}
	return b, nil
}
