package otf2

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Bounds of the chunk sizes an anchor may announce. The format allows 256 KiB
// to 16 MiB; smaller chunks do no harm.
const (
	minChunk = 256
	maxChunk = 16 << 20
)

// Anchor is the content of an archive's anchor file.
type Anchor struct {
	AnchorFormat uint8 // 1 to 3
	TraceFormat  uint8 // 1 or 2
	Version      [3]uint8
	EventChunk   uint64 // bytes
	DefChunk     uint64 // bytes
	Locations    uint64 // a hint
	Definitions  uint64 // records in the definition file
	Machine      string
	Creator      string
	Description  string
	Properties   []Property
	TraceID      uint64
	BigEndian    bool
}

// Property is a named property of an archive.
type Property struct{ Name, Value string }

const (
	littleEndian = 0x42
	bigEndian    = 0x23
	headerByte   = 0x03
	endOfChunk   = 0x00
	endOfBuffer  = 0x01
	endOfFile    = 0x02
)

// Files are the two files that describe an archive as a whole. Their bytes
// make an Archive, so that one process may read them for all.
type Files struct {
	Path   string // of the anchor file
	Anchor []byte
	Defs   []byte
}

// Load reads the anchor and the definition file. Path names the anchor file or
// a directory that holds exactly one.
func Load(path string) (*Files, error) {
	path, err := findAnchor(path)
	if err != nil {
		return nil, err
	}
	f := &Files{Path: path}
	if f.Anchor, err = readBounded(path, maxAnchor); err != nil {
		return nil, err
	}
	if _, err := parseAnchor(path, f.Anchor); err != nil {
		return nil, err
	}
	defs := strings.TrimSuffix(path, anchorSuffix) + ".def"
	f.Defs, err = os.ReadFile(defs)
	if errors.Is(err, fs.ErrNotExist) {
		if target, rerr := filepath.EvalSymlinks(path); rerr == nil && target != filepath.Clean(path) { // only the anchor file is a link
			return Load(target)
		}
		return nil, fmt.Errorf("otf2: %s: the definition file next to the anchor file is not there: %w", defs, trace.ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("otf2: %w", err)
	}
	return f, nil
}

const (
	anchorSuffix = ".otf2"
	maxAnchor    = 16 << 20 // bytes; real anchors have a few hundred
)

func findAnchor(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("otf2: %w", err)
	}
	if !st.IsDir() {
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", fmt.Errorf("otf2: %w", err)
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), anchorSuffix) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("otf2: %s is a directory without an anchor file (NAME.otf2): %w", path, trace.ErrNotTrace)
	case 1:
		return filepath.Join(path, found[0]), nil
	}
	return "", fmt.Errorf("otf2: directory %s holds %d archives, name one of them: %s: %w", path, len(found), strings.Join(found, " "), trace.ErrNotTrace)
}

func readBounded(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("otf2: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("otf2: %s is not a regular file: %w", path, trace.ErrNotTrace)
	}
	if st.Size() > limit {
		return nil, fmt.Errorf("otf2: %s has %d bytes, too many for an anchor file: %w", path, st.Size(), trace.ErrNotTrace)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("otf2: %w", err)
	}
	return b, nil
}

// parseAnchor reads an anchor file. Bytes after its end mark are ignored.
func parseAnchor(path string, b []byte) (*Anchor, error) {
	if err := recognise(path, b); err != nil {
		return nil, err
	}
	c := cursor{b: b, pos: 2, big: b[1] == bigEndian}
	a := &Anchor{BigEndian: c.big}
	if magic := c.str(); c.state != fine || magic != "OTF2" {
		return nil, fmt.Errorf("otf2: %s: no OTF2 mark at its start: %w", path, trace.ErrNotTrace)
	}
	a.AnchorFormat, a.TraceFormat = c.u8(), c.u8()
	if c.state == fine && (a.AnchorFormat == 0 || a.AnchorFormat > 3 || a.TraceFormat == 0 || a.TraceFormat > 2) {
		return nil, fmt.Errorf("otf2: %s: anchor format %d, trace format %d; formats up to 3 and 2 are known: %w", path, a.AnchorFormat, a.TraceFormat, trace.ErrUnsupported)
	}
	a.Version = [3]uint8{c.u8(), c.u8(), c.u8()}
	a.EventChunk, a.DefChunk = c.raw64(), c.raw64()
	substrate, compression := c.u8(), c.u8()
	a.Locations, a.Definitions = c.raw64(), c.raw64()
	a.Machine, a.Creator, a.Description = c.str(), c.str(), c.str()
	if a.AnchorFormat >= 2 {
		a.properties(&c)
		a.TraceID = c.raw64()
	}
	if a.AnchorFormat >= 3 {
		_, _ = c.raw32(), c.raw32() // snapshots, thumbnails
	}
	if end := c.u8(); c.state == fine && end != endOfFile {
		c.state = bad
	}
	if c.state != fine {
		return nil, fmt.Errorf("otf2: %s: the anchor file is damaged or cut at byte %d of %d%s: %w", path, c.pos, len(b), mangled(b), trace.ErrCorrupt)
	}
	return a, a.check(path, substrate, compression)
}

func (a *Anchor) properties(c *cursor) {
	n := uint64(c.raw32())
	if n > uint64(c.left())/2 { // a property has two strings, a byte each at least
		c.fail()
		return
	}
	for range n {
		name := c.str()
		a.Properties = append(a.Properties, Property{name, c.str()})
	}
}

func (a *Anchor) check(path string, substrate, compression uint8) error {
	switch substrate {
	case 1:
	case 2:
		return fmt.Errorf("otf2: %s: the archive uses the SIONlib container substrate; convert it with the tools that wrote it or record again with SCOREP_TRACING_USE_SION=false: %w", path, trace.ErrUnsupported)
	default:
		return fmt.Errorf("otf2: %s: file substrate %d, only 1 (POSIX) can be read: %w", path, substrate, trace.ErrUnsupported)
	}
	switch compression {
	case 1:
	case 2:
		return fmt.Errorf("otf2: %s: the archive is compressed with zlib (OTF2 before 3.0); decompress it with the tools that wrote it or record again with SCOREP_TRACING_COMPRESS=false: %w", path, trace.ErrUnsupported)
	default:
		return fmt.Errorf("otf2: %s: compression %d, only 1 (none) can be read: %w", path, compression, trace.ErrUnsupported)
	}
	for _, n := range []uint64{a.EventChunk, a.DefChunk} {
		if n < minChunk || n > maxChunk {
			return fmt.Errorf("otf2: %s: chunk size %d is outside %d to %d: %w", path, n, minChunk, maxChunk, trace.ErrCorrupt)
		}
	}
	return nil
}

// recognise tells files that are not OTF2 at all from damaged ones.
func recognise(path string, b []byte) error {
	switch {
	case isPointer(b):
		return fmt.Errorf("otf2: %s is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`: %w", path, trace.ErrNotTrace)
	case len(b) == 0:
		return fmt.Errorf("otf2: %s is empty: %w", path, trace.ErrNotTrace)
	case isJSON(b):
		return fmt.Errorf("otf2: %s is a JSON text, not an OTF2 anchor file: %w", path, trace.ErrNotTrace)
	case len(b) < 2 || b[0] != headerByte || b[1] != littleEndian && b[1] != bigEndian:
		return fmt.Errorf("otf2: %s does not start like an OTF2 file: %w", path, trace.ErrNotTrace)
	}
	return nil
}

func isPointer(b []byte) bool { return bytes.HasPrefix(b, []byte("version https://git-lfs")) }

func isJSON(b []byte) bool {
	t := bytes.TrimLeft(b, "\ufeff \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[')
}

// mangled hints at a file that went through a conversion of text.
func mangled(b []byte) string {
	if bytes.Contains(b, []byte("\xef\xbf\xbd")) || bytes.Contains(b, []byte("\r\n")) {
		return " (it looks as if a program had converted it as text)"
	}
	return ""
}
