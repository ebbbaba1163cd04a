package trace

import (
	"errors"
	"fmt"
	"io"
)

// Errors of a Source that callers tell apart. They are wrapped with the file
// and the place.
var (
	ErrNotTrace    = errors.New("not a trace")               // wrong kind of input
	ErrUnsupported = errors.New("unsupported kind of trace") // a trace, but in a form that is refused by name
	ErrCorrupt     = errors.New("corrupt trace")             // a trace whose contents contradict the format
	ErrMissing     = errors.New("part of the trace missing") // a file that the definitions announce is not there
)

// Source is what every input of an analysis is: an archive, a generator or a
// simulated run. All methods are safe for concurrent use.
type Source interface {
	// Definitions returns the sealed definitions.
	Definitions() *Definitions
	// Format names the format and version, for people.
	Format() string
	// Identity is a hash of the content of the definitions (for an archive:
	// SHA-256 of anchor and definition file), independent of the path.
	Identity() [32]byte
	// Measure tells the size of location p without decoding it. A location
	// whose data are missing has a zero Extent and a diagnostic in its Stream.
	Measure(p P) (Extent, error)
	// Stream opens location p. Damage that leaves something to read is not an error: Diagnostics reports it, and what is there is
	// delivered.
	Stream(p P) (Stream, error)
	// Close releases the source.
	Close() error
}

// Interleaved is a Source whose file holds the events of all locations mixed.
// Reading a location alone costs as much as reading all.
type Interleaved interface {
	Source
	// Gather reads locations first to end-1 at once, so that their streams need
	// not pass over the file again. What memory does not hold goes to temporary
	// files in folder dir, gone after Close. Other locations can still be streamed.
	Gather(first, end P, dir string) error
}

// Extent is the size of a location's data.
type Extent struct {
	Bytes    uint64 // bytes to read
	Events   uint64 // events the data themselves announce, 0 where they do not
	Chunks   int    // independently decodable chunks
	First    Time   // time of the first event; valid if HasFirst
	HasFirst bool
}

// Stream is the event stream of one location. Chunk may be called for several
// chunks at once; each ChunkReader belongs to one goroutine.
type Stream interface {
	Chunks() int
	Chunk(i int) (ChunkReader, error)
	// Diagnostics returns what was found outside the chunks, for example a
	// missing file or a bad clock table.
	Diagnostics() []Diagnostic
	Close() error
}

// ChunkReader delivers the events of one chunk in order.
type ChunkReader interface {
	// Next refills b with the next events and returns io.EOF after the last
	// one. Damage inside the chunk ends it early with io.EOF and a diagnostic.
	Next(b *Batch) error
	// Diagnostics returns what was found in the part read so far.
	Diagnostics() []Diagnostic
	Close() error
}

// NewStream returns a Stream of so many chunks, which open opens. Outside of them it has nothing to report.
func NewStream(chunks int, open func(i int) (ChunkReader, error)) Stream {
	return &chunked{chunks, open}
}

type chunked struct {
	chunks int
	open   func(i int) (ChunkReader, error)
}

func (s *chunked) Chunks() int               { return s.chunks }
func (s *chunked) Diagnostics() []Diagnostic { return nil }
func (s *chunked) Close() error              { return nil }

func (s *chunked) Chunk(i int) (ChunkReader, error) {
	if i < 0 || i >= s.chunks {
		return nil, fmt.Errorf("chunk %d of %d: %w", i, s.chunks, ErrMissing)
	}
	return s.open(i)
}

// Fill is a ChunkReader with nothing to report. It puts the next events into an empty batch, none after the last one.
type Fill func(b *Batch) error

// Next implements ChunkReader.
func (f Fill) Next(b *Batch) error {
	b.Reset()
	err := f(b)
	if err == nil && len(b.Events) == 0 {
		err = io.EOF
	}
	return err
}

// Diagnostics implements ChunkReader.
func (f Fill) Diagnostics() []Diagnostic { return nil }

// Close implements ChunkReader.
func (f Fill) Close() error { return nil }
