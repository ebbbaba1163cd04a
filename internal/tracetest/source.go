package tracetest

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// Source is a synthetic run. It is safe for concurrent use.
type Source struct {
	m        *model
	defs     *trace.Definitions
	identity [32]byte
	empty    bool     // the last location has no events
	events   []uint64 // of each location
}

// New makes the program that o describes.
func New(o Options) (*Source, error) {
	m, err := newModel(o)
	if err != nil {
		return nil, err
	}
	s := &Source{m: m, empty: m.o.Broken&EmptyLocation != 0}
	s.defs = m.definitions()
	for p := range trace.P(s.defs.NumLocations()) {
		n := s.defs.Location(p).Events
		if proc, thread, _ := s.place(p); m.hits(WrongCount, proc) && thread == 0 {
			n -= wrongCount
		}
		s.events = append(s.events, n)
	}
	b, err := s.defs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	s.identity = sha256.Sum256(append(b, m.o.String()...))
	return s, nil
}

// Options returns the options with all defaults filled in.
func (s *Source) Options() Options { return s.m.o }

// Events returns the number of events of all locations.
func (s *Source) Events() (sum uint64) {
	for _, n := range s.events {
		sum += n
	}
	return sum
}

// Definitions returns the sealed definitions.
func (s *Source) Definitions() *trace.Definitions { return s.defs }

// Format names the program.
func (s *Source) Format() string { return "synthetic " + s.m.o.Program }

// Identity is a hash of definitions and options.
func (s *Source) Identity() [32]byte { return s.identity }

// Close does nothing.
func (s *Source) Close() error { return nil }

// place returns process and thread of a location, and false for one without events.
func (s *Source) place(p trace.P) (proc, thread uint32, ok bool) {
	t := uint32(s.m.o.Threads)
	proc, thread = uint32(p)/t, uint32(p)%t
	return proc, thread, proc < s.m.n
}

func (s *Source) check(p trace.P) error {
	if int(p) >= s.defs.NumLocations() {
		return fmt.Errorf("tracetest: location %d of %d: %w", p, s.defs.NumLocations(), trace.ErrMissing)
	}
	return nil
}

// bytesPerEvent estimates what an event takes in an archive.
const bytesPerEvent = 12

// Measure tells the size of location p, exactly as Stream delivers it.
func (s *Source) Measure(p trace.P) (trace.Extent, error) {
	if err := s.check(p); err != nil {
		return trace.Extent{}, err
	}
	proc, thread, ok := s.place(p)
	if !ok {
		return trace.Extent{}, nil
	}
	st := s.m.cut(proc, thread)
	e := trace.Extent{Events: s.events[p], Chunks: st.Chunks()}
	e.Bytes = e.Events * bytesPerEvent
	if thread == 0 && e.Events > 0 {
		w := pen{m: s.m, proc: proc, out: &trace.Batch{}, skew: s.m.skewOf(proc)}
		s.m.writePrologue(&w)
		e.First, e.HasFirst = w.out.Events[0].Time, true
	}
	return e, nil
}

// Stream opens location p. Its memory is 8 bytes per chunk, that of a chunk
// reader the events of one step and one batch.
func (s *Source) Stream(p trace.P) (trace.Stream, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	proc, thread, ok := s.place(p)
	if !ok {
		return &stream{}, nil
	}
	st := s.m.cut(proc, thread)
	st.count()
	return st, nil
}

// stream is the events of one location, cut into chunks of whole units.
type stream struct {
	m            *model
	proc, thread uint32
	units        uint64   // all of the location
	perChunk     uint64   // units in a chunk, the last one may have fewer
	first        []uint64 // chunk -> number of its first event
}

// cut chooses the chunks of a location.
func (m *model) cut(proc, thread uint32) *stream {
	st := &stream{m: m, proc: proc, thread: thread, units: m.units(proc)}
	sample := min(st.units, 32)
	per := m.unitEvents(proc, thread, 0, sample) / sample
	st.perChunk = max(m.o.Chunk/max(per, 1), 1)
	return st
}

// count finds the number of the first event of every chunk.
func (st *stream) count() {
	st.first = make([]uint64, st.Chunks())
	var n uint64
	for i := range st.first {
		st.first[i] = n
		n += st.m.unitEvents(st.proc, st.thread, uint64(i)*st.perChunk, st.chunkEnd(i))
	}
}

func (st *stream) chunkEnd(i int) uint64 { return min(uint64(i+1)*st.perChunk, st.units) }

func (st *stream) Chunks() int {
	if st.units == 0 {
		return 0
	}
	return int((st.units + st.perChunk - 1) / st.perChunk)
}

func (st *stream) Diagnostics() []trace.Diagnostic { return nil }

func (st *stream) Close() error { return nil }

func (st *stream) Chunk(i int) (trace.ChunkReader, error) {
	if i < 0 || i >= st.Chunks() {
		return nil, fmt.Errorf("tracetest: chunk %d of %d: %w", i, st.Chunks(), trace.ErrMissing)
	}
	return &chunkReader{
		pen:  pen{m: st.m, proc: st.proc, thread: st.thread, skew: st.m.skewOf(st.proc)},
		next: uint64(i) * st.perChunk, end: st.chunkEnd(i), number: st.first[i],
	}, nil
}

// batchEvents is the number of events after which a batch is handed over.
const batchEvents = 4096

type chunkReader struct {
	pen       pen
	next, end uint64 // units
	number    uint64 // of the next event
}

func (r *chunkReader) Next(b *trace.Batch) error {
	b.Reset()
	if r.next >= r.end {
		return io.EOF
	}
	b.First = r.number
	r.pen.out = b
	for r.next < r.end && len(b.Events) < batchEvents {
		r.pen.m.unit(&r.pen, r.next)
		r.next++
	}
	r.number += uint64(len(b.Events))
	if len(b.Events) == 0 {
		return io.EOF
	}
	return nil
}

func (r *chunkReader) Diagnostics() []trace.Diagnostic { return nil }

func (r *chunkReader) Close() error { return nil }
