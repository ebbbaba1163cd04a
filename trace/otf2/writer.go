package otf2

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/coppice-hpc/coppice/trace"
)

// Options of a new archive. The zero value gives what current writers make.
type Options struct {
	BigEndian   bool
	EventChunk  int // bytes, 1 MiB if 0
	DefChunk    int // bytes, at least 4 MiB if 0, more where a definition needs it
	TraceFormat int // 2 if 0; 1 spells integers and ends definitions as the first writers did
	Machine     string
	Creator     string
	Description string
	Properties  []Property
	// Local gives the local definitions of a location, nil for none. Several goroutines call it.
	Local func(p trace.P) *Local
}

// Local holds what a location's own definition file says. Events are given to
// the writer with global references and corrected times; the file gets local
// references and raw times.
type Local struct {
	Mappings []Mapping
	Sparse   bool // write tables as pairs; else dense, where the local references are 0, 1, 2...
	Offsets  []ClockOffset
}

// ErrTooLong says that a record does not fit a chunk: choose larger chunks, up to MaxChunk. A list
// with more than 255 elements where the format counts them in a byte fits no chunk.
var ErrTooLong = errors.New("record does not fit a chunk")

// Sizes of chunks in bytes; the ones above MaxChunk are refused by readers.
const (
	MaxChunk          = maxChunk
	defaultEventChunk = 1 << 20
	defaultDefChunk   = 4 << 20
)

// Writer writes an archive. Location may be called from several goroutines;
// each LocationWriter belongs to one.
type Writer struct {
	dir, name string
	defs      *trace.Definitions
	o         Options
	mu        sync.Mutex
	counts    map[trace.P]uint64
}

// Create begins the archive dir/name.otf2. Nothing that exists is overwritten.
// The definitions must be sealed. Close writes the definition file and, last,
// the anchor file: without it the archive is not complete.
func Create(dir, name string, defs *trace.Definitions, o Options) (*Writer, error) {
	if o.TraceFormat == 0 {
		o.TraceFormat = 2
	}
	if o.EventChunk == 0 {
		o.EventChunk = defaultEventChunk
	}
	if o.DefChunk == 0 {
		o.DefChunk = defaultDefChunk
		for o.DefChunk < maxChunk && o.DefChunk < 16*longestList(defs) {
			o.DefChunk *= 2
		}
	}
	if o.EventChunk < minChunk || o.EventChunk > maxChunk || o.DefChunk < minChunk || o.DefChunk > maxChunk {
		return nil, fmt.Errorf("otf2: chunk sizes %d and %d, allowed are %d to %d", o.EventChunk, o.DefChunk, minChunk, maxChunk)
	}
	if o.TraceFormat != 1 && o.TraceFormat != 2 {
		return nil, fmt.Errorf("otf2: trace format %d, can write 1 and 2", o.TraceFormat)
	}
	if o.Creator == "" {
		o.Creator = "coppice"
	}
	w := &Writer{dir: dir, name: name, defs: defs, o: o, counts: make(map[trace.P]uint64)}
	if _, err := os.Lstat(w.path(anchorSuffix)); err == nil {
		return nil, fmt.Errorf("otf2: %s: %w", w.path(anchorSuffix), os.ErrExist)
	}
	if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
		return nil, fmt.Errorf("otf2: %w", err)
	}
	return w, nil
}

// longestList bounds the size of the largest definition: members of a group.
func longestList(defs *trace.Definitions) int {
	n := 0
	for i := range defs.Groups {
		n = max(n, len(defs.Groups[i].Members))
	}
	return n
}

func (w *Writer) path(suffix string) string { return filepath.Join(w.dir, w.name+suffix) }

func (w *Writer) encoder() encoder {
	return encoder{big: w.o.BigEndian, old: w.o.TraceFormat == 1}
}

// Close writes the definitions and the anchor file. Every LocationWriter must
// be closed before. Locations that were never opened keep the event count of
// their definition: another process may have written them.
func (w *Writer) Close() error {
	f, err := w.newChunkWriter(w.path(".def"), w.o.DefChunk)
	if err != nil {
		return err
	}
	count, id, err := w.definitions(f)
	if e := f.close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return w.anchor(count, id)
}

// definitions writes all records. It returns their number and a hash of their
// content.
func (w *Writer) definitions(f *chunkWriter) (count uint64, id uint64, err error) {
	h := sha256.New()
	for _, d := range inOrder(w.defs) {
		if l, ok := d.record.(*trace.Location); ok {
			d.record = w.counted(l)
		}
		enc := defWriter{encoder: w.encoder(), kind: d.kind}
		at := enc.begin(uint8(d.kind))
		if d.record.Visit(&enc); enc.long {
			return 0, 0, fmt.Errorf("otf2: %s: a list of more than 255 elements in a definition of kind %d: %w", f.file.Name(), d.kind, ErrTooLong)
		}
		enc.end(at)
		h.Write(enc.b)
		if err := f.add(enc.b); err != nil {
			return 0, 0, err
		}
		count++
	}
	return count, binary.LittleEndian.Uint64(h.Sum(nil)), nil
}

// definition is a record with its kind.
type definition struct {
	kind   trace.DefKind
	record trace.Record
}

// inOrder lists the records as they are written: strings first, since most
// others refer to them; then kinds ascending, but kinds that share one
// reference space together by ascending reference, as other readers demand.
func inOrder(defs *trace.Definitions) []definition {
	var strings, others []definition
	defs.Each(func(k trace.DefKind, r trace.Record) {
		if k == trace.DefString {
			strings = append(strings, definition{k, r})
		} else {
			others = append(others, definition{k, r})
		}
	})
	slices.SortStableFunc(others, func(a, b definition) int {
		ga, ra := shared(a)
		gb, rb := shared(b)
		return cmp.Or(cmp.Compare(ga, gb), cmp.Compare(ra, rb))
	})
	return append(strings, others...)
}

// shared returns where in the order of kinds a record is written, and its reference if its kind
// shares a reference space with another kind.
func shared(d definition) (trace.DefKind, uint32) {
	switch r := d.record.(type) {
	case *trace.MetricClass:
		return trace.DefMetricInstance, r.Ref
	case *trace.MetricInstance:
		return trace.DefMetricInstance, r.Ref
	case *trace.Comm:
		return trace.DefComm, r.Ref
	case *trace.InterComm:
		return trace.DefComm, r.Ref
	case *trace.IoRegularFile:
		return trace.DefIoRegularFile, r.Ref
	case *trace.IoDirectory:
		return trace.DefIoRegularFile, r.Ref
	}
	return d.kind, 0
}

// counted returns l with the number of events written.
func (w *Writer) counted(l *trace.Location) *trace.Location {
	c := *l
	if p, ok := w.defs.Ordinal(l.Ref); ok {
		if n, ok := w.counts[p]; ok {
			c.Events = n
		}
	}
	return &c
}

func (w *Writer) anchor(count, id uint64) error {
	e := w.encoder()
	mark := byte(littleEndian)
	if w.o.BigEndian {
		mark = bigEndian
	}
	format, version := byte(3), [3]byte{3, 0, 0}
	if w.o.TraceFormat == 1 {
		format, version = 1, [3]byte{1, 0, 0}
	}
	e.b = append(e.b, headerByte, mark)
	e.str("OTF2")
	e.b = append(e.b, format, byte(w.o.TraceFormat), version[0], version[1], version[2])
	e.raw64(uint64(w.o.EventChunk))
	e.raw64(uint64(w.o.DefChunk))
	e.b = append(e.b, 1, 1) // POSIX files, no compression
	e.raw64(uint64(len(w.defs.Locations)))
	e.raw64(count)
	e.str(w.o.Machine)
	e.str(w.o.Creator)
	e.str(w.o.Description)
	if format >= 2 {
		e.raw32(uint32(len(w.o.Properties)))
		for _, p := range w.o.Properties {
			e.str(p.Name)
			e.str(p.Value)
		}
		e.raw64(id)
	}
	if format >= 3 {
		e.raw32(0) // snapshots
		e.raw32(0) // thumbnails
	}
	e.b = append(e.b, endOfFile, endOfBuffer, endOfChunk)
	f, err := os.OpenFile(w.path(anchorSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("otf2: %w", err)
	}
	_, err = f.Write(e.b)
	if c := f.Close(); err == nil {
		err = c
	}
	if err != nil {
		os.Remove(w.path(anchorSuffix))
		return fmt.Errorf("otf2: %w", err)
	}
	return nil
}

// Location opens the files of location p for writing.
func (w *Writer) Location(p trace.P) (*LocationWriter, error) {
	if uint64(p) >= uint64(w.defs.NumLocations()) {
		return nil, fmt.Errorf("otf2: no location with ordinal %d, there are %d", p, w.defs.NumLocations())
	}
	l := &LocationWriter{w: w, p: p, old: w.o.TraceFormat == 1}
	base := filepath.Join(w.dir, w.name, strconv.FormatUint(w.defs.Location(p).Ref, 10))
	if w.o.Local != nil {
		if def := w.o.Local(p); def != nil {
			if err := l.localize(def); err != nil {
				return nil, fmt.Errorf("otf2: location %d: %w", w.defs.Location(p).Ref, err)
			}
			l.def = def
		}
	}
	if err := l.writeLocal(base + ".def"); err != nil {
		return nil, err
	}
	var err error
	l.out, err = w.newChunkWriter(base+".evt", w.o.EventChunk)
	return l, err
}

// Copy writes src as the archive dir/name.otf2, several locations at once. Problems that src meets are returned, in the
// order of locations. Memory: for each processor a chunk of src and one of the archive.
func Copy(dir, name string, src trace.Source, o Options) (*trace.Diagnostics, error) {
	w, err := Create(dir, name, src.Definitions(), o)
	if err != nil {
		return nil, err
	}
	n := src.Definitions().NumLocations()
	problems, errs := make([]trace.Diagnostics, n), make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !failed.Load(); i = next.Add(1) - 1 {
				if errs[i] = w.copyLocation(src, trace.P(i), &problems[i]); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	var found trace.Diagnostics
	for i := range problems {
		found.AddAll(problems[i].List())
		if errs[i] != nil {
			return &found, errs[i]
		}
	}
	return &found, w.Close()
}

func (w *Writer) copyLocation(src trace.Source, p trace.P, found *trace.Diagnostics) error {
	l, err := w.Location(p)
	if err != nil {
		return err
	}
	err = EachBatch(src, p, found, l.Add)
	if e := l.Close(); err == nil {
		err = e
	}
	return err
}
