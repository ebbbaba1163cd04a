package paraver

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/klauspost/compress/gzip"
)

// Files are what describes a trace as a whole: its first lines, its files of
// names and what one pass over its records found. Their bytes make a Trace, so
// that one process may read them for all.
type Files struct {
	Path  string // of the .prv or .prv.gz file
	Head  []byte // lines before the first record
	Names []byte // the .pcf file, nil if there is none
	Rows  []byte // the .row file, nil if there is none
	Index []byte // see index
}

// longestNames bounds the files of names, in bytes. Real ones have less than 10 MB.
const longestNames = 256 << 20

var gzipMagic = []byte{0x1f, 0x8b}

// Recognise reports whether a file that begins with head is a Paraver trace, as
// it is or compressed by gzip.
func Recognise(head []byte) bool {
	if bytes.HasPrefix(head, gzipMagic) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		head = make([]byte, len(magic))
		if _, err := io.ReadFull(z, head); err != nil {
			return false
		}
	}
	return bytes.HasPrefix(head, []byte(magic))
}

// Load reads a trace once from its start to its end. Cost: decompression, and
// about 10 ns a byte. Memory: a line, and what is found (see index).
func Load(path string) (*Files, error) {
	f := &Files{Path: path}
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("paraver: %w", err)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".prv")
	if f.Names, err = readBeside(base + ".pcf"); err != nil {
		return nil, err
	}
	if f.Rows, err = readBeside(base + ".row"); err != nil {
		return nil, err
	}
	r, err := openText(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return f, f.scan(r, uint64(st.Size()))
}

// scan passes over the records.
func (f *Files) scan(r io.Reader, size uint64) error {
	h := sha256.New()
	x, err := newIndexer(io.TeeReader(r, h), size, parseNames(f.Names))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if err := x.run(); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.Head = x.records.head
	x.out.Identity = identity(h, f.Names, f.Rows)
	f.Index, err = x.out.encode()
	return err
}

// identity is a hash of the records as text, whether compressed or not, and of
// the names.
func identity(records hash.Hash, names, rows []byte) (id [32]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "paraver %d %d\n", len(names), len(rows))
	h.Write(names)
	h.Write(rows)
	h.Write(records.Sum(nil))
	h.Sum(id[:0])
	return id
}

// readBeside reads a file that need not be there.
func readBeside(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("paraver: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longestNames+1))
	if err != nil {
		return nil, fmt.Errorf("paraver: %s: %w", path, err)
	}
	if len(b) > longestNames {
		return nil, fmt.Errorf("paraver: %s: more than %d MiB of names: %w", path, longestNames>>20, trace.ErrUnsupported)
	}
	return b, nil
}

// text is an open trace, decompressed where it needs to be.
type text struct {
	io.Reader
	file *os.File
}

func (t *text) Close() error { return t.file.Close() }

func openText(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("paraver: %w", err)
	}
	head := make([]byte, len(gzipMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, fmt.Errorf("paraver: %w", err)
	}
	if !bytes.Equal(head[:n], gzipMagic) {
		return &text{f, f}, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("paraver: %s: %w: %w", path, err, trace.ErrCorrupt)
	}
	return &text{z, f}, nil
}
